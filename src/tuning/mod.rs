//! What is measured instead of predicted, and where the measured winners are kept.

pub mod store;
