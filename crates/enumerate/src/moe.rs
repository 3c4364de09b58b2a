//! Mixtures of experts: the configurations that vLLM's and SGLang's tuners try.
//!
//! ```json
//! {"triton_moe": {"dtype": {"values": ["bf16"]}, "BLOCK_SIZE_M": {"values": [16, 32, 64]}, …}}
//! ```
//!
//! Keys are those of their files, of which AMD's three may be missing. All combinations are kernels but those
//! that a compute unit's shared memory cannot hold, and those with more results than a thread has registers.

mod family;
pub(crate) mod rules;

use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::{Kernel, KernelKind, Mnk, MoeKernel};
use ck_select_types::problem::MoeProblem;
use ck_select_types::vocab::{Arch, Dtype, MoeStage};
use serde_json::Value;

use crate::buildable::Buildable;
use crate::error::EnumerateError;
use crate::filter::OperationFilter;
use crate::kernels::{Expansion, Kernels};
use crate::reader::{Claim, ConfigFile, Fault, Object, count, word};
use crate::request::Request;
use crate::rules::Rules;
use crate::shapes::Choice;
use crate::shapes::drawn::{Draw, OperationShapes, Random};

/// The key of a configuration.
const KEY: &str = "triton_moe";

/// The numbers of a configuration, with the least and the largest: those that a file needs, then AMD's.
const NUMBERS: [(&str, [u32; 2]); 9] = [
    ("BLOCK_SIZE_M", [1, 65_535]),
    ("BLOCK_SIZE_N", [1, 65_535]),
    ("BLOCK_SIZE_K", [1, 65_535]),
    ("GROUP_SIZE_M", [1, 65_535]),
    ("num_warps", [1, 255]),
    ("num_stages", [1, 255]),
    ("waves_per_eu", [0, 16]),
    ("matrix_instr_nonkdim", [0, 64]),
    ("kpack", [1, 16]),
];

/// The most results of a thread.
const MOST_RESULTS: u32 = 256;

/// Which kernels of mixtures of experts to enumerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoeConfig {
    /// All combinations of a file.
    Sweep(Box<MoeSweep>),
    /// The family `moe`.
    Family,
}

/// A sweep: types of rows and weights, and the values of each number of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoeSweep {
    types: Vec<[Dtype; 2]>,
    numbers: [Vec<u32>; NUMBERS.len()],
}

impl ConfigFile for MoeProblem {
    type Config = MoeConfig;

    fn claim(root: &Value) -> Claim {
        if root.get(KEY).is_some() { Claim::Surely } else { Claim::No }
    }

    fn read_file(mut object: Object<'_>, _root: &Value) -> Result<MoeConfig, Fault> {
        let mut config = object.part(KEY)?;
        let dtypes: Vec<Dtype> = config.needed_values("dtype", word)?;
        let mut numbers = <[Vec<u32>; NUMBERS.len()]>::default();
        for (at, (values, (name, [least, most]))) in numbers.iter_mut().zip(NUMBERS).enumerate() {
            *values = if at < 6 {
                config.needed_values(name, count(least, most))?
            } else {
                config.values(name, count(least, most))?.unwrap_or_else(|| vec![least])
            };
        }
        config.finish()?;
        object.finish()?;
        let types = dtypes.into_iter().map(|dtype| [dtype; 2]).collect();
        Ok(MoeConfig::Sweep(Box::new(MoeSweep { types, numbers })))
    }
}

impl Expansion for MoeProblem {
    fn expand(rules: &Rules, config: &MoeConfig, arch: Arch, _: &Request) -> Result<Kernels, EnumerateError> {
        let unit = ComputeUnit::new(rules, arch)?;
        let sweeps = match config {
            MoeConfig::Sweep(sweep) => vec![MoeSweep::clone(sweep)],
            MoeConfig::Family => rules.moe.sweeps(arch)?,
        };
        let mut kernels = Kernels::default();
        for MoeSweep { types, numbers } in &sweeps {
            for &types in types {
                each_choice(numbers, &mut [0; NUMBERS.len()], 0, &mut |numbers| {
                    let kernel = kernel(types, numbers, arch);
                    if let Some(reason) = unit.refusal(&kernel) {
                        kernels.refuse(reason);
                        return Ok(());
                    }
                    kernels.push(Kernel { name: kernel.name(), kind: KernelKind::Moe(kernel) })
                })?;
            }
        }
        Ok(kernels)
    }
}

/// Passes on each choice of one value of each list, the last list changing fastest.
fn each_choice(
    lists: &[Vec<u32>; 9],
    chosen: &mut [u32; 9],
    at: usize,
    each: &mut dyn FnMut(&[u32; 9]) -> Result<(), EnumerateError>,
) -> Result<(), EnumerateError> {
    let Some(list) = lists.get(at) else { return each(chosen) };
    for &value in list {
        chosen[at] = value;
        each_choice(lists, chosen, at + 1, each)?;
    }
    Ok(())
}

fn kernel([dtype_a, dtype_b]: [Dtype; 2], numbers: &[u32; 9], arch: Arch) -> MoeKernel {
    let &[m, n, k, group, warps, stages, waves, nonkdim, kpack] = numbers;
    MoeKernel {
        dtype_a,
        dtype_b,
        tile: Mnk::new(m, n, k),
        group_m: group as u16,
        wave: [warps as u8, 1],
        stages: stages as u8,
        waves_per_eu: waves as u8,
        nonkdim: nonkdim as u8,
        // No name says 1.
        kpack: if kpack == 1 { 0 } else { kpack as u8 },
        arch: Some(arch),
        ..MoeKernel::USUAL
    }
}

/// The limits of a workgroup.
struct ComputeUnit {
    lds_bytes: u64,
    wave: u64,
    is_amd: bool,
}

impl ComputeUnit {
    /// The limits by the profile of an architecture, else by the rules.
    fn new(rules: &Rules, arch: Arch) -> Result<Self, EnumerateError> {
        let is_amd = arch.as_str().starts_with("gfx");
        if let Some(profile) = Hardware::for_arch(&arch) {
            let [lds_bytes, wave] = [profile.lds_capacity, profile.wavefront_size].map(i64::unsigned_abs);
            return Ok(Self { lds_bytes, wave, is_amd });
        }
        let table = rules.table(arch)?;
        Ok(Self { lds_bytes: table.lds_bytes, wave: table.warp_size.into(), is_amd })
    }

    fn refusal(&self, kernel: &MoeKernel) -> Option<&'static str> {
        let Mnk { m, n, k } = kernel.tile;
        let bits = u64::from(m + n) * u64::from(k) * u64::from(kernel.dtype_a.bits());
        // AMD's kernels hold one stage fewer in shared memory than they have.
        let held = if self.is_amd { kernel.stages.max(2) - 1 } else { kernel.stages };
        if bits / 8 * u64::from(held) > self.lds_bytes {
            return Some("more shared memory than a compute unit has");
        }
        let threads = u64::from(kernel.waves()) * self.wave;
        let is_large = u64::from(m) * u64::from(n) > u64::from(MOST_RESULTS) * threads;
        is_large.then_some("more than 256 results a thread")
    }
}

impl Buildable for MoeKernel {}

impl OperationFilter for MoeProblem {}

impl OperationShapes for MoeProblem {
    /// A stage of a language model with experts, on one to eight devices.
    fn draw(_: &Draw, choice: &Choice, _: usize, random: &mut Random) -> Self {
        let experts = [8, 16, 32, 64, 128, 160, 256, 384][random.below(8)];
        let topk = [1, 2, 4, 6, 8, 8][random.below(6)].min(experts);
        let hidden = 256 * (4 + random.below(25) as i64);
        let devices = 1 << random.below(4);
        let inter = 64 * (4 + random.below(220) as i64) / devices;
        let tokens = 1 << random.below(13);
        let [stage, n, k] = [[1, 2 * inter, hidden], [2, hidden, inter]][random.below(2)];
        let stage = if stage == 1 { MoeStage::One } else { MoeStage::Two };
        Self {
            dtype_a: choice.dtype,
            dtype_b: choice.dtype,
            ..Self::new(stage, tokens, [experts, topk], [n, k])
        }
    }
}
