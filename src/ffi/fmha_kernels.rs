//! Registering attention kernels by descriptor.

use std::ffi::c_char;
use std::mem::offset_of;

use super::descriptors::{Descriptor, add_described, refused, small, word};
use super::error::{Failure, boundary};
use super::input::{Versioned, output, read_arch, read_optional_text, write_output};
use super::kernels::CkKernelHooks;
use super::words::{self, word as numbered};
use super::{CkRegistry, CkStatus};
use crate::kernel::{FmhaKernel, FmhaTile, Kernel, KernelKind};
use crate::vocab::{
    FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaPipeline, FmhaQscale, FmhaRope,
};

/// An attention kernel, with the fields of CK's `FmhaKernelKey` and their numbers. An `int32_t` without
/// another meaning is a flag: not 0 for yes.
///
/// Initialise it with `ck_fmha_kernel_desc_init`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkFmhaKernelDesc {
    /// `sizeof(ck_fmha_kernel_desc)`.
    pub struct_size: usize,
    /// The name under which it is registered; NULL for its identifier.
    pub name: *const c_char,
    /// The architecture, such as "gfx950"; NULL if unknown: it then runs on any.
    pub arch: *const c_char,
    /// How keys and values are loaded: `qr`, `qr_async` and so on.
    pub pipeline: *const c_char,
    /// CK's `constraint_tag`; NULL for none.
    pub constraint_tag: *const c_char,
    /// A `ck_fmha_family`.
    pub family: i32,
    /// A `ck_dtype`.
    pub dtype: i32,
    /// 0: all sequences have the same length ("batch"). 1: each has its own ("group").
    pub mode: i32,
    /// As in `ck_fmha_problem`.
    pub mask: i32,
    /// As in `ck_fmha_problem`.
    pub bias: i32,
    /// As in `ck_fmha_problem`.
    pub qscale: i32,
    /// As in `ck_fmha_problem`.
    pub rope: i32,
    /// As in `ck_fmha_problem`.
    pub kv_layout: i32,
    /// As in `ck_fmha_problem`.
    pub kv_lookup: i32,
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
    /// Computes the gradient of the bias.
    pub dbias: i32,
    /// Stores the random numbers of dropout.
    pub store_randval: i32,
    /// The order of summation is fixed.
    pub deterministic: i32,
    /// Keys per page; 1 for any number.
    pub page_size: i32,
    /// Largest head size of queries and keys, in elements.
    pub hdim_q: i32,
    /// Largest head size of values, in elements.
    pub hdim_v: i32,
    /// CK's `receipt`; -1 for none.
    pub receipt: i32,
    /// `m0`, `n0`, `k0`, `n1`, `k1`, `k0max`.
    pub tile: [i32; 6],
    /// Waves per workgroup: m, n, k of both products, and of the third one of backward kernels.
    pub wave: [i32; 9],
    /// Tile of one matrix instruction, in the same order.
    pub warp_tile: [i32; 9],
    /// Not 0: handles numbers of queries and keys, and head sizes of queries and values, that are not
    /// multiples of the tile.
    pub pad: [i32; 4],
    /// Transposes while loading.
    pub trload: i32,
    /// Workgroups per compute unit; -1 and 255: the pipeline decides.
    pub block_per_cu: i32,
    /// Number of groups that the waves of a workgroup form.
    pub num_wave_groups: i32,
    /// log2 of the largest number of splits; 0 for any.
    pub max_splits_log2: i32,
    /// Largest number of queries; 0 for any.
    pub max_seq_len_q: i32,
    /// The head size of queries must be a multiple of this if it is not padded; 0 for no restriction.
    pub hdim_q_alignment: i32,
    /// The same for values.
    pub hdim_v_alignment: i32,
    /// CK's `selection_rank`.
    pub selection_rank: i32,
    /// Must be 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkFmhaKernelDesc {
    const NAME: &'static str = "ck_fmha_kernel_desc";
    const LEAST: usize = offset_of!(Self, reserved);
}

/// Initialises a descriptor with the defaults of CK's generator: forward fp16 in batch mode, head size 128,
/// pipeline "qr", tile 128x64x32x128x32x128, waves 2x2x1, instruction 32x32x16, everything padded; sets
/// `struct_size`.
///
/// # Safety
/// `desc` points to a `ck_fmha_kernel_desc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_fmha_kernel_desc_init(desc: *mut CkFmhaKernelDesc) -> CkStatus {
    boundary(|| {
        let desc = output(desc, "desc")?;
        let usual = CkFmhaKernelDesc {
            struct_size: size_of::<CkFmhaKernelDesc>(),
            name: std::ptr::null(),
            arch: std::ptr::null(),
            pipeline: c"qr".as_ptr(),
            constraint_tag: std::ptr::null(),
            family: FmhaFamily::Fwd as i32,
            dtype: words::CkDtype::Fp16 as i32,
            mode: FmhaMode::Batch as i32,
            mask: FmhaMask::No as i32,
            bias: FmhaBias::No as i32,
            qscale: FmhaQscale::No as i32,
            rope: FmhaRope::None as i32,
            kv_layout: FmhaKvLayout::Vectorized as i32,
            kv_lookup: FmhaKvLookup::Sglang as i32,
            v_rowmajor: 1,
            logits: 0,
            lse: 0,
            dropout: 0,
            paged_kv: 0,
            fp8_static_quant: 0,
            skip: 0,
            sink: 0,
            dbias: 0,
            store_randval: 0,
            deterministic: 0,
            page_size: 1,
            hdim_q: 128,
            hdim_v: 128,
            receipt: -1,
            tile: [128, 64, 32, 128, 32, 128],
            wave: [2, 2, 1, 2, 2, 1, 1, 1, 1],
            warp_tile: [32, 32, 16, 32, 32, 16, 16, 16, 16],
            pad: [1; 4],
            trload: 0,
            block_per_cu: 1,
            num_wave_groups: 1,
            max_splits_log2: 0,
            max_seq_len_q: 0,
            hdim_q_alignment: 128,
            hdim_v_alignment: 128,
            selection_rank: 0,
            reserved: 0,
        };
        // SAFETY: by contract, `desc` is valid for writing.
        unsafe { write_output(desc, usual) };
        Ok(())
    })
}

/// Adds attention kernels by descriptor; see `ck_registry_add_conv_kernels`.
///
/// # Safety
/// As for `ck_registry_add_conv_kernels`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_add_fmha_kernels(
    registry: *mut CkRegistry,
    descs: *const CkFmhaKernelDesc,
    hooks: *const CkKernelHooks,
    count: usize,
) -> CkStatus {
    // SAFETY: `add_described` has the contract of this function.
    boundary(|| unsafe { add_described(registry, descs, hooks, count) })
}

fn extent(what: &str, value: i32) -> Result<u16, Failure> {
    u16::try_from(value).map_err(|_| refused(what, value, "0 to 65535"))
}

fn extents<const N: usize>(what: &str, values: [i32; N]) -> Result<[u16; N], Failure> {
    let mut read = [0; N];
    for (read, value) in read.iter_mut().zip(values) {
        *read = extent(what, value)?;
    }
    Ok(read)
}

impl Descriptor for CkFmhaKernelDesc {
    unsafe fn kernel(&self) -> Result<Kernel, Failure> {
        super::input::check_reserved("", self.reserved)?;
        let mut wave = [0; 9];
        for (read, value) in wave.iter_mut().zip(self.wave) {
            *read = small("wave", value)?;
        }
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        let kernel = unsafe {
            FmhaKernel {
                family: numbered("family", self.family, FmhaFamily::ALL, FmhaFamily::WORDS)?,
                dtype: words::dtype("dtype", self.dtype)?,
                mode: numbered("mode", self.mode, FmhaMode::ALL, FmhaMode::WORDS)?,
                v_rowmajor: self.v_rowmajor != 0,
                logits: self.logits != 0,
                mask: numbered("mask", self.mask, FmhaMask::ALL, FmhaMask::WORDS)?,
                bias: numbered("bias", self.bias, FmhaBias::ALL, FmhaBias::WORDS)?,
                lse: self.lse != 0,
                dropout: self.dropout != 0,
                qscale: numbered("qscale", self.qscale, FmhaQscale::ALL, FmhaQscale::WORDS)?,
                rope: numbered("rope", self.rope, FmhaRope::ALL, FmhaRope::WORDS)?,
                paged_kv: self.paged_kv != 0,
                fp8_static_quant: self.fp8_static_quant != 0,
                skip: self.skip != 0,
                sink: self.sink != 0,
                dbias: self.dbias != 0,
                store_randval: self.store_randval != 0,
                deterministic: self.deterministic != 0,
                kv_layout: numbered("kv_layout", self.kv_layout, FmhaKvLayout::ALL, FmhaKvLayout::WORDS)?,
                kv_lookup: numbered("kv_lookup", self.kv_lookup, FmhaKvLookup::ALL, FmhaKvLookup::WORDS)?,
                page_size: u32::try_from(self.page_size)
                    .map_err(|_| refused("page_size", self.page_size, "1 or more"))?,
                hdim_q: extent("hdim_q", self.hdim_q)?,
                hdim_v: extent("hdim_v", self.hdim_v)?,
                receipt: self.receipt,
                tile: FmhaTile::from(extents("tile", self.tile)?),
                wave,
                warp_tile: extents("warp_tile", self.warp_tile)?,
                pipeline: word::<FmhaPipeline>(self.pipeline, "pipeline")?,
                pad: self.pad.map(|pad| pad != 0),
                trload: self.trload != 0,
                block_per_cu: match self.block_per_cu {
                    -1 => FmhaKernel::PIPELINE_DECIDES,
                    blocks => small("block_per_cu", blocks)?,
                },
                num_wave_groups: small("num_wave_groups", self.num_wave_groups)?,
                max_splits_log2: small("max_splits_log2", self.max_splits_log2)?,
                max_seq_len_q: extent("max_seq_len_q", self.max_seq_len_q)?,
                hdim_q_alignment: extent("hdim_q_alignment", self.hdim_q_alignment)?,
                hdim_v_alignment: extent("hdim_v_alignment", self.hdim_v_alignment)?,
                selection_rank: self.selection_rank,
                constraint_tag: read_optional_text(self.constraint_tag, "constraint_tag")?
                    .unwrap_or_default()
                    .to_owned(),
                arch: read_arch(self.arch, "arch")?,
            }
        };
        // SAFETY: by contract, `self.name` is NULL or NUL-terminated.
        let name = unsafe { read_optional_text(self.name, "name") }?;
        let name = name.map_or_else(|| kernel.identifier(), str::to_owned);
        Ok(Kernel { name, kind: KernelKind::Fmha(kernel) })
    }
}
