//! The columns of a table, as a reader asks for them.
//!
//! ```text
//! Columns::new(names) ── one_of, same, kernel, problem ── finish ── need ── a Column's cell of each row
//! ```
//!
//! What a reader asks for is known: no list repeats it, and a column that is close to it is refused as misspelt.
//! [`Columns::finish`] comes before [`Columns::need`], because a misspelt column is the reason why one is missing.
//! Errors name the column as the file does.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::SheetError;
use super::aiter;
use super::csv::CsvRows;
use super::header::{check_alike, check_names};
use crate::cells::{Cell, NamedCells};
use crate::field::InvalidField;
use crate::vocab::Op;

/// The columns with a kernel's name.
pub const KERNELS: [&str; 3] = ["kernel", "kernel_name", "kernelName"];
/// The columns with a time; a table has one of them.
pub const TIMES: [&str; 4] = ["latency_ms", "latency_us", "us", "avg_time_ms"];
/// The columns with a speed; a table has one of them.
pub const SPEEDS: [&str; 2] = ["tflops", "measured_tflops"];

/// A row of a table.
pub trait Row {
    /// The cell of a column, by the column's index.
    fn at(&self, column: usize) -> Option<Cell<'_>>;
}

impl<R> Row for CsvRows<R> {
    fn at(&self, column: usize) -> Option<Cell<'_>> {
        Cell::from_text(self.text(column))
    }
}

/// A column by the name that the file has for it; its cells are absent if the file has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The column's name; of a column that is not there, the first that it could have.
    pub name: &'static str,
    at: Option<usize>,
}

impl Column {
    /// Whether the file has it.
    pub const fn is_there(self) -> bool {
        self.at.is_some()
    }

    /// The cell of a row.
    pub fn cell(self, row: &dyn Row) -> Option<Cell<'_>> {
        row.at(self.at?)
    }

    /// A cell as a whole number.
    pub fn whole(self, row: &dyn Row) -> Result<Option<i64>, InvalidField> {
        self.cell(row).map(|cell| cell.whole(self.name)).transpose()
    }

    /// A cell as yes or no.
    pub fn flag(self, row: &dyn Row) -> Result<Option<bool>, InvalidField> {
        self.cell(row).map(|cell| cell.flag(self.name)).transpose()
    }

    /// A cell as text, whatever its type.
    pub fn text(self, row: &dyn Row) -> Option<Cow<'_, str>> {
        Some(match self.cell(row)? {
            Cell::Whole(value) => value.to_string().into(),
            Cell::Number(value) => value.to_string().into(),
            Cell::Word(text) => text.into(),
        })
    }

    /// A measured figure; NaN if it is absent.
    pub fn figure(self, row: &dyn Row) -> Result<f64, InvalidField> {
        let number = self.cell(row).map_or(Ok(f64::NAN), |cell| cell.number(self.name));
        number.map_err(|error| InvalidField { expected: format!("{} or N/A", error.expected), ..error })
    }

    /// Whether the column's times are microseconds; others are milliseconds.
    pub fn has_microseconds(self) -> bool {
        self.name.ends_with("us")
    }

    /// A time; NaN if it is absent, or infinite, as tuners write what failed.
    pub fn time(self, row: &dyn Row) -> Result<f64, InvalidField> {
        let time = self.figure(row)?;
        Ok(if time == f64::INFINITY { f64::NAN } else { time })
    }

    /// The parts into which a reduction was split. AITER's column has their exponent of two.
    pub fn parts(self, row: &dyn Row) -> Result<Option<i32>, InvalidField> {
        let is_exponent = self.name == aiter::EXPONENTS;
        let range = if is_exponent { 0..=30 } else { 1..=i32::MAX };
        let Some(number) = self.whole(row)? else { return Ok(None) };
        let parts = i32::try_from(number).ok().filter(|number| range.contains(number));
        let parts = parts.map(|number| if is_exponent { 1 << number } else { number });
        parts.map(Some).ok_or_else(|| {
            let expected = format!("a number from {} to {}", range.start(), range.end());
            InvalidField::new(self.name, number, expected)
        })
    }
}

/// The names of a table's columns, and which of them were requested.
pub struct Columns<'a> {
    file: &'a str,
    /// The beginning of errors about names: `header: ` for a table, nothing for the keys of an object.
    prefix: &'static str,
    names: &'a [String],
    asked: Vec<&'static str>,
    used: BTreeSet<usize>,
    /// Two columns of which a table should have one.
    conflict: Option<[&'static str; 2]>,
}

impl<'a> Columns<'a> {
    /// The columns of a file.
    pub const fn new(file: &'a str, names: &'a [String]) -> Self {
        Self { file, prefix: "header: ", names, asked: Vec::new(), used: BTreeSet::new(), conflict: None }
    }

    /// The keys of an object in a file.
    pub fn from_keys(file: &'a str, names: &'a [String]) -> Self {
        Self { prefix: "", ..Self::new(file, names) }
    }

    /// A column by its name.
    pub fn find(&mut self, name: &'static str) -> Column {
        let at = self.names.iter().position(|own| own == name);
        self.asked.push(name);
        self.used.extend(at);
        Column { name, at }
    }

    /// Whether the file has a column, which is not read.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// The first of several columns.
    pub fn one_of(&mut self, names: &[&'static str]) -> Column {
        self.all_of(names).first().copied().unwrap_or(Column { name: names[0], at: None })
    }

    fn all_of(&mut self, names: &[&'static str]) -> Vec<Column> {
        let columns = names.iter().map(|name| self.find(name));
        columns.filter(|column| column.is_there()).collect()
    }

    /// The only one of several columns that hold the same figure.
    pub fn same(&mut self, names: &[&'static str]) -> Column {
        let columns = self.all_of(names);
        if let [one, other, ..] = columns[..] {
            self.conflict.get_or_insert([one.name, other.name]);
        }
        columns.first().copied().unwrap_or(Column { name: names[0], at: None })
    }

    /// The column of a constant of the GPU, under AITER's name, too.
    pub fn named_by_aiter(&mut self, name: &'static str) -> Column {
        match aiter::alias(name) {
            Some(alias) => self.one_of(&[name, alias]),
            None => self.find(name),
        }
    }

    /// The columns with a kernel's name, and whose library it is.
    pub fn kernel(&mut self) -> KernelColumns {
        KernelColumns { names: self.all_of(&KERNELS), library: self.find("libtype") }
    }

    /// The columns of some fields of problems, under AITER's names, too.
    pub fn problem(&mut self, fields: impl Iterator<Item = &'static str>) -> ProblemColumns {
        let columns = fields.map(|field| (field, self.named_by_aiter(field)));
        ProblemColumns(columns.filter(|(_, column)| column.is_there()).collect())
    }

    /// Refuses a column that is not there.
    pub fn need(&self, column: Column) -> Result<Column, SheetError> {
        if column.is_there() {
            return Ok(column);
        }
        Err(SheetError::no_column(self.file, column.name, self.names))
    }

    /// Refuses columns that are probably misspelt, and two for one thing. Returns those that are not known. Without
    /// an operation, problems do not matter, and a column that differs from a requested one in case or punctuation
    /// alone is misspelt.
    pub fn finish(&self, op: Option<Op>) -> Result<Vec<String>, SheetError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let checked = match op {
            Some(op) => check_names(op, &names, &self.asked),
            None => check_alike(&names, &self.asked),
        };
        let unknown = match (checked, self.conflict) {
            (Ok(_), Some([one, other])) => {
                Err(format!("columns '{one}' and '{other}' are the same figure, expected one of them"))
            }
            (checked, _) => checked.map_err(|error| error.to_string()),
        };
        unknown.map_err(|error| SheetError::format(self.file, format_args!("{}{error}", self.prefix)))
    }

    /// The indices of the requested columns.
    pub fn used(self) -> BTreeSet<usize> {
        self.used
    }
}

/// The columns with a kernel's name.
#[derive(Debug, Clone)]
pub struct KernelColumns {
    names: Vec<Column>,
    library: Column,
}

impl KernelColumns {
    /// The first of the columns; one that is not there if there is none.
    pub fn first(&self) -> Column {
        self.names.first().copied().unwrap_or(Column { name: KERNELS[0], at: None })
    }

    /// The name of a row's kernel, in which all columns must agree; `None` without one.
    pub fn name<'r>(&self, row: &'r dyn Row) -> Result<Option<Cow<'r, str>>, InvalidField> {
        let mut names = self.names.iter().filter_map(|column| Some((column.name, column.text(row)?)));
        let Some((first, name)) = names.next() else { return Ok(None) };
        match names.find(|(_, other)| *other != name) {
            Some((column, other)) => {
                let expected = format!("'{name}' as in {first}");
                Err(InvalidField::new(column, format_args!("'{other}'"), expected))
            }
            None => Ok(Some(name)),
        }
    }

    /// Whether a row's kernel is of another library: AITER's assembly, Triton and so on have no names of CK's.
    pub fn is_elsewhere(&self, row: &dyn Row) -> bool {
        self.library.text(row).is_some_and(|library| !["ck", "cktile"].contains(&&*library))
    }
}

/// The columns of a problem's fields.
#[derive(Debug, Clone)]
pub struct ProblemColumns(Vec<(&'static str, Column)>);

impl ProblemColumns {
    /// The cells of a row's problem, by its fields.
    pub fn cells<'a>(&self, row: &'a dyn Row) -> Result<NamedCells<'a>, InvalidField> {
        let cell = |(field, column): &(&'static str, Column)| {
            let cell = match column.name {
                aiter::EXPONENTS => {
                    column.parts(row).map(|parts| parts.map(|parts| Cell::Whole(parts.into())))
                }
                _ => Ok(column.cell(row)),
            };
            Some((*field, cell.transpose()?))
        };
        let cells = self.0.iter().filter_map(cell).map(|(field, cell)| Ok((field, cell?)));
        cells.collect()
    }

    /// A fault of a field as one of its column.
    pub fn in_column(&self, fault: InvalidField) -> InvalidField {
        let column = self.0.iter().find(|(field, _)| **field == fault.field);
        column.map_or(fault.clone(), |(_, column)| InvalidField { field: column.name.to_owned(), ..fault })
    }

    /// A fault that begins with a field's name, with the column's instead.
    pub fn own_name(&self, fault: String) -> String {
        let renamed = |(field, column): &(&str, Column)| {
            let rest = fault.strip_prefix(field)?;
            rest.starts_with(": ").then(|| format!("{}{rest}", column.name))
        };
        self.0.iter().find_map(renamed).unwrap_or(fault)
    }
}
