//! Reads a configuration's JSON; errors name the field, and unknown keys are rejected.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::LazyLock;

use serde_json::{Map, Value};

/// Problems of an operation whose kernels a file can ask for.
pub(crate) trait ConfigFile {
    /// The configuration in a file.
    type Config;
    /// The parameters that a request may set: `ndim`, `dtype`, `layout`.
    const PARAMS: &'static [&'static str] = &[];

    /// How surely a file that names no operation is one of this one's.
    fn claim(root: &Value) -> Claim;

    /// Reads a file.
    fn read_file(object: Object<'_>, root: &Value) -> Result<Self::Config, Fault>;
}

/// How surely a file is one of an operation's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    /// The file is none of the operation's.
    No,
    /// The file is one of the operation's if no other operation claims it.
    Perhaps,
    /// The file is certainly one of the operation's.
    Surely,
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}{path}: {reason}", if path.is_empty() { "" } else { ", " })]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// The field, such as `trait_config.pipeline.values[2]`; empty for the whole file.
    pub path: String,
    /// Why the file cannot be used, usually the value in the file and what was expected.
    pub reason: String,
}

/// The path of the field in error, and the reason.
pub(crate) type Fault = (String, String);

/// An object being read.
pub(crate) struct Object<'a> {
    map: &'a Map<String, Value>,
    path: String,
    known: Vec<&'static str>,
}

impl<'a> Object<'a> {
    /// The object at a path in the file; the path of the whole file is empty.
    pub(crate) fn at(path: String, value: &'a Value) -> Result<Self, Fault> {
        match value {
            Value::Object(map) => Ok(Self { map, path, known: Vec::new() }),
            other => Err((path, format!("found {}, expected an object", kind(other)))),
        }
    }

    /// The path of a key, for messages.
    pub(crate) fn place_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.push(key);
        self.map.get(key)
    }

    pub(crate) fn object(&mut self, key: &'static str) -> Result<Option<Object<'a>>, Fault> {
        let path = self.place_of(key);
        self.get(key).map(|value| Object::at(path, value)).transpose()
    }

    /// The object under `key`, or an empty one if there is none.
    pub(crate) fn part(&mut self, key: &'static str) -> Result<Object<'a>, Fault> {
        static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        let empty = || Object { map: &EMPTY, path: String::new(), known: Vec::new() };
        Ok(self.object(key)?.unwrap_or_else(empty))
    }

    /// The value under `key` as `read` returns it; `None` if there is none.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<Option<T>, Fault> {
        let path = self.place_of(key);
        self.get(key).map(|value| read(value).map_err(|reason| (path, reason))).transpose()
    }

    /// The value under the required `key` as `read` returns it.
    pub(crate) fn needed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<T, Fault> {
        let path = self.place_of(key);
        self.optional(key, read)?.ok_or_else(|| (path, format!("found nothing, expected {expected}")))
    }

    /// One of a fixed list of words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        let path = self.place_of(key);
        let Some(value) = self.get(key) else { return Ok(None) };
        let chosen = value.as_str().and_then(|word| choices.iter().find(|(name, _)| *name == word));
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        match chosen {
            Some(&(_, choice)) => Ok(Some(choice)),
            None => Err((path, format!("found {}, expected one of: {}", kind(value), names.join(", ")))),
        }
    }

    /// Whether the second of two words is there; the first is the default.
    pub(crate) fn is_second(&mut self, key: &'static str, [first, second]: [&str; 2]) -> Result<bool, Fault> {
        Ok(self.choice(key, &[(first, false), (second, true)])?.unwrap_or(false))
    }

    /// The list under `key`, which upstream writes as `{"values": […]}`; `read` reads each item.
    pub(crate) fn values<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<Option<Vec<T>>, Fault> {
        let Some(mut object) = self.object(key)? else { return Ok(None) };
        let list = object.list(read)?;
        object.finish()?;
        Ok(Some(list))
    }

    /// The list under the required `key`; `read` reads each item.
    pub(crate) fn needed_values<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<Vec<T>, Fault> {
        let path = self.place_of(key);
        let missing = || (path, "found nothing, expected an object with 'values'".to_owned());
        self.values(key, read)?.ok_or_else(missing)
    }

    /// The list under `values`.
    pub(crate) fn list<T>(&mut self, read: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, Fault> {
        let path = self.place_of("values");
        let items = match self.get("values") {
            Some(Value::Array(items)) => items,
            Some(other) => return Err((path, format!("found {}, expected a list", kind(other)))),
            None => return Err((path, "found nothing, expected a list".to_owned())),
        };
        let item = |(at, item)| read(item).map_err(|reason| (format!("{path}[{at}]"), reason));
        items.iter().enumerate().map(item).collect()
    }

    /// Rejects keys that no reader took. An unknown key is never ignored, since nobody can know what it was meant to
    /// change.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        self.finish_with(&[])
    }

    /// Rejects keys that no reader took, with advice for those that are often written by mistake.
    pub(crate) fn finish_with(self, hints: &[(&str, &str)]) -> Result<(), Fault> {
        let unknown = |key: &&str| !self.known.contains(key) && !is_comment(key);
        let Some(key) = self.map.keys().map(String::as_str).find(unknown) else { return Ok(()) };
        let hint = hints.iter().find(|(written, _)| *written == key);
        let hint = hint.map(|(_, hint)| format!("; {hint}")).unwrap_or_default();
        Err((self.place_of(key), format!("unknown key, expected one of: {}{hint}", self.known.join(", "))))
    }
}

/// Whether a key is a comment for human readers.
fn is_comment(key: &str) -> bool {
    key.starts_with(['_', '$']) || ["comment", "description"].contains(&key)
}

/// Adds the file's name to an error.
pub(crate) fn in_file(file: &str) -> impl Fn(Fault) -> ConfigError + '_ {
    move |(path, reason)| ConfigError { file: file.to_owned(), path, reason }
}

pub(crate) fn word<T: FromStr<Err: Display>>(value: &Value) -> Result<T, String> {
    match value {
        Value::String(word) => word.parse().map_err(|error: T::Err| error.to_string()),
        other => Err(format!("found {}, expected a word", kind(other))),
    }
}

pub(crate) fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("found {}, expected true or false", kind(value)))
}

/// A whole number within bounds.
pub(crate) fn count(least: u32, most: u32) -> impl Fn(&Value) -> Result<u32, String> {
    move |value| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("found {}, expected a whole number of {least} to {most}", kind(value)))
    }
}

/// A value for messages: a short one is shown in full.
pub(crate) fn kind(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) if text.chars().count() > 60 => "a long text".to_owned(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}
