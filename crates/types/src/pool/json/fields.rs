//! The fields of an export, one by one.

use std::fmt::Display;
use std::str::FromStr;

use crate::pool::error::quoted;
use crate::pool::{PoolError, PoolFault};
use crate::vocab::UnknownWord;

/// Combines fields with a name.
pub(super) struct Fields<'a> {
    pub(super) name: &'a str,
}

impl Fields<'_> {
    /// Takes the field's value if there is one; it must agree with what the name says.
    pub(super) fn set<T: Copy + PartialEq + Display>(
        &self,
        target: &mut T,
        field: &str,
        value: Option<T>,
        written: Option<T>,
    ) -> Result<(), PoolError> {
        let Some(value) = value else { return Ok(()) };
        if let Some(written) = written
            && written != value
        {
            return Err(PoolError::new(PoolFault::Contradiction {
                name: self.name.to_owned(),
                in_name: written.to_string(),
                in_field: value.to_string(),
            })
            .within(field));
        }
        *target = value;
        Ok(())
    }
}

/// A word of a closed vocabulary.
pub(super) fn word<T: FromStr<Err = UnknownWord>>(
    field: &str,
    text: Option<String>,
) -> Result<Option<T>, PoolError> {
    let parse = |text: String| {
        text.parse().map_err(|unknown: UnknownWord| {
            PoolError::value(quoted(&text), format!("one of: {}", unknown.accepted.join(", "))).within(field)
        })
    };
    text.map(parse).transpose()
}

/// A word of an exporter that writes `unknown` for what it cannot spell; then the value known from elsewhere
/// stays.
pub(super) fn exported<T: FromStr<Err = UnknownWord> + PartialEq + Display>(
    field: &str,
    text: Option<String>,
    known: &T,
    spelled: &[T],
) -> Result<Option<T>, PoolError> {
    if text.as_deref() != Some("unknown") {
        return word(field, text);
    }
    if spelled.contains(known) {
        let expected = format!("'{known}', which the name gives and the exporter can spell");
        return Err(PoolError::value("'unknown'", expected).within(field));
    }
    Ok(None)
}

/// A number within bounds.
pub(super) fn number(field: &str, value: Option<u64>, min: u32, max: u32) -> Result<Option<u32>, PoolError> {
    let check = |value: u64| {
        u32::try_from(value)
            .ok()
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| PoolError::value(value.to_string(), format!("{min} to {max}")).within(field))
    };
    value.map(check).transpose()
}
