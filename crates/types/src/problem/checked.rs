//! A problem that was checked once.

use std::fmt;
use std::ops::Deref;

use super::{InvalidField, Problem};

/// A problem whose fields have all been checked ([`Problem::checked`]), so that they need not be checked
/// again.
///
/// ```
/// use ck_select_types::problem::{GemmProblem, Problem};
///
/// let problem = Problem::from(GemmProblem::new(128, 1536, 7168));
/// assert_eq!(problem.checked()?.flops(), 2.0 * 128.0 * 1536.0 * 7168.0);
/// assert!(Problem::from(GemmProblem::new(0, 1536, 7168)).checked().is_err());
/// # Ok::<(), ck_select_types::problem::InvalidField>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Checked<'p>(&'p Problem);

impl Problem {
    /// The problem, once every field was checked.
    #[inline]
    pub fn checked(&self) -> Result<Checked<'_>, InvalidField> {
        self.validate().map(|()| Checked(self))
    }
}

impl Deref for Checked<'_> {
    type Target = Problem;

    #[inline]
    fn deref(&self) -> &Problem {
        self.0
    }
}

impl fmt::Display for Checked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
