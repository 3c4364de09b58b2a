//! Registering attention kernels by descriptor.

use std::ffi::c_char;

use crate::ffi::CkStatus;
use crate::ffi::descriptors::{Descriptor, named};
use crate::ffi::error::Failure;
use crate::ffi::kernels::operation_callbacks;
use crate::ffi::mirror::{AsC, FromC, Member, mirror};
use crate::kernel::{FmhaKernel, FmhaTile, Kernel, KernelKind};
use crate::problem::FmhaProblem;
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
    unsafe fn kernel(&self) -> Result<Kernel, Failure> {
        let mut desc = *self;
        if desc.block_per_cu == -1 {
            desc.block_per_cu = FmhaKernel::PIPELINE_DECIDES.into();
        }
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        unsafe {
            let kernel = FmhaKernel::from_c(desc, Member::whole(CkStatus::InvalidKernel))?;
            Ok(Kernel { name: named(self.name, || kernel.identifier())?, kind: KernelKind::Fmha(kernel) })
        }
    }
}
