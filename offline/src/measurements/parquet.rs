//! Parquet: our own files, and those that upstream's converters wrote through pandas.
//!
//! Columns are found by name and taken as a data frame left them: whole numbers as floats where a null was among them,
//! flags as booleans or numbers, texts as strings of any width or as dictionaries.

mod batches;
mod columns;

use std::borrow::Cow;
use std::fs::File;

use arrow::array::{Array, RecordBatch};
use ck_select::hardware::Hardware;
use ck_select::problem::Problem;
use parquet::errors::ParquetError;

use super::DataError;
use super::names::{Named, Names};
use super::problems::{OwnedCells, Problems, columns as problem_columns, problem_of};
use super::record::{Counts, Figures, Measured, Sink};
use batches::Table;
use columns::{Batch, Cell, Column};

const FIGURES: [&str; 9] = [
    "tflops",
    "measured_tflops",
    "latency_ms",
    "bandwidth_gb_s",
    "is_valid",
    "non_zero",
    "problem_idx",
    "run_id",
    "kernel_name",
];

/// Reads all rows.
pub(super) fn read(
    file: &str,
    source: File,
    names: &mut Names,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let table = Table::open(source).map_err(|error| DataError::format(file, error))?;
    let mut rows = Rows {
        file,
        names,
        sink,
        problems: Problems::default(),
        counts: Counts::default(),
        constants: Vec::new(),
        changes: 0,
        problem_at: None,
        hardware_at: None,
        key: Vec::new(),
        read: 0,
    };
    let mut any = false;
    let read = table.read(is_used, |batch| {
        if !std::mem::replace(&mut any, true) {
            rows.check(batch)?;
        }
        Ok(rows.batch(batch)?)
    });
    match read {
        Ok(()) => Ok(rows.counts),
        Err(Failed::Table(error)) => Err(DataError::format(file, error)),
        Err(Failed::Rows(error)) => Err(error),
    }
}

/// The names of all columns.
pub(super) fn columns(file: &str, source: File) -> Result<Vec<String>, DataError> {
    let table = Table::open(source).map_err(|error| DataError::format(file, error))?;
    Ok(table.columns().map(str::to_owned).collect())
}

/// Why reading ended early.
enum Failed {
    Table(ParquetError),
    Rows(DataError),
}

impl From<ParquetError> for Failed {
    fn from(error: ParquetError) -> Self {
        Self::Table(error)
    }
}

impl From<DataError> for Failed {
    fn from(error: DataError) -> Self {
        Self::Rows(error)
    }
}

fn is_used(column: &str) -> bool {
    FIGURES.contains(&column)
        || column == "kernel"
        || problem_columns().any(|name| name == column)
        || column.strip_prefix("hw_").is_some_and(|name| Hardware::NAMES.contains(&name))
}

struct Rows<'a> {
    file: &'a str,
    names: &'a mut Names,
    sink: &'a mut dyn Sink,
    problems: Problems,
    counts: Counts,
    /// The hardware constants of the rows so far.
    constants: Vec<(&'static str, i64)>,
    /// How often the cells of problem and hardware changed so far.
    changes: u64,
    /// The number of changes at the last problem, and the class of its kernel.
    problem_at: Option<(u64, u32)>,
    /// The number of changes when the hardware was last looked at.
    hardware_at: Option<u64>,
    key: Vec<u8>,
    /// Rows of the file that were looked at.
    read: usize,
}

impl Rows<'_> {
    /// The columns without which there are no measurements.
    fn check(&self, batch: &RecordBatch) -> Result<(), DataError> {
        for names in [&["kernel_name", "kernel"][..], &["tflops", "measured_tflops"], &["latency_ms"]] {
            if names.iter().all(|name| batch.column_by_name(name).is_none()) {
                let found = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
                return Err(DataError::NoColumn { file: self.file.to_owned(), column: names[0], found });
            }
        }
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let columns = Batch::new(batch).map_err(|error| DataError::format(self.file, error))?;
        // Names by the keys of their dictionary.
        let named: Vec<Option<Result<Named, String>>> = match &columns.kernel {
            Column::Text { texts, .. } => {
                texts.iter().map(|text| text.as_ref().map(|text| self.names.get(text.as_bytes()))).collect()
            }
            _ => Vec::new(),
        };
        for (row, changed) in columns.changes(batch.num_rows()).into_iter().enumerate() {
            self.changes += u64::from(changed);
            let name = match &columns.kernel {
                Column::Text { keys, .. } if keys.is_valid(row) => {
                    named.get(keys.value(row) as usize).and_then(Option::as_ref)
                }
                _ => None,
            };
            match self.row(&columns, row, name) {
                Ok(true) => self.counts.rows += 1,
                Ok(false) => self.counts.other += 1,
                Err(Fault::Sink(error)) => return Err(error),
                Err(Fault::Row(reason)) => {
                    self.counts.rejected += 1;
                    self.sink.reject(self.file, format!("row {}", self.read + row + 1), reason)?;
                }
            }
        }
        self.read += batch.num_rows();
        Ok(())
    }

    fn row(
        &mut self,
        columns: &Batch,
        row: usize,
        name: Option<&Result<Named, String>>,
    ) -> Result<bool, Fault> {
        let (id, class) = match name {
            Some(Ok(Named::Other)) => return Ok(false),
            Some(&Ok(Named::Taken { id, class })) => (id, class),
            Some(Err(reason)) => return Err(Fault::Row(reason.clone())),
            None => return Err(Fault::Row("kernel name: found nothing".to_owned())),
        };
        let (problem, serial) = self.problem(columns, row, id, class)?;
        let wanted = self.names.filter().arch;
        if wanted.is_some() && problem.arch() != wanted {
            return Ok(false);
        }
        let non_zero = columns.non_zero.whole("non_zero", row)?;
        let figures = Figures::judge(
            columns.tflops.figure("tflops", row)?,
            columns.latency.figure("latency_ms", row)?,
            columns.bandwidth.figure("bandwidth_gb_s", row)?,
            columns.is_valid.flag("is_valid", row)?,
            non_zero,
        );
        let problem_idx = columns.problem_idx.whole("problem_idx", row)?;
        let run_id = columns.run_id.get(row).map(|cell| match cell {
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Whole(value) => Cow::Owned(value.to_string()),
            Cell::Real(value) => Cow::Owned(value.to_string()),
        });
        self.look_at_hardware(columns, row)?;
        let measured = Measured {
            kernel: id,
            kernels: self.names.kernels(),
            problem: &problem,
            serial,
            figures,
            non_zero,
            problem_idx,
            run_id: run_id.as_deref(),
        };
        self.sink.row(&measured).map_err(Fault::Sink)?;
        Ok(true)
    }

    /// The problem of a row, with its serial.
    fn problem(
        &mut self,
        columns: &Batch,
        row: usize,
        id: u32,
        class: u32,
    ) -> Result<(Problem, u64), String> {
        let now = Some((self.changes, class));
        if self.problem_at == now
            && let Some(&found) = self.problems.last()
        {
            return Ok(found);
        }
        self.key.clear();
        self.key.extend_from_slice(&class.to_le_bytes());
        for (_, column) in &columns.problem {
            column.push_key(row, &mut self.key);
        }
        let names = &*self.names;
        let read = || {
            let cells = columns.problem.iter();
            let cells = OwnedCells(
                cells.map(|(name, column)| (*name, column.text(row).unwrap_or_default())).collect(),
            );
            problem_of(names.kernel(id), &cells, names.filter().arch)
        };
        let found = *self.problems.get(&self.key, read)?;
        self.problem_at = now;
        Ok(found)
    }

    /// Takes the hardware constants of a row, which all rows must share.
    fn look_at_hardware(&mut self, columns: &Batch, row: usize) -> Result<(), Fault> {
        if self.hardware_at == Some(self.changes) {
            return Ok(());
        }
        for (name, column) in &columns.hardware {
            let Some(value) = column.whole(name, row).map_err(|reason| format!("hw_{reason}"))? else {
                continue;
            };
            match self.constants.iter().find(|(known, _)| known == name) {
                None => {
                    self.constants.push((name, value));
                    self.sink.hardware(self.file, &[(name, value)]).map_err(Fault::Sink)?;
                }
                Some(&(_, expected)) if expected != value => {
                    let file = self.file.to_owned();
                    return Err(Fault::Sink(DataError::Hardware { file, name, found: value, expected }));
                }
                Some(_) => {}
            }
        }
        self.hardware_at = Some(self.changes);
        Ok(())
    }
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
