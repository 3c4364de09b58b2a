//! Rows in the objects of `CPython`, read where they lie: a call for each cell would take longer than a
//! prediction.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr;

use super::CkObjects;
use super::draft::{Cells, Drafts, NotPlain, Value};
use crate::ffi::error::Failure;

/// An object: a count, then its type.
pub(super) type Object = [*const c_void; 2];

type Item = unsafe extern "C" fn(*const Object, isize) -> *const Object;
type Next = unsafe extern "C" fn(*const Object, *mut isize, *mut *const Object, *mut *const Object) -> i32;
type Utf8 = unsafe extern "C" fn(*const Object, *mut isize) -> *const u8;
type Whole = unsafe extern "C" fn(*const Object, *mut i32) -> i64;
type Number = unsafe extern "C" fn(*const Object) -> f64;

/// `CPython`'s functions and types.
#[derive(Clone, Copy)]
pub(super) struct Python {
    item: Item,
    next: Next,
    utf8: Utf8,
    whole: Whole,
    number: Number,
    none: *const Object,
    types: [*const c_void; 5],
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
    pub(super) unsafe fn item(&self, list: *const Object, index: usize) -> *const Object {
        // SAFETY: by contract.
        unsafe { (self.item)(list, index as isize) }
    }

    /// # Safety
    /// A live object.
    unsafe fn is(&self, object: *const Object, kind: usize) -> bool {
        // SAFETY: by contract; the type stands behind the count.
        self.types.get(kind).is_some_and(|&known| unsafe { (*object)[1] } == known)
    }

    /// The text of a `str`; `None` for another type, and for text that is not UTF-8.
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

/// Reads rows into columns.
pub(super) struct Reader {
    pub(super) python: Python,
    pub(super) drafts: Drafts,
    keys: Vec<Key>,
    shared: Shared,
}

impl Reader {
    /// # Safety
    /// The addresses are what the fields say.
    pub(super) unsafe fn new(objects: &CkObjects, rows: usize) -> Result<Self, Failure> {
        // SAFETY: by contract.
        let (python, drafts) = unsafe { (Python::new(objects)?, Drafts::new(objects, rows)?) };
        Ok(Self { python, drafts, keys: Vec::new(), shared: [(ptr::null(), 0); 128] })
    }

    /// Reads a row; `None` for one that is not plain.
    ///
    /// # Safety
    /// A live object, as are all that it holds until the table is read.
    pub(super) unsafe fn dict(&mut self, row: usize, dict: *const Object) -> Option<()> {
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
    pub(super) unsafe fn column(
        &mut self,
        place: usize,
        key: *const Object,
    ) -> Result<Option<usize>, NotPlain> {
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
        let column = self.drafts.place(text)?;
        let key = Key { object: key, text, column };
        match self.keys.get_mut(place) {
            Some(known) => *known = key,
            None => self.keys.push(key),
        }
        Ok(column)
    }

    /// Reads a cell; `None` for one that is not plain.
    ///
    /// # Safety
    /// As for [`dict`](Self::dict).
    pub(super) unsafe fn cell(&mut self, row: usize, column: usize, object: *const Object) -> Option<()> {
        let rows = self.drafts.rows;
        let draft = self.drafts.columns.get_mut(column)?;
        let cells = draft.reach(row, rows)?;
        if object.is_null() {
            return None;
        }
        let shared = self.shared.get_mut(place_of(object))?;
        if let Cells::Whole(cells) = cells
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
        draft.push(&value)
    }
}
