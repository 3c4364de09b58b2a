//! Convolution kernels: the C++ registry's export and Python configurations.

use super::RawKernel;
use super::part::{Fields, part};
use crate::field::Record as _;
use crate::kernel::{ConvKernel, ConvName, Kernel, KernelKind};
use crate::pool::PoolError;
use crate::vocab::Arch;

/// The kernel of a convolution export, whichever of the two wrote it.
pub(super) fn kernel(name: String, raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError> {
    // A name of the caller's own tells nothing; then the identifier does.
    let identifier = raw.identifier.as_deref();
    let (field, text) = identifier.map_or(("name", name.as_str()), |text| ("identifier", text));
    let told = ConvName::parse(text).map_err(|error| PoolError::new(error).within(field))?;
    let states = |field: &str, value: i64| match field {
        "dtype_wei" | "dtype_out" => false,
        "layout" => told.layout.is_some(),
        "wave_m" => told.wave.is_some(),
        "warp_tile_m" => told.warp_tile.is_some(),
        "scheduler" => told.scheduler.is_some(),
        "epilogue" => told.epilogue.is_some(),
        "specialization" => told.specialization.is_some(),
        "vector_a" | "vector_b" | "vector_c" => told.vector.is_some(),
        "block_per_cu" => told.block_per_cu.is_some(),
        "num_wave_groups" => told.num_wave_groups.is_some(),
        "num_groups_to_merge" => told.num_groups_to_merge.is_some(),
        "double_smem_buffer" | "split_image" | "explicit_gemm" | "two_stage" => value != 0,
        _ => true,
    };
    let kind = KernelKind::Conv(told.kernel());
    let mut fields = Fields::new(&kind, &name, &states);
    let (signature, algorithm) = (part("signature", raw.signature)?, part("algorithm", raw.algorithm)?);
    fields.set("signature", &signature)?;
    fields.set("algorithm", &algorithm)?;
    let kernel = ConvKernel { arch, ..ConvKernel::read(&fields.values, &ConvKernel::USUAL) };
    Ok(Kernel { name, kind: KernelKind::Conv(kernel) })
}
