//! A filter as a tree, and its value for one kernel.

use std::cmp::Ordering;

use super::FilterError;

/// A value, which behaves as in Python: `True` is 1, and other types are never equal.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`
    None,
    /// A number, `True` or `False`
    Number(f64),
    /// A text
    Text(String),
    /// `(…)` or `[…]`
    List(Vec<Value>),
}

impl Value {
    /// A text as a value.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// `True` or `False` as a value.
    pub const fn flag(flag: bool) -> Self {
        Self::Number(flag as u8 as f64)
    }

    /// Whether the value counts as true: everything but `None`, zero and what is empty does.
    pub fn truthy(&self) -> bool {
        match self {
            Self::None => false,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
        }
    }

    /// The value's kind, as messages call it.
    const fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Expr {
    Literal(Value),
    /// The field with this index.
    Field(usize),
    List(Vec<Expr>),
    Not(Box<Expr>),
    /// Operands of equal precedence, each but the first with the operator before it: long ones are not deep.
    Series(Level, Box<Expr>, Vec<(&'static str, Expr)>),
}

/// How the operators of one precedence work, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Or,
    And,
    /// `first < second <= third …`
    Compare,
    Calculate,
}

impl Expr {
    pub(super) fn series(level: Level, first: Self, others: Vec<(&'static str, Self)>) -> Self {
        if others.is_empty() { first } else { Self::Series(level, Box::new(first), others) }
    }

    /// The expression's value; `field` returns the value of the field with an index.
    pub(super) fn value(&self, field: &dyn Fn(usize) -> Value) -> Result<Value, FilterError> {
        let (level, first, others) = match self {
            Self::Literal(value) => return Ok(value.clone()),
            Self::Field(index) => return Ok(field(*index)),
            Self::List(items) => {
                let items: Result<_, _> = items.iter().map(|item| item.value(field)).collect();
                return items.map(Value::List);
            }
            Self::Not(operand) => return Ok(Value::flag(!operand.value(field)?.truthy())),
            Self::Series(level, first, others) => (*level, first, others),
        };
        let mut left = first.value(field)?;
        for (operator, operand) in others {
            // As in Python, the result is the operand that decides, not just its truth.
            if level == Level::Or && left.truthy() || level == Level::And && !left.truthy() {
                return Ok(left);
            }
            let right = operand.value(field)?;
            left = match level {
                Level::Or | Level::And => right,
                Level::Calculate => apply(operator, &left, &right)?,
                Level::Compare if apply(operator, &left, &right)?.truthy() => right,
                Level::Compare => return Ok(Value::flag(false)),
            };
        }
        Ok(if level == Level::Compare { Value::flag(true) } else { left })
    }
}

fn apply(operator: &str, left: &Value, right: &Value) -> Result<Value, FilterError> {
    use Value::{List, Number, Text};
    Ok(match (operator, left, right) {
        ("==", a, b) => Value::flag(a == b),
        ("!=", a, b) => Value::flag(a != b),
        ("in", part, List(whole)) => Value::flag(whole.contains(part)),
        ("in", Text(part), Text(whole)) => Value::flag(whole.contains(part.as_str())),
        ("not in", part, whole) => Value::flag(!apply("in", part, whole)?.truthy()),
        ("<" | "<=" | ">" | ">=", Number(a), Number(b)) => {
            Value::flag(a.partial_cmp(b).is_some_and(|order| is_ordered(operator, order)))
        }
        ("<" | "<=" | ">" | ">=", Text(a), Text(b)) => Value::flag(is_ordered(operator, a.cmp(b))),
        ("/" | "//" | "%", Number(_), Number(0.0)) => {
            return Err(FilterError(format!("'{operator}' by zero")));
        }
        ("+", Number(a), Number(b)) => Number(a + b),
        ("-", Number(a), Number(b)) => Number(a - b),
        ("*", Number(a), Number(b)) => Number(a * b),
        ("/", Number(a), Number(b)) => Number(a / b),
        ("//", Number(a), Number(b)) => Number((a / b).floor()),
        ("%", Number(a), Number(b)) => Number(a - (a / b).floor() * b),
        ("startswith", Text(text), Text(affix)) => Value::flag(text.starts_with(affix.as_str())),
        ("endswith", Text(text), Text(affix)) => Value::flag(text.ends_with(affix.as_str())),
        ("startswith" | "endswith", Text(_), List(affixes)) => {
            let any = |any, affix| Ok(any || apply(operator, left, affix)?.truthy());
            Value::flag(affixes.iter().try_fold(false, any)?)
        }
        (_, a, b) => {
            let message = format!("'{operator}' does not apply to {} and {}", a.kind(), b.kind());
            return Err(FilterError(message));
        }
    })
}

fn is_ordered(operator: &str, order: Ordering) -> bool {
    match operator {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}
