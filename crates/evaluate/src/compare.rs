//! Two rankings side by side: is the new one as good as the old?

use crate::evaluation::Outcome;
use ck_select_measurements::figures::Spread;

/// How far a new ranking may fall behind. All are shares of the oracle's speed: 0.005 is half a percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// How far the mean efficiency may fall behind.
    pub mean: f64,
    /// How far the median may fall behind.
    pub median: f64,
    /// How far the tenth percentile may fall behind.
    pub p10: f64,
    /// How far the efficiency of any single problem may fall behind.
    pub worst: f64,
}

impl Limits {
    /// Upstream's acceptance criteria.
    pub const UPSTREAM: Self = Self { mean: 0.005, median: 0.005, p10: 0.02, worst: 0.1 };
}

/// A figure of both rankings, and whether the new one is good enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    /// The figure's name.
    pub name: &'static str,
    /// The old ranking's value.
    pub old: f64,
    /// The new ranking's value.
    pub new: f64,
    /// How much lower the new one may be.
    pub limit: f64,
}

impl Criterion {
    /// New minus old.
    pub fn delta(&self) -> f64 {
        self.new - self.old
    }

    /// Whether the new one is good enough. NaN is not.
    pub fn holds(&self) -> bool {
        self.delta() >= -self.limit
    }
}

/// One problem whose choices differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the problem.
    pub problem: u32,
    /// The old choice; `None` if there was none.
    pub old_kernel: Option<u32>,
    /// The new choice.
    pub new_kernel: Option<u32>,
    /// Efficiency of the old choice.
    pub old: f64,
    /// Efficiency of the new choice.
    pub new: f64,
}

/// Two rankings over the same problems.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Problems that both rank.
    pub problems: usize,
    /// Problems for which both choose the same kernel.
    pub agreements: usize,
    /// Problems with a faster, an equally fast and a slower choice.
    pub improved: usize,
    /// Equally fast.
    pub same: usize,
    /// Slower.
    pub degraded: usize,
    /// Problems for which the old ranking has a choice, and the new one none.
    pub lost: usize,
    /// The criteria for acceptance.
    pub criteria: Vec<Criterion>,
    /// Problems with a different choice, the largest loss first.
    pub changes: Vec<Change>,
}

impl Comparison {
    /// Compares the old outcome of each problem with the new one; `lost` problems have only an old one.
    pub fn new(pairs: &[[Outcome; 2]], lost: usize, limits: &Limits) -> Self {
        let spread = |side: usize| Spread::new(pairs.iter().map(|pair| pair[side].efficiency).collect());
        let (before, after) = (spread(0), spread(1));
        let chosen = |outcome: &Outcome| outcome.selected.map(|chosen| chosen.kernel);
        let mut changes: Vec<Change> = pairs
            .iter()
            .filter(|[old, new]| chosen(old) != chosen(new))
            .map(|[old, new]| Change {
                problem: old.problem,
                old_kernel: chosen(old),
                new_kernel: chosen(new),
                old: old.efficiency,
                new: new.efficiency,
            })
            .collect();
        changes.sort_by(|a, b| (a.new - a.old).total_cmp(&(b.new - b.old)));
        let worst = changes.first().filter(|change| change.new < change.old);
        let count = |wanted: std::cmp::Ordering| {
            pairs.iter().filter(|[old, new]| new.efficiency.total_cmp(&old.efficiency) == wanted).count()
        };
        let criterion = |name, [old, new]: [f64; 2], limit| Criterion { name, old, new, limit };
        Self {
            lost,
            problems: pairs.len(),
            agreements: pairs.iter().filter(|[old, new]| chosen(old) == chosen(new)).count(),
            improved: count(std::cmp::Ordering::Greater),
            same: count(std::cmp::Ordering::Equal),
            degraded: count(std::cmp::Ordering::Less),
            criteria: vec![
                criterion("mean efficiency", [before.mean, after.mean], limits.mean),
                criterion("median efficiency", [before.p50, after.p50], limits.median),
                criterion("P10 efficiency", [before.p10, after.p10], limits.p10),
                criterion(
                    "worst single problem",
                    worst.map_or([1.0; 2], |it| [it.old, it.new]),
                    limits.worst,
                ),
            ],
            changes,
        }
    }

    /// Whether the new ranking may replace the old one.
    pub fn accepted(&self) -> bool {
        self.problems > 0 && self.lost == 0 && self.criteria.iter().all(Criterion::holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::Candidate;

    fn outcomes(efficiencies: &[f64]) -> Vec<Outcome> {
        (0u32..)
            .zip(efficiencies)
            .map(|(problem, &efficiency)| {
                // A kernel for each efficiency.
                let kernel = (efficiency * 1000.0) as u32;
                let selected = Some(Candidate { kernel, split_k: 1, tflops: efficiency * 100.0 });
                let oracle = Candidate { kernel: 0, split_k: 1, tflops: 100.0 };
                Outcome { problem, oracle, selected, efficiency, oracle_rank: None, candidates: 9 }
            })
            .collect()
    }

    fn verdict(old: &[f64], new: &[f64]) -> (Comparison, bool) {
        let pairs: Vec<_> =
            outcomes(old).into_iter().zip(outcomes(new)).map(|(old, new)| [old, new]).collect();
        let comparison = Comparison::new(&pairs, 0, &Limits::UPSTREAM);
        let accepted = comparison.accepted();
        (comparison, accepted)
    }

    #[test]
    fn equal_or_better_models_are_accepted_and_no_data_is_a_failure() {
        let (comparison, accepted) = verdict(&[0.9, 0.8], &[0.9, 0.8]);
        assert!(accepted);
        assert_eq!((comparison.agreements, comparison.same, comparison.changes.len()), (2, 2, 0));
        let (comparison, accepted) = verdict(&[0.5, 0.5], &[1.0, 0.5]);
        assert!(accepted);
        assert_eq!((comparison.improved, comparison.same, comparison.degraded), (1, 1, 0));
        assert!(!verdict(&[], &[]).1);
    }

    #[test]
    fn each_criterion_refuses_by_itself() {
        // 1,000 problems: one of them loses 11 %, which does not show in the mean.
        let old = vec![0.9; 1000];
        let mut new = old.clone();
        new[7] = 0.78;
        let failing = |old: &[f64], new: &[f64]| {
            let (comparison, accepted) = verdict(old, new);
            let names: Vec<&str> =
                comparison.criteria.iter().filter(|one| !one.holds()).map(|one| one.name).collect();
            assert_eq!(accepted, names.is_empty());
            names
        };
        assert_eq!(failing(&old, &new), ["worst single problem"]);
        // All lose 0.6 %: mean and median fail.
        assert_eq!(failing(&old, &vec![0.894; 1000]), ["mean efficiency", "median efficiency"]);
        // A fifth loses 2.2 %: mean by 0.44 %, P10 by 2.2 %.
        let fifth: Vec<f64> = (0..1000).map(|index| if index % 5 == 0 { 0.878 } else { 0.9 }).collect();
        assert_eq!(failing(&old, &fifth), ["P10 efficiency"]);
    }
}
