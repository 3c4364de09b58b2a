//! Parquet: our own files, and those written by upstream's converters through pandas.
//!
//! Columns are found by name and read as data frames write them: whole numbers as floats if there was a null
//! among them, flags as booleans or numbers, texts as strings of any width or as dictionaries.

mod batches;
mod values;

use std::fs::File;

use arrow_array::RecordBatch;
use parquet::errors::ParquetError;

use super::DataError;
use super::names::Names;
use super::record::{Counts, Sink};
use super::table::{Cell, Table};
use batches::Batches;
use values::Column;

/// Reads all rows.
pub(super) fn read(
    file: &str,
    source: File,
    names: &mut Names,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let batches = Batches::open(source).map_err(|error| DataError::format(file, error))?;
    if batches.rows() == 0 {
        return Ok(Counts::default());
    }
    let names_of_columns = batches.columns();
    let mut table = Table::new(file, &names_of_columns, names, sink)?;
    let used: Vec<usize> = (0..names_of_columns.len()).filter(|&column| table.uses(column)).collect();
    let mut before = 0;
    let read = batches.read(&used, |batch| {
        let mut columns: Vec<Option<Column>> = names_of_columns.iter().map(|_| None).collect();
        for (&place, column) in used.iter().zip(columns_of(batch)?) {
            columns[place] = Some(column);
        }
        for row in 0..batch.num_rows() {
            let cell =
                |column: usize| columns[column].as_ref().map_or(Cell::Absent, |column| column.get(row));
            table.take(&cell, || format!("row {}", before + row + 1))?;
        }
        before += batch.num_rows();
        Ok(())
    });
    match read {
        Ok(()) => Ok(table.end()),
        Err(Failed::Table(error)) => Err(DataError::format(file, error)),
        Err(Failed::Rows(error)) => Err(error),
    }
}

/// The columns of a batch, in order.
fn columns_of(batch: &RecordBatch) -> Result<Vec<Column>, ParquetError> {
    let wrong = |place: usize, error: String| {
        ParquetError::General(format!("{}: {error}", batch.schema().field(place).name()))
    };
    let columns = batch.columns().iter().enumerate();
    columns.map(|(place, array)| Column::new(array).map_err(|error| wrong(place, error))).collect()
}

/// The names of all columns.
pub(super) fn columns(file: &str, source: File) -> Result<Vec<String>, DataError> {
    Batches::open(source).map(|batches| batches.columns()).map_err(|error| DataError::format(file, error))
}

/// The first of these columns that exists, as numbers, with NaN for nulls.
pub fn numbers_of(
    file: &str,
    source: File,
    names: &[String],
) -> Result<Option<(String, Vec<f64>)>, DataError> {
    let wrong = |error: &dyn std::fmt::Display| DataError::format(file, error);
    let batches = Batches::open(source).map_err(|error| wrong(&error))?;
    let columns = batches.columns();
    let Some(place) = columns.iter().position(|column| names.contains(column)) else { return Ok(None) };
    let name = &columns[place];
    let mut numbers = Vec::new();
    let read = batches.read(&[place], |batch| {
        for column in columns_of(batch)? {
            let figure = |row| column.get(row).figure(name).map_err(ParquetError::General);
            numbers.extend((0..batch.num_rows()).map(figure).collect::<Result<Vec<f64>, _>>()?);
        }
        Ok(())
    });
    match read {
        Ok(()) => Ok(Some((name.clone(), numbers))),
        Err(Failed::Table(error)) => Err(wrong(&error)),
        Err(Failed::Rows(error)) => Err(error),
    }
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
