//! The `key=value` lines of a header or a tree, by key.

use super::error::{ForestError, TextPosition};
use super::number::Packed;
use super::text::Field;

/// The values of the keys that a part of the text may have. Other keys are ignored: later versions of
/// LightGBM may add some, and older ones wrote some that predictions do not need.
pub(super) struct Fields<'a> {
    /// The position where the part begins, which is reported for missing keys.
    start: TextPosition,
    keys: &'static [&'static str],
    values: Vec<Option<Field<'a>>>,
    /// The index after the last key that was read: texts usually have the keys in the listed order.
    next: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(start: TextPosition, keys: &'static [&'static str]) -> Fields<'a> {
        Fields { start, keys, values: vec![None; keys.len()], next: 0 }
    }

    /// Adds a line. A key alone has an empty value.
    pub(super) fn put(&mut self, position: TextPosition, line: &'a str) -> Result<(), ForestError> {
        let end = memchr::memchr(b'=', line.as_bytes());
        let (key, value) = end.map_or((line, ""), |end| (&line[..end], &line[end + 1..]));
        let Some(slot) = self.find(key.as_bytes()) else {
            // LightGBM may read this as another line, or as another key that matters.
            if key.is_empty() || line.contains('\r') {
                return Err(position.found(line, "a line `key=value`"));
            }
            return Ok(());
        };
        self.put_value(position, slot, value, None)
    }

    /// Adds a list whose numbers have already been read.
    pub(super) fn put_packed(
        &mut self,
        position: TextPosition,
        key: &[u8],
        list: Packed<'a>,
    ) -> Result<(), ForestError> {
        let slot = self.find(key);
        slot.map_or(Ok(()), |slot| self.put_value(position, slot, "", Some(list)))
    }

    fn put_value(
        &mut self,
        position: TextPosition,
        slot: usize,
        value: &'a str,
        packed: Option<Packed<'a>>,
    ) -> Result<(), ForestError> {
        let position = position.field(self.keys[slot]);
        if self.values[slot].is_some() {
            return Err(position.error("is given a second time"));
        }
        self.values[slot] = Some(Field { position, value, packed });
        Ok(())
    }

    fn find(&mut self, key: &[u8]) -> Option<usize> {
        let is_key = |&slot: &usize| self.keys[slot].as_bytes() == key;
        let slot = (self.next..self.keys.len()).chain(0..self.next).find(is_key)?;
        self.next = slot + 1;
        Some(slot)
    }

    /// The value of one of the keys, if the text has it.
    pub(super) fn get(&self, key: &'static str) -> Option<Field<'a>> {
        let slot = self.keys.iter().position(|known| *known == key);
        debug_assert!(slot.is_some(), "{key} is not among the keys that are kept");
        self.values[slot?]
    }

    /// The value of one of the keys, which the text must have.
    pub(super) fn need(&self, key: &'static str) -> Result<Field<'a>, ForestError> {
        self.get(key).ok_or_else(|| self.start.field(key).error("is missing"))
    }
}
