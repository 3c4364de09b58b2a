//! Columns of a table in the readers' form: whole numbers, reals and texts, regardless of what wrote them.

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use ck_select_types::hardware::Hardware;

use super::super::numbers;
use super::super::problems::columns as problem_columns;
use super::values;

/// One column of a batch, ready for access by row.
pub(super) enum Column {
    Whole(Int64Array),
    /// The same number in every row.
    Constant(i64),
    /// NaN for nulls.
    Real(ScalarBuffer<f64>),
    /// The row's text by its key; there may be texts that no row has.
    Text {
        keys: Int32Array,
        texts: StringArray,
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
        let kind = array.data_type();
        if kind.is_null() {
            return Ok(Self::Absent);
        }
        if let Some(whole) = values::whole(array)? {
            return Ok(Self::Whole(whole));
        }
        if let Some(real) = values::real(array)? {
            return Ok(Self::Real(real));
        }
        let text = values::text(array)?;
        let (keys, texts) =
            text.ok_or_else(|| format!("a column of type {kind}, expected numbers or text"))?;
        Ok(Self::Text { keys, texts })
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<Cell<'_>> {
        match self {
            Self::Whole(values) => values.is_valid(row).then(|| Cell::Whole(values.value(row))),
            Self::Constant(value) => Some(Cell::Whole(*value)),
            Self::Real(values) => Some(values[row]).filter(|value| !value.is_nan()).map(Cell::Real),
            Self::Text { keys, texts } => {
                if keys.is_null(row) {
                    return None;
                }
                let key = keys.value(row) as usize;
                let text = texts.is_valid(key).then(|| texts.value(key))?;
                (!text.is_empty()).then_some(Cell::Text(text))
            }
            Self::Absent => None,
        }
    }

    #[inline]
    pub(super) fn figure(&self, name: &str, row: usize) -> Result<f64, String> {
        match self {
            Self::Real(values) => Ok(values[row]),
            Self::Absent => Ok(f64::NAN),
            other => other.odd_figure(name, row),
        }
    }

    fn odd_figure(&self, name: &str, row: usize) -> Result<f64, String> {
        match self.get(row) {
            None => Ok(f64::NAN),
            Some(Cell::Real(value)) => Ok(value),
            Some(Cell::Whole(value)) => Ok(value as f64),
            Some(Cell::Text(text)) => numbers::figure(name, text.as_bytes()),
        }
    }

    #[inline]
    pub(super) fn whole(&self, name: &str, row: usize) -> Result<Option<i64>, String> {
        match self {
            Self::Whole(values) => Ok(values.is_valid(row).then(|| values.value(row))),
            Self::Constant(value) => Ok(Some(*value)),
            other => other.odd_whole(name, row),
        }
    }

    fn odd_whole(&self, name: &str, row: usize) -> Result<Option<i64>, String> {
        match self.get(row) {
            None => Ok(None),
            Some(Cell::Whole(value)) => Ok(Some(value)),
            Some(Cell::Real(value)) if value.fract() == 0.0 && value.abs() < 9.0e15 => Ok(Some(value as i64)),
            Some(Cell::Real(value)) => Err(format!("{name}: found {value}, expected a whole number")),
            Some(Cell::Text(text)) => numbers::whole(name, text.as_bytes()),
        }
    }

    #[inline]
    pub(super) fn flag(&self, name: &str, row: usize) -> Result<Option<bool>, String> {
        match self {
            Self::Whole(values) if values.is_valid(row) && matches!(values.value(row), 0 | 1) => {
                Ok(Some(values.value(row) == 1))
            }
            other => other.odd_flag(name, row),
        }
    }

    fn odd_flag(&self, name: &str, row: usize) -> Result<Option<bool>, String> {
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

    /// Marks the rows whose cell may differ from the previous one.
    fn mark_changes(&self, changed: &mut [bool]) {
        match self {
            Self::Whole(values) => mark(values.values(), values.nulls(), changed),
            Self::Real(values) => {
                let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
                mark(&bits, None, changed);
            }
            Self::Text { keys, .. } => mark(keys.values(), keys.nulls(), changed),
            Self::Constant(_) | Self::Absent => {}
        }
    }

    /// Appends a key that distinguishes this row's cell from others of the column.
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

/// The values of nulls are arbitrary, so that a null after a null may count as a change.
fn mark<T: PartialEq>(values: &[T], nulls: Option<&NullBuffer>, changed: &mut [bool]) {
    // Most rows repeat the previous one: whole blocks are compared at once.
    const BLOCK: usize = 64;
    for first in (1..values.len()).step_by(BLOCK) {
        let end = values.len().min(first + BLOCK);
        if values[first - 1..end - 1] != values[first..end] {
            for row in first..end {
                changed[row] |= values[row - 1] != values[row];
            }
        }
    }
    if let Some(nulls) = nulls {
        for (row, changed) in changed.iter_mut().enumerate().skip(1) {
            *changed |= nulls.is_null(row) != nulls.is_null(row - 1);
        }
    }
}

/// Some columns of a batch, from the thread that decoded them.
pub(super) struct Part {
    columns: Vec<(String, Column)>,
    /// The rows whose problem or hardware may differ from the row before: one comparison per cell, while
    /// finding the problem takes many.
    changed: Vec<bool>,
}

impl Part {
    pub(super) fn new(batch: &RecordBatch) -> Result<Self, String> {
        let mut part = Self { columns: Vec::new(), changed: vec![false; batch.num_rows()] };
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let name = field.name();
            let column = Column::new(array).map_err(|error| format!("{name}: {error}"))?;
            if name.starts_with("hw_") || problem_columns().any(|known| known == name) {
                column.mark_changes(&mut part.changed);
            }
            part.columns.push((name.clone(), column));
        }
        Ok(part)
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
    /// For each row, whether its problem or hardware may differ from the previous row.
    pub(super) changed: Vec<bool>,
}

impl Batch {
    /// The columns of a batch's parts, and those that have one value in all rows of the table.
    pub(super) fn new(parts: Vec<Part>, constants: &[(String, i64)]) -> Self {
        let mut columns: Vec<(String, Column)> =
            constants.iter().map(|(name, value)| (name.clone(), Column::Constant(*value))).collect();
        let mut changed: Vec<bool> = Vec::new();
        for part in parts {
            if changed.is_empty() {
                changed = part.changed;
            } else {
                changed.iter_mut().zip(part.changed).for_each(|(any, one)| *any |= one);
            }
            columns.extend(part.columns);
        }
        if let Some(first) = changed.first_mut() {
            *first = true;
        }
        let mut column = |name: &str| {
            let place = columns.iter().position(|(known, _)| known == name)?;
            Some(columns.swap_remove(place).1)
        };
        let problem: Vec<_> = problem_columns().filter_map(|name| Some((name, column(name)?))).collect();
        let hardware = Hardware::NAMES
            .into_iter()
            .filter_map(|name| Some((name, column(&format!("hw_{name}"))?)))
            .collect();
        let mut any = |names: &[&str]| names.iter().find_map(|name| column(name)).unwrap_or(Column::Absent);
        Self {
            kernel: any(&["kernel_name", "kernel"]),
            tflops: any(&["measured_tflops", "tflops"]),
            latency: any(&["latency_ms"]),
            bandwidth: any(&["bandwidth_gb_s"]),
            is_valid: any(&["is_valid"]),
            non_zero: any(&["non_zero"]),
            problem_idx: any(&["problem_idx"]),
            run_id: any(&["run_id"]),
            problem,
            hardware,
            changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_change_is_marked(
            runs in prop::collection::vec((prop::option::weighted(0.9, 0..3i64), 1..90usize), 1..20),
        ) {
            let rows: Vec<Option<i64>> =
                runs.iter().flat_map(|&(value, rows)| std::iter::repeat_n(value, rows)).collect();
            let reals: Vec<Option<f64>> = rows.iter().map(|row| row.map(|value| value as f64)).collect();
            let reals: ArrayRef = std::sync::Arc::new(arrow_array::Float64Array::from(reals));
            for column in [Column::Whole(rows.clone().into()), Column::new(&reals).unwrap()] {
                let mut changed = vec![false; rows.len()];
                column.mark_changes(&mut changed);
                for row in 1..rows.len() {
                    prop_assert_eq!(changed[row], rows[row - 1] != rows[row], "row {}", row);
                }
            }
        }
    }

    #[test]
    fn flags_are_numbers_to_readers() {
        let flags: ArrayRef =
            std::sync::Arc::new(arrow_array::BooleanArray::from(vec![Some(true), None, Some(false)]));
        let column = Column::new(&flags).unwrap();
        let read: Vec<_> = (0..3).map(|row| column.flag("f", row).unwrap()).collect();
        assert_eq!(read, [Some(true), None, Some(false)]);
        assert_eq!(column.text(0).as_deref(), Some("1"));
    }
}
