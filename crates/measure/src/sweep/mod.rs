//! A sweep: everything got ready first, then problem by problem and batch by batch, on every GPU at once.

mod ledger;
mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::error::MeasureError;
use crate::gpu::Gpu;
use crate::outcome::{FailureClass, Outcome};
use crate::plan::{Pair, Plan};
use crate::row::Logged;
use crate::runner::{Context, Runner, Settings};
use crate::shard::Shard;
use crate::sidecar::{Files, PlanFacts, Session};
use crate::stop::StopReason;
use ledger::Ledger;
use workers::Workers;

/// What to do with a log that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Refuse it.
    Fresh,
    /// Go on with it; begin if there is none.
    Resume,
    /// Throw it away.
    Overwrite,
}

/// Refuses a place for a fresh log where there is one with something in it, or what belongs to one.
pub fn check_free(log: &Path) -> Result<(), MeasureError> {
    let Files { log, meta, .. } = Files::of(log);
    let is_there = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| *path == meta || file.len() > 0);
    let Some(path) = [&log, &meta].into_iter().find(|path| is_there(path)) else { return Ok(()) };
    let path = path.display();
    Err(MeasureError::Settings(format!("{path} exists: --resume continues it, --overwrite discards it")))
}

/// Which failed rows of a log are measured again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Retry {
    /// None.
    #[default]
    Nothing,
    /// All of them.
    Failed,
    /// Those of these classes.
    Classes(Vec<FailureClass>),
}

impl Retry {
    /// Whether a row is measured again.
    pub fn wants(&self, row: &Logged) -> bool {
        row.failure().is_some_and(|class| match self {
            Self::Nothing => false,
            Self::Failed => true,
            Self::Classes(classes) => classes.contains(&class),
        })
    }
}

/// What to measure, where, and where to write it.
pub struct Sweep<'a> {
    /// What to measure: the shard's part of the plan.
    pub plan: &'a Plan,
    /// The plan of all shards.
    pub whole: &'a Plan,
    /// Which part it is.
    pub shard: Shard,
    /// The log.
    pub output: &'a Path,
    /// What to do with a log that is already there.
    pub start: Start,
    /// Which of its failed rows to measure again.
    pub retry: &'a Retry,
    /// Where to measure, all at once.
    pub gpus: &'a [Gpu],
    /// Where GPUs' locks are.
    pub lock_folder: PathBuf,
    /// Whose checked-out revision is recorded.
    pub source: PathBuf,
    /// The version that is recorded.
    pub version: &'a str,
}

/// What happens while a sweep runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// So many kernels are built.
    Built {
        /// Built or failed.
        done: usize,
        /// Of how many.
        total: usize,
        /// Failed.
        failed: usize,
    },
    /// Somebody else measures on a GPU.
    Waiting {
        /// The GPU.
        gpu: &'a Gpu,
        /// Its lock.
        lock: &'a Path,
    },
    /// Rows that were there already.
    Resumed(&'a Tally),
    /// A row is written.
    Row {
        /// Whose.
        pair: Pair,
        /// What it says.
        outcome: &'a Outcome,
        /// All rows of the log so far.
        tally: &'a Tally,
    },
}

/// Is told what happens, on any thread, by one at a time for rows.
pub trait Observer: Sync {
    /// Something happened.
    fn tell(&self, event: &Event<'_>);
}

/// Counts of rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// Rows with a time.
    pub measured: usize,
    /// Of these, rows whose samples spread too much.
    pub unstable: usize,
    /// Rows of kernels that were given up.
    pub cut_off: usize,
    /// Rows without a time, by class.
    pub failed: BTreeMap<FailureClass, usize>,
    /// The highest speed so far, and whose it is.
    pub best: Option<(f64, Pair)>,
}

impl Tally {
    /// Counts a row that was there already.
    fn recall(&mut self, pair: Pair, row: &Logged, unstable: bool) {
        match row.failure() {
            Some(class) => *self.failed.entry(class).or_default() += 1,
            None if row.is_cut_off() => self.cut_off += 1,
            None => {
                self.measured += 1;
                self.unstable += usize::from(unstable);
                self.compare(row.tflops, pair);
            }
        }
    }

    fn compare(&mut self, tflops: f64, pair: Pair) {
        if self.best.is_none_or(|(best, _)| tflops > best) {
            self.best = Some((tflops, pair));
        }
    }

    fn count(&mut self, pair: Pair, outcome: &Outcome, max_cv: f64) {
        match outcome {
            Outcome::Measured(measurement) => {
                self.measured += 1;
                self.unstable += usize::from(measurement.is_unstable(max_cv));
                self.compare(measurement.tflops, pair);
            }
            Outcome::CutOff { .. } => self.cut_off += 1,
            Outcome::Failed(failure) => *self.failed.entry(failure.class).or_default() += 1,
        }
    }

    /// All rows.
    pub fn rows(&self) -> usize {
        self.measured + self.cut_off + self.failures()
    }

    /// Rows without a time that are no cut-off.
    pub fn failures(&self) -> usize {
        self.failed.values().sum()
    }
}

/// What a sweep did.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// All rows of the log, earlier ones with it.
    pub tally: Tally,
    /// Rows that it wrote.
    pub written: usize,
    /// Rows that were there already.
    pub earlier: usize,
    /// Pairs that are still to be measured.
    pub remaining: usize,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it stopped before its end, if it did.
    pub stopped: Option<StopReason>,
}

impl Sweep<'_> {
    /// Measures what the log does not have yet.
    pub fn run(
        &self,
        runner: &mut dyn Runner,
        context: Context<'_>,
        observer: &dyn Observer,
    ) -> Result<Summary, MeasureError> {
        let began = Instant::now();
        let how = json!({ "runner": runner.describe(), "settings": what_matters(context.settings) });
        let facts = PlanFacts::of(self.plan, self.shard, self.whole);
        let mut ledger = Ledger::open(
            self.plan,
            &Files::of(self.output),
            self.start,
            self.retry,
            facts,
            how,
            context.settings.max_cv,
        )?;
        if ledger.tally().rows() > 0 {
            observer.tell(&Event::Resumed(ledger.tally()));
        }
        let clocks = crate::host::clocks();
        ledger.begin(Session {
            process: std::process::id(),
            began: crate::host::now(),
            ended: None,
            end: None,
            rows: 0,
            ckselect: self.version.to_owned(),
            host: crate::host::facts(),
            source: crate::host::revision(&self.source, context.guard),
            gpus: Value::Object(Map::new()),
            clocks: json!({ "began": clocks }),
        })?;
        let left = self.plan.filtered(|pair| !ledger.has(pair));
        let measured = self.measure(&left, &mut ledger, runner, context, observer);
        let end = match &measured {
            Err(_) => "failed".to_owned(),
            Ok(None) => "completed".to_owned(),
            Ok(Some(StopReason::Budget)) => "budget".to_owned(),
            Ok(Some(StopReason::Signal(signal))) => format!("signal {signal}"),
        };
        let recorded = ledger.end(end, crate::host::clocks());
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
        runner: &mut dyn Runner,
        context: Context<'_>,
        observer: &dyn Observer,
    ) -> Result<Option<StopReason>, MeasureError> {
        if left.is_empty() {
            return Ok(None);
        }
        let kernels = left.used_kernels();
        runner.check(&kernels)?;
        let progress = |done, total, failed| observer.tell(&Event::Built { done, total, failed });
        runner.prepare(&kernels, context, &progress)?;
        if let Some(reason) = context.stop.reason() {
            return Ok(Some(reason));
        }
        let ledger = Mutex::new(ledger);
        let workers =
            Workers::new(left, runner, context, &ledger, observer, &self.lock_folder, self.gpus.len());
        let ends: Vec<_> = std::thread::scope(|scope| {
            let workers = &workers;
            let threads: Vec<_> = self.gpus.iter().map(|gpu| scope.spawn(move || workers.run(gpu))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut stopped = None;
        for end in ends {
            let end = end
                .unwrap_or_else(|_| Err(MeasureError::Machine("a thread of the sweep panicked".to_owned())));
            stopped = end?.or(stopped);
        }
        Ok(stopped)
    }
}

/// The settings that make rows comparable.
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

/// A lock whose holder panicked has still whole rows: each is one write.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
