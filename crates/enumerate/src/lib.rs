//! Enumerates the kernels of a configuration, by upstream's rules.
//!
//! ```text
//! rules ──┐
//!         ├─ expand ── valid ── filter ── kernels ── export
//! config ─┘
//! ```
//!
//! - [`rules`]: upstream's tables, as data files
//! - [`config`]: what to enumerate, in upstream's JSON
//! - [`enumerate`]: the kernels of a configuration
//! - [`filter`]: Python expressions over a kernel's fields, never executed as code
//! - [`export`]: files that CK's tools and pools read
//! - [`shapes`]: problems that are worth measuring
//!
//! What an operation adds to the modules, and which of its kernels can be built (`valid`), is in a folder of its
//! name. `docs/enumeration.md` explains which rule gives which count.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arch;
mod buildable;
pub mod config;
mod conv;
mod error;
mod expand;
pub mod export;
pub mod filter;
mod fmha;
mod gemm;
mod kernels;
mod lists;
mod moe;
mod reader;
mod request;
pub mod rules;
pub mod shapes;

pub use error::EnumerateError;
pub use expand::enumerate;
pub use kernels::Enumeration;
pub use request::Request;
