//! Chooses the fastest GPU kernel for a problem without trying them all.

pub mod forest;
