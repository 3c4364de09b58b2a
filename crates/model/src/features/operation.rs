//! What features need of an operation: implemented in its folder, for its problems and its kernels.

use std::fmt::Debug;

use ck_select_types::field::Record;
use ck_select_types::operation::OperationProblem;
use ck_select_types::operation_enum;

use super::named::Claims;
use super::{Extractor, Feature, FieldError, PairWith};
use crate::cells::Fields;
use crate::problem::InvalidField;

/// Problems of an operation, as its features see them.
pub trait OperationFeatures: OperationProblem<Kernel: KernelFeatures<Terms = Self::KernelTerms>> {
    /// What features know about a problem.
    type Terms: PairWith<Self::KernelTerms> + Debug + Clone + PartialEq + 'static;

    /// What they know about a kernel.
    type KernelTerms: Debug + Copy + PartialEq + 'static;

    /// All features of the operation.
    fn features() -> impl Iterator<Item = &'static FeatureOf<Self>>;

    /// What features know about this one.
    fn terms(&self, extractor: &Extractor) -> Result<Self::Terms, InvalidField>;

    /// The same of a row of cells, with upstream's defaults.
    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<Self::Terms, FieldError>;

    /// The same where absent cells are errors; `aliased` finds them under any name of a field.
    fn terms_of_strict_cells(
        extractor: &Extractor,
        _row: &dyn Fields,
        aliased: &dyn Fields,
    ) -> Result<Self::Terms, FieldError> {
        Self::terms_of_cells(extractor, aliased)
    }
}

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

    /// The same of a row of cells that names no kernel.
    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<Self::Terms, FieldError>;

    /// Refuses a row whose cells contradict the name that one of them holds, where values have more than one
    /// reading.
    fn agree(&self, extractor: &Extractor, row: &dyn Fields, named: NameCell<'_>) -> Result<(), FieldError>;

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

/// What features know about a kernel of the operation.
pub(super) type KernelTermsOf<P> = <P as OperationFeatures>::KernelTerms;
/// A feature of the operation.
pub type FeatureOf<P> = Feature<TermsOf<P>, KernelTermsOf<P>>;
type TermsOf<P> = <P as OperationFeatures>::Terms;

operation_enum! {
    /// What features know about a problem.
    #[derive(Debug, Clone, PartialEq)]
    #[allow(clippy::large_enum_variant)] // lives on the stack of one call
    pub enum ProblemTerms(TermsOf);
}

operation_enum! {
    /// What features know about a kernel.
    #[derive(Debug, Clone, PartialEq)]
    pub enum KernelTerms(KernelTermsOf);
}
