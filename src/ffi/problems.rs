//! Problems across the boundary.

use super::error::Failure;
use super::input::{Versioned, read_struct};
use crate::problem::Problem;

/// A problem struct of any operation.
pub(super) trait AsProblem: Versioned {
    /// The problem, its words checked and the rest not yet.
    ///
    /// # Safety
    /// Its addresses are what the struct's documentation says.
    unsafe fn problem(self) -> Result<Problem, Failure>;
}

/// Reads a problem without validating it: the registry does, once, and only where no equal one was decided
/// before.
///
/// # Safety
/// As for [`read_struct`]; its `arch` is NULL or a NUL-terminated string, and its other addresses are what
/// the struct's documentation says.
pub(super) unsafe fn read_problem<T: AsProblem>(address: *const T) -> Result<Problem, Failure> {
    // SAFETY: by contract, `address` is NULL or a struct with its size set.
    let raw = unsafe { read_struct(address) }?;
    // SAFETY: by contract.
    unsafe { raw.problem() }
}
