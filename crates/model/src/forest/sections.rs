//! A text section by section: the header, one tree after the other, and what follows. No more of it is in
//! memory at once.

use std::io::{self, BufRead};

use memchr::memchr_iter;

use super::ReadError;
use super::error::{ForestError, TextPosition};
use super::fields::Fields;
use super::header::Header;
use super::text::{Field, Lines};
use super::tree::Tree;
use super::tree_text;

const TREE: &[u8] = b"Tree=";
const END: &[u8] = b"end of trees";

/// The contents of a text.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) header: Header,
    pub(super) trees: Vec<Tree>,
}

/// The number of bytes and lines that precede a part of a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    bytes: usize,
    lines: usize,
}

/// Reads a text.
pub(super) fn read(reader: impl BufRead) -> Result<Contents, ReadError> {
    let mut text = Text { reader, bytes: Vec::new(), end: 0, before: Before::default() };
    text.read_part()?;
    let header = Header::parse(&mut Lines::new(utf8(&text.bytes, text.before)?))?;
    let features = header.feature_names.len();
    let mut trees = Vec::new();
    while !is_end(text.next_line()) {
        let is_closed = text.read_part()?;
        trees.push(parse_tree(text.part()?, trees.len(), features, is_closed)?);
    }
    trees.shrink_to_fit();
    text.read_rest()?;
    end(&header, &text.bytes, text.before, trees.len())?;
    Ok(Contents { header, trees })
}

/// Checks what follows the trees: their number, and that parameters of the training, which nobody reads, end.
pub(super) fn end(header: &Header, text: &[u8], before: Before, trees: usize) -> Result<(), ForestError> {
    let mut lines = Lines::after(utf8(text, before)?, before.lines);
    lines.next();
    header.validate_trees(trees, lines.here())?;
    if lines.any(|line| line == "parameters:") && !lines.any(|line| line == "end of parameters") {
        return Err(lines.here().truncated("`end of parameters`"));
    }
    Ok(())
}

/// A text that is read part by part.
struct Text<R> {
    reader: R,
    /// A part, and behind it the first line of the next one.
    bytes: Vec<u8>,
    end: usize,
    before: Before,
}

impl<R: BufRead> Text<R> {
    /// Goes on to the next part, which ends where a tree begins or the trees end; `false` if the text ends
    /// first.
    fn read_part(&mut self) -> io::Result<bool> {
        self.drop_part();
        loop {
            self.end = self.bytes.len();
            if self.reader.read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(false);
            }
            if self.next_line().starts_with(TREE) || is_end(self.next_line()) {
                return Ok(true);
            }
        }
    }

    /// Goes on to all that follows.
    fn read_rest(&mut self) -> io::Result<()> {
        self.drop_part();
        self.reader.read_to_end(&mut self.bytes).map(drop)
    }

    fn drop_part(&mut self) {
        self.before.bytes += self.end;
        self.before.lines += memchr_iter(b'\n', &self.bytes[..self.end]).count();
        self.bytes.drain(..self.end);
    }

    fn part(&self) -> Result<Lines<'_>, ForestError> {
        Ok(Lines::after(utf8(&self.bytes[..self.end], self.before)?, self.before.lines))
    }

    fn next_line(&self) -> &[u8] {
        &self.bytes[self.end..]
    }
}

/// Whether a line ends the trees.
fn is_end(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line) == END
}

pub(super) fn utf8(text: &[u8], before: Before) -> Result<&str, ForestError> {
    std::str::from_utf8(text).map_err(|error| {
        let offset = error.valid_up_to();
        let line = before.lines + 1 + memchr_iter(b'\n', &text[..offset]).count();
        TextPosition::line(line).byte(before.bytes + offset).error("of the text is not UTF-8")
    })
}

/// A tree that may have more lines.
///
/// LightGBM ends a tree at the first blank line. Until then it takes everything between line ends and `=` as
/// a key: a line without `=` makes the next line's key unknown, as does a comment. Texts that it would read
/// like this are refused.
struct Open<'a> {
    position: TextPosition,
    first: &'a str,
    fields: Fields<'a>,
    lines: usize,
    /// Whether there was a blank line.
    over: bool,
}

impl<'a> Open<'a> {
    /// Lines that LightGBM reads of a tree.
    const MOST_LINES: usize = 22;

    fn put(&mut self, position: TextPosition, line: &'a str) -> Result<(), ForestError> {
        let expected = match (self.over, line.is_empty()) {
            (_, true) => {
                self.over = true;
                return Ok(());
            }
            (true, false) => "`Tree=` or `end of trees`, since a blank line ends a tree",
            (false, false) if !line.contains('=') => "a line `key=value`",
            (false, false) if self.lines == Self::MOST_LINES => {
                "a blank line, since a tree has at most 22 lines"
            }
            (false, false) => {
                self.lines += 1;
                return self.fields.put(position, line);
            }
        };
        Err(position.found(line, expected))
    }

    fn parse(&self, features: usize) -> Result<Tree, ForestError> {
        if !self.over {
            return Err(self.position.found(self.first, "a tree that a blank line ends"));
        }
        tree_text::parse(&self.fields, features)
    }
}

/// Reads the tree of this number.
fn parse_tree(
    mut lines: Lines<'_>,
    number: usize,
    features: usize,
    is_closed: bool,
) -> Result<Tree, ForestError> {
    let first = lines.next_of_any_kind().unwrap_or_default();
    let position = lines.here().tree(number);
    validate_number(position, first.strip_prefix("Tree=").unwrap_or_default(), number)?;
    let mut tree = Open { position, first, fields: tree_text::fields(position), lines: 0, over: false };
    while let Some(line) = lines.next_of_any_kind() {
        // At the end of a text, a partial line is not the main thing missing.
        if is_closed || !lines.rest().is_empty() {
            tree.put(lines.here().tree(number), line)?;
        }
    }
    if !is_closed {
        return Err(lines.here().tree(number).truncated("`end of trees`"));
    }
    tree.parse(features)
}

/// Trees count up; a number out of order means that trees were lost, added or swapped.
fn validate_number(position: TextPosition, value: &str, expected: usize) -> Result<(), ForestError> {
    let position = position.field("Tree");
    let number = Field::new(position, value).number("a tree's number", |_: usize| true)?;
    if number == expected { Ok(()) } else { Err(position.value(value, expected.to_string())) }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    const SMALL: &str = "tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nfeature_names=x\n\
        feature_infos=none\n\n\
        Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=1\n\nTree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=2\n\n\
        Tree=2\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=1\nleft_child=-1\nright_child=-2\n\
        leaf_value=6 7\n\nend of trees\n\nparameters:\nTree=9\nend of trees\nend of parameters\n";

    #[test]
    fn text_after_the_trees_is_no_tree() {
        let contents = read(SMALL.as_bytes()).unwrap();
        assert_eq!(contents.trees.len(), 3);
        let cut = SMALL.trim_end().strip_suffix("end of parameters").unwrap();
        let Err(ReadError::Text(error)) = read(cut.as_bytes()) else { panic!("{cut}") };
        assert!(error.to_string().contains("the text ends, expected `end of parameters`"), "{error}");
    }

    /// Whatever pieces it is read in, too.
    #[test]
    fn a_source_that_fails_is_no_truncated_text() {
        struct Failing<'a>(&'a [u8]);
        impl io::Read for Failing<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match io::Read::read(&mut self.0, buffer)? {
                    0 => Err(io::Error::other("gone")),
                    count => Ok(count),
                }
            }
        }
        for length in [0, 20, 100, 150, 250, SMALL.len()] {
            for piece in [1, 1 << 12] {
                let source = Failing(&SMALL.as_bytes()[..length]);
                match read(BufReader::with_capacity(piece, source)) {
                    Err(ReadError::Io(error)) => assert_eq!(error.to_string(), "gone"),
                    other => panic!("{length}: {other:?}"),
                }
            }
        }
    }
}
