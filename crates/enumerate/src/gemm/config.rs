//! Configurations of GEMM enumerations.

use ck_select_types::problem::GemmProblem;
use ck_select_types::vocab::{Epilogue, Pipeline, Scheduler};
use serde_json::Value;

use super::variant::{self, GemmVariants, TRAIT_HINTS};
use crate::reader::{Claim, ConfigFile, Fault, Object, count, flag, kind, word};

/// Which GEMM kernels to enumerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GemmConfig {
    /// All combinations of ranges, as in the tile engine.
    Ranges(Box<GemmRanges>),
    /// The machine-learning sweep.
    Sweep,
    /// A family of AITER's.
    Family(String),
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
    /// The kernels' variant: what sets them apart from plain ones.
    pub variant: GemmVariants,
}

/// How much shared memory a tile may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LdsLimit {
    /// All that the architecture has, or half of it for pipelines with two buffers.
    Hardware,
    /// The share of the architecture's shared memory that the rules grant a pipeline.
    Pipeline,
    /// A pipeline's share of 64 KiB on every architecture: upstream's rule before version 1.2.0.
    Flat,
}

/// The highest number of values of one parameter.
const MAX_VALUES: usize = 4096;
/// The largest value of one parameter.
const MAX_VALUE: u32 = 1 << 16;

impl ConfigFile for GemmProblem {
    type Config = GemmConfig;
    const PARAMS: &'static [&'static str] = &["dtype", "layout"];

    fn claim(root: &Value) -> Claim {
        let is_own = || root.get("tile_config").or_else(|| root.pointer("/ck_select/kernels")).is_some();
        if root.get("variant").is_none() && is_own() { Claim::Surely } else { Claim::No }
    }

    fn read_file(mut object: Object<'_>, root: &Value) -> Result<GemmConfig, Fault> {
        let config = read(&mut object, root)?;
        object.finish_with(variant::ROOT_HINTS)?;
        Ok(config)
    }
}

fn read(root: &mut Object<'_>, file: &Value) -> Result<GemmConfig, Fault> {
    let mut ours = root.part("ck_select")?;
    let limits =
        [("hardware", LdsLimit::Hardware), ("pipeline", LdsLimit::Pipeline), ("flat", LdsLimit::Flat)];
    let lds = ours.choice("lds_limit", &limits)?.unwrap_or(LdsLimit::Hardware);
    if ours.is_second("kernels", ["ranges", "ml_sweep"])? {
        return ours.finish().map(|()| GemmConfig::Sweep);
    }
    // Not part of names; upstream's builder passes it on to the code.
    root.get("k_block_per_cu");
    let missing = |key: &str| (key.to_owned(), "found nothing, expected an object".to_owned());
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
    let variant = variant::read(file, &mut ours, root, &mut traits)?;
    ours.finish()?;
    // A profile stands for both.
    let of_profile = variant.profiles.is_some();
    let pipelines = if of_profile { Vec::new() } else { traits.needed_values("pipeline", word)? };
    let epilogues = traits.needed_values("epilogue", word)?;
    let schedulers = if of_profile { Vec::new() } else { traits.needed_values("scheduler", word)? };
    let pad = [
        traits.needed_values("pad_m", flag)?,
        traits.needed_values("pad_n", flag)?,
        traits.needed_values("pad_k", flag)?,
    ];
    let persistent = if variant.may_persist {
        traits.needed_values("persistent", flag)?
    } else {
        // Without effect, as in upstream.
        traits.values("persistent", flag)?;
        vec![false]
    };
    traits.finish_with(TRAIT_HINTS)?;
    let ranges =
        GemmRanges { tile, wave, warp_tile, pipelines, epilogues, schedulers, pad, persistent, lds, variant };
    Ok(GemmConfig::Ranges(Box::new(ranges)))
}

/// `{"min": …, "max": …, "step": …}` with both ends included, or `{"values": […]}`.
fn range(object: &mut Object<'_>, key: &'static str) -> Result<Vec<u32>, Fault> {
    let range_path = object.place_of(key);
    let Some(mut spec) = object.object(key)? else {
        return Err((range_path, "found nothing, expected 'values', or 'min', 'max' and 'step'".to_owned()));
    };
    let number = count(1, MAX_VALUE);
    let values = if spec.get("values").is_some() {
        spec.list(&number)?
    } else {
        let mut bound = |key: &'static str| {
            let path = spec.place_of(key);
            match spec.get(key) {
                Some(value) => number(value).map_err(|reason| (path, reason)),
                None => Err((path, "found nothing, expected a whole number".to_owned())),
            }
        };
        let (min, max, step) = (bound("min")?, bound("max")?, bound("step")?);
        if min > max {
            return Err((range_path, format!("found min {min} above max {max}, expected at most {max}")));
        }
        (min..=max).step_by(step as usize).collect()
    };
    spec.finish()?;
    if values.len() > MAX_VALUES {
        let found = kind(&serde_json::Value::from(values.len()));
        return Err((range_path, format!("found {found} values, expected at most {MAX_VALUES}")));
    }
    Ok(values)
}
