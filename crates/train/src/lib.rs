//! Trains a model directory from measurements: cross-validation by problem, one forest per target, and the
//! other files of upstream's trainer.
//!
//! ```text
//! measurements ── data ── folds ──┬── fit (a fold each) ── out_of_fold ── card
//!                                 └── fit (all) ── artifacts, the model directory
//! ```
//!
//! Each training runs on one thread with fixed seeds, so the same data and the same [`Plan`] give the same
//! bytes. Folds are trained in parallel, on the rayon pool of the caller. [`lightgbm`] is the real LightGBM
//! behind a safe interface.
#![cfg(feature = "lightgbm")]

mod adapt;
mod artifacts;
mod card;
mod combine;
mod data;
mod decide;
mod error;
mod facts;
mod fit;
mod folds;
mod goal;
mod holdout;
mod lambdarank;
pub mod lightgbm;
mod metrics;
mod mode;
mod objective;
mod out_of_fold;
mod params;
mod plan;
mod simulation;
mod sureness;
mod text_forest;
mod trained;
mod training;
mod validate;
mod warm;
mod watcher;

pub use adapt::{own_params, spread_order};
pub use artifacts::Directory;
pub use card::{CardInputs, CurvePoint};
pub use card::{held_out_text, part, purpose, stopping};
pub use data::{Item, TrainingData};
pub use error::TrainError;
pub use fit::Rounds;
pub use folds::{GroupBy, group_k_fold};
pub use goal::Goal;
pub use holdout::{Folds, Holdout};
pub use metrics::{Efficiency, FoldMetrics};
pub use mode::Mode;
pub use objective::Objective;
pub use params::{MAX_TREES, Params};
pub use plan::{Plan, Stop};
pub use simulation::{Draw, Method, PromisingRows, Simulation};
pub use text_forest::TextForest;
pub use trained::TrainedForest;
pub use training::train;
pub use validate::Validation;
pub use warm::WarmStart;
pub use watcher::Watcher;
