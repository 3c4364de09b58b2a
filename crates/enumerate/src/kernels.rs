//! The kernels that a configuration expands to, one after the other.

use std::collections::{BTreeMap, HashSet};

use ck_select_types::kernel::Kernel;
use ck_select_types::pool::Pool;
use ck_select_types::vocab::Arch;
use ck_select_types::vocabulary;

use crate::error::EnumerateError;
use crate::reader::ConfigFile;
use crate::request::Request;
use crate::rules::Rules;

/// Problems of an operation whose kernels are enumerated.
pub(crate) trait Expansion: ConfigFile {
    /// The kernels of a configuration, before filters.
    fn expand(
        rules: &Rules,
        config: &Self::Config,
        arch: Arch,
        request: &Request,
    ) -> Result<Kernels, EnumerateError>;
}

/// More kernels than fit into a pool.
pub(crate) fn too_many() -> EnumerateError {
    let most = Pool::MAX_KERNELS;
    EnumerateError::Refused(format!("more than {most} kernels; narrow the configuration, or filter them"))
}

/// The most kernels before filters: four pools.
const MOST: usize = 4 * Pool::MAX_KERNELS;

/// The kernels of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enumeration {
    /// The kernels, in order, each name once.
    pub kernels: Vec<Kernel>,
    /// Kernels of a list that have a name but no descriptor. They are not checked.
    pub others: Vec<OtherKernel>,
    /// How many kernels the configuration expands to, including repeated names.
    pub expanded: usize,
    /// How many repeated an earlier name.
    pub repeated: usize,
    /// How many were omitted because they cannot be built, by reason.
    pub refused: BTreeMap<&'static str, usize>,
    /// How many the filters omitted; with a filter, this includes all of `others`, because they have no
    /// fields.
    pub filtered: usize,
    /// Warnings about what upstream would ignore silently.
    pub warnings: Vec<String>,
}

/// A kernel that has a name but no descriptor, so that no pool can contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherKernel {
    /// The kernel's name in upstream's generator.
    pub name: String,
    /// The kernel's kind.
    pub family: Family,
}

vocabulary! {
    /// Convolutions that are not implicit GEMMs.
    Family, "family" {
        /// Kernels for few channels per group, which compute without a GEMM.
        Direct = "direct",
        /// Kernels for one channel per group.
        Depthwise = "depthwise",
    }
}

/// The kernels of a configuration so far.
#[derive(Default)]
pub(crate) struct Kernels {
    pub(crate) enumeration: Enumeration,
    names: HashSet<String>,
}

impl Kernels {
    /// Adds a kernel unless its name is known: of equal names, the first stays.
    pub(crate) fn push(&mut self, kernel: Kernel) -> Result<(), EnumerateError> {
        if self.is_new(&kernel.name) {
            if self.enumeration.kernels.len() == MOST {
                return Err(too_many());
            }
            self.enumeration.kernels.push(kernel);
        }
        Ok(())
    }

    /// Whether a name that the configuration expands to is not known yet.
    pub(crate) fn is_new(&mut self, name: &str) -> bool {
        let is_new = self.names.insert(name.to_owned());
        self.enumeration.expanded += 1;
        self.enumeration.repeated += usize::from(!is_new);
        is_new
    }

    /// Counts a kernel that cannot be built.
    pub(crate) fn refuse(&mut self, reason: &'static str) {
        self.enumeration.expanded += 1;
        *self.enumeration.refused.entry(reason).or_default() += 1;
    }
}
