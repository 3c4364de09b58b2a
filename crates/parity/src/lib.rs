//! What the parity tests and the benches share: made-up data to try the real LightGBM on.
//!
//! ```text
//! synthetic rows ──┬── LightGBM ──┬── equal bits (tests), ratios of times (benches)
//! golden forests ──┴── our scorer ┘
//! ```
//!
//! LightGBM itself is reached through [`ck_select_train::lightgbm`]. Building it needs what
//! `make lightgbm-tools` installs.

pub mod golden;
pub mod synthetic;

pub use ck_select_train::lightgbm::{Booster, LightGbmError, Matrix, Output};
