//! Fewer kernels: which to keep, and what that costs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::candidates::Trial;

/// A kernel that is added to the pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolStep {
    /// Index into the measurements' kernels.
    pub kernel: u32,
    /// The mean over all problems of the speed that this kernel and the previous ones reach at best, as a share of
    /// the oracle's; a problem that none of them runs counts as 0.
    pub share: f64,
    /// The worst problem's share.
    pub worst: f64,
    /// Problems that neither this kernel nor a previous one runs.
    pub without: usize,
}

/// Kernels in greedy order, in which each adds most to those before it, until nothing is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GreedyPool {
    /// The kernels.
    pub steps: Vec<PoolStep>,
}

/// How many kernels a pool keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keep {
    /// At most this many.
    Kernels(usize),
    /// As many as keep this share of the oracle.
    Share(f64),
}

/// Sizes whose cost is worth showing, as long as more kernels add something.
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

impl GreedyPool {
    /// Some sizes and what they keep; the last is that of all kernels that add something.
    pub fn sizes(&self) -> impl Iterator<Item = (usize, &PoolStep)> {
        let last = self.steps.len();
        let sizes = SIZES.into_iter().filter(move |&size| size < last).chain([last]);
        sizes.filter_map(move |size| Some((size, self.steps.get(size.checked_sub(1)?)?)))
    }

    pub(super) fn new(trials: &[Trial], kernels: usize) -> Self {
        let mut cells: Vec<Vec<(u32, f64)>> = vec![Vec::new(); kernels];
        for (number, trial) in (0u32..).zip(trials) {
            for (index, candidate) in trial.candidates.iter().enumerate() {
                cells[candidate.kernel as usize].push((number, trial.efficiency(index)));
            }
        }
        let mut best = vec![0.0_f64; trials.len()];
        // The bits of numbers that are not negative are in their order. Of equal gains, the first kernel's
        // counts.
        let gain = |kernel: usize, best: &[f64]| {
            let of = |&(trial, share): &(u32, f64)| (share - best[trial as usize]).max(0.0);
            (cells[kernel].iter().map(of).fold(0.0, |sum: f64, gain| sum + gain).to_bits(), Reverse(kernel))
        };
        // Each gain as it was when it was last computed; kernels added since can only have reduced it.
        let mut heap: BinaryHeap<_> = (0..kernels).map(|kernel| gain(kernel, &best)).collect();
        let mut steps = Vec::new();
        while let Some((_, Reverse(kernel))) = heap.pop() {
            let now = gain(kernel, &best);
            if now.0 == 0 {
                continue;
            }
            if heap.peek().is_some_and(|next| *next > now) {
                heap.push(now);
                continue;
            }
            for &(trial, share) in &cells[kernel] {
                let best = &mut best[trial as usize];
                *best = best.max(share);
            }
            steps.push(PoolStep {
                kernel: kernel as u32,
                share: best.iter().sum::<f64>() / best.len() as f64,
                worst: best.iter().copied().fold(f64::INFINITY, f64::min),
                without: best.iter().filter(|share| **share == 0.0).count(),
            });
        }
        Self { steps }
    }

    /// The first kernels, as many as requested.
    pub fn kept(&self, keep: Keep) -> &[PoolStep] {
        let count = match keep {
            Keep::Kernels(count) => count.min(self.steps.len()),
            Keep::Share(share) => {
                let enough = self.steps.iter().position(|step| step.share >= share);
                enough.map_or(self.steps.len(), |index| index + 1)
            }
        };
        &self.steps[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::trial;

    #[test]
    fn the_first_kernel_is_the_best_single_one_and_the_last_misses_nothing() {
        // Kernel 1 is the best single one, 0 and 2 each win a problem, 3 never adds anything.
        let trials = [
            trial(0, &[100.0, 80.0, 50.0, 80.0]),
            trial(1, &[40.0, 80.0, 100.0, 20.0]),
            trial(2, &[30.0, 100.0, 50.0, 100.0]),
        ];
        let pool = GreedyPool::new(&trials, 4);
        let steps: Vec<(u32, f64)> = pool.steps.iter().map(|step| (step.kernel, step.share)).collect();
        assert_eq!(steps, [(1, 2.6 / 3.0), (0, 2.8 / 3.0), (2, 1.0)]);
        assert_eq!(pool.steps.iter().map(|step| step.worst).collect::<Vec<_>>(), [0.8, 0.8, 1.0]);
        assert_eq!(pool.kept(Keep::Kernels(2)).len(), 2);
        assert_eq!(pool.kept(Keep::Kernels(9)).len(), 3);
        assert_eq!(pool.kept(Keep::Share(0.9)).len(), 2);
        assert_eq!(pool.kept(Keep::Share(1.0)).len(), 3);
    }

    #[test]
    fn problems_that_no_kept_kernel_runs_are_counted() {
        let mut only_last = trial(1, &[10.0]);
        only_last.candidates[0].kernel = 2;
        let pool = GreedyPool::new(&[trial(0, &[10.0, 5.0]), only_last], 3);
        let steps: Vec<_> = pool.steps.iter().map(|step| (step.kernel, step.share, step.without)).collect();
        assert_eq!(steps, [(0, 0.5, 1), (2, 1.0, 0)]);
    }
}
