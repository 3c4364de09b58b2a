//! Lines, fields and lists of numbers: the grammar of the text, without its meaning.

use super::error::{ForestError, TextPosition};
use super::number::{Number, Packed};

/// The lines of the text with their numbers, each without its line end. As an iterator, without blank lines
/// and `#` comments.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    rest: &'a str,
    number: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Lines<'a> {
        Lines::after(text, 0)
    }

    /// The lines of a part of a text, which so many others precede.
    pub(super) fn after(text: &'a str, lines: usize) -> Lines<'a> {
        Lines { rest: text, number: lines }
    }

    /// The unread rest, including comments.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// The position of the last line read; after the end, the last line of the text.
    pub(super) fn here(&self) -> TextPosition {
        TextPosition::line(self.number.max(1))
    }
}

impl<'a> Lines<'a> {
    /// The next line, blank or not.
    pub(super) fn next_of_any_kind(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest.as_bytes());
        let (line, rest) = end.map_or((self.rest, ""), |end| (&self.rest[..end], &self.rest[end + 1..]));
        self.rest = rest;
        self.number += 1;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let line = self.next_of_any_kind()?;
            if !line.is_empty() && !line.starts_with('#') {
                return Some(line);
            }
        }
    }
}

/// The value of one key, and its position.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) position: TextPosition,
    pub(super) value: &'a str,
    /// The value instead of its text.
    pub(super) packed: Option<Packed<'a>>,
}

impl<'a> Field<'a> {
    pub(super) fn new(position: TextPosition, value: &'a str) -> Field<'a> {
        Field { position, value, packed: None }
    }

    /// The blank-separated parts of the value.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &'a str> {
        tokens(self.value)
    }

    /// The value as one number that satisfies `accept`.
    pub(super) fn number<T: Number>(
        &self,
        expected: &'static str,
        accept: impl Fn(T) -> bool,
    ) -> Result<T, ForestError> {
        if let Some(packed) = self.packed {
            let mut value = None;
            packed.each(1, |_, number| {
                value = T::unpack(number);
                true
            });
            let value = value.filter(|&number| packed.len() == 1 && accept(number));
            return value.ok_or_else(|| self.position.value("a packed value", expected));
        }
        let text = self.value.trim_matches(' ');
        match T::read(text.as_bytes()) {
            Some(number) if accept(number) => Ok(number),
            _ => Err(self.position.value(text, expected)),
        }
    }

    /// The value as a list of exactly `count` numbers, each of which must satisfy `accept`.
    ///
    /// Memory is allocated for what the text contains, never for what a count in the text claims.
    pub(super) fn list<T: Number>(
        &self,
        count: Count,
        expected: &'static str,
        accept: impl Fn(T) -> bool,
    ) -> Result<Vec<T>, ForestError> {
        let mut numbers = Vec::with_capacity(count.expected.min(self.most()));
        self.each(count, expected, accept, |_, number| numbers.push(number))?;
        Ok(numbers)
    }

    /// [`Self::list`], passing each number to `put` with its index.
    #[inline]
    pub(super) fn each<T: Number>(
        &self,
        count: Count,
        expected: &'static str,
        accept: impl Fn(T) -> bool,
        mut put: impl FnMut(usize, T),
    ) -> Result<(), ForestError> {
        if let Some(packed) = self.packed {
            let refused = packed.each(count.expected, |index, number| {
                let number = T::unpack(number).filter(|&number| accept(number));
                number.map(|number| put(index, number)).is_some()
            });
            return match refused {
                Some(index) => Err(self.position.index(index).value("a packed value", expected)),
                None => count.check(self.position, packed.len()),
            };
        }
        let mut rest = self.value.trim_start_matches(' ');
        let mut numbers = 0;
        while numbers < count.expected && !rest.is_empty() {
            let length = match T::read_first(rest.as_bytes()) {
                Some((number, length)) if ends(rest, length) && accept(number) => {
                    put(numbers, number);
                    length
                }
                _ => {
                    let token = rest.split(' ').next().unwrap_or_default();
                    return Err(self.position.index(numbers).value(token, expected));
                }
            };
            rest = rest[length..].trim_start_matches(' ');
            numbers += 1;
        }
        count.check(self.position, numbers + tokens(rest).count())
    }

    /// An upper bound of the numbers in the value.
    pub(super) fn most(&self) -> usize {
        self.packed.map_or(self.value.len().div_ceil(2), Packed::len)
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|token| !token.is_empty())
}

/// Whether a number of this length is followed by a blank or by nothing.
#[inline]
fn ends(text: &str, length: usize) -> bool {
    text.as_bytes().get(length).is_none_or(|&byte| byte == b' ')
}

/// How many values a list must have, and why.
#[derive(Clone, Copy)]
pub(super) struct Count {
    pub(super) expected: usize,
    pub(super) because: &'static str,
}

impl Count {
    pub(super) fn check(self, position: TextPosition, found: usize) -> Result<(), ForestError> {
        let Self { expected, because } = self;
        if found == expected {
            return Ok(());
        }
        Err(position.error(format!("has {found} values, expected {expected} ({because})")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_through_blanks_comments_and_both_line_ends() {
        let mut lines = Lines::new("a\r\n\r\n# b=c\n\nd\ne");
        let mut seen = Vec::new();
        while let Some(line) = lines.next() {
            seen.push((line, lines.here()));
        }
        assert_eq!(
            seen,
            [("a", TextPosition::line(1)), ("d", TextPosition::line(5)), ("e", TextPosition::line(6))]
        );
    }
}
