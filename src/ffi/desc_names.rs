//! What a convolution kernel's name says, over what its key says.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::{Mutex, PoisonError};

use super::error::{Failure, boundary};
use super::input::{read_struct, read_text, room};
use super::{CkConvKernelDesc, CkStatus};
use crate::kernel::{ConvName, Mnk};
use crate::vocab::{ConvLayout, Direction, Dtype};

/// Overwrites the fields of a descriptor that a kernel's name states, and leaves the others unchanged: short
/// names, for example, state neither waves nor vector widths, and a name with some flags states that the
/// kernel has no others. For kernels whose keys are not exact: CK's code generators write the pipelines
/// `basic_v1`, `comp_async` and `wavelet` into keys as `compv3`, and counts as 1. Fields that change are
/// those on which name and key disagree. The types of weight and output, `name` and `arch` never change. The
/// strings written live until the process ends. Fails with `CK_STATUS_INVALID_KERNEL`, and changes nothing,
/// if `name` is not the name of a convolution kernel.
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
        let place = unsafe { room(desc) }?;
        // SAFETY: the caller gives NULL or a NUL-terminated text.
        let name = unsafe { read_text(name, "name") }?;
        let name = ConvName::parse(name).map_err(Failure::of(CkStatus::InvalidKernel))?;
        write_over(&mut told, &name);
        // SAFETY: `room` found the struct's size, and nobody else uses it during the call.
        unsafe { place.write(told) };
        Ok(())
    })
}

fn write_over(desc: &mut CkConvKernelDesc, name: &ConvName) {
    let extents = |shape: Mnk| [shape.m as i32, shape.n as i32, shape.k as i32];
    let is_long = name.layout.is_some();
    let is_short = !is_long && name.wave.is_none();
    desc.direction = number(name.direction, Direction::ALL);
    desc.dtype_in = number(name.dtype, Dtype::ALL);
    desc.ndim = i32::from(name.ndim);
    desc.tile = extents(name.tile);
    desc.pipeline = lasting(name.pipeline.as_str());
    if let Some(layout) = name.layout {
        desc.layout = number(layout, ConvLayout::ALL);
    }
    if let Some(wave) = name.wave {
        desc.wave = extents(wave);
    }
    if let Some(warp_tile) = name.warp_tile {
        desc.warp_tile = extents(warp_tile);
    }
    if let Some(scheduler) = name.scheduler {
        desc.scheduler = lasting(scheduler.as_str());
    }
    if let Some(epilogue) = name.epilogue {
        desc.epilogue = lasting(epilogue.as_str());
    }
    if let Some(vector) = name.vector {
        desc.vector = vector.map(|width| width as i32);
    }
    // What a grammar writes only when it is not the default, it says by leaving it out, too.
    let count = |value: Option<u32>| value.map_or(1, |value| value as i32);
    if is_long || is_short {
        desc.num_groups_to_merge = count(name.num_groups_to_merge);
        desc.double_smem_buffer = i32::from(name.double_smem_buffer);
        desc.split_image = i32::from(name.split_image);
        desc.two_stage = i32::from(name.two_stage);
    }
    if !is_short {
        let word = name.specialization.map_or("default", |specialization| specialization.as_str());
        desc.specialization = lasting(word);
    }
    if is_long {
        desc.block_per_cu = count(name.block_per_cu);
        desc.num_wave_groups = count(name.num_wave_groups);
        desc.explicit_gemm = i32::from(name.explicit_gemm);
        let stream_k = name.stream_k;
        desc.stream_k_reduction =
            stream_k.map_or(std::ptr::null(), |stream_k| lasting(stream_k.reduction.as_str()));
        desc.stream_k_persistent = i32::from(stream_k.is_some_and(|stream_k| stream_k.persistent));
    }
}

/// The number of a word, which is its place among all.
fn number<T: Copy + PartialEq>(word: T, all: &[T]) -> i32 {
    all.iter().position(|known| *known == word).map_or(-1, |place| place as i32)
}

/// A word of the vocabulary as C wants it. Kept for good: there are few, and descriptors have no owner.
fn lasting(word: &'static str) -> *const c_char {
    static KEPT: Mutex<BTreeMap<&'static str, CString>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(word).or_insert_with(|| CString::new(word).unwrap_or_default()).as_ptr()
}
