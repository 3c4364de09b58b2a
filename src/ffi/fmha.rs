//! Attention across the boundary: its problem, and selections for it.

use std::ffi::c_char;
use std::mem::offset_of;

use super::error::{Failure, boundary};
use super::input::{Versioned, output, read_registry, write_output};
use super::problems::{AsProblem, read_problem};
use super::select::{CkPredictions, CkRanked, CkSelection, explain, extract, predict, rank, select};
use super::words::{self, word};
use super::{CkRegistry, CkStatus};
use crate::problem::{FmhaProblem, Problem};
use crate::vocab::{
    Arch, FmhaApi, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaQscale, FmhaRope,
};

/// The attention operation that a caller requests.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is CK's API of that name")]
pub enum CkFmhaApi {
    Fwd = 0,
    FwdPagedkv = 1,
    FwdSplitkv = 2,
    FwdAppendkv = 3,
    BatchPrefill = 4,
    Bwd = 5,
}

/// The stage that an attention kernel computes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is CK's family of that name")]
pub enum CkFmhaFamily {
    Fwd = 0,
    FwdPagedkv = 1,
    FwdSplitkv = 2,
    FwdSplitkvCombine = 3,
    FwdAppendkv = 4,
    BatchPrefill = 5,
    BwdDotDoO = 6,
    BwdDqDkDv = 7,
    BwdConvertDq = 8,
}

/// Attention, with the fields of CK's `FmhaProblem` and their numbers. An `int32_t` without another meaning
/// is a flag: not 0 for yes.
///
/// Initialise it with `ck_fmha_problem_init`, which sets `struct_size` and the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkFmhaProblem {
    /// `sizeof(ck_fmha_problem)`.
    pub struct_size: usize,
    /// A `ck_fmha_api`: the requested operation.
    pub api_family: i32,
    /// A `ck_fmha_family`: the stage for which a kernel is chosen.
    pub family: i32,
    /// A `ck_dtype`.
    pub dtype: i32,
    /// 0: all sequences have the same length ("batch"). 1: each has its own ("group").
    pub mode: i32,
    /// Mask: 0 none, 1 aligned to the top left, 2 aligned to the bottom right, 3 a window.
    pub mask: i32,
    /// Bias: 0 none, 1 elementwise, 2 `ALiBi`.
    pub bias: i32,
    /// Scales of 8-bit operands: 0 none, 1 per tensor, 2 per block, 3 per block of keys and values.
    pub qscale: i32,
    /// Rotation of appended keys: 0 none, 1 interleaved, 2 half rotated.
    pub rope: i32,
    /// Memory order of a paged cache: 0 vectorized, 1 linear.
    pub kv_layout: i32,
    /// How pages are found: 0 as in `vLLM`, 1 as in `SGLang`.
    pub kv_lookup: i32,
    /// Number of sequences.
    pub batch: i64,
    /// Queries per sequence.
    pub seqlen_q: i64,
    /// Keys per sequence.
    pub seqlen_k: i64,
    /// Query heads.
    pub nhead_q: i64,
    /// Key and value heads.
    pub nhead_k: i64,
    /// Head size of queries and keys, in elements.
    pub hdim_q: i64,
    /// Head size of values, in elements.
    pub hdim_v: i64,
    /// Queries of the longest sequence; 0: `seqlen_q`. Required in group mode.
    pub max_seqlen_q: i64,
    /// Keys of the longest sequence; 0: `seqlen_k`.
    pub max_seqlen_k: i64,
    /// Keys per page.
    pub page_size: i64,
    /// Parts into which the keys of a sequence are split.
    pub num_splits: i64,
    /// Keys that a query attends to before its own position; -1 for all.
    pub window_left: i64,
    /// Keys that a query attends to after its own position; -1 for all.
    pub window_right: i64,
    /// Number of first keys that every query attends to.
    pub sink_size: i64,
    /// Sequences with fewer queries are skipped.
    pub min_seqlen_q: i64,
    /// Number of elements that are rotated.
    pub rotary_dim: i64,
    /// Values are row-major.
    pub v_rowmajor: i32,
    /// Scores have a soft cap.
    pub logits: i32,
    /// The log-sum-exp is stored.
    pub lse: i32,
    /// Dropout is applied.
    pub dropout: i32,
    /// Keys and values are paged.
    pub paged_kv: i32,
    /// Scales of 8-bit operands are static.
    pub fp8_static_quant: i32,
    /// Short sequences are skipped.
    pub skip: i32,
    /// Every query attends to the first keys.
    pub sink: i32,
    /// The gradient of the bias is computed.
    pub dbias: i32,
    /// The random numbers of dropout are stored.
    pub store_randval: i32,
    /// The order of summation is fixed.
    pub deterministic: i32,
    /// The call passes where the queries of each sequence start.
    pub has_seqstart_q_ptr: i32,
    /// The call passes where the keys of each sequence start.
    pub has_seqstart_k_ptr: i32,
    /// The call passes the number of queries of each sequence.
    pub has_seqlen_q_ptr: i32,
    /// The call passes the number of keys of each sequence.
    pub has_seqlen_k_ptr: i32,
    /// The call passes cumulative numbers of queries.
    pub has_cu_seqlen_q_ptr: i32,
    /// The call passes cumulative numbers of keys.
    pub has_cu_seqlen_k_ptr: i32,
    /// The call passes the pages of each sequence.
    pub has_block_table_ptr: i32,
    /// The call passes the cache index of each sequence.
    pub has_cache_batch_idx: i32,
    /// There are gaps between the keys of neighbouring sequences.
    pub is_gappy: i32,
    /// The call passes sines and cosines.
    pub has_rotary_cos_sin: i32,
    /// Must be 0.
    pub reserved: i32,
    /// The architecture, such as "gfx950"; NULL for the registry's default. Borrowed for the call.
    pub arch: *const c_char,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and an address.
unsafe impl Versioned for CkFmhaProblem {
    const NAME: &'static str = "ck_fmha_problem";
    const LEAST: usize = offset_of!(Self, arch);
}

/// Both ways between the structs, field by field.
macro_rules! same_fields {
    (words { $($word:ident: $type:ident),+ } numbers { $($number:ident),+ } flags { $($flag:ident),+ }) => {
        impl CkFmhaProblem {
            /// The problem as passed to callbacks. It names no architecture, because a callback belongs to a
            /// kernel that has one.
            pub const fn from_problem(problem: &FmhaProblem) -> Self {
                Self {
                    struct_size: size_of::<Self>(),
                    dtype: problem.dtype as i32,
                    $($word: problem.$word as i32,)+
                    $($number: problem.$number,)+
                    $($flag: problem.$flag as i32,)+
                    reserved: 0,
                    arch: std::ptr::null(),
                }
            }
        }

        impl AsProblem for CkFmhaProblem {
            unsafe fn problem(&self, arch: Option<Arch>) -> Result<Problem, Failure> {
                super::input::check_reserved("", self.reserved)?;
                let problem = FmhaProblem {
                    dtype: words::dtype("dtype", self.dtype)?,
                    $($word: word(stringify!($word), self.$word, $type::ALL, $type::WORDS)?,)+
                    $($number: self.$number,)+
                    $($flag: self.$flag != 0,)+
                    arch,
                };
                Ok(Problem::Fmha(problem.canonical()))
            }

            fn arch(&self) -> *const c_char {
                self.arch
            }
        }
    };
}

same_fields! {
    words {
        api_family: FmhaApi, family: FmhaFamily, mode: FmhaMode, mask: FmhaMask, bias: FmhaBias,
        qscale: FmhaQscale, rope: FmhaRope, kv_layout: FmhaKvLayout, kv_lookup: FmhaKvLookup
    }
    numbers {
        batch, seqlen_q, seqlen_k, nhead_q, nhead_k, hdim_q, hdim_v, max_seqlen_q, max_seqlen_k, page_size,
        num_splits, window_left, window_right, sink_size, min_seqlen_q, rotary_dim
    }
    flags {
        v_rowmajor, logits, lse, dropout, paged_kv, fp8_static_quant, skip, sink, dbias, store_randval,
        deterministic, has_seqstart_q_ptr, has_seqstart_k_ptr, has_seqlen_q_ptr, has_seqlen_k_ptr,
        has_cu_seqlen_q_ptr, has_cu_seqlen_k_ptr, has_block_table_ptr, has_cache_batch_idx, is_gappy,
        has_rotary_cos_sin
    }
}

/// Initialises a problem: forward fp16 attention of one sequence with one query, key and head of 128
/// elements; sets `struct_size`.
///
/// # Safety
/// `problem` points to a `ck_fmha_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_fmha_problem_init(problem: *mut CkFmhaProblem) -> CkStatus {
    boundary(|| {
        let problem = output(problem, "problem")?;
        let usual = CkFmhaProblem::from_problem(&FmhaProblem::new([1, 1], 1, 128));
        // SAFETY: by contract, `problem` is valid for writing.
        unsafe { write_output(problem, usual) };
        Ok(())
    })
}

/// Chooses the kernel to run for one stage of attention, the problem's `family`; see
/// `ck_registry_select_conv`. Only kernels that support the problem by CK's rules for attention are
/// considered.
///
/// # Safety
/// As for `ck_registry_select_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_select_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    selection: *mut CkSelection,
) -> CkStatus {
    // SAFETY: `select` has the contract of this function.
    boundary(|| unsafe { select(registry, problem, selection) })
}

/// Ranks the kernels for a stage of attention; see `ck_registry_rank_conv`.
///
/// # Safety
/// As for `ck_registry_rank_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_rank_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> CkStatus {
    // SAFETY: `rank` has the contract of this function.
    boundary(|| unsafe { rank(registry, problem, capacity, ranked, count, left_out) })
}

/// Predicts the speed of the kernel at an index for attention.
///
/// # Safety
/// As for `ck_registry_predict_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_predict_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    index: usize,
    predictions: *mut CkPredictions,
) -> CkStatus {
    // SAFETY: `predict` has the contract of this function.
    boundary(|| unsafe { predict(registry, problem, index, predictions) })
}

/// Writes the features for attention; see `ck_registry_extract_conv`.
///
/// # Safety
/// As for `ck_registry_extract_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_extract_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> CkStatus {
    // SAFETY: `extract` has the contract of this function.
    boundary(|| unsafe { extract(registry, problem, index, capacity, features, count) })
}

/// Explains a selection for attention; see `ck_registry_explain_conv`.
///
/// # Safety
/// As for `ck_registry_explain_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_explain_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    text: *mut *mut c_char,
) -> CkStatus {
    // SAFETY: `explain` has the contract of this function.
    boundary(|| unsafe { explain(registry, problem, text) })
}

/// Chooses the number of parts into which the keys of a sequence are split, by the estimate: the power of two
/// up to `most` for which the fastest kernels of both stages together take the least time. 1 if the registry
/// lacks kernels of either stage, or an estimate for the architecture. The problem's own `num_splits` and
/// `family` are ignored.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `splits`
/// points to an `int64_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_choose_fmha_splits(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    most: i64,
    splits: *mut i64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `problem` is NULL or a struct
        // with its size set and a valid `arch`.
        let (registry, problem) = unsafe { (read_registry(registry)?, read_problem(problem)?) };
        let splits = output(splits, "splits")?;
        let Problem::Fmha(problem) = problem else { return Ok(()) };
        let split = FmhaProblem { num_splits: 1, ..problem };
        split.validate().map_err(Failure::of(CkStatus::InvalidProblem))?;
        // SAFETY: by contract, `splits` is valid for writing.
        unsafe { write_output(splits, registry.fmha_splits(&problem, most)) };
        Ok(())
    })
}
