//! Columns as they are read, and the table in the library's memory that they become.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString, c_char};
use std::hash::BuildHasherDefault;

use ck_select_model::hash::FastHasher;
use ck_select_types::ends::Ends;

use super::{CkObjects, CkTable};
use crate::ffi::CkStatus;
use crate::ffi::error::Failure;
use crate::ffi::input::{check_reserved, read_array, read_text};
use crate::ffi::rows::CkColumn;

/// The value of a cell.
pub(super) enum Value<'a> {
    Absent,
    Whole(i64),
    Number(f64),
    Word(&'a [u8]),
}

/// The cells of a column.
#[derive(Debug, PartialEq)]
pub(super) enum Cells {
    Whole(Vec<i64>),
    /// By their bits: a NaN is equal to itself.
    Numbers(Vec<u64>),
    Words {
        codes: Vec<i32>,
        text: Vec<u8>,
        begins: Vec<usize>,
    },
}

/// Whole numbers that a float holds exactly.
const EXACT: u64 = 1 << 53;
const ABSENT: u64 = f64::NAN.to_bits();

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Whole(cells) => cells.len(),
            Self::Numbers(cells) => cells.len(),
            Self::Words { codes, .. } => codes.len(),
        }
    }

    /// Adds a number or an absent cell; `None` for what this column cannot hold.
    fn push(&mut self, value: &Value<'_>) -> Option<()> {
        if let (Self::Whole(cells), Value::Number(_) | Value::Absent) = (&*self, value) {
            let exact = cells.iter().all(|cell| cell.unsigned_abs() <= EXACT);
            let numbers = cells.iter().map(|&cell| (cell as f64).to_bits());
            *self = exact.then(|| Self::Numbers(numbers.collect()))?;
        }
        match (self, value) {
            (Self::Whole(cells), &Value::Whole(value)) => cells.push(value),
            (Self::Numbers(cells), &Value::Whole(value)) if value.unsigned_abs() <= EXACT => {
                cells.push((value as f64).to_bits());
            }
            (Self::Numbers(cells), &Value::Number(value)) => cells.push(value.to_bits()),
            (Self::Numbers(cells), Value::Absent) => cells.push(ABSENT),
            (Self::Words { codes, .. }, Value::Absent) => codes.push(-1),
            (Self::Words { codes, .. }, Value::Number(value)) if value.is_nan() => codes.push(-1),
            _ => return None,
        }
        Some(())
    }

    /// Adds a word's text and gives its number.
    fn add(text: &mut Vec<u8>, begins: &mut Vec<usize>, word: &[u8]) -> Option<i32> {
        // C's texts end there.
        if word.contains(&0) {
            return None;
        }
        begins.push(text.len());
        text.extend_from_slice(word);
        text.push(0);
        i32::try_from(begins.len() - 1).ok()
    }

    /// Whether a cell is absent.
    fn has_absent(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Numbers(cells) => cells.iter().any(|&bits| f64::from_bits(bits).is_nan()),
            Self::Words { codes, .. } => codes.iter().any(|&code| code < 0),
        }
    }
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// Words that were seen: most are the same few.
#[derive(Default)]
struct SeenWords {
    few: Vec<(Ends, i32)>,
    words: Map<Vec<u8>, i32>,
}

/// Short words that are compared with one after the other.
const FEW: usize = 16;

impl SeenWords {
    fn find(&self, word: &[u8]) -> Option<i32> {
        let ends = Ends::new(word);
        match self.few.iter().find(|(known, _)| *known == ends) {
            Some((_, code)) if word.len() <= Ends::ALL => Some(*code),
            _ => self.words.get(word).copied(),
        }
    }

    fn add(&mut self, word: &[u8], code: i32) {
        if word.len() <= Ends::ALL && self.few.len() < FEW {
            self.few.push((Ends::new(word), code));
        }
        self.words.insert(word.to_vec(), code);
    }
}

/// A column that is being read.
pub(super) struct Draft {
    kind: u8,
    /// None before the first cell.
    cells: Option<Cells>,
    words: SeenWords,
}

impl Draft {
    /// The cells up to a row of so many, absent where none was read.
    #[inline]
    pub(super) fn reach(&mut self, row: usize, rows: usize) -> Option<&mut Cells> {
        let cells = self.cells.get_or_insert_with(|| match self.kind {
            0 => Cells::Whole(Vec::with_capacity(rows)),
            _ => Cells::Words { codes: Vec::with_capacity(rows), text: Vec::new(), begins: Vec::new() },
        });
        while cells.len() < row {
            cells.push(&Value::Absent)?;
        }
        Some(cells)
    }

    /// Adds a cell to those that were reached; `None` for one that the column cannot hold.
    pub(super) fn push(&mut self, value: &Value<'_>) -> Option<()> {
        let Self { kind, cells, words } = self;
        let (Some(Cells::Words { codes, text, begins }), Value::Word(word)) = (&mut *cells, value) else {
            // `None` as a kernel's name is not the same as no name.
            return if *kind == 2 { None } else { cells.as_mut()?.push(value) };
        };
        let known = if *kind == 2 { None } else { words.find(word) };
        let code = match known {
            Some(code) => code,
            None => Cells::add(text, begins, word)?,
        };
        if *kind != 2 && known.is_none() {
            words.add(word, code);
        }
        codes.push(code);
        Some(())
    }
}

/// What cannot be read like this.
pub(super) struct NotPlain;

/// A table that is being read: the wanted columns, and the names of others.
pub(super) struct Drafts {
    pub(super) rows: usize,
    pub(super) columns: Vec<Draft>,
    names: Vec<CString>,
    places: Map<Vec<u8>, usize>,
    unknown: Option<BTreeSet<CString>>,
}

impl Drafts {
    /// # Safety
    /// The addresses are what the fields say.
    pub(super) unsafe fn new(objects: &CkObjects, rows: usize) -> Result<Self, Failure> {
        check_reserved("ck_objects.", objects.reserved)?;
        let count = objects.name_count;
        // SAFETY: by contract.
        let (names, kinds) = unsafe {
            (read_array(objects.names, count, "names")?, read_array(objects.kinds, count, "kinds")?)
        };
        for &name in names {
            // SAFETY: by contract, each is NULL or a text.
            unsafe { read_text(name, "name") }?;
        }
        // SAFETY: texts, see above.
        let names: Vec<CString> =
            names.iter().map(|&name| unsafe { CStr::from_ptr(name) }.to_owned()).collect();
        Ok(Self {
            rows,
            columns: kinds
                .iter()
                .map(|&kind| Draft { kind, cells: None, words: SeenWords::default() })
                .collect(),
            places: names.iter().enumerate().map(|(place, name)| (name.to_bytes().to_vec(), place)).collect(),
            names,
            unknown: (objects.keeps_unknown != 0).then(BTreeSet::new),
        })
    }

    /// The place of a column, if it is wanted.
    pub(super) fn place(&mut self, name: &[u8]) -> Result<Option<usize>, NotPlain> {
        let place = self.places.get(name).copied();
        if let (None, Some(unknown)) = (place, &mut self.unknown) {
            unknown.insert(CString::new(name).map_err(|_| NotPlain)?);
        }
        Ok(place)
    }

    /// The table.
    pub(super) fn finish(self) -> Result<Box<OwnedTable>, Failure> {
        let (rows, mut states) = (self.rows, Vec::with_capacity(self.columns.len()));
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for (name, Draft { cells, .. }) in self.names.into_iter().zip(self.columns) {
            let Some(mut cells) = cells else {
                states.push(0);
                continue;
            };
            while cells.len() < rows {
                let pushed = cells.push(&Value::Absent);
                pushed.ok_or_else(|| Failure::new(CkStatus::InvalidArgument, "a number is too large"))?;
            }
            states.push(2 - u8::from(cells.has_absent()));
            names.push(name);
            columns.push(cells);
        }
        for name in self.unknown.into_iter().flatten() {
            names.push(name);
            columns.push(Cells::Words { codes: vec![-1; rows], text: Vec::new(), begins: Vec::new() });
        }
        Ok(OwnedTable::new(names, columns, states))
    }
}

/// A table with what its addresses point to.
#[repr(C)]
pub(in crate::ffi) struct OwnedTable {
    shown: CkTable,
    raw: Vec<CkColumn>,
    words: Vec<Vec<*const c_char>>,
    pub(super) names: Vec<CString>,
    pub(super) columns: Vec<Cells>,
    pub(super) states: Vec<u8>,
}

impl OwnedTable {
    fn new(names: Vec<CString>, columns: Vec<Cells>, states: Vec<u8>) -> Box<Self> {
        let (mut raw, mut words) = (Vec::new(), Vec::new());
        for (name, cells) in names.iter().zip(&columns) {
            let mut column = CkColumn::none(name.as_ptr());
            match cells {
                Cells::Whole(cells) => column.integers = cells.as_ptr(),
                Cells::Numbers(cells) => column.numbers = cells.as_ptr().cast(),
                Cells::Words { codes, text, begins } => {
                    let own: Vec<*const c_char> =
                        begins.iter().map(|&begin| text.as_ptr().wrapping_add(begin).cast()).collect();
                    (column.codes, column.words, column.word_count) =
                        (codes.as_ptr(), own.as_ptr(), own.len());
                    words.push(own);
                }
            }
            raw.push(column);
        }
        let shown = CkTable { columns: raw.as_ptr(), column_count: raw.len(), states: states.as_ptr() };
        Box::new(Self { shown, raw, words, names, columns, states })
    }
}
