//! Registering convolution kernels by descriptor.

use std::ffi::c_char;

use crate::ffi::descriptors::{Descriptor, add_described, described, give_usual};
use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::check_reserved;
use crate::ffi::kernels::{CkKernelHooks, operation_callbacks};
use crate::ffi::mirror::{AsC, FromC, Member, mirror};
use crate::ffi::{CkRegistry, CkStatus};
use crate::kernel::{ConvKernel, KernelKind, Mnk, StreamK};
use crate::problem::ConvProblem;
use crate::registry::NewKernel;
use crate::vocab::{
    Arch, ConvLayout, Direction, Dtype, Epilogue, Pipeline, Scheduler, Specialization, StreamKReduction,
};
use ck_select_types::conv_kernel;

conv_kernel! {
    mirror
    /// A grouped-convolution kernel, with the fields of CK's `GroupedConvKernelKey` and those that only its
    /// names contain.
    ///
    /// Words are those of kernel names, such as "compv3"; they are strings, because CK adds some with each
    /// version. A kernel that is registered under a `name` may have a pipeline, scheduler, epilogue,
    /// specialization or reduction that this library does not know: no model and no estimate ranks it, and it is
    /// chosen, flagged `unmeasured`, by its priority where none of those that are ranked can run.
    CkConvKernelDesc sized "ck_conv_kernel_desc",
    [
        struct_size: usize = size_of::<CkConvKernelDesc>(), "`sizeof(ck_conv_kernel_desc)`.";
        name: *const c_char = std::ptr::null(),
            "The name under which it is registered, any single line of text; NULL for the name of CK's code \
             generator, which contains everything except the types of weight and output and the \
             architecture.";
    ] []
}

/// Stream-K settings of a convolution kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkStreamK {
    /// How the kernel reduces its partial results: "none", "tree", "linear" or "atomic"; NULL if it is not a stream-K
    /// kernel.
    pub reduction: *const c_char,
    /// Not 0: its workgroups stay resident.
    pub persistent: i32,
    /// Must be 0.
    pub reserved: i32,
}

impl AsC for Option<StreamK> {
    type C = CkStreamK;

    fn to_c(&self) -> CkStreamK {
        CkStreamK {
            reduction: self.map(|stream_k| stream_k.reduction).to_c(),
            persistent: self.is_some_and(|stream_k| stream_k.persistent).into(),
            reserved: 0,
        }
    }
}

impl FromC for Option<StreamK> {
    unsafe fn from_c(value: CkStreamK, member: Member<'_>) -> Result<Self, Failure> {
        check_reserved("stream_k.", value.reserved)?;
        let persistent = value.persistent != 0;
        // SAFETY: by contract.
        let reduction: Option<StreamKReduction> = unsafe { FromC::from_c(value.reduction, member) }?;
        if persistent && reduction.is_none() {
            return Err(member.failure("stream_k.persistent is set, but stream_k.reduction is NULL"));
        }
        Ok(reduction.map(|reduction| StreamK { reduction, persistent }))
    }
}

operation_callbacks!(ConvProblem: supports_conv, run_conv, "ck_bench_prepare_conv");

/// Initialises a descriptor with `struct_size` and the defaults of CK: a forward bf16 NHWGC convolution in
/// two dimensions (tile 1x128x128, waves 2x2x1, instruction 32x32x16, compv3, intrawave, cshuffle, vectors 4,
/// 8, 8); an fp8 GEMM of layout rcr (tile 128x128x64, the same waves, instruction, pipeline, scheduler and
/// epilogue, everything padded); forward fp16 attention in batch mode with heads of 128 (pipeline "qr", tile
/// 128x64x32x128x32x128, the same waves and instruction, everything padded).
///
/// # Safety
/// `desc` points to a `ck_conv_kernel_desc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_conv_kernel_desc_init(desc: *mut CkConvKernelDesc) -> CkStatus {
    // SAFETY: `give_usual` has the contract of this function.
    boundary(|| unsafe { give_usual::<ConvKernel>(desc) })
}

/// Adds kernels by descriptor: all of them or, if one cannot be added, none. `hooks` is NULL, or has one
/// element per descriptor; see `ck_registry_add_kernel`.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `descs` points to `count` descriptors, each with its
/// `struct_size` set and its strings NULL or NUL-terminated; `hooks` is NULL or points to `count` hooks as
/// for `ck_registry_add_kernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_add_conv_kernels(
    registry: *mut CkRegistry,
    descs: *const CkConvKernelDesc,
    hooks: *const CkKernelHooks,
    count: usize,
) -> CkStatus {
    // SAFETY: `add_described` has the contract of this function.
    boundary(|| unsafe { add_described(registry, descs, hooks, count) })
}

impl Descriptor for CkConvKernelDesc {
    unsafe fn kernel(&self) -> Result<NewKernel, Failure> {
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        unsafe { described(*self, self.name, ConvKernel::long_name, |kernel, _| KernelKind::Conv(kernel)) }
    }
}
