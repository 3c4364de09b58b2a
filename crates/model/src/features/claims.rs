//! What a kernel's name says about cells.

use ck_select_types::field::{self, Kind, Record};

use crate::cells::Cell;

/// What a name says about a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameClaim {
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Word(&'static str),
}

impl std::fmt::Display for NameClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => i64::from(*flag).fmt(f),
            Self::Word(word) => write!(f, "'{word}'"),
        }
    }
}

impl NameClaim {
    pub(super) fn cell(&self) -> Cell<'_> {
        match self {
            Self::Number(number) => Cell::Whole(*number),
            Self::Flag(flag) => Cell::Whole((*flag).into()),
            Self::Word(word) => Cell::Word(word),
        }
    }

    /// As a cell of a row in JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self.cell() {
            Cell::Whole(number) => number.into(),
            Cell::Number(number) => number.into(),
            Cell::Word(word) => word.into(),
        }
    }

    /// The word, if it is one.
    pub(super) fn word(&self) -> Option<&str> {
        match self.cell() {
            Cell::Word(word) => Some(word),
            Cell::Whole(_) | Cell::Number(_) => None,
        }
    }
}

/// Cells with what a name says of each.
pub(super) type Claims = Vec<(&'static str, NameClaim)>;

/// What a kernel's name says about cells: its fields of these names.
pub(super) fn claims<K: Record>(kernel: &K, cells: &[&'static str]) -> Claims {
    let (fields, values) = (K::FIELDS, field::values(kernel));
    let claim = |cell: &&'static str| {
        let place = field::place(fields, cell)?;
        let claim = match fields[place].kind {
            Kind::Number | Kind::Shape => NameClaim::Number(values[place]),
            Kind::Flag => NameClaim::Flag(values[place] != 0),
            Kind::Word(vocabulary) => NameClaim::Word(vocabulary.words[usize::try_from(values[place]).ok()?]),
        };
        Some((*cell, claim))
    };
    cells.iter().filter_map(claim).collect()
}
