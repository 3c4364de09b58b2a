//! Named cells: a row of a CSV, or a mapping as upstream's Python tools take it.

pub use crate::cell::Cell;
use crate::invalid::{InvalidField, UnknownWord};
use crate::table::Row;

/// Named cells. An empty cell counts as absent.
pub trait Fields {
    /// The value of a cell; `None` when it is absent or empty.
    fn cell(&self, name: &str) -> Option<Cell<'_>>;

    /// The text of a cell, `None` when it is absent, empty, or a number.
    fn get(&self, name: &str) -> Option<&str> {
        match self.cell(name) {
            Some(Cell::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The table's row that has these cells, if there is one: it finds them faster than this trait does.
    fn row(&self) -> Option<Row<'_>> {
        None
    }
}

impl Fields for Row<'_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.at(name)
    }

    fn row(&self) -> Option<Row<'_>> {
        Some(*self)
    }
}

/// Cells as a list. A search begins after the cell of the last one: most readers ask in the order of the list.
#[derive(Debug, Clone, Default)]
pub struct NamedCells<'a> {
    cells: Vec<(&'a str, Cell<'a>)>,
    next: std::cell::Cell<usize>,
}

impl<'a> NamedCells<'a> {
    /// Appends a cell.
    pub fn push(&mut self, name: &'a str, cell: Cell<'a>) {
        self.cells.push((name, cell));
    }

    /// Forgets all cells but so many.
    pub fn truncate(&mut self, len: usize) {
        self.cells.truncate(len);
    }

    /// The names and cells, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Cell<'a>)> {
        self.cells.iter().copied()
    }

    /// The cell of a name.
    pub fn find(&self, name: &str) -> Option<Cell<'a>> {
        let next = self.next.get();
        let is = |index: &usize| self.cells.get(*index).is_some_and(|(known, _)| *known == name);
        let index = Some(next).filter(is).or_else(|| (0..self.cells.len()).find(is))?;
        self.next.set(index + 1);
        Some(self.cells[index].1)
    }
}

impl<'a> FromIterator<(&'a str, Cell<'a>)> for NamedCells<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a str, Cell<'a>)>>(cells: I) -> Self {
        Self { cells: cells.into_iter().collect(), next: std::cell::Cell::default() }
    }
}

impl Fields for NamedCells<'_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.find(name)
    }
}

/// A cell as a whole number; `None` when it is absent.
pub fn whole(cells: &dyn Fields, name: &str) -> Result<Option<i64>, InvalidField> {
    cells.cell(name).map(|cell| cell.whole(name)).transpose()
}

/// A cell as yes or no.
pub fn flag(cells: &dyn Fields, name: &str) -> Result<Option<bool>, InvalidField> {
    cells.cell(name).map(|cell| cell.flag(name)).transpose()
}

/// A cell as text.
pub fn text<'c>(cells: &'c dyn Fields, name: &str) -> Result<Option<&'c str>, InvalidField> {
    cells.cell(name).map(|cell| cell.text(name)).transpose()
}

/// A cell as the number of a word. Upstream's attention has numbers for words.
pub(crate) fn word(
    cells: &dyn Fields,
    name: &str,
    code: fn(&str) -> Result<i64, UnknownWord>,
) -> Result<Option<i64>, InvalidField> {
    let read = |text: &str| code(text).map(Some).map_err(|error| InvalidField::word(name, &error));
    match cells.cell(name) {
        Some(Cell::Whole(number)) => read(&number.to_string()),
        // A table with an absent cell holds whole numbers as floats.
        Some(Cell::Number(number)) if number.fract() == 0.0 => read(&number.to_string()),
        _ => text(cells, name)?.map_or(Ok(None), read),
    }
}

/// A cell as a word of a vocabulary.
pub(crate) fn parsed<T: std::str::FromStr<Err = UnknownWord>>(
    cells: &dyn Fields,
    name: &str,
) -> Result<Option<T>, InvalidField> {
    let parsed = text(cells, name)?.map(str::parse).transpose();
    parsed.map_err(|error| InvalidField::word(name, &error))
}
