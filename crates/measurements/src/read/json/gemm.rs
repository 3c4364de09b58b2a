//! Results of GEMMs' benchmarks: lists of `generate_benchmark_data`, and single ones with their problem.

use ck_select_types::kernel::Kernel;
use ck_select_types::listing::{HeaderError, check_names};
use ck_select_types::problem::GemmProblem;
use ck_select_types::vocab::Op;
use serde_json::{Map, Value};

use super::super::problems::{OwnedCells, number_columns, plain};
use super::super::record::Figures;
use super::super::rows::{Fault, RowOutcome};
use super::{Benchmark, NAMES, OperationResults, Results, SPEEDS, TIMES, error_of, figure, flag, unknown};

/// Whether a key is one of the problem's, as in a CSV of GEMMs.
fn is_of_problem(key: &str) -> bool {
    number_columns(Op::Gemm).any(|name| name == key)
}

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

impl OperationResults for GemmProblem {
    fn benchmark_row(
        results: &mut Results<'_>,
        kernel: &Kernel,
        found: Benchmark<'_>,
    ) -> Result<RowOutcome, Fault> {
        let flat = found.sizes.map(|sizes| flat(found.result, sizes)).transpose()?;
        let benchmark = flat.as_ref().unwrap_or(found.result);
        results.check_keys(benchmark)?;
        let mut cells = OwnedCells::default();
        cells.0.extend(number_columns(Op::Gemm).filter_map(|name| Some((name, plain(benchmark.get(name)?)))));
        cells.0.extend(results.arch_of(Benchmark { result: benchmark, ..found })?.map(|arch| ("arch", arch)));
        results.rows.object(kernel, &cells, |problem| {
            let error = error_of(benchmark);
            let recorded = if error.is_some() { Some(false) } else { flag(benchmark, "is_valid")? };
            let failed = recorded == Some(false);
            let (tflops, latency) = (figure(benchmark, SPEEDS, failed)?, figure(benchmark, TIMES, failed)?);
            // Upstream assumes two bytes an element for every type.
            let bytes = problem.bytes().unwrap_or(f64::NAN);
            let bandwidth = if latency > 0.0 { bytes / 1e9 / (latency / 1000.0) } else { 0.0 };
            let mut figures = Figures::judge(tflops, latency, bandwidth, recorded, None, problem)?;
            if failed {
                (figures.tflops, figures.latency_ms, figures.bandwidth_gb_s) = (0.0, 0.0, 0.0);
            }
            Ok((figures, error))
        })
    }
}

impl Results<'_> {
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
            lower != key && is_of_problem(key) && benchmark.get(lower).is_some()
        };
        let (mut names, others): (Vec<&str>, Vec<&str>) =
            keys().filter(|key| !is_repeated(key)).partition(|key| is_of_problem(key));
        names.extend(others);
        if let Err(HeaderError::Unknown(wrong)) = check_names(Op::Gemm, &names, FIGURES) {
            return Err(Fault::Row(unknown(&wrong)));
        }
        // Missing keys are found on reading.
        self.known_keys = keys().map(str::to_owned).collect();
        Ok(())
    }
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
    let sizes = sizes.iter().filter(|(key, _)| is_of_problem(key) || *key == "arch");
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
