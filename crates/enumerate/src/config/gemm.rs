//! Configurations of GEMM enumerations.

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Elementwise, Epilogue, Pipeline, Scheduler, StreamKReduction};

use super::reader::{Fault, Object, count, flag, kind, word};

/// Which GEMM kernels to enumerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GemmConfig {
    /// All combinations of ranges, as in the tile engine.
    Ranges(Box<GemmRanges>),
    /// The kernels of the machine-learning sweep.
    Sweep,
}

/// Values by parameter. Triples are along m, n and k.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmRanges {
    /// Sizes of the result tile, and the depth of one step.
    pub tile: [Vec<u32>; 3],
    /// Waves per workgroup (`warp_*`).
    pub wave: [Vec<u32>; 3],
    /// Sizes of one matrix instruction.
    pub warp_tile: [Vec<u32>; 3],
    /// How loads and arithmetic overlap.
    pub pipelines: Vec<Pipeline>,
    /// How results leave the registers.
    pub epilogues: Vec<Epilogue>,
    /// How waves are interleaved.
    pub schedulers: Vec<Scheduler>,
    /// Whether m, n and k are padded.
    pub pad: [Vec<bool>; 3],
    /// Whether workgroups stay resident.
    pub persistent: Vec<bool>,
    /// How much shared memory a tile may take.
    pub lds: LdsLimit,
    /// What sets the kernels apart from plain ones.
    pub variant: GemmVariants,
}

/// What sets the kernels of ranges apart from plain ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GemmVariants {
    /// Nothing.
    Universal,
    /// Stream-K, with these reductions.
    StreamK(Vec<StreamKReduction>),
    /// This many D tensors, and the operation on them.
    MultiD(u8, Elementwise),
    /// B is preshuffled; the flag permutes the columns.
    Preshuffle(bool),
    /// Batched GEMMs.
    Batched,
    /// Grouped GEMMs, which take lists of products.
    Grouped,
    /// The tile engine's `gemm_quant`: profiles in place of pipelines and schedulers.
    Quant(QuantRanges),
}

/// What `gemm_quant` varies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantRanges {
    /// What has scales and how they are read.
    pub profiles: Vec<QuantProfile>,
    /// Elements of A that share a scale; 1x1x1 for one of its own.
    pub groups_a: Vec<Mnk>,
    /// The same of B.
    pub groups_b: Vec<Mnk>,
}

/// A profile of `gemm_quant`, by its place among the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantProfile(usize);

/// Their words; whether the pipeline is `mem`, as which the builder judges the tile; and whether waves interleave.
const PROFILES: [(&str, bool, bool); 9] = [
    ("aquantdecode", true, true),
    ("aquantprefill", true, false),
    ("aquantpreshufflequant", false, false),
    ("bquantdecode", false, false),
    ("bquantprefill", false, false),
    ("bquantpreshufflequant", false, false),
    ("bquantpreshufflequantprefill", false, false),
    ("rowcol", false, false),
    ("tensor", false, false),
];

impl QuantProfile {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        PROFILES[self.0].0
    }

    /// Whether its pipeline is `mem`; that of the others is `compv3`.
    pub(crate) fn is_mem(self) -> bool {
        PROFILES[self.0].1
    }

    /// The word of its scheduler.
    pub(crate) fn scheduler(self) -> Scheduler {
        if PROFILES[self.0].2 { Scheduler::Interwave } else { Scheduler::Intrawave }
    }

    /// The operand whose groups have scales: `a`, `b`, or none.
    pub(crate) fn operand(self) -> Option<char> {
        self.as_str().split_once("quant").and_then(|(operand, _)| operand.chars().next())
    }

    fn read(value: &serde_json::Value) -> Result<Self, String> {
        let place = PROFILES.iter().position(|profile| value.as_str() == Some(profile.0));
        let words = PROFILES.map(|profile| profile.0).join(", ");
        place.map(Self).ok_or_else(|| format!("found {}, expected one of: {words}", kind(value)))
    }
}

/// How much shared memory a tile may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LdsLimit {
    /// All that the architecture has, or half of it for pipelines with two buffers.
    Hardware,
    /// The share of it that the rules grant a pipeline.
    Pipeline,
    /// The same share of 64 KiB on every architecture: upstream's rule before version 1.2.0.
    Flat,
}

/// The highest number of values of one parameter.
const MAX_VALUES: usize = 4096;
/// The largest value of one parameter.
const MAX_VALUE: u32 = 1 << 16;

pub(super) fn read(root: &mut Object<'_>) -> Result<GemmConfig, Fault> {
    let mut lds = LdsLimit::Hardware;
    let mut sweep = false;
    let mut variant = GemmVariants::Universal;
    if let Some(mut ours) = root.object("ck_select")? {
        let limits =
            [("hardware", LdsLimit::Hardware), ("pipeline", LdsLimit::Pipeline), ("flat", LdsLimit::Flat)];
        lds = ours.choice("lds_limit", &limits)?.unwrap_or(lds);
        sweep = ours.choice("kernels", &[("ranges", false), ("ml_sweep", true)])?.unwrap_or(sweep);
        let family = ours.choice("variant", &FAMILIES)?.unwrap_or(Family::Universal);
        variant = match family {
            Family::Universal => GemmVariants::Universal,
            // The default of upstream's generators.
            Family::StreamK => GemmVariants::StreamK(vec![StreamKReduction::Atomic]),
            Family::MultiD => {
                let tensors = ours.optional("num_d", count(1, 255))?.unwrap_or(2) as u8;
                let operation = ours.optional("elementwise", word)?.unwrap_or(Elementwise::MultiDAdd);
                GemmVariants::MultiD(tensors, operation)
            }
            Family::Preshuffle => GemmVariants::Preshuffle(false),
            Family::Batched => GemmVariants::Batched,
            Family::Grouped => GemmVariants::Grouped,
        };
        ours.finish()?;
    }
    if sweep {
        return Ok(GemmConfig::Sweep);
    }
    // Only its files have this key.
    if let Some(mut groups) = root.object("quant_config")? {
        if variant != GemmVariants::Universal {
            return Err(("quant_config".to_owned(), "only for the variant gemm_quant".to_owned()));
        }
        let [groups_a, groups_b] = ["a_group", "b_group"].map(|key| needed(&mut groups, key, group));
        variant = GemmVariants::Quant(QuantRanges {
            profiles: Vec::new(),
            groups_a: groups_a?,
            groups_b: groups_b?,
        });
        groups.finish()?;
    }
    if let GemmVariants::Preshuffle(permute) = &mut variant {
        *permute = root.optional("permute_n", flag)?.unwrap_or(false);
    }
    // Not part of names; upstream's builder passes it on to the code.
    root.get("k_block_per_cu");
    let missing = |place: &str| (place.to_owned(), "found nothing, expected an object".to_owned());
    let mut tiles = root.object("tile_config")?.ok_or_else(|| missing("tile_config"))?;
    let mut triple = |keys: [&'static str; 3]| -> Result<[Vec<u32>; 3], Fault> {
        let [m, n, k] = keys.map(|key| range(&mut tiles, key));
        Ok([m?, n?, k?])
    };
    let tile = triple(["tile_m", "tile_n", "tile_k"])?;
    let wave = triple(["warp_m", "warp_n", "warp_k"])?;
    let warp_tile = triple(["warp_tile_m", "warp_tile_n", "warp_tile_k"])?;
    tiles.finish()?;
    let mut traits = root.object("trait_config")?.ok_or_else(|| missing("trait_config"))?;
    if let GemmVariants::StreamK(reductions) = &mut variant
        && let Some(listed) = traits.values("reduction_strategy", reduction)?
    {
        *reductions = listed;
    }
    let (pipelines, schedulers) = if let GemmVariants::Quant(quant) = &mut variant {
        quant.profiles = needed(&mut traits, "profile", QuantProfile::read)?;
        (Vec::new(), Vec::new())
    } else {
        (needed(&mut traits, "pipeline", word)?, needed(&mut traits, "scheduler", word)?)
    };
    let ranges = GemmRanges {
        tile,
        wave,
        warp_tile,
        pipelines,
        epilogues: needed(&mut traits, "epilogue", word)?,
        schedulers,
        pad: [
            needed(&mut traits, "pad_m", flag)?,
            needed(&mut traits, "pad_n", flag)?,
            needed(&mut traits, "pad_k", flag)?,
        ],
        persistent: needed(&mut traits, "persistent", flag)?,
        lds,
        variant,
    };
    traits.finish()?;
    Ok(GemmConfig::Ranges(Box::new(ranges)))
}

/// The values of `ck_select.variant`.
#[derive(Clone, Copy)]
enum Family {
    Universal,
    StreamK,
    MultiD,
    Preshuffle,
    Batched,
    Grouped,
}

const FAMILIES: [(&str, Family); 6] = [
    ("gemm_universal", Family::Universal),
    ("gemm_streamk", Family::StreamK),
    ("gemm_multi_d", Family::MultiD),
    ("gemm_preshuffle", Family::Preshuffle),
    ("batched_gemm", Family::Batched),
    ("grouped_gemm", Family::Grouped),
];

/// Elements that share a scale: three numbers joined by `x`.
fn group(value: &serde_json::Value) -> Result<Mnk, String> {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.ok_or_else(|| {
        format!("found {}, expected three numbers joined by 'x', such as 1x1x128", kind(value))
    })
}

/// The reduction of a Stream-K kernel; upstream's word `none` belongs to other kernels.
fn reduction(value: &serde_json::Value) -> Result<StreamKReduction, String> {
    match word(value)? {
        StreamKReduction::None => Err("found 'none', expected one of: tree, linear, atomic".to_owned()),
        reduction => Ok(reduction),
    }
}

fn needed<T>(
    object: &mut Object<'_>,
    key: &'static str,
    read: impl Fn(&serde_json::Value) -> Result<T, String>,
) -> Result<Vec<T>, Fault> {
    let place = object.place_of(key);
    object
        .values(key, read)?
        .ok_or_else(|| (place, "found nothing, expected an object with 'values'".to_owned()))
}

/// `{"min": …, "max": …, "step": …}` with both ends included, or `{"values": […]}`.
fn range(object: &mut Object<'_>, key: &'static str) -> Result<Vec<u32>, Fault> {
    let place = object.place_of(key);
    let Some(mut spec) = object.object(key)? else {
        return Err((place, "found nothing, expected 'values', or 'min', 'max' and 'step'".to_owned()));
    };
    let number = count(1, MAX_VALUE);
    let values = if spec.get("values").is_some() {
        spec.list(&number)?
    } else {
        let mut bound = |key: &'static str| {
            let place = spec.place_of(key);
            match spec.get(key) {
                Some(value) => number(value).map_err(|reason| (place, reason)),
                None => Err((place, "found nothing, expected a whole number".to_owned())),
            }
        };
        let (min, max, step) = (bound("min")?, bound("max")?, bound("step")?);
        if min > max {
            return Err((place, format!("found min {min} above max {max}, expected at most {max}")));
        }
        (min..=max).step_by(step as usize).collect()
    };
    spec.finish()?;
    if values.len() > MAX_VALUES {
        let found = kind(&serde_json::Value::from(values.len()));
        return Err((place, format!("found {found} values, expected at most {MAX_VALUES}")));
    }
    Ok(values)
}
