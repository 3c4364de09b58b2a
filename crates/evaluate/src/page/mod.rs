//! Self-contained pages: one HTML file each, no network, and a script that little depends on.
//!
//! All are made of one shell (`html`: style, script, tables), one module of charts (`chart`) and, for sweeps,
//! one map (`map`).

mod chart;
mod comparison;
mod evaluation;
mod explanation;
#[cfg(feature = "train")]
mod held_out;
mod html;
mod map;
mod provenance;
mod sweep;
mod text;
#[cfg(feature = "train")]
mod training;
mod winners;

pub use comparison::{Side, comparison};
pub use evaluation::evaluation;
pub use explanation::{Explanation, explanation};
pub use provenance::{ModelPlace, Provenance};
pub use sweep::sweep;
#[cfg(feature = "train")]
pub use training::training;
pub use winners::winners;
