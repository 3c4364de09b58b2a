//! What measures: executables, workers, or recorded and computed answers.

mod analytic;
mod conversation;
mod executable;
mod report;
mod simulate;
mod worker;

use ck_select::kernel::Kernel;
use ck_select_measurements::outcome::{Failure, Measurement, Outcome};
use serde_json::Value;

pub use analytic::Analytic;
pub use executable::ExecutableRunner;
pub use simulate::{ModelAnswers, OutcomeSource, RecordedOutcomes, SimulatedRunner};
pub use worker::WorkerRunner;

use crate::error::MeasureError;
use crate::gpu::Gpu;
use crate::guard::Guard;
pub use crate::job::{Job, Settings};
use crate::stop::{Stop, StopReason};

/// Settings and shared objects that every runner needs.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// How carefully to measure.
    pub settings: &'a Settings,
    /// Kills our processes if we cannot.
    pub guard: &'a Guard,
    /// When to stop.
    pub stop: &'a Stop,
}

/// The best time so far of the problem that is being measured.
#[derive(Debug, Default)]
pub(crate) struct BestTime {
    current: Option<(u32, Option<f64>)>,
}

impl BestTime {
    /// The best time of a problem; `known` is its best time before the batch.
    pub(crate) fn of_problem(&mut self, problem: u32, known: Option<f64>) -> Option<f64> {
        match self.current {
            Some((known_problem, best_ms)) if known_problem == problem => best_ms,
            _ => {
                self.current = Some((problem, known));
                known
            }
        }
    }

    /// Takes a time of the most recently requested problem into account.
    pub(crate) fn lower(&mut self, outcome: &Outcome) {
        if let Some((_, best_ms)) = &mut self.current {
            *best_ms = (*best_ms).into_iter().chain(outcome.latency_ms()).reduce(f64::min);
        }
    }
}

/// Measures a job until its samples are steady, as often as the settings allow; `measure` also says whether
/// it can be called again.
pub(crate) fn steadiest<E>(
    settings: &Settings,
    mut measure: impl FnMut() -> Result<(Outcome, bool), E>,
) -> Result<Outcome, E> {
    let (mut kept, mut left) = (None, settings.remeasure);
    loop {
        let (outcome, is_repeatable) = measure()?;
        let is_steady = !outcome.is_unstable(settings.max_cv);
        let best = steadier(kept, outcome);
        if is_steady || !is_repeatable || left == 0 {
            return Ok(best);
        }
        (kept, left) = (Some(best), left - 1);
    }
}

/// The better of two outcomes of the same job: a measurement wins over none, then the smaller variation. It
/// says how often it was timed.
fn steadier(first: Option<Outcome>, second: Outcome) -> Outcome {
    let Some(Outcome::Measured(first)) = first else { return second };
    let timed = first.timed + 1;
    let spread = |m: &Measurement| m.cv.unwrap_or(f64::INFINITY);
    let kept = match second {
        Outcome::Measured(second) if spread(&second) < spread(&first) => second,
        _ => first,
    };
    Outcome::Measured(Measurement { timed, ..kept })
}

/// A report of a runner while it measures.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The outcome of a job, by its index among the jobs.
    Outcome(usize, Outcome),
    /// The known facts about the device.
    Device(Value),
    /// Everything reported so far must be on disk before anything else is waited for.
    Settle,
}

/// How a batch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchEnd {
    /// Everything reported counts. Jobs without a report are measured again.
    Done,
    /// Something broke, and jobs without a report are measured again.
    Broken {
        /// The job that was running.
        at: Option<usize>,
        /// The failure that broke the batch.
        failure: Failure,
    },
    /// The sweep stops.
    Stopped(StopReason),
}

/// Something that measures.
pub trait Runner: Sync {
    /// The runner's description for the sidecar. Results of runners with equal descriptions go into the same log.
    fn describe(&self) -> Value;

    /// Whether the runner measures on a GPU, which must then be reserved for it.
    fn uses_gpu(&self) -> bool {
        true
    }

    /// Why a kernel cannot be measured at all, as far as can be seen without side effects: how the sentence
    /// "none of the kernels ..." goes on.
    fn lacks(&self, _kernel: &Kernel) -> Option<String> {
        None
    }

    /// Checks whether any of these kernels can be measured. The error says why the first one cannot.
    fn check(&self, kernels: &[&Kernel]) -> Result<(), MeasureError> {
        let mut first = None;
        for kernel in kernels {
            let Some(why) = self.lacks(kernel) else { return Ok(()) };
            first = first.or(Some(why));
        }
        first.map_or(Ok(()), |why| Err(MeasureError::new(format_args!("none of the kernels {why}"))))
    }

    /// Measures jobs together, problem after problem, and reports each as soon as it is known, and
    /// [`Report::Settle`] before it waits. An error means that nothing can be measured.
    fn measure(
        &self,
        jobs: &[Job<'_>],
        gpu: &Gpu,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ck_select_measurements::outcome::FailureClass;

    #[test]
    fn the_steadiest_counts_and_says_how_often_it_was_timed() {
        let timed =
            |timed, cv| Outcome::Measured(Measurement { timed, cv: Some(cv), ..Measurement::new(1.0, 1.0) });
        let of = |cv| timed(1, cv);
        let failed = || Outcome::failed(FailureClass::Crash, "");
        let settings = Settings { max_cv: 0.1, remeasure: 2, ..Settings::default() };
        for (outcomes, expected) in [
            (vec![of(0.3), of(0.2), of(0.25), of(0.0)], timed(3, 0.2)),
            (vec![of(0.3), of(0.05), of(0.0)], timed(2, 0.05)),
            (vec![of(0.1), of(0.0)], of(0.1)),
            (vec![of(0.2), failed(), of(0.0)], timed(2, 0.2)),
            (vec![failed(), of(0.0)], failed()),
        ] {
            let mut outcomes = outcomes.into_iter();
            let steady = steadiest::<()>(&settings, || Ok((outcomes.next().unwrap(), true)));
            assert_eq!(steady, Ok(expected));
        }
        assert_eq!(steadiest::<()>(&settings, || Ok((of(0.3), false))), Ok(of(0.3)), "a lost device");
        assert_eq!(steadiest(&settings, || Err("stopped")), Err("stopped"));
    }
}
