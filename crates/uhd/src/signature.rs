//! The features of a descriptor: names and expressions, and the hash that descriptor and artifact share.

use std::io;

use ck_select_types::problem::InvalidField;
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use sha2::{Digest as _, Sha256};

use crate::refused;

/// The largest number of parts of a signature, and bytes of a string.
const MOST: usize = 65_536;
const MAX_ENTRIES: usize = 16_384;
const MAX_DEPTH: usize = 64;
/// The largest literal that prints alike everywhere.
const MAX_LITERAL: f64 = 1e15;
/// Operators, each with the least and the largest number of its arguments. Only older descriptors have `all`.
const OPERATORS: &str = "+ 0 * , * 0 * , - 1 2 , / 2 2 , % 2 2 , min 1 * , max 1 * , < 2 3 , <= 2 3 , > 2 2 , >= 2 2 , \
    == 2 2 , != 2 2 , ! 1 1 , !! 1 1 , if 2 * , ?: 2 * , and 1 * , or 1 * , in 2 2 , ceil_div 2 2 , divisible 2 2 , \
    abs 1 1 , pow 2 2 , log2 1 1 , rsqrt 1 1 , value_or_default 2 2 , present 1 * , not_present 1 * , shape 2 2 , \
    rank 1 1 , all 1 *";

/// The digest of bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// `features_hash` of a signature and an encoding of words.
pub fn features_hash(signature: &Value, encoding: Option<&Value>) -> String {
    let mut text = compact(signature);
    if let Some(encoding) =
        encoding.filter(|encoding| encoding.as_object().is_some_and(|words| !words.is_empty()))
    {
        text.push('|');
        text.push_str(&compact(encoding));
    }
    format!("sha256:{}", &sha256(text.as_bytes())[..16])
}

/// JSON as Python's and nlohmann's writers print it, with two digits of an exponent.
struct TwoDigits;

impl Formatter for TwoDigits {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        match format!("{value:e}").split_once("e-") {
            Some((digits, exponent)) if value.abs() < 1e-4 => write!(writer, "{digits}e-{exponent:0>2}"),
            _ => write!(writer, "{value:?}"),
        }
    }
}

fn compact(value: &Value) -> String {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut text, TwoDigits));
    String::from_utf8(text).unwrap_or_default()
}

/// Whether a signature has an operator of older descriptors.
pub(crate) fn has_old(signature: &[Value]) -> bool {
    signature.iter().any(|entry| match entry {
        Value::Object(operator) => {
            operator.iter().any(|(name, arguments)| name == "all" || has_old(std::slice::from_ref(arguments)))
        }
        Value::Array(values) => has_old(values),
        _ => false,
    })
}

/// Checks the entries of a signature.
pub(crate) fn check(signature: &[Value]) -> Result<(), InvalidField> {
    if signature.is_empty() || signature.len() > MAX_ENTRIES {
        return refused("features_signature", signature.len(), "1 to 16384 entries");
    }
    let mut left = MOST;
    for (number, entry) in signature.iter().enumerate() {
        let place = format!("features_signature[{number}]");
        if !entry.is_object() && !entry.as_str().is_some_and(|name| name.starts_with('$')) {
            return refused(place, entry, "a name that begins with $, or an operator");
        }
        check_expression(entry, &place, MAX_DEPTH, &mut left)?;
    }
    Ok(())
}

fn check_expression(value: &Value, place: &str, levels: usize, left: &mut usize) -> Result<(), InvalidField> {
    if levels == 0 || *left == 0 {
        return refused(place, "more", "64 levels and 65536 parts at most");
    }
    *left -= 1;
    match value {
        Value::String(text) if text == "$" || text.len() > MOST => {
            refused(place, "a string", "a name after $")
        }
        Value::Number(number) if number.as_f64().is_none_or(|number| number.abs() >= MAX_LITERAL) => {
            refused(place, number, "a number below 1e15")
        }
        Value::Array(values) => {
            values.iter().try_for_each(|value| check_expression(value, place, levels - 1, left))
        }
        Value::Object(object) => {
            let (Some((name, arguments)), 1) = (object.iter().next(), object.len()) else {
                return refused(place, format_args!("{} keys", object.len()), "one operator");
            };
            let arguments = arguments.as_array().map_or(std::slice::from_ref(arguments), Vec::as_slice);
            let mut operators = OPERATORS.split(" , ").filter_map(|line| line.split_once(' '));
            let Some((_, counts)) = operators.find(|(known, _)| known == name) else {
                return refused(place, format_args!("'{name}'"), &format!("an operator: {OPERATORS}"));
            };
            let (least, most) = counts.split_once(' ').unwrap_or_default();
            let most = most.parse().unwrap_or(MOST);
            if !(least.parse().unwrap_or(0)..=most).contains(&arguments.len()) {
                let found = format!("{} arguments of '{name}'", arguments.len());
                return refused(place, found, &format!("{least} to {most}"));
            }
            arguments.iter().try_for_each(|value| check_expression(value, place, levels - 1, left))
        }
        _ => Ok(()),
    }
}
