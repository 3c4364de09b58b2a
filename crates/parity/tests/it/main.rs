//! Against the real LightGBM.

mod cases;
mod compiled;
mod forest;
mod lgbm;
mod text;
