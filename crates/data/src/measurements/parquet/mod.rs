//! Parquet: our own files, and those written by upstream's converters through pandas.
//!
//! Columns are found by name and read as data frames write them: whole numbers as floats if there was a null
//! among them, flags as booleans or numbers, texts as strings of any width or as dictionaries.

mod batches;
mod columns;
mod guard;
mod values;

use std::fmt::Display;
use std::fs::File;

use arrow_array::{Array, StringArray};
use ck_select_types::hardware::Hardware;
use parquet::errors::ParquetError;

use super::DataError;
use super::names::{Named, Names};
use super::problems::{
    OwnedCells, Problems, check_columns, columns as problem_columns, need_columns, problem_of,
};
use super::record::{Counts, Figures, Measured, SharedHardware, Sink};
use batches::Table;
use columns::{Batch, Cell, Column, Part};

/// Names of the kernel's column.
const KERNEL: [&str; 2] = ["kernel_name", "kernel"];
const FIGURES: [&str; 8] = [
    "tflops",
    "measured_tflops",
    "latency_ms",
    "bandwidth_gb_s",
    "is_valid",
    "non_zero",
    "problem_idx",
    "run_id",
];

/// Reads all rows.
pub(super) fn read(
    file: &str,
    source: File,
    names: &mut Names,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let table = Table::open(source).map_err(|error| DataError::format(file, error))?;
    let figures = sink.wants_figures();
    let is_used = |column: &str| is_used(column) && (figures || !FIGURES.contains(&column));
    let used = table.columns().filter(|column| is_used(column) && !KERNEL.contains(column));
    let constants: Vec<(String, i64)> =
        used.filter_map(|column| Some((column.to_owned(), table.constant(column)?))).collect();
    let mut rows = Rows {
        file,
        figures,
        names,
        sink,
        problems: Problems::default(),
        counts: Counts::default(),
        constants: &constants,
        hardware: SharedHardware::default(),
        changes: 0,
        problem_at: None,
        hardware_at: None,
        key: Vec::new(),
        ids: Vec::new(),
        dictionary: Dictionary::default(),
        run: RunText::default(),
        read: 0,
    };
    if table.rows() > 0 {
        check(file, &table, figures)?;
        let columns: Vec<String> = table.columns().map(str::to_owned).collect();
        let wanted = rows.names.filter().op;
        rows.counts.unknown = check_columns(file, &columns, wanted, figures)?;
        need_columns(file, &columns, wanted)?;
    }
    let read = table.read(
        |column| is_used(column) && !constants.iter().any(|(constant, _)| constant == column),
        Part::new,
        |parts| Ok(rows.batch(parts)?),
    );
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

/// The first of these columns that exists, as numbers, with NaN for nulls.
pub fn numbers_of(
    file: &str,
    source: File,
    names: &[String],
) -> Result<Option<(String, Vec<f64>)>, DataError> {
    let table = Table::open(source).map_err(|error| DataError::format(file, error))?;
    let wanted = table.columns().find(|column| names.iter().any(|name| name == column)).map(str::to_owned);
    let Some(wanted) = wanted else { return Ok(None) };
    let mut numbers = Vec::new();
    let read = table.read(
        |column| column == wanted,
        |batch| {
            let column = Column::new(batch.column(0))?;
            (0..batch.num_rows()).map(|row| column.figure(&wanted, row)).collect::<Result<Vec<f64>, _>>()
        },
        |parts| {
            numbers.extend(parts.into_iter().flatten());
            Ok::<(), ParquetError>(())
        },
    );
    read.map_err(|error| DataError::format(file, error))?;
    Ok(Some((wanted, numbers)))
}

/// Checks the required columns.
fn check(file: &str, table: &Table, figures: bool) -> Result<(), DataError> {
    let all: [&[&'static str]; 3] = [&KERNEL, &["tflops", "measured_tflops"], &["latency_ms"]];
    for names in if figures { &all[..] } else { &all[..1] } {
        let mut there = names.iter().filter(|name| table.columns().any(|column| column == **name));
        if let (Some(one), Some(other)) = (there.next(), there.next()) {
            let reason = format!("columns '{one}' and '{other}' are the same, expected one of them");
            return Err(DataError::format(file, reason));
        }
        if !table.columns().any(|column| names.contains(&column)) {
            let found = table.columns().filter(|column| is_used(column)).map(str::to_owned).collect();
            return Err(DataError::NoColumn { file: file.to_owned(), column: names[0], found });
        }
    }
    Ok(())
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
        || KERNEL.contains(&column)
        || problem_columns().any(|name| name == column)
        || column.strip_prefix("hw_").is_some_and(|name| Hardware::NAMES.contains(&name))
}

struct Rows<'a> {
    file: &'a str,
    /// Whether more than kernel and problem of a row is read.
    figures: bool,
    names: &'a mut Names,
    sink: &'a mut dyn Sink,
    problems: Problems,
    counts: Counts,
    /// Columns with one value in all rows.
    constants: &'a [(String, i64)],
    hardware: SharedHardware,
    /// How often the cells of problem and hardware changed so far.
    changes: u64,
    /// The number of changes at the last problem, and the class of its kernel.
    problem_at: Option<(u64, u32)>,
    /// The number of changes when the hardware was last read.
    hardware_at: Option<u64>,
    key: Vec<u8>,
    /// The kernels of rows that are passed on together.
    ids: Vec<u32>,
    dictionary: Dictionary,
    run: RunText,
    /// Number of rows of the file that were read.
    read: usize,
}

impl Rows<'_> {
    fn batch(&mut self, parts: Vec<Part>) -> Result<(), DataError> {
        let columns = Batch::new(parts, self.constants);
        if let Column::Text { texts, .. } = &columns.kernel {
            self.dictionary.read(texts, self.names);
        }
        let mut next = 0;
        while let Some(&changed) = columns.changed.get(next) {
            let row = next;
            next += 1;
            self.changes += u64::from(changed);
            match self.row(&columns, row) {
                Ok(true) if !self.figures => {
                    let more = self.pairs(&columns, next)?;
                    self.counts.rows += 1 + more;
                    next += more;
                }
                Ok(true) => self.counts.rows += 1,
                Ok(false) => self.counts.other += 1,
                Err(Fault::Sink(error)) => return Err(error),
                Err(Fault::Row(reason)) => {
                    self.counts.rejected += 1;
                    self.sink.reject(self.file, format!("row {}", self.read + row + 1), reason)?;
                }
            }
        }
        self.read += columns.changed.len();
        Ok(())
    }

    /// Takes the rows from `first` on that have the last problem and kernels of the same class: without
    /// figures there is nothing else to read. Returns their number.
    fn pairs(&mut self, columns: &Batch, first: usize) -> Result<usize, DataError> {
        let (Column::Text { keys, .. }, Some((_, class))) = (&columns.kernel, self.problem_at) else {
            return Ok(0);
        };
        let Some(&(ref problem, serial)) = self.problems.last() else { return Ok(0) };
        let (_, rest) = columns.changed.split_at(first);
        let end = first + rest.iter().position(|&changed| changed).unwrap_or(rest.len());
        self.ids.clear();
        self.ids.extend((first..end).map_while(|row| {
            let name = if keys.is_null(row) { None } else { self.dictionary.get(keys.value(row)) };
            match name {
                Some(&Ok(Named::Taken { id, class: its })) if its == class => Some(id),
                _ => None,
            }
        }));
        let before = Measured {
            kernel: 0,
            kernels: self.names.kernels(),
            problem,
            serial,
            figures: Figures::UNREAD,
            non_zero: None,
            problem_idx: None,
            run_id: None,
            error: None,
        };
        self.sink.pairs(&self.ids, &before)?;
        Ok(self.ids.len())
    }

    fn row(&mut self, columns: &Batch, row: usize) -> Result<bool, Fault> {
        let run = if self.figures { self.run.text(&columns.run_id, row) } else { None };
        if !self.sink.takes_run(run) {
            return Ok(true);
        }
        let name = match &columns.kernel {
            Column::Text { keys, .. } if keys.is_valid(row) => self.dictionary.get(keys.value(row)),
            _ => None,
        };
        let (id, class) = match name {
            Some(Ok(Named::Other)) => return Ok(false),
            Some(&Ok(Named::Taken { id, class })) => (id, class),
            Some(Err(reason)) => return Err(Fault::Row(reason.clone())),
            None => return Err(Fault::Row("kernel name: found nothing".to_owned())),
        };
        self.find_problem(columns, row, id, class)?;
        let Some(&(ref problem, serial)) = self.problems.last() else { return Ok(false) };
        let wanted = self.names.filter().arch;
        if wanted.is_some() && problem.arch() != wanted {
            self.sink.other_arch(problem.arch());
            return Ok(false);
        }
        let (mut figures, mut non_zero, mut problem_idx) = (Figures::UNREAD, None, None);
        if self.figures {
            non_zero = columns.non_zero.whole("non_zero", row)?;
            figures = Figures::judge(
                columns.tflops.figure("tflops", row)?,
                columns.latency.figure("latency_ms", row)?,
                columns.bandwidth.figure("bandwidth_gb_s", row)?,
                columns.is_valid.flag("is_valid", row)?,
                non_zero,
                problem,
            )?;
            problem_idx = columns.problem_idx.whole("problem_idx", row)?;
        }
        if self.hardware_at != Some(self.changes) {
            for (name, column) in &columns.hardware {
                if let Some(value) = column.whole(name, row).map_err(|reason| format!("hw_{reason}"))? {
                    self.hardware.take(self.file, name, value, self.sink).map_err(Fault::Sink)?;
                }
            }
            self.hardware_at = Some(self.changes);
        }
        let measured = Measured {
            kernel: id,
            kernels: self.names.kernels(),
            problem,
            serial,
            figures,
            non_zero,
            problem_idx,
            run_id: if self.figures { self.run.text(&columns.run_id, row) } else { None },
            error: None,
        };
        self.sink.row(&measured).map_err(Fault::Sink)?;
        Ok(true)
    }

    /// Makes a row's problem the last one of `problems`.
    fn find_problem(&mut self, columns: &Batch, row: usize, id: u32, class: u32) -> Result<(), String> {
        let now = Some((self.changes, class));
        if self.problem_at == now {
            return Ok(());
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
            problem_of(names.kernel(id), &cells, names.filter().unrecorded())
        };
        self.problems.get(&self.key, read)?;
        self.problem_at = now;
        Ok(())
    }
}

/// The kernels of a dictionary of names.
#[derive(Default)]
struct Dictionary {
    texts: Option<StringArray>,
    named: Vec<Option<Result<Named, String>>>,
}

impl Dictionary {
    /// Reads the names, unless they are those of the previous batch: a dictionary lasts for a row group.
    fn read(&mut self, texts: &StringArray, names: &mut Names) {
        let is_known = self.texts.as_ref().is_some_and(|known| {
            known.len() == texts.len()
                && known.values().ptr_eq(texts.values())
                && known.offsets().ptr_eq(texts.offsets())
        });
        if !is_known {
            self.named = texts.iter().map(|text| text.map(|text| names.get(text.as_bytes()))).collect();
            self.texts = Some(texts.clone());
        }
    }

    fn get(&self, key: i32) -> Option<&Result<Named, String>> {
        self.named.get(key as usize)?.as_ref()
    }
}

/// The run of a row as text. Numbers mostly repeat.
#[derive(Default)]
struct RunText {
    number: Option<u64>,
    text: String,
}

impl RunText {
    fn text<'a>(&'a mut self, column: &'a Column, row: usize) -> Option<&'a str> {
        if let Column::Constant(value) = column {
            return Some(self.of_number(*value as u64, value));
        }
        Some(match column.get(row)? {
            Cell::Text(text) => text,
            Cell::Whole(value) => self.of_number(value as u64, value),
            Cell::Real(value) => self.of_number(value.to_bits(), value),
        })
    }

    fn of_number(&mut self, bits: u64, value: impl Display) -> &str {
        if self.number != Some(bits) {
            self.number = Some(bits);
            self.text = value.to_string();
        }
        &self.text
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
