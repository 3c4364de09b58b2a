//! Training on a made-up cost model, with the real LightGBM.
#![cfg(feature = "lightgbm")]

mod artifacts;
mod continued;
mod forests;
mod promising;
mod python;
mod sweep;
