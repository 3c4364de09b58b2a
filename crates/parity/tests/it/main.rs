//! Against the real LightGBM.

mod compiled;
mod forest;
mod lgbm;
mod text;
