//! Results of `generate_benchmark_data`: one object, or, while it runs, the bare list of its results; those
//! of `fmha_benchmark`; and lists of the objects that benchmarks of GEMMs print.
//!
//! Results are read one kernel at a time, so the file may be larger than memory.

mod fmha;

use std::io::BufRead;

use ck_select_types::cells::Cell;
use ck_select_types::json::Strict;
use ck_select_types::listing::{HeaderError, UnknownColumn, check_names};
use ck_select_types::nearest::nearest;
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::seed;
use ck_select_types::vocab::Op;
use serde::de::{DeserializeSeed as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::DataError;
use super::problems::{OwnedCells, plain};
use super::record::{Counts, Figures};
use super::rows::{Fault, FileRows, RowOutcome};

/// Reads all results. The file does not record bandwidth, which is computed from the problem and the time.
pub(super) fn read(reader: &mut dyn BufRead, rows: FileRows<'_>) -> Result<Counts, DataError> {
    let mut results = Results { rows, known_keys: Vec::new(), arch: None, failed: None };
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let read = Root(&mut results).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    if let Some(error) = results.failed.take() {
        return Err(error);
    }
    if let Err(error) = read {
        if results.rows.counts == Counts::default() {
            return Err(DataError::format(results.rows.file, error));
        }
        // What came before is good: the benchmark was stopped while writing.
        let place = format!("line {}, column {}", error.line(), error.column());
        results.rows.reject(place, format!("{error}; the rest of the file is not read"))?;
    }
    Ok(results.rows.counts)
}

/// The keys of a benchmark's problem, as in a CSV of GEMMs.
const PROBLEM: [&str; 10] = ["M", "m", "N", "n", "K", "k", "split_k", "batch", "batch_count", "groups"];

/// The keys of a kernel's name in a result with a problem.
const NAMES: [&str; 3] = ["kernel", "kernel_name", "name"];

/// What else the problem of a GEMM's benchmark has; the kernel's name says it, too.
const KERNEL_KEYS: [&str; 12] = [
    "dtype_a", "dtype_b", "dtype_c", "dtype_acc", "layout_a", "layout_b", "layout_c", "stride_a", "stride_b",
    "stride_c", "structured_sparsity", "arch",
];

/// The figures of a GEMM's benchmark, with our keys.
const PERF_RESULT: [(&str, &str); 2] = [("tflops(TFlops)", "tflops"), ("latency(ms)", "latency_ms")];

/// The other keys that are read.
const FIGURES: &[&str] = &[
    "kernel_name", "tflops", "measured_tflops", "avg_time_ms", "latency_ms", "latency_us", "is_valid",
    "error", "error_msg",
];

/// Keys of the speed, and the TFLOPS of their units.
const SPEEDS: &[(&str, f64)] = &[("tflops", 1.0), ("measured_tflops", 1.0)];

/// Keys of the time, and the milliseconds of their units.
const TIMES: &[(&str, f64)] = &[("avg_time_ms", 1.0), ("latency_ms", 1.0), ("latency_us", 1e-3)];

struct Results<'a> {
    rows: FileRows<'a>,
    /// The keys of the last benchmark whose keys were checked; usually all have the same.
    known_keys: Vec<String>,
    /// The architecture of all results, as in the file.
    arch: Option<String>,
    /// An error of the sink, which ends the reading.
    failed: Option<DataError>,
}

impl Results<'_> {
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
            let taken =
                if is_of_run { self.benchmark(name, benchmark, result) } else { Ok(RowOutcome::OtherRun) };
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
        match self.rows.kernel(name)? {
            None => Ok(RowOutcome::Other),
            Some(kernel) if kernel.op() == Op::Fmha => self.attention(&kernel, result, sizes),
            Some(_) => self.benchmark(name, &flat(result, sizes)?, result),
        }
    }

    /// Refuses keys that are most likely misspelt ones of a problem or of a figure.
    fn check_keys(&mut self, benchmark: &Value) -> Result<(), Fault> {
        let keys = || benchmark.as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str));
        if self.known_keys.iter().map(String::as_str).eq(keys()) {
            return Ok(());
        }
        // Extents are adjacent, so that a key that sorts between two of them is not taken for a third. Those
        // under both names are compared when they are read.
        let is_repeated = |key: &str| {
            let lower = key.to_lowercase();
            lower != key && PROBLEM.contains(&key) && benchmark.get(lower).is_some()
        };
        let (mut names, others): (Vec<&str>, Vec<&str>) =
            keys().filter(|key| !is_repeated(key)).partition(|key| PROBLEM.contains(key));
        names.extend(others);
        if let Err(HeaderError::Unknown(wrong)) = check_names(Op::Gemm, &names, FIGURES) {
            return Err(Fault::Row(unknown(&wrong)));
        }
        // Missing keys are found on reading.
        self.known_keys = keys().map(str::to_owned).collect();
        Ok(())
    }

    /// The architecture of a result: the innermost object that has one says it, and outer ones must agree.
    fn arch_of(&self, objects: &[&Value]) -> Result<Option<String>, String> {
        let inner = objects.iter().filter_map(|object| object.get("arch").map(plain));
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

    fn benchmark(&mut self, name: &str, benchmark: &Value, result: &Value) -> Result<RowOutcome, Fault> {
        let Some(kernel) = self.rows.kernel(name)? else { return Ok(RowOutcome::Other) };
        self.check_keys(benchmark)?;
        let mut cells = OwnedCells::default();
        cells.0.extend(PROBLEM.into_iter().filter_map(|name| Some((name, plain(benchmark.get(name)?)))));
        cells.0.extend(self.arch_of(&[benchmark, result])?.map(|arch| ("arch", arch)));
        self.rows.object(&kernel, &cells, |problem| {
            let error = error_of(benchmark);
            let recorded = if error.is_some() { Some(false) } else { flag(benchmark, "is_valid")? };
            let failed = recorded == Some(false);
            let (tflops, latency) = (figure(benchmark, SPEEDS, failed)?, figure(benchmark, TIMES, failed)?);
            // Upstream assumes two bytes an element for every type.
            let bytes = if let Problem::Gemm(gemm) = problem { gemm.bytes() } else { f64::NAN };
            let bandwidth = if latency > 0.0 { bytes / 1e9 / (latency / 1000.0) } else { 0.0 };
            let mut figures = Figures::judge(tflops, latency, bandwidth, recorded, None, problem)?;
            if failed {
                (figures.tflops, figures.latency_ms, figures.bandwidth_gb_s) = (0.0, 0.0, 0.0);
            }
            Ok((figures, error))
        })
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

/// A GEMM's result with the keys of its problem and its figures beside each other, as in a list of
/// benchmarks.
fn flat(result: &Value, sizes: &Map<String, Value>) -> Result<Value, String> {
    let keys: Vec<&str> = sizes.keys().map(String::as_str).collect();
    if let Err(HeaderError::Unknown(wrong)) = check_names(Op::Gemm, &keys, &KERNEL_KEYS) {
        return Err(format!("problem: {}", unknown(&wrong)));
    }
    let beside = |key: &str| key != "problem" && key != "perf_result" && !NAMES.contains(&key);
    let outer = result.as_object().into_iter().flatten().filter(|(key, _)| beside(key));
    let sizes = sizes.iter().filter(|(key, _)| PROBLEM.contains(&key.as_str()) || *key == "arch");
    let mut flat: Map<String, Value> = Map::new();
    for (key, value) in sizes.chain(outer) {
        if flat.insert(key.clone(), value.clone()).is_some_and(|other| other != *value) {
            return Err(format!("{key}: found two values, in the result and in its problem"));
        }
    }
    for (theirs, ours) in PERF_RESULT {
        flat.extend(
            result.pointer(&format!("/perf_result/{theirs}")).map(|value| (ours.to_owned(), value.clone())),
        );
    }
    Ok(flat.into())
}

/// Describes unknown keys.
fn unknown(wrong: &[UnknownColumn]) -> String {
    let wrong = wrong.iter().map(|one| format!("'{}', expected {}", one.name, one.nearest.join(", ")));
    format!("unknown key {}", wrong.collect::<Vec<_>>().join("; "))
}

/// The whole file: an object with `results`, or the list itself.
struct Root<'a, 'b>(&'a mut Results<'b>);

seed!(Root<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for Root<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with 'results', or a list of results")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "results" {
                found = true;
                map.next_value_seed(List(self.0))?;
            } else if key == "metadata" {
                let Strict(metadata) = map.next_value()?;
                self.0.arch = metadata.get("arch").map(plain);
                if found && self.0.arch.is_some() {
                    // The results were taken without it.
                    let reason = "metadata: found after the results, expected before them: it has their arch";
                    self.0.failed = Some(DataError::format(self.0.rows.file, reason));
                    return Err(serde::de::Error::custom("stopped"));
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(serde::de::Error::missing_field("results")) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        List(self.0).visit_seq(seq)
    }
}

struct List<'a, 'b>(&'a mut Results<'b>);

seed!(List<'_, '_>, deserialize_seq);

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of results")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(Strict(result)) = seq.next_element()? {
            if let Err(error) = self.0.result(index, &result) {
                self.0.failed = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
            index += 1;
        }
        Ok(())
    }
}
