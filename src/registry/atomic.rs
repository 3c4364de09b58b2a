//! The atomics that the lock-free parts use. The package `loom/` compiles those parts with loom's atomics
//! instead, and explores thread interleavings.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
