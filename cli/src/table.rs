//! Results as a table for people, CSV or JSON for programs.

use std::io::{self, Write};

use clap::ValueEnum;
use serde_json::{Map, Number, Value};

use crate::error::CliError;
use crate::output::Output;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns
    Table,
    /// Comma-separated values with a header
    Csv,
    /// A list of objects
    Json,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    Count(u64),
    Real(f64),
    Empty,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Real)
    }
}

impl Cell {
    /// For people: six significant digits.
    fn short(&self) -> String {
        match self {
            Self::Real(value) if value.is_finite() => short_number(*value),
            _ => self.exact(),
        }
    }

    /// For programs: text that reads back to the same bits.
    fn exact(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Real(value) => format!("{value:?}"),
            Self::Empty => String::new(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Count(count) => Value::from(*count),
            // JSON has no NaN and no infinity.
            Self::Real(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
            Self::Empty => Value::Null,
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Count(_) | Self::Real(_))
    }
}

fn short_number(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if (-4..7).contains(&magnitude) {
        let digits = (5 - magnitude).max(0) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:.5e}")
    }
}

/// Rows under a header.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.header.len());
        self.rows.push(row);
    }

    /// The rows as objects.
    pub(crate) fn to_json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let fields = self.header.iter().cloned().zip(row.iter().map(Cell::json));
            Value::Object(fields.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }

    pub(crate) fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_aligned(out),
            Format::Csv => self.write_csv(out),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, &self.to_json())?;
                writeln!(out)
            }
        }
    }

    fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(&self.header)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::exact))?;
        }
        writer.flush()
    }

    fn write_aligned(&self, out: &mut dyn Write) -> io::Result<()> {
        let texts: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::short).collect()).collect();
        let width = |column: usize| {
            let cells = texts.iter().map(|row| row[column].chars().count());
            cells.chain([self.header[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        // A column of numbers is aligned at its end, with its header.
        let numeric: Vec<bool> = (0..self.header.len())
            .map(|column| self.rows.iter().any(|row| row[column].is_number()))
            .collect();
        let mut line = |cells: &[String]| {
            let aligned: Vec<String> = cells
                .iter()
                .zip(widths.iter().zip(&numeric))
                .map(
                    |(cell, (&width, &numeric))| {
                        if numeric { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                    },
                )
                .collect();
            writeln!(out, "{}", aligned.join("  ").trim_end())
        };
        line(&self.header)?;
        texts.iter().try_for_each(|row| line(row))
    }
}

/// Rows of numbers, of which there may be many: CSV is written row by row, the other formats at the end.
pub(crate) struct Rows {
    format: Format,
    out: Output,
    table: Table,
}

impl Rows {
    pub(crate) fn new<S: Into<String>>(
        format: Format,
        mut out: Output,
        header: impl IntoIterator<Item = S>,
    ) -> Result<Self, CliError> {
        let table = Table::new(header);
        if format == Format::Csv {
            table.write(Format::Csv, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
        }
        Ok(Self { format, out, table })
    }

    pub(crate) fn push(&mut self, row: &[f64]) -> Result<(), CliError> {
        if self.format != Format::Csv {
            self.table.push(row.iter().copied().map(Cell::Real).collect());
            return Ok(());
        }
        let mut write = || {
            for (column, value) in row.iter().enumerate() {
                let comma = if column == 0 { "" } else { "," };
                // Debug prints the shortest digits that read back to the same bits.
                write!(self.out, "{comma}{value:?}")?;
            }
            writeln!(self.out)
        };
        write().map_err(|error| CliError::io(self.out.name(), &error))
    }

    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        if self.format != Format::Csv {
            let written = self.table.write(self.format, &mut self.out);
            written.map_err(|error| CliError::io(self.out.name(), &error))?;
        }
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let mut table = Table::new(["kernel", "score"]);
        table.push(vec!["a,b".into(), 0.1.into()]);
        table.push(vec!["c".into(), Cell::Real(f64::NAN)]);
        let mut bytes = Vec::new();
        table.write(format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn tables_align_numbers_at_their_end() {
        assert_eq!(written(Format::Table), "kernel  score\na,b       0.1\nc         NaN\n");
    }

    #[test]
    fn csv_quotes_and_json_has_no_nan() {
        assert_eq!(written(Format::Csv), "kernel,score\n\"a,b\",0.1\nc,NaN\n");
        let json: Value = serde_json::from_str(&written(Format::Json)).unwrap();
        assert_eq!(
            json,
            serde_json::json!([{"kernel": "a,b", "score": 0.1}, {"kernel": "c", "score": null}])
        );
    }

    #[test]
    fn short_numbers_have_six_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (123.456_789, "123.457"),
            (1_234_567.8, "1234568"),
            (1e-9, "1.00000e-9"),
            (-0.25, "-0.25"),
            (1e10, "1.00000e10"),
        ] {
            assert_eq!(short_number(value), text);
        }
    }
}
