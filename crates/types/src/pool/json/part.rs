//! The parts of a kernel in JSON: each key sets the fields of the kernel's table that it holds.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::field::{Field, Kind, MOST_FIELDS};
use crate::json::Strict;
use crate::kernel::{KernelKind, Mnk};
use crate::pool::PoolError;
use crate::pool::error::quoted;
use crate::pool::export::{Extents, form};
use crate::pool::keys::{KernelKeys, KeyForm};
use crate::vocab::{Op, UnknownWord};

/// The keys of a part.
pub(super) type Part = Map<String, Value>;

/// Reads a part, the key `key` of a kernel; one that is absent has no keys.
pub(super) fn part(key: &str, part: Option<Strict>) -> Result<Part, PoolError> {
    match part {
        None | Some(Strict(Value::Null)) => Ok(Part::new()),
        Some(Strict(Value::Object(part))) => Ok(part),
        Some(Strict(other)) => Err(PoolError::value(quoted(&other.to_string()), "an object").within(key)),
    }
}

/// A value of a type of JSON.
pub(super) fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, PoolError> {
    T::deserialize(value).map_err(PoolError::new)
}

/// A word that no vocabulary has.
pub(super) fn unknown(error: &UnknownWord) -> PoolError {
    PoolError::value(quoted(&error.found), format!("one of: {}", error.accepted.join(", ")))
}

/// The words of types, pipelines and epilogues that the exporter of GEMMs can spell. It writes `unknown` for
/// others, though identifiers do not.
const SPELLED: [&str; 18] = [
    "fp16", "bf16", "fp32", "fp8", "bf8", "int8", "int32", "mem", "compv1", "compv2", "compv3", "compv4",
    "compv5", "none", "default", "cshuffle", "bias", "activation",
];

/// The fields of a kernel, from its name first and then from keys, which must not contradict the name.
pub(super) struct Fields<'a> {
    op: Op,
    name: &'a str,
    /// Whether the name says what the field is, or leaves it out.
    states: &'a dyn Fn(&str, i64) -> bool,
    /// The numbers of the kernel's fields.
    pub(super) values: [i64; MOST_FIELDS],
}

impl<'a> Fields<'a> {
    /// The fields that a name states; `states` tells whether the name states a field with that value or leaves it
    /// out.
    pub(super) fn new(kind: &KernelKind, name: &'a str, states: &'a dyn Fn(&str, i64) -> bool) -> Self {
        Self { op: kind.op(), name, states, values: kind.values() }
    }

    /// Sets the fields of which a part has a key. The part of no name is the kernel itself.
    pub(super) fn set(&mut self, name: &str, part: &Part) -> Result<(), PoolError> {
        for (key, value) in part.iter().filter(|(_, value)| !value.is_null()) {
            self.key(key, value).map_err(|error| if name.is_empty() { error } else { error.within(name) })?;
        }
        Ok(())
    }

    fn key(&mut self, key: &str, value: &Value) -> Result<(), PoolError> {
        let within = |error: PoolError| error.within(key);
        let Some(form) = form(self.op, key) else { return Ok(()) };
        match form {
            KeyForm::Own(name) => {
                let index = self.index(name);
                match self.value(index, key, value).map_err(within)? {
                    Some(value) => self.assign(key, index, &[value]),
                    None => Ok(()),
                }
            }
            KeyForm::Joined(first) => {
                let text: String = typed(value).map_err(within)?;
                let index = self.index(first);
                let Field { least, most, .. } = self.field(index);
                let shape = text.parse().ok().map(|Mnk { m, n, k }| [m, n, k].map(i64::from));
                let shape = shape.filter(|three| three.iter().all(|one| (*least..=*most).contains(one)));
                let expected = format!("three numbers of {least} to {most} joined by 'x'");
                let shape = shape.ok_or_else(|| within(PoolError::value(quoted(&text), expected)))?;
                self.assign(key, index, &shape)
            }
            KeyForm::Shape(first) => {
                let Extents { m, n, k } = typed(value).map_err(within)?;
                let index = self.index(first);
                for (axis, value) in [("m", m), ("n", n), ("k", k)] {
                    self.bounded(index, value).map_err(|error| within(error.within(axis)))?;
                }
                self.assign(key, index, &[m, n, k])
            }
            KeyForm::Array(first, count) => {
                let values: Vec<Value> = typed(value).map_err(within)?;
                if values.len() != count {
                    let found = format!("an array of length {}", values.len());
                    return Err(within(PoolError::value(found, count.to_string())));
                }
                for (axis, value) in values.iter().enumerate() {
                    let (key, index) = (format!("{key}[{axis}]"), self.index(first) + axis);
                    let value = self.value(index, &key, value).map_err(|error| error.within(&key))?;
                    self.assign(&key, index, value.as_slice())?;
                }
                Ok(())
            }
        }
    }

    fn field(&self, index: usize) -> &'static Field {
        &KernelKind::fields(self.op)[index]
    }

    /// The index of a field, by any of its names.
    pub(super) fn index(&self, name: &str) -> usize {
        crate::field::position(KernelKind::fields(self.op), name).unwrap_or_default()
    }

    /// The number of a field; `None` for a word that the exporter cannot spell, which the name has.
    fn value(&self, index: usize, key: &str, value: &Value) -> Result<Option<i64>, PoolError> {
        let field = self.field(index);
        match (field.kind, value) {
            (Kind::Flag, Value::Number(number)) if KernelKeys::get(self.op).has_counted_flags => {
                Ok(Some((number.as_i64() > Some(0)).into()))
            }
            (Kind::Flag, _) => typed::<bool>(value).map(|flag| Some(flag.into())),
            (Kind::Number | Kind::Shape, _) => {
                typed(value).and_then(|number| self.bounded(index, number)).map(Some)
            }
            (Kind::Word(vocabulary), _) => {
                let text: String = typed(value)?;
                if text != "unknown" || !(KernelKeys::get(self.op).may_be_unknown)(key) {
                    return (vocabulary.code)(&text).map(Some).map_err(|error| unknown(&error));
                }
                let known = field.text(self.values[index]);
                if SPELLED.contains(&known.as_str()) {
                    let expected = format!("'{known}', which the name gives and the exporter can spell");
                    return Err(PoolError::value("'unknown'", expected));
                }
                Ok(None)
            }
        }
    }

    fn bounded(&self, index: usize, value: i64) -> Result<i64, PoolError> {
        let field = self.field(index);
        let error = || PoolError::value(value.to_string(), field.accepted());
        (field.least..=field.most).contains(&value).then_some(value).ok_or_else(error)
    }

    /// Gives a field and those behind it their values; they must agree with what the name says.
    fn assign(&mut self, key: &str, index: usize, values: &[i64]) -> Result<(), PoolError> {
        let field = self.field(index);
        let known = &mut self.values[index..index + values.len()];
        if known != values && (self.states)(field.name, known[0]) {
            let text = |value: &i64| match field.kind {
                Kind::Flag => (*value != 0).to_string(),
                _ => field.text(*value),
            };
            let text = |values: &[i64]| values.iter().map(text).collect::<Vec<_>>().join("x");
            return Err(contradiction(self.name, text(known), text(values)).within(key));
        }
        known.copy_from_slice(values);
        Ok(())
    }
}

/// A name and a field that say different things.
pub(super) fn contradiction(name: &str, in_name: impl Display, in_field: impl Display) -> PoolError {
    PoolError::new(format_args!("the field says {in_field}, but the name '{name}' says {in_name}"))
}
