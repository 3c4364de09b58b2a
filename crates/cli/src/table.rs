//! Results as a table for people, CSV or JSON for programs.

use std::fmt::Write as _;
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
            _ => {
                let mut text = String::new();
                self.push_exact(&mut text);
                text
            }
        }
    }

    /// For programs: text that reads back to the same bits.
    fn push_exact(&self, to: &mut String) {
        // Writing to a string does not fail.
        let _ = match self {
            Self::Text(text) => to.write_str(text),
            Self::Count(count) => write!(to, "{count}"),
            Self::Real(value) => write!(to, "{value:?}"),
            Self::Empty => Ok(()),
        };
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
        Value::Array(self.rows.iter().map(|row| object(&self.header, row)).collect())
    }

    pub(crate) fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        let mut layout = Layout::new(format, self.header.clone());
        layout.write(&self.rows, out)?;
        layout.finish(out)
    }
}

fn object(header: &[String], row: &[Cell]) -> Value {
    let fields = header.iter().cloned().zip(row.iter().map(Cell::json));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// How rows look, and what of that depends on the rows before them.
struct Layout {
    format: Format,
    header: Vec<String>,
    /// Whether the header is written, and how many rows.
    started: bool,
    rows: usize,
    /// Of an aligned table, the width of each column and whether it has numbers.
    widths: Vec<usize>,
    numeric: Vec<bool>,
}

impl Layout {
    fn new(format: Format, header: Vec<String>) -> Self {
        let widths = header.iter().map(|name| name.chars().count()).collect();
        let numeric = vec![false; header.len()];
        Self { format, header, started: false, rows: 0, widths, numeric }
    }

    /// Writes the next rows, under the header if they are the first.
    fn write(&mut self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Table => self.write_aligned(rows, out)?,
            Format::Csv => self.write_csv(rows, out)?,
            Format::Json => self.write_json(rows, out)?,
        }
        self.started = true;
        self.rows += rows.len();
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.started {
            self.write(&[], out)?;
        }
        match self.format {
            Format::Json if self.rows == 0 => out.write_all(b"[]\n"),
            Format::Json => out.write_all(b"\n]\n"),
            Format::Table | Format::Csv => Ok(()),
        }
    }

    fn write_csv(&self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        if !self.started {
            writer.write_record(&self.header)?;
        }
        let mut text = String::new();
        for row in rows {
            for cell in row {
                text.clear();
                cell.push_exact(&mut text);
                writer.write_field(&text)?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    }

    fn write_json(&self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        for (place, row) in rows.iter().enumerate() {
            let text = serde_json::to_string_pretty(&object(&self.header, row))?;
            let before = if self.rows + place == 0 { "[\n  " } else { ",\n  " };
            // Line ends within strings are escaped, so these are all between fields.
            write!(out, "{before}{}", text.replace('\n', "\n  "))?;
        }
        Ok(())
    }

    /// Columns are as wide as the rows so far need, and stay so.
    fn write_aligned(&mut self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        let texts: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(Cell::short).collect()).collect();
        for (row, texts) in rows.iter().zip(&texts) {
            for (column, (cell, text)) in row.iter().zip(texts).enumerate() {
                self.widths[column] = self.widths[column].max(text.chars().count());
                self.numeric[column] |= cell.is_number();
            }
        }
        let mut line = |cells: &[String]| {
            let mut text = String::new();
            for (cell, (&width, &numeric)) in cells.iter().zip(self.widths.iter().zip(&self.numeric)) {
                // A column of numbers is aligned at its end, with its header. Writing to a string does not fail.
                let _ =
                    if numeric { write!(text, "{cell:>width$}  ") } else { write!(text, "{cell:<width$}  ") };
            }
            writeln!(out, "{}", text.trim_end())
        };
        if !self.started {
            line(&self.header)?;
        }
        texts.iter().try_for_each(|row| line(row))
    }
}

/// A table that is written while its rows come, so that memory does not grow with their number.
pub(crate) struct Rows {
    out: Output,
    layout: Layout,
    block: Vec<Vec<Cell>>,
}

impl Rows {
    /// Rows that are written at once. Aligned tables of no more rows look as if all had been known before.
    const BLOCK: usize = 4096;

    pub(crate) fn new<S: Into<String>>(
        format: Format,
        out: Output,
        header: impl IntoIterator<Item = S>,
    ) -> Self {
        let layout = Layout::new(format, header.into_iter().map(Into::into).collect());
        Self { out, layout, block: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) -> Result<(), CliError> {
        debug_assert_eq!(row.len(), self.layout.header.len());
        self.block.push(row);
        if self.block.len() < Self::BLOCK { Ok(()) } else { self.flush() }
    }

    /// Writes the rows that are waiting for others.
    fn flush(&mut self) -> Result<(), CliError> {
        let written = self.layout.write(&self.block, &mut self.out).and_then(|()| self.out.flush());
        self.block.clear();
        written.map_err(|error| CliError::io(self.out.name(), &error))
    }

    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        self.flush()?;
        let finished = self.layout.finish(&mut self.out);
        finished.map_err(|error| CliError::io(self.out.name(), &error))?;
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

    /// In parts, rows are what they are at once; of an aligned table only widths that a later part needs are not known.
    #[test]
    fn parts_are_what_the_whole_is() {
        let rows: Vec<Vec<Cell>> = (0..9)
            .map(|row| vec![format!("kernel \"{row}\"\n").into(), (f64::from(row) / 3.0).into()])
            .collect();
        for format in [Format::Table, Format::Csv, Format::Json] {
            let written = |part: usize| {
                let mut layout = Layout::new(format, vec!["kernel".into(), "score".into()]);
                let mut out = Vec::new();
                rows.chunks(part).for_each(|part| layout.write(part, &mut out).unwrap());
                layout.finish(&mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            let whole = written(9);
            assert_eq!(written(4), whole, "{format:?}");
            if format == Format::Json {
                let table = Table { header: vec!["kernel".into(), "score".into()], rows: rows.clone() };
                assert_eq!(whole, serde_json::to_string_pretty(&table.to_json()).unwrap() + "\n");
            }
        }
        let mut none = Vec::new();
        Layout::new(Format::Json, vec!["kernel".into()]).finish(&mut none).unwrap();
        assert_eq!(none, b"[]\n");
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
