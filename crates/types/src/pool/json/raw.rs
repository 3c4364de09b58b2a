//! Kernels as the exporters write them. Every field may be missing; unlisted fields are ignored.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::json::Strict;
use crate::pool::{PoolError, PoolFault};

/// The fields of a signature or an algorithm, whose meaning depends on the operation.
pub(super) type Part = Strict;

/// Reads a part, the field `field` of a kernel.
pub(super) fn part<T: DeserializeOwned + Default>(field: &str, part: Option<Part>) -> Result<T, PoolError> {
    let Some(Strict(part)) = part else { return Ok(T::default()) };
    T::deserialize(&part).map_err(|error| {
        let fault = PoolError::new(PoolFault::Syntax(error.to_string()));
        // serde does not say which key it was: the one that is as wrong alone.
        let alone = |(key, value): (&String, &Value)| T::deserialize(json!({ key: value })).is_err();
        match part.as_object().and_then(|part| part.iter().find(|pair| alone(*pair))) {
            Some((key, _)) => fault.within(key),
            None => fault,
        }
        .within(field)
    })
}

#[derive(Default, Deserialize)]
pub(super) struct RawKernel {
    pub(super) name: Option<String>,
    pub(super) identifier: Option<String>,
    pub(super) signature: Option<Part>,
    pub(super) algorithm: Option<Part>,
    pub(super) arch: Option<String>,
    pub(super) gfx_arch: Option<String>,
    // attention
    pub(super) family: Option<String>,
    pub(super) dtype: Option<String>,
    pub(super) pipeline: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct RawSignature {
    // GEMM registry
    pub(super) dtype_a: Option<String>,
    pub(super) dtype_b: Option<String>,
    pub(super) dtype_c: Option<String>,
    pub(super) dtype_acc: Option<String>,
    pub(super) layout_a: Option<String>,
    pub(super) layout_b: Option<String>,
    pub(super) layout_c: Option<String>,
    pub(super) transpose_a: Option<bool>,
    pub(super) transpose_b: Option<bool>,
    pub(super) grouped: Option<bool>,
    pub(super) split_k: Option<u64>,
    pub(super) elementwise_op: Option<String>,
    pub(super) num_d_tensors: Option<u64>,
    pub(super) structured_sparsity: Option<bool>,
    // convolution registry
    pub(super) dtype_in: Option<String>,
    pub(super) dtype_wei: Option<String>,
    pub(super) dtype_out: Option<String>,
    pub(super) op: Option<String>,
    // Python configurations
    pub(super) dtype: Option<String>,
    pub(super) variant: Option<String>,
    // both convolution dialects
    pub(super) layout: Option<String>,
    pub(super) ndim_spatial: Option<u64>,
}

#[derive(Default, Deserialize)]
pub(super) struct RawAlgorithm {
    // everywhere
    pub(super) pipeline: Option<String>,
    pub(super) scheduler: Option<String>,
    pub(super) epilogue: Option<String>,
    pub(super) num_wave_groups: Option<u64>,
    // GEMM registry
    pub(super) tile_shape: Option<RawShape>,
    pub(super) wave_shape: Option<RawShape>,
    pub(super) warp_tile_shape: Option<RawShape>,
    pub(super) block_size: Option<u64>,
    pub(super) double_buffer: Option<bool>,
    pub(super) persistent: Option<bool>,
    pub(super) preshuffle: Option<bool>,
    pub(super) transpose_c: Option<bool>,
    // both convolution dialects
    pub(super) tile_m: Option<u64>,
    pub(super) tile_n: Option<u64>,
    pub(super) tile_k: Option<u64>,
    pub(super) wave: Option<String>,
    pub(super) warp: Option<String>,
    pub(super) vector_sizes: Option<[u64; 3]>,
    pub(super) block_per_cu: Option<u64>,
    pub(super) num_groups_to_merge: Option<u64>,
    // in the configuration, not in its export
    pub(super) specialization: Option<String>,
    pub(super) double_smem_buffer: Option<bool>,
    pub(super) split_image: Option<bool>,
    pub(super) explicit_gemm: Option<bool>,
    pub(super) two_stage: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct RawShape {
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
}
