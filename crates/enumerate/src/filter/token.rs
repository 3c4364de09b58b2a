//! The tokens of a filter.

use std::ops::Range;

use super::error::{FilterError, FilterFault};

/// A token with its position in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Int(i64),
    Float(f64),
    Str(String),
    /// A name or a keyword.
    Name,
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

/// Longest first, so that `<=` is not read as `<`. Unsupported ones are listed so that errors can name them.
const SYMBOLS: &[&str] = &[
    "**", "//", "==", "!=", "<=", ">=", ":=", "<<", ">>", "(", ")", "[", "]", "{", "}", ",", ".", "+", "-",
    "*", "/", "%", "<", ">", "=", "&", "|", "^", "~", "@", ":", ";",
];

/// The longest text that is read.
pub(super) const MAX_BYTES: usize = 64 << 10;

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    if text.len() > MAX_BYTES {
        let message = format!("longer than {} KiB", MAX_BYTES >> 10);
        return Err(FilterError::new(FilterFault::Syntax, text, 0..0, message));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at = skip_blanks(text, at);
        let Some(first) = text[at..].chars().next() else { break };
        let (kind, end) = if first.is_ascii_digit() || (first == '.' && digit_at(text, at + 1)) {
            number(text, at)?
        } else if first == '"' || first == '\'' {
            string(text, at, first)?
        } else if first.is_alphabetic() || first == '_' {
            let length = text[at..].find(|c: char| !c.is_alphanumeric() && c != '_');
            (Kind::Name, length.map_or(text.len(), |length| at + length))
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| text[at..].starts_with(**symbol)) {
            (Kind::Symbol(symbol), at + symbol.len())
        } else {
            let span = at..at + first.len_utf8();
            let message = format!("found '{}', expected an expression", first.escape_debug());
            return Err(FilterError::new(FilterFault::Syntax, text, span, message));
        };
        tokens.push(Token { kind, span: at..end });
        at = end;
    }
    tokens.push(Token { kind: Kind::End, span: text.len()..text.len() });
    Ok(tokens)
}

/// Skips blanks, line ends and comments.
fn skip_blanks(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if !trimmed.starts_with('#') {
            return at;
        }
        at += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}

fn digit_at(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
}

fn number(text: &str, start: usize) -> Result<(Kind, usize), FilterError> {
    let bytes = text.as_bytes();
    let mut end = start;
    let digits = |end: &mut usize| {
        while digit_at(text, *end) || (bytes.get(*end) == Some(&b'_') && digit_at(text, *end + 1)) {
            *end += 1;
        }
    };
    digits(&mut end);
    let mut float = false;
    if bytes.get(end) == Some(&b'.') {
        float = true;
        end += 1;
        if digit_at(text, end) {
            digits(&mut end);
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit_at(text, end + 1 + sign) {
            float = true;
            end += 1 + sign;
            digits(&mut end);
        }
    }
    let fault = |end: usize, message: &str| {
        Err(FilterError::new(FilterFault::Syntax, text, start..end, message.to_owned()))
    };
    if text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        let word_end = text[end..].find(|c: char| !c.is_alphanumeric() && c != '_');
        return fault(word_end.map_or(text.len(), |length| end + length), "not a decimal number");
    }
    let plain = text[start..end].replace('_', "");
    if float {
        return match plain.parse() {
            Ok(value) => Ok((Kind::Float(value), end)),
            Err(_) => fault(end, "not a number"),
        };
    }
    if plain.len() > 1 && plain.starts_with('0') && plain.bytes().any(|digit| digit != b'0') {
        return fault(end, "a whole number does not begin with 0");
    }
    match plain.parse() {
        Ok(value) => Ok((Kind::Int(value), end)),
        Err(_) => Err(FilterError::new(
            FilterFault::Overflow,
            text,
            start..end,
            format!("whole numbers are at most {}", i64::MAX),
        )),
    }
}

fn string(text: &str, start: usize, quote: char) -> Result<(Kind, usize), FilterError> {
    let fault = |span: Range<usize>, message: &str| {
        Err(FilterError::new(FilterFault::Syntax, text, span, message.to_owned()))
    };
    let mut value = String::new();
    let mut chars = text[start + 1..].char_indices();
    while let Some((offset, c)) = chars.next() {
        let at = start + 1 + offset;
        match c {
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, c @ ('\\' | '\'' | '"'))) => value.push(c),
                _ => return fault(at..at + 2, "only the escapes \\\\, \\', \\\", \\n and \\t are supported"),
            },
            '\n' => break,
            c if c == quote => return Ok((Kind::Str(value), at + 1)),
            c => value.push(c),
        }
    }
    fault(start..start + 1, "this text has no closing quote")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_are_told_apart() {
        use Kind::{End, Float, Int, Name, Str, Symbol};
        assert_eq!(
            kinds("c.tile_n>=1_28 # all\n!='a\\'b'\t1.5e3 .5 2."),
            [
                Name,
                Symbol("."),
                Name,
                Symbol(">="),
                Int(128),
                Symbol("!="),
                Str("a'b".into()),
                Float(1500.0),
                Float(0.5),
                Float(2.0),
                End
            ]
        );
        assert_eq!(kinds("00"), [Int(0), End]);
    }

    #[test]
    fn bad_words_are_pointed_at() {
        for (text, column, message) in [
            ("1 + 12abc", 5, "not a decimal number"),
            ("0x10", 1, "not a decimal number"),
            ("1__0", 1, "not a decimal number"),
            ("007", 1, "does not begin with 0"),
            ("9223372036854775808", 1, "whole numbers are at most 9223372036854775807"),
            ("c == 'ab", 6, "no closing quote"),
            ("'a\nb'", 1, "no closing quote"),
            ("'\\x41'", 2, "only the escapes"),
            ("ä == ?", 6, "found '?'"),
        ] {
            let error = tokens(text).unwrap_err();
            assert_eq!(error.column, column, "{text}");
            assert!(error.message.contains(message), "{text}: {error}");
        }
        assert!(tokens(&" ".repeat(MAX_BYTES + 1)).is_err());
    }
}
