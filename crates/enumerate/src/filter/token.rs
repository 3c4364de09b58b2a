//! The tokens of a filter.

use std::ops::Range;

use super::error::FilterError;

/// A token with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    Text(String),
    /// A name, a keyword, an operator or a bracket.
    Word,
    End,
}

/// Longest first, so that `<=` is not read as `<`. Those that filters lack are listed so that errors name them.
const SYMBOLS: &[&str] = &[
    "**", "//", "==", "!=", "<=", ">=", ":=", "(", ")", "[", "]", "{", "}", ",", ".", "+", "-", "*", "/",
    "%", "<", ">", "=", "&", "|", "^", "~", "@", ":", ";",
];

/// The longest text that is read.
const MAX_BYTES: usize = 64 << 10;

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    if text.len() > MAX_BYTES {
        return Err(FilterError::new(text, 0..0, format!("longer than {} KiB", MAX_BYTES >> 10)));
    }
    let mut tokens = Vec::new();
    let mut at = blanks(text, 0);
    while let Some(first) = text[at..].chars().next() {
        let (kind, end) = match first {
            '0'..='9' => number(text, at)?,
            '"' | '\'' => quoted(text, at, first)?,
            c if c.is_alphabetic() || c == '_' => (Kind::Word, word_end(text, at)),
            _ => {
                let Some(symbol) = SYMBOLS.iter().find(|symbol| text[at..].starts_with(**symbol)) else {
                    let message = format!("found '{}', expected an expression", first.escape_debug());
                    return Err(FilterError::new(text, at..at + first.len_utf8(), message));
                };
                (Kind::Word, at + symbol.len())
            }
        };
        tokens.push(Token { kind, span: at..end });
        at = blanks(text, end);
    }
    tokens.push(Token { kind: Kind::End, span: text.len()..text.len() });
    Ok(tokens)
}

/// The end of blanks, line ends and comments.
fn blanks(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start().len();
        if !text[at..].starts_with('#') {
            return at;
        }
        at += text[at..].find('\n').unwrap_or(text.len() - at);
    }
}

fn word_end(text: &str, at: usize) -> usize {
    text[at..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(text.len(), |length| at + length)
}

/// A decimal number, as `128` or `2.5`.
fn number(text: &str, start: usize) -> Result<(Kind, usize), FilterError> {
    let mut end = word_end(text, start);
    if text[end..].starts_with('.') && text[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        end = word_end(text, end + 1);
    }
    let plain = text[start..end].bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text[start..end].parse() {
        Ok(number) if plain => Ok((Kind::Number(number), end)),
        _ => Err(FilterError::new(text, start..end, "not a decimal number")),
    }
}

fn quoted(text: &str, start: usize, quote: char) -> Result<(Kind, usize), FilterError> {
    let inside = &text[start + 1..];
    match inside.find([quote, '\n', '\\']) {
        Some(end) if inside[end..].starts_with(quote) => {
            Ok((Kind::Text(inside[..end].to_owned()), start + 1 + end + 1))
        }
        Some(end) if inside[end..].starts_with('\\') => {
            let at = start + 1 + end;
            Err(FilterError::new(text, at..at + 1, "texts of filters have no escapes"))
        }
        _ => Err(FilterError::new(text, start..start + 1, "this text has no closing quote")),
    }
}
