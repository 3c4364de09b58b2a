//! The files of a sweep, kept consistent.
//!
//! Three files grow together: the log (one row a pair of kernel and problem), the details (samples, output of
//! failures) and the sidecar (what was measured with which settings on which GPUs). The log decides: a pair
//! is done if it has a row there. A row is one write of one line, and its details are written before it, so
//! that a run that is killed between the two has details without a row, which the next run ignores, and never
//! a row without its details. The log's lock keeps other runs away from all three. Files that a run made and
//! left empty are removed, so that a mistake in an option leaves nothing to clean up.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ck_select::files;
use ck_select_measurements::outcome::Outcome;
use serde_json::Value;

use super::{Start, Sweep, Tally, check_free};
use crate::error::{MeasureError, at};
use crate::gpu::Gpu;
use crate::log::Log;
use crate::plan::{Pair, Plan};
use crate::row::{Columns, LogRow};
use crate::sidecar::{Details, Files, Meta, PlanFacts, session};

/// The open files, and what is in them.
pub(super) struct Ledger<'a> {
    plan: &'a Plan,
    columns: Columns,
    files: Files,
    /// The files that this run has created.
    made: Vec<PathBuf>,
    log: Log,
    details: Details,
    meta: Meta,
    max_cv: f64,
    done: HashSet<Pair>,
    /// Best time of each problem.
    best_ms: HashMap<u32, f64>,
    /// Counts of all rows of the log.
    tally: Tally,
    /// Number of rows that this run wrote.
    written: usize,
}

impl<'a> Ledger<'a> {
    pub(super) fn open(sweep: &Sweep<'a>, how: Value, max_cv: f64) -> Result<Self, MeasureError> {
        let files = Files::new(sweep.output);
        let made = files.missing();
        // The log comes first, since its lock keeps other runs away from all the files.
        let log = Log::open(&files.log)?.ok_or_else(|| in_use(&files))?;
        let ledger = Self::read(sweep, &files, log, how, max_cv).inspect_err(|_| discard(&made))?;
        Ok(Self { made, ..ledger })
    }

    fn read(
        sweep: &Sweep<'a>,
        files: &Files,
        log: Log,
        how: Value,
        max_cv: f64,
    ) -> Result<Self, MeasureError> {
        let columns = Columns::new(sweep.plan);
        let (log, meta, rows) = begun(sweep, files, log, &columns, how)?;
        let (details, unstable) = Details::open(&files.details)?;
        let mut ledger = Self {
            plan: sweep.plan,
            columns,
            files: files.clone(),
            made: Vec::new(),
            log,
            details,
            meta,
            max_cv,
            done: HashSet::new(),
            best_ms: HashMap::new(),
            tally: Tally::default(),
            written: 0,
        };
        ledger.take(rows, &unstable)?;
        Ok(ledger)
    }

    /// Takes the rows of the log, which must be of the plan.
    fn take(&mut self, rows: Vec<LogRow>, unstable: &HashSet<(String, u64)>) -> Result<(), MeasureError> {
        let (index, names) = (self.plan.index(), self.columns.names());
        for row in rows {
            let fault = |reason: &str| {
                let what = format!("kernel '{}' on problem {}", row.kernel, row.problem_idx);
                MeasureError::file(&self.files.log, format!("{what}{reason}"))
            };
            let pair = index(&row.kernel, row.problem_idx).ok_or_else(|| fault(" is not in the plan"))?;
            let cells = self.columns.problem(&self.plan.problem(pair));
            let cells = names[2..].iter().zip(cells).map(|(name, cell)| format!("{name}={cell}"));
            let problem = cells.collect::<Vec<_>>().join(",");
            if problem != row.problem {
                return Err(fault(&format!(": found {}, the plan's problem is {problem}", row.problem)));
            }
            if self.has(pair) {
                return Err(fault(": found two rows, expected one"));
            }
            self.note(pair, row.latency_ms);
            let unstable = unstable.contains(&(row.kernel.clone(), row.problem_idx));
            self.tally.add(pair, row.latency_ms.map(|_| row.tflops), row.failure(), unstable);
        }
        Ok(())
    }

    fn note(&mut self, pair: Pair, latency_ms: Option<f64>) {
        self.done.insert(pair);
        if let Some(ms) = latency_ms {
            let best = self.best_ms.entry(pair.problem).or_insert(ms);
            *best = best.min(ms);
        }
    }

    /// All rows so far.
    pub(super) const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether a pair has a row.
    pub(super) fn has(&self, pair: Pair) -> bool {
        self.done.contains(&pair)
    }

    /// The best time of a problem so far.
    pub(super) fn best_ms(&self, problem: u32) -> Option<f64> {
        self.best_ms.get(&problem).copied()
    }

    /// Writes a row, unless the pair already has one.
    pub(super) fn record(
        &mut self,
        pair: Pair,
        outcome: &Outcome,
        gpu: &Gpu,
    ) -> Result<&Tally, MeasureError> {
        if !self.has(pair) {
            self.details.append(self.plan, pair, outcome, gpu, self.max_cv)?;
            self.log.append(&self.columns.line(self.plan, pair, outcome))?;
            self.note(pair, outcome.latency_ms());
            let tflops = outcome.measured().map(|measurement| measurement.tflops);
            self.tally.add(pair, tflops, outcome.failure(), outcome.is_unstable(self.max_cv));
            self.written += 1;
        }
        Ok(&self.tally)
    }

    /// Waits until all rows are on disk.
    pub(super) fn sync(&mut self) -> Result<(), MeasureError> {
        self.log.sync()
    }

    pub(super) fn begin(&mut self) -> Result<(), MeasureError> {
        self.meta.origin.sessions.push(session());
        self.meta.write(&self.files.meta)
    }

    /// Records what the runtime reports about a GPU. New facts are written at once, for observers of the
    /// file.
    pub(super) fn device(&mut self, gpu: &Gpu, facts: Value) -> Result<(), MeasureError> {
        let Some(session) = self.meta.origin.sessions.last_mut() else { return Ok(()) };
        let before = session.gpus.get_or_insert_default().insert(gpu.host.clone(), facts.clone());
        if before == Some(facts) { Ok(()) } else { self.meta.write(&self.files.meta) }
    }

    pub(super) fn end(&mut self, end: String) -> Result<(), MeasureError> {
        self.sync()?;
        if let Some(session) = self.meta.origin.sessions.last_mut() {
            session.ended = Some(crate::sidecar::now());
            session.end = Some(end);
            session.rows = self.written as u64;
        }
        self.meta.write(&self.files.meta)
    }

    /// Removes the files that a run has made without writing a row: they would only stand in the way of the
    /// next.
    pub(super) fn discard_empty(&self) {
        if self.tally.rows() == 0 {
            discard(&self.made);
        }
    }

    /// The counts of the log, and how many of its rows this run wrote.
    pub(super) fn into_tally(self) -> (Tally, usize) {
        (self.tally, self.written)
    }
}

/// The log to continue, with its sidecar and rows, or an empty one.
fn begun(
    sweep: &Sweep<'_>,
    files: &Files,
    mut log: Log,
    columns: &Columns,
    how: Value,
) -> Result<(Log, Meta, Vec<LogRow>), MeasureError> {
    let facts = PlanFacts::new(sweep.plan, sweep.shard);
    let known = match sweep.start {
        Start::Fresh => {
            check_free(&files.log)?;
            None
        }
        Start::Overwrite => {
            log.cut(0)?;
            remove(&files.details)?;
            remove(&files.meta)?;
            None
        }
        Start::Resume => Meta::read(&files.meta)?,
    };
    if let Some(meta) = known {
        meta.check(&files.meta, &facts, &how)?;
        let is_retried = |row: &LogRow| row.failure().is_some_and(|class| sweep.retry.contains(&class));
        let rows = log.rows(&columns.names(), is_retried)?;
        let (log, rows) = rows.ok_or_else(|| in_use(files))?;
        return Ok((log, meta, rows));
    }
    if !log.is_empty() {
        let missing = files.meta.display();
        let reason = format!("cannot be resumed without {missing}, which records its plan");
        return Err(MeasureError::file(&files.log, reason));
    }
    let meta = Meta::new(facts, how);
    meta.write(&files.meta)?;
    log.begin(&columns.header())?;
    Ok((log, meta, Vec::new()))
}

/// Removes what can be removed: the error that led to this is the one to report.
fn discard(made: &[PathBuf]) {
    for path in made {
        let _ = remove(path);
    }
}

fn remove(path: &Path) -> Result<(), MeasureError> {
    match files::check(path).and_then(|()| std::fs::remove_file(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(at(path)),
    }
}

/// Names the run that holds the log. A run that has just begun writes its name a moment later.
fn in_use(files: &Files) -> MeasureError {
    let known = || Meta::read(&files.meta).ok().flatten().and_then(|meta| meta.running());
    let mut tries = 0..50;
    let run = loop {
        match known() {
            None if tries.next().is_some() => std::thread::sleep(Duration::from_millis(100)),
            run => break run,
        }
    };
    let run = run.map_or(String::new(), |run| format!(": {run}"));
    MeasureError::file(&files.log, format!("another run is writing it{run}"))
}
