//! Registering kernels by descriptor.

use std::ffi::c_char;
use std::mem::offset_of;
use std::str::FromStr;

use super::error::{Failure, boundary};
use super::gemm_request;
use super::input::{
    Versioned, output, read_arch, read_optional_text, read_registry, read_structs, read_text, write_output,
};
use super::kernels::{CkKernelHooks, add, new_kernel, read_all_hooks, read_hooks_at};
use super::{CkRegistry, CkStatus, words};
use crate::kernel::{ConvKernel, GemmKernel, GemmVariant, Kernel, KernelKind, Mnk, Quant, StreamK};
use crate::vocab::{Elementwise, Specialization, UnknownWord};

/// A grouped-convolution kernel, with the fields of CK's `GroupedConvKernelKey` and those that only its names
/// contain.
///
/// Initialise it with `ck_conv_kernel_desc_init`. Words are those of kernel names, such as "compv3"; they are
/// strings, because CK adds some with each version. Strings are borrowed for the call that takes the
/// descriptor.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkConvKernelDesc {
    /// `sizeof(ck_conv_kernel_desc)`.
    pub struct_size: usize,
    /// The name under which it is registered, any single line of text; NULL for the name of CK's code
    /// generator, which contains everything except the types of weight and output and the architecture.
    pub name: *const c_char,
    /// The architecture that it was built for, such as "gfx950"; NULL if unknown: it then runs on any.
    pub arch: *const c_char,
    /// How loads overlap with arithmetic: "compv3", "mem" and so on.
    pub pipeline: *const c_char,
    /// "intrawave", "interwave" or "auto".
    pub scheduler: *const c_char,
    /// How results are written from the registers: "cshuffle", "default" and so on.
    pub epilogue: *const c_char,
    /// What the kernel assumes of problems: `default`, `filter1x1_stride1_pad0` and so on; NULL is `default`.
    pub specialization: *const c_char,
    /// How a stream-K kernel reduces its partial results: "none", "tree", "linear" or "atomic"; NULL if it is
    /// not a stream-K kernel.
    pub stream_k_reduction: *const c_char,
    /// A `ck_direction`.
    pub direction: i32,
    /// Spatial dimensions: 1, 2 or 3.
    pub ndim: i32,
    /// A `ck_dtype`: the input's.
    pub dtype_in: i32,
    /// A `ck_dtype`: the weight's.
    pub dtype_wei: i32,
    /// A `ck_dtype`: the output's.
    pub dtype_out: i32,
    /// A `ck_conv_layout`.
    pub layout: i32,
    /// Result tile and depth of one step, per workgroup: m, n, k.
    pub tile: [i32; 3],
    /// Waves per workgroup: m, n, k.
    pub wave: [i32; 3],
    /// Tile of one matrix instruction (CK's `warp_*`): m, n, k.
    pub warp_tile: [i32; 3],
    /// Elements of one memory access of A, B and C.
    pub vector: [i32; 3],
    /// Workgroups intended to fit on one compute unit.
    pub block_per_cu: i32,
    /// Number of groups that the waves of a workgroup form.
    pub num_wave_groups: i32,
    /// Convolution groups that one workgroup handles together.
    pub num_groups_to_merge: i32,
    /// Not 0: two buffers in shared memory ("_dsb").
    pub double_smem_buffer: i32,
    /// Not 0: splits images to support large tensors ("_si", CK's `large_tensor`).
    pub split_image: i32,
    /// Not 0: runs as a plain GEMM.
    pub explicit_gemm: i32,
    /// Not 0: converts in a second launch ("_2stage").
    pub two_stage: i32,
    /// Not 0: a stream-K kernel whose workgroups stay resident.
    pub stream_k_persistent: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkConvKernelDesc {
    const NAME: &'static str = "ck_conv_kernel_desc";
    const LEAST: usize = offset_of!(Self, double_smem_buffer);
}

/// A GEMM kernel, with the fields of CK's `KernelKey`. Initialise it with `ck_gemm_kernel_desc_init`; see
/// `ck_conv_kernel_desc` for words and strings.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkGemmKernelDesc {
    /// `sizeof(ck_gemm_kernel_desc)`.
    pub struct_size: usize,
    /// The name under which it is registered, any single line of text; NULL for CK's identifier, which lacks
    /// the types of B, C and the accumulators, the transposes, `grouped`, the block size, the vector widths
    /// and the architecture.
    pub name: *const c_char,
    /// The architecture that it was built for, such as "gfx950"; NULL if unknown: it then runs on any.
    pub arch: *const c_char,
    /// How loads overlap with arithmetic: "compv3", "mem" and so on.
    pub pipeline: *const c_char,
    /// "intrawave", "interwave" or "auto".
    pub scheduler: *const c_char,
    /// How results are written from the registers: "cshuffle", "default" and so on.
    pub epilogue: *const c_char,
    /// The operation on each element of the result: `Relu`, `MultiDAdd` and so on; NULL is `PassThrough`.
    pub elementwise: *const c_char,
    /// A `ck_dtype`: A's.
    pub dtype_a: i32,
    /// A `ck_dtype`: B's.
    pub dtype_b: i32,
    /// A `ck_dtype`: C's.
    pub dtype_c: i32,
    /// A `ck_dtype`: the accumulators'.
    pub dtype_acc: i32,
    /// A `ck_major`: A's.
    pub layout_a: i32,
    /// A `ck_major`: B's.
    pub layout_b: i32,
    /// A `ck_major`: C's.
    pub layout_c: i32,
    /// Not 0: A is transposed on the fly.
    pub transpose_a: i32,
    /// Not 0: B is transposed on the fly.
    pub transpose_b: i32,
    /// Not 0: computes many GEMMs in one launch.
    pub grouped: i32,
    /// Number of parts into which K is split; 1 for no split.
    pub split_k: i32,
    /// Number of additional tensors that the elementwise operation reads.
    pub num_d_tensors: i32,
    /// Not 0: uses 2:4 structured sparsity.
    pub structured_sparsity: i32,
    /// Result tile and depth of one step, per workgroup: m, n, k.
    pub tile: [i32; 3],
    /// Waves per workgroup: m, n, k.
    pub wave: [i32; 3],
    /// Tile of one matrix instruction (CK's `warp_tile_shape`): m, n, k.
    pub warp_tile: [i32; 3],
    /// Not 0: handles m, n, k that are not multiples of the tile.
    pub pad: [i32; 3],
    /// Fixed vector widths of A, B, C; 0 for the kernel's own.
    pub vector: [i32; 3],
    /// Threads per workgroup; 0 if unknown.
    pub block_size: i32,
    /// Not 0: two buffers in shared memory.
    pub double_buffer: i32,
    /// Not 0: workgroups stay resident and loop over tiles.
    pub persistent: i32,
    /// Not 0: B is stored in the order in which it is read.
    pub preshuffle: i32,
    /// Not 0: C is written transposed.
    pub transpose_c: i32,
    /// Number of groups that the waves of a workgroup form.
    pub num_wave_groups: i32,
    /// Not 0: computes a batch, GEMMs of equal extents at equal distances in memory.
    pub batched: i32,
    /// How a stream-K kernel reduces its partial results: "none", "tree", "linear" or "atomic"; NULL if it is
    /// not a stream-K kernel.
    pub stream_k_reduction: *const c_char,
    /// Which operands have scales: "aquant", "bquant", "abquant", "rowcolquant", `tensor_quant` or "mx"; NULL
    /// for none.
    pub quant: *const c_char,
    /// Elements of A that share a scale: m, n, k. Zeros: 1, 1, 128, and 1, 1, 32 for "mx".
    pub quant_group_a: [i32; 3],
    /// The same for B.
    pub quant_group_b: [i32; 3],
    /// Not 0: the scales of A, and of B, are stored in the order in which they are read.
    pub shuffled_scales: [i32; 2],
    /// A `ck_major`: the D tensors'.
    pub d_layout: i32,
    /// Workgroups intended to fit on one compute unit; 0 means 1.
    pub block_per_cu: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkGemmKernelDesc {
    const NAME: &'static str = "ck_gemm_kernel_desc";
    const LEAST: usize = offset_of!(Self, block_size);
}

/// Initialises a descriptor with the defaults of CK's key (tile 1x128x128, waves 2x2x1, instruction 32x32x16,
/// compv3, intrawave, cshuffle, vectors 4, 8, 8) for a forward bf16 NHWGC convolution in two dimensions; sets
/// `struct_size`.
///
/// # Safety
/// `desc` points to a `ck_conv_kernel_desc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_conv_kernel_desc_init(desc: *mut CkConvKernelDesc) -> CkStatus {
    boundary(|| {
        let desc = output(desc, "desc")?;
        let usual = CkConvKernelDesc {
            struct_size: size_of::<CkConvKernelDesc>(),
            name: std::ptr::null(),
            arch: std::ptr::null(),
            pipeline: c"compv3".as_ptr(),
            scheduler: c"intrawave".as_ptr(),
            epilogue: c"cshuffle".as_ptr(),
            specialization: std::ptr::null(),
            stream_k_reduction: std::ptr::null(),
            direction: words::CkDirection::Forward as i32,
            ndim: 2,
            dtype_in: words::CkDtype::Bf16 as i32,
            dtype_wei: words::CkDtype::Bf16 as i32,
            dtype_out: words::CkDtype::Bf16 as i32,
            layout: words::CkConvLayout::Nhwgc as i32,
            tile: [1, 128, 128],
            wave: [2, 2, 1],
            warp_tile: [32, 32, 16],
            vector: [4, 8, 8],
            block_per_cu: 1,
            num_wave_groups: 1,
            num_groups_to_merge: 1,
            double_smem_buffer: 0,
            split_image: 0,
            explicit_gemm: 0,
            two_stage: 0,
            stream_k_persistent: 0,
        };
        // SAFETY: by contract, `desc` is valid for writing.
        unsafe { write_output(desc, usual) };
        Ok(())
    })
}

/// Initialises a descriptor with an fp8 kernel of layout rcr (tile 128x128x64, waves 2x2x1, instruction
/// 32x32x16, compv3, intrawave, cshuffle, everything padded); sets `struct_size`.
///
/// # Safety
/// `desc` points to a `ck_gemm_kernel_desc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_gemm_kernel_desc_init(desc: *mut CkGemmKernelDesc) -> CkStatus {
    boundary(|| {
        let desc = output(desc, "desc")?;
        let usual = CkGemmKernelDesc {
            struct_size: size_of::<CkGemmKernelDesc>(),
            name: std::ptr::null(),
            arch: std::ptr::null(),
            pipeline: c"compv3".as_ptr(),
            scheduler: c"intrawave".as_ptr(),
            epilogue: c"cshuffle".as_ptr(),
            elementwise: std::ptr::null(),
            dtype_a: words::CkDtype::Fp8 as i32,
            dtype_b: words::CkDtype::Fp8 as i32,
            dtype_c: words::CkDtype::Fp16 as i32,
            dtype_acc: words::CkDtype::Fp32 as i32,
            layout_a: words::CkMajor::Row as i32,
            layout_b: words::CkMajor::Col as i32,
            layout_c: words::CkMajor::Row as i32,
            transpose_a: 0,
            transpose_b: 0,
            grouped: 0,
            split_k: 1,
            num_d_tensors: 0,
            structured_sparsity: 0,
            tile: [128, 128, 64],
            wave: [2, 2, 1],
            warp_tile: [32, 32, 16],
            pad: [1; 3],
            vector: [0; 3],
            block_size: 0,
            double_buffer: 0,
            persistent: 0,
            preshuffle: 0,
            transpose_c: 0,
            num_wave_groups: 1,
            batched: 0,
            stream_k_reduction: std::ptr::null(),
            quant: std::ptr::null(),
            quant_group_a: [0; 3],
            quant_group_b: [0; 3],
            shuffled_scales: [0; 2],
            d_layout: words::CkMajor::Row as i32,
            block_per_cu: 1,
        };
        // SAFETY: by contract, `desc` is valid for writing.
        unsafe { write_output(desc, usual) };
        Ok(())
    })
}

/// Adds convolution kernels by descriptor: all of them or, if one cannot be added, none. `hooks` is NULL, or
/// has one element per descriptor; see also `ck_registry_add_kernel`.
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

/// Adds GEMM kernels by descriptor; see `ck_registry_add_conv_kernels`.
///
/// # Safety
/// As for `ck_registry_add_conv_kernels`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_add_gemm_kernels(
    registry: *mut CkRegistry,
    descs: *const CkGemmKernelDesc,
    hooks: *const CkKernelHooks,
    count: usize,
) -> CkStatus {
    // SAFETY: `add_described` has the contract of this function.
    boundary(|| unsafe { add_described(registry, descs, hooks, count) })
}

/// # Safety
/// As for `ck_registry_add_conv_kernels`.
pub(super) unsafe fn add_described<D: Descriptor>(
    registry: *mut CkRegistry,
    descs: *const D,
    hooks: *const CkKernelHooks,
    count: usize,
) -> Result<(), Failure> {
    // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `descs` has `count` structs,
    // each with its size set.
    let (registry, descs) = unsafe { (read_registry(registry)?, read_structs(descs, count, "descs")?) };
    // SAFETY: by contract, `hooks` is NULL or has `count` structs, each with its size set.
    let hooks = unsafe { read_all_hooks(hooks, count) }?;
    let mut kernels = Vec::new();
    for index in 0..descs.len() {
        // SAFETY: `index` is in both arrays, which by contract live for the call.
        let (desc, hooks) = unsafe { (descs.read(index)?, read_hooks_at(hooks.as_ref(), index)?) };
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        let kernel = unsafe { desc.kernel() }?;
        kernels.push(new_kernel(kernel, hooks));
    }
    add(registry, kernels)
}

/// A descriptor of any operation.
pub(super) trait Descriptor: Versioned {
    /// The kernel, with its words checked; the registry checks its numbers.
    ///
    /// # Safety
    /// Its texts are NULL or NUL-terminated.
    unsafe fn kernel(&self) -> Result<Kernel, Failure>;
}

impl Descriptor for CkConvKernelDesc {
    unsafe fn kernel(&self) -> Result<Kernel, Failure> {
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        let reduction = unsafe { optional_word(self.stream_k_reduction, "stream_k_reduction") }?;
        let stream_k =
            reduction.map(|reduction| StreamK { reduction, persistent: self.stream_k_persistent != 0 });
        if stream_k.is_none() && self.stream_k_persistent != 0 {
            let message = "stream_k_persistent is set, but stream_k_reduction is NULL";
            return Err(Failure::new(CkStatus::InvalidKernel, message));
        }
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        let kernel = unsafe {
            ConvKernel {
                direction: words::direction(self.direction)?,
                dtype_in: words::dtype("dtype_in", self.dtype_in)?,
                dtype_wei: words::dtype("dtype_wei", self.dtype_wei)?,
                dtype_out: words::dtype("dtype_out", self.dtype_out)?,
                layout: words::conv_layout(self.layout)?,
                ndim: small("ndim", self.ndim)?,
                tile: shape("tile", self.tile)?,
                wave: shape("wave", self.wave)?,
                warp_tile: shape("warp_tile", self.warp_tile)?,
                pipeline: word(self.pipeline, "pipeline")?,
                scheduler: word(self.scheduler, "scheduler")?,
                epilogue: word(self.epilogue, "epilogue")?,
                vector: numbers("vector", self.vector)?,
                block_per_cu: number("block_per_cu", self.block_per_cu)?,
                num_wave_groups: number("num_wave_groups", self.num_wave_groups)?,
                num_groups_to_merge: number("num_groups_to_merge", self.num_groups_to_merge)?,
                specialization: optional_word(self.specialization, "specialization")?
                    .unwrap_or(Specialization::Default),
                double_smem_buffer: self.double_smem_buffer != 0,
                split_image: self.split_image != 0,
                explicit_gemm: self.explicit_gemm != 0,
                two_stage: self.two_stage != 0,
                stream_k,
                arch: read_arch(self.arch, "arch")?,
            }
        };
        // SAFETY: by contract, `self.name` is NULL or NUL-terminated.
        let name = unsafe { read_optional_text(self.name, "name") }?;
        let name = name.map_or_else(|| kernel.long_name(), str::to_owned);
        Ok(Kernel { name, kind: KernelKind::Conv(kernel) })
    }
}

impl Descriptor for CkGemmKernelDesc {
    unsafe fn kernel(&self) -> Result<Kernel, Failure> {
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        let quant = unsafe { optional_word(self.quant, "quant") }?.map(Quant::usual);
        let quant = gemm_request::groups_of(quant, self.quant_group_a, self.quant_group_b)?;
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        let mut kernel = unsafe {
            GemmKernel {
                dtype_a: words::dtype("dtype_a", self.dtype_a)?,
                dtype_b: words::dtype("dtype_b", self.dtype_b)?,
                dtype_c: words::dtype("dtype_c", self.dtype_c)?,
                dtype_acc: words::dtype("dtype_acc", self.dtype_acc)?,
                layout: words::gemm_layout([self.layout_a, self.layout_b, self.layout_c])?,
                transpose_a: self.transpose_a != 0,
                transpose_b: self.transpose_b != 0,
                grouped: self.grouped != 0,
                split_k: small("split_k", self.split_k)?,
                elementwise: optional_word(self.elementwise, "elementwise")?
                    .unwrap_or(Elementwise::PassThrough),
                num_d_tensors: small("num_d_tensors", self.num_d_tensors)?,
                structured_sparsity: self.structured_sparsity != 0,
                tile: shape("tile", self.tile)?,
                wave: shape("wave", self.wave)?,
                warp_tile: shape("warp_tile", self.warp_tile)?,
                pipeline: word(self.pipeline, "pipeline")?,
                scheduler: word(self.scheduler, "scheduler")?,
                epilogue: word(self.epilogue, "epilogue")?,
                block_size: number("block_size", self.block_size)?,
                double_buffer: self.double_buffer != 0,
                persistent: self.persistent != 0,
                preshuffle: self.preshuffle != 0,
                transpose_c: self.transpose_c != 0,
                num_wave_groups: small("num_wave_groups", self.num_wave_groups)?,
                pad: self.pad.map(|pad| pad != 0),
                vector: numbers("vector", self.vector)?,
                variant: GemmVariant {
                    batched: self.batched != 0,
                    stream_k: optional_word(self.stream_k_reduction, "stream_k_reduction")?,
                    d_layout: words::major("d_layout", self.d_layout)?,
                    quant,
                    shuffled_scales: self.shuffled_scales.map(|shuffled| shuffled != 0),
                    block_per_cu: small("block_per_cu", self.block_per_cu)?.max(1),
                    // The name says it.
                    triton: false,
                },
                arch: read_arch(self.arch, "arch")?,
            }
        };
        // SAFETY: by contract, `self.name` is NULL or NUL-terminated.
        let name = unsafe { read_optional_text(self.name, "name") }?;
        let name = name.map_or_else(|| kernel.identifier(), str::to_owned);
        kernel.variant.triton = GemmKernel::is_tritons(&name);
        Ok(Kernel { name, kind: KernelKind::Gemm(kernel) })
    }
}

/// # Safety
/// As for [`read_text`].
pub(super) unsafe fn word<T: FromStr<Err = UnknownWord>>(
    text: *const c_char,
    what: &str,
) -> Result<T, Failure> {
    // SAFETY: by contract, `text` is NULL or NUL-terminated.
    parsed(unsafe { read_text(text, what) }?, what)
}

/// # Safety
/// As for [`read_text`].
unsafe fn optional_word<T: FromStr<Err = UnknownWord>>(
    text: *const c_char,
    what: &str,
) -> Result<Option<T>, Failure> {
    // SAFETY: by contract, `text` is NULL or NUL-terminated.
    unsafe { read_optional_text(text, what) }?.map(|text| parsed(text, what)).transpose()
}

fn parsed<T: FromStr<Err = UnknownWord>>(text: &str, what: &str) -> Result<T, Failure> {
    text.parse().map_err(|error| Failure::new(CkStatus::InvalidKernel, format_args!("{what}: {error}")))
}

pub(super) fn refused(what: &str, value: i32, expected: &str) -> Failure {
    Failure::new(CkStatus::InvalidKernel, format_args!("{what} is {value}, expected {expected}"))
}

pub(super) fn small(what: &str, value: i32) -> Result<u8, Failure> {
    u8::try_from(value).map_err(|_| refused(what, value, "0 to 255"))
}

fn number(what: &str, value: i32) -> Result<u32, Failure> {
    u32::try_from(value).map_err(|_| refused(what, value, "0 or more"))
}

fn numbers(what: &str, [a, b, c]: [i32; 3]) -> Result<[u32; 3], Failure> {
    Ok([number(what, a)?, number(what, b)?, number(what, c)?])
}

fn shape(what: &str, extents: [i32; 3]) -> Result<Mnk, Failure> {
    let [m, n, k] = numbers(what, extents)?;
    Ok(Mnk::new(m, n, k))
}
