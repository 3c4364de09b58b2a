//! Chooses the fastest GPU kernel for a problem without trying them all.

/// LightGBM's text model, checked once and then scored exactly.
pub mod forest;
