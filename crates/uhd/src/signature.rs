//! The features of a descriptor: names and expressions, and the hash that descriptor and artifact share.

use std::io;

use ck_select_types::problem::InvalidField;
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use sha2::{Digest as _, Sha256};

use crate::{refused, require};

/// The largest number of parts of a signature, and bytes of a string.
const MOST: usize = 65_536;
const MAX_ENTRIES: usize = 16_384;
const MAX_DEPTH: usize = 64;
/// The largest literal that prints alike everywhere.
const MAX_LITERAL: f64 = 1e15;
/// Operators, with the least and the largest number of their arguments. Only older descriptors have `all`.
const OPERATORS: [(&str, usize, usize); 7] = [
    ("+ *", 0, MOST),
    ("min max and or present not_present all", 1, MOST),
    ("if ?:", 2, MOST),
    ("-", 1, 2),
    ("< <=", 2, 3),
    ("/ % > >= == != in ceil_div divisible pow value_or_default shape", 2, 2),
    ("! !! abs log2 rsqrt rank", 1, 1),
];

/// The digest of bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// `features_hash` of a signature and an encoding of words.
pub fn features_hash(signature: &Value, encoding: Option<&Value>) -> String {
    let encoding = encoding.filter(|words| words.as_object().is_some_and(|words| !words.is_empty()));
    let text = std::iter::once(signature).chain(encoding).map(compact).collect::<Vec<_>>().join("|");
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

/// JSON in which a quotation mark without a backslash begins or ends a string.
pub(crate) fn compact(value: &Value) -> String {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut text, TwoDigits));
    String::from_utf8(text).unwrap_or_default()
}

/// Checks the entries of a signature.
pub(crate) fn check(signature: &[Value]) -> Result<(), InvalidField> {
    let is_size = (1..=MAX_ENTRIES).contains(&signature.len());
    require(is_size, "features_signature", signature.len(), "1 to 16384 entries")?;
    let mut left = MOST;
    for (number, entry) in signature.iter().enumerate() {
        let path = format!("features_signature[{number}]");
        let is_feature = entry.is_object() || entry.as_str().is_some_and(|name| name.starts_with('$'));
        require(is_feature, &path, entry, "a name that begins with $, or an operator")?;
        check_expression(entry, &path, MAX_DEPTH, &mut left)?;
    }
    Ok(())
}

fn check_expression(value: &Value, path: &str, levels: usize, left: &mut usize) -> Result<(), InvalidField> {
    require(levels > 0 && *left > 0, path, "more", "64 levels and 65536 parts at most")?;
    *left -= 1;
    let parts = match value {
        Value::String(text) => {
            return require(text != "$" && text.len() <= MOST, path, "a string", "a name after $");
        }
        Value::Number(number) => {
            let is_literal = number.as_f64().is_some_and(|number| number.abs() < MAX_LITERAL);
            return require(is_literal, path, number, "a number below 1e15");
        }
        Value::Array(values) => values,
        Value::Object(object) => {
            let (Some((name, arguments)), 1) = (object.iter().next(), object.len()) else {
                return refused(path, format_args!("{} keys", object.len()), "one operator");
            };
            let is_name = |names: &str| names.split(' ').any(|known| known == name);
            let Some((_, least, most)) = OPERATORS.iter().find(|(names, ..)| is_name(names)) else {
                let known = OPERATORS.map(|(names, ..)| names).join(" ");
                return refused(path, format_args!("'{name}'"), format_args!("an operator: {known}"));
            };
            let arguments = arguments.as_array().map_or(std::slice::from_ref(arguments), Vec::as_slice);
            let found = format_args!("{} arguments of '{name}'", arguments.len());
            let is_count = (least..=most).contains(&&arguments.len());
            require(is_count, path, found, format_args!("{least} to {most}"))?;
            arguments
        }
        _ => return Ok(()),
    };
    parts.iter().try_for_each(|value| check_expression(value, path, levels - 1, left))
}
