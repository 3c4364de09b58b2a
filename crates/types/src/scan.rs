//! Reading a name from left to right, with errors that give the position, the text there and what would have been
//! accepted.

use std::str::FromStr;

use crate::field::Vocabulary;
use crate::shape::Mnk;
use crate::valid::MAX_KERNEL_EXTENT;
use crate::vocab::{Dtype, UnknownWord};

/// A name that does not follow its grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel name '{name}': {reason}")]
pub struct NameError {
    /// The whole name.
    pub name: String,
    /// The text at the position and what would have been accepted.
    pub reason: String,
}

/// Longest name in bytes; the longest that any grammar can produce has about 300.
const MAX_LEN: usize = 1024;

/// A position in a name, or in what is scanned of it.
#[derive(Debug, Clone)]
pub(crate) struct Scan<'a> {
    name: &'a str,
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// Scans a name. Names longer than [`MAX_LEN`] are refused here, so that no error repeats a whole file.
    pub(crate) fn whole(name: &'a str) -> Result<Self, NameError> {
        if name.len() > MAX_LEN {
            let start: String = name.chars().take(40).collect();
            let reason = format!("the name has {} bytes, expected at most {MAX_LEN}", name.len());
            return Err(NameError { name: format!("{start}…"), reason });
        }
        Ok(Self { name, text: name, at: 0 })
    }

    /// Scans another text in the place of the name.
    pub(crate) const fn over(self, text: &'a str) -> Self {
        Self { text, ..self }
    }

    /// The unread rest.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The text up to the next `_` or the end.
    pub(crate) fn token(&self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find('_').unwrap_or(rest.len())]
    }

    /// Whether a `_` and such a letter come next.
    pub(crate) fn goes_on_with(&self, is: impl Fn(char) -> bool) -> bool {
        self.rest().strip_prefix('_').is_some_and(|rest| rest.starts_with(is))
    }

    /// An error of the name.
    pub(crate) fn fail(&self, reason: impl Into<String>) -> NameError {
        NameError { name: self.name.to_owned(), reason: reason.into() }
    }

    /// Takes `literal` if it comes next.
    pub(crate) fn eat(&mut self, literal: &str) -> bool {
        let stands = self.rest().starts_with(literal);
        if stands {
            self.at += literal.len();
        }
        stands
    }

    /// Takes `literal` if it comes next and a `_` or the end follows it.
    pub(crate) fn eat_whole(&mut self, literal: &str) -> bool {
        let stands = stands_first(self.rest(), literal);
        if stands {
            self.at += literal.len();
        }
        stands
    }

    /// Takes the `_` before a required part.
    pub(crate) fn separator(&mut self, before: &str) -> Result<(), NameError> {
        if self.eat("_") {
            Ok(())
        } else if self.rest().is_empty() {
            Err(self.fail(format!("the name ends here, expected '_' and {before}")))
        } else {
            Err(self.fail(format!("found '{}', expected '_' and {before}", self.token())))
        }
    }

    /// Takes a word: the longest of these that matches, because words may hold `_` and one may begin another
    /// (`comp_tdm`, `comp_tdm_v2`). Aliases without `_` are understood too.
    pub(crate) fn word<T: FromStr<Err = UnknownWord>>(&mut self, words: &[&str]) -> Result<T, NameError> {
        self.parsed(words, str::parse)
    }

    /// Takes a word of a vocabulary; gives its number.
    pub(crate) fn code(&mut self, vocabulary: &Vocabulary) -> Result<i64, NameError> {
        self.parsed(vocabulary.words, vocabulary.code)
    }

    fn parsed<T>(
        &mut self,
        words: &[&str],
        parse: fn(&str) -> Result<T, UnknownWord>,
    ) -> Result<T, NameError> {
        let found = longest(self.rest(), words).unwrap_or_else(|| self.token());
        if found == "*" {
            return Err(self.fail("unresolved wildcard '*': expand the declaration first"));
        }
        match parse(found) {
            Ok(value) if !found.is_empty() => {
                self.at += found.len();
                Ok(value)
            }
            Ok(_) => Err(self.fail(format!("found nothing, expected one of: {}", words.join(", ")))),
            Err(unknown) => Err(self.fail(unknown.to_string())),
        }
    }

    /// Takes the type of an element.
    pub(crate) fn element(&mut self) -> Result<Dtype, NameError> {
        let found = longest(self.rest(), Dtype::WORDS).unwrap_or_else(|| self.token());
        if found.is_empty() || found == "*" || Dtype::ELEMENT_WORDS.contains(&found) {
            return self.word(Dtype::ELEMENT_WORDS);
        }
        let unknown = UnknownWord { what: "dtype", found: found.to_owned(), accepted: Dtype::ELEMENT_WORDS };
        Err(self.fail(unknown.to_string()))
    }

    /// Takes the `_` before one of these words, if they come next.
    pub(crate) fn eat_before_word(&mut self, words: &[&str]) -> bool {
        let is_next = self.rest().strip_prefix('_').is_some_and(|rest| longest(rest, words).is_some());
        is_next && self.eat("_")
    }

    /// Takes a tag such as `_gm` if it comes next with a number behind it, and a `_` or the end follows that.
    pub(crate) fn eat_before_number(&mut self, tag: &str) -> bool {
        let is_next = self.rest().strip_prefix(tag).is_some_and(|after| {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && stands_first(after, &after[..digits])
        });
        is_next && self.eat(tag)
    }

    /// The first characters of the unread rest, for errors.
    pub(crate) fn ahead(&self) -> &'a str {
        let rest = self.rest();
        rest.char_indices().nth(20).map_or(rest, |(end, _)| &rest[..end])
    }

    /// Takes one of these characters.
    pub(crate) fn one_of(&mut self, accepted: &[char]) -> Result<char, NameError> {
        match self.rest().chars().next().filter(|next| accepted.contains(next)) {
            Some(next) => {
                self.at += next.len_utf8();
                Ok(next)
            }
            None => Err(self.fail(format!("found '{}', expected one of {accepted:?}", self.ahead()))),
        }
    }

    /// Takes `True` or `False`.
    pub(crate) fn flag(&mut self, what: &str) -> Result<bool, NameError> {
        if self.eat_whole("True") {
            Ok(true)
        } else if self.eat_whole("False") {
            Ok(false)
        } else {
            Err(self.fail(format!("found '{}' for {what}, expected True or False", self.token())))
        }
    }

    /// Takes a decimal number without leading zeros, and with a sign only where one may be negative.
    pub(crate) fn number(&mut self, what: &str, least: i64, most: i64) -> Result<i64, NameError> {
        let rest = self.rest();
        let sign = usize::from(least < 0 && rest.starts_with('-'));
        let end = rest[sign..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| sign + end);
        let (number, digits) = (&rest[..end], &rest[sign..end]);
        if least >= 0 && rest.starts_with("-1") {
            return Err(self.fail(format!("unresolved wildcard -1 in {what}: expand the declaration first")));
        }
        if digits.is_empty() {
            return Err(self.fail(format!("found '{}' for {what}, expected a number", self.token())));
        }
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(self.fail(format!("'{digits}' for {what} has a leading zero")));
        }
        match number.parse() {
            Ok(value) if (least..=most).contains(&value) && (sign == 0 || value < 0) => {
                self.at += end;
                Ok(value)
            }
            _ => Err(self.fail(format!("{what} is {number}, expected {least} to {most}"))),
        }
    }

    /// Takes numbers joined by `x`.
    pub(crate) fn joined(
        &mut self,
        what: &str,
        least: i64,
        most: i64,
        numbers: &mut [i64],
    ) -> Result<(), NameError> {
        let (whole, count) = (self.token(), numbers.len());
        for (axis, number) in numbers.iter_mut().enumerate() {
            if axis > 0 && !self.eat("x") {
                let expected = format!("{count} numbers joined by 'x'");
                return Err(self.fail(format!("found '{whole}' for {what}, expected {expected}")));
            }
            *number = self.number(what, least, most)?;
        }
        Ok(())
    }

    /// Takes three extents joined by `x`.
    pub(crate) fn shape(&mut self, what: &str) -> Result<Mnk, NameError> {
        let mut extents = [0; 3];
        self.joined(what, 1, MAX_KERNEL_EXTENT.into(), &mut extents)?;
        let [m, n, k] = extents.map(|extent| extent as u32);
        Ok(Mnk::new(m, n, k))
    }

    /// Takes three vector widths, joined by `_`, that a `_` or the end follows.
    pub(crate) fn widths(&mut self, least: i64) -> Result<[i64; 3], NameError> {
        let mut widths = [0; 3];
        for (index, width) in widths.iter_mut().enumerate() {
            if index > 0 {
                self.separator("three vector widths")?;
            }
            *width = self.number("vector width", least, MAX_KERNEL_EXTENT.into())?;
        }
        match self.rest().as_bytes().first() {
            None | Some(b'_') => Ok(widths),
            Some(_) => Err(self.fail(format!("found '{}' after the vector widths", self.token()))),
        }
    }

    /// Nothing may be left.
    pub(crate) fn end(&self, accepted: &str) -> Result<(), NameError> {
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.fail(format!("found '{}', expected {accepted}", self.rest())))
        }
    }
}

/// Whether `text` begins with `word`, and a `_` or the end follows.
fn stands_first(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|after| after.is_empty() || after.starts_with('_'))
}

/// The longest of `words` that stands first in `text`.
fn longest<'w>(text: &str, words: &[&'w str]) -> Option<&'w str> {
    words.iter().copied().filter(|word| stands_first(text, word)).max_by_key(|word| word.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::Pipeline;

    #[test]
    fn the_longest_word_wins_and_only_whole_words_count() {
        for (text, pipeline, rest) in [
            ("comp_async_eight_waves_x", Pipeline::CompAsyncEightWaves, "_x"),
            ("comp_async_eight", Pipeline::CompAsync, "_eight"),
            ("comp_tdm_v2", Pipeline::CompTdmV2, ""),
            ("comp_tdm_v22", Pipeline::CompTdm, "_v22"),
        ] {
            let mut scan = Scan::whole(text).unwrap();
            assert_eq!(scan.word(Pipeline::WORDS), Ok(pipeline));
            assert_eq!(scan.rest(), rest);
        }
        assert!(Scan::whole("compv34").unwrap().word::<Pipeline>(Pipeline::WORDS).is_err());
    }

    #[test]
    fn numbers_are_bounded_and_plain() {
        let read = |text| Scan::whole(text).unwrap().number("tile", 1, 300).map_err(|error| error.reason);
        assert_eq!(read("300x"), Ok(300));
        for (text, reason) in [
            ("301", "tile is 301, expected 1 to 300"),
            ("0", "tile is 0, expected 1 to 300"),
            ("99999999999999999999", "tile is 99999999999999999999, expected 1 to 300"),
            ("064", "'064' for tile has a leading zero"),
            ("-1x", "unresolved wildcard -1 in tile: expand the declaration first"),
            ("-2", "found '-2' for tile, expected a number"),
            ("x", "found 'x' for tile, expected a number"),
            ("\u{0663}", "found '\u{0663}' for tile, expected a number"),
        ] {
            assert_eq!(read(text), Err(reason.to_owned()), "{text}");
        }
    }
}
