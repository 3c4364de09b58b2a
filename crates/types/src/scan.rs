//! Reading a name from left to right, with errors that say where, what was found and what would have been
//! accepted.

use std::str::FromStr;

use crate::shape::Mnk;
use crate::vocab::{Dtype, UnknownWord};

/// A name that does not follow its grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel name '{name}': {reason}")]
pub struct NameError {
    /// The whole name.
    pub name: String,
    /// What was found there and what would have been accepted.
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

    /// An error of the name.
    pub(crate) fn fail(&self, reason: impl Into<String>) -> NameError {
        NameError { name: self.name.to_owned(), reason: reason.into() }
    }

    /// Takes `literal` if it comes next.
    pub(crate) fn eat(&mut self, literal: &str) -> bool {
        let found = self.rest().starts_with(literal);
        if found {
            self.at += literal.len();
        }
        found
    }

    /// Takes `literal` if it comes next and a `_` or the end follows it.
    pub(crate) fn eat_whole(&mut self, literal: &str) -> bool {
        let found = stands_first(self.rest(), literal);
        if found {
            self.at += literal.len();
        }
        found
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

    /// Takes a word of a vocabulary: the longest that matches, because words may hold `_` and one may begin
    /// another (`comp_tdm`, `comp_tdm_v2`). Aliases without `_` are understood too.
    pub(crate) fn word<T: FromStr<Err = UnknownWord>>(&mut self, words: &[&str]) -> Result<T, NameError> {
        let found = longest(self.rest(), words).unwrap_or_else(|| self.token());
        if found == "*" {
            return Err(self.fail("unresolved wildcard '*': expand the declaration first"));
        }
        match found.parse() {
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
        let before = self.clone();
        let found = longest(self.rest(), Dtype::WORDS).unwrap_or_else(|| self.token());
        if found.is_empty() || found == "*" || Dtype::ELEMENTS.contains(&found) {
            return self.word(Dtype::ELEMENTS);
        }
        let unknown = UnknownWord { what: "dtype", found: found.to_owned(), accepted: Dtype::ELEMENTS };
        Err(before.fail(unknown.to_string()))
    }

    /// Takes `_` and a word of a vocabulary if they come next.
    pub(crate) fn optional_word<T: FromStr>(&mut self, words: &[&str]) -> Option<T> {
        let word = longest(self.rest().strip_prefix('_')?, words)?;
        let value = word.parse().ok()?;
        self.at += 1 + word.len();
        Some(value)
    }

    /// The first characters of the unread rest, for errors.
    pub(crate) fn ahead(&self) -> &'a str {
        let rest = self.rest();
        rest.char_indices().nth(20).map_or(rest, |(end, _)| &rest[..end])
    }

    /// Takes one of these characters.
    pub(crate) fn one_of(&mut self, accepted: &[char]) -> Result<char, NameError> {
        match self.rest().chars().next().filter(|found| accepted.contains(found)) {
            Some(found) => {
                self.at += found.len_utf8();
                Ok(found)
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

    /// Takes a decimal number without sign or leading zeros.
    pub(crate) fn number(&mut self, what: &str, min: u32, max: u32) -> Result<u32, NameError> {
        let rest = self.rest();
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        if rest.starts_with("-1") {
            return Err(self.fail(format!("unresolved wildcard -1 in {what}: expand the declaration first")));
        }
        if digits.is_empty() {
            return Err(self.fail(format!("found '{}' for {what}, expected a number", self.token())));
        }
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(self.fail(format!("'{digits}' for {what} has a leading zero")));
        }
        match digits.parse::<u32>() {
            Ok(value) if (min..=max).contains(&value) => {
                self.at += digits.len();
                Ok(value)
            }
            _ => Err(self.fail(format!("{what} is {digits}, expected {min} to {max}"))),
        }
    }

    /// Takes three positive numbers joined by `x`.
    pub(crate) fn triple(&mut self, what: &str, max: u32) -> Result<Mnk, NameError> {
        let whole = self.token();
        let m = self.number(what, 1, max)?;
        self.times(what, whole)?;
        let n = self.number(what, 1, max)?;
        self.times(what, whole)?;
        let k = self.number(what, 1, max)?;
        match self.rest().as_bytes().first() {
            None | Some(b'_') => Ok(Mnk { m, n, k }),
            Some(_) => Err(self.fail(format!("found '{}' after {what} {m}x{n}x{k}", self.token()))),
        }
    }

    fn times(&mut self, what: &str, whole: &str) -> Result<(), NameError> {
        if self.eat("x") {
            Ok(())
        } else {
            Err(self.fail(format!("found '{whole}' for {what}, expected three numbers joined by 'x'")))
        }
    }

    /// Takes a suffix such as `_gm2`; `None` when it is not next. `min` is the least value that is ever
    /// written.
    pub(crate) fn numbered(&mut self, prefix: &str, min: u32, max: u32) -> Result<Option<u32>, NameError> {
        let Some(after) = self.rest().strip_prefix(prefix) else { return Ok(None) };
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || !stands_first(after, &after[..digits]) {
            return Ok(None);
        }
        self.at += prefix.len();
        self.number(prefix, min, max).map(Some)
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
