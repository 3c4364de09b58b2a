//! Names in text and CSV files.

use std::collections::HashSet;

use csv::{ReaderBuilder, StringRecord};

use super::error::quoted;
use super::{Builder, PoolError, named};
use crate::nearest::nearest;

/// The columns that may hold the name; the first that exists counts.
const COLUMNS: [&str; 2] = ["kernel", "kernel_name"];

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), PoolError> {
    // The whole file would be one line: a single name to a list, a header to a table.
    if text.trim_end().contains('\r') && !text.contains('\n') {
        let expected = "lines that end with a line feed";
        return Err(PoolError::value("lines that end with a carriage return only", expected).line(1));
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    // Names hold neither commas nor quotes, and a header of one column is the column's bare name, or near it.
    let is_header = |line: &str| line.contains([',', '"']) || nearest(line, COLUMNS).is_some();
    if first.is_some_and(is_header) { read_csv(text, builder) } else { read_text(text, builder) }
}

fn read_text(text: &str, builder: &mut Builder) -> Result<(), PoolError> {
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let name = line.split('|').next().unwrap_or(line).trim_end();
        let name = name.strip_prefix("benchmark_").unwrap_or(name);
        named(name).and_then(|kernel| builder.push(kernel)).map_err(|error| error.line(number))?;
    }
    Ok(())
}

fn read_csv(text: &str, builder: &mut Builder) -> Result<(), PoolError> {
    let mut reader = ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| malformed(text, &error))?;
    let find = |name: &&'static str| Some((*name, headers.iter().position(|header| header.trim() == *name)?));
    let Some((field, column)) = COLUMNS.iter().find_map(find) else {
        let found = headers.iter().collect::<Vec<_>>().join(", ");
        let line = headers.position().map_or(1, |position| line_of(text, position));
        return Err(PoolError::value(
            format!("the columns {}", quoted(&found)),
            "a column 'kernel' or 'kernel_name', or a text file of one name a line",
        )
        .line(line));
    };
    let mut seen = HashSet::new();
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return Err(malformed(text, &error)),
        }
        let name = record.get(column).unwrap_or_default().trim();
        if !seen.contains(name) {
            named(name).and_then(|kernel| builder.push(kernel)).map_err(|error| {
                let line = record.position().map_or(1, |position| line_of(text, position));
                error.line(line).within(field)
            })?;
            seen.insert(name.to_owned());
        }
    }
}

/// The line of a record. The reader's own position lies before the blank lines and comments that it skips.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let rest = text.get(position.byte() as usize..).unwrap_or_default();
    let skipped = rest.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count();
    position.line() + skipped as u64
}

fn malformed(text: &str, error: &csv::Error) -> PoolError {
    let line = error.position().map(|position| line_of(text, position));
    let error = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => PoolError::value(
            format_args!("a row of length {len}"),
            format_args!("{expected_len} as in the header"),
        ),
        _ => PoolError::new(format_args!("not a CSV: {error}")),
    };
    match line {
        Some(line) => error.line(line),
        None => error,
    }
}
