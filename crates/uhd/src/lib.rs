//! hipDNN's Universal Heuristic Descriptors: a JSON [`Descriptor`] beside an artifact, such as a `FlatBuffer`
//! of trees ([`Hgbm`]). Experimental: upstream's format is not released.
//!
//! ```text
//! forest ── export ──┬── Descriptor (descriptor, signature) ── JSON
//!    ↑               └── Hgbm (hgbm) ── flat ── FlatBuffer
//!    └──── import ─────────────┘
//! ```
//!
//! [`Hgbm::from_forest`] expresses LightGBM's forests exactly, or refuses them; [`Hgbm::to_text`] goes back
//! where LightGBM has such splits.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod descriptor;
mod export;
mod flat;
mod hgbm;
mod import;
mod signature;

pub use descriptor::Descriptor;
pub use hgbm::{Hgbm, Node, Split, Tree, TreeCounts};
pub use signature::{features_hash, sha256};

use std::fmt::Display;

use ck_select_types::problem::InvalidField;

/// The error for a value at a position: the value, and what it should be.
fn refused<T>(
    position: impl Display,
    found: impl Display,
    expected: impl Display,
) -> Result<T, InvalidField> {
    Err(InvalidField::new(position.to_string(), found, expected.to_string()))
}

/// Refuses the value at a position unless a condition holds.
fn require(
    holds: bool,
    position: impl Display,
    found: impl Display,
    expected: impl Display,
) -> Result<(), InvalidField> {
    if holds { Ok(()) } else { refused(position, found, expected) }
}
