//! Records as JSON lines, of which stores are made and which carry winners between them.

use std::io;

use serde::{Deserialize, Serialize};

use super::{PoolHash, Record, Scope, StoreError, Winner};
use crate::problem::{AUTO, Problem, ProblemDefaults};
use crate::vocab::{Arch, Op, WinnerSource};

/// Longest line: a name has at most 1,024 bytes, a text of a scope 256.
pub(super) const LONGEST_LINE: usize = 16 << 10;

/// A line of a file, before its values are checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    arch: Arch,
    device: String,
    pool: PoolHash,
    library: String,
    #[serde(default)]
    driver: String,
    op: Op,
    problem: String,
    kernel: String,
    /// Only where the problem leaves the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    split_k: Option<i32>,
    median_ms: f64,
    cv: f64,
    repeats: u32,
    candidates: u32,
    measured_at: u64,
    #[serde(default = "imported")]
    source: WinnerSource,
}

const fn imported() -> WinnerSource {
    WinnerSource::Import
}

impl Line {
    fn of(Record { scope, problem, winner }: &Record) -> Self {
        let Scope { arch, device, pool, library, driver } = scope.clone();
        let Winner { median_ms, cv, repeats, candidates, measured_at, source, .. } = *winner;
        let split_k = problem.chooses_split().then_some(winner.split_k);
        let (op, problem, kernel) = (problem.op(), problem.to_string(), winner.kernel.to_string());
        Self {
            arch,
            device,
            pool,
            library,
            driver,
            op,
            problem,
            kernel,
            split_k,
            median_ms,
            cv,
            repeats,
            candidates,
            measured_at,
            source,
        }
    }

    /// Reads the JSON of a line.
    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        if json.len() > LONGEST_LINE {
            return Err(format!("{} bytes, expected at most {LONGEST_LINE}", json.len()));
        }
        if !json.starts_with(b"{") {
            return Err("expected a JSON object, as `ckselect store export` writes".to_owned());
        }
        serde_json::from_slice(json).map_err(|error| {
            // The parser only sees one line, and calls it the first.
            let text = error.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            format!("{text} (column {})", error.column())
        })
    }

    pub(super) fn is_of(&self, scope: &Scope) -> bool {
        let Scope { arch, device, pool, library, driver } = scope;
        (&self.arch, &self.device, &self.pool) == (arch, device, pool)
            && (&self.library, &self.driver) == (library, driver)
    }

    /// Checks every value.
    pub(super) fn record(self) -> Result<Record, String> {
        let Self { arch, device, pool, library, driver, op, problem, .. } = self;
        let problem = Problem::parse(op, &problem, &ProblemDefaults::of(op))
            .map_err(|error| format!("problem: {error}"))?;
        let Self { median_ms, cv, repeats, candidates, measured_at, source, .. } = self;
        let split_k = match (self.split_k, problem.split_k()) {
            (None, AUTO) => {
                return Err("split_k: found nothing, expected a number, which the problem lacks".to_owned());
            }
            (parts, own) => parts.unwrap_or(own),
        };
        let kernel = self.kernel.into();
        let winner = Winner { kernel, split_k, median_ms, cv, repeats, candidates, measured_at, source };
        let scope = Scope { arch, device, pool, library, driver };
        Record::new(scope, &problem, winner).map_err(|error| error.to_string())
    }
}

/// Writes records as JSON lines. Numbers read back to the same bits.
pub fn write_records<'r>(
    records: impl IntoIterator<Item = &'r Record>,
    mut out: impl io::Write,
) -> io::Result<()> {
    for record in records {
        serde_json::to_writer(&mut out, &Line::of(record))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads the records in the contents of a file; `label` names it in errors. Only `driver` and `source` may be
/// missing; they default to empty and `import`. The first invalid line is an error: files are read completely
/// or not at all.
pub fn read_records(label: &str, bytes: &[u8]) -> Result<Vec<Record>, StoreError> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let lines = (1..).zip(bytes.split(|&byte| byte == b'\n'));
    let record = |(line, text)| {
        let at = |reason| StoreError::Line { file: label.to_owned(), line, reason };
        Line::parse(text).and_then(Line::record).map_err(at)
    };
    lines.filter(|(_, line)| !line.trim_ascii().is_empty()).map(record).collect()
}
