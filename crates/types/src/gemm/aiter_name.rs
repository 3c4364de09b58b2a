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
//!    store; in the older spelling of kernels with scales of groups, of `v3` as many along m as along n.
//! 4. AITER chooses the padding of CK's kernels, and of CK Tile's with scales of groups, at run time; but
//!    tiles of CK's kernels with a shuffled B of 8 bits must divide N and K, as where flags say so.
//! 5. CK Tile's kernels with scales of groups read B as it is or shuffled, by an argument; those of the older
//!    spelling, with four flags, only as it is.

use super::{GemmKernel, GemmVariant, Quant};
use crate::field::{Kind, MOST_FIELDS, Record as _, positions, values};
use crate::scan::{NameError, Scan};
use crate::shape::Mnk;
use crate::valid::MAX_KERNEL_EXTENT;
use crate::vocab::{Dtype, Epilogue, GemmLayout, GemmLibrary, Pipeline, QuantMode};

/// A number of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    /// A field of kernels, by its index among the fields.
    Field(usize),
    /// The number that is always 1.
    One,
    /// Elements that share a scale.
    ScaleM,
    ScaleN,
    ScaleK,
    /// Instructions of a wave along m and n.
    RepeatM,
    RepeatN,
    /// Threads along the depth.
    StepsA,
    StepsB,
    /// The pipeline.
    Version,
    /// Whether the epilogue permutes n.
    PermuteN,
}

use Number::{One, PermuteN, RepeatM, RepeatN, ScaleK, ScaleM, ScaleN, StepsA, StepsB, Version};

impl Number {
    /// The number's name in messages, with its least and largest value.
    fn bounds(self) -> (&'static str, [i64; 2]) {
        let any = [1, MAX_KERNEL_EXTENT.into()];
        match self {
            Self::Field(index) => {
                let field = &GemmKernel::FIELDS[index];
                // No name says 0, except for tiles in their order.
                let least = i64::from(!field.name.starts_with("partition_"));
                let is_flag = matches!(field.kind, Kind::Flag);
                (field.name, if is_flag { [0, 1] } else { [least, field.most] })
            }
            One => ("the number that is always 1", [1, 1]),
            ScaleM | ScaleN | ScaleK => ("the elements that share a scale", any),
            RepeatM | RepeatN => ("the instructions of a wave", any),
            StepsA | StepsB => ("the threads that load", any),
            Version => ("the pipeline", [1, 5]),
            PermuteN => ("the flag for permuting n", [0, 1]),
        }
    }

    /// The number in the name of a kernel.
    fn value(self, kernel: &GemmKernel) -> i64 {
        let GemmKernel { tile, wave, warp_tile, vector, variant, .. } = kernel;
        let per = |all: u32, one: u32| i64::from(all / one.max(1));
        let scale = |group: fn(&Quant) -> Option<Mnk>, axis: fn(Mnk) -> u32| {
            variant.quant.as_ref().and_then(group).map_or(1, |group| axis(group).into())
        };
        match self {
            Self::Field(index) => values(kernel)[index],
            One => 1,
            ScaleM => scale(|quant| quant.group_a, |group| group.m),
            ScaleN => scale(|quant| quant.group_b, |group| group.n),
            ScaleK => scale(|quant| quant.group_a, |group| group.k),
            RepeatM => per(tile.m, wave.m.saturating_mul(warp_tile.m)),
            RepeatN => per(tile.n, wave.n.saturating_mul(warp_tile.n)),
            StepsA => per(tile.k, vector[0]),
            StepsB => per(tile.k, vector[1]),
            Version => kernel.pipeline as i64 + 1,
            PermuteN => (kernel.epilogue == Epilogue::PermuteN).into(),
        }
    }
}

/// A field of kernels, by its name.
const fn field(name: &'static str) -> Number {
    Number::Field(positions(GemmKernel::FIELDS, &[name])[0])
}

type Part = &'static [Number];

/// A family of names.
struct Family {
    prefix: &'static str,
    quant: Option<QuantMode>,
    dtype: Dtype,
    batched: bool,
    preshuffle: bool,
    /// The family's kernels take only whole tiles of B, whatever the flags.
    whole: bool,
    parts: &'static [Part],
}

const SCALE: Part = &[ScaleM, ScaleN, ScaleK];
const BLOCK: Part = &[field("block_size"), field("tile_m"), field("tile_n"), field("tile_k")];
const A1_B1: Part = &[field("vector_a"), field("vector_b")];
const WARP: Part = &[field("warp_tile_m"), field("warp_tile_n")];
const REPEAT: Part = &[RepeatM, RepeatN];
const LOAD_A: Part = &[StepsA, field("loaders_a"), One];
const LOAD_B: Part = &[StepsB, field("loaders_b"), One];
const STORE: Part = &[One, field("storers_m"), One, field("storers_n")];
const WIDTH: Part = &[field("vector_c")];
const WIDTHS: Part = &[field("vector_c"), field("vector_c"), One];
const SHUFFLE: Part = &[field("shuffle_m"), field("shuffle_n")];
const SCHEDULER: Part = &[field("scheduler")];
const PIPELINE: Part = &[Version];
const TILE: Part = &[field("tile_m"), field("tile_n"), field("tile_k")];
const WAVES: Part = &[field("wave_m"), field("wave_n"), field("wave_k")];
const WARP_TILE: Part = &[field("warp_tile_m"), field("warp_tile_n"), field("warp_tile_k")];
const FLAGS: Part = &[PermuteN, field("transpose_c"), field("persistent")];
const FOUR_FLAGS: Part = &[PermuteN, field("transpose_c"), field("double_buffer"), field("persistent")];
const TEN_FLAGS: Part = &[
    field("transpose_c"),
    field("structured_sparsity"),
    field("partition_groups"),
    field("partition_m01"),
    field("num_wave_groups"),
    field("double_buffer"),
    field("pad_m"),
    field("pad_n"),
    field("pad_k"),
    field("block_per_cu"),
];
const BLOCKS: Part = &[field("block_per_cu")];
const ROW_SCALES: Part = &[field("row_scales_a")];

/// The parts of the oldest names, which have no widths of A and B.
const FIRST: &[Part] = &[BLOCK, WARP, REPEAT, LOAD_A, LOAD_B, STORE, WIDTHS, SHUFFLE, SCHEDULER, PIPELINE];

/// The parts of 2025's names of kernels with scales of groups, without the instructions of a wave; today of
/// kernels with a shuffled B.
const OLDER: &[Part] =
    &[SCALE, BLOCK, A1_B1, WARP, LOAD_A, LOAD_B, STORE, WIDTH, SHUFFLE, SCHEDULER, PIPELINE];

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
            SCALE, BLOCK, A1_B1, WARP, REPEAT, LOAD_A, LOAD_B, STORE, WIDTH, SHUFFLE, SCHEDULER, PIPELINE,
        ],
        ..GROUPS
    },
    Family { parts: OLDER, ..GROUPS },
    Family { prefix: "a8w8_blockscale_bpreshuffle", preshuffle: true, whole: true, parts: OLDER, ..GROUPS },
    Family {
        prefix: "a8w8_bpreshuffle",
        preshuffle: true,
        whole: true,
        parts: &[BLOCK, A1_B1, WARP, LOAD_A, LOAD_B, STORE, WIDTHS, SHUFFLE, SCHEDULER, PIPELINE],
        ..PLAIN
    },
    Family {
        prefix: "a4w4_blockscale",
        quant: Some(QuantMode::Mx),
        dtype: Dtype::PkFp4,
        preshuffle: true,
        parts: &[BLOCK, A1_B1, WARP, LOAD_A, LOAD_B, STORE, WIDTH, SHUFFLE, SCHEDULER, PIPELINE],
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
    let family = FAMILIES.iter().find(|family| family.has(kernel)).unwrap_or(&PLAIN);
    let mut name = family.prefix.to_owned();
    for part in family.parts {
        if *part == ROW_SCALES {
            name += if kernel.variant.row_scales { "_aqrm" } else { "" };
            continue;
        }
        for (index, number) in part.iter().enumerate() {
            name.push(if index == 0 { '_' } else { 'x' });
            if *part == SCHEDULER {
                name += SCHEDULERS[kernel.scheduler as usize];
                continue;
            }
            name += if *number == Version { "v" } else { "" };
            name += &number.value(kernel).to_string();
        }
    }
    name
}

/// AITER's words for schedulers, by their numbers.
const SCHEDULERS: [&str; 3] = ["default", "intrawave", "interwave"];

impl Family {
    /// Whether a kernel is of this family.
    fn has(&self, kernel: &GemmKernel) -> bool {
        let GemmVariant { quant, batched, .. } = kernel.variant;
        self.quant == quant.map(|quant| quant.mode)
            && (self.dtype, self.batched, self.preshuffle) == (kernel.dtype_a, batched, kernel.preshuffle)
            && self.is_classic() == kernel.is_classic()
    }

    /// Whether the family's kernels are of CK, not CK Tile.
    fn is_classic(&self) -> bool {
        self.parts.contains(&STORE)
    }

    /// The fields that all kernels of the family have, without those that names state.
    fn kernel(&self) -> GemmKernel {
        let variant =
            GemmVariant { batched: self.batched, library: GemmLibrary::Aiter, ..GemmVariant::USUAL };
        GemmKernel {
            dtype_a: self.dtype,
            dtype_b: self.dtype,
            dtype_c: Dtype::Bf16,
            dtype_acc: self.dtype.accumulator(),
            layout: GemmLayout::RCR,
            warp_tile: Mnk::new(0, 0, 0),
            pad: [true, !self.whole, !self.whole],
            preshuffle: self.preshuffle,
            variant,
            ..GemmKernel::USUAL
        }
    }

    fn parse(&self, mut scan: Scan<'_>) -> Result<GemmKernel, NameError> {
        scan.eat(self.prefix);
        let usual = self.kernel();
        let mut read = Numbers::default();
        for &part in self.parts {
            if part == ROW_SCALES {
                read.0.push((part[0], scan.eat_whole("_aqrm").into()));
                continue;
            }
            let whole = scan.clone();
            for (index, &number) in part.iter().enumerate() {
                let (what, range) = number.bounds();
                if index == 0 {
                    scan.separator(what)?;
                } else if !scan.eat("x") {
                    let found = whole.rest().trim_start_matches('_').split('_').next().unwrap_or_default();
                    let (first, _) = part[0].bounds();
                    let expected = format!("{} numbers joined by 'x'", part.len());
                    return Err(scan.fail(format!("found '{found}' for {first}, expected {expected}")));
                }
                if part == SCHEDULER {
                    read.0.push((number, scheduler(&mut scan)?));
                    continue;
                }
                if number == Version && !scan.eat("v") {
                    let message = format!("found '{}' for the pipeline, expected v1 to v5", scan.token());
                    return Err(scan.fail(message));
                }
                // What stands there twice is one number.
                let [least, most] = read.get(number).map_or(range, |before| [before; 2]);
                read.0.push((number, scan.number(what, least, most)?));
            }
        }
        scan.end("the end of the name")?;
        self.complete(&scan, &read, GemmKernel::read(&read.over(values(&usual)), &usual))
    }

    /// The kernel with what its name leaves out.
    fn complete(
        &self,
        scan: &Scan<'_>,
        read: &Numbers,
        mut kernel: GemmKernel,
    ) -> Result<GemmKernel, NameError> {
        // 0 for what names of this family do not say.
        let number = |number: Number| read.get(number).unwrap_or(0);
        if kernel.warp_tile.k == 0 {
            kernel.warp_tile.k = (depth_times_rows(self.dtype) / kernel.warp_tile.m).max(1);
        }
        if self.is_classic() {
            let is_even = self.parts == OLDER && !self.preshuffle && number(Version) == 3;
            kernel.wave = waves(scan, &kernel, [RepeatM, RepeatN].map(number), is_even)?;
            kernel.vector = vector(scan, &kernel, [StepsA, StepsB].map(number))?;
        }
        let waves = kernel.wave.m * kernel.wave.n * kernel.wave.k;
        let is_grouped = self.quant == Some(QuantMode::AB);
        kernel.pipeline = match number(Version) {
            0 if !is_grouped && self.preshuffle => Pipeline::PreshuffleV2,
            0 if waves == 8 && kernel.warp_tile.k == 128 => Pipeline::EightWaves,
            1 => Pipeline::CompV1,
            2 => Pipeline::CompV2,
            4 => Pipeline::CompV4,
            5 => Pipeline::CompV5,
            _ => Pipeline::CompV3,
        };
        kernel.epilogue = if number(PermuteN) == 1 { Epilogue::PermuteN } else { Epilogue::CShuffle };
        kernel.block_size = waves * 64;
        kernel.double_buffer |= self.is_classic() && kernel.pipeline.double_buffered();
        kernel.variant.quant = self.quant.map(|mode| scales(mode, [ScaleM, ScaleN, ScaleK].map(number)));
        Ok(kernel)
    }
}

/// The numbers of a name, in its order.
#[derive(Default)]
struct Numbers(Vec<(Number, i64)>);

impl Numbers {
    fn get(&self, number: Number) -> Option<i64> {
        self.0.iter().find(|(known, _)| *known == number).map(|(_, value)| *value)
    }

    /// The values of a kernel's fields, with those that the name says.
    fn over(&self, mut fields: [i64; MOST_FIELDS]) -> [i64; MOST_FIELDS] {
        for &(number, value) in &self.0 {
            if let Number::Field(index) = number {
                fields[index] = value;
            }
        }
        fields
    }
}

fn scheduler(scan: &mut Scan<'_>) -> Result<i64, NameError> {
    let scheduler = SCHEDULERS.iter().position(|word| scan.eat_whole(word));
    scheduler.map(|number| number as i64).ok_or_else(|| {
        let (token, words) = (scan.token(), SCHEDULERS.join(", "));
        scan.fail(format!("unknown scheduler '{token}', expected one of: {words}"))
    })
}

/// Rows of CK's smallest matrix instructions for a type times their depth.
const fn depth_times_rows(dtype: Dtype) -> u32 {
    match dtype.bits() {
        16 => 256,
        8 => 512,
        _ => 2048,
    }
}

/// The scales of a family, with the groups of a name, which are 0 if it has none.
fn scales(mode: QuantMode, groups: [i64; 3]) -> Quant {
    let usual = Quant::usual(mode);
    let [m, n, k] = groups.map(|extent| extent as u32);
    match mode {
        QuantMode::AB if k > 0 => {
            Quant { group_a: Some(Mnk::new(m, 1, k)), group_b: Some(Mnk::new(1, n, k)), ..usual }
        }
        QuantMode::AB => Quant { group_b: Some(Mnk::new(1, 128, 128)), ..usual },
        _ => usual,
    }
}

/// The waves of one of CK's kernels; `repeat` is the number of instructions of a wave, 0 if unknown. If it
/// `is_even`, as many along m as along n.
fn waves(scan: &Scan<'_>, kernel: &GemmKernel, repeat: [i64; 2], is_even: bool) -> Result<Mnk, NameError> {
    let GemmKernel { tile, warp_tile, block_size, vector, .. } = *kernel;
    let [shuffle, store] = [kernel.variant.shuffle.map(u32::from), kernel.variant.storers.map(u32::from)];
    let waves = block_size / 64;
    let fits = |wave: &Mnk| {
        let found = [tile.m / (wave.m * warp_tile.m), tile.n / (wave.n * warp_tile.n)];
        let is_told = |axis: usize| repeat[axis] == 0 || repeat[axis] == i64::from(found[axis]);
        wave.m * wave.n == waves
            && [found[0] * wave.m * warp_tile.m, found[1] * wave.n * warp_tile.n] == [tile.m, tile.n]
            && [0, 1].into_iter().all(|axis| found[axis].is_multiple_of(shuffle[axis]) && is_told(axis))
    };
    let distance = |wave: &Mnk| {
        let rows = wave.m * warp_tile.m * shuffle[0];
        let columns = wave.n * warp_tile.n * shuffle[1];
        [is_even && wave.m != wave.n, rows != store[0], columns != store[1] * vector[2]]
    };
    let shapes = (1..=waves).map(|along_m| Mnk::new(along_m, waves / along_m, 1));
    shapes.filter(fits).min_by_key(distance).filter(|_| block_size % 64 == 0).ok_or_else(|| {
        scan.fail(format!(
            "{block_size} threads do not divide the tile {}x{} into instructions of {}x{} that are shuffled \
             {}x{} at a time",
            tile.m, tile.n, warp_tile.m, warp_tile.n, shuffle[0], shuffle[1]
        ))
    })
}

/// The widths of one of CK's kernels. Those of A and B are in the name, or follow from the threads along the
/// depth; if both are there, they agree.
fn vector(scan: &Scan<'_>, kernel: &GemmKernel, steps: [i64; 2]) -> Result<[u32; 3], NameError> {
    let depth = kernel.tile.k;
    let width = |operand: usize| {
        let (own, steps) = (kernel.vector[operand], steps[operand] as u32);
        if depth.is_multiple_of(steps) && (own == 0 || own * steps == depth) {
            return Ok(depth / steps);
        }
        let of = if own == 0 { String::new() } else { format!(" of {own} elements each") };
        Err(scan.fail(format!("{steps} threads{of} do not load a depth of {depth}")))
    };
    Ok([width(0)?, width(1)?, kernel.vector[2]])
}

#[cfg(test)]
mod tests {
    use crate::gemm::{GemmKernel, named};
    use crate::kernel::{Kernel, KernelKind, Mnk};
    use crate::problem::{Problem, ProblemDefaults};
    use crate::vocab::{GemmLibrary, Op};

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
        // A tile as above, stored by other threads.
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
            let kernel = named(name);
            let GemmKernel { dtype_a, tile, wave, warp_tile, pipeline, vector, variant, .. } = &kernel;
            let mut lines = vec![format!("{dtype_a} {tile} {wave} {warp_tile} {pipeline} {vector:?}")];
            lines.extend(variant.batched.then(|| "batched".to_owned()));
            lines.extend(kernel.preshuffle.then(|| "preshuffle".to_owned()));
            if let Some(quant) = variant.quant {
                lines.push(quant.mode.to_string());
                lines.extend(
                    [quant.group_a, quant.group_b].into_iter().flatten().map(|group| group.to_string()),
                );
            }
            assert_eq!(lines.join(" "), expected, "{name}");
            assert_eq!(kernel.name(), name);
            assert_eq!(GemmKernel::parse_identifier(name).as_ref(), Ok(&kernel));
            assert_eq!((variant.library, kernel.block_size % 64), (GemmLibrary::Aiter, 0), "{name}");
            kernel.validate().unwrap();
        }
        let kernel = named(NAMES[8].0);
        assert_eq!((kernel.variant.block_per_cu, kernel.variant.row_scales), (3, true));
        assert_eq!((kernel.transpose_c, kernel.persistent), (true, false));
        let kernel = named(NAMES[11].0);
        assert_eq!(
            (kernel.variant.partition, kernel.variant.block_per_cu, kernel.pad),
            ([8, 4], 2, [false; 3])
        );
        let kernel = named(NAMES[0].0);
        assert_eq!(
            (kernel.variant.storers, kernel.variant.shuffle, kernel.pad),
            ([64, 4], [2, 1], [true; 3])
        );
    }

    /// The tables of 2025 name them without the instructions of a wave.
    #[test]
    fn the_older_spelling_is_the_same_kernel() {
        for (tile, version, repeat, wave) in [
            ("64x256", "v1", "2x2", Mnk::new(1, 4, 1)),
            ("64x128", "v1", "2x1", Mnk::new(1, 4, 1)),
            ("64x64", "v1", "1x1", Mnk::new(2, 2, 1)),
            // Kernels that were taken for four waves along n (5b53d45b).
            ("64x128", "v3", "1x2", Mnk::new(2, 2, 1)),
            ("128x128", "v3", "2x2", Mnk::new(2, 2, 1)),
        ] {
            let older = format!(
                "a8w8_blockscale_1x128x128_256x{tile}x128_16x16_32x32_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_\
                 {version}"
            );
            let newer = older.replace("_32x32_", &format!("_32x32_{repeat}_"));
            assert_eq!(named(&older), named(&newer));
            assert_eq!((named(&older).name(), named(&older).wave), (newer, wave));
        }
    }

    #[test]
    fn errors_name_the_offending_part() {
        let rows = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
        for (from, to, reason) in [
            (
                "256x128x128x128",
                "256x128x128",
                "found '256x128x128' for block_size, expected 4 numbers joined by 'x'",
            ),
            ("256x128", "256x0", "tile_m is 0, expected 1 to 65535"),
            ("256x128", "250x128", "250 threads do not divide the tile 128x128 into instructions of 32x32"),
            ("_2x2_", "_4x4_", "256 threads do not divide the tile 128x128"),
            ("_8x32x1_8", "_3x32x1_8", "3 threads do not load a depth of 128"),
            ("_8x8x1_", "_8x4x1_", "vector_c is 4, expected 8 to 8"),
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
        assert!(error.reason.starts_with("transpose_c is 2, expected 0 to 1"), "{error}");
    }

    /// A name says how many bits elements have, not their type.
    #[test]
    fn types_are_those_that_a_name_may_stand_for() {
        let [rows, groups, batch] = [0, 3, 2].map(|index| named(NAMES[index].0));
        let computes = |kernel: &GemmKernel, fields: &str| {
            let text = format!("M=64,N=64,K=128,{fields}");
            let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::new(Op::Gemm)).unwrap();
            KernelKind::Gemm(kernel.clone()).matches(&problem)
        };
        for (fields, expected) in [
            ("dtype_c=bf16,quant=rowcolquant", [true, false, false]),
            ("dtype=int8,dtype_c=bf16,quant=rowcolquant", [true, false, false]),
            ("dtype=int8,dtype_c=bf16,quant=rowcolquant,preshuffle=1", [false; 3]),
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

    /// No padding completes a load or a store, and winners of tuned tables need none completed (07238670).
    #[test]
    fn loads_and_stores_are_whole() {
        let rows = KernelKind::Gemm(named(NAMES[0].0));
        for (shape, is_whole) in
            [("N=264,K=528", true), ("N=260,K=528", false), ("N=264,K=520", false), ("N=7,K=528", false)]
        {
            let text = format!("M=3,{shape},dtype_c=bf16,quant=rowcolquant");
            let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::new(Op::Gemm)).unwrap();
            assert_eq!(rows.matches(&problem), is_whole, "{text}");
            let reason = Kernel { name: String::new(), kind: rows.clone() }.misfit(&problem);
            let said = "it loads 16 and 16 elements of K and stores 8 of N at a time";
            assert_eq!(reason.as_deref(), (!is_whole).then_some(said));
        }
        // Other libraries' kernels have masks for them.
        let name = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_2x2x1_16x16x32";
        let text = "M=3,N=260,K=520,preshuffle=1";
        let problem = Problem::parse(Op::Gemm, text, &ProblemDefaults::new(Op::Gemm)).unwrap();
        let reason = Kernel::from_name(name).unwrap().misfit(&problem);
        assert_eq!(reason.as_deref(), Some("it reads B as it is (preshuffle)"));
    }

    /// In thousands of winners with a shuffled B, tiles divide N and K, except for CK Tile's with scales of
    /// groups.
    #[test]
    fn a_shuffled_b_is_read_in_whole_tiles() {
        for (index, request, whole) in [
            (5, "quant=rowcolquant,preshuffle=1", true),
            (11, "quant=rowcolquant,preshuffle=1", true),
            (4, "quant=abquant,group_b=1x128x128,preshuffle=1", true),
            (9, "quant=abquant,group_b=1x128x128,preshuffle=1", false),
            (0, "quant=rowcolquant", false),
        ] {
            let kernel = KernelKind::Gemm(named(NAMES[index].0));
            for (shape, is_whole) in
                [("M=3,N=256,K=512", true), ("M=3,N=272,K=512", false), ("M=3,N=256,K=560", false)]
            {
                let text = format!("{shape},dtype_c=bf16,{request}");
                let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::new(Op::Gemm)).unwrap();
                assert_eq!(kernel.matches(&problem), is_whole || !whole, "{} {text}", NAMES[index].0);
                let kernel = Kernel { name: String::new(), kind: kernel.clone() };
                assert_eq!(kernel.misfit(&problem).is_none(), is_whole || !whole);
            }
        }
    }
}
