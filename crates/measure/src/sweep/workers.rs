//! The part of one GPU in a sweep: one problem after the other, with all kernels of a problem on this GPU.
//! Batches hold as many whole problems as fit, since starting a worker can take longer than measuring a
//! problem.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ck_select_measurements::outcome::{Failure, FailureClass, Outcome};

use super::ledger::Ledger;
use super::{Event, Observer, lock};
use crate::error::MeasureError;
use crate::gpu::{Gpu, lock_folder};
use crate::plan::{Pair, Plan};
use crate::runner::{BatchEnd, Context, Job, Report, Runner};
use crate::stop::StopReason;

/// The state that all GPUs share.
pub(super) struct Workers<'a, 'l> {
    pub(super) plan: &'a Plan,
    pub(super) runner: &'a dyn Runner,
    pub(super) context: Context<'a>,
    pub(super) ledger: &'a Mutex<&'a mut Ledger<'l>>,
    pub(super) observer: &'a Observer<'a>,
    /// The next problem.
    pub(super) next: Mutex<usize>,
    pub(super) gpus: usize,
    /// Whether one of the GPUs has failed.
    pub(super) failed: AtomicBool,
}

impl Workers<'_, '_> {
    /// Measures problems until none are left.
    pub(super) fn run(&self, gpu: &Gpu) -> Result<Option<StopReason>, MeasureError> {
        let end = self.measure(gpu);
        if end.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        end
    }

    fn measure(&self, gpu: &Gpu) -> Result<Option<StopReason>, MeasureError> {
        let waiting = |lock: &Path| (self.observer)(&Event::Waiting { gpu, lock });
        let _lock = if self.runner.uses_gpu() {
            match gpu.lock(&lock_folder(), self.context.stop, waiting)? {
                Ok(lock) => Some(lock),
                Err(reason) => return Ok(Some(reason)),
            }
        } else {
            None
        };
        loop {
            let taken = self.take();
            if taken.is_empty() {
                return Ok(None);
            }
            for pairs in taken.chunks(self.room()) {
                if let Some(reason) = self.batch(gpu, pairs.to_vec())? {
                    return Ok(Some(reason));
                }
                if self.failed.load(Ordering::Relaxed) {
                    return Ok(None);
                }
            }
        }
    }

    /// How many pairs a batch holds.
    fn room(&self) -> usize {
        self.context.settings.batch.max(1)
    }

    /// The next problem, and those after it that fit into the same batch. Towards the end it takes fewer, to
    /// leave some for the other GPUs.
    fn take(&self) -> Vec<Pair> {
        let problems = self.plan.problems();
        let mut next = lock(&self.next);
        while problems.get(*next).is_some_and(|planned| planned.kernels.is_empty()) {
            *next += 1;
        }
        let fair = (problems.len() - *next).div_ceil(2 * self.gpus.max(1));
        let mut taken = Vec::new();
        for (number, planned) in problems.iter().enumerate().skip(*next).take(fair) {
            if !taken.is_empty() && taken.len() + planned.kernels.len() > self.room() {
                break;
            }
            taken.extend(planned.kernels.iter().map(|&kernel| Pair { problem: number as u32, kernel }));
            *next = number + 1;
        }
        taken
    }

    /// Measures a batch. Pairs that a failure left over are measured in smaller batches, until each has its
    /// row.
    fn batch(&self, gpu: &Gpu, pairs: Vec<Pair>) -> Result<Option<StopReason>, MeasureError> {
        let mut stack = vec![pairs];
        while let Some(pairs) = stack.pop() {
            if let Some(reason) = self.context.stop.reason() {
                return Ok(Some(reason));
            }
            let (end, reported) = self.once(gpu, &pairs)?;
            let left: Vec<Pair> = pairs.iter().copied().filter(|pair| !reported.contains(pair)).collect();
            let broken = match end {
                BatchEnd::Stopped(reason) => return Ok(Some(reason)),
                BatchEnd::Broken { at, failure } => Some((at.map(|pair| pairs[pair]), failure)),
                BatchEnd::Done if left.is_empty() || !reported.is_empty() => None,
                BatchEnd::Done => {
                    Some((None, Failure::new(FailureClass::Exit, "the worker reported nothing")))
                }
            };
            match broken {
                None => stack.extend(Some(left).filter(|left| !left.is_empty())),
                Some((culprit, failure)) => self.retry(gpu, &pairs, left, culprit, failure, &mut stack)?,
            }
        }
        Ok(None)
    }

    /// Finds the culprit of a failure and schedules the remaining pairs. A kernel that broke its worker
    /// alone, or that used up all its time, is recorded as failed; one that broke it after others is measured
    /// again in its own worker, since the others may have corrupted its memory.
    fn retry(
        &self,
        gpu: &Gpu,
        pairs: &[Pair],
        mut left: Vec<Pair>,
        culprit: Option<Pair>,
        failure: Failure,
        stack: &mut Vec<Vec<Pair>>,
    ) -> Result<(), MeasureError> {
        let culprit = culprit.or((left.len() == 1 && pairs.len() == 1).then(|| left[0]));
        match culprit {
            Some(culprit) => {
                left.retain(|&pair| pair != culprit);
                if !left.is_empty() {
                    stack.push(left);
                }
                if pairs.len() == 1 || failure.class == FailureClass::Timeout {
                    self.record(gpu, culprit, &Outcome::Failed(failure))?;
                } else {
                    stack.push(vec![culprit]);
                }
            }
            None if left.is_empty() => {}
            None => {
                let rest = left.split_off(left.len().div_ceil(2));
                stack.extend([rest, left].into_iter().filter(|half| !half.is_empty()));
            }
        }
        Ok(())
    }

    /// Measures a batch once; also returns the pairs that got their rows.
    fn once(&self, gpu: &Gpu, pairs: &[Pair]) -> Result<(BatchEnd, HashSet<Pair>), MeasureError> {
        let jobs: Vec<Job<'_>> = {
            let ledger = lock(self.ledger);
            let job = |&pair: &Pair| Job {
                kernel: self.plan.kernel(pair),
                problem: self.plan.problem(pair),
                place: pair.problem,
                best_ms: ledger.best_ms(pair.problem),
            };
            pairs.iter().map(job).collect()
        };
        let mut reported = HashSet::new();
        let mut report = |report: Report| -> Result<(), MeasureError> {
            match report {
                Report::Device(facts) => lock(self.ledger).device(gpu, facts)?,
                Report::Settle => lock(self.ledger).sync()?,
                Report::Outcome(index, outcome) => {
                    if let Some(&pair) = pairs.get(index) {
                        self.record(gpu, pair, &outcome.plausible(&self.plan.problem(pair)))?;
                        reported.insert(pair);
                    }
                }
            }
            Ok(())
        };
        let end = self.runner.measure(&jobs, gpu, self.context, &mut report)?;
        lock(self.ledger).sync()?;
        Ok((end, reported))
    }

    fn record(&self, gpu: &Gpu, pair: Pair, outcome: &Outcome) -> Result<(), MeasureError> {
        let mut ledger = lock(self.ledger);
        let tally = ledger.record(pair, outcome, gpu)?;
        (self.observer)(&Event::Row { pair, outcome, tally });
        Ok(())
    }
}
