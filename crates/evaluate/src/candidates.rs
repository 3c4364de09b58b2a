//! The kernels that were measured together for a problem, each once.

use ck_select_measurements::figures::mean;
use ck_select_measurements::{Configuration, Measurements, Run};

/// A kernel that ran on a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Index into [`Measurements::kernels`].
    pub kernel: u32,
    /// The parts into which it split the reduction.
    pub split_k: i32,
    /// Measured TFLOPS; the median if the kernel was measured more than once.
    pub tflops: f64,
}

/// A problem with the candidates of one run, in the order of their first rows. A problem that was measured
/// twice has two trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// The problem's number in the measurements: `problem_idx`.
    pub number: Option<i64>,
    /// The kernels that ran.
    pub candidates: Vec<Candidate>,
    /// The index of the fastest candidate; the first if there are several.
    pub oracle: usize,
}

impl Trial {
    /// Measured TFLOPS of the fastest candidate.
    pub fn oracle_tflops(&self) -> f64 {
        self.candidates[self.oracle].tflops
    }

    /// A candidate's speed as a share of the fastest one's.
    pub fn efficiency(&self, candidate: usize) -> f64 {
        self.candidates[candidate].tflops / self.oracle_tflops()
    }

    /// Only the candidates of some kernels; `None` if none is left.
    pub fn only(&self, mut keep: impl FnMut(u32) -> bool) -> Option<(Self, Vec<usize>)> {
        let places: Vec<usize> =
            (0..self.candidates.len()).filter(|&candidate| keep(self.candidates[candidate].kernel)).collect();
        let trial = Self::new(
            self.problem,
            self.number,
            places.iter().map(|&candidate| self.candidates[candidate]).collect(),
        )?;
        Some((trial, places))
    }

    pub(crate) fn new(problem: u32, number: Option<i64>, candidates: Vec<Candidate>) -> Option<Self> {
        let mut oracle = 0;
        for (index, candidate) in candidates.iter().enumerate() {
            if candidate.tflops > candidates[oracle].tflops {
                oracle = index;
            }
        }
        (!candidates.is_empty()).then_some(Self { problem, number, candidates, oracle })
    }
}

/// The noun for a count of trials: a problem that was measured again counts more than once.
pub fn counted_as(trials: &[Trial]) -> &'static str {
    if distinct_problems(trials) < trials.len() { "runs of problems" } else { "problems" }
}

/// How many problems have a trial: trials of one problem are adjacent.
pub(crate) fn distinct_problems(trials: &[Trial]) -> usize {
    trials.chunk_by(|a, b| a.problem == b.problem).count()
}

/// Mean efficiency of a random choice among the candidates of each trial.
pub(crate) fn random_choice(trials: &[Trial]) -> f64 {
    let of_trial =
        |trial: &Trial| mean((0..trial.candidates.len()).map(|candidate| trial.efficiency(candidate)));
    mean(trials.iter().map(of_trial))
}

/// A trial for each run of a problem. Invalid rows are ignored.
pub fn trials(measurements: &Measurements) -> Vec<Trial> {
    measurements.runs().into_iter().filter_map(|run| trial(measurements, run)).collect()
}

/// The number of pairs that a run has more than once.
pub fn repeated(measurements: &Measurements) -> usize {
    let configurations =
        measurements.runs().into_iter().flat_map(|run| measurements.configurations(run.rows));
    configurations.filter(|one| one.rows.len() > 1).count()
}

fn trial(measurements: &Measurements, run: Run) -> Option<Trial> {
    let candidate = |one: &Configuration| Candidate {
        kernel: one.kernel,
        split_k: one.split_k,
        tflops: measurements.median(one, |row| row.tflops),
    };
    let candidates = measurements.configurations(run.rows).iter().map(candidate).collect();
    Trial::new(run.problem, run.number, candidates)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A trial in which kernel 0, 1 and so on have these speeds.
    pub(crate) fn trial(problem: u32, speeds: &[f64]) -> Trial {
        let candidate = |(kernel, &tflops)| Candidate { kernel, split_k: 1, tflops };
        Trial::new(problem, None, (0..).zip(speeds).map(candidate).collect()).unwrap()
    }

    #[test]
    fn a_tie_goes_to_the_first() {
        assert_eq!(trial(0, &[7.0, 7.0]).oracle, 0);
    }
}
