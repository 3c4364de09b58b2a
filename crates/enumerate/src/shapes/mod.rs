//! Problems worth measuring: upstream's generators, synthetic sets, layers of real networks, attention of
//! real models, and lists from elsewhere.

mod conv;
pub mod driver;
mod fmha;
mod fmha_sets;
mod gemm;
mod grid;
mod networks;
mod random;
mod strata;
mod validation;
mod write;

use ck_select_types::nearest::Hint;
use ck_select_types::problem::{GemmProblem, Problem};
use ck_select_types::vocab::{Direction, Dtype, Op};

pub use strata::{Stratum, dense, stratified};
pub use validation::{Draw, validation};
pub use write::{write_csv, write_json};

/// A set of problems that can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// GEMMs over all regimes of M, N and K, 706 of them.
    Wide,
    /// GEMMs with extents of 1 and near it, 546 of them.
    Edge,
    /// The 25 GEMMs of `generate_benchmark_data`.
    Benchmark,
    /// GEMMs of the heuristic's sweep.
    Sweep,
    /// Convolutions over all regimes, on a coarse grid.
    ConvWide,
    /// Convolutions with extents of 1 and next to the sides of tiles.
    ConvEdge,
    /// Synthetic convolutions.
    Synthetic,
    /// 300 drawn convolutions.
    Holdout,
    /// Layers of `ResNet`-50.
    Resnet50,
    /// Layers of `MobileNetV2`.
    Mobilenetv2,
    /// Layers of a U-Net.
    Unet,
    /// Layers of `ConvNeXt`-T.
    Convnext,
    /// Patch embeddings of vision transformers.
    VitPatch,
    /// All networks together.
    Networks,
    /// Attention of language, image and diffusion models.
    Attention,
    /// Forward attention of upstream's test matrix: its smoke tests.
    FmhaSmoke,
    /// The additional problems of its full tests.
    FmhaFull,
    /// Its backward tests.
    FmhaBwd,
}

impl Set {
    /// All sets with their names and descriptions.
    pub const ALL: [(Self, &'static str, &'static str); 18] = [
        (Self::Wide, "wide", "706 GEMMs over all regimes of M, N and K"),
        (Self::Edge, "edge", "546 GEMMs with extents of 1 and near it"),
        (Self::Benchmark, "benchmark", "the 25 GEMMs of upstream's generate_benchmark_data"),
        (Self::Sweep, "sweep", "3,167 GEMMs of upstream's heuristic sweep; --count takes evenly spaced ones"),
        (
            Self::ConvWide,
            "conv-wide",
            "convolutions over all regimes: channels, maps, filters, strides, groups",
        ),
        (
            Self::ConvEdge,
            "conv-edge",
            "convolutions at the edge: 1 and beside the sides of tiles, filters and pads",
        ),
        (
            Self::Synthetic,
            "synthetic",
            "convolutions: sizes, channels, batches, groups, depthwise, strides, filters",
        ),
        (Self::Holdout, "holdout", "300 drawn convolutions, of which --ndim 3 makes 50 three-dimensional"),
        (Self::Resnet50, "resnet50", "convolutions of ResNet-50, 224 x 224"),
        (Self::Mobilenetv2, "mobilenetv2", "convolutions of MobileNetV2, 224 x 224"),
        (Self::Unet, "unet", "convolutions of UNet, 572 x 572"),
        (Self::Convnext, "convnext", "convolutions of ConvNeXt-T, 224 x 224"),
        (Self::VitPatch, "vit-patch", "patch embeddings of ViT-B/L/H at 224 and 384"),
        (Self::Networks, "networks", "all five networks"),
        (
            Self::Attention,
            "attention",
            "attention of Llama 3, Qwen 2.5 and 3, DeepSeek V3, ViT, Stable Diffusion, FLUX",
        ),
        (
            Self::FmhaSmoke,
            "fmha-smoke",
            "forward attention of upstream's smoke tests, of the types that these have",
        ),
        (Self::FmhaFull, "fmha-full", "what upstream's full tests have besides"),
        (Self::FmhaBwd, "fmha-bwd", "backward attention of upstream's smoke and full tests"),
    ];

    /// The operation of its problems.
    pub const fn op(self) -> Op {
        match self {
            Self::Wide | Self::Edge | Self::Benchmark | Self::Sweep => Op::Gemm,
            Self::Attention | Self::FmhaSmoke | Self::FmhaFull | Self::FmhaBwd => Op::Fmha,
            _ => Op::GroupedConv,
        }
    }

    /// Whether its problems have the batch sizes that were chosen.
    pub const fn has_batches(self) -> bool {
        use Set::{Attention, Convnext, Mobilenetv2, Networks, Resnet50, Unet, VitPatch};
        matches!(self, Attention | Convnext | Mobilenetv2 | Networks | Resnet50 | Unet | VitPatch)
    }
}

/// A set by one of its names: ours, or one of upstream's, which also says direction and dimensions. Upstream's
/// own problems are not included; the set has problems of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// The set.
    pub set: Set,
    /// What upstream's name says: direction and dimensions.
    pub upstream: Option<(Direction, u8)>,
}

impl Named {
    /// Upstream's names, the last as its README has it.
    pub const UPSTREAM: [Self; 10] = [
        Self::of_upstream("forward_2d", Set::Synthetic, Direction::Forward, 2),
        Self::of_upstream("forward_3d", Set::Synthetic, Direction::Forward, 3),
        Self::of_upstream("bwd_data_2d", Set::Synthetic, Direction::BwdData, 2),
        Self::of_upstream("bwd_data_3d", Set::Synthetic, Direction::BwdData, 3),
        Self::of_upstream("bwd_weight_2d", Set::Synthetic, Direction::BwdWeight, 2),
        Self::of_upstream("bwd_weight_3d", Set::Synthetic, Direction::BwdWeight, 3),
        Self::of_upstream("validation_holdout", Set::Holdout, Direction::Forward, 3),
        Self::of_upstream("bwd_data_test_validation", Set::Holdout, Direction::BwdData, 3),
        Self::of_upstream("bwd_weight_test_validation", Set::Holdout, Direction::BwdWeight, 3),
        Self::of_upstream("forward_2d_test_validation", Set::Holdout, Direction::Forward, 2),
    ];

    const fn of_upstream(name: &'static str, set: Set, direction: Direction, ndim: u8) -> Self {
        Self { name, set, upstream: Some((direction, ndim)) }
    }
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let ours = Set::ALL.iter().map(|&(set, name, _)| Self { name, set, upstream: None });
        let mut all = ours.chain(Self::UPSTREAM);
        all.clone().find(|named| named.name == word).ok_or_else(|| {
            let hint = Hint::new(word, all.clone().map(|named| named.name));
            let names: Vec<&str> = all.by_ref().map(|named| named.name).collect();
            format!("unknown set '{word}', expected one of: {}{hint}", names.join(", "))
        })
    }
}

impl Set {
    /// The name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(set, ..)| *set == self).map_or("", |(_, name, _)| name)
    }
}

/// Properties that the sets leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Direction of convolutions.
    pub direction: Direction,
    /// Element type of all operands.
    pub dtype: Dtype,
    /// Whether that type is only a default: sets with types of their own then keep all of them.
    pub any_dtype: bool,
    /// Spatial dimensions of convolutions outside of networks: 2 or 3.
    pub ndim: u8,
    /// Seed of drawn problems.
    pub seed: u64,
    /// Batches of a network's layers.
    pub batches: Vec<i64>,
}

impl Choice {
    /// Forward bf16 in two dimensions; networks with batches of 1, 8 and 32.
    pub fn new(dtype: Dtype) -> Self {
        Self {
            direction: Direction::Forward,
            dtype,
            any_dtype: false,
            ndim: 2,
            seed: 42,
            batches: vec![1, 8, 32],
        }
    }
}

/// The problems of a set, in its order, each once.
pub fn generate(set: Set, choice: &Choice) -> Vec<Problem> {
    let gemms = |shapes: Vec<[i64; 3]>| -> Vec<Problem> {
        shapes.into_iter().map(|[m, n, k]| GemmProblem::new(m, n, k).of(choice.dtype).into()).collect()
    };
    let layers = |networks: &[networks::Network]| networks::problems(networks, choice);
    let all = [
        networks::resnet50 as networks::Network,
        networks::mobilenetv2,
        networks::unet,
        networks::convnext,
        networks::vit_patch,
    ];
    match set {
        Set::Wide => gemms(gemm::wide()),
        Set::Edge => gemms(gemm::edge()),
        Set::Benchmark => gemms(gemm::benchmark()),
        Set::Sweep => gemms(gemm::sweep()),
        Set::ConvWide => grid::WIDE.problems(choice),
        Set::ConvEdge => grid::edge(choice),
        Set::Synthetic => conv::synthetic(choice),
        Set::Holdout => {
            let three_d = choice.ndim == 3;
            let draw = Draw { count: 300, seed: choice.seed, three_d, any_channels: false, most_gflop: None };
            validation(Op::GroupedConv, choice, &draw, &[])
        }
        Set::Resnet50 => layers(&all[..1]),
        Set::Mobilenetv2 => layers(&all[1..2]),
        Set::Unet => layers(&all[2..3]),
        Set::Convnext => layers(&all[3..4]),
        Set::VitPatch => layers(&all[4..]),
        Set::Networks => layers(&all),
        Set::Attention => fmha::models(choice),
        Set::FmhaSmoke => fmha_sets::smoke(choice),
        Set::FmhaFull => fmha_sets::full(choice),
        Set::FmhaBwd => fmha_sets::backward(choice),
    }
}

/// `count` evenly spaced problems, as in upstream's sweep: the one at `floor(i * len / count)`.
pub fn evenly<T: Copy>(problems: &[T], count: usize) -> Vec<T> {
    if problems.len() <= count {
        return problems.to_vec();
    }
    let step = problems.len() as f64 / count as f64;
    (0..count).map(|index| problems[(index as f64 * step) as usize]).collect()
}

/// Keeps the first of equal values.
fn distinct<T: Eq + std::hash::Hash + Copy>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    values.into_iter().filter(|value| seen.insert(*value)).collect()
}
