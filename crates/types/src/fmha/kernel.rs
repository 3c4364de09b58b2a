//! Attention kernels: every field of upstream's key.

use super::{DTYPES, FmhaProblem, Unsupported, config_name};
use crate::field::{self, InvalidField, Kind, Value, fields};
use crate::limits::LimitedKernel;
use crate::shape::Mnk;
use crate::vocab::{
    Arch, Dtype, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaPipeline,
    FmhaQscale, FmhaRope,
};

/// The tile that one workgroup handles in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FmhaTile {
    /// Queries.
    pub m0: u16,
    /// Keys.
    pub n0: u16,
    /// Elements of queries and keys that are multiplied at once.
    pub k0: u16,
    /// Elements of a value.
    pub n1: u16,
    /// Keys that are multiplied with values at once.
    pub k1: u16,
    /// Elements of a query, padded.
    pub k0max: u16,
}

impl FmhaTile {
    /// The six numbers in the order of names.
    pub const fn numbers(self) -> [u16; 6] {
        [self.m0, self.n0, self.k0, self.n1, self.k1, self.k0max]
    }
}

impl From<[u16; 6]> for FmhaTile {
    fn from([m0, n0, k0, n1, k1, k0max]: [u16; 6]) -> Self {
        Self { m0, n0, k0, n1, k1, k0max }
    }
}

impl Value for FmhaTile {
    const PARTS: usize = 6;
    const KINDS: &'static [Kind] = &[Kind::Number];
    const BITS: usize = <u16 as Value>::BITS;
    const RANGE: [i64; 2] = <u16 as Value>::RANGE;

    fn write(self, parts: &mut [i64]) {
        self.numbers().write(parts);
    }

    fn read(parts: &[i64]) -> Self {
        <[u16; 6]>::read(parts).into()
    }
}

fields! {
    /// An attention kernel: every field of the dispatcher's key.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    FmhaKernel by fmha_kernel {
        family: FmhaFamily = FmhaFamily::Fwd, min: 0, names: ["family"], "What it does: a stage.";
        dtype: Dtype = Dtype::Fp16, min: 0, names: ["dtype"],
            "Element types of operands and, for the mixed words, of the result.";
        mode: FmhaMode = FmhaMode::Batch, min: 0, names: ["mode"],
            "Whether all sequences have the same length, or each its own.";
        v_rowmajor: bool = true, min: 0, names: ["v_rowmajor"], "Values are row-major.";
        logits: bool = false, min: 0, names: ["logits"], "Scores have a soft cap.";
        mask: FmhaMask = FmhaMask::No, min: 0, names: ["mask"], "Which keys a query does not attend to.";
        bias: FmhaBias = FmhaBias::No, min: 0, names: ["bias"], "What is added to the scores.";
        lse: bool = false, min: 0, names: ["lse"], "The log-sum-exp is stored.";
        dropout: bool = false, min: 0, names: ["dropout"], "Dropout is applied.";
        qscale: FmhaQscale = FmhaQscale::No, min: 0, names: ["qscale"], "How 8-bit operands are scaled.";
        rope: FmhaRope = FmhaRope::None, min: 0, names: ["rope"], "How appended keys are rotated.";
        paged_kv: bool = false, min: 0, names: ["paged_kv"], "Keys and values are paged.";
        fp8_static_quant: bool = false, min: 0, names: ["fp8_static_quant"],
            "Scales of 8-bit operands are static.";
        skip: bool = false, min: 0, names: ["skip"], "Short sequences are skipped.";
        sink: bool = false, min: 0, names: ["sink"], "Every query attends to the first keys.";
        dbias: bool = false, min: 0, names: ["dbias"], "Computes the gradient of the bias.";
        store_randval: bool = false, min: 0, names: ["store_randval"],
            "Stores the random numbers of dropout.";
        deterministic: bool = false, min: 0, names: ["deterministic"], "The order of summation is fixed.";
        kv_layout: FmhaKvLayout = FmhaKvLayout::Vectorized, min: 0, names: ["kv_layout"],
            "Memory order of a paged cache.";
        kv_lookup: FmhaKvLookup = FmhaKvLookup::Sglang, min: 0, names: ["kv_lookup"], "How pages are found.";
        page_size: u32 = 1, min: 1, names: ["page_size"], "Keys per page; 1 for any number.";
        hdim_q: u16 = 128, min: 1, names: ["hdim_q"], "Largest head size of queries and keys, in elements.";
        hdim_v: u16 = 128, min: 1, names: ["hdim_v"], "Largest head size of values, in elements.";
        receipt: i32 = -1, min: -2_147_483_648, names: ["receipt"],
            "The build that it was selected for (CK's `receipt`), -1 for none.";
        tile: FmhaTile = FmhaTile { m0: 128, n0: 64, k0: 32, n1: 128, k1: 32, k0max: 128 }, min: 0,
            names: ["tile_m0" : "Queries of a tile.", "tile_n0" : "Keys of a tile.",
             "tile_k0" : "Elements of queries and keys in one step.",
             "tile_n1" : "Elements of values of a tile.",
             "tile_k1" : "Keys in one step of the second product.",
             "tile_k0max" : "Elements of a query, padded."],
            "What one workgroup handles in one step: `m0`, `n0`, `k0`, `n1`, `k1`, `k0max`.";
        wave: [u8; 9] = [2, 2, 1, 2, 2, 1, 1, 1, 1], min: 0,
            names: ["wave_m0", "wave_n0", "wave_k0", "wave_m1", "wave_n1", "wave_k1",
             "wave_m2", "wave_n2", "wave_k2"],
            "Waves of a workgroup: m, n, k of both products, and of the third one of backward kernels.";
        warp_tile: [u16; 9] = [32, 32, 16, 32, 32, 16, 16, 16, 16], min: 0,
            names: ["warp_m0", "warp_n0", "warp_k0", "warp_m1", "warp_n1", "warp_k1",
             "warp_m2", "warp_n2", "warp_k2"],
            "Tile of one matrix instruction, in the same order.";
        pipeline: FmhaPipeline = FmhaPipeline::Qr, min: 0, names: ["pipeline"],
            "How keys and values are loaded: `qr`, `qr_async` and so on.";
        pad: [bool; 4] = [true; 4], min: 0, names: ["pad_s", "pad_sk", "pad_d", "pad_dv"],
            "Handles numbers of queries and keys, and head sizes of queries and values, that the tile \
             does not divide.";
        trload: bool = false, min: 0, names: ["trload"], "Transposes while loading.";
        block_per_cu: u8 = 1, min: 1, names: ["block_per_cu"],
            "Workgroups that should fit on one compute unit; 255 when the pipeline decides.";
        num_wave_groups: u8 = 1, min: 1, names: ["num_wave_groups"],
            "Groups that the waves of a workgroup form.";
        max_splits_log2: u8 = 0, min: 0, names: ["max_splits_log2"],
            "log2 of the largest number of splits, 0 for any.";
        max_seq_len_q: u16 = 0, min: 0, names: ["max_seq_len_q"], "Largest number of queries, 0 for any.";
        hdim_q_alignment: u16 = 128, min: 0, names: ["hdim_q_alignment"],
            "What must divide the head size of queries if it is not padded, 0 for nothing.";
        hdim_v_alignment: u16 = 128, min: 0, names: ["hdim_v_alignment"], "The same for values.";
        selection_rank: i32 = 0, min: -2_147_483_648, names: ["selection_rank"],
            "Its place among kernels that are equally good by the rules (CK's `selection_rank`).";
    }
    nested {}
    beside {
        constraint_tag: String = String::new(),
            "What else distinguishes it (CK's `constraint_tag`), mostly empty.";
        arch: Option<Arch> = None, "The architecture that it was built for, when known.";
    }
}

/// What an attention kernel needs of extents is part of [`FmhaKernel::matches_request`].
impl LimitedKernel for FmhaKernel {
    type Problem = FmhaProblem;
}

impl FmhaKernel {
    /// Whether the kernel breaks no rule for the problem: one that does computes something else
    /// ([`FmhaKernel::check`]).
    pub fn matches_request(&self, problem: &FmhaProblem) -> bool {
        self.check(problem).is_ok()
    }

    /// Whether the kernel's type is the problem's.
    pub fn matches_types(&self, problem: &FmhaProblem) -> bool {
        self.dtype == problem.dtype
    }

    /// The rule of the kernel's family that a problem breaks, if there is one.
    pub(crate) fn mismatch(&self, problem: &FmhaProblem) -> Option<Unsupported> {
        self.check(problem).err()
    }

    /// The element type of its first input.
    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// See [`KernelKind::tile`](crate::kernel::KernelKind::tile).
    pub(crate) fn tile(&self) -> Mnk {
        Mnk::new(self.tile.m0.into(), self.tile.n0.into(), self.tile.k0.into())
    }

    /// The value of `block_per_cu` of a kernel whose pipeline decides: -1 in eight bits.
    pub const PIPELINE_DECIDES: u8 = 255;

    /// The kernel that upstream's generator makes of a configuration with only these fields: batches of fp16
    /// sequences, row-major values, nothing masked, added or stored, waves along queries.
    pub fn plain(family: FmhaFamily, hdims: [u16; 2], pipeline: FmhaPipeline, tile: FmhaTile) -> Self {
        let mut kernel = Self {
            family,
            hdim_q: hdims[0],
            hdim_v: hdims[1],
            tile,
            wave: [1; 9],
            warp_tile: [16; 9],
            pipeline,
            hdim_q_alignment: hdims[0],
            hdim_v_alignment: hdims[1],
            ..Self::USUAL
        };
        kernel.set_warp_tile([32, 32, 16]);
        kernel
    }

    /// Sets instructions of one shape, and as many waves along queries as they need.
    pub fn set_warp_tile(&mut self, [m, n, k]: [u16; 3]) {
        self.warp_tile[..6].copy_from_slice(&[m, n, k, m, n, k]);
        let [first, second] = match self.family {
            FmhaFamily::BwdDqDkDv => [[1, 4, 1], [4, 1, 1]],
            FmhaFamily::FwdSplitkvCombine
            | FmhaFamily::BwdDotDoO
            | FmhaFamily::BwdConvertDq
            | FmhaFamily::FwdAppendkv => [[4, 1, 1]; 2],
            _ => {
                let waves = self.tile.m0.checked_div(m).unwrap_or(1).clamp(1, 255);
                [[waves as u8, 1, 1]; 2]
            }
        };
        self.wave[..3].copy_from_slice(&first);
        self.wave[3..6].copy_from_slice(&second);
    }

    /// Waves of a workgroup.
    pub fn waves(&self) -> u32 {
        self.wave[..3].iter().map(|&waves| u32::from(waves)).product()
    }

    /// Checks the numbers: upstream's key may hold zeros, for which no kernel can be chosen.
    pub fn validate(&self) -> Result<(), InvalidField> {
        field::validate_numbers(self)?;
        let [m0, n0, ..] = self.tile.numbers();
        let multiplies = self.family.is_forward() || self.family == FmhaFamily::BwdDqDkDv;
        for (field, extent) in [("tile_m0", m0), ("tile_n0", if multiplies { n0 } else { 1 })] {
            if extent == 0 {
                return Err(InvalidField::new(field, extent, "at least 1"));
            }
        }
        if let Some(wave) = self.wave[..6].iter().find(|waves| **waves == 0) {
            return Err(InvalidField::new("wave", wave, "1 to 255"));
        }
        if !DTYPES.contains(&self.dtype) {
            return Err(InvalidField::new("dtype", self.dtype, "a type of attention"));
        }
        Ok(())
    }

    /// The kernel's traits besides types, shapes and pipeline, as the words of its configuration's name.
    pub(crate) fn suffixes(&self) -> Vec<String> {
        config_name::words(self)
    }
}
