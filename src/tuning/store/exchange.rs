//! Records as text: JSON lines or CSV, which carry winners between stores and into other programs.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::{Record, Scope, StoreError, Winner, WinnerSource};
use crate::problem::{Problem, ProblemDefaults};
use crate::vocab::Op;

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFormat {
    /// One JSON object per line.
    JsonLines,
    /// Comma-separated values with a header.
    Csv,
}

/// A line of a file, before its texts are checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    arch: String,
    device: String,
    pool: String,
    library: String,
    #[serde(default)]
    driver: String,
    op: String,
    problem: String,
    kernel: String,
    median_ms: f64,
    cv: f64,
    repeats: u32,
    candidates: u32,
    measured_at: u64,
    #[serde(default)]
    source: Option<String>,
}

impl Line {
    fn of(record: &Record) -> Self {
        let Record { scope, problem, winner } = record;
        Self {
            arch: scope.arch.to_string(),
            device: scope.device.clone(),
            pool: scope.pool.to_string(),
            library: scope.library.clone(),
            driver: scope.driver.clone(),
            op: problem.op().to_string(),
            problem: problem.to_string(),
            kernel: winner.kernel.to_string(),
            median_ms: winner.median_ms,
            cv: winner.cv,
            repeats: winner.repeats,
            candidates: winner.candidates,
            measured_at: winner.measured_at,
            source: Some(winner.source.to_string()),
        }
    }

    fn record(self) -> Result<Record, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let op: Op = self.op.parse().map_err(|error| format!("op: {}", text(&error)))?;
        let scope = Scope {
            arch: self.arch.parse().map_err(|error| format!("arch: {}", text(&error)))?,
            device: self.device,
            pool: self.pool.parse().map_err(|error| text(&error))?,
            library: self.library,
            driver: self.driver,
        };
        let problem = Problem::parse(op, &self.problem, &ProblemDefaults::of(op))
            .map_err(|error| format!("problem: {error}"))?;
        let source = match self.source {
            Some(word) => word.parse().map_err(|error| text(&error))?,
            None => WinnerSource::Import,
        };
        let winner = Winner {
            kernel: self.kernel.into(),
            median_ms: self.median_ms,
            cv: self.cv,
            repeats: self.repeats,
            candidates: self.candidates,
            measured_at: self.measured_at,
            source,
        };
        Record::new(scope, &problem, winner).map_err(|error| error.to_string())
    }
}

/// Writes records. Numbers read back to the same bits.
pub fn write_records(format: RecordFormat, records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    match format {
        RecordFormat::JsonLines => {
            for record in records {
                serde_json::to_writer(&mut *out, &Line::of(record))?;
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        RecordFormat::Csv => {
            let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
            // The header is written even without records.
            writer.write_record(COLUMNS)?;
            for record in records {
                writer.serialize(Line::of(record))?;
            }
            writer.flush()
        }
    }
}

const COLUMNS: [&str; 14] = [
    "arch",
    "device",
    "pool",
    "library",
    "driver",
    "op",
    "problem",
    "kernel",
    "median_ms",
    "cv",
    "repeats",
    "candidates",
    "measured_at",
    "source",
];

/// Reads the records in the contents of a file; `label` names it in errors. JSON lines begin with `{`,
/// everything else is CSV. Only `driver` and `source` may be missing; they default to empty and `import`. The
/// first invalid line is an error: files are read completely or not at all.
pub fn read_records(label: &str, bytes: &[u8]) -> Result<Vec<Record>, StoreError> {
    let at = |line: u64, reason: String| StoreError::Line { file: label.to_owned(), line, reason };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let lines = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
            return Err(at(lines as u64, "not UTF-8".to_owned()));
        }
    };
    if text.trim_start().starts_with('{') { read_json(text, at) } else { read_csv(text, at) }
}

fn read_json(text: &str, at: impl Fn(u64, String) -> StoreError) -> Result<Vec<Record>, StoreError> {
    let mut records = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(line).map_err(|error| {
            // The parser only sees one line, and calls it the first.
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default();
            at(number, format!("{said} (column {})", error.column()))
        })?;
        records.push(line.record().map_err(|reason| at(number, reason))?);
    }
    Ok(records)
}

fn read_csv(text: &str, at: impl Fn(u64, String) -> StoreError) -> Result<Vec<Record>, StoreError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(error) => return Err(at(1, error.to_string())),
    };
    if let Some(column) = header.iter().find(|column| !COLUMNS.contains(column)) {
        return Err(at(1, format!("unknown column '{column}', expected {}", COLUMNS.join(", "))));
    }
    let mut records = Vec::new();
    let mut row = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut row) {
            Ok(false) => return Ok(records),
            Ok(true) => {}
            Err(error) => {
                let line = error.position().map_or(1, csv::Position::line);
                return Err(at(line, error.to_string()));
            }
        }
        let number = row.position().map_or(1, csv::Position::line);
        let line: Line = row.deserialize(Some(&header)).map_err(|error| {
            let reason = match error.kind() {
                csv::ErrorKind::Deserialize { err, .. } => match err.field() {
                    Some(field) => {
                        let name = header.get(field as usize).unwrap_or_default();
                        format!("{name}: {}", err.kind())
                    }
                    None => err.kind().to_string(),
                },
                _ => error.to_string(),
            };
            at(number, reason)
        })?;
        records.push(line.record().map_err(|reason| at(number, reason))?);
    }
}
