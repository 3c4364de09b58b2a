//! Why a pool or a call does not fit a forest.

/// Why a pool does not fit its forest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The number of columns differs from that of features.
    #[error("the pool has {found} columns, the forest has {expected} features")]
    Columns {
        /// Columns of the pool.
        found: usize,
        /// Features of the forest.
        expected: usize,
    },
    /// The number of values is not kernels times kernel columns.
    #[error("the pool has {found} kernel values, expected {expected}")]
    KernelValues {
        /// Values given.
        found: usize,
        /// Kernels times kernel columns.
        expected: usize,
    },
    /// A class number that is not below the number of kernels.
    #[error("class {class} in a pool of {kernels} kernels, expected classes counted from 0")]
    Class {
        /// The number.
        class: u32,
        /// Kernels.
        kernels: usize,
    },
    /// More kernels than 32 bits can count.
    #[error("{kernels} kernels, expected fewer than 2^32")]
    TooLarge {
        /// Kernels.
        kernels: usize,
    },
}

/// The inputs of a call, or the buffer for its scores, do not have the scorer's sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} {what}, expected {expected}")]
pub struct SizeError {
    what: &'static str,
    found: usize,
    expected: usize,
}

impl SizeError {
    /// Refuses a number that is not the scorer's.
    pub(super) fn check(what: &'static str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self { what, found, expected }) }
    }
}
