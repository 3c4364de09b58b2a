//! Lines of `rules/shapes.json`: products of lists of values, as its first entry explains.

use ck_select_types::cells::{Cell, NamedCells};

/// The values of a line at one point of its product.
#[derive(Debug, Default)]
pub(super) struct Values<'a> {
    pub(super) named: NamedCells<'a>,
    /// The sum of the indices in the lists.
    places: i64,
}

impl<'a> Values<'a> {
    /// The value of a text: the result of a calculation, the value of another name, or the text itself.
    fn value(&self, text: &'a str) -> Result<Cell<'a>, String> {
        if let Some(value) = self.named.find(text) {
            return Ok(value);
        }
        if text.starts_with(|first: char| first.is_ascii_alphabetic()) && !text.contains(OPERATORS) {
            return Ok(Cell::Word(text));
        }
        self.calculated(text).map(Cell::Whole)
    }

    /// The result of a calculation, from left to right as on a pocket calculator.
    fn calculated(&self, text: &str) -> Result<i64, String> {
        let mut result = None;
        let mut operator = '+';
        for part in text.split_inclusive(OPERATORS) {
            let operand = self.number(part.trim_end_matches(OPERATORS))?;
            result = match (result, operator) {
                (None, _) => Some(operand),
                (Some(left), '+') => Some(left + operand),
                (Some(left), '-') => Some(left - operand),
                (Some(left), '*') => Some(left * operand),
                (Some(left), '/') => i64::checked_div(left, operand),
                (Some(left), _) => i64::checked_rem(left, operand),
            };
            operator = part.chars().next_back().unwrap_or_default();
        }
        result.ok_or_else(|| format!("'{text}' divides by zero"))
    }

    fn number(&self, operand: &str) -> Result<i64, String> {
        match self.named.find(operand) {
            Some(Cell::Whole(number)) => Ok(number),
            None if operand == "#" => Ok(self.places),
            _ => operand.parse().map_err(|_| format!("found '{operand}', expected a number or its name")),
        }
    }
}

const OPERATORS: [char; 5] = ['+', '-', '*', '/', '%'];

/// Calls `take` for every point of the product of some words; `batches` are the values of `@batches`.
pub(super) fn expand<'a>(
    words: &[&'a str],
    batches: &[i64],
    values: &mut Values<'a>,
    take: &mut dyn FnMut(&Values<'a>),
) -> Result<(), String> {
    let Some((&word, rest)) = words.split_first() else {
        take(values);
        return Ok(());
    };
    if let Some(condition) = word.strip_prefix('?') {
        return if values.calculated(condition)? == 0 { expand(rest, batches, values, take) } else { Ok(()) };
    }
    if word == "{" {
        let (alternatives, after) = alternatives(rest)?;
        return alternatives
            .iter()
            .try_for_each(|words| expand(&[words, after].concat(), batches, values, take));
    }
    let (names, list) =
        word.split_once('=').ok_or_else(|| format!("found '{word}', expected name=values"))?;
    let names = match names.strip_suffix('?') {
        Some(name) if values.named.find(name).is_some() => return expand(rest, batches, values, take),
        Some(name) => name,
        None => names,
    };
    let (known, places) = (values.named.iter().count(), values.places);
    for (index, tuple) in (0..).zip(entries(list, batches, values)?) {
        match tuple {
            Entry::Number(number) => values.named.push(names, Cell::Whole(number)),
            Entry::Texts(texts) => {
                let count = (names.split(':').count(), texts.split(':').count());
                if count.0 != count.1 {
                    return Err(format!("found '{texts}', expected {} values for {names}", count.0));
                }
                for (name, text) in names.split(':').zip(texts.split(':')) {
                    let value = values.value(text)?;
                    values.named.push(name, value);
                }
            }
        }
        values.places = places + index;
        expand(rest, batches, values, take)?;
        values.named.truncate(known);
    }
    values.places = places;
    Ok(())
}

/// An entry of a list.
enum Entry<'a> {
    Number(i64),
    /// Values for the names, joined by `:`.
    Texts(&'a str),
}

fn entries<'a>(list: &'a str, batches: &[i64], values: &Values<'_>) -> Result<Vec<Entry<'a>>, String> {
    let mut entries = Vec::new();
    for text in list.split(',') {
        if text == "@batches" {
            entries.extend(batches.iter().map(|&batch| Entry::Number(batch)));
        } else if let Some((from, to)) = text.split_once("..") {
            let (from, to) = (values.number(from)?.max(1), values.number(to)?);
            let doubled = std::iter::successors(Some(from), |number| number.checked_mul(2));
            entries.extend(doubled.take_while(|number| *number <= to).map(Entry::Number));
        } else {
            entries.push(Entry::Texts(text));
        }
    }
    Ok(entries)
}

/// The alternatives of a group whose brace was taken, and what follows the group.
#[allow(clippy::type_complexity)]
fn alternatives<'w, 'a>(words: &'w [&'a str]) -> Result<(Vec<&'w [&'a str]>, &'w [&'a str]), String> {
    let (mut depth, mut begin, mut alternatives) = (0, 0, Vec::new());
    for (index, &word) in words.iter().enumerate() {
        match word {
            "{" => depth += 1,
            "}" if depth > 0 => depth -= 1,
            "|" | "}" if depth == 0 => {
                alternatives.push(&words[begin..index]);
                begin = index + 1;
                if word == "}" {
                    return Ok((alternatives, &words[begin..]));
                }
            }
            _ => {}
        }
    }
    Err("a '{' without its '}'".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> Result<Vec<String>, String> {
        let mut spelled = Vec::new();
        let words: Vec<&str> = line.split_whitespace().collect();
        expand(&words, &[1, 8], &mut Values::default(), &mut |values| {
            let named = values.named.iter().map(|(name, value)| format!("{name}={value}").replace('\'', ""));
            spelled.push(named.collect::<Vec<_>>().join(" "));
        })?;
        Ok(spelled)
    }

    #[test]
    fn lines_are_products_with_the_first_list_slowest() {
        for (line, rows) in [
            ("a=1,2 b=x,y", &["a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y"][..]),
            ("a=2..8,9", &["a=2", "a=4", "a=8", "a=9"]),
            ("a:b=1:2,3:4 c=a+b*2", &["a=1 b=2 c=6", "a=3 b=4 c=14"]),
            ("a=1 a?=5 b?=a-3/2", &["a=1 b=-1"]),
            ("n=@batches", &["n=1", "n=8"]),
            (
                "a=1 { b=2 { c=3 | c=4 } | b=5 c=6 } d=7",
                &["a=1 b=2 c=3 d=7", "a=1 b=2 c=4 d=7", "a=1 b=5 c=6 d=7"],
            ),
            ("a=3,4,5 ?a%2", &["a=4"]),
            ("a=5,6 b=7,8 ?#%2", &["a=5 b=7", "a=6 b=8"]),
        ] {
            assert_eq!(expanded(line).unwrap(), rows, "{line}");
        }
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong() {
        for (line, reason) in [
            ("a", "found 'a', expected name=values"),
            ("a:b=1", "found '1', expected 2 values for a:b"),
            ("a=1+b", "found 'b', expected a number or its name"),
            ("a=0 b=1/a", "'1/a' divides by zero"),
            ("{ a=1 | b=2", "a '{' without its '}'"),
        ] {
            assert_eq!(expanded(line).unwrap_err(), reason);
        }
    }
}
