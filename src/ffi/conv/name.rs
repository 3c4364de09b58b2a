//! What a convolution kernel's name says, over what its key says.

use std::ffi::c_char;

use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::{out_struct, read_struct, read_text};
use crate::ffi::mirror::AsC;
use crate::ffi::{CkConvKernelDesc, CkStatus};
use crate::kernel::ConvName;

/// Overwrites the fields of a descriptor that a kernel's name states, and leaves the others unchanged: short
/// names, for example, state neither waves nor vector widths, and a name with some flags states that the
/// kernel has no others. For kernels whose keys are not exact: CK's code generators write the pipelines
/// `basic_v1`, `comp_async` and `wavelet` into keys as `compv3`, and counts as 1. Fields that change are
/// those on which name and key disagree; the types of weight and output, `name` and `arch` never do. Fails
/// with `CK_STATUS_INVALID_KERNEL`, and changes nothing, if `name` is not the name of a convolution kernel.
/// The strings written live as long as the library.
///
/// # Safety
/// `name` is a NUL-terminated string; `desc` points to a `ck_conv_kernel_desc` with its `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_conv_kernel_desc_read_name(
    desc: *mut CkConvKernelDesc,
    name: *const c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives NULL or a descriptor with its size set, whose texts are NULL or
        // NUL-terminated.
        let mut told = unsafe { read_struct(desc.cast_const()) }?;
        // SAFETY: the same address, which the caller lets be written to.
        let place = unsafe { out_struct(desc) }?;
        // SAFETY: the caller gives NULL or a NUL-terminated text.
        let name = unsafe { read_text(name, "name") }?;
        let name = ConvName::parse(name).map_err(Failure::of(CkStatus::InvalidKernel))?;
        write_over(&mut told, &name);
        // SAFETY: `out_struct` found the struct's size, and nobody else uses it during the call.
        unsafe { place.write(told) };
        Ok(())
    })
}

fn write_over(desc: &mut CkConvKernelDesc, name: &ConvName) {
    let (kernel, states) = (&name.kernel, |field| name.states(field));
    let is_long = states("layout");
    let is_short = !is_long && !states("wave_m");
    desc.direction = kernel.direction.to_c();
    desc.dtype_in = kernel.dtype_in.to_c();
    desc.ndim = kernel.ndim.to_c();
    desc.tile = kernel.tile.to_c();
    desc.pipeline = kernel.pipeline.to_c();
    set(&mut desc.layout, &kernel.layout, states("layout"));
    set(&mut desc.wave, &kernel.wave, states("wave_m"));
    set(&mut desc.warp_tile, &kernel.warp_tile, states("warp_tile_m"));
    set(&mut desc.scheduler, &kernel.scheduler, states("scheduler"));
    set(&mut desc.epilogue, &kernel.epilogue, states("epilogue"));
    set(&mut desc.vector, &kernel.vector, states("vector_a"));
    // What a grammar writes only when it is not the default, it says by leaving it out, too.
    if is_long || is_short {
        desc.num_groups_to_merge = kernel.num_groups_to_merge.to_c();
        desc.double_smem_buffer = kernel.double_smem_buffer.to_c();
        desc.split_image = kernel.split_image.to_c();
        desc.two_stage = kernel.two_stage.to_c();
    }
    if !is_short {
        desc.specialization = kernel.specialization.to_c();
    }
    if is_long {
        desc.block_per_cu = kernel.block_per_cu.to_c();
        desc.num_wave_groups = kernel.num_wave_groups.to_c();
        desc.explicit_gemm = kernel.explicit_gemm.to_c();
        desc.stream_k = kernel.stream_k.to_c();
    }
}

fn set<T: AsC>(field: &mut T::C, value: &T, is_stated: bool) {
    if is_stated {
        *field = value.to_c();
    }
}
