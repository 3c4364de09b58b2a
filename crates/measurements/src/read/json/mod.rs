//! Results of `generate_benchmark_data`: one object, or, while it runs, the bare list of its results; those
//! of `fmha_benchmark`; and lists of the objects that benchmarks of GEMMs print.
//!
//! Results are read one kernel at a time, so the file may be larger than memory.

mod fmha;
mod gemm;

use ck_select_types::cells::Cell;
use ck_select_types::each_operation;
use ck_select_types::json::Strict;
use ck_select_types::kernel::Kernel;
use ck_select_types::listing::UnknownColumn;
use ck_select_types::nearest::nearest;
use ck_select_types::operation::OperationProblem;
use ck_select_types::problem::InvalidField;
use ck_select_types::sheet::Text;
use ck_select_types::sheet::json::{JsonFault, JsonText};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::DataError;
use super::problems::plain;
use super::record::Counts;
use super::rows::{Fault, FileRows, RowOutcome};

/// Reads all results. The file does not record bandwidth, which is computed from the problem and the time.
pub(super) fn read(text: Text<'_>, rows: FileRows<'_>) -> Result<Counts, DataError> {
    let mut results = Results { rows, known_keys: Vec::new(), arch: None };
    match results.document(&mut JsonText::new(text)) {
        Ok(()) => {}
        Err(Stop::Sink(error)) => return Err(error),
        Err(Stop::Json(fault)) if results.rows.counts == Counts::default() => {
            return Err(DataError::format(results.rows.file, fault));
        }
        Err(Stop::Json(fault)) => {
            // What came before is good: the benchmark was stopped while writing.
            let place = format!("line {}, column {}", fault.line, fault.column);
            results.rows.reject(place, format!("{fault}; the rest of the file is not read"))?;
        }
    }
    Ok(results.rows.counts)
}

/// What ends the reading.
enum Stop {
    Json(JsonFault),
    Sink(DataError),
}

impl From<JsonFault> for Stop {
    fn from(fault: JsonFault) -> Self {
        Self::Json(fault)
    }
}

impl From<DataError> for Stop {
    fn from(error: DataError) -> Self {
        Self::Sink(error)
    }
}

/// The keys of a kernel's name in a result with a problem.
const NAMES: [&str; 3] = ["kernel", "kernel_name", "name"];

/// Keys of the speed, and the TFLOPS of their units.
const SPEEDS: &[(&str, f64)] = &[("tflops", 1.0), ("measured_tflops", 1.0)];

/// Keys of the time, and the milliseconds of their units.
const TIMES: &[(&str, f64)] = &[("avg_time_ms", 1.0), ("latency_ms", 1.0), ("latency_us", 1e-3)];

/// One kernel on one problem.
#[derive(Clone, Copy)]
pub(crate) struct Benchmark<'a> {
    result: &'a Value,
    /// The object whose list it is in.
    around: Option<&'a Value>,
    /// Its problem, if that is an object.
    sizes: Option<&'a Map<String, Value>>,
}

/// Problems of an operation whose benchmarks may print results.
pub(crate) trait OperationResults: OperationProblem {
    /// Takes a row.
    fn benchmark_row(
        _results: &mut Results<'_>,
        kernel: &Kernel,
        _found: Benchmark<'_>,
    ) -> Result<RowOutcome, Fault> {
        Err(format!("kernel '{}': benchmarks of {} print no JSON", kernel.name, Self::OPERATION.noun).into())
    }
}

pub(crate) struct Results<'a> {
    rows: FileRows<'a>,
    /// The keys of the last benchmark whose keys were checked; usually all have the same.
    known_keys: Vec<String>,
    /// The architecture of all results, as in the file.
    arch: Option<String>,
}

impl Results<'_> {
    /// The whole file: an object with `results`, or the list itself.
    fn document(&mut self, json: &mut JsonText<'_>) -> Result<(), Stop> {
        if json.opens(b'[')? {
            self.list(json)?;
        } else if !json.opens(b'{')? {
            return Err(json.fault("expected an object with 'results', or a list of results").into());
        } else if !self.members(json)? {
            return Err(json.fault("missing field `results`").into());
        }
        match json.peek()? {
            None => Ok(()),
            Some(_) => Err(json.fault("trailing characters").into()),
        }
    }

    /// The members of the object; whether results are among them.
    fn members(&mut self, json: &mut JsonText<'_>) -> Result<bool, Stop> {
        let mut any = false;
        while let Some(key) = json.key()? {
            if key == "results" {
                any = true;
                if !json.opens(b'[')? {
                    return Err(json.fault("results: expected a list of results").into());
                }
                self.list(json)?;
            } else if key == "metadata" {
                let Strict(metadata) = json.value()?;
                self.arch = metadata.get("arch").map(plain);
                if any && self.arch.is_some() {
                    // The results were taken without it.
                    let reason = "metadata: found after the results, expected before them: it has their arch";
                    return Err(DataError::format(self.rows.file, reason).into());
                }
            } else {
                json.value::<IgnoredAny>()?;
            }
        }
        Ok(any)
    }

    fn list(&mut self, json: &mut JsonText<'_>) -> Result<(), Stop> {
        let mut index = 0;
        while json.element(b']')? {
            let Strict(result) = json.value()?;
            self.result(index, &result)?;
            index += 1;
        }
        Ok(())
    }

    /// One result: a row if it has its problem in an object, otherwise all benchmarks of a kernel.
    fn result(&mut self, index: usize, result: &Value) -> Result<(), DataError> {
        // It names no run.
        let is_of_run = self.rows.is_of_run(None);
        if let Some(sizes) = result.get("problem").and_then(Value::as_object) {
            let taken = if is_of_run { self.single(result, sizes) } else { Ok(RowOutcome::OtherRun) };
            return self.rows.count(taken, || format!("results[{index}]"));
        }
        let Some(benchmarks) = result.get("benchmarks").and_then(Value::as_array) else {
            return self.rows.reject(
                format!("results[{index}]"),
                "benchmarks: found nothing, expected a list".to_owned(),
            );
        };
        let config_name = result.pointer("/kernel_config/name").and_then(Value::as_str);
        for (place, benchmark) in benchmarks.iter().enumerate() {
            let name =
                benchmark.get("kernel_name").and_then(Value::as_str).or(config_name).unwrap_or_default();
            let one = Benchmark { result: benchmark, around: Some(result), sizes: None };
            let taken = if is_of_run { self.row(name, one) } else { Ok(RowOutcome::OtherRun) };
            self.rows.count(taken, || format!("results[{index}].benchmarks[{place}]"))?;
        }
        Ok(())
    }

    /// One kernel on one problem, which is an object: of `fmha_benchmark`, or of a GEMM's benchmark.
    fn single(&mut self, result: &Value, sizes: &Map<String, Value>) -> Result<RowOutcome, Fault> {
        let Some(name) = NAMES.into_iter().find_map(|key| result.get(key)?.as_str()) else {
            let mut keys = result.as_object().into_iter().flatten().map(|(key, _)| key);
            let meant = keys.find(|key| nearest(key, NAMES).is_some());
            let found = meant.map_or("nothing".to_owned(), |key| format!("the key '{key}'"));
            return Err(format!("the kernel's name: found {found}, expected {}", NAMES.join(" or ")).into());
        };
        self.row(name, Benchmark { result, around: None, sizes: Some(sizes) })
    }

    fn row(&mut self, name: &str, benchmark: Benchmark<'_>) -> Result<RowOutcome, Fault> {
        let Some(kernel) = self.rows.kernel(name)? else { return Ok(RowOutcome::Other) };
        each_operation!(kernel.op(), Own => Own::benchmark_row(self, &kernel, benchmark))
    }

    /// The architecture of a result: the innermost object that has one says it, and outer ones must agree.
    fn arch_of(&self, Benchmark { result, around, .. }: Benchmark<'_>) -> Result<Option<String>, String> {
        let objects = std::iter::once(result).chain(around);
        let inner = objects.filter_map(|object| object.get("arch").map(plain));
        let mut all = inner.chain(self.arch.clone()).filter(|arch| !arch.is_empty());
        let first = all.next();
        match all.find(|other| Some(other) != first.as_ref()) {
            Some(other) => {
                let found = first.unwrap_or_default();
                Err(format!("arch: found '{found}', expected '{other}' as for the results around it"))
            }
            None => Ok(first),
        }
    }
}

/// A figure under one of several keys, 0 if it is null. Only a row that failed may lack it.
fn figure(result: &Value, keys: &[(&str, f64)], failed: bool) -> Result<f64, String> {
    let mut given = keys.iter().filter_map(|&(key, unit)| Some((key, unit, result.get(key)?)));
    let Some((key, unit, value)) = given.next() else {
        let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
        return if failed { Ok(0.0) } else { Err(format!("found none of the keys {}", names.join(", "))) };
    };
    if let Some((other, ..)) = given.next() {
        return Err(format!("keys '{key}' and '{other}' are the same figure, expected one of them"));
    }
    match value {
        Value::Null => Ok(0.0),
        value => {
            let number = value.as_f64().ok_or_else(|| format!("{key}: found {value}, expected a number"))?;
            Ok(number * unit)
        }
    }
}

/// A yes or no, in any of the spellings of a CSV.
fn flag(result: &Value, key: &str) -> Result<Option<bool>, InvalidField> {
    let text = result.get(key).map(plain).unwrap_or_default();
    Cell::from_text(&text).map(|cell| cell.flag(key)).transpose()
}

/// Why a result has no time, if it says so.
fn error_of(result: &Value) -> Option<String> {
    let said = ["error", "error_msg"].into_iter().filter_map(|key| result.get(key));
    said.filter(|value| **value != Value::Bool(false)).map(plain).find(|text| !text.is_empty())
}

/// Describes unknown keys.
fn unknown(wrong: &[UnknownColumn]) -> String {
    let wrong = wrong.iter().map(|one| format!("'{}', expected {}", one.name, one.nearest.join(", ")));
    format!("unknown key {}", wrong.collect::<Vec<_>>().join("; "))
}
