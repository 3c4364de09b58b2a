//! The same figures by kind of problem.

use std::collections::BTreeMap;

use ck_select_types::problem::Problem;

use super::Outcome;
use crate::candidates::Trial;
use crate::figures::Spread;
use crate::judge::Order;
use crate::measurements::Measurements;

/// Efficiencies of one kind of problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// What these problems have in common.
    pub name: String,
    /// Their efficiencies.
    pub efficiency: Spread,
}

/// All slices, without kinds that have no problem.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slices {
    /// By rows of the (implicit) GEMM: below 32 `tiny_m`, 256 `small_m`, 4096 `medium_m`, otherwise
    /// `large_m`.
    pub shape_family: Vec<Slice>,
    /// By depth of the (implicit) GEMM: below 512 `shallow_k`, 4096 `medium_k`, otherwise `deep_k`.
    pub k_regime: Vec<Slice>,
    /// By pipeline, with choice and oracle among the kernels of that pipeline.
    pub pipeline: Vec<Slice>,
    /// By filter extents, such as `3x3`; empty for GEMMs.
    pub filter: Vec<Slice>,
    /// `plain`, `grouped` or `depthwise`; empty for GEMMs.
    pub group_kind: Vec<Slice>,
}

/// The kind of a problem, if it has one.
pub(crate) type KindOf = fn(&Problem) -> Option<String>;

/// Ways to classify problems: a name, and the function that gives a problem's kind.
pub(crate) const KINDS: [(&str, KindOf); 4] = [
    ("rows of the GEMM", |problem| Some(shape_family(gemm_extents(problem).0).to_owned())),
    ("depth of the GEMM", |problem| Some(k_regime(gemm_extents(problem).1).to_owned())),
    ("filter", filter),
    ("groups", group_kind),
];

impl Slices {
    pub(super) fn of(
        measurements: &Measurements,
        trials: &[Trial],
        orders: &[Order],
        outcomes: &[Outcome],
    ) -> Self {
        let by = |(_, kind): (_, KindOf)| {
            let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for outcome in outcomes {
                if let Some(name) = kind(&measurements.problems()[outcome.problem as usize]) {
                    lists.entry(name).or_default().push(outcome.efficiency);
                }
            }
            spreads(lists)
        };
        let [shape_family, k_regime, filter, group_kind] = KINDS.map(by);
        let pipeline = pipelines(measurements, trials, orders);
        Self { shape_family, k_regime, pipeline, filter, group_kind }
    }
}

fn spreads(lists: BTreeMap<String, Vec<f64>>) -> Vec<Slice> {
    lists.into_iter().map(|(name, list)| Slice { name, efficiency: Spread::of(list) }).collect()
}

fn pipelines(measurements: &Measurements, trials: &[Trial], orders: &[Order]) -> Vec<Slice> {
    let words: Vec<&str> = measurements.kernels().iter().map(|kernel| kernel.kind.pipeline()).collect();
    let mut all = words.clone();
    all.sort_unstable();
    all.dedup();
    let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for pipeline in all {
        for (trial, order) in trials.iter().zip(orders) {
            let Some((only, places)) = trial.only(|kernel| words[kernel as usize] == pipeline) else {
                continue;
            };
            let chosen = order.places.iter().find_map(|place| places.iter().position(|kept| kept == place));
            let efficiency = chosen.map_or(0.0, |place| only.efficiency(place));
            lists.entry(pipeline.to_owned()).or_default().push(efficiency);
        }
    }
    spreads(lists)
}

/// Rows and depth of the (implicit) GEMM.
pub(crate) fn gemm_extents(problem: &Problem) -> (i128, i128) {
    match problem {
        Problem::Gemm(problem) => (problem.m.into(), problem.k.into()),
        Problem::Conv(problem) => {
            let product =
                |extents: [i64; 3]| extents.iter().map(|&extent| i128::from(extent)).product::<i128>();
            let rows = i128::from(problem.n) * product(problem.output());
            (rows, i128::from(problem.c / problem.g.max(1)) * product(problem.filter))
        }
        // Of the second product, which sums over keys.
        Problem::Fmha(problem) => {
            let heads = i128::from(problem.batch) * i128::from(problem.nhead_q);
            (heads * i128::from(problem.longest_q()), problem.longest_k().into())
        }
    }
}

pub(crate) const fn shape_family(rows: i128) -> &'static str {
    match rows {
        ..32 => "tiny_m",
        32..256 => "small_m",
        256..4096 => "medium_m",
        _ => "large_m",
    }
}

pub(crate) const fn k_regime(depth: i128) -> &'static str {
    match depth {
        ..512 => "shallow_k",
        512..4096 => "medium_k",
        _ => "deep_k",
    }
}

pub(crate) fn filter(problem: &Problem) -> Option<String> {
    let Problem::Conv(problem) = problem else { return None };
    let words: Vec<String> =
        problem.filter.iter().skip(3 - usize::from(problem.ndim.min(3))).map(i64::to_string).collect();
    Some(words.join("x"))
}

pub(crate) fn group_kind(problem: &Problem) -> Option<String> {
    let Problem::Conv(problem) = problem else { return None };
    let kind = match problem.g {
        1 => "plain",
        g if g == problem.c && g == problem.k => "depthwise",
        _ => "grouped",
    };
    Some(kind.to_owned())
}

#[cfg(test)]
mod tests {
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
}
