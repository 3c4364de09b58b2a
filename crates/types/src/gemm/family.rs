//! Families of GEMM kernels: what the tile engine's names begin with, and what follows from it.

use super::GemmKernel;
use crate::vocab::{GemmLibrary, QuantMode};

/// A family, and the properties that it implies. A kernel's name appends its other properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Family {
    /// The prefix of names, without the `_` after it.
    pub prefix: &'static str,
    pub batched: bool,
    pub grouped: bool,
    pub stream_k: bool,
    pub multi_d: bool,
    pub preshuffle: bool,
    pub quant: Option<QuantMode>,
    pub library: GemmLibrary,
}

/// The code generator's names of families without a prefix of their own.
pub(crate) const PLAIN: Family = Family {
    prefix: "gemm",
    batched: false,
    grouped: false,
    stream_k: false,
    multi_d: false,
    preshuffle: false,
    quant: None,
    library: GemmLibrary::Ck,
};

/// GEMMs of one type and one launch.
pub(crate) const UNIVERSAL: Family = Family { prefix: "gemm_universal", ..PLAIN };

const fn quant(prefix: &'static str, grouped: bool, mode: QuantMode) -> Family {
    Family { prefix, grouped, quant: Some(mode), ..PLAIN }
}

/// The beginning of the names of Triton's kernels; the rest is as for the tile engine's.
pub(super) const TRITON: &str = "triton_gemm";

/// All families with a prefix of their own, in search order.
const FAMILIES: [Family; 18] = [
    quant("gemm_aquant", false, QuantMode::A),
    quant("gemm_bquant", false, QuantMode::B),
    quant("gemm_abquant", false, QuantMode::AB),
    quant("gemm_rowcolquant", false, QuantMode::RowCol),
    quant("gemm_tensor_quant", false, QuantMode::Tensor),
    quant("grouped_gemm_aquant", true, QuantMode::A),
    quant("grouped_gemm_bquant", true, QuantMode::B),
    quant("grouped_gemm_abquant", true, QuantMode::AB),
    quant("grouped_gemm_rowcolquant", true, QuantMode::RowCol),
    quant("grouped_gemm_tensorquant", true, QuantMode::Tensor),
    quant("mx_gemm", false, QuantMode::Mx),
    Family { prefix: "batched_gemm", batched: true, ..PLAIN },
    Family { prefix: "grouped_gemm", grouped: true, ..PLAIN },
    Family { prefix: "gemm_streamk", stream_k: true, ..PLAIN },
    Family { prefix: "gemm_multi_d", multi_d: true, ..PLAIN },
    Family { prefix: "gemm_preshuffle", preshuffle: true, ..PLAIN },
    Family { prefix: TRITON, library: GemmLibrary::Triton, ..PLAIN },
    UNIVERSAL,
];

impl Family {
    /// The family that a name begins with: the one with the longest prefix.
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        let begins =
            |family: &&Self| name.strip_prefix(family.prefix).is_some_and(|rest| rest.starts_with('_'));
        FAMILIES.iter().chain([&PLAIN]).filter(begins).max_by_key(|family| family.prefix.len())
    }

    /// The most specific family of a kernel.
    pub(crate) fn from_kernel(kernel: &GemmKernel) -> &'static Self {
        let variant = &kernel.variant;
        let mode = variant.quant.map(|quant| quant.mode);
        let fits = |family: &&Self| {
            let has = |family_has: bool, kernel_has: bool| !family_has || kernel_has;
            family.quant == mode
                && family.library == variant.library
                && (matches!(mode, None | Some(QuantMode::Mx)) || family.grouped == kernel.grouped)
                && has(family.batched, variant.batched)
                && has(family.grouped, kernel.grouped)
                && has(family.stream_k, variant.stream_k.is_some())
                && has(family.multi_d, kernel.num_d_tensors > 0)
                && has(family.preshuffle, kernel.preshuffle)
        };
        // Microscaling has no grouped family: the plain family's name gets a suffix for it.
        FAMILIES.iter().find(fits).unwrap_or(&UNIVERSAL)
    }

    /// Whether the family's names contain flags for padding.
    pub(crate) fn has_flags(&self) -> bool {
        match self.quant {
            None | Some(QuantMode::Mx) => true,
            Some(QuantMode::RowCol | QuantMode::Tensor) => self.grouped,
            Some(QuantMode::A | QuantMode::B | QuantMode::AB) => false,
        }
    }
}
