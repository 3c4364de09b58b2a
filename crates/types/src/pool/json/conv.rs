//! Convolution kernels: the C++ registry's export and Python configurations.

use super::fields::{Fields, number, word};
use super::raw::{RawAlgorithm, RawSignature};
use crate::kernel::{ConvName, Kernel, KernelKind, Mnk};
use crate::pool::error::quoted;
use crate::pool::{PoolError, PoolFault};
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::Arch;

/// The kernel of a convolution export, whichever of the two wrote it.
pub(super) fn kernel(
    name: String,
    identifier: Option<&str>,
    signature: RawSignature,
    algorithm: RawAlgorithm,
    arch: Option<Arch>,
) -> Result<Kernel, PoolError> {
    // A name of the caller's own tells nothing; then the identifier does.
    let (field, text) = identifier.map_or(("name", name.as_str()), |text| ("identifier", text));
    let said = ConvName::parse(text).map_err(|error| PoolError::new(PoolFault::Name(error)).within(field))?;
    let mut kernel = said.kernel();
    let fields = Fields { name: &name };
    let sig = |field: &str| format!("signature.{field}");
    let alg = |field: &str| format!("algorithm.{field}");

    for (field, text) in [("op", signature.op), ("variant", signature.variant)] {
        let field = sig(field);
        fields.set(&mut kernel.direction, &field, word(&field, text)?, Some(said.direction))?;
    }
    for (field, text) in [("dtype", signature.dtype), ("dtype_in", signature.dtype_in)] {
        let field = sig(field);
        fields.set(&mut kernel.dtype_in, &field, word(&field, text)?, Some(said.dtype))?;
    }
    fields.set(&mut kernel.dtype_wei, "", word(&sig("dtype_wei"), signature.dtype_wei)?, None)?;
    fields.set(&mut kernel.dtype_out, "", word(&sig("dtype_out"), signature.dtype_out)?, None)?;
    let field = sig("layout");
    fields.set(&mut kernel.layout, &field, word(&field, signature.layout)?, said.layout)?;
    let field = sig("ndim_spatial");
    let ndim = number(&field, signature.ndim_spatial, 1, 3)?.map(|ndim| ndim as u8);
    fields.set(&mut kernel.ndim, &field, ndim, Some(said.ndim))?;

    for (field, value, target, written) in [
        ("tile_m", algorithm.tile_m, &mut kernel.tile.m, said.tile.m),
        ("tile_n", algorithm.tile_n, &mut kernel.tile.n, said.tile.n),
        ("tile_k", algorithm.tile_k, &mut kernel.tile.k, said.tile.k),
    ] {
        let field = alg(field);
        fields.set(target, &field, number(&field, value, 1, MAX_EXTENT)?, Some(written))?;
    }
    for (field, text, target, written) in [
        ("wave", algorithm.wave, &mut kernel.wave, said.wave),
        ("warp", algorithm.warp, &mut kernel.warp_tile, said.warp_tile),
    ] {
        let field = alg(field);
        let triple = text.map(|text| {
            text.parse::<Mnk>()
                .ok()
                .filter(|mnk| [mnk.m, mnk.n, mnk.k].iter().all(|&x| x <= MAX_SMALL))
                .ok_or_else(|| {
                    PoolError::value(quoted(&text), "three numbers of 1 to 255 joined by 'x'").within(&field)
                })
        });
        fields.set(target, &field, triple.transpose()?, written)?;
    }
    let field = alg("pipeline");
    fields.set(&mut kernel.pipeline, &field, word(&field, algorithm.pipeline)?, Some(said.pipeline))?;
    let field = alg("scheduler");
    fields.set(&mut kernel.scheduler, &field, word(&field, algorithm.scheduler)?, said.scheduler)?;
    let field = alg("epilogue");
    fields.set(&mut kernel.epilogue, &field, word(&field, algorithm.epilogue)?, said.epilogue)?;
    let field = alg("specialization");
    fields.set(
        &mut kernel.specialization,
        &field,
        word(&field, algorithm.specialization)?,
        said.specialization,
    )?;
    for i in 0..3 {
        let field = format!("algorithm.vector_sizes[{i}]");
        let value = number(&field, algorithm.vector_sizes.map(|sizes| sizes[i]), 1, MAX_EXTENT)?;
        fields.set(&mut kernel.vector[i], &field, value, said.vector.map(|widths| widths[i]))?;
    }
    for (field, value, target, written) in [
        ("block_per_cu", algorithm.block_per_cu, &mut kernel.block_per_cu, said.block_per_cu),
        ("num_wave_groups", algorithm.num_wave_groups, &mut kernel.num_wave_groups, said.num_wave_groups),
        (
            "num_groups_to_merge",
            algorithm.num_groups_to_merge,
            &mut kernel.num_groups_to_merge,
            said.num_groups_to_merge,
        ),
    ] {
        let field = alg(field);
        fields.set(target, &field, number(&field, value, 1, MAX_EXTENT)?, written)?;
    }
    // No exporter writes these flags today. Still, a field that denies a flag of the name is a contradiction.
    for (field, value, target) in [
        ("double_smem_buffer", algorithm.double_smem_buffer, &mut kernel.double_smem_buffer),
        ("split_image", algorithm.split_image, &mut kernel.split_image),
        ("explicit_gemm", algorithm.explicit_gemm, &mut kernel.explicit_gemm),
        ("two_stage", algorithm.two_stage, &mut kernel.two_stage),
    ] {
        let written = target.then_some(true);
        fields.set(target, &alg(field), value, written)?;
    }
    kernel.arch = arch;
    Ok(Kernel { name, kind: KernelKind::Conv(kernel) })
}
