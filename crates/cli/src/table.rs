//! Results as human-readable tables, Markdown for pages, and CSV or JSON for programs.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use ck_select::terminal::printable;
use clap::ValueEnum;
use serde_json::{Map, Number, Value};

use crate::error::CliError;
use crate::output::{Output, Screen};

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns; in a terminal, long text is cut, but no name of a ranked kernel
    Table,
    /// A table for a page or an issue
    Markdown,
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
    /// A number with its unit, for people.
    Figure(String),
    Empty,
}

macro_rules! cell_from {
    ($($kind:ty, $value:ident => $cell:expr;)*) => {
        $(impl From<$kind> for Cell {
            fn from($value: $kind) -> Self { $cell }
        })*
    };
}

cell_from! {
    &str, text => Self::Text(text.to_owned());
    String, text => Self::Text(text);
    usize, count => Self::Count(count as u64);
    u64, count => Self::Count(count);
    u32, count => Self::Count(count.into());
    f64, value => Self::Real(value);
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

impl Cell {
    /// The cell for humans: six significant digits.
    fn short(&self) -> String {
        match self {
            Self::Real(value) if value.is_finite() => short_number(*value),
            _ => {
                let mut text = String::new();
                self.push_exact(&mut text);
                match printable(&text) {
                    Cow::Borrowed(_) => text,
                    Cow::Owned(safe) => safe,
                }
            }
        }
    }

    /// Appends the cell for programs: text that reads back to the same bits.
    fn push_exact(&self, to: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Text(text) | Self::Figure(text) => to.write_str(text),
            Self::Count(count) => write!(to, "{count}"),
            Self::Real(value) => write!(to, "{value:?}"),
            Self::Empty => Ok(()),
        };
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) | Self::Figure(text) => Value::String(text.clone()),
            Self::Count(count) => Value::from(*count),
            // JSON can represent neither NaN nor infinity.
            Self::Real(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
            Self::Empty => Value::Null,
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Count(_) | Self::Real(_) | Self::Figure(_))
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

/// How text that is wider than a terminal is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The middle of long cells is cut out.
    Cut,
    /// Long cells go on in a next line.
    Wrap,
    /// Nothing: the terminal breaks lines.
    Whole,
}

/// Rows with a header.
pub(crate) struct ResultTable {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
    fit: Fit,
}

impl ResultTable {
    pub(crate) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new(), fit: Fit::Cut }
    }

    /// The table with its long cells on several lines: sentences are read as a whole.
    pub(crate) fn wrapped(self) -> Self {
        Self { fit: Fit::Wrap, ..self }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.header.len());
        self.rows.push(row);
    }

    /// The rows as objects.
    pub(crate) fn to_json(&self) -> Value {
        Value::Array(self.rows.iter().map(|row| object(&self.header, row)).collect())
    }

    /// Writes it to standard output, for people.
    pub(crate) fn print(&self, format: Format) -> Result<(), CliError> {
        Output::report()?.filled(|out| self.write(format, out))
    }

    /// Prints the table for people, but as JSON a document in its place.
    pub(crate) fn print_beside(
        &self,
        format: Format,
        document: impl FnOnce() -> Value,
    ) -> Result<(), CliError> {
        match format {
            Format::Json => Output::report()?.filled(|out| writeln!(out, "{:#}", document())),
            format => self.print(format),
        }
    }

    /// Writes it to a file, as CSV.
    pub(crate) fn save(&self, path: &Path) -> Result<(), CliError> {
        Output::create(Some(path))?.filled(|out| self.write(Format::Csv, out))
    }

    pub(crate) fn write(&self, format: Format, out: &mut Output) -> io::Result<()> {
        let mut layout = Layout::new(format, self.header.clone(), out.screen());
        layout.fit = self.fit;
        layout.write(&self.rows, out.exact())?;
        layout.finish(out.exact())
    }
}

fn object(header: &[String], row: &[Cell]) -> Value {
    let fields = header.iter().cloned().zip(row.iter().map(Cell::json));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// The layout of rows, and how it depends on earlier rows.
struct Layout {
    format: Format,
    header: Vec<String>,
    /// Whether the header is written, and the number of rows so far.
    started: bool,
    rows: usize,
    /// For an aligned table, the width of each column, and whether it contains numbers.
    widths: Vec<usize>,
    numeric: Vec<bool>,
    screen: Screen,
    fit: Fit,
}

impl Layout {
    fn new(format: Format, header: Vec<String>, screen: Screen) -> Self {
        // Only programs need the exact names.
        let header = match format {
            Format::Table | Format::Markdown => header.iter().map(|name| printable(name).into()).collect(),
            Format::Csv | Format::Json => header,
        };
        let widths: Vec<usize> = header.iter().map(|name| name.chars().count()).collect();
        let numeric = vec![false; header.len()];
        Self { format, header, started: false, rows: 0, widths, numeric, screen, fit: Fit::Cut }
    }

    /// Writes the next rows, after the header if they are the first.
    fn write(&mut self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        for row in rows {
            for (numeric, cell) in self.numeric.iter_mut().zip(row) {
                *numeric |= cell.is_number();
            }
        }
        match self.format {
            Format::Table => self.write_aligned(rows, out)?,
            Format::Markdown => self.write_markdown(rows, out)?,
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
            Format::Table | Format::Markdown | Format::Csv => Ok(()),
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
                writer.write_field(self.shown(&text).as_bytes())?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    }

    /// A text for programs, which a terminal must not obey either.
    fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.screen.is_terminal { printable(text) } else { Cow::Borrowed(text) }
    }

    fn write_json(&self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        for (index, row) in rows.iter().enumerate() {
            let text = serde_json::to_string_pretty(&object(&self.header, row))?;
            let before = if self.rows + index == 0 { "[\n  " } else { ",\n  " };
            // Line ends in strings are escaped, so these are all between fields.
            write!(out, "{before}{}", self.shown(&text).replace('\n', "\n  "))?;
        }
        Ok(())
    }

    /// Columns are as wide as the rows so far require, and never become narrower.
    fn write_aligned(&mut self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        let texts: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(Cell::short).collect()).collect();
        for texts in &texts {
            for (width, text) in self.widths.iter_mut().zip(texts) {
                *width = text.chars().count().max(*width);
            }
        }
        let room = match self.fit {
            Fit::Cut => self.screen.width,
            Fit::Wrap => Some(self.screen.width.unwrap_or(WRAPPED)),
            Fit::Whole => None,
        };
        let shown = room.map_or_else(|| self.widths.clone(), |room| self.narrowed(room));
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (cell, (&width, &numeric)) in cells.iter().zip(shown.iter().zip(&self.numeric)) {
                let cell = cut(cell, width);
                // Columns of numbers, and their headers, are right-aligned. Writing to a string cannot fail.
                let _ =
                    if numeric { write!(text, "{cell:>width$}  ") } else { write!(text, "{cell:<width$}  ") };
            }
            text.truncate(text.trim_end().len());
            text
        };
        if !self.started {
            let header = line(&self.header);
            if self.screen.styled {
                writeln!(out, "\x1b[1m{header}\x1b[0m")?;
            } else {
                writeln!(out, "{header}")?;
            }
        }
        if self.fit != Fit::Wrap {
            return texts.iter().try_for_each(|row| writeln!(out, "{}", line(row)));
        }
        for row in &texts {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&shown).map(|(cell, &width)| wrap(cell, width)).collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let part: Vec<String> =
                    cells.iter().map(|lines| lines.get(at).cloned().unwrap_or_default()).collect();
                writeln!(out, "{}", line(&part))?;
            }
        }
        Ok(())
    }

    /// Widths that fit on a line: the widest text columns are narrowed, but not so far that texts look alike.
    /// Numbers are never cut.
    fn narrowed(&self, room: usize) -> Vec<usize> {
        const LEAST: usize = 16;
        let mut widths = self.widths.clone();
        let mut over =
            (widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)).saturating_sub(room);
        while over > 0 {
            let texts =
                widths.iter_mut().zip(&self.numeric).filter(|(width, numeric)| !**numeric && **width > LEAST);
            let Some((widest, _)) = texts.max_by_key(|(width, _)| **width) else { break };
            *widest -= 1;
            over -= 1;
        }
        widths
    }

    fn write_markdown(&self, rows: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
        let line = |cells: &[String]| {
            let cells = cells.iter().map(|cell| cell.replace('|', "\\|").replace(['\n', '\r'], " "));
            format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
        };
        if !self.started {
            let rules = self.numeric.iter().map(|&numeric| if numeric { "---:" } else { "---" });
            writeln!(out, "{}\n|{}|", line(&self.header), rules.collect::<Vec<_>>().join("|"))?;
        }
        rows.iter().try_for_each(|row| {
            let texts: Vec<String> = row.iter().map(Cell::short).collect();
            writeln!(out, "{}", line(&texts))
        })
    }
}

/// A text as lines of at most `width` characters, which end between words or, in long ones such as paths, behind
/// a character between their parts.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line, mut count) = (Vec::new(), String::new(), 0);
    for piece in text.split_inclusive([' ', '/', '_', ':', ',']) {
        let begins_a_line = count > 0 && count + piece.trim_end().chars().count() > width;
        for (column, c) in piece.chars().enumerate() {
            if count == width && c == ' ' {
                continue;
            }
            if count == width || begins_a_line && column == 0 {
                lines.push(std::mem::take(&mut line));
                count = 0;
            }
            line.push(c);
            count += 1;
        }
    }
    lines.push(line);
    let lines = lines.iter().map(|line| line.trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// The width of wrapped text where there is no terminal, as of help.
const WRAPPED: usize = 100;

/// A text of at most `width` characters. The middle of a longer one is cut out, since names begin and end
/// alike.
fn cut(text: &str, width: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= width || width == 0 {
        return Cow::Borrowed(text);
    }
    let first = (width - 1) / 3;
    let last = width - 1 - first;
    let end: String = text.chars().skip(count - last).collect();
    Cow::Owned(text.chars().take(first).chain(['…']).collect::<String>() + &end)
}

/// A table that is written as its rows arrive, so that memory does not grow with their number.
pub(crate) struct StreamedTable {
    out: Output,
    layout: Layout,
    block: Vec<Vec<Cell>>,
}

impl StreamedTable {
    /// How many rows are written at once. An aligned table of at most this many rows looks as if all had been
    /// known from the start.
    const BLOCK: usize = 4096;

    pub(crate) fn new<S: Into<String>>(
        format: Format,
        out: Output,
        header: impl IntoIterator<Item = S>,
    ) -> Self {
        let layout = Layout::new(format, header.into_iter().map(Into::into).collect(), out.screen());
        Self { out, layout, block: Vec::new() }
    }

    /// The table with all text whole.
    pub(crate) fn whole(mut self) -> Self {
        self.layout.fit = Fit::Whole;
        self
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) -> Result<(), CliError> {
        debug_assert_eq!(row.len(), self.layout.header.len());
        self.block.push(row);
        if self.block.len() < Self::BLOCK { Ok(()) } else { self.flush() }
    }

    /// Writes the rows that are buffered.
    fn flush(&mut self) -> Result<(), CliError> {
        let written = self.layout.write(&self.block, self.out.exact()).and_then(|()| self.out.flush());
        self.block.clear();
        written.map_err(CliError::io(self.out.name()))
    }

    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        self.flush()?;
        let finished = self.layout.finish(self.out.exact());
        finished.map_err(CliError::io(self.out.name()))?;
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(format: Format, screen: Screen, rows: &[Vec<Cell>]) -> String {
        let mut layout = Layout::new(format, vec!["kernel".into(), "score".into()], screen);
        let mut bytes = Vec::new();
        layout.write(rows, &mut bytes).unwrap();
        layout.finish(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn written(format: Format) -> String {
        let rows = [vec!["a,b".into(), 0.1.into()], vec!["c".into(), Cell::Real(f64::NAN)]];
        laid_out(format, Screen::default(), &rows)
    }

    #[test]
    fn a_terminal_gets_lines_that_it_has_room_for_and_a_bold_header() {
        let long = "grouped_conv_forward_bf16_2d_128x128x64_compv5";
        let rows = [vec![long.into(), 123.456.into()], vec!["c".into(), 1.0.into()]];
        let on =
            |width, styled| laid_out(Format::Table, Screen { width, styled, ..Screen::default() }, &rows);
        let fitted = on(Some(30), false);
        assert_eq!(fitted.lines().map(|line| line.chars().count()).max(), Some(30), "{fitted}");
        assert_eq!(fitted.lines().nth(1), Some("groupe…x128x64_compv5  123.456"));
        // Neither a name that could be confused nor a number is cut.
        assert!(on(Some(5), false).lines().nth(1).unwrap().ends_with("64_compv5  123.456"));
        assert_eq!(on(Some(200), false), on(None, false));
        assert!(on(None, true).starts_with("\u{1b}[1mkernel"));
        assert_eq!(on(None, true).replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""), on(None, false));
    }

    /// The text of `doctor` was cut in its middle.
    #[test]
    fn wrapped_text_is_whole() {
        let effect = "nothing is measured; models, the store and the estimate still choose";
        let folder =
            "none of /opt/rocm/lib/libamdhip64.so.6/and/so/on/without/any/end/in/a/folder/of/folders";
        for width in [None, Some(40), Some(72)] {
            let rows = [vec![folder.into(), effect.into()], vec!["b".into(), "".into()]];
            let mut layout = Layout::new(
                Format::Table,
                vec!["found".into(), "effect".into()],
                Screen { width, ..Screen::default() },
            );
            layout.fit = Fit::Wrap;
            let mut bytes = Vec::new();
            layout.write(&rows, &mut bytes).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width.unwrap_or(100)), "{text}");
            assert!(!text.contains('…') && text.lines().count() > 3 && text.ends_with("\nb\n"), "{text}");
            for word in effect.split(' ') {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
        assert_eq!(wrap("a/b c", 3), ["a/b", "c"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    }

    #[test]
    fn markdown_aligns_numbers_and_keeps_its_columns() {
        let rows = [vec!["a|b\nc".into(), 0.5.into()], vec!["d".into(), Cell::Empty]];
        let table = laid_out(Format::Markdown, Screen { width: Some(10), ..Screen::default() }, &rows);
        assert_eq!(table, "| kernel | score |\n|---|---:|\n| a\\|b c | 0.5 |\n| d |  |\n");
        assert_eq!(laid_out(Format::Markdown, Screen::default(), &[]), "| kernel | score |\n|---|---|\n");
    }

    #[test]
    fn names_of_files_cannot_command_a_terminal() {
        let rows = [vec!["\x1b[2Ja".into(), 1.0.into()]];
        let terminal = Screen { is_terminal: true, ..Screen::default() };
        for (format, screen, is_safe) in [
            (Format::Table, Screen::default(), true),
            (Format::Markdown, Screen::default(), true),
            (Format::Csv, terminal, true),
            (Format::Json, terminal, true),
            (Format::Csv, Screen::default(), false),
        ] {
            let text = laid_out(format, screen, &rows);
            assert_eq!(!text.contains('\x1b'), is_safe, "{format:?} {text:?}");
            assert_eq!(text.contains("\\u001b[2Ja"), is_safe, "{format:?} {text:?}");
        }
    }

    #[test]
    fn tables_align_numbers_csv_quotes_and_json_has_no_nan() {
        assert_eq!(written(Format::Table), "kernel  score\na,b       0.1\nc         NaN\n");
        assert_eq!(written(Format::Csv), "kernel,score\n\"a,b\",0.1\nc,NaN\n");
        let json: Value = serde_json::from_str(&written(Format::Json)).unwrap();
        assert_eq!(
            json,
            serde_json::json!([{"kernel": "a,b", "score": 0.1}, {"kernel": "c", "score": null}])
        );
    }

    /// Writing in parts gives the same rows as writing at once; only the widths of an aligned table cannot
    /// account for later parts.
    #[test]
    fn parts_are_what_the_whole_is() {
        let rows: Vec<Vec<Cell>> = (0..9)
            .map(|row| vec![format!("kernel \"{row}\"\n").into(), (f64::from(row) / 3.0).into()])
            .collect();
        for format in [Format::Table, Format::Markdown, Format::Csv, Format::Json] {
            let written = |part: usize| {
                let mut layout =
                    Layout::new(format, vec!["kernel".into(), "score".into()], Screen::default());
                let mut out = Vec::new();
                rows.chunks(part).for_each(|part| layout.write(part, &mut out).unwrap());
                layout.finish(&mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            let whole = written(9);
            assert_eq!(written(4), whole, "{format:?}");
            if format == Format::Json {
                let table = ResultTable { rows: rows.clone(), ..ResultTable::new(["kernel", "score"]) };
                assert_eq!(whole, serde_json::to_string_pretty(&table.to_json()).unwrap() + "\n");
            }
        }
        let mut none = Vec::new();
        Layout::new(Format::Json, vec!["kernel".into()], Screen::default()).finish(&mut none).unwrap();
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
