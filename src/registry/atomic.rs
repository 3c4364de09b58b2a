//! The atomics that the lock-free parts use. The package `loom/` compiles those parts with loom's in their
//! place, and tries the orders in which threads can run.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
