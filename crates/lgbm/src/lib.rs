//! LightGBM's C functions on `ck_select`'s scorer.
//!
//! ```text
//! LGBM_* ── guard ──┬── booster, handle (a forest) ──┐
//!                   └── parameters, matrix (rows) ───┴── predict ── the scorer
//! ```
//!
//! A program that declares these functions itself, as `composable_kernel`'s `ml_heuristic.hpp` does, or
//! includes LightGBM's header, can link `libck_select_lgbm.so` instead of LightGBM and gets the same bits.
//! Arguments and results of each function are LightGBM 4.7's; its documentation says where it differs. Common
//! to all:
//!
//! - The status is 0, or -1 and a message from [`LGBM_GetLastError`]. Outputs are written only on success.
//! - Wrong arguments are errors wherever this can be detected: NULL, negative or overflowing sizes, handles
//!   that are not or no longer in use.
//! - Nothing is printed, and no panic crosses the boundary.
//! - Any number of threads may predict with one handle at once; nothing is locked. A handle must not be freed
//!   while another thread uses it.

#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout, clippy::todo,
        clippy::unimplemented, clippy::unreachable, clippy::unwrap_used
    )
)]

// `guard` has the macro that declares every function; `booster` and `predict` are the functions. `handle`,
// `matrix` and `parameters` turn what C passes into what Rust may rely on.

#[cfg(panic = "abort")]
compile_error!("no panic may leave this library, so panics must unwind: build it without panic=abort");

#[macro_use]
mod guard;

mod booster;
mod error;
mod handle;
mod matrix;
mod parameters;
mod predict;

pub use booster::{
    LGBM_BoosterCreateFromModelfile, LGBM_BoosterFree, LGBM_BoosterGetNumClasses, LGBM_BoosterGetNumFeature,
    LGBM_BoosterLoadModelFromString,
};
pub use guard::LGBM_GetLastError;
pub use predict::{LGBM_BoosterPredictForMat, LGBM_BoosterPredictForMatSingleRow};
