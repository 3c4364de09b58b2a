//! Attention kernels: every field of upstream's key.

use super::{FmhaProblem, body, config_name};
use crate::field::InvalidField;
use crate::vocab::{
    Arch, Dtype, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaPipeline,
    FmhaQscale, FmhaRope,
};

/// What one workgroup handles in one step.
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

/// An attention kernel: every field of the dispatcher's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FmhaKernel {
    /// What it does.
    pub family: FmhaFamily,
    /// Element types of operands and, for the mixed words, of the result.
    pub dtype: Dtype,
    /// Whether all sequences have one length, or each its own.
    pub mode: FmhaMode,
    /// Values are row-major.
    pub v_rowmajor: bool,
    /// Scores have a soft cap.
    pub logits: bool,
    /// Which keys a query does not see.
    pub mask: FmhaMask,
    /// What is added to the scores.
    pub bias: FmhaBias,
    /// The logarithms of the sums are stored.
    pub lse: bool,
    /// Some weights are dropped.
    pub dropout: bool,
    /// How 8-bit operands are scaled.
    pub qscale: FmhaQscale,
    /// How appended keys are rotated.
    pub rope: FmhaRope,
    /// Keys and values are in pages.
    pub paged_kv: bool,
    /// Scales of 8-bit operands are constants.
    pub fp8_static_quant: bool,
    /// Short sequences are skipped.
    pub skip: bool,
    /// Every query sees the first keys.
    pub sink: bool,
    /// Computes the gradient of the bias.
    pub dbias: bool,
    /// Stores the random numbers of dropout.
    pub store_randval: bool,
    /// Sums in a fixed order.
    pub deterministic: bool,
    /// Memory order of a paged cache.
    pub kv_layout: FmhaKvLayout,
    /// How pages are found.
    pub kv_lookup: FmhaKvLookup,
    /// Keys of a page; 1 takes any.
    pub page_size: u32,
    /// Largest head size of queries and keys.
    pub hdim_q: u16,
    /// Largest head size of values.
    pub hdim_v: u16,
    /// The build that it was selected for, -1 for none.
    pub receipt: i32,
    /// What one workgroup handles in one step.
    pub tile: FmhaTile,
    /// Waves of a workgroup along m, n, k, for scores, for their products with values, and for backward.
    pub wave: [u8; 9],
    /// Tile of one matrix instruction, in the same order.
    pub warp_tile: [u16; 9],
    /// How keys and values reach the matrix units.
    pub pipeline: FmhaPipeline,
    /// Handles queries, keys, elements of queries and elements of values that the tile does not divide.
    pub pad: [bool; 4],
    /// Transposes while loading.
    pub trload: bool,
    /// Workgroups that should fit on one compute unit; 255 when the pipeline decides.
    pub block_per_cu: u8,
    /// Groups that the waves of a workgroup form.
    pub num_wave_groups: u8,
    /// log2 of the maximum number of splits, 0 for any.
    pub max_splits_log2: u8,
    /// Maximum number of queries, 0 for any.
    pub max_seq_len_q: u16,
    /// What must divide the elements of a query when they are not padded, 0 for nothing.
    pub hdim_q_alignment: u16,
    /// The same for values.
    pub hdim_v_alignment: u16,
    /// Its place among kernels that are equally good by the rules.
    pub selection_rank: i32,
    /// A word for what else distinguishes it; mostly empty.
    pub constraint_tag: String,
    /// The architecture that it was built for, when known.
    pub arch: Option<Arch>,
}

impl FmhaKernel {
    /// Whether it supports the problem: a kernel that breaks a rule computes something else
    /// ([`FmhaKernel::check`]).
    pub fn answers(&self, problem: &FmhaProblem) -> bool {
        self.supports(problem)
    }

    /// Whether its type is the problem's.
    pub fn has_types_of(&self, problem: &FmhaProblem) -> bool {
        self.dtype == problem.dtype
    }

    /// Its type, as messages show it beside a problem's.
    pub(crate) fn types(&self) -> String {
        self.dtype.to_string()
    }

    /// Why it does not compute the problem.
    pub(crate) fn misfit(&self, problem: &FmhaProblem) -> Option<String> {
        self.check(problem).err().map(|broken| broken.to_string())
    }

    /// See [`KernelKind`](crate::kernel::KernelKind).
    #[allow(clippy::unused_self, reason = "as kernels of other operations have it")]
    pub(crate) const fn needs_scaled_instructions(&self) -> bool {
        false
    }

    /// The value of `block_per_cu` of a kernel whose pipeline decides: -1 in eight bits.
    pub const PIPELINE_DECIDES: u8 = 255;

    /// The kernel that upstream's generator makes of a configuration with only these fields: batches of fp16
    /// sequences, row-major values, nothing masked, added or stored, waves along queries.
    pub fn plain(family: FmhaFamily, hdims: [u16; 2], pipeline: FmhaPipeline, tile: FmhaTile) -> Self {
        let mut kernel = Self {
            family,
            dtype: Dtype::Fp16,
            mode: FmhaMode::Batch,
            v_rowmajor: true,
            logits: false,
            mask: FmhaMask::No,
            bias: FmhaBias::No,
            lse: false,
            dropout: false,
            qscale: FmhaQscale::No,
            rope: FmhaRope::None,
            paged_kv: false,
            fp8_static_quant: false,
            skip: false,
            sink: false,
            dbias: false,
            store_randval: false,
            deterministic: false,
            kv_layout: FmhaKvLayout::Vectorized,
            kv_lookup: FmhaKvLookup::Sglang,
            page_size: 1,
            hdim_q: hdims[0],
            hdim_v: hdims[1],
            receipt: -1,
            tile,
            wave: [1; 9],
            warp_tile: [16; 9],
            pipeline,
            pad: [true; 4],
            trload: false,
            block_per_cu: 1,
            num_wave_groups: 1,
            max_splits_log2: 0,
            max_seq_len_q: 0,
            hdim_q_alignment: hdims[0],
            hdim_v_alignment: hdims[1],
            selection_rank: 0,
            constraint_tag: String::new(),
            arch: None,
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
        let at_least_one = [
            ("hdim_q", u32::from(self.hdim_q)),
            ("hdim_v", u32::from(self.hdim_v)),
            ("page_size", self.page_size),
            ("block_per_cu", u32::from(self.block_per_cu)),
            ("num_wave_groups", u32::from(self.num_wave_groups)),
        ];
        for (field, value) in at_least_one {
            if value == 0 {
                return Err(InvalidField::new(field, value, "at least 1"));
            }
        }
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
        if !self.dtype.is_of_fmha() {
            return Err(InvalidField::new("dtype", self.dtype, "a type of attention"));
        }
        Ok(())
    }

    /// What it has besides types, shapes and pipeline, as the words of its configuration's name.
    pub(crate) fn suffixes(&self) -> Vec<String> {
        let mut words = vec![format!("pad{}", body::pads(self.pad)), format!("mask={}", self.mask)];
        words.push(format!("bias={}", self.bias));
        words.extend(config_name::options(self));
        words
    }
}
