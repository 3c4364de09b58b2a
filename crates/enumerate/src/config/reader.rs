//! Walking through a configuration's JSON with names for places, keeping count of the keys that nobody asked
//! for.

use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::ConfigError;

/// What goes wrong at a place of the file.
pub(super) type Fault = (String, String);

/// An object being read.
pub(super) struct Object<'a> {
    map: &'a Map<String, Value>,
    place: String,
    known: Vec<&'static str>,
}

impl<'a> Object<'a> {
    /// The object at a place of the file; the whole file has the empty place.
    pub(super) fn at(place: String, value: &'a Value) -> Result<Self, Fault> {
        match value {
            Value::Object(map) => Ok(Self { map, place, known: Vec::new() }),
            other => Err((place, format!("found {}, expected an object", kind(other)))),
        }
    }

    /// Where a key stands, for messages.
    pub(super) fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    pub(super) fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.push(key);
        self.map.get(key)
    }

    pub(super) fn object(&mut self, key: &'static str) -> Result<Option<Object<'a>>, Fault> {
        let place = self.place_of(key);
        self.get(key).map(|value| Object::at(place, value)).transpose()
    }

    /// What `read` makes of the value under `key`; `None` where there is none.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<Option<T>, Fault> {
        let place = self.place_of(key);
        self.get(key).map(|value| read(value).map_err(|reason| (place, reason))).transpose()
    }

    /// The same where there has to be one.
    pub(super) fn needed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<T, Fault> {
        let place = self.place_of(key);
        self.optional(key, read)?.ok_or_else(|| (place, format!("found nothing, expected {expected}")))
    }

    /// A word of a closed list.
    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        let place = self.place_of(key);
        let Some(value) = self.get(key) else { return Ok(None) };
        let chosen = value.as_str().and_then(|word| choices.iter().find(|(name, _)| *name == word));
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        match chosen {
            Some(&(_, choice)) => Ok(Some(choice)),
            None => Err((place, format!("found {}, expected one of: {}", kind(value), names.join(", ")))),
        }
    }

    /// The list under `key`, which upstream writes as `{"values": […]}`, each item read by `read`.
    pub(super) fn values<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<Option<Vec<T>>, Fault> {
        let Some(mut object) = self.object(key)? else { return Ok(None) };
        let list = object.list(read)?;
        object.finish()?;
        Ok(Some(list))
    }

    /// The list under `values`.
    pub(super) fn list<T>(&mut self, read: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, Fault> {
        let place = self.place_of("values");
        let items = match self.get("values") {
            Some(Value::Array(items)) => items,
            Some(other) => return Err((place, format!("found {}, expected a list", kind(other)))),
            None => return Err((place, "found nothing, expected a list".to_owned())),
        };
        let item = |(at, item)| read(item).map_err(|reason| (format!("{place}[{at}]"), reason));
        items.iter().enumerate().map(item).collect()
    }

    /// Refuses keys that were not asked for. What a key would have changed nobody can know, so it is never
    /// passed over.
    pub(super) fn finish(self) -> Result<(), Fault> {
        self.finish_with(&[])
    }

    /// The same, with advice for keys that are often written.
    pub(super) fn finish_with(self, hints: &[(&str, &str)]) -> Result<(), Fault> {
        let unknown = |key: &&str| !self.known.contains(key) && !is_comment(key);
        let Some(key) = self.map.keys().map(String::as_str).find(unknown) else { return Ok(()) };
        let hint = hints.iter().find(|(written, _)| *written == key);
        let hint = hint.map(|(_, hint)| format!("; {hint}")).unwrap_or_default();
        Err((self.place_of(key), format!("unknown key, expected one of: {}{hint}", self.known.join(", "))))
    }
}

/// Keys for readers of the file.
fn is_comment(key: &str) -> bool {
    key.starts_with(['_', '$']) || ["comment", "description"].contains(&key)
}

/// Puts the file's name before a fault.
pub(super) fn in_file(file: &str) -> impl Fn(Fault) -> ConfigError + '_ {
    move |(place, reason)| ConfigError { file: file.to_owned(), place, reason }
}

pub(super) fn word<T: FromStr<Err: Display>>(value: &Value) -> Result<T, String> {
    match value {
        Value::String(word) => word.parse().map_err(|error: T::Err| error.to_string()),
        other => Err(format!("found {}, expected a word", kind(other))),
    }
}

pub(super) fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("found {}, expected true or false", kind(value)))
}

/// A whole number within bounds.
pub(super) fn count(least: u32, most: u32) -> impl Fn(&Value) -> Result<u32, String> {
    move |value| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("found {}, expected a whole number of {least} to {most}", kind(value)))
    }
}

/// A value for messages: what is short is shown whole.
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) if text.chars().count() > 60 => "a long text".to_owned(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}
