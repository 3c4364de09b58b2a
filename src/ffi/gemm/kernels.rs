//! Registering GEMM kernels by descriptor.

use std::ffi::c_char;
use std::mem::offset_of;

use crate::ffi::descriptors::{Descriptor, described};
use crate::ffi::error::Failure;
use crate::ffi::kernels::operation_callbacks;
use crate::ffi::mirror::{AsC, FromC, mirror};
use crate::kernel::{GemmKernel, GemmVariant, KernelKind, Mnk, Quant};
use crate::problem::GemmProblem;
use crate::registry::NewKernel;
use crate::vocab::{
    Arch, Dtype, Elementwise, Epilogue, GemmLayout, GemmLibrary, Major, Pipeline, Scheduler, StreamKReduction,
};
use ck_select_types::{gemm_kernel, gemm_variant};

gemm_kernel! {
    mirror
    /// A GEMM kernel, with the fields of CK's `KernelKey`.
    CkGemmKernelDesc sized "ck_gemm_kernel_desc"
        at least offset_of!(Self, variant) + offset_of!(CkGemmVariant, stages),
    [
        struct_size: usize = size_of::<CkGemmKernelDesc>(), "`sizeof(ck_gemm_kernel_desc)`.";
        name: *const c_char = std::ptr::null(),
            "The name under which it is registered, any single line of text; NULL for CK's identifier, which \
             lacks the types of B, C and the accumulators, the transposes, `grouped`, the block size, the \
             vector widths and the architecture.";
    ] []
}

gemm_variant! {
    mirror
    /// What sets a GEMM kernel apart from a plain one.
    CkGemmVariant, [] []
}

operation_callbacks!(GemmProblem: supports_gemm, run_gemm, "ck_bench_prepare_gemm");

impl Descriptor for CkGemmKernelDesc {
    unsafe fn kernel(&self) -> Result<NewKernel, Failure> {
        let kind = |mut kernel: GemmKernel, name: &str| {
            if kernel.variant.library == GemmLibrary::Ck {
                kernel.variant.library = GemmKernel::library_of(name);
            }
            KernelKind::Gemm(kernel)
        };
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        unsafe { described(*self, self.name, GemmKernel::identifier, kind) }
    }
}
