//! Text from outside, made safe to print.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with its control characters, and those that turn the direction of writing, as `\u001b`: names and
/// contents of files must not move the cursor of a terminal, colour it or hide what is printed. Line ends and
/// tabs stay. The escapes are also JSON's.
///
/// ```
/// use ck_select_types::terminal::printable;
/// assert_eq!(printable("a\x1b[2Jb\tc\n"), "a\\u001b[2Jb\tc\n");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) {
            // Writing to a string cannot fail. None of these characters needs more than four digits.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_the_rest_stays() {
        for plain in ["", "a name", "µ → 2 µs", "two\nlines\tand a tab"] {
            assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
        }
        let text = "\x1b]0;title\x07 \r \x08 \x7f \u{9b}31m \u{202e}abc";
        let safe = "\\u001b]0;title\\u0007 \\u000d \\u0008 \\u007f \\u009b31m \\u202eabc";
        assert_eq!(printable(text), safe);
        let json: String = serde_json::from_str(&format!("\"{safe}\"")).unwrap();
        assert_eq!(json, text);
    }
}
