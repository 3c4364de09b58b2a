//! The `key=value` lines of a header or a tree, by key.

use super::error::{ForestError, Place, Reason, cut};
use super::number::Packed;
use super::text::Field;

/// The values of the keys that a part of the text may have. Other keys are passed over: later versions of LightGBM
/// may add some, and older ones wrote some that no prediction needs.
pub(super) struct Fields<'a> {
    /// Where the part begins: what is missing is missing from there.
    start: Place,
    keys: &'static [&'static str],
    values: Vec<Option<Field<'a>>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(start: Place, keys: &'static [&'static str]) -> Fields<'a> {
        Fields { start, keys, values: vec![None; keys.len()] }
    }

    /// Takes in one line. A key alone has an empty value.
    pub(super) fn put(&mut self, place: Place, line: &'a str) -> Result<(), ForestError> {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let Some(slot) = self.slot(key) else {
            // What LightGBM reads as another line, or as another key, may be one that it heeds.
            if key.is_empty() || line.contains('\r') {
                return Err(place.error(Reason::Line { found: cut(line), expected: "a line `key=value`" }));
            }
            return Ok(());
        };
        self.put_value(place, slot, value, None)
    }

    /// Takes in a list whose numbers were read before.
    pub(super) fn put_packed(
        &mut self,
        place: Place,
        key: &[u8],
        list: Packed<'a>,
    ) -> Result<(), ForestError> {
        let slot = self.keys.iter().position(|known| known.as_bytes() == key);
        slot.map_or(Ok(()), |slot| self.put_value(place, slot, "", Some(list)))
    }

    fn put_value(
        &mut self,
        place: Place,
        slot: usize,
        value: &'a str,
        packed: Option<Packed<'a>>,
    ) -> Result<(), ForestError> {
        let place = place.field(self.keys[slot]);
        if self.values[slot].is_some() {
            return Err(place.error(Reason::Repeated));
        }
        self.values[slot] = Some(Field { place, value, packed });
        Ok(())
    }

    fn slot(&self, key: &str) -> Option<usize> {
        self.keys.iter().position(|known| *known == key)
    }

    /// The value of one of the keys, if the text has it.
    pub(super) fn get(&self, key: &'static str) -> Option<Field<'a>> {
        let slot = self.slot(key);
        debug_assert!(slot.is_some(), "{key} is not among the keys that are kept");
        self.values[slot?]
    }

    /// The value of one of the keys, which the text must have.
    pub(super) fn need(&self, key: &'static str) -> Result<Field<'a>, ForestError> {
        self.get(key).ok_or_else(|| self.start.field(key).error(Reason::Missing))
    }
}
