//! Problems across the boundary.

use std::ffi::c_char;
use std::mem::offset_of;

use super::error::{Failure, boundary};
use super::gemm_request::{self, CkGemmGroup};
use super::input::{Versioned, check_reserved, output, read_arch, read_struct, write_output};
use super::{CkStatus, words};
use crate::kernel::Mnk;
use crate::problem::{ConvProblem, GemmProblem, GemmRequest, Problem};
use crate::vocab::Arch;

/// A grouped convolution. Axes are in the order depth, height, width. A 2D problem has extent 1, stride 1,
/// dilation 1 and no padding along the depth; a 1D problem also along the height. `c` and `k` are totals over
/// all groups.
///
/// Initialise it with `ck_conv_problem_init`, which sets `struct_size` and the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkConvProblem {
    /// `sizeof(ck_conv_problem)`.
    pub struct_size: usize,
    /// A `ck_direction`.
    pub direction: i32,
    /// Spatial dimensions: 1, 2 or 3.
    pub ndim: i32,
    /// Number of images (batch size).
    pub n: i64,
    /// Input channels of all groups.
    pub c: i64,
    /// Output channels of all groups.
    pub k: i64,
    /// Number of groups.
    pub g: i64,
    /// Input extents.
    pub input: [i64; 3],
    /// Filter extents.
    pub filter: [i64; 3],
    /// Strides.
    pub stride: [i64; 3],
    /// Dilations.
    pub dilation: [i64; 3],
    /// Padding before the first element.
    pub pad_left: [i64; 3],
    /// Padding after the last element.
    pub pad_right: [i64; 3],
    /// Number of parts into which the reduction is split; 1 for no split.
    pub split_k: i32,
    /// A `ck_dtype`: the input's.
    pub dtype_in: i32,
    /// A `ck_dtype`: the weight's.
    pub dtype_wei: i32,
    /// A `ck_dtype`: the output's.
    pub dtype_out: i32,
    /// A `ck_conv_layout`.
    pub layout: i32,
    /// Must be 0.
    pub reserved: i32,
    /// The architecture, such as "gfx950"; NULL for the registry's default. Borrowed for the call.
    pub arch: *const c_char,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and an address.
unsafe impl Versioned for CkConvProblem {
    const NAME: &'static str = "ck_conv_problem";
    const LEAST: usize = offset_of!(Self, arch);
}

/// A GEMM: C (m x n) = A (m x k) times B (k x n). The fields behind `arch` ask for more than one plain GEMM;
/// only kernels that do what they say are then chosen.
///
/// Initialise it with `ck_gemm_problem_init`, which sets `struct_size` and the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkGemmProblem {
    /// `sizeof(ck_gemm_problem)`.
    pub struct_size: usize,
    /// Rows of A and C.
    pub m: i64,
    /// Columns of B and C.
    pub n: i64,
    /// Columns of A, rows of B.
    pub k: i64,
    /// Number of parts into which K is split; 1 for no split.
    pub split_k: i32,
    /// A `ck_dtype`: A's.
    pub dtype_a: i32,
    /// A `ck_dtype`: B's.
    pub dtype_b: i32,
    /// A `ck_dtype`: C's.
    pub dtype_c: i32,
    /// A `ck_major`: A's.
    pub layout_a: i32,
    /// A `ck_major`: B's.
    pub layout_b: i32,
    /// A `ck_major`: C's.
    pub layout_c: i32,
    /// Must be 0.
    pub reserved: i32,
    /// The architecture, such as "gfx950"; NULL for the registry's default. Borrowed for the call.
    pub arch: *const c_char,
    /// Number of GEMMs of these extents in one launch; 0 if it is no batch.
    pub batch: i64,
    /// The GEMMs of one launch if they differ in their extents, in any order; at most 8 different ones. m, n
    /// and k are then those of the GEMM with the most work, or 1 as initialised. Borrowed for the call; in a
    /// callback, valid until it returns.
    pub groups: *const CkGemmGroup,
    /// Number of `groups`; 0 if it is no list.
    pub num_groups: usize,
    /// A `ck_stream_k`.
    pub stream_k: i32,
    /// Number of D tensors; 0 if unknown.
    pub num_d: i32,
    /// Not 0: B is stored in the order in which kernels read it.
    pub preshuffle: i32,
    /// A `ck_quant`.
    pub quant: i32,
    /// Elements of A that share a scale: m, n, k. Zeros: 1, 1, 128, and 1, 1, 32 for `CK_QUANT_MX`.
    pub quant_group_a: [i32; 3],
    /// The same for B.
    pub quant_group_b: [i32; 3],
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkGemmProblem {
    const NAME: &'static str = "ck_gemm_problem";
    const LEAST: usize = offset_of!(Self, arch);
}

/// Initialises a problem: a forward bf16 NHWGC convolution of one image, one channel and one group with 1x1
/// extents; sets `struct_size`.
///
/// # Safety
/// `problem` points to a `ck_conv_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_conv_problem_init(problem: *mut CkConvProblem) -> CkStatus {
    boundary(|| {
        let problem = output(problem, "problem")?;
        let usual = CkConvProblem::from_problem(&ConvProblem::new_2d([1, 1], [1, 1]));
        // SAFETY: by contract, `problem` is valid for writing.
        unsafe { write_output(problem, usual) };
        Ok(())
    })
}

/// Initialises a problem: a 1x1x1 fp8 GEMM of layout rcr; sets `struct_size`.
///
/// # Safety
/// `problem` points to a `ck_gemm_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_gemm_problem_init(problem: *mut CkGemmProblem) -> CkStatus {
    boundary(|| {
        let problem = output(problem, "problem")?;
        let usual = CkGemmProblem::from_problem(&GemmProblem::new(1, 1, 1));
        // SAFETY: by contract, `problem` is valid for writing.
        unsafe { write_output(problem, usual) };
        Ok(())
    })
}

impl CkConvProblem {
    /// The problem as passed to callbacks. It names no architecture, because a callback belongs to a kernel
    /// that has one.
    pub const fn from_problem(problem: &ConvProblem) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            direction: problem.direction as i32,
            ndim: problem.ndim as i32,
            n: problem.n,
            c: problem.c,
            k: problem.k,
            g: problem.g,
            input: problem.input,
            filter: problem.filter,
            stride: problem.stride,
            dilation: problem.dilation,
            pad_left: problem.pad_left,
            pad_right: problem.pad_right,
            split_k: problem.split_k,
            dtype_in: problem.dtype_in as i32,
            dtype_wei: problem.dtype_wei as i32,
            dtype_out: problem.dtype_out as i32,
            layout: problem.layout as i32,
            reserved: 0,
            arch: std::ptr::null(),
        }
    }
}

impl CkGemmProblem {
    /// The problem as passed to callbacks; its groups are those of `problem`. It names no architecture,
    /// because a callback belongs to a kernel that has one.
    pub fn from_problem(problem: &GemmProblem) -> Self {
        let GemmRequest { batch, groups, stream_k, num_d, preshuffle, quant, group_a, group_b } =
            &problem.request;
        let group = |group: Option<Mnk>| {
            group.map_or([0; 3], |Mnk { m, n, k }| [m, n, k].map(|extent| extent as i32))
        };
        Self {
            struct_size: size_of::<Self>(),
            m: problem.m,
            n: problem.n,
            k: problem.k,
            split_k: problem.split_k,
            dtype_a: problem.dtype_a as i32,
            dtype_b: problem.dtype_b as i32,
            dtype_c: problem.dtype_c as i32,
            layout_a: problem.layout.a as i32,
            layout_b: problem.layout.b as i32,
            layout_c: problem.layout.c as i32,
            reserved: 0,
            arch: std::ptr::null(),
            batch: (*batch).into(),
            groups: gemm_request::address(groups),
            num_groups: groups.as_slice().len(),
            stream_k: stream_k.map_or(0, |reduction| reduction as i32),
            num_d: (*num_d).into(),
            preshuffle: (*preshuffle).into(),
            quant: quant.map_or(0, |mode| mode as i32 + 1),
            quant_group_a: group(*group_a),
            quant_group_b: group(*group_b),
        }
    }
}

/// A problem struct of any operation.
pub(super) trait AsProblem: Versioned {
    /// The problem, its words checked and the rest not yet.
    ///
    /// # Safety
    /// Its addresses are what the struct's documentation says.
    unsafe fn problem(&self, arch: Option<Arch>) -> Result<Problem, Failure>;
    fn arch(&self) -> *const c_char;
}

impl AsProblem for CkConvProblem {
    unsafe fn problem(&self, arch: Option<Arch>) -> Result<Problem, Failure> {
        check_reserved("", self.reserved)?;
        Ok(Problem::Conv(ConvProblem {
            direction: words::direction(self.direction)?,
            // A number that does not fit is refused like all others except 1, 2 and 3.
            ndim: u8::try_from(self.ndim).unwrap_or(0),
            n: self.n,
            c: self.c,
            k: self.k,
            g: self.g,
            input: self.input,
            filter: self.filter,
            stride: self.stride,
            dilation: self.dilation,
            pad_left: self.pad_left,
            pad_right: self.pad_right,
            split_k: self.split_k,
            dtype_in: words::dtype("dtype_in", self.dtype_in)?,
            dtype_wei: words::dtype("dtype_wei", self.dtype_wei)?,
            dtype_out: words::dtype("dtype_out", self.dtype_out)?,
            layout: words::conv_layout(self.layout)?,
            arch,
        }))
    }

    fn arch(&self) -> *const c_char {
        self.arch
    }
}

impl AsProblem for CkGemmProblem {
    unsafe fn problem(&self, arch: Option<Arch>) -> Result<Problem, Failure> {
        check_reserved("", self.reserved)?;
        // SAFETY: by contract, `groups` is what its documentation says.
        let (request, [m, n, k]) = unsafe { gemm_request::read(self) }?;
        Ok(Problem::Gemm(GemmProblem {
            m,
            n,
            k,
            split_k: self.split_k,
            dtype_a: words::dtype("dtype_a", self.dtype_a)?,
            dtype_b: words::dtype("dtype_b", self.dtype_b)?,
            dtype_c: words::dtype("dtype_c", self.dtype_c)?,
            layout: words::gemm_layout([self.layout_a, self.layout_b, self.layout_c])?,
            request,
            arch,
        }))
    }

    fn arch(&self) -> *const c_char {
        self.arch
    }
}

/// Reads a problem without validating it: the registry does, once, and only where no equal one was decided
/// before.
///
/// # Safety
/// As for [`read_struct`]; its `arch` is NULL or a NUL-terminated string, and its other addresses are what
/// the struct's documentation says.
pub(super) unsafe fn read_problem<T: AsProblem>(address: *const T) -> Result<Problem, Failure> {
    // SAFETY: by contract, `address` is NULL or a struct with its size set.
    let raw = unsafe { read_struct(address) }?;
    // SAFETY: by contract, `raw.arch` is NULL or NUL-terminated.
    let arch = unsafe { read_arch(raw.arch(), "arch") }?;
    // SAFETY: by contract.
    unsafe { raw.problem(arch) }
}
