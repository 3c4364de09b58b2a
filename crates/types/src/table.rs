//! Tables: named columns of equal length.

// Features name a cell where they read it: inlined, nothing of the name is left to compute.
#![allow(clippy::inline_always)]

use crate::cell::Cell;
use crate::ends::Ends;

/// The cells of one column.
#[derive(Debug, Clone)]
pub enum Cells<'a> {
    /// Whole numbers.
    Whole(&'a [i64]),
    /// Numbers; NaN is an absent cell.
    Numbers(&'a [f64]),
    /// Indices into a list of words; a negative one is an absent cell.
    Words {
        /// The words.
        words: Vec<&'a str>,
        /// The index of each row's word.
        codes: &'a [i32],
    },
}

/// A named column.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    /// The column's name.
    pub name: &'a str,
    /// The column's cells.
    pub cells: Cells<'a>,
}

/// Why columns are not a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct TableError {
    column: String,
    reason: String,
}

/// Columns of equal length, looked up by name.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    columns: Vec<Column<'a>>,
    rows: usize,
    spots: Vec<Spot>,
}

/// A column's name, and one more than its index; 0 for none.
#[derive(Debug, Clone, Copy, Default)]
struct Spot {
    ends: Ends,
    column: u32,
}

impl<'a> Table<'a> {
    /// A table with this many rows. Columns of another length, duplicate names and codes without a word are
    /// errors.
    pub fn new(columns: Vec<Column<'a>>, rows: usize) -> Result<Self, TableError> {
        let mut table = Self {
            columns: Vec::new(),
            rows,
            spots: vec![Spot::default(); 4 * columns.len().next_power_of_two()],
        };
        for column in columns {
            let fault = |reason: String| TableError { column: column.name.to_owned(), reason };
            let Err(free) = table.find(column.name) else {
                return Err(fault("appears twice".to_owned()));
            };
            let len = match &column.cells {
                Cells::Whole(cells) => cells.len(),
                Cells::Numbers(cells) => cells.len(),
                Cells::Words { words, codes } => {
                    let known = |code: i32| usize::try_from(code).map_or(true, |code| code < words.len());
                    if let Some(row) = codes.iter().position(|&code| !known(code)) {
                        let (code, words) = (codes[row], words.len());
                        return Err(fault(format!("row {row} has word {code}, but there are {words} words")));
                    }
                    codes.len()
                }
            };
            if len != rows {
                return Err(fault(format!("{len} cells, the table has {rows} rows")));
            }
            table.spots[free] =
                Spot { ends: Ends::new(column.name.as_bytes()), column: table.columns.len() as u32 + 1 };
            table.columns.push(column);
        }
        Ok(table)
    }

    /// A column by its name, otherwise the free spot where it would be.
    #[inline(always)]
    fn find(&self, name: &str) -> Result<&Column<'a>, usize> {
        let ends = Ends::new(name.as_bytes());
        let at = ends.begin(self.spots.len());
        let spot = self.spots[at];
        if spot.column == 0 {
            return Err(at);
        }
        if spot.ends == ends && name.len() <= Ends::ALL {
            return Ok(&self.columns[spot.column as usize - 1]);
        }
        self.find_from(at, ends, name)
    }

    /// Goes on with the search from a spot.
    #[inline(never)]
    fn find_from(&self, mut at: usize, ends: Ends, name: &str) -> Result<&Column<'a>, usize> {
        loop {
            let spot = self.spots[at];
            let Some(slot) = spot.column.checked_sub(1) else { return Err(at) };
            let column = &self.columns[slot as usize];
            if spot.ends == ends && (name.len() <= Ends::ALL || column.name == name) {
                return Ok(column);
            }
            at = (at + 1) & (self.spots.len() - 1);
        }
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// How many rows there are.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The columns.
    pub fn columns(&self) -> &[Column<'a>] {
        &self.columns
    }

    /// A row; one that does not exist has no cells.
    pub const fn row(&self, index: usize) -> Row<'_> {
        Row { table: self, index }
    }
}

/// One row of a table.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table<'a>,
    index: usize,
}

impl<'a> Row<'a> {
    /// A cell by its name.
    #[inline(always)]
    pub fn at(self, name: &str) -> Option<Cell<'a>> {
        match &self.table.find(name).ok()?.cells {
            Cells::Whole(cells) => cells.get(self.index).copied().map(Cell::Whole),
            Cells::Numbers(cells) => {
                cells.get(self.index).copied().filter(|value| !value.is_nan()).map(Cell::Number)
            }
            Cells::Words { words, codes } => {
                let code = usize::try_from(*codes.get(self.index)?).ok()?;
                words.get(code).copied().filter(|word| !word.is_empty()).map(Cell::Word)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Fields as _;

    fn column<'a>(name: &'a str, cells: Cells<'a>) -> Column<'a> {
        Column { name, cells }
    }

    #[test]
    fn cells_are_found_by_name_and_may_be_absent() {
        let words = Cells::Words { words: vec!["mem", ""], codes: &[0, -1, 1] };
        let columns = vec![
            column("a", Cells::Whole(&[1, 2, 3])),
            column("b", Cells::Numbers(&[0.5, f64::NAN, 1e300])),
            column("c", words),
        ];
        let table = Table::new(columns, 3).unwrap();
        let row = table.row(0);
        assert_eq!(row.cell("a"), Some(Cell::Whole(1)));
        assert_eq!((row.cell("b"), row.cell("c")), (Some(Cell::Number(0.5)), Some(Cell::Word("mem"))));
        assert_eq!((row.get("a"), row.get("c"), row.cell("d")), (None, Some("mem"), None));
        assert_eq!(
            (table.row(1).cell("b"), table.row(1).cell("c"), table.row(2).cell("c")),
            (None, None, None)
        );
        assert_eq!(table.row(3).cell("a"), None);
    }

    #[test]
    fn columns_must_be_a_table() {
        let wrong = |columns: Vec<Column<'_>>| Table::new(columns, 2).unwrap_err().to_string();
        assert_eq!(wrong(vec![column("a", Cells::Whole(&[1]))]), "column a: 1 cells, the table has 2 rows");
        let twice = vec![column("a", Cells::Whole(&[1, 2])), column("a", Cells::Numbers(&[1.0, 2.0]))];
        assert_eq!(wrong(twice), "column a: appears twice");
        let code = column("w", Cells::Words { words: vec!["x"], codes: &[0, 1] });
        assert_eq!(wrong(vec![code]), "column w: row 1 has word 1, but there are 1 words");
    }
}
