//! What features know about a kernel, which each operation finds in its folder, and rows of both sides.

use ck_select_types::each_operation;
use ck_select_types::field::Record;

use super::FieldError;
use super::claims::{Claims, claims};
use super::operation::{KernelTerms, OperationTerms as _, ProblemTerms};
use super::schema::{Extractor, SideError};
use crate::cells::Fields;
use crate::kernel::KernelKind;
use crate::problem::{InvalidField, Problem};
use crate::vocab::Op;

/// Kernels of an operation, as its features see them.
pub trait KernelFeatures: Record {
    /// What features know about a kernel.
    type Terms;

    /// The cells of kernels whose values a name says besides those that upstream's engines read.
    const BESIDE: &'static [&'static str];

    /// The cells of problems whose values a name says, then those that upstream's engines do not look at.
    const OF_PROBLEMS: [&'static [&'static str]; 2];

    /// What features know about this one.
    fn terms(&self, extractor: &Extractor) -> Result<Self::Terms, InvalidField>;

    /// What they know about the kernel of a row of cells that names none.
    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<Self::Terms, FieldError>;

    /// Refuses a row whose cells contradict the name that one of them holds, where values have more than one
    /// reading.
    fn agree(&self, extractor: &Extractor, row: &dyn Fields, named: NameCell<'_>) -> Result<(), FieldError>;

    /// What the name says about problems, by the place of [`OF_PROBLEMS`](Self::OF_PROBLEMS).
    fn problem_claims(&self, place: usize) -> Claims {
        claims(self, Self::OF_PROBLEMS[place])
    }

    /// What the name says about these cells, and about those that only it has.
    fn kernel_claims<'c>(&self, cells: impl Iterator<Item = &'c &'static str>) -> Claims {
        claims(self, &Self::BESIDE.iter().chain(cells).copied().collect::<Vec<_>>())
    }

    /// Cells of axes that its problems do not have, each with the number that has no effect.
    fn absent_axes(&self) -> &'static [(&'static str, i64)] {
        &[]
    }

    /// Cells that upstream's converters derive from the name besides.
    fn converted(&self) -> Claims {
        Claims::new()
    }
}

/// The cell that names a row's kernel: its column and the name.
#[derive(Clone, Copy)]
pub struct NameCell<'a>(pub &'static str, pub &'a str);

impl NameCell<'_> {
    /// Who says what other cells must agree with.
    pub(super) fn says(self) -> String {
        format!("{} '{}' says", self.0, self.1)
    }
}

impl Extractor {
    /// The feature row of one problem and one kernel.
    pub fn row(&self, problem: &Problem, kernel: &KernelKind) -> Result<Vec<f64>, SideError> {
        let (problem, kernel) = (self.problem_side(problem)?, self.kernel_side(kernel)?);
        let mut row = vec![0.0; self.schema.len()];
        self.fill(&problem, &kernel, &mut row);
        Ok(row)
    }

    /// Refuses what the features are not for.
    fn expect(&self, what: &'static str, found: Op) -> Result<(), SideError> {
        match self.schema.op() {
            _ if self.schema.universal_columns().is_some() => Err(SideError::Universal),
            model if model != found => Err(SideError::Op { model, what, found }),
            _ => Ok(()),
        }
    }

    /// What the features know about a problem. Nothing is validated beyond what they need.
    pub fn problem_side(&self, problem: &Problem) -> Result<ProblemTerms, SideError> {
        self.expect("problem", problem.op())?;
        problem.check_split()?;
        Ok(each_operation!(problem, Problem(problem) => problem.terms(self)?.into()))
    }

    /// What the features know about a kernel.
    pub fn kernel_side(&self, kernel: &KernelKind) -> Result<KernelTerms, SideError> {
        self.expect("kernel", kernel.op())?;
        Ok(each_operation!(kernel, KernelKind(kernel) => kernel.terms(self)?.into()))
    }
}
