//! Merges logs of shards, and reports overlaps.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ck_select::files::{self, Pending};
use ck_select::kernel::Kernel;
use ck_select::problem::{InvalidField, Problem, ProblemDefaults};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::error::{MeasureError, at};
use crate::log::whole_lines;
use crate::row::{Logged, NO_LATENCY, NamedRow};
use crate::shard::Shard;
use crate::sidecar::{Files, PlanFacts};

/// What a merge found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Rows of the result.
    pub rows: usize,
    /// Rows that several files have with the same contents.
    pub overlaps: usize,
    /// Notes for the user: torn ends, unfinished shards.
    pub notes: Vec<String>,
}

/// A row with all its cells.
struct Row {
    file: usize,
    line: u64,
    logged: Logged,
    cells: csv::StringRecord,
}

/// Merges logs into a new file, sorted by problem and kernel. Nothing is written on an error. With
/// `complete`, missing rows of the plan are an error, whether a shard is unfinished or its log is not given.
pub fn merge(inputs: &[PathBuf], output: &Path, complete: bool) -> Result<Merged, MeasureError> {
    let mut merged = Merged::default();
    let mut header: Option<csv::StringRecord> = None;
    let mut rows: BTreeMap<(u64, String), Row> = BTreeMap::new();
    // The problem's columns, which must be the same for the same number in all files.
    let mut problems: BTreeMap<u64, (usize, u64, Vec<String>)> = BTreeMap::new();
    let mut parts = Vec::new();
    for (file, path) in inputs.iter().enumerate() {
        let (columns, found) = read(file, path, &mut merged.notes)?;
        match &header {
            Some(first) if *first != columns => {
                let text = |record: &csv::StringRecord| record.iter().collect::<Vec<_>>().join(",");
                let reason = format!(
                    "line 1: found columns {}, expected {} as in {}",
                    text(&columns),
                    text(first),
                    inputs[0].display()
                );
                return Err(MeasureError::file(path, reason));
            }
            Some(_) => {}
            None => header = Some(columns.clone()),
        }
        let rows_here = found.len();
        for row in found {
            same_problem(inputs, &columns, &row, &mut problems)?;
            merged.overlaps += usize::from(!add(inputs, row, &mut rows)?);
        }
        parts.push(part(path, rows_here, &mut merged.notes)?);
    }
    if rows.is_empty() {
        let logs = inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(MeasureError::Settings(format!("{logs}: found no row, expected at least one")));
    }
    if complete {
        check_complete(inputs, &parts, rows.len(), &merged.notes)?;
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let records = header.iter().chain(rows.values().map(|row| &row.cells));
    for record in records {
        writer.write_record(record).map_err(|error| MeasureError::file(output, error))?;
    }
    let bytes = writer.into_inner().map_err(|error| MeasureError::file(output, error))?;
    let standard_output = output == Path::new("-");
    let written = if standard_output { Pending::standard_output() } else { Pending::create(output) };
    let mut pending = written.map_err(at(output))?;
    pending.write_all(&bytes).map_err(at(output))?;
    let is_stream = pending.is_stream();
    pending.commit().map_err(at(output))?;
    // A pipe has no sidecar.
    if !is_stream {
        let meta = json!({ "format": FORMAT, "version": 1, "rows": rows.len(), "parts": parts });
        let path = Files::of(output).meta;
        files::write(&path, format!("{meta:#}\n").as_bytes()).map_err(at(&path))?;
    }
    merged.rows = rows.len();
    Ok(merged)
}

/// The value of `format` in the sidecar of a merged log.
const FORMAT: &str = "ck-select-merge";

/// Fails unless the logs belong to one plan and together have all its rows.
fn check_complete(
    inputs: &[PathBuf],
    parts: &[Value],
    rows: usize,
    notes: &[String],
) -> Result<(), MeasureError> {
    let mut plan: Option<(&PathBuf, PlanFacts)> = None;
    let mut shards = BTreeSet::new();
    for (path, part) in inputs.iter().zip(parts) {
        let incomplete = |reason: String| MeasureError::file(path, reason);
        let mut found = Vec::new();
        plans(&part["meta"], &mut found).map_err(|reason| {
            incomplete(format!(
                "{}: {reason}: the size of a complete log is not known",
                Files::of(path).meta.display()
            ))
        })?;
        for facts in found {
            shards.insert(facts.shard.clone());
            match &plan {
                Some((first, known)) if known.whole != facts.whole => {
                    let first = first.display();
                    return Err(incomplete(format!(
                        "it belongs to another plan than {first}: merge each plan separately"
                    )));
                }
                Some(_) => {}
                None => plan = Some((path, facts)),
            }
        }
    }
    let Some((_, facts)) = plan else { return Ok(()) };
    if rows >= facts.whole.pairs {
        return Ok(());
    }
    let count = facts.shard.parse().map_or(1, |shard: Shard| shard.count());
    let missing = (1..=count).map(|index| format!("{index}/{count}")).filter(|shard| !shards.contains(shard));
    let mut why: Vec<String> = missing.map(|shard| format!("no log of shard {shard}")).collect();
    why.truncate(MAX_NAMED);
    why.extend(notes.iter().cloned());
    if why.is_empty() {
        // Logs that were merged before, from which somebody removed rows.
        let rows = |(path, part): (&PathBuf, &Value)| format!("{} has {} rows", path.display(), part["rows"]);
        why.extend(inputs.iter().zip(parts).map(rows));
    }
    let planned = facts.whole.pairs;
    Err(MeasureError::Settings(format!("the logs have {rows} of {planned} rows: {}", why.join("; "))))
}

/// How many missing shards are named at most.
const MAX_NAMED: usize = 10;

/// The plans that a sidecar names: a sweep's own, or those of all logs that were merged or converted.
fn plans(meta: &Value, found: &mut Vec<PlanFacts>) -> Result<(), String> {
    if meta.is_null() {
        return Err("found nothing".to_owned());
    }
    if let Some(parts) = meta["parts"].as_array() {
        return parts.iter().try_for_each(|part| plans(&part["meta"], found));
    }
    found.push(PlanFacts::deserialize(&meta["plan"]).map_err(|error| format!("plan: {error}"))?);
    Ok(())
}

fn read(
    file: usize,
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<(csv::StringRecord, Vec<Row>), MeasureError> {
    let malformed = |error: csv::Error| MeasureError::file(path, error);
    let bytes = files::read(path).map_err(at(path))?;
    let whole = whole_lines(&bytes);
    if whole < bytes.len() {
        notes.push(format!("{}: its last row is torn and was skipped", path.display()));
    }
    let mut reader = csv::Reader::from_reader(&bytes[..whole]);
    let header = reader.headers().map_err(malformed)?.clone();
    let names: Vec<&str> = header.iter().collect();
    for needed in ["kernel", "problem_idx", "latency_ms", "tflops"] {
        if !names.contains(&needed) {
            let reason = format!("line 1: found columns {}, expected '{needed}' among them", names.join(","));
            return Err(MeasureError::file(path, reason));
        }
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let cells = record.map_err(malformed)?;
        let line = cells.position().map_or(0, csv::Position::line);
        let logged = Logged::read(&names, &cells);
        let logged = logged.and_then(|logged| {
            let row = NamedRow { header: &header, record: &cells };
            check_figures(&row, &logged).map(|()| logged).map_err(|error| error.to_string())
        });
        let logged = logged.map_err(|reason| MeasureError::file(path, format!("line {line}: {reason}")))?;
        rows.push(Row { file, line, logged, cells });
    }
    Ok((header, rows))
}

/// Refuses a time that no device can have measured, where the row's kernel and problem are known.
fn check_figures(row: &NamedRow<'_>, logged: &Logged) -> Result<(), InvalidField> {
    let (Some(latency_ms), Ok(kernel)) = (logged.latency_ms, Kernel::from_name(&logged.kernel)) else {
        return Ok(());
    };
    let defaults = ProblemDefaults { dtype: kernel.kind.dtype(), ..ProblemDefaults::of(kernel.op()) };
    match Problem::from_fields(kernel.op(), row, &defaults) {
        Ok(problem) => problem.check_figures(logged.tflops, latency_ms),
        Err(_) => Ok(()),
    }
}

/// Columns that hold results rather than the problem.
const ANSWERS: [&str; 6] = ["kernel", "latency_ms", "tflops", "bandwidth_gb_s", "non_zero", "error_msg"];
/// Columns that come from the kernel if a problem set does not specify them.
const KERNELS: [&str; 2] = ["dtype", "layout"];

fn same_problem(
    inputs: &[PathBuf],
    header: &csv::StringRecord,
    row: &Row,
    problems: &mut BTreeMap<u64, (usize, u64, Vec<String>)>,
) -> Result<(), MeasureError> {
    let of_problem = |name: &&str| !ANSWERS.contains(name) && !KERNELS.contains(name);
    let asked: Vec<String> = header
        .iter()
        .zip(row.cells.iter())
        .filter(|(name, _)| of_problem(name))
        .map(|(_, cell)| cell.to_owned())
        .collect();
    let number = row.logged.problem_idx;
    let (file, line, known) = problems.entry(number).or_insert_with(|| (row.file, row.line, asked.clone()));
    if *known == asked {
        return Ok(());
    }
    let first = inputs[*file].display();
    let reason = format!("line {}: problem {number} is another one than in {first}, line {line}", row.line);
    Err(MeasureError::file(&inputs[row.file], reason))
}

/// Adds a row, unless it is there; a different one for its kernel and problem is an error.
fn add(inputs: &[PathBuf], row: Row, rows: &mut BTreeMap<(u64, String), Row>) -> Result<bool, MeasureError> {
    let key = (row.logged.problem_idx, row.logged.kernel.clone());
    let Some(known) = rows.get(&key) else {
        rows.insert(key, row);
        return Ok(true);
    };
    if known.cells == row.cells {
        return Ok(false);
    }
    let shown = |row: &Row| row.logged.latency_ms.map_or(NO_LATENCY.to_owned(), |ms| format!("{ms:?}"));
    let reason = format!(
        "line {}: kernel '{}' on problem {} has latency {}, in {}, line {}, it has {}",
        row.line,
        key.1,
        key.0,
        shown(&row),
        inputs[known.file].display(),
        known.line,
        shown(known),
    );
    Err(MeasureError::file(&inputs[row.file], reason))
}

/// Where a part came from, for the sidecar of the result: the part's own sidecar, which a merged log has,
/// too.
fn part(path: &Path, rows: usize, notes: &mut Vec<String>) -> Result<Value, MeasureError> {
    let sidecar = Files::of(path).meta;
    let meta: Value = match files::read(&sidecar) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| MeasureError::file(&sidecar, error))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Value::Null,
        Err(error) => return Err(MeasureError::io(sidecar.display(), error)),
    };
    if let (Some(planned), Some(shard)) = (meta["plan"]["pairs"].as_u64(), meta["plan"]["shard"].as_str())
        && (rows as u64) < planned
    {
        notes.push(format!("{}: shard {shard} has {rows} of {planned} rows", path.display()));
    }
    Ok(json!({ "file": path.display().to_string(), "rows": rows, "meta": meta }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "kernel,problem_idx,N,latency_ms,tflops,non_zero,error_msg\n";

    fn merged(files: &[&str]) -> Result<(Merged, String), String> {
        let folder = tempfile::tempdir().unwrap();
        let shown = format!("{}/", folder.path().display());
        let inputs: Vec<PathBuf> = (0..files.len()).map(|i| folder.path().join(format!("{i}.csv"))).collect();
        for (path, rows) in inputs.iter().zip(files) {
            std::fs::write(path, format!("{HEADER}{rows}")).unwrap();
        }
        let output = folder.path().join("all.csv");
        match merge(&inputs, &output, false) {
            Ok(merged) => {
                let text = std::fs::read_to_string(output).unwrap();
                Ok((merged, text.strip_prefix(HEADER).unwrap().to_owned()))
            }
            Err(error) => {
                assert!(!output.exists());
                Err(error.to_string().replace(&shown, ""))
            }
        }
    }

    #[test]
    fn rows_are_sorted_and_overlaps_are_counted() {
        let (found, text) =
            merged(&["b,1,7,0.5,1.0,1,\na,1,7,0.25,2.0,1,\n", "a,0,3,N/A,0.0,0,crash\na,1,7,0.25,2.0,1,\n"])
                .unwrap();
        assert_eq!(text, "a,0,3,N/A,0.0,0,crash\na,1,7,0.25,2.0,1,\nb,1,7,0.5,1.0,1,\n");
        assert_eq!((found.rows, found.overlaps), (3, 1));
    }

    #[test]
    fn logs_without_rows_are_no_log() {
        let error = merged(&["", ""]).unwrap_err();
        assert_eq!(error, "0.csv, 1.csv: found no row, expected at least one");
        assert_eq!(merged(&["", "a,1,7,0.5,1.0,1,\n"]).unwrap().0.rows, 1);
    }

    #[test]
    fn times_that_no_device_can_have_measured_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let log = |name: &str, time: &str| {
            let kernel = "gemm_universal_bf16_rcr_compv3_cshuffle_intrawave_\
                          False_False_False_False_256x256x64_2x2x1_32x32x16";
            let path = folder.path().join(name);
            let row = format!("{kernel},0,4096,4096,4096,{time}");
            std::fs::write(&path, format!("kernel,problem_idx,m,n,k,latency_ms,tflops\n{row}\n")).unwrap();
            path
        };
        let output = folder.path().join("all.csv");
        let merge = |log: PathBuf| merge(&[log], &output, false);
        assert_eq!(merge(log("good.csv", "0.2,687.2")).unwrap().rows, 1);
        let error = merge(log("bad.csv", "0.000537,255704.0")).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "bad.csv: line 2: tflops: found 255704, expected at most 20000: no device does more with bf16"
            ),
            "{error}"
        );
    }

    #[test]
    fn conflicts_are_refused() {
        let error = merged(&["a,1,7,0.5,1.0,1,\n", "a,1,7,0.25,2.0,1,\n"]).unwrap_err();
        assert_eq!(
            error,
            "1.csv: line 2: kernel 'a' on problem 1 has latency 0.25, in 0.csv, line 2, it has 0.5"
        );
    }

    #[test]
    fn one_number_is_one_problem() {
        let error = merged(&["a,1,7,0.5,1.0,1,\n", "b,1,8,0.5,1.0,1,\n"]).unwrap_err();
        assert_eq!(error, "1.csv: line 2: problem 1 is another one than in 0.csv, line 2");
    }

    #[test]
    fn torn_ends_are_told_and_other_columns_refused() {
        let (found, text) = merged(&["a,1,7,0.5,1.0,1,\nb,1,7,0."]).unwrap();
        assert_eq!((text.as_str(), found.notes.len()), ("a,1,7,0.5,1.0,1,\n", 1));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, "kernel,latency_ms,tflops\n").unwrap();
        let error = merge(&[path], &folder.path().join("y.csv"), false).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "line 1: found columns kernel,latency_ms,tflops, expected 'problem_idx' among them"
            )
        );
    }
}
