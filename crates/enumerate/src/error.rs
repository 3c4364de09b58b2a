//! What enumerating refuses.

use ck_select_types::vocab::UnknownWord;

/// Why a configuration cannot be enumerated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnumerateError {
    /// Not the name of an architecture.
    #[error(transparent)]
    Arch(#[from] UnknownWord),
    /// Dimensions were requested for a list of instances.
    #[error("instances have the dimensions of their list, which cannot be changed")]
    FixedDimensions,
    /// Something that the rules lack, or more than is allowed of something.
    #[error("{0}")]
    Refused(String),
    /// No such family of AITER's, or none for the architecture, or wrong rules of it.
    #[error("{0}")]
    Aiter(String),
}
