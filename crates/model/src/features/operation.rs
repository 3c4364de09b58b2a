//! What features know of an operation, and which there are.

use std::fmt::Debug;

use ck_select_types::operation::{OperationProblem, OperationValue};
use ck_select_types::operation_enum;

use super::{Extractor, Feature, KernelFeatures, PairWith};
use crate::problem::InvalidField;

/// Problems of an operation, as its features see them.
pub trait OperationTerms: OperationProblem<Kernel: KernelFeatures<Terms = Self::KernelTerms>> {
    /// A problem as features see it.
    type Terms: PairWith<Self::KernelTerms> + Debug + Clone + PartialEq + 'static;

    /// A kernel as features see it.
    type KernelTerms: OperationValue<KernelTerms> + Debug + Copy + PartialEq + 'static;

    /// The family of a problem that features do not describe, if it is of one.
    fn undescribed(&self) -> Option<&'static str> {
        None
    }

    /// The family of a kernel that features do not describe, if it is of one.
    fn undescribed_kernel(_kernel: &Self::Kernel) -> Option<&'static str> {
        None
    }

    /// All features of the operation.
    fn features() -> impl Iterator<Item = &'static FeatureOf<Self>>;

    /// This problem as features see it.
    fn terms(&self, extractor: &Extractor) -> Result<Self::Terms, InvalidField>;
}

/// A kernel of the operation as features see it.
pub(crate) type KernelTermsOf<P> = <P as OperationTerms>::KernelTerms;
/// A feature of the operation.
pub type FeatureOf<P> = Feature<TermsOf<P>, KernelTermsOf<P>>;
pub(crate) type TermsOf<P> = <P as OperationTerms>::Terms;

operation_enum! {
    /// A problem as features see it.
    #[derive(Debug, Clone, PartialEq)]
    #[allow(clippy::large_enum_variant)] // lives on the stack of one call
    pub enum ProblemTerms(TermsOf);
}

operation_enum! {
    /// A kernel as features see it.
    #[derive(Debug, Clone, PartialEq)]
    pub enum KernelTerms(KernelTermsOf);
}
