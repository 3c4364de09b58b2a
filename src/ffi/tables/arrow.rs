//! Tables of Arrow, through its C stream interface: numbers, truth values and texts, plain or in
//! dictionaries.

use std::ffi::{CStr, c_char, c_void};
use std::{mem, slice};

use super::draft::{Drafts, Value};

/// The type of a column.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    child_count: i64,
    children: *const *const Schema,
    dictionary: *const Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// The cells of a column.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    buffer_count: i64,
    child_count: i64,
    buffers: *const *const c_void,
    children: *const *const Array,
    dictionary: *const Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// Where a table comes from, in parts.
#[repr(C)]
pub(super) struct Stream {
    schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> i32>,
    next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> i32>,
    last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// What a producer fills and releases.
trait Produced {
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Produced for Schema {
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.release
    }
}

impl Produced for Array {
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.release
    }
}

struct Owned<T: Produced>(T);

impl<T: Produced> Owned<T> {
    /// What a producer makes.
    ///
    /// # Safety
    /// All bytes 0 are a value, and `make` gives a status, 0 for success.
    unsafe fn make(make: impl FnOnce(*mut T) -> i32) -> Option<Self> {
        // SAFETY: by contract.
        let mut owned = Self(unsafe { mem::zeroed() });
        (make(&raw mut owned.0) == 0).then_some(owned)
    }
}

impl<T: Produced> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release() {
            // SAFETY: the producer's own, once.
            unsafe { release(&raw mut self.0) };
        }
    }
}

/// How a column's cells lie in its buffers.
#[derive(Clone, Copy)]
enum Form {
    Absent,
    Flag,
    /// Whole numbers of so many bytes.
    Signed(usize),
    Unsigned(usize),
    Single,
    Double,
    /// Texts with their ends, in so many bytes each.
    Text(usize),
    /// Texts of 16 bytes, or the place of longer ones.
    View,
}

impl Form {
    /// # Safety
    /// A live schema.
    unsafe fn new(schema: &Schema) -> Option<Self> {
        // SAFETY: by contract, a text.
        Some(match unsafe { CStr::from_ptr(schema.format) }.to_bytes() {
            b"n" => Self::Absent,
            b"b" => Self::Flag,
            b"c" => Self::Signed(1),
            b"s" => Self::Signed(2),
            b"i" => Self::Signed(4),
            b"l" => Self::Signed(8),
            b"C" => Self::Unsigned(1),
            b"S" => Self::Unsigned(2),
            b"I" => Self::Unsigned(4),
            b"L" => Self::Unsigned(8),
            b"f" => Self::Single,
            b"g" => Self::Double,
            b"u" => Self::Text(4),
            b"U" => Self::Text(8),
            b"vu" => Self::View,
            _ => return None,
        })
    }

    const fn is_text(self) -> bool {
        matches!(self, Self::Text(_) | Self::View)
    }
}

/// A wanted column: its place among the drafts, and its forms.
struct ReadColumn {
    draft: usize,
    form: Form,
    /// Of a dictionary's words.
    words: Option<Form>,
}

/// The columns that are wanted, by their places in a schema; `None` for a table with one that cannot be read
/// or appears twice.
///
/// # Safety
/// A live schema.
unsafe fn read_columns(schema: &Schema, drafts: &mut Drafts) -> Option<Vec<Option<ReadColumn>>> {
    let count = usize::try_from(schema.child_count).ok()?;
    let (mut wanted, mut names) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for at in 0..count {
        // SAFETY: a schema has so many children, whose names are texts.
        let (column, name) = unsafe {
            let column = &**schema.children.add(at);
            (column, if column.name.is_null() { c"" } else { CStr::from_ptr(column.name) })
        };
        names.push(name);
        let Some(draft) = drafts.place(name.to_bytes()).ok()? else {
            wanted.push(None);
            continue;
        };
        // SAFETY: live schemas.
        let (form, words) = unsafe { (Form::new(column)?, column.dictionary.as_ref()) };
        // SAFETY: a live schema.
        let words = words.map(|words| unsafe { Form::new(words) }.filter(|form| form.is_text()));
        wanted.push(Some(ReadColumn {
            draft,
            form,
            words: words.map_or(Some(None), |form| form.map(Some))?,
        }));
    }
    names.sort_unstable();
    names.dedup();
    (names.len() == count).then_some(wanted)
}

/// Some cells of a column.
struct Piece<'a> {
    form: Form,
    array: &'a Array,
    /// Of a dictionary's words.
    words: Option<Box<Piece<'a>>>,
}

impl Piece<'_> {
    /// A cell, counted from where the buffers begin; `None` for one that cannot be read.
    ///
    /// # Safety
    /// The array is of this form, and has such a cell.
    unsafe fn value(&self, at: usize) -> Option<Value<'_>> {
        // SAFETY: by contract, the first buffer has a bit for each cell, if there is one.
        if unsafe { !self.buffer(0).is_null() && !self.bit(0, at) } {
            return Some(Value::Absent);
        }
        // SAFETY: by contract, the others are of this form.
        let whole = unsafe {
            match self.form {
                Form::Absent => return Some(Value::Absent),
                Form::Single => return Some(Value::Number(self.number::<f32>(1, at).into())),
                Form::Double => return Some(Value::Number(self.number(1, at))),
                Form::Text(_) | Form::View => return self.text(at).map(Value::Word),
                Form::Flag => self.bit(1, at).into(),
                Form::Signed(1) => self.number::<i8>(1, at).into(),
                Form::Signed(2) => self.number::<i16>(1, at).into(),
                Form::Signed(4) => self.number::<i32>(1, at).into(),
                Form::Signed(_) => self.number::<i64>(1, at),
                Form::Unsigned(1) => self.number::<u8>(1, at).into(),
                Form::Unsigned(2) => self.number::<u16>(1, at).into(),
                Form::Unsigned(4) => self.number::<u32>(1, at).into(),
                Form::Unsigned(_) => i64::try_from(self.number::<u64>(1, at)).ok()?,
            }
        };
        let Some(words) = &self.words else { return Some(Value::Whole(whole)) };
        let word = usize::try_from(whole).ok().filter(|&word| (word as i64) < words.array.length)?;
        // SAFETY: a dictionary has such a word.
        unsafe { words.value(word + usize::try_from(words.array.offset).ok()?) }
    }

    /// # Safety
    /// The array has such a buffer.
    unsafe fn buffer(&self, number: usize) -> *const u8 {
        // SAFETY: by contract.
        unsafe { (*self.array.buffers.add(number)).cast() }
    }

    /// # Safety
    /// The buffer has such a bit.
    unsafe fn bit(&self, number: usize, at: usize) -> bool {
        // SAFETY: by contract.
        unsafe { self.buffer(number).add(at / 8).read() >> (at % 8) & 1 == 1 }
    }

    /// # Safety
    /// The buffer is of such numbers, and has so many.
    unsafe fn number<T: Copy>(&self, number: usize, at: usize) -> T {
        // SAFETY: by contract.
        unsafe { self.buffer(number).cast::<T>().add(at).read_unaligned() }
    }

    /// # Safety
    /// The array is of texts, and has such a cell.
    unsafe fn text(&self, at: usize) -> Option<&[u8]> {
        // SAFETY: by contract: the ends of texts, and what they are of; a view has the length, and then
        // either the text or, behind its first letters, a buffer and a place there.
        unsafe {
            let (begin, len) = match self.form {
                Form::Text(4) => {
                    let [begin, end] = [0, 1].map(|next| self.number::<i32>(1, at + next));
                    (self.buffer(2).offset(begin as isize), (end - begin).into())
                }
                Form::Text(_) => {
                    let [begin, end] = [0, 1].map(|next| self.number::<i64>(1, at + next));
                    (self.buffer(2).offset(begin as isize), end - begin)
                }
                _ => {
                    let view = self.buffer(1).add(16 * at);
                    let [len, _, buffer, place] = view.cast::<[i32; 4]>().read_unaligned();
                    let long = || Some(self.buffer(usize::try_from(buffer).ok()? + 2).offset(place as isize));
                    (if len <= 12 { view.add(4) } else { long()? }, len.into())
                }
            };
            let len = usize::try_from(len).ok()?;
            // Empty texts need no buffer.
            Some(if len == 0 { &[] } else { slice::from_raw_parts(begin, len) })
        }
    }
}

/// Reads a table of as many rows as the drafts have; `None` for one that is not plain.
///
/// # Safety
/// A live stream that was not read yet, as Arrow defines it.
pub(super) unsafe fn read(stream: &mut Stream, drafts: &mut Drafts) -> Option<()> {
    let (schema, next) = (stream.schema?, stream.next?);
    // SAFETY: by contract; the structs are numbers, addresses and optional functions.
    let schema = unsafe { Owned::make(|to| schema(&raw mut *stream, to)) }?;
    // SAFETY: a live schema.
    if unsafe { CStr::from_ptr(schema.0.format) } != c"+s" {
        return None;
    }
    // SAFETY: a live schema.
    let wanted = unsafe { read_columns(&schema.0, drafts) }?;
    let mut first = 0;
    loop {
        // SAFETY: as above.
        let part: Owned<Array> = unsafe { Owned::make(|to| next(&raw mut *stream, to)) }?;
        if part.0.release.is_none() {
            return (first == drafts.rows).then_some(());
        }
        let len = usize::try_from(part.0.length).ok()?;
        if len > drafts.rows - first {
            return None;
        }
        for (at, column) in wanted.iter().enumerate() {
            let Some(ReadColumn { draft, form, words }) = column else { continue };
            // SAFETY: a part has the schema's children, a column its dictionary.
            let piece = unsafe {
                let array = &**part.0.children.add(at);
                let words = words.map(|form| Piece { form, array: &*array.dictionary, words: None });
                Piece { form: *form, array, words: words.map(Box::new) }
            };
            let begin = usize::try_from(part.0.offset + piece.array.offset).ok()?;
            let (rows, draft) = (drafts.rows, drafts.columns.get_mut(*draft)?);
            draft.reach(first, rows)?;
            for at in begin..begin + len {
                // SAFETY: the children are as long as the part.
                draft.push(&unsafe { piece.value(at) }?)?;
            }
        }
        first += len;
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null;

    use super::super::CkObjects;
    use super::super::draft::Cells;
    use super::*;

    fn schema(format: &'static CStr, name: &'static CStr) -> Schema {
        // SAFETY: all bytes 0 are a value.
        Schema { format: format.as_ptr(), name: name.as_ptr(), ..unsafe { mem::zeroed() } }
    }

    fn array(length: i64, offset: i64, buffers: &[*const c_void]) -> Array {
        // SAFETY: all bytes 0 are a value.
        Array { length, offset, buffers: buffers.as_ptr(), ..unsafe { mem::zeroed() } }
    }

    /// A table of one part, given as a stream, and how often something was released.
    struct Table {
        schema: *const Schema,
        part: *const Array,
        released: usize,
    }

    unsafe extern "C" fn give_schema(stream: *mut Stream, to: *mut Schema) -> i32 {
        unsafe extern "C" fn release(schema: *mut Schema) {
            // SAFETY: of the test's table.
            unsafe { (*(*schema).private_data.cast::<Table>()).released += 1 };
        }
        // SAFETY: of the test's table.
        unsafe {
            let table = (*stream).private_data;
            to.copy_from((*table.cast::<Table>()).schema, 1);
            (*to).release = Some(release);
            (*to).private_data = table;
        }
        0
    }

    unsafe extern "C" fn give_part(stream: *mut Stream, to: *mut Array) -> i32 {
        unsafe extern "C" fn release(array: *mut Array) {
            // SAFETY: of the test's table.
            unsafe { (*(*array).private_data.cast::<Table>()).released += 1 };
        }
        // SAFETY: of the test's table.
        unsafe {
            let table = (*stream).private_data;
            let part = mem::replace(&mut (*table.cast::<Table>()).part, null());
            if !part.is_null() {
                to.copy_from(part, 1);
                (*to).release = Some(release);
                (*to).private_data = table;
            }
        }
        0
    }

    /// For Miri, too: what C and Python test cannot be interpreted.
    #[test]
    fn cells_of_each_form_are_read_where_they_lie() {
        let (whole, numbers, flags) = ([7_i64, 8, 9, 10], [0.5_f64, 1.5, 2.5], [0b0100_u8]);
        let (codes, ends, letters) = ([1_i8, 0, 1], [0_i32, 4, 8], *b"fp16bf16");
        let long = b"a text of more than twelve bytes";
        let mut views = [0_u8; 48];
        views[..8].copy_from_slice(b"\x04\0\0\0fp32");
        views[16..20].copy_from_slice(&(long.len() as u32).to_le_bytes());
        views[32..36].copy_from_slice(&(long.len() as u32 - 2).to_le_bytes());
        views[44..48].copy_from_slice(&2_u32.to_le_bytes());

        let valid = [0b101_u8];
        let of_whole = [null(), whole.as_ptr().cast()];
        let of_numbers = [valid.as_ptr().cast(), numbers.as_ptr().cast()];
        let of_flags = [null(), flags.as_ptr().cast()];
        let of_codes = [null(), codes.as_ptr().cast()];
        let of_words = [null(), ends.as_ptr().cast(), letters.as_ptr().cast()];
        let of_views = [null(), views.as_ptr().cast(), long.as_ptr().cast()];
        let words = array(2, 0, &of_words);
        let columns = [
            array(3, 1, &of_whole),
            array(3, 0, &of_numbers),
            array(3, 0, &of_flags),
            Array { dictionary: &raw const words, ..array(3, 0, &of_codes) },
            array(3, 0, &of_views),
        ];
        let forms = [c"l", c"g", c"b", c"c", c"vu"];
        let names = [c"whole", c"number", c"flag", c"word", c"view"];
        let of_dictionary = schema(c"u", c"");
        let mut schemas: Vec<Schema> =
            forms.into_iter().zip(names).map(|(form, name)| schema(form, name)).collect();
        schemas[3].dictionary = &raw const of_dictionary;
        let schemas: Vec<*const Schema> = schemas.iter().map(|schema| &raw const *schema).collect();
        let children = columns.each_ref().map(|column| &raw const *column);
        let whole_schema = Schema { child_count: 5, children: schemas.as_ptr(), ..schema(c"+s", c"") };
        let part = Array { child_count: 5, children: children.as_ptr(), ..array(3, 0, &of_codes[..1]) };
        let mut table = Table { schema: &raw const whole_schema, part: &raw const part, released: 0 };
        let (schema, next, private_data) =
            (Some(give_schema as _), Some(give_part as _), (&raw mut table).cast());
        let mut stream = Stream { schema, next, last_error: None, release: None, private_data };

        let (names, kinds) = (names.map(CStr::as_ptr), [0, 0, 0, 1, 1]);
        // SAFETY: all bytes 0 are a value.
        let objects = unsafe { mem::zeroed() };
        let objects = CkObjects { names: names.as_ptr(), kinds: kinds.as_ptr(), name_count: 5, ..objects };
        // SAFETY: names and kinds as many as it says.
        let mut drafts = unsafe { Drafts::new(&objects, 3) }.unwrap();
        // SAFETY: a stream of the table above.
        unsafe { read(&mut stream, &mut drafts) }.unwrap();
        let bits = [0.5, f64::NAN, 2.5].map(f64::to_bits).to_vec();
        let word = Cells::Words { codes: vec![0, 1, 0], text: b"bf16\0fp16\0".to_vec(), begins: vec![0, 5] };
        let text = [b"fp32\0", &long[..], b"\0", &long[2..], b"\0"].concat();
        let view = Cells::Words { codes: vec![0, 1, 2], text, begins: vec![0, 5, 38] };
        let expected =
            [Cells::Whole(vec![8, 9, 10]), Cells::Numbers(bits), Cells::Whole(vec![0, 0, 1]), word, view];
        assert_eq!(drafts.finish().unwrap().columns, expected);
        assert_eq!(table.released, 2);
    }
}
