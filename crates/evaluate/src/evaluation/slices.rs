//! The figures of an evaluation by kind of problem.

use std::collections::{BTreeMap, BTreeSet};

use ck_select_types::problem::Problem;

use super::{Outcome, conv};
use crate::candidates::Trial;
use crate::judge::Order;
use ck_select_measurements::Measurements;
use ck_select_measurements::figures::Spread;

/// Efficiencies of one kind of problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// The property that the slice's problems have in common.
    pub name: String,
    /// The efficiencies of the slice's problems.
    pub efficiency: Spread,
}

/// Slices by one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceGroup {
    /// The kind in words, as a page's heading has it.
    pub title: &'static str,
    /// The kind in one word, for lines of a table.
    pub word: &'static str,
    /// The key in JSON, which is upstream's if upstream has it.
    pub key: &'static str,
    /// The slices; empty if the operation does not have this kind.
    pub slices: Vec<Slice>,
}

/// A way to classify problems: title, word and key as in [`SliceGroup`], and a problem's class, if it has
/// one.
type Kind = (&'static str, &'static str, &'static str, fn(&Problem) -> Option<String>);

/// All ways to classify problems.
const KINDS: [Kind; 7] = [
    ("rows of the GEMM", "family", "shape_family_metrics", |problem| {
        Some(shape_family(problem.gemm_extents()[0]).to_owned())
    }),
    ("depth of the GEMM", "depth", "k_regime_metrics", |problem| {
        Some(k_regime(problem.gemm_extents()[1]).to_owned())
    }),
    ("layout", "layout", "layout_metrics", layout),
    ("filter", "filter", "filter_metrics", conv::filter),
    ("stride", "stride", "stride_metrics", conv::stride),
    ("channels of a group", "channels", "channels_metrics", conv::channels),
    ("groups", "groups", "group_kind_metrics", conv::group_kind),
];

/// All slices. The last are those by pipeline, with choice and oracle among the kernels of that pipeline.
pub(super) fn slices(
    measurements: &Measurements,
    trials: &[Trial],
    orders: &[Order],
    outcomes: &[Outcome],
) -> Vec<SliceGroup> {
    let by = |(title, word, key, of): Kind| {
        let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for outcome in outcomes {
            if let Some(name) = of(&measurements.problems()[outcome.problem as usize]) {
                lists.entry(name).or_default().push(outcome.efficiency);
            }
        }
        SliceGroup { title, word, key, slices: spreads(lists) }
    };
    let pipelines = SliceGroup {
        title: "pipeline, among its own kernels",
        word: "pipeline",
        key: "pipeline_metrics",
        slices: pipelines(measurements, trials, orders),
    };
    KINDS.into_iter().map(by).chain([pipelines]).collect()
}

/// The slices by name, in the order of numbers where names begin with one.
fn spreads(lists: BTreeMap<String, Vec<f64>>) -> Vec<Slice> {
    let slice = |(name, list)| Slice { name, efficiency: Spread::new(list) };
    let mut slices: Vec<Slice> = lists.into_iter().map(slice).collect();
    slices.sort_by_key(|slice| leading_number(&slice.name));
    slices
}

fn leading_number(name: &str) -> Option<u64> {
    name.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn pipelines(measurements: &Measurements, trials: &[Trial], orders: &[Order]) -> Vec<Slice> {
    let words: Vec<_> = measurements.kernels().iter().map(|kernel| kernel.kind.pipeline()).collect();
    let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for pipeline in words.iter().copied().flatten().collect::<BTreeSet<&str>>() {
        for (trial, order) in trials.iter().zip(orders) {
            let Some((only, places)) = trial.only(|kernel| words[kernel as usize] == Some(pipeline)) else {
                continue;
            };
            let chosen =
                order.places.iter().find_map(|candidate| places.iter().position(|kept| kept == candidate));
            let efficiency = chosen.map_or(0.0, |candidate| only.efficiency(candidate));
            lists.entry(pipeline.to_owned()).or_default().push(efficiency);
        }
    }
    spreads(lists)
}

const fn shape_family(rows: i128) -> &'static str {
    match rows {
        ..32 => "tiny_m",
        32..256 => "small_m",
        256..4096 => "medium_m",
        _ => "large_m",
    }
}

const fn k_regime(depth: i128) -> &'static str {
    match depth {
        ..512 => "shallow_k",
        512..4096 => "medium_k",
        _ => "deep_k",
    }
}

fn layout(problem: &Problem) -> Option<String> {
    Some(problem.cell("layout")).filter(|layout| !layout.is_empty())
}

#[cfg(test)]
mod tests {
    use ck_select_types::problem::{ConvProblem, GemmProblem};

    use super::*;

    #[test]
    fn families_have_upstreams_bounds() {
        let families = [1, 16, 31, 32, 128, 255, 256, 2048, 4095, 4096, 20480].map(shape_family);
        let (tiny, small, medium, large) = ("tiny_m", "small_m", "medium_m", "large_m");
        assert_eq!(families, [tiny, tiny, tiny, small, small, small, medium, medium, medium, large, large]);
        let regimes = [32, 256, 511, 512, 2048, 4095, 4096, 7168].map(k_regime);
        let (shallow, medium, deep) = ("shallow_k", "medium_k", "deep_k");
        assert_eq!(regimes, [shallow, shallow, shallow, medium, medium, medium, deep, deep]);
    }

    #[test]
    fn a_convolution_has_a_class_of_every_kind_and_a_gemm_its_layout() {
        let conv =
            ConvProblem { c: 256, k: 64, g: 4, stride: [1, 2, 1], ..ConvProblem::new_2d([28, 28], [3, 1]) };
        let found = KINDS.map(|kind| (kind.3)(&conv.into()).unwrap());
        assert_eq!(found[2..], ["nhwgc", "3x1", "2x1", "64 to 255", "grouped"]);
        let gemm = KINDS.map(|kind| (kind.3)(&GemmProblem::new(8, 16, 32).into()));
        assert_eq!(gemm.iter().flatten().collect::<Vec<_>>(), ["tiny_m", "shallow_k", "rcr"]);
    }

    #[test]
    fn numbers_are_in_their_order() {
        let lists = ["14x14", "1x1", "3x3", "b", "a"].map(|name| (name.to_owned(), vec![1.0]));
        let names: Vec<String> = spreads(lists.into()).into_iter().map(|slice| slice.name).collect();
        assert_eq!(names, ["a", "b", "1x1", "3x3", "14x14"]);
    }
}
