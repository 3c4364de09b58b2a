//! Orders kernels and problems so that similar ones are adjacent.
//!
//! The order is that of the first singular vectors of the table of efficiencies, after subtracting the means
//! of rows and columns: kernels that are better than usual on the same problems get similar values, and so do
//! problems on which the same kernels are better than usual. Power iteration finds them in a few passes over
//! the rows, for any size.

use crate::candidates::Trial;
use ck_select_data::measurements::Measurements;

/// Passes over the table: more do not visibly change the order.
const PASSES: usize = 24;

/// Kernels and trials in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// Indices of all kernels; those that never ran are last.
    pub kernels: Vec<u32>,
    /// Indices of all trials, from small problems to large ones, as far as one order can express it.
    pub trials: Vec<u32>,
}

impl Likeness {
    pub(super) fn of(measurements: &Measurements, trials: &[Trial]) -> Self {
        let sizes: Vec<f64> =
            trials.iter().map(|trial| measurements.problems()[trial.problem as usize].flops().ln()).collect();
        Self::ordered(trials, measurements.kernels().len(), &sizes)
    }

    fn ordered(trials: &[Trial], kernels: usize, sizes: &[f64]) -> Self {
        let table = Table::new(trials, kernels);
        let mut of_kernels: Vec<f64> = (0..kernels).map(spread).collect();
        let mut of_trials = vec![0.0; trials.len()];
        for _ in 0..PASSES {
            table.times(&of_kernels, &mut of_trials);
            table.back(&of_trials, &mut of_kernels);
            let length = of_kernels.iter().map(|value| value * value).sum::<f64>().sqrt();
            if length <= f64::MIN_POSITIVE {
                break;
            }
            for value in &mut of_kernels {
                *value /= length;
            }
        }
        table.times(&of_kernels, &mut of_trials);
        let center = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        let along: f64 = of_trials.iter().zip(sizes).map(|(value, size)| value * (size - center)).sum();
        if along < 0.0 {
            of_trials.iter_mut().chain(&mut of_kernels).for_each(|value| *value = -*value);
        }
        let mut kernels = sorted(&of_kernels);
        kernels.sort_by_key(|&kernel| table.ran[kernel as usize] == 0);
        Self { kernels, trials: sorted(&of_trials) }
    }
}

/// Reproducible values without a particular order.
fn spread(place: usize) -> f64 {
    (place as f64 * 0.618_033_988_749_895).fract() - 0.5
}

fn sorted(values: &[f64]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..values.len() as u32).collect();
    places.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
    places
}

/// Efficiencies minus the means of their row and column; cells without a measurement are 0, the mean.
struct Table<'a> {
    trials: &'a [Trial],
    of_trial: Vec<f64>,
    of_kernel: Vec<f64>,
    /// The number of problems that each kernel ran on.
    ran: Vec<u32>,
    all: f64,
}

impl<'a> Table<'a> {
    fn new(trials: &'a [Trial], kernels: usize) -> Self {
        let (mut of_kernel, mut ran, mut all, mut count) = (vec![0.0; kernels], vec![0; kernels], 0.0, 0.0);
        let mut of_trial = Vec::with_capacity(trials.len());
        for trial in trials {
            let mut sum = 0.0;
            for (place, candidate) in trial.candidates.iter().enumerate() {
                let efficiency = trial.efficiency(place);
                of_kernel[candidate.kernel as usize] += efficiency;
                ran[candidate.kernel as usize] += 1;
                sum += efficiency;
            }
            of_trial.push(sum / trial.candidates.len() as f64);
            all += sum;
            count += trial.candidates.len() as f64;
        }
        for (sum, &ran) in of_kernel.iter_mut().zip(&ran) {
            *sum /= f64::from(ran.max(1));
        }
        Self { trials, of_trial, of_kernel, ran, all: all / count }
    }

    fn cells(&self, trial: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (one, shift) = (&self.trials[trial], self.all - self.of_trial[trial]);
        let scale = one.oracle_tflops().recip();
        one.candidates.iter().map(move |candidate| {
            let kernel = candidate.kernel as usize;
            (kernel, candidate.tflops * scale - self.of_kernel[kernel] + shift)
        })
    }

    fn times(&self, of_kernels: &[f64], of_trials: &mut [f64]) {
        for (trial, value) in of_trials.iter_mut().enumerate() {
            *value = self.cells(trial).map(|(kernel, cell)| cell * of_kernels[kernel]).sum();
        }
    }

    fn back(&self, of_trials: &[f64], of_kernels: &mut [f64]) {
        of_kernels.fill(0.0);
        for (trial, &value) in of_trials.iter().enumerate() {
            for (kernel, cell) in self.cells(trial) {
                of_kernels[kernel] += cell * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::tests::trial;

    /// Two kinds of problems and two kinds of kernels, interleaved, are separated.
    #[test]
    fn the_like_stand_together() {
        let trials: Vec<Trial> = (0..8)
            .map(|problem| {
                trial(problem, (0..6).map(|kernel| if (problem + kernel) % 2 == 0 { 90.0 } else { 50.0 }))
            })
            .collect();
        let sizes: Vec<f64> = (0..8).map(|problem| f64::from(problem % 2)).collect();
        let order = Likeness::ordered(&trials, 7, &sizes);
        assert_eq!(order.trials, [0, 2, 4, 6, 1, 3, 5, 7]);
        // Kernels that are good at the large ones come last, except for the one that never ran.
        assert_eq!(order.kernels, [0, 2, 4, 1, 3, 5, 6]);
    }

    #[test]
    fn what_has_no_differences_keeps_its_order() {
        let trials = [trial(0, [5.0, 5.0].into_iter()), trial(1, [7.0, 7.0].into_iter())];
        let order = Likeness::ordered(&trials, 2, &[1.0, 1.0]);
        assert_eq!((order.kernels, order.trials), (vec![0, 1], vec![0, 1]));
    }
}
