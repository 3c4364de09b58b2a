//! A sweep: first everything is prepared, then all GPUs measure at once, problem by problem and batch by
//! batch.
//!
//! ```text
//! ledger = the log and its sidecars, locked; rows that are there count as done
//! left   = plan without rows that are done
//! on each GPU, until `left` is empty, the budget is over or a signal arrives:
//!     take the next problems, with all their kernels        kernels of a problem compare on one GPU
//!     run them in a worker process
//!         row for each outcome, written at once             a kill loses the running kernel, nothing else
//!         a crash or a hang: a row with the class of the failure for its kernel, a new worker for the rest
//! ```
//!
//! The log is the only state: a sweep that is resumed reads the log and continues, whatever ended the last
//! run. Problems are handed out in the plan's order, however many GPUs take them.

mod ledger;
mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ck_select_measurements::outcome::{FailureClass, Outcome};
use serde_json::{Value, json};

use crate::error::MeasureError;
use crate::gpu::Gpu;
use crate::plan::{Pair, Plan};
use crate::runner::{Context, Runner, Settings};
use crate::shard::Shard;
use crate::sidecar::Files;
use crate::stop::StopReason;
use ledger::Ledger;
use workers::Workers;

/// How to treat an existing log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Refuse it.
    Fresh,
    /// Continue it, or begin a new one if there is none.
    Resume,
    /// Discard it.
    Overwrite,
}

/// Fails if a non-empty log, or the sidecar of one, is in the place of a fresh log.
pub fn check_free(log: &Path) -> Result<(), MeasureError> {
    let Files { log, meta, .. } = Files::new(log);
    let is_there = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| *path == meta || file.len() > 0);
    let Some(path) = [&log, &meta].into_iter().find(|path| is_there(path)) else { return Ok(()) };
    let path = path.display();
    Err(MeasureError::new(format!("{path} exists: --resume continues it, --overwrite discards it")))
}

/// What to measure, where, and where to write it.
pub struct Sweep<'a> {
    /// What to measure: this shard's part of the plan.
    pub plan: &'a Plan,
    /// Which part of it.
    pub shard: Shard,
    /// The log.
    pub output: &'a Path,
    /// How to treat an existing log.
    pub start: Start,
    /// Which of its failed rows to measure again, by their classes.
    pub retry: &'a [FailureClass],
    /// The GPUs that measure at the same time.
    pub gpus: &'a [Gpu],
}

/// Events of a running sweep.
#[derive(Debug)]
pub enum Event<'a> {
    /// Another process measures on a GPU.
    Waiting {
        /// The GPU.
        gpu: &'a Gpu,
        /// The path of the GPU's lock.
        lock: &'a Path,
    },
    /// Rows that were already in the log.
    Resumed(&'a Tally),
    /// A row was written.
    Row {
        /// The row's kernel and problem.
        pair: Pair,
        /// The row's outcome.
        outcome: &'a Outcome,
        /// The counts of all rows so far.
        tally: &'a Tally,
    },
}

/// Receives events, on any thread; rows arrive one at a time.
pub type Observer<'a> = dyn Fn(&Event<'_>) + Sync + 'a;

/// Counts of rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// Rows with a time.
    pub measured: usize,
    /// How many of these have samples that vary too much.
    pub unstable: usize,
    /// Rows of kernels that were given up as too slow.
    pub cut_off: usize,
    /// Rows without a time, by class.
    pub failed: BTreeMap<FailureClass, usize>,
    /// The highest speed so far, and its kernel and problem.
    pub best: Option<(f64, Pair)>,
}

impl Tally {
    /// Counts a row with a speed or a failure; one without either was cut off.
    fn add(&mut self, pair: Pair, tflops: Option<f64>, failure: Option<FailureClass>, unstable: bool) {
        match (tflops, failure) {
            (Some(tflops), _) => {
                self.measured += 1;
                self.unstable += usize::from(unstable);
                if self.best.is_none_or(|(best, _)| tflops > best) {
                    self.best = Some((tflops, pair));
                }
            }
            (None, Some(class)) => *self.failed.entry(class).or_default() += 1,
            (None, None) => self.cut_off += 1,
        }
    }

    /// All rows.
    pub fn rows(&self) -> usize {
        self.measured + self.cut_off + self.failures()
    }

    /// Rows without a time, other than those that were cut off.
    pub fn failures(&self) -> usize {
        self.failed.values().sum()
    }
}

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The counts of all rows of the log, including earlier ones.
    pub tally: Tally,
    /// How many rows it wrote.
    pub written: usize,
    /// How many rows there were before.
    pub earlier: usize,
    /// How many pairs are still to be measured.
    pub remaining: usize,
    /// How long it took.
    pub elapsed: Duration,
    /// Why the sweep stopped before its end, if it did.
    pub stopped: Option<StopReason>,
}

impl Sweep<'_> {
    /// Measures what is missing from the log.
    pub fn run(
        &self,
        runner: &dyn Runner,
        context: Context<'_>,
        observer: &Observer<'_>,
    ) -> Result<Summary, MeasureError> {
        let began = Instant::now();
        let how = json!({ "runner": runner.describe(), "settings": what_matters(context.settings) });
        let mut ledger = Ledger::open(self, how, context.settings.max_cv)?;
        if ledger.tally().rows() > 0 {
            observer(&Event::Resumed(ledger.tally()));
        }
        ledger.begin()?;
        let left = self.plan.filtered(|pair| !ledger.has(pair));
        let measured = self.measure(&left, &mut ledger, runner, context, observer);
        let end = match &measured {
            Err(_) => "failed".to_owned(),
            Ok(None) => "completed".to_owned(),
            Ok(Some(StopReason::Budget)) => "budget".to_owned(),
            Ok(Some(StopReason::Signal(signal))) => format!("signal {signal}"),
        };
        let recorded = ledger.end(end);
        if measured.is_err() {
            ledger.discard_empty();
        }
        let stopped = measured?;
        recorded?;
        let (tally, written) = ledger.into_tally();
        let (earlier, remaining) = (self.plan.len() - left.len(), left.len() - written);
        Ok(Summary { tally, written, earlier, remaining, elapsed: began.elapsed(), stopped })
    }

    fn measure(
        &self,
        left: &Plan,
        ledger: &mut Ledger<'_>,
        runner: &dyn Runner,
        context: Context<'_>,
        observer: &Observer<'_>,
    ) -> Result<Option<StopReason>, MeasureError> {
        if left.is_empty() {
            return Ok(None);
        }
        runner.check(&left.used_kernels())?;
        if let Some(reason) = context.stop.reason() {
            return Ok(Some(reason));
        }
        let ledger = Mutex::new(ledger);
        let workers = Workers {
            plan: left,
            runner,
            context,
            ledger: &ledger,
            observer,
            next: Mutex::new(0),
            gpus: self.gpus.len(),
            failed: AtomicBool::new(false),
        };
        let ends: Vec<_> = std::thread::scope(|scope| {
            let workers = &workers;
            let threads: Vec<_> = self.gpus.iter().map(|gpu| scope.spawn(move || workers.run(gpu))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut stopped = None;
        for end in ends {
            let end = end.unwrap_or_else(|_| Err(MeasureError::new("a thread of the sweep panicked")));
            stopped = end?.or(stopped);
        }
        Ok(stopped)
    }
}

/// The settings that must agree for rows to be comparable.
fn what_matters(settings: &Settings) -> Value {
    let Settings { warmup, repeat, samples, cutoff, max_cv, remeasure, .. } = settings;
    json!({
        "warmup": warmup,
        "repeat": repeat,
        "samples": samples,
        "cutoff": cutoff,
        "max_cv": max_cv,
        "remeasure": remeasure,
    })
}

/// The ledger is usable even if a holder of its lock panicked, since each row is a single write.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
