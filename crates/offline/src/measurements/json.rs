//! Results of `generate_benchmark_data`: one object, or, while it runs, the bare list of its results; and
//! those of `fmha_benchmark`.
//!
//! Results are read one kernel at a time, so the file may be larger than memory.

mod fmha;

use std::io::BufRead;

use ck_select_types::problem::{HeaderError, Problem, UnknownColumn, check_names};
use ck_select_types::vocab::{Dtype, Op};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::DataError;
use super::names::{Named, Names};
use super::problems::{OwnedCells, Problems, problem_of};
use super::record::{Counts, Figures, Measured, Sink};

/// Reads all results. The file does not record bandwidth, which is computed from the problem and the time.
pub(super) fn read(
    file: &str,
    reader: &mut dyn BufRead,
    names: &mut Names,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let mut results = Results {
        file,
        names,
        sink,
        problems: Problems::default(),
        counts: Counts::default(),
        known_keys: Vec::new(),
        arch: None,
        failed: None,
    };
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let read = Root(&mut results).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    if let Some(error) = results.failed.take() {
        return Err(error);
    }
    if let Err(error) = read {
        if results.counts == Counts::default() {
            return Err(DataError::format(file, error));
        }
        // What came before is good: the benchmark was stopped while writing.
        let place = format!("line {}, column {}", error.line(), error.column());
        results.reject(place, format!("{error}; the rest of the file is not read"))?;
    }
    Ok(results.counts)
}

/// The keys of a benchmark's problem.
const EXTENTS: [&str; 4] = ["m", "n", "k", "split_k"];

/// The other keys that are read.
const FIGURES: &[&str] = &["kernel_name", "tflops", "avg_time_ms", "is_valid"];

struct Results<'a> {
    file: &'a str,
    names: &'a mut Names,
    sink: &'a mut dyn Sink,
    problems: Problems,
    counts: Counts,
    /// The keys of the last benchmark whose keys were checked; usually all have the same.
    known_keys: Vec<String>,
    /// The architecture of all attention results, as in the file.
    arch: Option<String>,
    /// An error of the sink, which ends the reading.
    failed: Option<DataError>,
}

impl Results<'_> {
    fn reject(&mut self, place: String, reason: String) -> Result<(), DataError> {
        self.counts.rejected += 1;
        self.sink.reject(self.file, place, reason)
    }

    /// One result: a row for attention, otherwise all benchmarks of a kernel.
    fn result(&mut self, index: usize, result: &Value) -> Result<(), DataError> {
        if let Some(sizes) = result.get("problem").and_then(Value::as_object) {
            let taken = self.attention(result, sizes);
            return self.count(taken, || format!("results[{index}]"));
        }
        let Some(benchmarks) = result.get("benchmarks").and_then(Value::as_array) else {
            return self.reject(
                format!("results[{index}]"),
                "benchmarks: found nothing, expected a list".to_owned(),
            );
        };
        let config_name = result.pointer("/kernel_config/name").and_then(Value::as_str);
        for (place, benchmark) in benchmarks.iter().enumerate() {
            let name =
                benchmark.get("kernel_name").and_then(Value::as_str).or(config_name).unwrap_or_default();
            let taken = self.benchmark(name, benchmark);
            self.count(taken, || format!("results[{index}].benchmarks[{place}]"))?;
        }
        Ok(())
    }

    fn count(&mut self, taken: Result<bool, Fault>, place: impl Fn() -> String) -> Result<(), DataError> {
        match taken {
            Ok(true) => self.counts.rows += 1,
            Ok(false) => self.counts.other += 1,
            Err(Fault::Sink(error)) => return Err(error),
            Err(Fault::Row(reason)) => self.reject(place(), reason)?,
        }
        Ok(())
    }

    /// Refuses keys that are most likely misspelt ones of a problem or of a figure.
    fn check_keys(&mut self, benchmark: &Value) -> Result<(), Fault> {
        let keys = || benchmark.as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str));
        if self.known_keys.iter().map(String::as_str).eq(keys()) {
            return Ok(());
        }
        // Extents are adjacent, so that a key that sorts between two of them is not taken for a third.
        let (mut names, others): (Vec<&str>, Vec<&str>) = keys().partition(|key| EXTENTS.contains(key));
        names.extend(others);
        if let Err(HeaderError::Unknown(wrong)) = check_names(Op::Gemm, &names, FIGURES) {
            return Err(Fault::Row(unknown(&wrong)));
        }
        // Missing keys are found on reading.
        self.known_keys = keys().map(str::to_owned).collect();
        Ok(())
    }

    fn benchmark(&mut self, name: &str, benchmark: &Value) -> Result<bool, Fault> {
        let (id, class) = match self.names.get(name.as_bytes())? {
            Named::Other => return Ok(false),
            Named::Taken { id, class } => (id, class),
        };
        self.check_keys(benchmark)?;
        let mut cells = OwnedCells::default();
        for name in EXTENTS {
            cells.0.push((name, benchmark.get(name).map(ToString::to_string).unwrap_or_default()));
        }
        let key = format!("{class} {:?}", cells.0);
        let arch = self.names.filter().unrecorded();
        let read = || problem_of(self.names.kernel(id), &cells, arch);
        let &(ref problem, serial) = self.problems.get(key.as_bytes(), read)?;
        let recorded = benchmark.get("is_valid").and_then(Value::as_bool);
        let (tflops, latency) = (figure(benchmark, "tflops")?, figure(benchmark, "avg_time_ms")?);
        let bandwidth = if latency > 0.0 { traffic(problem) / 1e9 / (latency / 1000.0) } else { 0.0 };
        let mut figures = Figures::judge(tflops, latency, bandwidth, recorded, None, problem)?;
        if recorded == Some(false) {
            (figures.tflops, figures.latency_ms, figures.bandwidth_gb_s) = (0.0, 0.0, 0.0);
        }
        let problem = *problem;
        self.give(id, &problem, serial, figures, None)
    }

    fn give(
        &mut self,
        kernel: u32,
        problem: &Problem,
        serial: u64,
        figures: Figures,
        error: Option<&str>,
    ) -> Result<bool, Fault> {
        let row = Measured {
            kernel,
            kernels: self.names.kernels(),
            problem,
            serial,
            figures,
            non_zero: None,
            problem_idx: None,
            run_id: None,
            error,
        };
        self.sink.row(&row).map_err(Fault::Sink)?;
        Ok(true)
    }
}

/// A figure, 0 if there is none.
fn figure(result: &Value, key: &str) -> Result<f64, String> {
    match result.get(key) {
        None | Some(Value::Null) => Ok(0.0),
        Some(value) => value.as_f64().ok_or_else(|| format!("{key}: found {value}, expected a number")),
    }
}

/// Describes unknown keys.
fn unknown(wrong: &[UnknownColumn]) -> String {
    let wrong = wrong.iter().map(|one| format!("'{}', expected {}", one.name, one.nearest.join(", ")));
    format!("unknown key {}", wrong.collect::<Vec<_>>().join("; "))
}

/// Bytes of the three operands, each read or written once. Upstream assumes two bytes per element for every
/// type.
fn traffic(problem: &Problem) -> f64 {
    let Problem::Gemm(p) = problem else { return f64::NAN };
    let [m, n, k] = [p.m as f64, p.n as f64, p.k as f64];
    let bytes = |dtype: Dtype| f64::from(dtype.bits()) / 8.0;
    m * k * bytes(p.dtype_a) + k * n * bytes(p.dtype_b) + m * n * bytes(p.dtype_c)
}

enum Fault {
    Row(String),
    Sink(DataError),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Row(reason)
    }
}

/// The whole file: an object with `results`, or the list itself.
struct Root<'a, 'b>(&'a mut Results<'b>);

impl<'de> DeserializeSeed<'de> for Root<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

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
                // It precedes the results.
                let metadata = map.next_value::<Value>()?;
                self.0.arch = metadata.get("arch").and_then(Value::as_str).map(str::to_owned);
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

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of results")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(result) = seq.next_element::<Value>()? {
            if let Err(error) = self.0.result(index, &result) {
                self.0.failed = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
            index += 1;
        }
        Ok(())
    }
}
