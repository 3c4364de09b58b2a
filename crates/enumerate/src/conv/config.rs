//! Configurations of grouped-convolution sweeps.

use ck_select_types::problem::ConvProblem;
use ck_select_types::vocab::{Direction, Dtype, Pipeline, Scheduler};
use serde_json::Value;

use super::instances::{self, Instances};
use crate::reader::{Claim, ConfigFile, Fault, Object, count, flag, word};

/// Which convolution kernels to enumerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConvConfig {
    /// A sweep.
    Sweep(Box<ConvSweep>),
    /// A list.
    Instances(Instances),
}

/// A sweep: allow-lists by trait. `None` means the rules' default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvSweep {
    /// The direction of all kernels (`variant`).
    pub direction: Direction,
    /// Element types; by default those of the architecture.
    pub dtypes: Option<Vec<Dtype>>,
    /// Spatial dimensions; by default 2.
    pub ndims: Option<Vec<u8>>,
    /// Pipelines; by default those of the direction.
    pub pipelines: Option<Vec<Pipeline>>,
    /// Schedulers; by default all.
    pub schedulers: Option<Vec<Scheduler>>,
    /// Convolution groups per workgroup; by default 1.
    pub num_groups_to_merge: Option<Vec<u32>>,
    /// Whether to use two buffers in shared memory; by default no.
    pub double_smem_buffer: Option<Vec<bool>>,
    /// Whether to split images; by default no.
    pub split_image: Option<Vec<bool>>,
    /// Whether to run as a plain GEMM; by default no. The flag is not part of names, so if both values are
    /// listed, only the kernels of the first remain.
    pub explicit_gemm: Option<Vec<bool>>,
    /// Whether to convert in a second launch; by default both for backward weight.
    pub two_stage: Option<Vec<bool>>,
    /// Whether pipelines, schedulers, `_dsb` and `_si` come from the rules' pool of legal suffixes, which
    /// lists can only narrow, and are not every combination of the lists, as in upstream's sweep.
    pub suffix_pool: bool,
    /// Whether `compv4` is built for all tiles, not only for those that the rules mark.
    pub all_compv4: bool,
    /// Whether names have no `_intrawave`, as before schedulers became part of names.
    pub without_intrawave: bool,
}

/// Advice for wrong keys that are frequent in `trait_config`.
const TRAIT_HINTS: &[(&str, &str)] = &[
    ("dtype", "the key for types is 'data_type'"),
    ("datatype", "the key for types is 'data_type'"),
    ("ndim", "the key for dimensions is 'ndim_spatial'"),
];

/// Keys of instance lists, which have no meaning in a sweep.
const ROOT_HINTS: &[(&str, &str)] = &[
    ("datatype", "types of a sweep are 'trait_config.data_type'"),
    ("ndim_spatial", "dimensions of a sweep are 'trait_config.ndim_spatial'"),
    ("layout", "every kernel of a sweep has the layout of the rules"),
];

impl ConfigFile for ConvProblem {
    type Config = ConvConfig;
    const PARAMS: &'static [&'static str] = &["ndim"];

    fn claim(root: &Value) -> Claim {
        if root.get("variant").is_some() { Claim::Perhaps } else { Claim::No }
    }

    fn read_file(mut object: Object<'_>, root: &Value) -> Result<ConvConfig, Fault> {
        if root.get("instances").is_some() {
            let config = instances::read(&mut object)?;
            object.finish()?;
            return Ok(ConvConfig::Instances(config));
        }
        let config = read(&mut object)?;
        object.finish_with(ROOT_HINTS)?;
        Ok(ConvConfig::Sweep(Box::new(config)))
    }
}

fn read(root: &mut Object<'_>) -> Result<ConvSweep, Fault> {
    let direction = root.needed("variant", "forward, bwd_data or bwd_weight", word)?;
    let mut traits = root.part("trait_config")?;
    let mut ours = root.part("ck_select")?;
    let config = ConvSweep {
        direction,
        dtypes: traits.values("data_type", word)?,
        ndims: traits.values("ndim_spatial", |value| count(1, 3)(value).map(|ndim| ndim as u8))?,
        pipelines: traits.values("pipeline", word)?,
        schedulers: schedulers(&mut traits)?,
        num_groups_to_merge: traits.values("num_groups_to_merge", count(1, 1 << 20))?,
        double_smem_buffer: traits.values("double_smem_buffer", flag)?,
        split_image: traits.values("split_image", flag)?,
        explicit_gemm: traits.values("explicit_gemm", flag)?,
        two_stage: traits.values("two_stage", flag)?,
        suffix_pool: ours.is_second("traits", ["product", "suffix_pool"])?,
        all_compv4: ours.is_second("compv4_tiles", ["marked", "all"])?,
        without_intrawave: ours.is_second("names", ["full", "without_intrawave"])?,
    };
    traits.finish_with(TRAIT_HINTS)?;
    ours.finish()?;
    Ok(config)
}

/// The schedulers, also as upstream's README spells the key.
fn schedulers(traits: &mut Object<'_>) -> Result<Option<Vec<Scheduler>>, Fault> {
    let schedulers = traits.values("scheduler", word)?;
    let wave_modes = traits.values("wave_mode", word)?;
    if schedulers.is_some() && wave_modes.is_some() {
        let reason = "found 'scheduler' and 'wave_mode', which are the same, expected one of them";
        return Err((traits.place_of("wave_mode"), reason.to_owned()));
    }
    Ok(schedulers.or(wave_modes))
}
