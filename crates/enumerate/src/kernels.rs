//! The kernels that a configuration expands to, one after the other.

use std::collections::{BTreeMap, HashSet};

use ck_select_types::kernel::Kernel;
use ck_select_types::pool::Pool;
use ck_select_types::vocab::UnknownWord;

use crate::config::OtherKernel;
use crate::rules::AiterError;

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
    /// No such family of AITER's.
    #[error(transparent)]
    Aiter(#[from] AiterError),
}

/// More kernels than fit into a pool.
pub(crate) fn too_many() -> EnumerateError {
    let most = Pool::MAX_KERNELS;
    EnumerateError::Refused(format!("more than {most} kernels; narrow the configuration, or filter them"))
}

/// The most kernels before filters: four pools.
const MOST: usize = 4 * Pool::MAX_KERNELS;

/// The kernels found so far.
#[derive(Default)]
pub(crate) struct Kernels {
    pub(crate) list: Vec<Kernel>,
    pub(crate) others: Vec<OtherKernel>,
    pub(crate) names: HashSet<String>,
    pub(crate) expanded: usize,
    pub(crate) refused: BTreeMap<&'static str, usize>,
    pub(crate) warnings: Vec<String>,
}

impl Kernels {
    /// Adds a kernel unless its name is known: of equal names, the first stays.
    pub(crate) fn push(&mut self, kernel: Kernel) -> Result<(), EnumerateError> {
        self.expanded += 1;
        if self.names.insert(kernel.name.clone()) {
            if self.list.len() == MOST {
                return Err(too_many());
            }
            self.list.push(kernel);
        }
        Ok(())
    }
}
