//! Self-contained pages: one HTML file each, no network, and a script that little depends on.
//!
//! Both are made of one shell (`html`: style, script, tables), one module of charts (`chart`) and, for
//! sweeps, one map (`map`).

mod chart;
mod evaluation;
mod html;
mod made;
mod map;
mod sweep;
mod text;

pub use evaluation::evaluation;
pub use made::{Made, ModelPlace};
pub use sweep::sweep;
