//! A packed forest (`src/packed/mod.rs`): its text, with the numbers of its trees as bytes.
//!
//! One reader checks both forms, so that a packed forest equals the forest of its text.

use std::fmt::Write as _;
use std::io::Read;

use super::error::{DAMAGED, ForestError, TextPosition};
use super::header::Header;
use super::number::Packed;
use super::sections::{self, Before, Contents};
use super::text::Lines;
use super::tree::Tree;
use super::tree_text;
use super::{Forest, ReadError};

/// The unread bytes of a tree.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ForestError> {
        let (now, later) = self.0.split_at_checked(count).ok_or_else(truncated)?;
        self.0 = later;
        Ok(now)
    }

    fn bytes(&mut self) -> Result<&'a [u8], ForestError> {
        let length = self.take(4)?.first_chunk().ok_or_else(truncated)?;
        self.take(u32::from_le_bytes(*length) as usize)
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, ForestError> {
    sections::utf8(bytes, Before::default())
}

pub(super) fn truncated() -> ForestError {
    TextPosition::line(1).truncated("the rest of a packed forest")
}

/// A reader, with a buffer for what was last read.
struct PackedReader<R> {
    reader: R,
    part: Vec<u8>,
}

impl<R: Read> PackedReader<R> {
    /// Reads how a packed forest begins.
    fn begin(reader: R) -> Result<Self, ReadError> {
        let mut parts = Self { reader, part: Vec::new() };
        let magic = parts.take(Forest::PACKED_MAGIC.len())?;
        if magic == Forest::PACKED_MAGIC {
            return Ok(parts);
        }
        let expected = String::from_utf8_lossy(Forest::PACKED_MAGIC.trim_ascii_end());
        let format = String::from_utf8_lossy(magic.trim_ascii_end());
        Err(TextPosition::line(1).value(&format, format!("`{expected}`")).into())
    }

    /// The next bytes. Memory is allocated for what exists, never for what a length claims.
    fn take(&mut self, count: usize) -> Result<&[u8], ReadError> {
        self.part.clear();
        let found =
            self.reader.by_ref().take(count as u64).read_to_end(&mut self.part).map_err(ReadError::Io)?;
        if found < count { Err(ReadError::Text(truncated())) } else { Ok(&self.part) }
    }

    fn number(&mut self) -> Result<usize, ReadError> {
        let bytes = self.take(4)?.first_chunk().ok_or_else(|| ReadError::Text(truncated()))?;
        Ok(u32::from_le_bytes(*bytes) as usize)
    }

    /// The next part, preceded by its length and its checksum.
    fn next(&mut self, what: impl Fn() -> TextPosition) -> Result<&[u8], ReadError> {
        let length = self.number()?;
        let sum = *self.take(8)?.first_chunk().ok_or_else(|| ReadError::Text(truncated()))?;
        let part = self.take(length)?;
        // A fuzzer cannot guess checksums.
        if cfg!(fuzzing) || checksum(part) == u64::from_le_bytes(sum) {
            return Ok(part);
        }
        Err(what().error(DAMAGED).into())
    }

    /// Refuses what follows the end.
    fn end(mut self) -> Result<(), ReadError> {
        self.part.clear();
        let more = self.reader.take(1).read_to_end(&mut self.part).map_err(ReadError::Io)?;
        if more == 0 { Ok(()) } else { Err(TextPosition::line(1).error(DAMAGED).into()) }
    }
}

/// Four independent sums, so that none waits for another. Any change of one word changes a sum. The writer's
/// is in `src/packed/mod.rs`, shorter and slower, and a published crate below the library cannot share it.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut sums = [bytes.len() as u64; 4];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (sum, word) in sums.iter_mut().zip(block.as_chunks().0) {
            *sum = step(*sum, u64::from_le_bytes(*word));
        }
    }
    for (sum, word) in sums.iter_mut().zip(rest.chunks(8)) {
        let mut whole = [0; 8];
        whole[..word.len()].copy_from_slice(word);
        *sum = step(*sum, u64::from_le_bytes(whole));
    }
    sums.into_iter().fold(0, step)
}

/// Reads a packed forest, tree by tree.
pub(super) fn read(reader: impl Read) -> Result<Contents, ReadError> {
    let mut parts = PackedReader::begin(reader)?;
    let header = Header::parse(&mut Lines::new(utf8(parts.next(|| TextPosition::line(1))?)?))?;
    let features = header.feature_names.len();
    let count = parts.number()?;
    let mut trees = Vec::new();
    for tree in 0..count {
        let position = || TextPosition::line(1).tree(tree);
        trees.push(read_tree(parts.next(position)?, position(), features)?);
    }
    sections::end(&header, parts.next(|| TextPosition::line(1))?, Before::default(), count)?;
    parts.end()?;
    Ok(Contents { header, trees })
}

fn read_tree(bytes: &[u8], position: TextPosition, features: usize) -> Result<Tree, ForestError> {
    let mut rest = Rest(bytes);
    let mut fields = tree_text::fields(position);
    while !rest.0.is_empty() {
        match rest.take(1)? {
            [0] => fields.put(position, utf8(rest.bytes()?)?)?,
            kind => {
                let key = rest.bytes()?;
                fields.put_packed(position, key, Packed { kind: kind[0], bytes: rest.bytes()? })?;
            }
        }
    }
    tree_text::parse(&fields, features)
}

/// The text of a packed forest, for programs that read LightGBM's. Numbers have their shortest digits, and
/// `tree_sizes`, which counts bytes of the text that was packed, is left out.
pub(super) fn text(reader: impl Read) -> Result<String, ReadError> {
    let mut parts = PackedReader::begin(reader)?;
    let mut text = String::new();
    for line in utf8(parts.next(|| TextPosition::line(1))?)?.lines() {
        if !line.starts_with("tree_sizes=") && !line.starts_with("Tree=") {
            text += line;
            text.push('\n');
        }
    }
    for tree in 0..parts.number()? {
        let position = || TextPosition::line(1).tree(tree);
        // Writing to a string does not fail.
        let _ = writeln!(text, "Tree={tree}");
        let mut rest = Rest(parts.next(position)?);
        while !rest.0.is_empty() {
            let kind = rest.take(1)?[0];
            text += utf8(rest.bytes()?)?;
            if kind != 0 {
                let list = Packed { kind, bytes: rest.bytes()? };
                text.push('=');
                text += &list.text().ok_or_else(|| position().error(DAMAGED))?;
            }
            text.push('\n');
        }
        text += "\n\n";
    }
    text += utf8(parts.next(|| TextPosition::line(1))?)?;
    parts.end()?;
    Ok(text)
}

#[cfg(test)]
#[path = "../../../../src/packed/mod.rs"]
#[allow(unreachable_pub)] // the library shows it, too
mod pack;

#[cfg(test)]
mod tests {
    use super::super::Forest;
    use super::pack;

    /// Bit by bit: the debug form distinguishes the two zeros. What was recovered is recovered from itself.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn packed_forests_and_their_texts_are_the_forests_of_their_texts() {
        let mut seen = 0;
        for entry in
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest")).unwrap()
        {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let Ok(packed) = pack::pack(&text) else { continue };
            let forest = format!("{:?}", Forest::parse(text.as_bytes()).unwrap());
            assert_eq!(format!("{:?}", Forest::unpack(&packed).unwrap()), forest, "{}", path.display());
            let recovered = Forest::packed_text(&packed).unwrap();
            let again = Forest::parse(recovered.as_bytes()).unwrap();
            assert_eq!(format!("{again:?}"), forest, "{}", path.display());
            let twice = Forest::packed_text(&pack::pack(&recovered).unwrap()).unwrap();
            assert!(twice == recovered, "{}", path.display());
            seen += 1;
        }
        assert!(seen > 5, "{seen} forests");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn packed_forests_that_are_cut_off_changed_or_too_long_are_refused() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest/by-hand.txt");
        let packed = pack::pack(&std::fs::read_to_string(path).unwrap()).unwrap();
        for end in 0..packed.len() {
            assert!(Forest::unpack(&packed[..end]).is_err(), "{end}");
            assert!(Forest::packed_text(&packed[..end]).is_err(), "{end}");
        }
        for at in 0..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(Forest::unpack(&changed).is_err(), "{at}");
            assert!(Forest::packed_text(&changed).is_err(), "{at}");
        }
        let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/forest/by-hand.packed");
        Forest::unpack(&std::fs::read(seed).unwrap()).unwrap();
        let longer = [&packed[..], b"\n"].concat();
        let error = Forest::unpack(&longer).unwrap_err().to_string();
        assert_eq!(error, "line 1: damaged: pack it again");
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
