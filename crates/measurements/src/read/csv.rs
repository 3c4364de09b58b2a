//! Benchmark CSVs: one row per measured (problem, kernel), as written by upstream's harness.

use ck_select_types::sheet::csv::UNCLOSED;
use ck_select_types::sheet::{CsvFault, Opened, Sheet, SheetError};

use super::DataError;
use super::record::Counts;
use super::rows::FileRows;
use super::table::Table;

/// Reads all rows.
pub(super) fn read(opened: Opened<'_>, rows: FileRows<'_>) -> Result<Counts, DataError> {
    let mut csv = Sheet::with_header(opened)?.rows;
    let mut table = Table::new(csv.header(), rows)?;
    loop {
        match csv.next() {
            Ok(true) => table.take(&csv, || format!("line {}", csv.line()))?,
            Ok(false) => break,
            Err(CsvFault::Row { line, reason }) => table.rows.reject(format!("line {line}"), reason)?,
            Err(CsvFault::Unclosed(line)) => {
                table.rows.reject(format!("line {line}"), UNCLOSED.to_owned())?;
            }
            Err(fault) => return Err(SheetError::csv(table.rows.file, fault).into()),
        }
    }
    let FileRows { file, counts, .. } = table.rows;
    if counts.rows + counts.other + counts.other_runs + counts.rejected == 0 {
        return Err(DataError::format(file, "found no row below the header, expected at least one"));
    }
    Ok(counts)
}
