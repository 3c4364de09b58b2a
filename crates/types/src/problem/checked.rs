//! A problem that was checked once.

use std::fmt;
use std::ops::Deref;

use super::{InvalidField, Problem, Splits};

/// A problem whose fields have all been checked ([`Problem::checked`]), so that they need not be checked
/// again, and the numbers of parts that may be chosen if it leaves the choice.
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
pub struct Checked<'p> {
    problem: &'p Problem,
    splits: &'p Splits,
    /// Whether the problem leaves the choice, or is in one of the numbers that it may be made among.
    is_choice: bool,
}

/// A checked problem in one number of parts ([`Checked::each_split`]).
#[derive(Debug, Clone, Copy)]
pub struct Definite(Problem);

impl Deref for Definite {
    type Target = Problem;

    #[inline]
    fn deref(&self) -> &Problem {
        &self.0
    }
}

impl Problem {
    /// The problem, once every field was checked.
    #[inline]
    pub fn checked(&self) -> Result<Checked<'_>, InvalidField> {
        self.validate().map(|()| Checked {
            problem: self,
            splits: &Splits::USUAL,
            is_choice: self.chooses_split(),
        })
    }
}

impl<'p> Checked<'p> {
    /// The problem, with a choice among these numbers of parts instead of the usual ones.
    #[must_use]
    pub const fn among(self, splits: &'p Splits) -> Self {
        Self { splits, ..self }
    }

    /// The problem in each number of parts that may be chosen, the smallest first; the problem alone if it
    /// has its number.
    pub fn each_split(self) -> impl ExactSizeIterator<Item = Definite> + use<'p> {
        let chooses = self.chooses_split();
        // A problem with its own number is one item, whatever the number.
        let splits = if chooses { self.splits.as_slice() } else { &[1] };
        let in_parts = move |&parts| if chooses { self.problem.with_split(parts) } else { *self.problem };
        splits.iter().map(move |parts| Definite(in_parts(parts)))
    }

    /// The problem in one of these numbers ([`each_split`](Self::each_split)), which needs no check either.
    pub const fn in_parts<'d>(self, definite: &'d Definite) -> Checked<'d>
    where
        'p: 'd,
    {
        Checked { problem: &definite.0, ..self }
    }

    /// Whether the number of parts is, or was, to be chosen among the usual numbers, because nobody gave any.
    #[inline]
    pub(crate) const fn has_usual_choice(self) -> bool {
        self.is_choice && !self.splits.is_given
    }
}

impl Deref for Checked<'_> {
    type Target = Problem;

    #[inline]
    fn deref(&self) -> &Problem {
        self.problem
    }
}

impl fmt::Display for Checked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}
