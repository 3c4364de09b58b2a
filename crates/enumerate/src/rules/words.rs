//! Words and shapes in rule files.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use ck_select_types::kernel::Mnk;
use serde::de::{Deserialize, Deserializer, Error};

/// Lists of shapes by arbitrary keys.
pub(super) type NamedShapes = BTreeMap<String, Vec<Mnk>>;

/// A string that is read with `FromStr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// Three numbers joined by `x`.
struct Shape(Mnk);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let expected = "three numbers of 1 or more joined by 'x', such as 64x128x32";
        text.parse().map(Self).map_err(|_| D::Error::custom(format!("found '{text}', expected {expected}")))
    }
}

pub(super) fn one<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    Word::deserialize(deserializer).map(|Word(value)| value)
}

pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let words = Vec::<Word<T>>::deserialize(deserializer)?;
    Ok(words.into_iter().map(|Word(value)| value).collect())
}

/// A list that may be absent.
pub(super) fn optional_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    list(deserializer).map(Some)
}

/// An object whose keys are words.
pub(super) fn keyed<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: FromStr<Err: Display> + Ord,
    V: Deserialize<'de>,
{
    let map = BTreeMap::<String, V>::deserialize(deserializer)?;
    map.into_iter().map(|(key, value)| Ok((key.parse().map_err(D::Error::custom)?, value))).collect()
}

pub(super) fn shape<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mnk, D::Error> {
    Shape::deserialize(deserializer).map(|Shape(mnk)| mnk)
}

pub(super) fn shapes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Mnk>, D::Error> {
    Ok(Vec::<Shape>::deserialize(deserializer)?.into_iter().map(|Shape(mnk)| mnk).collect())
}

/// A list that may be absent.
pub(super) fn optional_shapes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Mnk>>, D::Error> {
    shapes(deserializer).map(Some)
}

pub(super) fn named_shapes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NamedShapes, D::Error> {
    let map = BTreeMap::<String, Vec<Shape>>::deserialize(deserializer)?;
    Ok(map.into_iter().map(|(key, list)| (key, list.into_iter().map(|Shape(mnk)| mnk).collect())).collect())
}
