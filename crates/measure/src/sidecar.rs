//! The files beside a log: how it was made (`<log>.meta.json`), and details of each measurement beyond its
//! row (`<log>.details.jsonl`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ck_select::files;
use ck_select_measurements::sidecar::{Session, Sidecar, read_details};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{MeasureError, at};
use crate::gpu::Gpu;
use crate::log::Log;
use crate::outcome::Outcome;
use crate::plan::{Pair, Plan};
use crate::shard::Shard;

/// The files of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The log.
    pub log: PathBuf,
    /// How the log was made.
    pub meta: PathBuf,
    /// Details of each measurement.
    pub details: PathBuf,
}

impl Files {
    /// The files of a log.
    pub fn new(log: &Path) -> Self {
        Self { log: log.to_owned(), meta: Sidecar::meta_of(log), details: Sidecar::details_of(log) }
    }

    /// Those that do not exist.
    pub(crate) fn missing(&self) -> Vec<PathBuf> {
        [&self.log, &self.meta, &self.details].into_iter().filter(|path| !path.exists()).cloned().collect()
    }
}

/// The value of `format` in the file.
const FORMAT: &str = "ck-select-bench";

/// How a log was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Always `ck-select-bench`.
    pub format: String,
    /// Increased when the meaning of a field changes.
    pub version: u32,
    /// What is measured.
    pub plan: PlanFacts,
    /// Runner and settings: rows that were measured in another way do not go into the same log.
    pub how: Value,
    /// Every process that wrote rows, in order.
    pub sessions: Vec<Session>,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFacts {
    /// Hash of kernels, problems and pairs, for a shard of its own part.
    pub fingerprint: String,
    /// Number of kernels.
    pub kernels: usize,
    /// Number of problems.
    pub problems: usize,
    /// Number of pairs, which is the number of rows when all are done.
    pub pairs: usize,
    /// Which part it is.
    pub shard: String,
}

impl PlanFacts {
    /// The facts of a part of a plan.
    pub fn new(plan: &Plan, shard: Shard) -> Self {
        Self {
            fingerprint: plan.fingerprint(),
            kernels: plan.kernels().len(),
            problems: plan.used_problems(),
            pairs: plan.len(),
            shard: shard.to_string(),
        }
    }
}

/// This process, which begins now.
pub(crate) fn session() -> Session {
    Session {
        process: Some(std::process::id()),
        began: Some(now()),
        ckselect: Some(env!("CARGO_PKG_VERSION").to_owned()),
        host: host(),
        gpus: Some(Map::new()),
        ..Session::default()
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Host name, kernel and GPU driver. What a host does not report is absent, never guessed.
fn host() -> Value {
    let system = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let mut facts = json!({ "name": text(system.nodename()), "kernel": text(system.release()) });
    let driver = std::fs::read_to_string("/sys/module/amdgpu/version").unwrap_or_default();
    if !driver.trim().is_empty() {
        facts["amdgpu"] = driver.trim().into();
    }
    facts
}

impl Meta {
    /// A log without sessions.
    pub fn new(plan: PlanFacts, how: Value) -> Self {
        Self { format: FORMAT.to_owned(), version: 1, plan, how, sessions: Vec::new() }
    }

    /// The run that has not ended, described in words.
    pub fn running(&self) -> Option<String> {
        let session = self.sessions.last().filter(|session| session.ended.is_none())?;
        let host = session.host["name"].as_str().unwrap_or("an unknown host");
        let minutes = now().saturating_sub(session.began?) / 60;
        Some(format!("process {} on {host}, for {minutes} minutes", session.process?))
    }

    /// Reads a file; `None` if there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, MeasureError> {
        let text = match files::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(MeasureError::file(path, error)),
        };
        let meta: Self = serde_json::from_str(&text).map_err(|error| MeasureError::file(path, error))?;
        if meta.format != FORMAT || meta.version != 1 {
            let reason =
                format!("found format {} version {}, expected {FORMAT} version 1", meta.format, meta.version);
            return Err(MeasureError::file(path, reason));
        }
        Ok(Some(meta))
    }

    /// Fails with the difference if rows of this plan and kind do not belong in the log.
    pub fn check(&self, path: &Path, plan: &PlanFacts, how: &Value) -> Result<(), MeasureError> {
        let differ = |what: &str, found: &dyn std::fmt::Display, expected: &dyn std::fmt::Display| {
            let reason = format!("{what}: the log has {found}, this sweep {expected}");
            Err(MeasureError::file(path, reason))
        };
        if self.plan != *plan {
            let text = |plan: &PlanFacts| {
                let PlanFacts { kernels, problems, pairs, shard, fingerprint, .. } = plan;
                format!(
                    "{kernels} kernels, {problems} problems, {pairs} pairs, shard {shard} ({fingerprint})"
                )
            };
            return differ("plan", &text(&self.plan), &text(plan));
        }
        if self.how != *how {
            return differ("runner and settings", &self.how, how);
        }
        Ok(())
    }

    /// Writes the file as a whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), MeasureError> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| MeasureError::file(path, error))?;
        text.push(b'\n');
        files::write(path, &text).map_err(at(path))
    }
}

/// The open details file, to which lines are added as to a log. It is written before the log, so that every
/// row has its details. A row that a crash kept out of the log has them twice, and the last ones count.
#[derive(Debug)]
pub struct Details(Log);

impl Details {
    /// Opens or creates the file, and cuts off a torn end. Also returns the kernels and problems whose
    /// measurement is unstable.
    pub fn open(path: &Path) -> Result<(Self, HashSet<(String, u64)>), MeasureError> {
        let in_use = || MeasureError::file(path, "another process has locked it");
        let mut file = Log::open(path)?.ok_or_else(in_use)?;
        let bytes = file.whole()?;
        file.cut(bytes.len())?;
        let mut unstable = HashSet::new();
        let read = read_details(&bytes[..], |line| {
            let pair = (line.kernel, line.problem_idx);
            if line.unstable {
                unstable.insert(pair)
            } else {
                unstable.remove(&pair)
            };
        });
        read.map_err(at(path))?;
        Ok((Self(file), unstable))
    }

    /// Adds the details of a measurement.
    pub fn append(
        &mut self,
        plan: &Plan,
        pair: Pair,
        outcome: &Outcome,
        gpu: &Gpu,
        max_cv: f64,
    ) -> Result<(), MeasureError> {
        let line = json!({
            "problem_idx": plan.requested(pair).idx,
            "kernel": plan.kernel(pair).name,
            "outcome": outcome,
            "unstable": outcome.is_unstable(max_cv),
            "gpu": gpu.host,
            "at": now(),
        });
        self.0.append(format!("{line}\n").as_bytes())
    }
}
