//! The number of splits, which only attention needs.

use super::shared::Registry;
use crate::problem::{FmhaProblem, Problem};
use crate::vocab::FmhaApi;

impl Registry {
    /// The number of splits, a power of two up to `most`, for which the fastest kernels of both stages
    /// together take the least time by the estimate. 1 if there is no estimate, or if a stage has no kernel.
    pub fn fmha_splits(&self, problem: &FmhaProblem, most: i64) -> i64 {
        let time = |num_splits: i64| -> Option<f64> {
            let split = FmhaProblem { api_family: FmhaApi::FwdSplitkv, num_splits, ..*problem };
            let stages = FmhaApi::FwdSplitkv.stages().iter();
            let times = stages.map(|&family| self.estimated_time(&Problem::Fmha(split.stage(family))));
            times.sum()
        };
        let powers = (0..62).map(|power| 1_i64 << power).take_while(|&splits| splits <= most.max(1));
        let timed = powers.filter_map(|splits| Some((splits, time(splits)?)));
        let best = timed.reduce(|best, other| if other.1 < best.1 { other } else { best });
        best.map_or(1, |(splits, _)| splits)
    }
}
