//! A packed forest (`build/pack.rs`): its text, with the numbers of its trees as bytes.
//!
//! What the text says is checked by the same code either way, so that a packed forest is the forest of its
//! text.

use super::Forest;
use super::error::{Before, ForestError, Place, Reason};
use super::header::Header;
use super::number::Packed;
use super::parts::{self, Contents};
use super::text::Lines;
use super::tree_text;

/// What is left of the bytes.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ForestError> {
        let (now, later) = self.0.split_at_checked(count).ok_or_else(truncated)?;
        self.0 = later;
        Ok(now)
    }

    fn number(&mut self) -> Result<usize, ForestError> {
        let bytes = self.take(4)?.first_chunk().ok_or_else(truncated)?;
        Ok(u32::from_le_bytes(*bytes) as usize)
    }

    fn bytes(&mut self) -> Result<&'a [u8], ForestError> {
        let length = self.number()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str, ForestError> {
        parts::utf8(self.bytes()?)
    }
}

/// What follows the magic.
fn contents(bytes: &[u8]) -> Result<&[u8], ForestError> {
    bytes.strip_prefix(Forest::PACKED_MAGIC).ok_or_else(|| {
        let found = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Place::line(1).value(&String::from_utf8_lossy(found), "`ck-select packed forest 1`")
    })
}

fn truncated() -> ForestError {
    Place::line(1).error(Reason::Truncated { expected: "the rest of a packed forest" })
}

/// Reads a packed forest.
pub(super) fn read(bytes: &[u8]) -> Result<Contents, ForestError> {
    let mut rest = Rest(contents(bytes)?);
    let header = Header::parse(&mut Lines::new(rest.text()?))?;
    let features = header.feature_names.len();
    let count = rest.number()?;
    let mut trees = Vec::with_capacity(count.min(bytes.len()));
    for tree in 0..count {
        let place = Place::line(1).tree(tree);
        let mut fields = tree_text::fields(place);
        for _ in 0..rest.number()? {
            match rest.take(1)? {
                [0] => fields.put(place, rest.text()?)?,
                kind => {
                    let key = rest.bytes()?;
                    fields.put_packed(place, key, Packed { kind: kind[0], bytes: rest.bytes()? })?;
                }
            }
        }
        trees.push(tree_text::parse(&fields, features)?);
    }
    let before = Before { bytes: 0, lines: 0, trees: count };
    let parameters = parts::end(&header, rest.bytes()?, before)?;
    Ok(Contents { header, trees, parameters })
}

#[cfg(test)]
#[path = "../../../../build/pack.rs"]
mod pack;

#[cfg(test)]
mod tests {
    use super::super::Forest;
    use super::pack;

    /// Bit by bit: the debug form tells the two zeros apart.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn packed_forests_are_the_forests_of_their_texts() {
        let mut seen = 0;
        for entry in
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest")).unwrap()
        {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "txt") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let Ok(packed) = pack::pack(&text) else { continue };
            let (text, packed) = (Forest::parse(text.as_bytes()).unwrap(), Forest::unpack(&packed).unwrap());
            assert_eq!(format!("{packed:?}"), format!("{text:?}"), "{}", path.display());
            seen += 1;
        }
        assert!(seen > 5, "{seen} forests");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn packed_forests_that_are_cut_off_or_changed_are_refused_or_read() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest/by-hand.txt");
        let packed = pack::pack(&std::fs::read_to_string(path).unwrap()).unwrap();
        for end in 0..packed.len() {
            assert!(Forest::unpack(&packed[..end]).is_err(), "{end}");
        }
        for at in 0..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 0x81;
            let _ = Forest::unpack(&changed);
        }
    }

    #[test]
    fn texts_that_are_no_forests_are_not_packed() {
        for (text, message) in [
            ("", "no tree in the text"),
            ("tree\nTree=1\n", "Tree=1 where tree 0 is expected"),
            ("tree\nTree=0\nx\n", "tree 0: the line 'x' has no '='"),
            ("tree\nTree=0\nleaf_value=1 x\n", "tree 0: leaf_value: 'x' is not a number"),
            (
                "tree\nTree=0\nleaf_value=1\n\nx=1\n",
                "the line 'x=1' where a tree or `end of trees` is expected",
            ),
            ("tree\nTree=0\nleaf_value=1\n", "the text ends within a tree"),
        ] {
            assert_eq!(pack::pack(text).unwrap_err(), message, "{text}");
        }
    }
}
