//! The output of every reader, row by row, and its receiver.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ck_select_types::cells::Cell;
use ck_select_types::kernel::Kernel;
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::vocab::Arch;

use super::DataError;

/// One measured row, from any file format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredRow<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) problem: &'a Problem,
    pub(crate) figures: Figures,
    pub(crate) non_zero: Option<i64>,
    pub(crate) problem_idx: Option<i64>,
    pub(crate) run_id: Option<&'a str>,
    /// Why the row has no time, if the file says so.
    pub(crate) error: Option<&'a str>,
    /// The network that the problem is of, if the file says so.
    pub(crate) model: Option<&'a str>,
}

/// The measured figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) tflops: f64,
    pub(crate) latency_ms: f64,
    pub(crate) bandwidth_gb_s: f64,
    pub(crate) is_valid: bool,
}

impl Figures {
    /// Judges a row. `recorded` is the validity in the file, `non_zero` the number of non-zero elements of
    /// the result: a kernel that wrote nothing did no work. Impossible figures are rejected, like garbled
    /// numbers.
    pub(crate) fn judge(
        tflops: f64,
        latency_ms: f64,
        bandwidth_gb_s: f64,
        recorded: Option<bool>,
        non_zero: Option<i64>,
        problem: &Problem,
    ) -> Result<Self, String> {
        let measured = |value: f64| value > 0.0 && value.is_finite();
        let is_valid =
            measured(tflops) && measured(latency_ms) && recorded != Some(false) && non_zero != Some(0);
        if is_valid {
            problem.check_figures(tflops, latency_ms).map_err(|error| error.to_string())?;
        }
        let tflops = if tflops.is_finite() { tflops } else { 0.0 };
        Ok(Self { tflops, latency_ms, bandwidth_gb_s, is_valid })
    }
}

/// Receives rows.
pub(crate) trait Sink {
    /// Takes a row.
    fn row(&mut self, row: &MeasuredRow<'_>) -> Result<(), DataError>;

    /// Receives a position that should be a row, but is not. An error, as by default, ends the reading.
    fn reject(&mut self, file: &str, position: String, reason: String) -> Result<(), DataError> {
        Err(DataError::format(file, format_args!("{position}: {reason}")))
    }

    /// Takes a hardware constant of a row, by its name without `hw_`; those of all rows must agree.
    fn hardware(&mut self, file: &str, name: &'static str, value: i64) -> Result<(), DataError>;
}

/// Whether a result is valid by the `status` of `fmha_benchmark`.
pub(super) fn verdict(status: Cell<'_>) -> Result<bool, InvalidField> {
    match status {
        Cell::Word("OK" | "PASS") => Ok(true),
        Cell::Word("FAIL" | "NAN" | "ZERO") => Ok(false),
        other => Err(InvalidField::new("status", other, "OK, PASS, FAIL, NAN or ZERO")),
    }
}

/// A file of measurements, and what its reader took from the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// The file.
    pub path: PathBuf,
    /// Rows taken from it.
    pub rows: usize,
    /// Rows taken that are not valid: failures.
    pub invalid: usize,
    /// Rows of another operation, direction, dtype or architecture, left out as requested.
    pub other: usize,
    /// Rows left out only because of their architecture, counted by architecture.
    pub other_arches: BTreeMap<Arch, usize>,
    /// Rows of other runs, left out as requested, of which nothing else counts.
    pub other_runs: usize,
    /// Positions that should be rows, but are not.
    pub rejected: usize,
    /// Unknown columns that do not resemble a known one.
    pub unknown: Vec<String>,
    /// The architectures of the rows taken.
    pub(crate) arches: BTreeSet<Option<Arch>>,
}

impl SourceFile {
    /// The file's name without a folder.
    pub fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}
