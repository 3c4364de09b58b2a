//! Registering attention kernels by descriptor.

use std::ffi::c_char;

use crate::ffi::descriptors::{Descriptor, described};
use crate::ffi::error::Failure;
use crate::ffi::kernels::operation_callbacks;
use crate::ffi::mirror::{AsC, FromC, mirror};
use crate::kernel::{FmhaKernel, FmhaTile, KernelKind};
use crate::problem::FmhaProblem;
use crate::registry::NewKernel;
use crate::vocab::{
    Arch, Dtype, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaPipeline,
    FmhaQscale, FmhaRope,
};
use ck_select_types::fmha_kernel;

fmha_kernel! {
    mirror
    /// An attention kernel, with the fields of CK's `FmhaKernelKey` and their numbers; a `block_per_cu` of -1
    /// counts as 255.
    CkFmhaKernelDesc sized "ck_fmha_kernel_desc",
    [
        struct_size: usize = size_of::<CkFmhaKernelDesc>(), "`sizeof(ck_fmha_kernel_desc)`.";
        name: *const c_char = std::ptr::null(),
            "The name under which it is registered; NULL for its identifier.";
    ] []
}

operation_callbacks!(FmhaProblem: supports_fmha, run_fmha, "ck_bench_prepare_fmha");

impl Descriptor for CkFmhaKernelDesc {
    unsafe fn kernel(&self) -> Result<NewKernel, Failure> {
        let mut desc = *self;
        if desc.block_per_cu == -1 {
            desc.block_per_cu = FmhaKernel::PIPELINE_DECIDES.into();
        }
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        unsafe { described(desc, self.name, FmhaKernel::identifier, |kernel, _| KernelKind::Fmha(kernel)) }
    }
}
