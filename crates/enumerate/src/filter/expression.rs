//! A filter as a tree, and its value for one kernel.

use std::ops::Range;

use super::error::FilterError;

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

    /// Whether it counts as true: everything but `None`, zero and what is empty does.
    pub fn truthy(&self) -> bool {
        match self {
            Self::None => false,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
        }
    }

    /// Its kind, as messages call it.
    const fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
        }
    }
}

/// An expression with its place in the text.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) expr: Expr,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Expr {
    Literal(Value),
    /// The field with this index.
    Field(usize),
    List(Vec<Node>),
    Not(Box<Node>),
    Minus(Box<Node>),
    /// The operands of one chain of `and` (true) or `or`.
    Chain(bool, Vec<Node>),
    /// `first < second <= third …`
    Compare(Box<Node>, Vec<(&'static str, Node)>),
    Calculate(&'static str, Box<[Node; 2]>),
    /// `startswith` (true) or `endswith`.
    Affix(bool, Box<[Node; 2]>),
}

/// What evaluates the filter's text: its source for messages, and the fields of a kernel.
pub(super) struct Evaluation<'a> {
    pub(super) text: &'a str,
    pub(super) field: &'a dyn Fn(usize) -> Value,
}

impl Evaluation<'_> {
    pub(super) fn value(&self, node: &Node) -> Result<Value, FilterError> {
        let fail = |message: String| Err(FilterError::new(self.text, node.span.clone(), message));
        match &node.expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Field(index) => Ok((self.field)(*index)),
            Expr::List(items) => {
                let items: Result<_, _> = items.iter().map(|item| self.value(item)).collect();
                items.map(Value::List)
            }
            Expr::Not(operand) => Ok(Value::flag(!self.value(operand)?.truthy())),
            Expr::Minus(operand) => match self.value(operand)? {
                Value::Number(number) => Ok(Value::Number(-number)),
                other => fail(format!("{} has no sign", other.kind())),
            },
            // As in Python, the result is the operand that decides, not just its truth.
            Expr::Chain(all, operands) => {
                let mut value = Value::flag(*all);
                for operand in operands {
                    value = self.value(operand)?;
                    if value.truthy() != *all {
                        break;
                    }
                }
                Ok(value)
            }
            Expr::Compare(first, others) => {
                let mut left = self.value(first)?;
                for (relation, node) in others {
                    let right = self.value(node)?;
                    match compare(relation, &left, &right) {
                        Ok(true) => left = right,
                        Ok(false) => return Ok(Value::flag(false)),
                        Err(message) => return fail(message),
                    }
                }
                Ok(Value::flag(true))
            }
            Expr::Calculate(operator, sides) => match (self.value(&sides[0])?, self.value(&sides[1])?) {
                (Value::Number(_), Value::Number(0.0)) if ["/", "//", "%"].contains(operator) => {
                    fail(format!("'{operator}' by zero"))
                }
                (Value::Number(a), Value::Number(b)) => Ok(Value::Number(calculate(operator, a, b))),
                (a, b) => fail(format!("'{operator}' does not apply to {} and {}", a.kind(), b.kind())),
            },
            Expr::Affix(starts, sides) => match (self.value(&sides[0])?, self.value(&sides[1])?) {
                (Value::Text(text), affixes) => {
                    has_affix(*starts, &text, &affixes).map(Value::flag).or_else(fail)
                }
                (other, _) => fail(format!("{} has no methods, only a text has", other.kind())),
            },
        }
    }
}

fn compare(relation: &str, left: &Value, right: &Value) -> Result<bool, String> {
    match relation {
        "==" => return Ok(left == right),
        "!=" => return Ok(left != right),
        "in" => return contains(right, left),
        "not in" => return contains(right, left).map(|found| !found),
        _ => {}
    }
    let order = match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        _ => return Err(format!("'{relation}' does not order {} and {}", left.kind(), right.kind())),
    };
    Ok(order.is_some_and(|order| match relation {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn contains(whole: &Value, part: &Value) -> Result<bool, String> {
    match (whole, part) {
        (Value::List(items), part) => Ok(items.contains(part)),
        (Value::Text(whole), Value::Text(part)) => Ok(whole.contains(part.as_str())),
        _ => Err(format!("'in' does not look for {} in {}", part.kind(), whole.kind())),
    }
}

fn calculate(operator: &str, a: f64, b: f64) -> f64 {
    let floor = (a / b).floor();
    match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "//" => floor,
        _ => a - floor * b,
    }
}

fn has_affix(starts: bool, text: &str, affixes: &Value) -> Result<bool, String> {
    match affixes {
        Value::Text(affix) if starts => Ok(text.starts_with(affix.as_str())),
        Value::Text(affix) => Ok(text.ends_with(affix.as_str())),
        Value::List(items) => {
            items.iter().try_fold(false, |any, item| Ok(any || has_affix(starts, text, item)?))
        }
        other => Err(format!("found {}, expected a text or a list of them", other.kind())),
    }
}
