//! Reading `FlatBuffers`, as far as these files need it: tables of numbers, strings, vectors and tables.
//!
//! Every offset that is followed is checked: inside of the file, and aligned. Nothing is copied, so that a hostile
//! file cannot claim memory.

use ck_select_types::problem::InvalidField;

use crate::refused;

/// A table of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The offset of each field, two bytes each; 0 for absent ones.
    fields: &'a [[u8; 2]],
}

/// Bytes at a place, which has to be a multiple of `align`.
fn take(bytes: &[u8], at: usize, length: usize, align: usize) -> Result<&[u8], InvalidField> {
    if !at.is_multiple_of(align) {
        return refused(format!("byte {at}"), "a value", &format!("an alignment of {align} bytes"));
    }
    match at.checked_add(length).and_then(|end| bytes.get(at..end)) {
        Some(taken) => Ok(taken),
        None => {
            refused(format!("byte {at}"), format_args!("{} bytes", bytes.len()), &format!("{length} more"))
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Result<usize, InvalidField> {
    let value = take(bytes, at, 4, 4)?;
    Ok(u32::from_le_bytes([value[0], value[1], value[2], value[3]]) as usize)
}

impl<'a> Table<'a> {
    /// The root of a file with this identifier.
    pub(crate) fn root(bytes: &'a [u8], identifier: &str) -> Result<Self, InvalidField> {
        let found = bytes.get(4..8).unwrap_or_default();
        if found != identifier.as_bytes() {
            let found = format!("'{}'", String::from_utf8_lossy(found).escape_debug());
            return refused("bytes 4 to 7", found, identifier);
        }
        Self::at(bytes, u32_at(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Result<Self, InvalidField> {
        let back = u32_at(bytes, at)? as u32 as i32;
        let vtable = (at as i64) - i64::from(back);
        let Ok(vtable) = usize::try_from(vtable) else {
            return refused(format!("byte {at}"), format_args!("a vtable at {vtable}"), "one in the file");
        };
        let head = take(bytes, vtable, 4, 2)?;
        let size = usize::from(u16::from_le_bytes([head[0], head[1]]));
        if size < 4 || size % 2 != 0 {
            return refused(
                format!("byte {vtable}"),
                format_args!("a vtable of {size} bytes"),
                "an even size from 4",
            );
        }
        Ok(Self { bytes, at, fields: take(bytes, vtable, size, 2)?[4..].as_chunks().0 })
    }

    fn field(&self, id: usize) -> Option<usize> {
        let offset = self.fields.get(id).map_or(0, |&field| usize::from(u16::from_le_bytes(field)));
        (offset != 0).then(|| self.at + offset)
    }

    /// The bytes of a number.
    pub(crate) fn number<const N: usize>(&self, id: usize) -> Result<Option<[u8; N]>, InvalidField> {
        let Some(at) = self.field(id) else { return Ok(None) };
        Ok(take(self.bytes, at, N, N)?.first_chunk().copied())
    }

    /// Where the value of a field is that lies elsewhere.
    fn target(&self, id: usize) -> Result<Option<usize>, InvalidField> {
        self.field(id).map(|at| follow(self.bytes, at)).transpose()
    }

    /// A vector of numbers; empty if absent.
    pub(crate) fn vector<const N: usize>(&self, id: usize) -> Result<&'a [[u8; N]], InvalidField> {
        let Some(at) = self.target(id)? else { return Ok(&[]) };
        let length = u32_at(self.bytes, at)?;
        Ok(take(self.bytes, at + 4, length.saturating_mul(N), N)?.as_chunks().0)
    }

    fn text_at(bytes: &'a [u8], at: usize) -> Result<&'a str, InvalidField> {
        let length = u32_at(bytes, at)?;
        let text = take(bytes, at + 4, length.saturating_add(1), 1)?;
        match (text[length], std::str::from_utf8(&text[..length])) {
            (0, Ok(text)) => Ok(text),
            _ => refused(format!("byte {at}"), "other bytes", "a string of UTF-8 that ends with NUL"),
        }
    }

    /// A string; empty if absent.
    pub(crate) fn text(&self, id: usize) -> Result<&'a str, InvalidField> {
        self.target(id)?.map_or(Ok(""), |at| Self::text_at(self.bytes, at))
    }

    /// The places of what a vector of offsets points to.
    fn targets(
        &self,
        id: usize,
    ) -> Result<impl ExactSizeIterator<Item = Result<usize, InvalidField>> + use<'a>, InvalidField> {
        let (bytes, count) = (self.bytes, self.vector::<4>(id)?.len());
        let first = self.target(id)?.map_or(0, |at| at + 4);
        Ok((0..count).map(move |index| follow(bytes, first + 4 * index)))
    }

    /// A vector of strings; empty if absent.
    pub(crate) fn texts(&self, id: usize) -> Result<Vec<String>, InvalidField> {
        self.targets(id)?.map(|at| Self::text_at(self.bytes, at?).map(str::to_owned)).collect()
    }

    /// A vector of tables; empty if absent.
    pub(crate) fn tables(
        &self,
        id: usize,
    ) -> Result<impl ExactSizeIterator<Item = Result<Self, InvalidField>> + use<'a>, InvalidField> {
        let bytes = self.bytes;
        Ok(self.targets(id)?.map(move |at| Self::at(bytes, at?)))
    }
}

fn follow(bytes: &[u8], at: usize) -> Result<usize, InvalidField> {
    match u32_at(bytes, at)? {
        0 => refused(format!("byte {at}"), "an offset of 0", "one to a later place"),
        offset => Ok(at + offset),
    }
}
