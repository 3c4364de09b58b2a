//! What features know of an operation, and which there are.

use std::fmt::Debug;

use ck_select_types::operation::{OperationProblem, VariantOf};
use ck_select_types::operation_enum;

use super::{Feature, PairWith};

/// Problems of an operation, and what its features read of them.
pub trait OperationTerms: OperationProblem {
    /// What features know about a problem.
    type Terms: PairWith<Self::KernelTerms> + Debug + Clone + PartialEq + 'static;

    /// What they know about a kernel.
    type KernelTerms: VariantOf<KernelTerms> + Debug + Copy + PartialEq + 'static;

    /// All features of the operation.
    fn features() -> impl Iterator<Item = &'static FeatureOf<Self>>;
}

/// What features know about a kernel of the operation.
pub(crate) type KernelTermsOf<P> = <P as OperationTerms>::KernelTerms;
/// A feature of the operation.
pub type FeatureOf<P> = Feature<TermsOf<P>, KernelTermsOf<P>>;
pub(crate) type TermsOf<P> = <P as OperationTerms>::Terms;

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
