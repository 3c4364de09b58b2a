//! Parts of a plan for several machines.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use crate::plan::{Cost, Pair, Plan};

/// One of several parts: `2/4` is the second of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index, count }),
            _ => Err(format!("found '{text}', expected I/N with 1 <= I <= N, such as 2/4")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Shard {
    /// The only part of one.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// This part of a plan. The same plan, costs and batch size always give the same parts.
    ///
    /// All kernels of a problem stay together, so that they are compared on one GPU; problems are split, by
    /// batches, only if there are fewer problems than parts. The most expensive piece goes first, each to the
    /// part with the least work.
    #[must_use]
    pub fn part(&self, plan: &Plan, cost: Cost, batch: usize) -> Plan {
        if self.count == 1 {
            return plan.clone();
        }
        let size = if plan.used_problems() < self.count as usize { batch.max(1) } else { usize::MAX };
        let mut pieces: Vec<(u64, usize, Vec<Pair>)> = Vec::new();
        for (problem, planned) in (0_u32..).zip(plan.problems()) {
            for kernels in planned.kernels.chunks(size) {
                let pairs: Vec<Pair> = kernels.iter().map(|&kernel| Pair { problem, kernel }).collect();
                let seconds: f64 = pairs.iter().map(|&pair| cost.seconds(&plan.problem(pair))).sum();
                // Whole microseconds, so that sums do not depend on the order.
                pieces.push(((seconds * 1e6) as u64, pieces.len(), pairs));
            }
        }
        pieces.sort_by_key(|&(cost, index, _)| (Reverse(cost), index));
        let mut loads = vec![0_u64; self.count as usize];
        let mut mine = HashSet::new();
        for (cost, _, pairs) in pieces {
            let lightest = (0..loads.len()).min_by_key(|&part| loads[part]).unwrap_or_default();
            loads[lightest] = loads[lightest].saturating_add(cost);
            if lightest + 1 == self.index as usize {
                mine.extend(pairs);
            }
        }
        plan.filtered(|pair| mine.contains(&pair))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::plan::plan;

    fn sized(kernels: usize, problems: u64) -> Plan {
        let tiles = [16, 32, 64, 128];
        let name = |i: usize| {
            format!("grouped_conv_forward_bf16_2d_{}x{}x64_compv3\n", tiles[i % 4], tiles[i / 4 % 4])
        };
        let pool: String = (0..kernels).map(name).collect();
        let mut text = String::from("C,K,Hi,Wi,Y,X\n");
        for i in 0..problems {
            writeln!(text, "64,64,{},{},1,1", 1 + i * i % 97 * 7, 1 + i).unwrap();
        }
        plan(&pool, &text)
    }

    const COST: Cost = Cost { runs: 10 };

    #[test]
    fn parts_are_disjoint_whole_and_balanced() {
        for (kernels, problems, count) in [(16, 50, 4), (16, 50, 7), (16, 2, 5), (3, 1, 4)] {
            let plan = sized(kernels, problems);
            let parts: Vec<Plan> =
                (1..=count).map(|index| Shard { index, count }.part(&plan, COST, 4)).collect();
            let mut pairs: Vec<Pair> = parts.iter().flat_map(Plan::pairs).collect();
            pairs.sort();
            assert!(pairs.iter().copied().eq(plan.pairs()), "{kernels} {problems} {count}");
            if problems > 10 {
                let seconds =
                    |part: &Plan| -> f64 { part.pairs().map(|pair| COST.seconds(&part.problem(pair))).sum() };
                let loads: Vec<f64> = parts.iter().map(seconds).collect();
                let (most, least) = (
                    loads.iter().copied().fold(0.0, f64::max),
                    loads.iter().copied().fold(f64::MAX, f64::min),
                );
                assert!(most < 1.25 * least, "{loads:?}");
                let whole =
                    |part: &Plan| part.problems().iter().all(|p| [0, kernels].contains(&p.kernels.len()));
                assert!(parts.iter().all(whole), "a problem's kernels stay together");
            }
        }
    }

    #[test]
    fn texts_are_parts() {
        assert_eq!("2/4".parse::<Shard>().unwrap().to_string(), "2/4");
        for bad in ["", "0/4", "5/4", "1", "1/0", "a/b", "-1/4", "1/2/3"] {
            let error = bad.parse::<Shard>().unwrap_err();
            assert_eq!(error, format!("found '{bad}', expected I/N with 1 <= I <= N, such as 2/4"));
        }
    }
}
