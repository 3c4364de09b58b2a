//! Puts what a convolution kernel's name says over what its key says.

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
/// those on which name and key disagree; the types of weight and output, `name` and `arch` never change.
/// Fails with `CK_STATUS_INVALID_KERNEL`, and changes nothing, if `name` is not the name of a convolution
/// kernel. The strings written live as long as the library.
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
        let out = unsafe { out_struct(desc) }?;
        // SAFETY: the caller gives NULL or a NUL-terminated text.
        let name = unsafe { read_text(name, "name") }?;
        let name = ConvName::parse(name).map_err(Failure::of(CkStatus::InvalidKernel))?;
        write_over(&mut told, &name);
        // SAFETY: `out_struct` found the struct's size, and nobody else uses it during the call.
        unsafe { out.write(told) };
        Ok(())
    })
}

fn write_over(desc: &mut CkConvKernelDesc, name: &ConvName) {
    let (kernel, states) = (&name.kernel, |field| name.states(field));
    let is_long = states("layout");
    let is_short = !is_long && !states("wave_m");
    let was = *desc;
    // By leaving out what its grammar writes only when it is not the default, a name states the default.
    if is_long {
        let CkConvKernelDesc { struct_size, name, arch, dtype_wei, dtype_out, .. } = was;
        *desc = CkConvKernelDesc { struct_size, name, arch, dtype_wei, dtype_out, ..kernel.to_c() };
    }
    if is_short {
        desc.num_groups_to_merge = kernel.num_groups_to_merge.to_c();
        desc.double_smem_buffer = kernel.double_smem_buffer.to_c();
        desc.split_image = kernel.split_image.to_c();
        desc.two_stage = kernel.two_stage.to_c();
    } else {
        desc.specialization = kernel.specialization.to_c();
    }
    desc.direction = kernel.direction.to_c();
    desc.dtype_in = kernel.dtype_in.to_c();
    desc.ndim = kernel.ndim.to_c();
    desc.tile = kernel.tile.to_c();
    desc.pipeline = kernel.pipeline.to_c();
    desc.wave = either(&kernel.wave, was.wave, states("wave_m"));
    desc.warp_tile = either(&kernel.warp_tile, was.warp_tile, states("warp_tile_m"));
    desc.scheduler = either(&kernel.scheduler, was.scheduler, states("scheduler"));
    desc.epilogue = either(&kernel.epilogue, was.epilogue, states("epilogue"));
    desc.vector = either(&kernel.vector, was.vector, states("vector_a"));
}

/// The name's value or, if it states none, the one that was there.
fn either<T: AsC>(value: &T, was: T::C, is_stated: bool) -> T::C {
    if is_stated { value.to_c() } else { was }
}
