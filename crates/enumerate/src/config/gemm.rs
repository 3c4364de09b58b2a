//! Configurations of GEMM enumerations.

use ck_select_types::vocab::{Epilogue, Pipeline, Scheduler};

use super::reader::{Fault, Object, count, flag, kind, word};

/// What GEMM kernels are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GemmConfig {
    /// All combinations of ranges, as the tile engine's.
    Ranges(Box<GemmRanges>),
    /// The kernels of the machine-learning sweep.
    Sweep,
}

/// Values by parameter. Triples are along m, n, k.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmRanges {
    /// Extents of the result tile, and the depth of one step.
    pub tile: [Vec<u32>; 3],
    /// Waves of a workgroup (`warp_*`).
    pub wave: [Vec<u32>; 3],
    /// Extents of one matrix instruction.
    pub warp_tile: [Vec<u32>; 3],
    /// How loads overlap with arithmetic.
    pub pipelines: Vec<Pipeline>,
    /// How results leave the registers.
    pub epilogues: Vec<Epilogue>,
    /// How waves are interleaved.
    pub schedulers: Vec<Scheduler>,
    /// Whether m, n, k are padded.
    pub pad: [Vec<bool>; 3],
    /// Whether workgroups stay resident.
    pub persistent: Vec<bool>,
    /// How much shared memory a tile may take.
    pub lds: LdsLimit,
}

/// How much shared memory a tile may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LdsLimit {
    /// What the architecture has, half of it for pipelines with two buffers.
    Hardware,
    /// A fixed limit by pipeline, whatever the architecture has.
    Pipeline,
}

/// Most values of one parameter.
const MAX_VALUES: usize = 4096;
/// Largest value of one parameter.
const MAX_VALUE: u32 = 1 << 16;

pub(super) fn read(root: &mut Object<'_>) -> Result<GemmConfig, Fault> {
    let mut lds = LdsLimit::Hardware;
    let mut sweep = false;
    if let Some(mut ours) = root.object("ck_select")? {
        let limits = [("hardware", LdsLimit::Hardware), ("pipeline", LdsLimit::Pipeline)];
        lds = ours.choice("lds_limit", &limits)?.unwrap_or(lds);
        sweep = ours.choice("kernels", &[("ranges", false), ("ml_sweep", true)])?.unwrap_or(sweep);
        ours.finish()?;
    }
    if sweep {
        return Ok(GemmConfig::Sweep);
    }
    // It is no part of a name, and upstream's builder passes it on to the code.
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
    let ranges = GemmRanges {
        tile,
        wave,
        warp_tile,
        pipelines: needed(&mut traits, "pipeline", word)?,
        epilogues: needed(&mut traits, "epilogue", word)?,
        schedulers: needed(&mut traits, "scheduler", word)?,
        pad: [
            needed(&mut traits, "pad_m", flag)?,
            needed(&mut traits, "pad_n", flag)?,
            needed(&mut traits, "pad_k", flag)?,
        ],
        persistent: needed(&mut traits, "persistent", flag)?,
        lds,
    };
    traits.finish()?;
    Ok(GemmConfig::Ranges(Box::new(ranges)))
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

/// `{"min": …, "max": …, "step": …}` with both ends, or `{"values": […]}`.
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
