//! Objects of JSON as rows: a result of a benchmark, whose keys are columns.
//!
//! ```text
//! {"name": n, "problem": {"m": 1, …}, "perf_result": {"latency(ms)": t, …}}
//! {"kernel_name": n, "m": 1, …, "latency_ms": t, …}
//! ```
//!
//! Both are the second one to a reader of columns; [`flat`] makes it of the first.

use ck_select_types::sheet::Columns;
use ck_select_types::sheet::json::columns_of;
use serde_json::{Map, Value};

use super::problems::op_of;
use super::rows::{Fault, FileRows, RowOutcome};
use super::table::{Absence, Header};

/// The rows of a file of objects.
pub(super) struct Objects<'a> {
    pub(super) rows: FileRows<'a>,
    /// The keys of the last row; usually all rows have the same.
    keys: Vec<String>,
    /// The keys in the order of columns.
    names: Vec<String>,
    header: Option<Header>,
}

impl<'a> Objects<'a> {
    pub(super) const fn new(rows: FileRows<'a>) -> Self {
        Self { rows, keys: Vec::new(), names: Vec::new(), header: None }
    }

    /// Takes a row.
    pub(super) fn take(&mut self, row: &Map<String, Value>) -> Result<RowOutcome, Fault> {
        if !row.keys().eq(&self.keys) {
            self.header = None;
            self.keys = row.keys().cloned().collect();
            let op = op_of(&self.keys, self.rows.filter.op);
            self.names = columns_of(row, op).into_iter().map(str::to_owned).collect();
        }
        let header = match &mut self.header {
            Some(header) => header,
            none => {
                let columns = Columns::from_keys(self.rows.file, &self.names);
                let header = Header::new(columns, &self.names, &self.rows, Absence::Zero);
                none.insert(header.map_err(|error| error.fault.to_string())?.0)
            }
        };
        let values: Vec<&Value> = self.names.iter().filter_map(|name| row.get(name)).collect();
        header.row(&mut self.rows, &values)
    }
}

/// The figures of a GEMM's benchmark, with our names.
const PERF_RESULT: [(&str, &str); 3] =
    [("tflops(TFlops)", "tflops"), ("latency(ms)", "latency_ms"), ("bandwidth(GB/s)", "bandwidth_gb_s")];

/// Further keys of the problem of a GEMM's benchmark, whose values the kernel's name states, too.
const WORDS: [&str; 11] = [
    "dtype_a", "dtype_b", "dtype_c", "dtype_acc", "layout_a", "layout_b", "layout_c", "stride_a", "stride_b",
    "stride_c", "structured_sparsity",
];

/// A result with the keys of its problem and of its figures beside its own, under our names.
pub(super) fn flat(result: &Value) -> Result<Map<String, Value>, String> {
    let mut flat: Map<String, Value> = Map::new();
    let sizes = result.get("problem").and_then(Value::as_object).into_iter().flatten();
    flat.extend(
        sizes
            .filter(|(key, _)| !WORDS.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    for (key, value) in result.as_object().into_iter().flatten() {
        let is_nothing = value.is_null() || *value == Value::Bool(false);
        let name = match key.as_str() {
            "problem" | "perf_result" => continue,
            "error" if is_nothing => continue,
            "error" => "error_msg",
            "name" => "kernel_name",
            name => name,
        };
        match flat.get(name) {
            Some(_) if value.is_null() => {}
            Some(other) if !other.is_null() && other != value => {
                return Err(format!("{name}: found two values, in the result and in its problem"));
            }
            _ => drop(flat.insert(name.to_owned(), value.clone())),
        }
    }
    if let Some(figures) = result.get("perf_result") {
        // Upstream's reader takes 0 for a missing figure.
        flat.extend(PERF_RESULT.map(|(theirs, ours)| (ours.to_owned(), figures[theirs].clone())));
    }
    // Results have extents under one name, or the same under both.
    let all = flat.clone();
    flat.retain(|key, value| {
        let lower = key.to_lowercase();
        lower == *key || all.get(&lower) != Some(value)
    });
    Ok(flat)
}
