//! GEMM kernels: the C++ registry's export.

use super::fields::{Fields, exported, number, word};
use super::raw::{RawAlgorithm, RawShape, RawSignature};
use crate::kernel::{GemmKernel, GemmVariant, Kernel, KernelKind, Mnk};
use crate::pool::error::quoted;
use crate::pool::{PoolError, PoolFault};
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{Arch, Dtype, Elementwise, Epilogue, Major, Pipeline};

/// What the GEMM exporter can spell. It writes `unknown` for everything else, though identifiers do not.
const EXPORTED_DTYPES: &[Dtype] =
    &[Dtype::Fp16, Dtype::Bf16, Dtype::Fp32, Dtype::Fp8, Dtype::Bf8, Dtype::Int8, Dtype::Int32];
const EXPORTED_PIPELINES: &[Pipeline] = &[
    Pipeline::Mem,
    Pipeline::CompV1,
    Pipeline::CompV2,
    Pipeline::CompV3,
    Pipeline::CompV4,
    Pipeline::CompV5,
];
const EXPORTED_EPILOGUES: &[Epilogue] =
    &[Epilogue::None, Epilogue::Default, Epilogue::CShuffle, Epilogue::Bias, Epilogue::Activation];

/// What describes a GEMM kernel besides its fields.
pub(super) struct Source {
    name: String,
    kernel: GemmKernel,
    /// An identifier is complete; a name may leave suffixes out.
    complete: bool,
}

impl Source {
    pub(super) fn new(identifier: Option<String>, name: Option<String>) -> Result<Self, PoolError> {
        let fault = |error| PoolError::new(PoolFault::Name(error));
        let Some(identifier) = identifier else {
            let name = name.unwrap_or_default();
            return match Kernel::from_name(&name).map_err(|error| fault(error).within("name"))?.kind {
                KernelKind::Gemm(kernel) => {
                    Ok(Self { complete: GemmKernel::parse_identifier(&name).is_ok(), name, kernel })
                }
                KernelKind::Conv(_) | KernelKind::Fmha(_) => {
                    Err(PoolError::value(quoted(&name), "the name of a GEMM kernel").within("name"))
                }
            };
        };
        let parsed_name = name.as_deref().and_then(|name| GemmKernel::parse_name(name).ok());
        match (GemmKernel::parse_identifier(&identifier), parsed_name, name) {
            (Ok(mut kernel), Some(parsed), Some(name)) => {
                // The name adds the vector widths, if it describes the same kernel.
                kernel.vector = parsed.kernel.vector;
                if suffixless(&kernel) != suffixless(&parsed.kernel) {
                    return Err(PoolError::new(PoolFault::Contradiction {
                        in_name: parsed.kernel.identifier(),
                        in_field: identifier,
                        name,
                    })
                    .within("identifier"));
                }
                Ok(Self { name: identifier, kernel, complete: true })
            }
            (Ok(kernel), _, _) => Ok(Self { name: identifier, kernel, complete: true }),
            // Identifiers of older dispatchers contain too little, but then the name may be enough.
            (Err(_), Some(parsed), Some(name)) if identifier.starts_with(|c: char| c.is_ascii_digit()) => {
                Ok(Self { name, kernel: parsed.kernel, complete: false })
            }
            (Err(error), _, _) => Err(fault(error).within("identifier")),
        }
    }
}

/// The kernel without its suffixes.
fn suffixless(kernel: &GemmKernel) -> GemmKernel {
    GemmKernel {
        split_k: 1,
        elementwise: Elementwise::PassThrough,
        num_d_tensors: 0,
        structured_sparsity: false,
        preshuffle: false,
        grouped: false,
        variant: GemmVariant { stream_k: None, d_layout: Major::Row, ..kernel.variant },
        ..kernel.clone()
    }
}

/// The kernel of the registry's export.
pub(super) fn kernel(
    source: Source,
    signature: RawSignature,
    algorithm: RawAlgorithm,
    arch: Option<Arch>,
) -> Result<Kernel, PoolError> {
    let Source { name, mut kernel, complete } = source;
    let fields = Fields { name: &name };
    let said = kernel.clone();
    let plain = suffixless(&said);

    for (field, text, target, written) in [
        ("dtype_a", signature.dtype_a, &mut kernel.dtype_a, Some(said.dtype_a)),
        ("dtype_b", signature.dtype_b, &mut kernel.dtype_b, None),
        ("dtype_c", signature.dtype_c, &mut kernel.dtype_c, None),
        ("dtype_acc", signature.dtype_acc, &mut kernel.dtype_acc, None),
    ] {
        let field = format!("signature.{field}");
        let value = exported(&field, text, target, EXPORTED_DTYPES)?;
        fields.set(target, &field, value, written)?;
    }
    for (field, text, target, written) in [
        ("layout_a", signature.layout_a, &mut kernel.layout.a, said.layout.a),
        ("layout_b", signature.layout_b, &mut kernel.layout.b, said.layout.b),
        ("layout_c", signature.layout_c, &mut kernel.layout.c, said.layout.c),
    ] {
        let field = format!("signature.{field}");
        fields.set(target, &field, word(&field, text)?, Some(written))?;
    }
    let field = "signature.split_k";
    // A registry may write 0 for no split, as in a key that was never filled in.
    let value = number(field, signature.split_k, 0, MAX_SMALL)?.map(|parts| (parts as u8).max(1));
    let written = (complete || said.split_k != plain.split_k).then_some(said.split_k);
    fields.set(&mut kernel.split_k, field, value, written)?;
    let field = "signature.elementwise_op";
    let written = (complete || said.elementwise != plain.elementwise).then_some(said.elementwise);
    fields.set(&mut kernel.elementwise, field, word(field, signature.elementwise_op)?, written)?;
    let field = "signature.num_d_tensors";
    let value = number(field, signature.num_d_tensors, 0, MAX_SMALL)?.map(|tensors| tensors as u8);
    let written = (complete || said.num_d_tensors != 0).then_some(said.num_d_tensors);
    fields.set(&mut kernel.num_d_tensors, field, value, written)?;

    for (field, shape, max, target, written) in [
        ("tile_shape", algorithm.tile_shape, MAX_EXTENT, &mut kernel.tile, said.tile),
        ("wave_shape", algorithm.wave_shape, MAX_SMALL, &mut kernel.wave, said.wave),
        ("warp_tile_shape", algorithm.warp_tile_shape, MAX_SMALL, &mut kernel.warp_tile, said.warp_tile),
    ] {
        let field = format!("algorithm.{field}");
        let value = shape.map(|RawShape { m, n, k }| {
            let [m, n, k] = [("m", m), ("n", n), ("k", k)]
                .map(|(axis, value)| number(&format!("{field}.{axis}"), Some(value), 1, max));
            Ok(Mnk::new(m?.unwrap_or(1), n?.unwrap_or(1), k?.unwrap_or(1)))
        });
        fields.set(target, &field, value.transpose()?, Some(written))?;
    }
    let field = "algorithm.pipeline";
    let value = exported(field, algorithm.pipeline, &said.pipeline, EXPORTED_PIPELINES)?;
    fields.set(&mut kernel.pipeline, field, value, Some(said.pipeline))?;
    let field = "algorithm.epilogue";
    let value = exported(field, algorithm.epilogue, &said.epilogue, EXPORTED_EPILOGUES)?;
    fields.set(&mut kernel.epilogue, field, value, Some(said.epilogue))?;
    let field = "algorithm.scheduler";
    fields.set(&mut kernel.scheduler, field, word(field, algorithm.scheduler)?, Some(said.scheduler))?;
    let said_flag = |flag: bool| (complete || flag).then_some(flag);
    for (field, value, target, written) in [
        ("signature.transpose_a", signature.transpose_a, &mut kernel.transpose_a, None),
        ("signature.transpose_b", signature.transpose_b, &mut kernel.transpose_b, None),
        ("signature.grouped", signature.grouped, &mut kernel.grouped, None),
        (
            "signature.structured_sparsity",
            signature.structured_sparsity,
            &mut kernel.structured_sparsity,
            said_flag(said.structured_sparsity),
        ),
        ("algorithm.double_buffer", algorithm.double_buffer, &mut kernel.double_buffer, None),
        ("algorithm.persistent", algorithm.persistent, &mut kernel.persistent, Some(said.persistent)),
        ("algorithm.preshuffle", algorithm.preshuffle, &mut kernel.preshuffle, said_flag(said.preshuffle)),
        ("algorithm.transpose_c", algorithm.transpose_c, &mut kernel.transpose_c, None),
    ] {
        fields.set(target, field, value, written)?;
    }
    let field = "algorithm.block_size";
    fields.set(&mut kernel.block_size, field, number(field, algorithm.block_size, 0, MAX_EXTENT)?, None)?;
    let field = "algorithm.num_wave_groups";
    let value = number(field, algorithm.num_wave_groups, 1, MAX_SMALL)?.map(|groups| groups as u8);
    fields.set(&mut kernel.num_wave_groups, field, value, None)?;
    for axis in 0..3 {
        let field = format!("algorithm.vector_sizes[{axis}]");
        let value = number(&field, algorithm.vector_sizes.map(|sizes| sizes[axis]), 0, MAX_EXTENT)?;
        let written = Some(said.vector[axis]).filter(|width| *width != 0);
        fields.set(&mut kernel.vector[axis], &field, value, written)?;
    }
    if let Some(arch) = arch {
        kernel.set_arch(arch);
    }
    Ok(Kernel { name, kind: KernelKind::Gemm(kernel) })
}
