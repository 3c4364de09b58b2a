//! Columns of a table as readers take them: whole numbers, reals and texts, whatever wrote them.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use ck_select::hardware::Hardware;

use super::super::numbers;
use super::super::problems::columns as problem_columns;

/// One column of a batch, ready to be asked by row.
pub(super) enum Column {
    Whole(Int64Array),
    Real(Float64Array),
    /// The row's text by its key; texts that stand in no row may be among them.
    Text {
        keys: Int32Array,
        texts: Vec<Option<String>>,
    },
    Absent,
}

/// A cell: `None` is null.
pub(super) enum Cell<'a> {
    Whole(i64),
    Real(f64),
    Text(&'a str),
}

impl Column {
    pub(super) fn new(array: &ArrayRef) -> Result<Self, String> {
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

    pub(super) fn get(&self, row: usize) -> Option<Cell<'_>> {
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

    pub(super) fn figure(&self, name: &str, row: usize) -> Result<f64, String> {
        match self.get(row) {
            None => Ok(f64::NAN),
            Some(Cell::Real(value)) => Ok(value),
            Some(Cell::Whole(value)) => Ok(value as f64),
            Some(Cell::Text(text)) => numbers::figure(name, text.as_bytes()),
        }
    }

    pub(super) fn whole(&self, name: &str, row: usize) -> Result<Option<i64>, String> {
        match self.get(row) {
            None => Ok(None),
            Some(Cell::Whole(value)) => Ok(Some(value)),
            Some(Cell::Real(value)) if value.fract() == 0.0 && value.abs() < 9.0e15 => Ok(Some(value as i64)),
            Some(Cell::Real(value)) => Err(format!("{name}: found {value}, expected a whole number")),
            Some(Cell::Text(text)) => numbers::whole(name, text.as_bytes()),
        }
    }

    pub(super) fn flag(&self, name: &str, row: usize) -> Result<Option<bool>, String> {
        match self.get(row) {
            None => Ok(None),
            Some(Cell::Whole(0)) => Ok(Some(false)),
            Some(Cell::Whole(1)) => Ok(Some(true)),
            Some(Cell::Whole(value)) => Err(format!("{name}: found {value}, expected 0 or 1")),
            Some(Cell::Real(value)) => numbers::flag(name, value.to_string().as_bytes()),
            Some(Cell::Text(text)) => numbers::flag(name, text.as_bytes()),
        }
    }

    pub(super) fn text(&self, row: usize) -> Option<String> {
        Some(match self.get(row)? {
            Cell::Whole(value) => value.to_string(),
            Cell::Real(value) => value.to_string(),
            Cell::Text(text) => text.to_owned(),
        })
    }

    /// Marks the rows whose cell may differ from the one before.
    fn mark_changes(&self, changed: &mut [bool]) {
        match self {
            Self::Whole(values) => mark(values.values(), values.nulls(), changed, |a, b| a != b),
            Self::Real(values) => {
                mark(values.values(), values.nulls(), changed, |a, b| a.to_bits() != b.to_bits());
            }
            Self::Text { keys, .. } => mark(keys.values(), keys.nulls(), changed, |a, b| a != b),
            Self::Absent => {}
        }
    }

    /// Appends what tells this row's cell from other cells of the column.
    pub(super) fn push_key(&self, row: usize, key: &mut Vec<u8>) {
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

/// Beside a null there may be any value, so that a null after a null can count as a change.
fn mark<T>(values: &[T], nulls: Option<&NullBuffer>, changed: &mut [bool], differ: impl Fn(&T, &T) -> bool) {
    let Some((_, later)) = values.split_first() else { return };
    for ((before, value), changed) in values.iter().zip(later).zip(&mut changed[1..]) {
        *changed |= differ(before, value);
    }
    if let Some(nulls) = nulls {
        for row in 1..values.len() {
            changed[row] |= nulls.is_null(row) != nulls.is_null(row - 1);
        }
    }
}

/// The columns of a batch.
pub(super) struct Batch {
    pub(super) kernel: Column,
    pub(super) tflops: Column,
    pub(super) latency: Column,
    pub(super) bandwidth: Column,
    pub(super) is_valid: Column,
    pub(super) non_zero: Column,
    pub(super) problem_idx: Column,
    pub(super) run_id: Column,
    pub(super) problem: Vec<(&'static str, Column)>,
    pub(super) hardware: Vec<(&'static str, Column)>,
}

impl Batch {
    pub(super) fn new(batch: &RecordBatch) -> Result<Self, String> {
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

    /// Which rows' problem or hardware may differ from that of the row before: one comparison a cell, where finding the
    /// problem takes many.
    pub(super) fn changes(&self, rows: usize) -> Vec<bool> {
        let mut changed = vec![false; rows];
        for (_, column) in self.problem.iter().chain(&self.hardware) {
            column.mark_changes(&mut changed);
        }
        if let Some(first) = changed.first_mut() {
            *first = true;
        }
        changed
    }
}
