//! AITER's names of CK and CK Tile kernels: a family, and parts of numbers joined by `x`.
//!
//! ```text
//! name := family ("_" part)*                  part := number ("x" number)* | scheduler | "v" number | "aqrm"
//! ```
//!
//! [`FAMILIES`] lists the parts of each family. What names leave out:
//! 1. A is `r`, B `c` (N rows of K), C `r`, a float of 16 bits; sums are fp32.
//! 2. The depth of an instruction of CK's kernels: that of the smallest one of its rows and type, which all
//!    architectures have, because CK takes deeper ones only for wider loads than these kernels have.
//! 3. The waves along m and n, where the number of instructions of a wave is missing: those with which one
//!    pass through shared memory has as many rows as threads that store it, or else as many columns as they
//!    store.
//! 4. AITER chooses the padding of CK's kernels, and of CK Tile's with scales of groups, at run time; but
//!    CK's kernels with a shuffled B of 8 bits divide N and K without a rest, as those do whose flags say so.
//! 5. CK Tile's kernels with scales of groups read B as it is or shuffled, by an argument; those of the older
//!    spelling, with four flags, only as it is.

use std::fmt::Write as _;

use self::Slot::{
    A1, B1, BlocksPerCu, DoubleBuffer, K, LoadA, LoadB, M, M01, N, One, PadK, PadM, PadN, PartitionGroups,
    PermuteN, Persistent, RepeatM, RepeatN, RowScales, ScaleK, ScaleM, ScaleN, Scheduling, ShuffleM,
    ShuffleN, Sparse, StepsA, StepsB, StoreM, StoreN, Threads, TransposeC, Version, WarpK, WarpM, WarpN,
    WaveGroups, WaveK, WaveM, WaveN, Width,
};
use super::{GemmKernel, GemmVariant, Quant};
use crate::scan::{NameError, Scan};
use crate::shape::Mnk;
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{Dtype, Epilogue, GemmLayout, GemmLibrary, Pipeline, QuantMode, Scheduler};

/// What a number of a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Always 1.
    One,
    ScaleM,
    ScaleN,
    ScaleK,
    /// Threads of a workgroup.
    Threads,
    M,
    N,
    K,
    /// Elements of A and of B that a thread loads at a time.
    A1,
    B1,
    WarpM,
    WarpN,
    WarpK,
    WaveM,
    WaveN,
    WaveK,
    /// Instructions of a wave along m and n.
    RepeatM,
    RepeatN,
    /// Threads along the depth, and along the rows of A and columns of B.
    StepsA,
    LoadA,
    StepsB,
    LoadB,
    StoreM,
    StoreN,
    /// Elements of C that a thread stores at a time.
    Width,
    ShuffleM,
    ShuffleN,
    Scheduling,
    Version,
    PermuteN,
    TransposeC,
    DoubleBuffer,
    Persistent,
    Sparse,
    PartitionGroups,
    M01,
    WaveGroups,
    PadM,
    PadN,
    PadK,
    BlocksPerCu,
    RowScales,
}

/// The numbers of a name, by their slots; 0 for those that it does not have.
struct Numbers([u32; RowScales as usize + 1]);

type Part = &'static [Slot];

/// A family of names.
struct Family {
    prefix: &'static str,
    quant: Option<QuantMode>,
    dtype: Dtype,
    batched: bool,
    preshuffle: bool,
    /// Its kernels take only whole tiles of B, whatever the flags.
    whole: bool,
    parts: &'static [Part],
}

const SCALE: Part = &[ScaleM, ScaleN, ScaleK];
const BLOCK: Part = &[Threads, M, N, K];
const A1_B1: Part = &[A1, B1];
const WARP: Part = &[WarpM, WarpN];
const REPEAT: Part = &[RepeatM, RepeatN];
const LOAD_A: Part = &[StepsA, LoadA, One];
const LOAD_B: Part = &[StepsB, LoadB, One];
const STORE: Part = &[One, StoreM, One, StoreN];
const WIDTH: Part = &[Width];
const WIDTHS: Part = &[Width, Width, One];
const SHUFFLE: Part = &[ShuffleM, ShuffleN];
const SCHEDULER: Part = &[Scheduling];
const VERSION: Part = &[Version];
const TILE: Part = &[M, N, K];
const WAVES: Part = &[WaveM, WaveN, WaveK];
const WARP_TILE: Part = &[WarpM, WarpN, WarpK];
const FLAGS: Part = &[PermuteN, TransposeC, Persistent];
const FOUR_FLAGS: Part = &[PermuteN, TransposeC, DoubleBuffer, Persistent];
const TEN_FLAGS: Part =
    &[TransposeC, Sparse, PartitionGroups, M01, WaveGroups, DoubleBuffer, PadM, PadN, PadK, BlocksPerCu];
const BLOCKS: Part = &[BlocksPerCu];
const ROW_SCALES: Part = &[RowScales];

/// The parts of the oldest names, which have no widths of A and B.
const FIRST: &[Part] = &[BLOCK, WARP, REPEAT, LOAD_A, LOAD_B, STORE, WIDTHS, SHUFFLE, SCHEDULER, VERSION];

const PLAIN: Family = Family {
    prefix: "a8w8_rowwise",
    quant: Some(QuantMode::RowCol),
    dtype: Dtype::Fp8,
    batched: false,
    preshuffle: false,
    whole: false,
    parts: FIRST,
};
const GROUPS: Family = Family { prefix: "a8w8_blockscale", quant: Some(QuantMode::AB), ..PLAIN };
const TILE_GROUPS: Family = Family { prefix: "a8w8_blockscale_cktile", ..GROUPS };

/// All families. Of several spellings the first is written.
const FAMILIES: [Family; 12] = [
    PLAIN,
    Family { prefix: "a8w8_batched_rowwise", batched: true, ..PLAIN },
    Family { prefix: "bf16_batched", quant: None, dtype: Dtype::Bf16, batched: true, ..PLAIN },
    Family {
        parts: &[
            SCALE, BLOCK, A1_B1, WARP, REPEAT, LOAD_A, LOAD_B, STORE, WIDTH, SHUFFLE, SCHEDULER, VERSION,
        ],
        ..GROUPS
    },
    Family {
        parts: &[SCALE, BLOCK, A1_B1, WARP, LOAD_A, LOAD_B, STORE, WIDTH, SHUFFLE, SCHEDULER, VERSION],
        ..GROUPS
    },
    Family {
        prefix: "a8w8_blockscale_bpreshuffle",
        preshuffle: true,
        whole: true,
        parts: &[SCALE, BLOCK, A1_B1, WARP, LOAD_A, LOAD_B, STORE, WIDTH, SHUFFLE, SCHEDULER, VERSION],
        ..GROUPS
    },
    Family {
        prefix: "a8w8_bpreshuffle",
        preshuffle: true,
        whole: true,
        parts: &[BLOCK, A1_B1, WARP, LOAD_A, LOAD_B, STORE, WIDTHS, SHUFFLE, SCHEDULER, VERSION],
        ..PLAIN
    },
    Family {
        prefix: "a4w4_blockscale",
        quant: Some(QuantMode::Mx),
        dtype: Dtype::PkFp4,
        preshuffle: true,
        parts: &[BLOCK, A1_B1, WARP, LOAD_A, LOAD_B, STORE, WIDTH, SHUFFLE, SCHEDULER, VERSION],
        ..PLAIN
    },
    Family {
        preshuffle: true,
        parts: &[TILE, WAVES, WARP_TILE, SCHEDULER, FLAGS, BLOCKS, ROW_SCALES],
        ..TILE_GROUPS
    },
    Family { parts: &[TILE, WAVES, WARP_TILE, SCHEDULER, FOUR_FLAGS, BLOCKS], ..TILE_GROUPS },
    Family {
        prefix: "a8w8_bpreshuffle_cktile",
        preshuffle: true,
        parts: &[TEN_FLAGS, TILE, WAVES, WARP_TILE, SCHEDULER],
        ..PLAIN
    },
    Family { prefix: "a8w8_cktile", parts: &[TILE, WAVES, WARP, SCHEDULER, FLAGS, BLOCKS], ..PLAIN },
];

/// The families that a name may be of: those with the longest prefix that it begins with.
fn families(name: &str) -> impl Iterator<Item = &'static Family> + Clone {
    let begins =
        |family: &&Family| name.strip_prefix(family.prefix).is_some_and(|rest| rest.starts_with('_'));
    let longest =
        FAMILIES.iter().filter(begins).map(|family| family.prefix).max_by_key(|prefix| prefix.len());
    FAMILIES.iter().filter(move |family| Some(family.prefix) == longest)
}

/// Whether a name begins as a family's do.
pub(super) fn begins(name: &str) -> bool {
    families(name).next().is_some()
}

/// Reads a name that [`begins`] as a family's.
pub(super) fn parse(scan: &Scan<'_>) -> Result<GemmKernel, NameError> {
    let mut first = None;
    for family in families(scan.rest()) {
        match family.parse(scan.clone()) {
            Ok(kernel) => return Ok(kernel),
            Err(error) => _ = first.get_or_insert(error),
        }
    }
    Err(first.unwrap_or_else(|| scan.fail("not of a family of AITER's kernels")))
}

/// The name of a kernel.
pub(super) fn write(kernel: &GemmKernel) -> String {
    let numbers = Numbers::of(kernel);
    let family = FAMILIES.iter().find(|family| family.has(kernel)).unwrap_or(&PLAIN);
    let mut name = family.prefix.to_owned();
    for part in family.parts.iter().filter(|part| **part != ROW_SCALES || kernel.variant.row_scales) {
        for (place, &slot) in part.iter().enumerate() {
            name.push(if place == 0 { '_' } else { 'x' });
            // Writing to a `String` cannot fail.
            let _ = match slot {
                Scheduling => {
                    let word = SCHEDULERS.iter().find(|(_, known)| *known == kernel.scheduler);
                    write!(name, "{}", word.map_or("", |(word, _)| *word))
                }
                Version => write!(name, "v{}", numbers.get(slot)),
                RowScales => write!(name, "aqrm"),
                _ => write!(name, "{}", numbers.get(slot)),
            };
        }
    }
    name
}

/// AITER's words for schedulers.
const SCHEDULERS: [(&str, Scheduler); 3] =
    [("default", Scheduler::Auto), ("intrawave", Scheduler::Intrawave), ("interwave", Scheduler::Interwave)];

fn read_scheduler(scan: &mut Scan<'_>) -> Result<Scheduler, NameError> {
    let found = SCHEDULERS.into_iter().find(|(word, _)| scan.eat_whole(word));
    found.map(|(_, scheduler)| scheduler).ok_or_else(|| {
        let words = SCHEDULERS.map(|(word, _)| word).join(", ");
        scan.fail(format!("unknown scheduler '{}', expected one of: {words}", scan.token()))
    })
}

impl Family {
    /// Whether a kernel is of this family.
    fn has(&self, kernel: &GemmKernel) -> bool {
        let GemmVariant { quant, batched, .. } = kernel.variant;
        self.quant == quant.map(|quant| quant.mode)
            && (self.dtype, self.batched, self.preshuffle) == (kernel.dtype_a, batched, kernel.preshuffle)
            && self.is_classic() == kernel.is_classic()
    }

    /// Whether its kernels are of CK, not CK Tile.
    fn is_classic(&self) -> bool {
        self.parts.contains(&STORE)
    }

    fn parse(&self, mut scan: Scan<'_>) -> Result<GemmKernel, NameError> {
        scan.eat(self.prefix);
        let (mut numbers, mut scheduler) = (Numbers::NONE, Scheduler::Auto);
        for &part in self.parts {
            if part == ROW_SCALES {
                numbers.set(RowScales, scan.eat_whole("_aqrm").into());
                continue;
            }
            let whole = scan.clone();
            for (place, &slot) in part.iter().enumerate() {
                if place == 0 {
                    scan.separator(slot.what())?;
                } else if !scan.eat("x") {
                    let found = whole.rest().trim_start_matches('_').split('_').next().unwrap_or_default();
                    let expected = format!("{} numbers joined by 'x'", part.len());
                    return Err(
                        scan.fail(format!("found '{found}' for {}, expected {expected}", part[0].what()))
                    );
                }
                if slot == Scheduling {
                    scheduler = read_scheduler(&mut scan)?;
                    continue;
                }
                if slot == Version && !scan.eat("v") {
                    return Err(scan.fail(format!(
                        "found '{}' for {}, expected v1 to v5",
                        scan.token(),
                        slot.what()
                    )));
                }
                let [least, most] = if slot == Width && numbers.get(Width) > 0 {
                    [numbers.get(Width); 2]
                } else {
                    slot.range()
                };
                let number = scan.number(slot.what(), least, most)?;
                numbers.set(slot, number);
            }
        }
        scan.end("the end of the name")?;
        self.kernel(&scan, &numbers, scheduler)
    }

    /// The kernel of a name's numbers.
    fn kernel(
        &self,
        scan: &Scan<'_>,
        numbers: &Numbers,
        scheduler: Scheduler,
    ) -> Result<GemmKernel, NameError> {
        let get = |slot| numbers.get(slot);
        let flag = |slot| numbers.get(slot) != 0;
        let tile = Mnk::new(get(M), get(N), get(K));
        let mut warp_tile = Mnk::new(get(WarpM), get(WarpN), get(WarpK));
        if warp_tile.k == 0 {
            warp_tile.k = (depth_times_rows(self.dtype) / warp_tile.m).max(1);
        }
        let is_classic = self.is_classic();
        let wave =
            if is_classic { numbers.waves(scan)? } else { Mnk::new(get(WaveM), get(WaveN), get(WaveK)) };
        let vector = if is_classic { numbers.vector(scan)? } else { [0; 3] };
        let is_grouped = self.quant == Some(QuantMode::AB);
        let pipeline = match get(Version) {
            0 if !is_grouped && self.preshuffle => Pipeline::PreshuffleV2,
            0 if wave.m * wave.n * wave.k == 8 && warp_tile.k == 128 => Pipeline::EightWaves,
            1 => Pipeline::CompV1,
            2 => Pipeline::CompV2,
            4 => Pipeline::CompV4,
            5 => Pipeline::CompV5,
            _ => Pipeline::CompV3,
        };
        let has_pads = self.parts.contains(&TEN_FLAGS);
        let small = |slot| numbers.get(slot) as u8;
        Ok(GemmKernel {
            dtype_a: self.dtype,
            dtype_b: self.dtype,
            dtype_c: Dtype::Bf16,
            dtype_acc: self.dtype.accumulator(),
            layout: GemmLayout::RCR,
            structured_sparsity: flag(Sparse),
            tile,
            wave,
            warp_tile,
            pipeline,
            scheduler,
            epilogue: if flag(PermuteN) { Epilogue::PermuteN } else { Epilogue::CShuffle },
            block_size: wave.m * wave.n * wave.k * 64,
            double_buffer: flag(DoubleBuffer) || is_classic && pipeline.double_buffered(),
            persistent: flag(Persistent),
            preshuffle: self.preshuffle,
            transpose_c: flag(TransposeC),
            num_wave_groups: small(WaveGroups).max(1),
            pad: if has_pads { [PadM, PadN, PadK].map(flag) } else { [true, !self.whole, !self.whole] },
            vector,
            variant: GemmVariant {
                batched: self.batched,
                quant: self.quant.map(|mode| numbers.quant(mode)),
                block_per_cu: small(BlocksPerCu).max(1),
                row_scales: flag(RowScales),
                loaders: [LoadA, LoadB].map(|slot| get(slot) as u16),
                storers: [StoreM, StoreN].map(|slot| get(slot) as u16),
                shuffle: [ShuffleM, ShuffleN].map(small),
                partition: [PartitionGroups, M01].map(small),
                library: GemmLibrary::Aiter,
                ..GemmVariant::USUAL
            },
            ..GemmKernel::USUAL
        })
    }
}

/// Rows of CK's smallest matrix instructions for a type times their depth.
const fn depth_times_rows(dtype: Dtype) -> u32 {
    match dtype.bits() {
        16 => 256,
        8 => 512,
        _ => 2048,
    }
}

impl Numbers {
    const NONE: Self = Self([0; RowScales as usize + 1]);

    const fn get(&self, slot: Slot) -> u32 {
        self.0[slot as usize]
    }

    const fn set(&mut self, slot: Slot, number: u32) {
        self.0[slot as usize] = number;
    }

    /// Those of a kernel.
    fn of(kernel: &GemmKernel) -> Self {
        let GemmKernel { tile, wave, warp_tile, vector, variant, pad, .. } = kernel;
        let per = |all: u32, one: u32| all / one.max(1);
        let groups = variant.quant.map_or([None; 2], |quant| [quant.group_a, quant.group_b]);
        let [group_a, group_b] = groups.map(|group| group.unwrap_or(Mnk::new(1, 1, 1)));
        let version = Pipeline::ALL.iter().position(|pipeline| *pipeline == kernel.pipeline).unwrap_or(0);
        let mut numbers = Self::NONE;
        for (slot, number) in [
            (One, 1),
            (ScaleM, group_a.m),
            (ScaleN, group_b.n),
            (ScaleK, group_a.k),
            (Threads, kernel.block_size),
            (M, tile.m),
            (N, tile.n),
            (K, tile.k),
            (A1, vector[0]),
            (B1, vector[1]),
            (WarpM, warp_tile.m),
            (WarpN, warp_tile.n),
            (WarpK, warp_tile.k),
            (WaveM, wave.m),
            (WaveN, wave.n),
            (WaveK, wave.k),
            (RepeatM, per(tile.m, wave.m.saturating_mul(warp_tile.m))),
            (RepeatN, per(tile.n, wave.n.saturating_mul(warp_tile.n))),
            (StepsA, per(tile.k, vector[0])),
            (LoadA, variant.loaders[0].into()),
            (StepsB, per(tile.k, vector[1])),
            (LoadB, variant.loaders[1].into()),
            (StoreM, variant.storers[0].into()),
            (StoreN, variant.storers[1].into()),
            (Width, vector[2]),
            (ShuffleM, variant.shuffle[0].into()),
            (ShuffleN, variant.shuffle[1].into()),
            (Version, version as u32 + 1),
            (PermuteN, (kernel.epilogue == Epilogue::PermuteN).into()),
            (TransposeC, kernel.transpose_c.into()),
            (DoubleBuffer, kernel.double_buffer.into()),
            (Persistent, kernel.persistent.into()),
            (Sparse, kernel.structured_sparsity.into()),
            (PartitionGroups, variant.partition[0].into()),
            (M01, variant.partition[1].into()),
            (WaveGroups, kernel.num_wave_groups.into()),
            (PadM, pad[0].into()),
            (PadN, pad[1].into()),
            (PadK, pad[2].into()),
            (BlocksPerCu, variant.block_per_cu.into()),
        ] {
            numbers.set(slot, number);
        }
        numbers
    }

    fn quant(&self, mode: QuantMode) -> Quant {
        let usual = Quant::usual(mode);
        let [m, n, k] = [ScaleM, ScaleN, ScaleK].map(|slot| self.get(slot));
        match mode {
            QuantMode::AB if k > 0 => {
                Quant { group_a: Some(Mnk::new(m, 1, k)), group_b: Some(Mnk::new(1, n, k)), ..usual }
            }
            QuantMode::AB => Quant { group_b: Some(Mnk::new(1, 128, 128)), ..usual },
            _ => usual,
        }
    }

    /// The waves of one of CK's kernels.
    fn waves(&self, scan: &Scan<'_>) -> Result<Mnk, NameError> {
        let [threads, m, n, warp_m, warp_n] = [Threads, M, N, WarpM, WarpN].map(|slot| self.get(slot));
        let waves = threads / 64;
        let fits = |wave: &Mnk| {
            let [repeat_m, repeat_n] = [m / (wave.m * warp_m), n / (wave.n * warp_n)];
            let [shuffle_m, shuffle_n] = [ShuffleM, ShuffleN].map(|slot| self.get(slot));
            wave.m * wave.n == waves
                && [repeat_m * wave.m * warp_m, repeat_n * wave.n * warp_n] == [m, n]
                && repeat_m % shuffle_m == 0
                && repeat_n % shuffle_n == 0
                && [RepeatM, RepeatN]
                    .map(|slot| self.get(slot))
                    .iter()
                    .zip([repeat_m, repeat_n])
                    .all(|(&own, found)| own == 0 || own == found)
        };
        let distance = |wave: &Mnk| {
            let rows = wave.m * warp_m * self.get(ShuffleM);
            let columns = wave.n * warp_n * self.get(ShuffleN);
            [rows != self.get(StoreM), columns != self.get(StoreN) * self.get(Width)]
        };
        let shapes = (1..=waves).map(|along_m| Mnk::new(along_m, waves / along_m, 1));
        shapes.filter(fits).min_by_key(distance).filter(|_| threads % 64 == 0).ok_or_else(|| {
            scan.fail(format!(
                "{threads} threads do not divide the tile {m}x{n} into instructions of {warp_m}x{warp_n} \
                 that are shuffled {}x{} at a time",
                self.get(ShuffleM),
                self.get(ShuffleN)
            ))
        })
    }

    /// The widths of one of CK's kernels. Those of A and B are in the name, or follow from the threads along
    /// the depth; if both are there, they agree.
    fn vector(&self, scan: &Scan<'_>) -> Result<[u32; 3], NameError> {
        let width = |own: Slot, steps: Slot| {
            let (depth, own, steps) = (self.get(K), self.get(own), self.get(steps));
            if depth % steps == 0 && (own == 0 || own * steps == depth) {
                return Ok(depth / steps);
            }
            let of = if own == 0 { String::new() } else { format!(" of {own} elements each") };
            Err(scan.fail(format!("{steps} threads{of} do not load a depth of {depth}")))
        };
        Ok([width(A1, StepsA)?, width(B1, StepsB)?, self.get(Width)])
    }
}

impl Slot {
    /// What messages call it.
    const fn what(self) -> &'static str {
        match self {
            One => "the number that is always 1",
            ScaleM | ScaleN | ScaleK => "the elements that share a scale",
            Threads => "the threads",
            M | N | K => "the tile",
            A1 | B1 => "the elements of a load",
            WarpM | WarpN | WarpK => "the instruction",
            WaveM | WaveN | WaveK => "the waves",
            RepeatM | RepeatN => "the instructions of a wave",
            StepsA | LoadA | StepsB | LoadB => "the threads that load",
            StoreM | StoreN => "the threads that store",
            Width => "the elements of a store",
            ShuffleM | ShuffleN => "the shuffled results",
            Scheduling => "the scheduler",
            Version => "the pipeline",
            BlocksPerCu => "the workgroups of a compute unit",
            PartitionGroups | M01 => "the groups of tiles",
            WaveGroups => "the groups of waves",
            PermuteN | TransposeC | DoubleBuffer | Persistent | Sparse | PadM | PadN | PadK | RowScales => {
                "a flag"
            }
        }
    }

    /// The least and the largest number.
    const fn range(self) -> [u32; 2] {
        match self {
            One => [1, 1],
            Version => [1, 5],
            PermuteN | TransposeC | DoubleBuffer | Persistent | Sparse | PadM | PadN | PadK | RowScales => {
                [0, 1]
            }
            PartitionGroups | M01 => [0, MAX_SMALL],
            WarpM | WarpN | WarpK | WaveM | WaveN | WaveK | ShuffleM | ShuffleN | WaveGroups
            | BlocksPerCu => [1, MAX_SMALL],
            _ => [1, MAX_EXTENT],
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::{GemmKernel, Kernel, KernelKind, Mnk};
    use crate::problem::{Problem, ProblemDefaults};
    use crate::vocab::{GemmLibrary, Op};

    fn read(name: &str) -> GemmKernel {
        match Kernel::from_name(name).unwrap_or_else(|error| panic!("{error}")).kind {
            KernelKind::Gemm(kernel) => kernel,
            other => panic!("{other:?}"),
        }
    }

    /// One name of each family, and what only some of its parts say.
    const NAMES: [(&str, &str); 13] = [
        (
            "a8w8_rowwise_256x256x224x128_32x32_2x7_8x32x1_8x32x1_1x64x1x4_8x8x1_2x1_intrawave_v3",
            "fp8 256x224x128 4x1x1 32x32x16 compv3 [16, 16, 8] rowcolquant",
        ),
        (
            "a8w8_batched_rowwise_128x16x32x128_16x16_1x1_8x16x1_8x16x1_1x16x1x8_4x4x1_1x1_interwave_v2",
            "fp8 16x32x128 1x2x1 16x16x32 compv2 [16, 16, 4] batched rowcolquant",
        ),
        (
            "bf16_batched_256x64x128x64_32x32_1x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3",
            "bf16 64x128x64 2x2x1 32x32x8 compv3 [8, 8, 8] batched",
        ),
        (
            "a8w8_blockscale_1x128x128_256x16x128x256_8x16_16x16_1x2_32x8x1_16x16x1_1x16x1x16_8_1x2_intrawave_v1",
            "fp8 16x128x256 1x4x1 16x16x32 compv1 [8, 16, 8] abquant 1x1x128 1x128x128",
        ),
        (
            "a8w8_blockscale_bpreshuffle_1x128x128_256x64x256x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x1_\
             intrawave_v3",
            "fp8 64x256x128 1x4x1 16x16x32 compv3 [16, 16, 8] preshuffle abquant 1x1x128 1x128x128",
        ),
        (
            "a8w8_bpreshuffle_256x128x128x256_16x16_16x16_16x16x1_16x16x1_1x32x1x8_8x8x1_1x2_intrawave_v3",
            "fp8 128x128x256 2x2x1 16x16x32 compv3 [16, 16, 8] preshuffle rowcolquant",
        ),
        // The same tile, stored by other threads.
        (
            "a8w8_bpreshuffle_256x128x128x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_8x8x1_1x2_intrawave_v1",
            "fp8 128x128x256 1x4x1 16x16x32 compv1 [16, 16, 8] preshuffle rowcolquant",
        ),
        (
            "a4w4_blockscale_256x256x256x128_16x16_16x16_8x32x1_8x32x1_1x8x1x32_8_2x8_intrawave_v3",
            "pk_fp4 256x256x128 2x2x1 16x16x128 compv3 [16, 16, 8] preshuffle mx 1x1x32 1x1x32",
        ),
        (
            "a8w8_blockscale_cktile_192x256x128_4x2x1_16x16x128_intrawave_0x1x0_3_aqrm",
            "fp8 192x256x128 4x2x1 16x16x128 eightwaves [0, 0, 0] preshuffle abquant 1x1x128 1x128x128",
        ),
        (
            "a8w8_blockscale_cktile_16x128x256_1x4x1_16x16x64_intrawave_0x1x0_4",
            "fp8 16x128x256 1x4x1 16x16x64 compv3 [0, 0, 0] preshuffle abquant 1x1x128 1x128x128",
        ),
        (
            "a8w8_blockscale_cktile_64x128x128_2x2x1_32x32x16_intrawave_0x0x0x0_1",
            "fp8 64x128x128 2x2x1 32x32x16 compv3 [0, 0, 0] abquant 1x1x128 1x128x128",
        ),
        (
            "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x2_48x128x256_1x4x1_16x16x64_default",
            "fp8 48x128x256 1x4x1 16x16x64 preshufflev2 [0, 0, 0] preshuffle rowcolquant",
        ),
        (
            "a8w8_cktile_256x256x128_4x2x1_16x16_intrawave_0x1x0_2",
            "fp8 256x256x128 4x2x1 16x16x32 compv3 [0, 0, 0] rowcolquant",
        ),
    ];

    #[test]
    fn names_say_what_kernels_are_and_are_printed_again() {
        for (name, expected) in NAMES {
            let kernel = read(name);
            let GemmKernel { dtype_a, tile, wave, warp_tile, pipeline, vector, variant, .. } = &kernel;
            let mut found = vec![format!("{dtype_a} {tile} {wave} {warp_tile} {pipeline} {vector:?}")];
            found.extend(variant.batched.then(|| "batched".to_owned()));
            found.extend(kernel.preshuffle.then(|| "preshuffle".to_owned()));
            if let Some(quant) = variant.quant {
                found.push(quant.mode.to_string());
                found.extend(
                    [quant.group_a, quant.group_b].into_iter().flatten().map(|group| group.to_string()),
                );
            }
            assert_eq!(found.join(" "), expected, "{name}");
            assert_eq!(kernel.name(), name);
            assert_eq!(GemmKernel::parse_identifier(name).as_ref(), Ok(&kernel));
            assert_eq!((variant.library, kernel.block_size % 64), (GemmLibrary::Aiter, 0), "{name}");
            kernel.validate().unwrap();
        }
        let kernel = read(NAMES[8].0);
        assert_eq!((kernel.variant.block_per_cu, kernel.variant.row_scales), (3, true));
        assert_eq!((kernel.transpose_c, kernel.persistent), (true, false));
        let kernel = read(NAMES[11].0);
        assert_eq!(
            (kernel.variant.partition, kernel.variant.block_per_cu, kernel.pad),
            ([8, 4], 2, [false; 3])
        );
        let kernel = read(NAMES[0].0);
        assert_eq!(
            (kernel.variant.storers, kernel.variant.shuffle, kernel.pad),
            ([64, 4], [2, 1], [true; 3])
        );
    }

    /// The tables of 2025 name them without the instructions of a wave.
    #[test]
    fn the_older_spelling_is_the_same_kernel() {
        let older =
            "a8w8_blockscale_1x128x128_256x64x256x128_16x16_32x32_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3";
        let newer = older.replace("_32x32_", "_32x32_2x2_");
        assert_eq!(read(older), read(&newer));
        assert_eq!((read(older).name(), read(older).wave), (newer, Mnk::new(1, 4, 1)));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let rows = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
        for (from, to, reason) in [
            (
                "256x128x128x128",
                "256x128x128",
                "found '256x128x128' for the threads, expected 4 numbers joined by 'x'",
            ),
            ("256x128", "256x0", "the tile is 0, expected 1 to 65535"),
            ("256x128", "250x128", "250 threads do not divide the tile 128x128 into instructions of 32x32"),
            ("_2x2_", "_4x4_", "256 threads do not divide the tile 128x128"),
            ("_8x32x1_8", "_3x32x1_8", "3 threads do not load a depth of 128"),
            ("_8x8x1_", "_8x4x1_", "the elements of a store is 4, expected 8 to 8"),
            ("_v3", "_v6", "the pipeline is 6, expected 1 to 5"),
            ("_v3", "_3", "found '3' for the pipeline, expected v1 to v5"),
            ("_v3", "_v3_aqrm", "found '_aqrm', expected the end of the name"),
            ("intrawave", "auto", "unknown scheduler 'auto', expected one of: default, intrawave, interwave"),
        ] {
            let name = rows.replacen(from, to, 1);
            let error = Kernel::from_name(&name).unwrap_err();
            assert!(error.reason.starts_with(reason), "{error}");
        }
        let error = Kernel::from_name("a8w8_columnwise_256x128x128x128").unwrap_err();
        assert!(error.reason.starts_with("begins neither with"), "{error}");
        let flags = "a8w8_blockscale_cktile_64x128x128_2x2x1_32x32x16_intrawave_0x2x0_1";
        let error = Kernel::from_name(flags).unwrap_err();
        assert!(error.reason.starts_with("a flag is 2, expected 0 to 1"), "{error}");
    }

    /// A name says how many bits elements have, not their type.
    #[test]
    fn types_are_those_that_a_name_may_stand_for() {
        let [rows, groups, batch] = [0, 3, 2].map(|place| read(NAMES[place].0));
        let computes = |kernel: &GemmKernel, fields: &str| {
            let text = format!("M=64,N=64,K=128,{fields}");
            let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::of(Op::Gemm)).unwrap();
            KernelKind::Gemm(kernel.clone()).computes(&problem)
        };
        for (fields, expected) in [
            ("dtype_c=bf16,quant=rowcolquant", [true, false, false]),
            ("dtype=int8,dtype_c=bf16,quant=rowcolquant", [true, false, false]),
            ("dtype=int8,dtype_b=fp8,dtype_c=bf16,quant=rowcolquant", [false; 3]),
            ("quant=rowcolquant", [true, false, false]),
            ("quant=rowcolquant,preshuffle=1", [false; 3]),
            ("dtype_c=fp32,quant=rowcolquant", [false; 3]),
            ("quant=abquant,group_b=1x128x128", [false, true, false]),
            ("dtype=int8,dtype_c=bf16,quant=abquant,group_b=1x128x128", [false; 3]),
            ("dtype=bf16,batch=4", [false, false, true]),
            ("dtype=fp16,batch=4", [false; 3]),
        ] {
            assert_eq!([&rows, &groups, &batch].map(|kernel| computes(kernel, fields)), expected, "{fields}");
        }
    }

    /// Of thousands of winners with a shuffled B none has a rest of N or K, but for CK Tile's with scales of
    /// groups.
    #[test]
    fn a_shuffled_b_is_read_in_whole_tiles() {
        for (place, request, whole) in [
            (5, "quant=rowcolquant,preshuffle=1", true),
            (11, "quant=rowcolquant,preshuffle=1", true),
            (4, "quant=abquant,group_b=1x128x128,preshuffle=1", true),
            (9, "quant=abquant,group_b=1x128x128,preshuffle=1", false),
            (0, "quant=rowcolquant", false),
        ] {
            let kernel = KernelKind::Gemm(read(NAMES[place].0));
            for (shape, is_whole) in
                [("M=3,N=256,K=512", true), ("M=3,N=272,K=512", false), ("M=3,N=256,K=560", false)]
            {
                let text = format!("{shape},dtype_c=bf16,{request}");
                let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::of(Op::Gemm)).unwrap();
                assert_eq!(kernel.computes(&problem), is_whole || !whole, "{} {text}", NAMES[place].0);
                let kernel = Kernel { name: String::new(), kind: kernel.clone() };
                assert_eq!(kernel.misfit(&problem).is_none(), is_whole || !whole);
            }
        }
    }
}
