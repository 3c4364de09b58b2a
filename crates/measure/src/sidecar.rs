//! The files beside a log: how it was made (`<log>.meta.json`), and details of each measurement beyond its
//! row (`<log>.details.jsonl`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ck_select::files;
use ck_select_measurements::outcome::Outcome;
use ck_select_measurements::sidecar::{DetailsLine, Origin, Session, Sidecar, read_details};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{MeasureError, at};
use crate::gpu::Gpu;
use crate::log::Log;
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

    /// The files that do not exist.
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
    /// Kernels, problems and pairs of the sweep.
    pub plan: PlanFacts,
    /// Runner and settings: rows that were measured in another way do not go into the same log.
    pub how: Value,
    /// Every process that wrote rows.
    #[serde(flatten)]
    pub origin: Origin,
}

/// The identity and size of a plan.
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
        Self { format: FORMAT.to_owned(), version: 1, plan, how, origin: Origin::default() }
    }

    /// The run that has not ended, described in words.
    pub fn running(&self) -> Option<String> {
        let session = self.origin.sessions.last().filter(|session| session.ended.is_none())?;
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
        let line = DetailsLine {
            problem_idx: plan.requested(pair).idx,
            kernel: plan.kernel(pair).name.clone(),
            outcome: outcome.clone(),
            unstable: outcome.is_unstable(max_cv),
            gpu: gpu.host.clone(),
            at: now(),
        };
        self.0.append(format!("{}\n", json!(line)).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use ck_select_measurements::outcome::{Failure, FailureClass, Measurement};

    use super::*;

    /// The bytes that bench has always written, which the reports read back.
    #[test]
    fn what_a_sweep_writes_its_reader_reads() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(&folder.path().join("a.csv"));
        let kernel = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
        let plan = crate::plan::tests::plan(kernel, "C,K,Hi,Wi,Y,X\n64,64,8,8,1,1\n");
        let facts =
            PlanFacts { fingerprint: "f".to_owned(), ..PlanFacts::new(&plan, "1/1".parse().unwrap()) };
        let mut meta = Meta::new(facts, json!({ "runner": "r", "batch": 8 }));
        meta.write(&files.meta).unwrap();
        let head = r#"{
  "format": "ck-select-bench",
  "version": 1,
  "plan": {
    "fingerprint": "f",
    "kernels": 1,
    "problems": 1,
    "pairs": 1,
    "shard": "1/1"
  },
  "how": {
    "batch": 8,
    "runner": "r"
  },
  "sessions": ["#;
        assert_eq!(std::fs::read_to_string(&files.meta).unwrap(), format!("{head}]\n}}\n"));
        let gpus = json!({ "0": { "name": "X", "target": "gfx942" } });
        meta.origin.sessions.push(Session {
            process: Some(7),
            began: Some(100),
            ended: Some(160),
            end: Some("completed".to_owned()),
            rows: 2,
            host: json!({ "name": "h" }),
            gpus: gpus.as_object().cloned(),
            ..Session::default()
        });
        meta.write(&files.meta).unwrap();
        let session = r#"
    {
      "process": 7,
      "began": 100,
      "ended": 160,
      "end": "completed",
      "rows": 2,
      "ckselect": null,
      "host": {
        "name": "h"
      },
      "gpus": {
        "0": {
          "name": "X",
          "target": "gfx942"
        }
      }
    }
  ]
}
"#;
        assert_eq!(std::fs::read_to_string(&files.meta).unwrap(), format!("{head}{session}"));
        assert_eq!(Meta::read(&files.meta).unwrap(), Some(meta.clone()));

        let pair = plan.pairs().next().unwrap();
        let gpu = Gpu { visible: "0".to_owned(), host: "3".to_owned() };
        let measured = Measurement { cv: Some(0.25), samples: 5, timed: 2, ..Measurement::new(0.5, 1e9) };
        let failed = Outcome::Failed(Failure::new(FailureClass::Crash, "signal 11"));
        let (mut details, _) = Details::open(&files.details).unwrap();
        let written = [Outcome::Measured(measured), Outcome::CutOff { fastest_ms: 1.5 }, failed];
        for outcome in &written {
            details.append(&plan, pair, outcome, &gpu, 0.1).unwrap();
        }
        let text = std::fs::read_to_string(&files.details).unwrap();
        let mut read = Vec::new();
        read_details(text.as_bytes(), |line| read.push(line)).unwrap();
        let outcomes = [
            r#"{"measured":{"bandwidth_gb_s":null,"cv":0.25,"latency_ms":0.5,"non_zero":null,"samples":5,"tflops":2.0,"timed":2}}"#,
            r#"{"cut_off":{"fastest_ms":1.5}}"#,
            r#"{"failed":{"class":"crash","message":"signal 11"}}"#,
        ];
        assert_eq!(read.len(), 3);
        for (index, (line, read)) in text.lines().zip(&read).enumerate() {
            let (at, outcome, unstable) = (read.at, outcomes[index], index == 0);
            let expected = format!(
                r#"{{"at":{at},"gpu":"3","kernel":"{kernel}","outcome":{outcome},"problem_idx":0,"unstable":{unstable}}}"#
            );
            assert_eq!(line, expected);
            assert_eq!((&read.outcome, read.unstable), (&written[index], unstable));
        }

        let sidecar = Sidecar::beside(&files.log).unwrap();
        assert_eq!(sidecar.sessions, meta.origin.sessions);
        let details = sidecar.details.unwrap();
        assert_eq!((details.rows, details.again), (1, 2), "the last line of a pair counts");
    }
}
