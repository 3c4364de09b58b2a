//! Records as JSON lines, of which stores are made and which carry winners between them.

use serde::{Deserialize, Serialize};

use super::{PoolHash, Record, Scope, StoreError, Winner};
use crate::files;
use crate::problem::{Problem, ProblemDefaults};
use crate::vocab::{Arch, Op, WinnerSource};

/// Longest line: a name has at most 1,024 bytes, a text of a scope 256.
pub(super) const LONGEST_LINE: usize = 16 << 10;

/// How every line begins, and so every store.
pub(super) const START: &[u8] = b"{\"arch\":";

/// A line of a file, before its values are checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    split_k: Option<i32>,
    median_ms: f64,
    cv: f64,
    repeats: u32,
    candidates: u32,
    measured_at: u64,
    source: Option<WinnerSource>,
}

impl Line {
    fn new(Record { scope, problem, winner }: &Record) -> Self {
        Self {
            arch: scope.arch,
            device: scope.device.clone(),
            pool: scope.pool,
            library: scope.library.clone(),
            driver: scope.driver.clone(),
            op: problem.op(),
            problem: problem.to_string(),
            kernel: winner.kernel.to_string(),
            split_k: problem.chooses_split().then_some(winner.split_k),
            median_ms: winner.median_ms,
            cv: winner.cv,
            repeats: winner.repeats,
            candidates: winner.candidates,
            measured_at: winner.measured_at,
            source: Some(winner.source),
        }
    }

    fn parse(json: &[u8]) -> Result<Self, String> {
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

    /// Checks every value.
    fn record(self) -> Result<Record, String> {
        let problem = Problem::parse(self.op, &self.problem, &ProblemDefaults::new(self.op))
            .map_err(|error| format!("problem: {error}"))?;
        let (kernel, split_k) = (self.kernel.into(), self.split_k.unwrap_or(problem.split_k()));
        let Self { median_ms, cv, repeats, candidates, measured_at, .. } = self;
        let source = self.source.unwrap_or(WinnerSource::Import);
        let winner = Winner { kernel, split_k, median_ms, cv, repeats, candidates, measured_at, source };
        let Self { arch, device, pool, library, driver, .. } = self;
        let scope = Scope { arch, device, pool, library, driver };
        Record::new(scope, &problem, winner).map_err(|error| error.to_string())
    }
}

/// The record in a line, or what is wrong with it.
pub(super) fn parse(json: &[u8]) -> Result<Record, String> {
    Line::parse(json)?.record()
}

/// Records as JSON lines. Numbers read back to the same bits.
pub fn json_lines<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<u8> {
    let mut text = Vec::new();
    for record in records {
        // Memory takes whatever is written.
        let _ = serde_json::to_writer(&mut text, &Line::new(record));
        text.push(b'\n');
    }
    text
}

/// Reads the records in the contents of a file; `label` names it in errors. Only `driver` and `source` may be
/// missing; they default to empty and `import`. The first invalid line is an error: files are read completely
/// or not at all.
pub fn read_records(label: &str, bytes: &[u8]) -> Result<Vec<Record>, StoreError> {
    let lines = (1..).zip(files::without_bom(bytes).split(|&byte| byte == b'\n'));
    let record = |(line, text)| {
        parse(text).map_err(|reason| StoreError::Line { file: label.to_owned(), line, reason })
    };
    lines.filter(|(_, line)| !line.trim_ascii().is_empty()).map(record).collect()
}

/// The lines of a file, with their numbers. The last one may have no end: it is being written, or a killed
/// process left it. Then it counts if it can be read.
pub(super) fn lines(text: &[u8]) -> Vec<(usize, &[u8])> {
    let (whole, rest) = text.split_at(whole_lines(text));
    let rest = Some(rest).filter(|rest| parse(rest).is_ok());
    let lines = whole.split(|&byte| byte == b'\n').chain(rest);
    (1..).zip(lines).filter(|(_, line)| !line.trim_ascii().is_empty()).collect()
}

/// The length of the lines that have an end.
pub(super) fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

/// Whether a text begins as a line does, however short it is.
pub(super) fn is_start(text: &[u8]) -> bool {
    text.iter().zip(START).all(|(byte, expected)| byte == expected)
}
