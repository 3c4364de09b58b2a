//! Parquet: our own files, and those written by upstream's converters through pandas.
//!
//! Columns are found by name and read as data frames write them: whole numbers as floats if there was a null
//! among them, flags as booleans or numbers, texts as strings of any width or as dictionaries.

mod batches;
mod values;

use std::fs::File;

use ck_select_types::cells::Cell;
use ck_select_types::sheet::Row;

use super::DataError;
use super::record::SourceFile;
use super::rows::FileRows;
use super::table::TableRows;
use batches::Batches;
use values::Column;

/// Reads all rows.
pub(super) fn read(file: File, rows: FileRows<'_>) -> Result<SourceFile, DataError> {
    let batches = Batches::open(rows.file, file)?;
    if batches.rows() == 0 {
        return Ok(SourceFile::default());
    }
    let names_of_columns = batches.columns();
    let mut table = TableRows::new(&names_of_columns, rows)?;
    let used: Vec<usize> = table.used.iter().copied().collect();
    let mut before = 0;
    batches.read(&used, |columns, rows| {
        let mut places = vec![None; names_of_columns.len()];
        used.iter().zip(columns).for_each(|(&index, column)| places[index] = Some(column));
        for row in 0..rows {
            table.take(&BatchRow { places: &places, row }, || format!("row {}", before + row + 1))?;
        }
        before += rows;
        Ok(())
    })?;
    Ok(table.rows.counts)
}

/// A row of a batch.
struct BatchRow<'a> {
    /// The columns that are read, by their indices in the file.
    places: &'a [Option<&'a Column>],
    row: usize,
}

impl Row for BatchRow<'_> {
    fn at(&self, column: usize) -> Option<Cell<'_>> {
        self.places[column]?.get(self.row)
    }
}

/// The names of all columns.
pub(super) fn columns(file: &str, source: File) -> Result<Vec<String>, DataError> {
    Batches::open(file, source).map(|batches| batches.columns())
}
