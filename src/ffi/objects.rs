//! Rows in the objects of `CPython`, read where they lie: a call for each cell would take longer than a
//! prediction.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString, c_char, c_void};
use std::hash::BuildHasherDefault;
use std::mem::{offset_of, transmute};
use std::ptr;

use super::CkStatus;
use super::error::{Failure, boundary, boundary_value};
use super::input::{Versioned, output, read_array, read_struct, read_text, write_output};
use super::rows::CkColumn;
use ck_select_model::hash::FastHasher;
use ck_select_types::table::Ends;

/// What of Python's rows is read, and by which functions and types of `CPython`'s stable interface.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkObjects {
    /// `sizeof(ck_objects)`.
    pub struct_size: usize,
    /// `PyList_GetItem`.
    pub list_item: *const c_void,
    /// `PyDict_Next`.
    pub dict_next: *const c_void,
    /// `PyUnicode_AsUTF8AndSize`.
    pub utf8: *const c_void,
    /// `PyLong_AsLongLongAndOverflow`.
    pub whole: *const c_void,
    /// `PyFloat_AsDouble`.
    pub number: *const c_void,
    /// `None`.
    pub none: *const c_void,
    /// The types `dict`, `str`, `int`, `bool` and `float`.
    pub types: [*const c_void; 5],
    /// The names of the columns to read.
    pub names: *const *const c_char,
    /// For each of them 0 for numbers, 1 for words, 2 for kernels' names.
    pub kinds: *const u8,
    /// Number of names.
    pub name_count: usize,
    /// Not 0: keys that are none of the names become columns without cells.
    pub keeps_unknown: i32,
    /// Must be 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers and addresses.
unsafe impl Versioned for CkObjects {
    const NAME: &'static str = "ck_objects";
    const LEAST: usize = offset_of!(Self, reserved);
}

/// A table in the library's memory.
#[repr(C)]
#[derive(Debug)]
pub struct CkTable {
    /// Its columns.
    pub columns: *const CkColumn,
    /// Number of columns.
    pub column_count: usize,
    /// For each name that was asked for 0 if there is no such column, 1 if some of its cells are absent, 2 if
    /// none is.
    pub states: *const u8,
}

/// Copies the cells of a list of dicts: exact Python types alone, without anything that would have to be
/// refused, or the answer is `CK_STATUS_INVALID_ARGUMENT`. Destroy the table with `ck_table_destroy`.
///
/// # Safety
/// `objects` points to a struct with its `struct_size` set and what its fields say; `rows` is a list of at
/// least `count` items, in a `CPython` whose objects begin with a count and a type; the caller holds its
/// lock; `table` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_read(
    objects: *const CkObjects,
    rows: *const c_void,
    count: usize,
    table: *mut *mut CkTable,
) -> CkStatus {
    boundary(|| {
        let table = output(table, "table")?;
        // SAFETY: by contract, `objects` is NULL or a struct with its size set.
        let objects = unsafe { read_struct(objects) }?;
        // SAFETY: by contract, the struct's addresses are what its fields say.
        let mut reader = unsafe { Reader::new(&objects, count) }?;
        if rows.is_null() {
            return Err(Failure::null("rows"));
        }
        for row in 0..count {
            // SAFETY: by contract, `rows` is a list of so many items, and nobody changes it meanwhile.
            unsafe { reader.dict(row, reader.python.item(rows.cast(), row)) }
                .ok_or_else(|| not_plain(row))?;
        }
        // SAFETY: by contract, `table` is valid for writing.
        unsafe { write_output(table, Box::into_raw(reader.finish()?).cast()) };
        Ok(())
    })
}

/// The same for a matrix of objects, and a list of their columns' names. `strides` are the bytes from row to
/// row, and from column to column.
///
/// # Safety
/// As for `ck_table_read`; `columns` is a list of at least `column_count` items, `cells` points to the first
/// cell, and `strides` to two numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_read_cells(
    objects: *const CkObjects,
    columns: *const c_void,
    column_count: usize,
    cells: *const c_void,
    strides: *const isize,
    count: usize,
    table: *mut *mut CkTable,
) -> CkStatus {
    boundary(|| {
        let table = output(table, "table")?;
        // SAFETY: by contract, `objects` is NULL or a struct with its size set, `strides` NULL or two
        // numbers.
        let (objects, strides) = unsafe { (read_struct(objects)?, read_array(strides, 2, "strides")?) };
        // SAFETY: by contract, the struct's addresses are what its fields say.
        let mut reader = unsafe { Reader::new(&objects, count) }?;
        let &[of_row, of_column] = strides else { return Err(Failure::null("strides")) };
        if columns.is_null() || cells.is_null() {
            return Err(Failure::null("columns or cells"));
        }
        for place in 0..column_count {
            // SAFETY: by contract, `columns` is a list of so many items.
            let key = unsafe { reader.column(place, reader.python.item(columns.cast(), place)) };
            let Some(column) = key.map_err(|_| not_plain(place))? else { continue };
            for row in 0..count {
                let at = row.cast_signed() * of_row + place.cast_signed() * of_column;
                // SAFETY: by contract, the matrix has such a cell, which is the address of an object.
                let read =
                    unsafe { reader.cell(row, column, cells.byte_offset(at).cast::<*const Object>().read()) };
                read.ok_or_else(|| not_plain(row))?;
            }
        }
        // SAFETY: by contract, `table` is valid for writing.
        unsafe { write_output(table, Box::into_raw(reader.finish()?).cast()) };
        Ok(())
    })
}

fn not_plain(row: usize) -> Failure {
    Failure::new(CkStatus::InvalidArgument, format_args!("row {row} is not plain"))
}

/// Whether two tables that were read for the same names are equal in every cell: 1 or 0.
///
/// # Safety
/// Both are from `ck_table_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_equals(table: *const CkTable, other: *const CkTable) -> i32 {
    boundary_value(0, || {
        // SAFETY: by contract, each is NULL or a live table.
        let both = unsafe { (table.cast::<Kept>().as_ref(), other.cast::<Kept>().as_ref()) };
        let (Some(table), Some(other)) = both else { return 0 };
        (table.states == other.states && table.names == other.names && table.columns == other.columns).into()
    })
}

/// Destroys a table.
///
/// # Safety
/// `table` is NULL, or from `ck_table_read`, and nobody uses it now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_destroy(table: *mut CkTable) {
    boundary_value((), || {
        if !table.is_null() {
            // SAFETY: by contract, it is from `ck_table_read`, so from `Box::into_raw`.
            drop(unsafe { Box::from_raw(table.cast::<Kept>()) });
        }
    });
}

/// An object: a count, then its type.
type Object = [*const c_void; 2];

type Item = unsafe extern "C" fn(*const Object, isize) -> *const Object;
type Next = unsafe extern "C" fn(*const Object, *mut isize, *mut *const Object, *mut *const Object) -> i32;
type Utf8 = unsafe extern "C" fn(*const Object, *mut isize) -> *const u8;
type Whole = unsafe extern "C" fn(*const Object, *mut i32) -> i64;
type Number = unsafe extern "C" fn(*const Object) -> f64;

/// `CPython`'s functions and types.
#[derive(Clone, Copy)]
struct Python {
    item: Item,
    next: Next,
    utf8: Utf8,
    whole: Whole,
    number: Number,
    none: *const Object,
    types: [*const c_void; 5],
}

/// The value of a cell.
enum Value<'a> {
    Absent,
    Whole(i64),
    Number(f64),
    Word(&'a [u8]),
}

impl Python {
    /// # Safety
    /// The addresses are NULL or those that the fields name.
    unsafe fn new(objects: &CkObjects) -> Result<Self, Failure> {
        let CkObjects { list_item, dict_next, utf8, whole, number, none, types, .. } = *objects;
        if [list_item, dict_next, utf8, whole, number, none].iter().chain(&types).any(|one| one.is_null()) {
            return Err(Failure::null("objects: a function or a type"));
        }
        // SAFETY: not NULL, so by contract the functions of these signatures.
        let (item, next, utf8, whole, number) = unsafe {
            (
                transmute::<*const c_void, Item>(list_item),
                transmute::<*const c_void, Next>(dict_next),
                transmute::<*const c_void, Utf8>(utf8),
                transmute::<*const c_void, Whole>(whole),
                transmute::<*const c_void, Number>(number),
            )
        };
        Ok(Self { item, next, utf8, whole, number, none: none.cast(), types })
    }

    /// # Safety
    /// A list with such an item.
    unsafe fn item(&self, list: *const Object, index: usize) -> *const Object {
        // SAFETY: by contract.
        unsafe { (self.item)(list, index as isize) }
    }

    /// # Safety
    /// A live object.
    unsafe fn is(&self, object: *const Object, kind: usize) -> bool {
        // SAFETY: by contract; the type stands behind the count.
        self.types.get(kind).is_some_and(|&known| unsafe { (*object)[1] } == known)
    }

    /// The text of a `str`; `None` for what is none, and for a text that is no UTF-8.
    ///
    /// # Safety
    /// A live object; the text lives as long.
    unsafe fn text<'a>(&self, object: *const Object) -> Option<&'a [u8]> {
        let mut len = 0;
        // SAFETY: by contract; a text is as long as the function says.
        unsafe {
            let text = if self.is(object, 1) { (self.utf8)(object, &raw mut len) } else { ptr::null() };
            (!text.is_null()).then(|| std::slice::from_raw_parts(text, len.cast_unsigned()))
        }
    }

    /// # Safety
    /// As for [`text`](Self::text).
    unsafe fn value<'a>(&self, object: *const Object) -> Option<Value<'a>> {
        if object == self.none {
            return Some(Value::Absent);
        }
        // SAFETY: by contract; each function gets what it is for.
        unsafe {
            if self.is(object, 2) || self.is(object, 3) {
                let mut overflow = 0;
                let value = (self.whole)(object, &raw mut overflow);
                return (overflow == 0).then_some(Value::Whole(value));
            }
            if self.is(object, 4) {
                Some(Value::Number((self.number)(object)))
            } else {
                self.text(object).map(Value::Word)
            }
        }
    }
}

/// A column as it is read.
#[derive(Debug, PartialEq)]
enum Cells {
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

/// Words that were met: most are the same few.
#[derive(Default)]
struct Met {
    few: Vec<(Ends, i32)>,
    words: Map<Vec<u8>, i32>,
}

/// Short words that are compared with one after the other.
const FEW: usize = 16;

impl Met {
    fn find(&self, word: &[u8]) -> Option<i32> {
        let ends = Ends::of(word);
        match self.few.iter().find(|(known, _)| *known == ends) {
            Some((_, code)) if word.len() <= Ends::ALL => Some(*code),
            _ => self.words.get(word).copied(),
        }
    }

    fn add(&mut self, word: &[u8], code: i32) {
        if word.len() <= Ends::ALL && self.few.len() < FEW {
            self.few.push((Ends::of(word), code));
        }
        self.words.insert(word.to_vec(), code);
    }
}

/// Whole numbers by their objects: small ones and truth values are shared.
type Shared = [(*const Object, i64); 128];

fn place_of(object: *const Object) -> usize {
    (object.addr() >> 5) % 128
}

/// A key where the last row had it.
struct Key {
    object: *const Object,
    text: &'static [u8],
    column: Option<usize>,
}

/// A key of another type.
struct NotPlain;

/// A column that is being read.
struct Draft {
    kind: u8,
    /// None before the first cell.
    cells: Option<Cells>,
    met: Met,
}

/// Reads rows to columns.
struct Reader {
    python: Python,
    rows: usize,
    names: Vec<CString>,
    places: Map<Vec<u8>, usize>,
    keys: Vec<Key>,
    columns: Vec<Draft>,
    shared: Shared,
    unknown: Option<BTreeSet<CString>>,
}

impl Reader {
    /// # Safety
    /// The addresses are what the fields say.
    unsafe fn new(objects: &CkObjects, rows: usize) -> Result<Self, Failure> {
        let count = objects.name_count;
        // SAFETY: by contract.
        let python = unsafe { Python::new(objects) }?;
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
            python,
            rows,
            places: names.iter().enumerate().map(|(place, name)| (name.to_bytes().to_vec(), place)).collect(),
            names,
            keys: Vec::new(),
            columns: kinds.iter().map(|&kind| Draft { kind, cells: None, met: Met::default() }).collect(),
            shared: [(ptr::null(), 0); 128],
            unknown: (objects.keeps_unknown != 0).then(BTreeSet::new),
        })
    }

    /// Reads a row; `None` for one that is not plain.
    ///
    /// # Safety
    /// A live object, as are all that it holds until the table is read.
    unsafe fn dict(&mut self, row: usize, dict: *const Object) -> Option<()> {
        // SAFETY: by contract.
        if dict.is_null() || !unsafe { self.python.is(dict, 0) } {
            return None;
        }
        let (mut position, mut key, mut value) = (0, ptr::null(), ptr::null());
        for place in 0.. {
            // SAFETY: a dict, which holds the key and the value that it gives.
            unsafe {
                if (self.python.next)(dict, &raw mut position, &raw mut key, &raw mut value) == 0 {
                    break;
                }
                if let Some(column) = self.column(place, key).ok()? {
                    self.cell(row, column, value)?;
                }
            }
        }
        Some(())
    }

    /// The column of the key at a place of a row, if it is wanted.
    ///
    /// # Safety
    /// As for [`dict`](Self::dict).
    unsafe fn column(&mut self, place: usize, key: *const Object) -> Result<Option<usize>, NotPlain> {
        let known = self.keys.get_mut(place);
        if let Some(known) = &known
            && known.object == key
        {
            return Ok(known.column);
        }
        // SAFETY: by contract.
        let text = unsafe { self.python.text(key) }.ok_or(NotPlain)?;
        if let Some(known) = known
            && known.text == text
        {
            return Ok(known.column);
        }
        let column = self.places.get(text).copied();
        if let (None, Some(unknown)) = (column, &mut self.unknown) {
            unknown.insert(CString::new(text).map_err(|_| NotPlain)?);
        }
        let key = Key { object: key, text, column };
        match self.keys.get_mut(place) {
            Some(known) => *known = key,
            None => self.keys.push(key),
        }
        Ok(column)
    }

    /// # Safety
    /// As for [`dict`](Self::dict).
    unsafe fn cell(&mut self, row: usize, column: usize, object: *const Object) -> Option<()> {
        let rows = self.rows;
        let Draft { kind, cells, met } = self.columns.get_mut(column)?;
        let cells = cells.get_or_insert_with(|| match kind {
            0 => Cells::Whole(Vec::with_capacity(rows)),
            _ => Cells::Words { codes: Vec::with_capacity(rows), text: Vec::new(), begins: Vec::new() },
        });
        while cells.len() < row {
            cells.push(&Value::Absent)?;
        }
        if object.is_null() {
            return None;
        }
        let shared = self.shared.get_mut(place_of(object))?;
        if let Cells::Whole(cells) = &mut *cells
            && shared.0 == object
        {
            cells.push(shared.1);
            return Some(());
        }
        // SAFETY: by contract.
        let value = unsafe { self.python.value(object) }?;
        if let Value::Whole(number) = value {
            *shared = (object, number);
        }
        let (Cells::Words { codes, text, begins }, Value::Word(word)) = (&mut *cells, &value) else {
            // A kernel's name that is None is another than none.
            return if *kind == 2 { None } else { cells.push(&value) };
        };
        let known = if *kind == 2 { None } else { met.find(word) };
        let code = match known {
            Some(code) => code,
            None => Cells::add(text, begins, word)?,
        };
        if *kind != 2 && known.is_none() {
            met.add(word, code);
        }
        codes.push(code);
        Some(())
    }

    fn finish(self) -> Result<Box<Kept>, Failure> {
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
        Ok(Kept::new(names, columns, states))
    }
}

/// A table with what its addresses point to.
#[repr(C)]
struct Kept {
    shown: CkTable,
    raw: Vec<CkColumn>,
    words: Vec<Vec<*const c_char>>,
    names: Vec<CString>,
    columns: Vec<Cells>,
    states: Vec<u8>,
}

impl Kept {
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
