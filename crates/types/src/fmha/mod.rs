//! Attention: problems, kernels, and the names of kernels.

mod body;
mod ck_name;
mod config_name;
mod identifier;
mod kernel;
mod name;
mod problem;
mod supports;
#[cfg(test)]
mod tests;

pub use kernels::*;
#[cfg(test)]
pub(crate) use problem::from_given;
use problem::has_signature;
pub use problems::*;

pub(crate) mod kernels {
    pub use super::kernel::{FmhaKernel, FmhaTile};
    pub use super::supports::Unsupported;
}

pub(crate) mod problems {
    pub use super::problem::{FMHA_COLUMNS, FMHA_MORE_COLUMNS, FmhaProblem};
}

use crate::defaults::{ProblemDefaults, StatedFields};
use crate::field::{InvalidField, Record as _};
use crate::given::Given;
use crate::operation::{Operation, OperationKernel, OperationProblem};
use crate::scan::NameError;
use crate::vocab::Dtype;

/// The types that attention supports: all floats of at most 32 bits, and those that only it has.
const DTYPES: [Dtype; 10] = {
    use Dtype::{Bf8, Bf16, Fp8, Fp8Bf16, Fp8Fp16, Fp8Fp32, Fp16, Fp32, Mxfp4, Mxfp8};
    [Fp16, Bf16, Fp32, Fp8, Bf8, Fp8Fp16, Fp8Bf16, Fp8Fp32, Mxfp8, Mxfp4]
};

/// The words of attention's types, for messages.
fn dtype_words() -> String {
    DTYPES.map(Dtype::as_str).join(", ")
}

impl OperationProblem for FmhaProblem {
    type Kernel = FmhaKernel;
    const OPERATION: Operation = Operation {
        noun: "attention",
        problem: FmhaProblem::FIELDS,
        kernel: FmhaKernel::FIELDS,
        required: &["seqlen_q", "nhead_q", "hdim_q"],
        name_beginnings: "'fmha_'",
        identifying_keys: &["seqlen_q"],
        extra_keys: &[],
        shared_keys: &[],
        dtype_fields: &[],
        dtype: Dtype::Fp16,
        dtypes: &DTYPES,
        has_dtype_features: true,
        names_tell_types: true,
        letters: &[],
        columns: &FMHA_COLUMNS,
        optional_columns: &problem::MORE_COLUMNS,
        extents: FMHA_COLUMNS.split_at(7).0,
        variant_fields: &["dtype"],
        list_columns: &[
            &FMHA_COLUMNS,
            &["family", "dtype", "mode", "mask", "bias", "lse", "dropout", "dbias", "deterministic"],
        ],
        problem_cells: &[FMHA_COLUMNS.split_at(7).0, &["dtype", "data_type", "arch"]],
        kernel_cells: &[
            "pipeline", "tile_m0", "tile_n0", "tile_k0", "tile_n1", "tile_k1", "tile_k0max", "pad_s",
            "pad_sk", "pad_d", "pad_dv", "mask", "mask_type", "bias", "bias_type", "lse", "has_lse",
            "dropout", "has_dropout", "logits", "has_logits_soft_cap", "sink", "has_sink", "skip",
            "skip_min_seqlen_q", "qscale", "qscale_type", "paged_kv", "use_paged_kv",
        ],
        shares_kernel_cells: false,
        executable_flags: &[],
    };

    /// The problem with the given fields, checked. Without a signature, which a kernel's completes, only sizes are
    /// checked.
    fn from_given(given: Given<Self>, defaults: &ProblemDefaults) -> Result<Self, InvalidField> {
        let problem = problem::from_given(given, defaults)?;
        if !given.has_signature() {
            return problem.validate_sizes().map(|()| problem);
        }
        problem.validate().map(|()| problem.canonical())
    }

    /// If a file specifies only sizes, the rest comes from the kernel, as in upstream's benchmarks.
    fn filled(self, stated: StatedFields, kernel: &FmhaKernel) -> Self {
        let problem = if stated.signature { self } else { kernel.sign(&self) };
        Self { dtype: if stated.dtype { self.dtype } else { kernel.dtype }, ..problem }
    }

    fn summary(&self) -> String {
        format!("attention ({}, {})", self.family, self.dtype)
    }

    #[inline]
    fn assumed(&self) -> Self {
        let Self { seqlen_q, nhead_q, hdim_q, .. } = *self;
        Self { seqlen_k: seqlen_q, nhead_k: nhead_q, hdim_v: hdim_q, ..Self::USUAL }
    }

    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn normal(self) -> Self {
        self.canonical()
    }

    fn gemm_extents(&self) -> [i128; 2] {
        let queries = i128::from(self.batch) * i128::from(self.nhead_q) * i128::from(self.longest_q());
        [queries, self.longest_k().into()]
    }

    /// The longest sequence is recorded only for kernels of group mode.
    fn as_numbered(self) -> Self {
        Self { max_seqlen_q: self.longest_q(), max_seqlen_k: self.longest_k(), ..self }
    }

    fn states_signature(has: &dyn Fn(&str) -> bool) -> bool {
        has_signature(has)
    }
}

impl OperationKernel for FmhaKernel {
    fn fill_defaults(&self, defaults: &mut ProblemDefaults) {
        defaults.dtype = self.dtype;
    }

    fn begins_a_name(text: &str) -> bool {
        text.starts_with(Self::NAME_PREFIX)
    }

    fn read_name(name: &str) -> Result<Self, NameError> {
        Self::parse_name(name)
    }
}
