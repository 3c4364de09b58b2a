//! JSON without duplicate keys, one of whose values would be ignored, and values that JSON has as text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::files;

/// Makes a visitor its own seed: it calls the named method of the deserializer.
#[macro_export]
macro_rules! seed {
    ($visitor:ty, $method:ident) => {
        impl<'de> serde::de::DeserializeSeed<'de> for $visitor {
            type Value = ();

            fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.$method(self)
            }
        }
    };
}

/// A JSON value; reading one in which an object has a key twice is an error.
///
/// ```
/// use ck_select_types::json::Strict;
///
/// let error = serde_json::from_str::<Strict>(r#"{"num_cus": 304, "num_cus": 256}"#).err().unwrap();
/// assert!(error.to_string().starts_with("the key 'num_cus' appears twice in one object"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values).map(Self)
    }
}

/// The object that a file holds, which may begin with a byte order mark.
pub fn object(text: &[u8]) -> serde_json::Result<Map<String, Value>> {
    match serde_json::from_slice(files::without_bom(text))? {
        Strict(Value::Object(keys)) => Ok(keys),
        _ => Err(Error::custom("expected a JSON object")),
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let Strict(value) = object.next_value()?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key '{key}' appears twice in one object")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Lets a type be in JSON what it displays and parses.
#[macro_export]
macro_rules! text_in_json {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
