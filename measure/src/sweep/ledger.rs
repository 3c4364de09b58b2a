//! The files of a sweep, kept together.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use super::{Start, Tally};
use crate::error::{MeasureError, at};
use crate::gpu::Gpu;
use crate::log::Log;
use crate::outcome::Outcome;
use crate::plan::{Pair, Plan};
use crate::row::Columns;
use crate::sidecar::{Details, Files, Meta, PlanFacts, Session};

/// The open files, and what is in them.
pub(super) struct Ledger<'a> {
    plan: &'a Plan,
    columns: Columns,
    files: Files,
    log: Log,
    details: Details,
    meta: Meta,
    max_cv: f64,
    done: HashSet<Pair>,
    /// Best time of each problem.
    best_ms: HashMap<u32, f64>,
    earlier: usize,
    tally: Tally,
}

impl<'a> Ledger<'a> {
    pub(super) fn open(
        plan: &'a Plan,
        files: &Files,
        start: Start,
        facts: PlanFacts,
        how: Value,
        max_cv: f64,
    ) -> Result<Self, MeasureError> {
        let columns = Columns::of(plan);
        let known = match start {
            Start::Fresh => {
                for path in [&files.log, &files.meta] {
                    if path.exists() {
                        let path = path.display();
                        return Err(MeasureError::Settings(format!(
                            "{path} exists: --resume goes on with it, --overwrite throws it away"
                        )));
                    }
                }
                None
            }
            Start::Overwrite => {
                remove(files)?;
                None
            }
            Start::Resume => Meta::read(&files.meta)?,
        };
        let (log, rows, meta) = match known {
            Some(meta) => {
                meta.check(&files.meta, &facts, &how)?;
                let (log, rows) = if files.log.exists() {
                    Log::resume(&files.log, &columns.names())?
                } else {
                    (Log::create(&files.log, &columns.header())?, Vec::new())
                };
                (log, rows, meta)
            }
            None if files.log.exists() => {
                let missing = files.meta.display();
                let reason = format!("cannot be resumed without {missing}, which says how it came about");
                return Err(MeasureError::file(&files.log, reason));
            }
            None => {
                let meta = Meta::new(facts, how);
                meta.write(&files.meta)?;
                (Log::create(&files.log, &columns.header())?, Vec::new(), meta)
            }
        };
        let details = Details::open(&files.details)?;
        let mut ledger = Self {
            plan,
            columns,
            files: files.clone(),
            log,
            details,
            meta,
            max_cv,
            done: HashSet::new(),
            best_ms: HashMap::new(),
            earlier: rows.len(),
            tally: Tally::default(),
        };
        let index = plan.index();
        for row in &rows {
            let pair = index.find(&row.kernel, row.problem_idx).ok_or_else(|| {
                let reason =
                    format!("kernel '{}' on problem {} is not in the plan", row.kernel, row.problem_idx);
                MeasureError::file(&files.log, reason)
            })?;
            ledger.note(pair, row.latency_ms);
        }
        Ok(ledger)
    }

    fn note(&mut self, pair: Pair, latency_ms: Option<f64>) {
        self.done.insert(pair);
        if let Some(ms) = latency_ms {
            let best = self.best_ms.entry(pair.problem).or_insert(ms);
            *best = best.min(ms);
        }
    }

    /// Rows that were there already.
    pub(super) const fn earlier(&self) -> usize {
        self.earlier
    }

    /// Whether a pair has its row.
    pub(super) fn has(&self, pair: Pair) -> bool {
        self.done.contains(&pair)
    }

    /// The best time of a problem so far.
    pub(super) fn best_ms(&self, problem: u32) -> Option<f64> {
        self.best_ms.get(&problem).copied()
    }

    /// Writes a row, unless the pair has one.
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
            self.tally.count(pair, outcome, self.max_cv);
        }
        Ok(&self.tally)
    }

    /// Waits until the disk has all rows.
    pub(super) fn sync(&mut self) -> Result<(), MeasureError> {
        self.log.sync()
    }

    pub(super) fn begin(&mut self, session: Session) -> Result<(), MeasureError> {
        self.meta.sessions.push(session);
        self.meta.write(&self.files.meta)
    }

    /// Keeps what the runtime tells of a GPU.
    pub(super) fn device(&mut self, gpu: &Gpu, facts: Value) {
        if let Some(Value::Object(gpus)) = self.meta.sessions.last_mut().map(|session| &mut session.gpus) {
            gpus.insert(gpu.host.clone(), facts);
        }
    }

    pub(super) fn end(&mut self, end: String, clocks: Value) -> Result<(), MeasureError> {
        self.sync()?;
        let rows = self.tally.rows();
        if let Some(session) = self.meta.sessions.last_mut() {
            session.ended = Some(crate::host::now());
            session.end = Some(end);
            session.rows = rows;
            session.clocks["ended"] = clocks;
        }
        self.meta.write(&self.files.meta)
    }

    pub(super) fn into_tally(self) -> Tally {
        self.tally
    }
}

/// Removes a log with its files, unless another process is writing it.
fn remove(files: &Files) -> Result<(), MeasureError> {
    let remove = |path: &Path| match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(at(path)),
    };
    let _held = match std::fs::File::open(&files.log) {
        Ok(file) => match file.try_lock() {
            Ok(()) => Some(file),
            Err(_) => return Err(MeasureError::file(&files.log, "another process is writing it")),
        },
        Err(_) => None,
    };
    remove(&files.log)?;
    remove(&files.details)?;
    remove(&files.meta)
}
