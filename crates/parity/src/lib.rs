//! What the parity tests and the benches share: made-up data to try the real LightGBM on.
//!
//! LightGBM itself is reached through [`ck_select_train::lightgbm`]. Building it needs what
//! `make lightgbm-tools` installs.

pub mod golden;
#[path = "../../../tests/random/mod.rs"]
pub mod random;
pub mod synthetic;

pub use ck_select_train::lightgbm::{Booster, LightGbmError, Matrix, Output};
