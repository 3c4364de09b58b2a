//! What features know about a problem and a kernel, and rows of both.

use ck_select_types::each_operation;
use ck_select_types::field::Record;

use super::operation::{KernelTerms, OperationTerms as _, ProblemTerms};
use super::schema::{Extractor, TermsError};
use crate::kernel::KernelKind;
use crate::problem::{InvalidField, Problem};
use crate::vocab::Op;

/// Kernels of an operation, as its features see them.
pub trait KernelFeatures: Record {
    /// A kernel as features see it.
    type Terms;

    /// This kernel as features see it.
    fn terms(&self, extractor: &Extractor) -> Result<Self::Terms, InvalidField>;
}

impl Extractor {
    /// The feature row of one problem and one kernel.
    pub fn row(&self, problem: &Problem, kernel: &KernelKind) -> Result<Vec<f64>, TermsError> {
        let (problem, kernel) = (self.problem_terms(problem)?, self.kernel_terms(kernel)?);
        let mut row = vec![0.0; self.schema.len()];
        self.fill(&problem, &kernel, &mut row);
        Ok(row)
    }

    /// Refuses what the features are not for.
    fn expect(&self, what: &'static str, found: Op) -> Result<(), TermsError> {
        match self.schema.op() {
            _ if self.schema.universal_columns().is_some() => Err(TermsError::Universal),
            model if model != found => Err(TermsError::Op { model, what, found }),
            _ => Ok(()),
        }
    }

    /// A problem as the features see it. Nothing is validated beyond what they need.
    pub fn problem_terms(&self, problem: &Problem) -> Result<ProblemTerms, TermsError> {
        self.expect("problem", problem.op())?;
        problem.check_split()?;
        Ok(each_operation!(problem, Problem(problem) => problem.terms(self)?.into()))
    }

    /// A kernel as the features see it.
    pub fn kernel_terms(&self, kernel: &KernelKind) -> Result<KernelTerms, TermsError> {
        self.expect("kernel", kernel.op())?;
        Ok(each_operation!(kernel, KernelKind(kernel) => kernel.terms(self)?.into()))
    }
}
