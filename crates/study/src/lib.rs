//! Studies of models and measurements: how well a model chooses, how two compare, what a sweep tells, which
//! kernels are worth keeping.
//!
//! ```text
//! measurements ── candidates ──┬── judge ── evaluate, compare ──┐
//!                              └── survey ──────────────────────┴── page
//! ```

pub mod candidates;
pub mod compare;
pub mod error;
pub mod evaluate;
pub mod judge;
pub mod page;
pub mod predictions;
pub mod sheet;
pub mod survey;
pub mod winners;
