//! Parquet: our own files, and those that upstream's converters wrote through pandas.
//!
//! Columns are found by name and taken as a data frame left them: whole numbers as floats where a null was among them,
//! flags as booleans or numbers, texts as strings of any width or as dictionaries.

use std::borrow::Cow;
use std::fs::File;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type, Int64Type, Schema};
use ck_select::hardware::Hardware;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::names::{Named, Names};
use super::problems::{OwnedCells, Problems, columns as problem_columns, problem_of};
use super::record::{Counts, Figures, Measured, Sink};
use super::{DataError, numbers};

const BATCH: usize = 1 << 15;
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
    let wrong = |error: &dyn std::fmt::Display| DataError::format(file, error);
    let copy = source.try_clone().map_err(|error| DataError::io(file, error))?;
    let stored = ParquetRecordBatchReaderBuilder::try_new(copy).map_err(|error| wrong(&error))?;
    let schema = with_dictionaries(stored.schema());
    let options = ArrowReaderOptions::new().with_schema(Arc::clone(&schema));
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(source, options)
        .map_err(|error| wrong(&error))?;
    let roots = schema.fields().iter().enumerate().filter(|(_, field)| is_used(field.name()));
    let mask =
        ProjectionMask::roots(builder.parquet_schema(), roots.map(|(index, _)| index).collect::<Vec<_>>());
    let batches =
        builder.with_projection(mask).with_batch_size(BATCH).build().map_err(|error| wrong(&error))?;
    let mut rows = Rows {
        file,
        names,
        sink,
        problems: Problems::default(),
        counts: Counts::default(),
        constants: Vec::new(),
        read: 0,
    };
    let mut any = false;
    for batch in batches {
        let batch = batch.map_err(|error| wrong(&error))?;
        if !any {
            rows.check(&batch)?;
        }
        any = true;
        rows.batch(&batch)?;
    }
    Ok(rows.counts)
}

/// The names of all columns.
pub(super) fn columns(file: &str, source: File) -> Result<Vec<String>, DataError> {
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(source).map_err(|error| DataError::format(file, error))?;
    Ok(builder.schema().fields().iter().map(|field| field.name().clone()).collect())
}

fn is_used(column: &str) -> bool {
    FIGURES.contains(&column)
        || column == "kernel"
        || problem_columns().any(|name| name == column)
        || column.strip_prefix("hw_").is_some_and(|name| Hardware::NAMES.contains(&name))
}

/// The same schema with texts as dictionaries, so that each distinct text is looked at once a batch.
fn with_dictionaries(schema: &Schema) -> Arc<Schema> {
    let fields = schema.fields().iter().map(|field| {
        let text = match field.data_type() {
            DataType::Dictionary(_, value) => value.as_ref(),
            other => other,
        };
        match text {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                Arc::new(Field::new(field.name(), dictionary, field.is_nullable()))
            }
            _ => Arc::clone(field),
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// One column of a batch, ready to be asked by row.
enum Column {
    Whole(arrow::array::Int64Array),
    Real(arrow::array::Float64Array),
    /// The row's text by its key; texts that stand in no row may be among them.
    Text {
        keys: arrow::array::Int32Array,
        texts: Vec<Option<String>>,
    },
    Absent,
}

/// A cell: `None` is null.
enum Cell<'a> {
    Whole(i64),
    Real(f64),
    Text(&'a str),
}

impl Column {
    fn new(array: &ArrayRef) -> Result<Self, String> {
        let to = |kind: &DataType| cast(array, kind).map_err(|error| error.to_string());
        Ok(match array.data_type() {
            DataType::Null => Self::Absent,
            kind if kind.is_integer() || *kind == DataType::Boolean => {
                Self::Whole(to(&DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            kind if kind.is_floating() => {
                Self::Real(to(&DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            DataType::Dictionary(_, value) if value.is_integer() || value.is_floating() => {
                Self::Real(to(&DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            kind => {
                let kind_text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                let array = cast(array, &kind_text)
                    .map_err(|_| format!("a column of type {kind}, expected numbers or text"))?;
                let array = array.as_dictionary::<Int32Type>();
                let values = array.values().as_string::<i32>();
                let texts = values.iter().map(|text| text.map(str::to_owned)).collect();
                Self::Text { keys: array.keys().clone(), texts }
            }
        })
    }

    fn get(&self, row: usize) -> Option<Cell<'_>> {
        match self {
            Self::Whole(values) => values.is_valid(row).then(|| Cell::Whole(values.value(row))),
            Self::Real(values) => {
                let value = values.value(row);
                (values.is_valid(row) && !value.is_nan()).then_some(Cell::Real(value))
            }
            Self::Text { keys, texts } => {
                let text = keys.is_valid(row).then(|| texts.get(keys.value(row) as usize))??.as_deref()?;
                (!text.is_empty()).then_some(Cell::Text(text))
            }
            Self::Absent => None,
        }
    }

    fn figure(&self, name: &str, row: usize) -> Result<f64, String> {
        match self.get(row) {
            None => Ok(f64::NAN),
            Some(Cell::Real(value)) => Ok(value),
            Some(Cell::Whole(value)) => Ok(value as f64),
            Some(Cell::Text(text)) => numbers::figure(name, text.as_bytes()),
        }
    }

    fn whole(&self, name: &str, row: usize) -> Result<Option<i64>, String> {
        match self.get(row) {
            None => Ok(None),
            Some(Cell::Whole(value)) => Ok(Some(value)),
            Some(Cell::Real(value)) if value.fract() == 0.0 && value.abs() < 9.0e15 => Ok(Some(value as i64)),
            Some(Cell::Real(value)) => Err(format!("{name}: found {value}, expected a whole number")),
            Some(Cell::Text(text)) => numbers::whole(name, text.as_bytes()),
        }
    }

    fn flag(&self, name: &str, row: usize) -> Result<Option<bool>, String> {
        match self.get(row) {
            None => Ok(None),
            Some(Cell::Whole(0)) => Ok(Some(false)),
            Some(Cell::Whole(1)) => Ok(Some(true)),
            Some(Cell::Whole(value)) => Err(format!("{name}: found {value}, expected 0 or 1")),
            Some(Cell::Real(value)) => numbers::flag(name, value.to_string().as_bytes()),
            Some(Cell::Text(text)) => numbers::flag(name, text.as_bytes()),
        }
    }

    fn text(&self, row: usize) -> Option<String> {
        Some(match self.get(row)? {
            Cell::Whole(value) => value.to_string(),
            Cell::Real(value) => value.to_string(),
            Cell::Text(text) => text.to_owned(),
        })
    }

    /// Appends what tells this row's cell from other cells of the column.
    fn push_key(&self, row: usize, key: &mut Vec<u8>) {
        match self.get(row) {
            None => key.push(0),
            Some(Cell::Whole(value)) => {
                key.push(1);
                key.extend_from_slice(&value.to_le_bytes());
            }
            Some(Cell::Real(value)) => {
                key.push(2);
                key.extend_from_slice(&value.to_bits().to_le_bytes());
            }
            Some(Cell::Text(text)) => {
                key.push(3);
                key.extend_from_slice(&(text.len() as u32).to_le_bytes());
                key.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// The columns of a batch.
struct Batch {
    kernel: Column,
    tflops: Column,
    latency: Column,
    bandwidth: Column,
    is_valid: Column,
    non_zero: Column,
    problem_idx: Column,
    run_id: Column,
    problem: Vec<(&'static str, Column)>,
    hardware: Vec<(&'static str, Column)>,
}

impl Batch {
    fn new(batch: &RecordBatch) -> Result<Self, String> {
        let any = |names: &[&str]| {
            let array = names.iter().find_map(|name| Some((name, batch.column_by_name(name)?)));
            array.map_or(Ok(Column::Absent), |(name, array)| {
                Column::new(array).map_err(|error| format!("{name}: {error}"))
            })
        };
        let mut problem = Vec::new();
        for name in problem_columns() {
            if batch.column_by_name(name).is_some() {
                problem.push((name, any(&[name])?));
            }
        }
        let mut hardware = Vec::new();
        for name in Hardware::NAMES {
            let column = any(&[&format!("hw_{name}")])?;
            if !matches!(column, Column::Absent) {
                hardware.push((name, column));
            }
        }
        Ok(Self {
            kernel: any(&["kernel_name", "kernel"])?,
            tflops: any(&["measured_tflops", "tflops"])?,
            latency: any(&["latency_ms"])?,
            bandwidth: any(&["bandwidth_gb_s"])?,
            is_valid: any(&["is_valid"])?,
            non_zero: any(&["non_zero"])?,
            problem_idx: any(&["problem_idx"])?,
            run_id: any(&["run_id"])?,
            problem,
            hardware,
        })
    }
}

struct Rows<'a> {
    file: &'a str,
    names: &'a mut Names,
    sink: &'a mut dyn Sink,
    problems: Problems,
    counts: Counts,
    /// The hardware constants of the rows so far.
    constants: Vec<(&'static str, i64)>,
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
        let mut key = Vec::new();
        let mut unchanged = Unchanged::default();
        for row in 0..batch.num_rows() {
            let name = match &columns.kernel {
                Column::Text { keys, .. } if keys.is_valid(row) => {
                    named.get(keys.value(row) as usize).and_then(Option::as_ref)
                }
                _ => None,
            };
            match self.row(&columns, row, name, &mut key, &mut unchanged) {
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
        key: &mut Vec<u8>,
        unchanged: &mut Unchanged,
    ) -> Result<bool, Fault> {
        let (id, class) = match name {
            Some(Ok(Named::Other)) => return Ok(false),
            Some(&Ok(Named::Taken { id, class })) => (id, class),
            Some(Err(reason)) => return Err(Fault::Row(reason.clone())),
            None => return Err(Fault::Row("kernel name: found nothing".to_owned())),
        };
        key.clear();
        key.extend_from_slice(&class.to_le_bytes());
        for (_, column) in &columns.problem {
            column.push_key(row, key);
        }
        let filter = *self.names.filter();
        let names = &*self.names;
        let read = || {
            let cells = columns.problem.iter();
            let cells = OwnedCells(
                cells.map(|(name, column)| (*name, column.text(row).unwrap_or_default())).collect(),
            );
            problem_of(names.kernel(id), &cells, filter.arch)
        };
        let &(ref problem, serial) = self.problems.get(key, read)?;
        if filter.arch.is_some() && problem.arch() != filter.arch {
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
        for (index, (name, column)) in columns.hardware.iter().enumerate() {
            let value = column.whole(name, row).map_err(|reason| format!("hw_{reason}"))?;
            if let Some(value) = value
                && !unchanged.is(index, value)
            {
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
        }
        let measured = Measured {
            kernel: id,
            kernels: names.kernels(),
            problem,
            serial,
            figures,
            non_zero,
            problem_idx,
            run_id: run_id.as_deref(),
        };
        self.sink.row(&measured).map_err(Fault::Sink)?;
        Ok(true)
    }
}

/// The hardware constants of the row before, so that equal ones are looked up once a batch.
#[derive(Default)]
struct Unchanged(Vec<Option<i64>>);

impl Unchanged {
    fn is(&mut self, index: usize, value: i64) -> bool {
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        let same = self.0[index] == Some(value);
        self.0[index] = Some(value);
        same
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
