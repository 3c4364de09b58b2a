//! Which GEMM tiles the tile engine accepts: its validator, step by step.

use std::collections::BTreeMap;

use ck_select_types::kernel::{GemmKernel, Mnk};
use ck_select_types::vocab::{Arch, Dtype, GemmLibrary, Major, Pipeline};

use super::config::LdsLimit;
use super::families::{BuiltRule, FamilyRules};
use super::traits::Shared;
use crate::buildable::Buildable;
use crate::error::EnumerateError;
use crate::lists::admits;
use crate::rules::Rules;

impl Buildable for GemmKernel {
    /// The refusal by the rules of the tile engine's first family; other families have rules that depend on what
    /// names leave out.
    fn refusal_of_name(&self, rules: &Rules, arch: Arch) -> Option<&'static str> {
        let &Self { tile, wave, warp_tile, pipeline, epilogue, scheduler, layout, .. } = self;
        if !is_plain(self) {
            return None;
        }
        if !rules.gemm.allows(pipeline, epilogue, scheduler) {
            return Some("scheduler not for this pipeline");
        }
        let shared = Shared { rules, target: arch.as_str(), arch, dtype: self.dtype_a, layout };
        let validator = GemmValidator::new(shared, LdsLimit::Hardware, None, false).ok()?;
        validator.refusal(tile, wave, warp_tile, pipeline)
    }
}

/// Whether the kernel is one of the tile engine's first family.
fn is_plain(kernel: &GemmKernel) -> bool {
    let variant = &kernel.variant;
    variant.library == GemmLibrary::Ck
        && kernel.dtype_a == kernel.dtype_b
        && !(variant.batched || kernel.grouped || kernel.preshuffle)
        && variant.stream_k.is_none()
        && variant.quant.is_none()
        && kernel.num_d_tensors == 0
}

/// The shared memory of the architectures for which upstream wrote its limits.
const FLAT_LDS: u64 = 64 << 10;

/// Checks tiles by the rules for a target, types and traits.
pub(crate) struct GemmValidator<'a> {
    shared: Shared<'a>,
    lds_bytes: u64,
    warp_size: u64,
    bits: u64,
    bits_c: u64,
    types: String,
    lds: LdsLimit,
    /// The pipelines for a shuffled B, if B is shuffled.
    shuffled_b: Option<Vec<Pipeline>>,
    waves: Option<&'a [Mnk]>,
    /// Whether the rules of a family have the waves.
    own_waves: bool,
    warp_tiles: Option<&'a [Mnk]>,
}

impl<'a> GemmValidator<'a> {
    /// A validator for A and B of one type. Kernels with a shuffled B have their own instructions and loads,
    /// and so may those of a family, whose waves are not checked here if each of its rules has them.
    ///
    /// `arch.json` supplements what the tile engine's tables lack. The target is in upstream's form: with
    /// flags, as in `gfx942:xnack+`, it is in no table, and waves and instructions are not checked. Only
    /// shared memory and wave size depend on the name without flags.
    pub(crate) fn new(
        shared: Shared<'a>,
        lds: LdsLimit,
        family: Option<&'a FamilyRules>,
        has_shuffled_b: bool,
    ) -> Result<Self, EnumerateError> {
        let Shared { rules: Rules { arch, gemm, gemm_families, .. }, target, dtype, .. } = shared;
        let bits = |dtype: Dtype| {
            let known = arch.element_bits.get(&dtype).copied().map(u64::from);
            known.ok_or_else(|| EnumerateError::Refused(format!("the rules have no element size of {dtype}")))
        };
        // The tile engine's C of packed fp4 is that of fp8.
        let c = if dtype == Dtype::PkFp4 { Dtype::Fp16 } else { dtype.result() };
        let types = format!("{dtype}_{dtype}_{c}");
        let name = shared.arch.as_str();
        let own = arch.architectures.get(target);
        let (of_engine, of_arch) = if has_shuffled_b {
            (&gemm.preshuffle_warp_tiles, own.map(|table| &table.preshuffle_warp_tiles))
        } else {
            (&gemm.warp_tiles, own.map(|table| &table.warp_tiles))
        };
        let of_engine = of_engine.get(target).and_then(|tables| tables.get(&types));
        let of_dtype = |tables: Option<&'a BTreeMap<String, Vec<Mnk>>>| {
            tables.and_then(|tables| tables.get(dtype.as_str())).map_or(&[][..], Vec::as_slice)
        };
        let warp_tiles = match family.and_then(|family| family.instructions.as_ref()) {
            Some(named) => Some(of_dtype(gemm_families.instructions.get(named).and_then(|of| of.get(name)))),
            None => of_engine.map(Vec::as_slice).or_else(|| of_arch.map(|tables| of_dtype(Some(tables)))),
        };
        let waves = gemm.waves.get(target).or(own.map(|table| &table.waves));
        let built = family.map_or(&[][..], |family| &family.built);
        let own_waves = family.is_some() && built.iter().all(|rule| rule.waves.is_some());
        let here = |rule: &&BuiltRule| admits(rule.architectures.as_deref(), name);
        let shuffled_b = has_shuffled_b.then(|| {
            let of_family = built.iter().filter(here).flat_map(|rule| &rule.pipelines);
            arch.preshuffle_pipelines.iter().chain(of_family).copied().collect()
        });
        Ok(Self {
            shared,
            lds_bytes: arch.architectures.get(name).map_or(FLAT_LDS, |table| table.lds_bytes),
            warp_size: if target.starts_with("gfx9") { 64 } else { 32 },
            bits: bits(dtype)?,
            bits_c: bits(c)?,
            types,
            lds,
            shuffled_b,
            waves: waves.filter(|_| !own_waves).map(Vec::as_slice),
            own_waves,
            warp_tiles,
        })
    }

    /// Whether a rule of the family takes a tile that passes the other steps.
    pub(crate) fn takes(&self, rule: &BuiltRule, tile: Mnk, wave: Mnk, warp_tile: Mnk) -> bool {
        let [m, n, _] = sides(tile);
        rule.takes_tile(tile, wave, warp_tile)
            && (!rule.whole_loads || self.loads(tile, wave).is_none())
            && (!rule.whole_stores || self.stores(tile, wave))
            && rule.result.is_none_or(|result| result.bytes(m, n, self.bits_c / 8) <= self.lds_bytes)
    }

    /// Warnings about what the rules cannot check for this target, and about types that it cannot multiply.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let Self { shared: Shared { target, .. }, types, .. } = self;
        if self.waves.is_none() && !self.own_waves {
            warnings.push(format!("the rules know no waves of '{target}', any are accepted"));
        }
        match self.warp_tiles {
            None => warnings.push(format!("the rules know no instructions of '{target}', any are accepted")),
            Some([]) => {
                warnings.push(format!("'{target}' has no instructions for {types}, so it gives no kernels"));
            }
            Some(_) => {}
        }
        warnings
    }

    /// The first step that a tile fails, in a few words.
    pub(crate) fn refusal(
        &self,
        tile: Mnk,
        wave: Mnk,
        warp_tile: Mnk,
        pipeline: Pipeline,
    ) -> Option<&'static str> {
        let [extents, waves, instruction] = [tile, wave, warp_tile].map(sides);
        let axes = [0, 1, 2].map(|axis| (extents[axis], waves[axis] * instruction[axis]));
        if axes.iter().any(|&(tile, step)| step == 0 || step > tile) {
            return Some("tile smaller than the waves' instructions");
        }
        if self.waves.is_some_and(|waves| !waves.contains(&wave)) {
            return Some("waves not of this architecture");
        }
        if axes.iter().any(|&(tile, step)| tile % step != 0) {
            return Some("tile not divided by the waves' instructions");
        }
        if self.lds_bits(tile, pipeline) > self.lds_limit(pipeline) * 8 {
            return Some("more shared memory than available");
        }
        let other_instruction = || {
            self.warp_tiles
                .is_some_and(|known| !known.contains(&warp_tile))
                .then_some("instruction not of this architecture and types")
        };
        if let Some(pipelines) = &self.shuffled_b {
            if !pipelines.contains(&pipeline) {
                return Some("pipeline not for a shuffled B");
            }
            let loads = self.loads_beside_shuffled(tile, wave, warp_tile);
            return if loads {
                other_instruction()
            } else {
                Some("A not loaded in whole vectors beside a shuffled B")
            };
        }
        if !self.shared.rules.gemm.cover_pipelines.contains(&pipeline) {
            return other_instruction();
        }
        if let Some(refusal) = self.loads(tile, wave) {
            return Some(refusal);
        }
        if !self.stores(tile, wave) {
            return Some("C not stored in whole vectors");
        }
        other_instruction()
    }

    /// Whether a wave loads its rows of A in whole vectors of 16 bytes, and the waves together load the whole
    /// tile.
    fn loads_beside_shuffled(&self, tile: Mnk, wave: Mnk, warp_tile: Mnk) -> bool {
        let ([m, _, k], [of_m, _, of_k]) = (sides(tile), sides(warp_tile));
        let (waves, lanes) = (sides(wave).iter().product::<u64>(), self.warp_size);
        let repeats = m / (u64::from(wave.m) * of_m);
        let of_lane = of_m * of_k * self.bits * repeats;
        let vector = 16 * 8 / self.bits;
        let across = k / vector;
        of_lane.is_multiple_of(lanes * 16 * 8)
            && k.is_multiple_of(vector)
            && across > 0
            && lanes.is_multiple_of(across)
            && m.is_multiple_of(lanes / across * waves)
    }

    /// The shared memory of a tile of A and one of B, with what the pipeline puts between their rows.
    fn lds_bits(&self, tile: Mnk, pipeline: Pipeline) -> u64 {
        let [m, n, k] = sides(tile);
        let fp8 = self.shared.dtype == Dtype::Fp8;
        let of = |rows: u64| {
            let plain = rows * k * self.bits;
            match pipeline {
                // 16 bytes between groups of rows of at least 256 bytes.
                Pipeline::CompTdm | Pipeline::CompTdmV2 if self.shared.target.starts_with("gfx1250") => {
                    let group = (256 * 8 / (k * self.bits)).max(1);
                    plain + (rows / group).saturating_sub(1) * 16 * 8
                }
                // The swizzled order of fp8 has two halves.
                Pipeline::CompAsync if fp8 => plain + 16 * 8,
                // Two waves load a tile of an instruction, but one that of packed fp4 with a depth of 128.
                Pipeline::CompAsyncEightWaves if fp8 || self.shared.dtype == Dtype::PkFp4 && k >= 256 => {
                    plain + plain / 32
                }
                _ => plain,
            }
        };
        // This pipeline loads a shuffled B into registers.
        of(m) + if pipeline == Pipeline::WeightPreshuffle { 0 } else { of(n) }
    }

    fn lds_limit(&self, pipeline: Pipeline) -> u64 {
        match self.lds {
            LdsLimit::Pipeline => self.shared.rules.arch.pipeline_lds(pipeline, self.lds_bytes),
            LdsLimit::Flat => self.shared.rules.arch.pipeline_lds(pipeline, FLAT_LDS),
            LdsLimit::Hardware if self.shared.rules.gemm.double_buffered.contains(&pipeline) => {
                self.lds_bytes / 2
            }
            LdsLimit::Hardware => self.lds_bytes,
        }
    }

    /// The operand that a workgroup cannot load in whole vectors, if any.
    fn loads(&self, tile: Mnk, wave: Mnk) -> Option<&'static str> {
        let ([m, n, k], threads) = (sides(tile), self.threads(wave));
        if !self.covers(m, k, threads, self.shared.layout.a == Major::Row) {
            return Some("A not loaded in whole vectors");
        }
        let whole = self.covers(n, k, threads, self.shared.layout.b == Major::Col);
        (!whole).then_some("B not loaded in whole vectors")
    }

    /// Whether a workgroup loads a matrix of `other` x `depth` in whole vectors; `along_depth` when depth is
    /// contiguous.
    fn covers(&self, other: u64, depth: u64, threads: u64, along_depth: bool) -> bool {
        let width = self.load_width(if along_depth { depth } else { other }, other * depth, threads);
        self.cover(depth, other, width, threads) && (along_depth || self.cover(other, depth, width, threads))
    }

    /// Elements per load: the widest load that divides both the contiguous dimension and a thread's share.
    fn load_width(&self, contiguous: u64, elements: u64, threads: u64) -> u64 {
        for &bytes in &self.shared.rules.gemm.load_bytes {
            let bits = u64::from(bytes) * 8;
            // Narrow loads are tried only for elements at least as large.
            if bytes <= 4 && self.bits < bits {
                continue;
            }
            let width = bits / self.bits;
            if width > 0
                && bits.is_multiple_of(self.bits)
                && contiguous.is_multiple_of(width)
                && elements.is_multiple_of(threads * width)
            {
                return width;
            }
        }
        1
    }

    /// Whether the threads of a wave fill whole rows with loads of `width` elements along `x`.
    fn cover(&self, x: u64, y: u64, width: u64, threads: u64) -> bool {
        let wave = self.warp_size;
        if !x.is_multiple_of(width) {
            return false;
        }
        if x * y >= width * threads {
            let across = x / width;
            return across * (wave / across) == wave;
        }
        // A thread's share is less than one load, so there are `threads / y` threads across, which may not be
        // a whole number.
        threads * (wave * y / threads) == wave * y
    }

    /// Whether the cshuffle epilogue's stores fill whole rows.
    fn stores(&self, tile: Mnk, wave: Mnk) -> bool {
        let (x, y, threads) = (u64::from(tile.n), u64::from(tile.m / wave.m), self.threads(wave));
        let widest = (u64::from(self.shared.rules.gemm.cshuffle_bytes) * 8 / self.bits_c).max(1);
        let share = (x * y / threads).max(1);
        let across = (x / widest.min(share)).clamp(1, self.warp_size);
        across * (self.warp_size / across) == self.warp_size
    }

    fn threads(&self, wave: Mnk) -> u64 {
        sides(wave).iter().product::<u64>() * self.warp_size
    }
}

fn sides(shape: Mnk) -> [u64; 3] {
    [shape.m, shape.n, shape.k].map(u64::from)
}
