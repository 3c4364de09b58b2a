//! Benchmark CSVs: one row per measured (problem, kernel), as written by upstream's harness.

use std::io::BufRead;

use ck_select_types::csv_rows::{CsvFault, CsvRows, UNCLOSED};

use super::DataError;
use super::record::Counts;
use super::rows::FileRows;
use super::table::Table;

/// Reads all rows.
pub(super) fn read(reader: &mut dyn BufRead, rows: FileRows<'_>) -> Result<Counts, DataError> {
    let mut csv = open(rows.file, reader)?;
    let mut table = Table::new(csv.header(), rows)?;
    loop {
        match csv.next() {
            Ok(true) => table.take(&|column| csv.at(column), || format!("line {}", csv.line()))?,
            Ok(false) => break,
            Err(CsvFault::Row { line, reason }) => table.rows.reject(format!("line {line}"), reason)?,
            Err(CsvFault::Unclosed(line)) => {
                table.rows.reject(format!("line {line}"), UNCLOSED.to_owned())?;
            }
            Err(fault) => return Err(DataError::csv(table.rows.file, fault)),
        }
    }
    let FileRows { file, counts, .. } = table.rows;
    if counts.rows + counts.other + counts.other_runs + counts.rejected == 0 {
        return Err(DataError::format(file, "found no row below the header, expected at least one"));
    }
    Ok(counts)
}

/// Opens a CSV that has a header; `file` is its name in errors.
pub(crate) fn open<'s>(
    file: &str,
    source: &'s mut dyn BufRead,
) -> Result<CsvRows<&'s mut dyn BufRead>, DataError> {
    let mut csv = CsvRows::new(source);
    match csv.read_header() {
        Ok(true) => Ok(csv),
        Ok(false) => Err(DataError::format(file, "no header: the file is empty")),
        Err(fault @ (CsvFault::Row { .. } | CsvFault::Unclosed(_))) => {
            Err(DataError::format(file, format_args!("{fault}, expected the header of a CSV")))
        }
        Err(fault) => Err(DataError::csv(file, fault)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_is_named() {
        for (text, message) in [
            (&b""[..], "a.csv: no header: the file is empty"),
            (&b"a,\xff\n"[..], "a.csv: line 1: not UTF-8, expected the header of a CSV"),
        ] {
            let mut source = text;
            assert_eq!(open("a.csv", &mut source).err().unwrap().to_string(), message);
        }
    }
}
