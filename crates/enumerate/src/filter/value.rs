//! Values of the filter language, which behave as in Python.

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

/// A value. Lists and tuples differ, as in Python: `[1] == (1,)` is false.
#[derive(Debug, Clone)]
pub enum Value {
    /// `None`
    None,
    /// `True` or `False`, which count as 1 and 0
    Bool(bool),
    /// A 64-bit whole number; Python's are unbounded, so overflow is an error
    Int(i64),
    /// A double
    Float(f64),
    /// A string
    Str(Rc<str>),
    /// `[…]`
    List(Rc<[Value]>),
    /// `(…)`
    Tuple(Rc<[Value]>),
}

/// A number after Python's promotions: `True` becomes the whole number 1.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Value {
    /// A string value.
    pub fn text(text: &str) -> Self {
        Self::Str(text.into())
    }

    /// Python's name of the type.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
        }
    }

    /// Whether it counts as true: everything but `None`, zeros and empty values does.
    pub fn truthy(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(items) | Self::Tuple(items) => !items.is_empty(),
        }
    }

    pub(super) const fn number(&self) -> Option<Number> {
        match self {
            Self::Bool(value) => Some(Number::Int(*value as i64)),
            Self::Int(value) => Some(Number::Int(*value)),
            Self::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    /// `==`: numbers compare by value, strings by characters, lists and tuples item by item; other types are
    /// never equal.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.equals(b))
            }
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a.compare(b) == Some(Ordering::Equal),
                _ => false,
            },
        }
    }

    /// The order for `<` and similar operators: `Ok(None)` if a NaN has none, `Err` with the pair of types
    /// that Python cannot order.
    pub(super) fn compare(&self, other: &Self) -> Result<Option<Ordering>, (&'static str, &'static str)> {
        match (self, other) {
            (Self::Str(a), Self::Str(b)) => Ok(Some(a.cmp(b))),
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => {
                // The first items that differ determine the order.
                match a.iter().zip(b.iter()).find(|(a, b)| !a.equals(b)) {
                    Some((a, b)) => a.compare(b),
                    None => Ok(Some(a.len().cmp(&b.len()))),
                }
            }
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => Ok(a.compare(b)),
                _ => Err((self.type_name(), other.type_name())),
            },
        }
    }
}

impl Number {
    /// An exact comparison, also between a whole number and a double.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => compare_mixed(a, b),
            (Self::Float(a), Self::Int(b)) => compare_mixed(b, a).map(Ordering::reverse),
        }
    }

    pub(super) const fn to_float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

fn compare_mixed(int: i64, float: f64) -> Option<Ordering> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= BOUND {
        return Some(Ordering::Less);
    }
    if float < -BOUND {
        return Some(Ordering::Greater);
    }
    // In this range the floor is exact; if it equals the whole number, the fraction decides.
    let floor = float.floor();
    let order = int.cmp(&(floor as i64));
    Some(if order == Ordering::Equal && float > floor { Ordering::Less } else { order })
}

/// Like Python's `repr`, except for unusual characters and exponents; for messages and tests.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = |f: &mut fmt::Formatter<'_>, items: &[Self]| {
            items.iter().enumerate().try_for_each(|(place, item)| {
                f.write_str(if place == 0 { "" } else { ", " })?;
                write!(f, "{item}")
            })
        };
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Str(text) => write!(f, "'{text}'"),
            Self::List(list) => {
                f.write_str("[")?;
                items(f, list)?;
                f.write_str("]")
            }
            Self::Tuple(tuple) => {
                f.write_str("(")?;
                items(f, tuple)?;
                f.write_str(if tuple.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}
