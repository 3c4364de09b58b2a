//! The tokens of a filter.

use super::FilterError;

/// A number, a quoted text, a word, an operator or a bracket; empty at the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// The position of the token's first byte.
    pub(super) at: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// Longest first, so that `<=` is not read as `<`. Those that filters lack are listed so that errors name
/// them.
const SYMBOLS: &[&str] = &[
    "**", "//", "==", "!=", "<=", ">=", ":=", "(", ")", "[", "]", "{", "}", ",", ".", "+", "-", "*", "/",
    "%", "<", ">", "=", "&", "|", "^", "~", "@", ":", ";",
];

/// The longest text that is read.
const MAX_BYTES: usize = 64 << 10;

pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, FilterError> {
    if text.len() > MAX_BYTES {
        return Err(FilterError(format!("longer than {} KiB", MAX_BYTES >> 10)));
    }
    let (mut tokens, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let len = match rest.chars().next() {
            None => {
                tokens.push(Token { text: rest, at });
                return Ok(tokens);
            }
            Some('#') => {
                rest = rest.split_once('\n').map_or("", |(_, next)| next);
                continue;
            }
            Some(quote @ ('"' | '\'')) => quoted(rest, quote).map_err(|it| FilterError::new(text, at, it))?,
            Some(c) if c.is_alphanumeric() || c == '_' => {
                let goes_on =
                    |next: char| next.is_alphanumeric() || next == '_' || c.is_ascii_digit() && next == '.';
                rest.find(|next| !goes_on(next)).unwrap_or(rest.len())
            }
            Some(c) => SYMBOLS
                .iter()
                .find(|symbol| rest.starts_with(**symbol))
                .map(|symbol| symbol.len())
                .ok_or_else(|| {
                    FilterError::new(
                        text,
                        at,
                        format!("found '{}', expected an expression", c.escape_debug()),
                    )
                })?,
        };
        tokens.push(Token { text: &rest[..len], at });
        rest = &rest[len..];
    }
}

/// The length of a text with its quotes.
fn quoted(text: &str, quote: char) -> Result<usize, &'static str> {
    let end = text[1..].find([quote, '\n', '\\']).map(|end| end + 1);
    match end.and_then(|end| text[end..].chars().next()) {
        Some('\\') => Err("texts of filters have no escapes"),
        Some(end_quote) if end_quote == quote => Ok(end.unwrap_or_default() + 1),
        _ => Err("this text has no closing quote"),
    }
}
