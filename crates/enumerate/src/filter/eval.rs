//! Evaluates a filter for one kernel, with Python's semantics.

use std::cmp::Ordering;
use std::ops::Range;

use super::error::{FilterError, FilterFault};
use super::tree::{Expr, Function, Method, Node, Operator, Relation};
use super::value::{Number, Value};

/// An error without its place.
type Fault = (FilterFault, String);

pub(super) struct Evaluation<'a> {
    pub(super) text: &'a str,
    pub(super) field: &'a dyn Fn(usize) -> Value,
}

impl Evaluation<'_> {
    pub(super) fn value(&self, node: &Node) -> Result<Value, FilterError> {
        match &node.expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Field(index) => Ok((self.field)(*index)),
            Expr::Sequence { tuple, items } => {
                let values = self.values(items)?;
                Ok(if *tuple { Value::Tuple(values.into()) } else { Value::List(values.into()) })
            }
            Expr::Not(operand) => Ok(Value::Bool(!self.value(operand)?.truthy())),
            Expr::Sign { negative, operand } => {
                let value = self.value(operand)?;
                self.at(&node.span, sign(&value, *negative))
            }
            Expr::Arithmetic { operator, left, right } => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.at(&node.span, arithmetic(*operator, &left, &right))
            }
            Expr::Comparison { first, rest } => self.comparison(first, rest),
            // As in Python, the result is the deciding operand itself, not just its truth value.
            Expr::And(operands) => self.first(operands, false),
            Expr::Or(operands) => self.first(operands, true),
            Expr::Call { function, arguments } => {
                let arguments = self.values(arguments)?;
                self.at(&node.span, call(*function, &arguments))
            }
            Expr::Method { object, method, argument } => {
                let (object, argument) = (self.value(object)?, self.value(argument)?);
                self.at(&node.span, affix(*method, &object, &argument))
            }
        }
    }

    fn values(&self, nodes: &[Node]) -> Result<Vec<Value>, FilterError> {
        nodes.iter().map(|node| self.value(node)).collect()
    }

    fn at<T>(&self, span: &Range<usize>, result: Result<T, Fault>) -> Result<T, FilterError> {
        result.map_err(|(fault, message)| FilterError::new(fault, self.text, span.clone(), message))
    }

    /// The first operand with this truth value, else the last one.
    fn first(&self, operands: &[Node], truth: bool) -> Result<Value, FilterError> {
        let mut value = Value::Bool(!truth);
        for operand in operands {
            value = self.value(operand)?;
            if value.truthy() == truth {
                break;
            }
        }
        Ok(value)
    }

    fn comparison(&self, first: &Node, rest: &[(Relation, Node)]) -> Result<Value, FilterError> {
        let mut left = self.value(first)?;
        let mut start = first.span.start;
        for (relation, node) in rest {
            let right = self.value(node)?;
            if !self.at(&(start..node.span.end), relate(*relation, &left, &right))? {
                return Ok(Value::Bool(false));
            }
            left = right;
            start = node.span.start;
        }
        Ok(Value::Bool(true))
    }
}

fn type_error<T>(message: String) -> Result<T, Fault> {
    Err((FilterFault::Type, message))
}

fn overflow<T>() -> Result<T, Fault> {
    Err((FilterFault::Overflow, "the result does not fit into 64 bits".to_owned()))
}

fn relate(relation: Relation, left: &Value, right: &Value) -> Result<bool, Fault> {
    let ordered = |wanted: fn(Ordering) -> bool| match left.compare(right) {
        Ok(order) => Ok(order.is_some_and(wanted)),
        Err((a, b)) => type_error(format!("'{}' does not order {a} and {b}", relation.symbol())),
    };
    match relation {
        Relation::Equal => Ok(left.equals(right)),
        Relation::NotEqual => Ok(!left.equals(right)),
        Relation::Less => ordered(Ordering::is_lt),
        Relation::LessEqual => ordered(Ordering::is_le),
        Relation::Greater => ordered(Ordering::is_gt),
        Relation::GreaterEqual => ordered(Ordering::is_ge),
        Relation::In => contains(right, left),
        Relation::NotIn => contains(right, left).map(|found| !found),
    }
}

fn contains(whole: &Value, part: &Value) -> Result<bool, Fault> {
    match (whole, part) {
        (Value::List(items) | Value::Tuple(items), part) => Ok(items.iter().any(|item| item.equals(part))),
        (Value::Str(whole), Value::Str(part)) => Ok(whole.contains(&**part)),
        (Value::Str(_), part) => {
            type_error(format!("'in' looks for a str in a str, not for {}", part.type_name()))
        }
        _ => {
            type_error(format!("'in' needs a list, a tuple or a str to look in, found {}", whole.type_name()))
        }
    }
}

fn sign(value: &Value, negative: bool) -> Result<Value, Fault> {
    match value.number() {
        Some(Number::Int(value)) if negative => {
            value.checked_neg().map_or_else(overflow, |value| Ok(Value::Int(value)))
        }
        Some(Number::Int(value)) => Ok(Value::Int(value)),
        Some(Number::Float(value)) => Ok(Value::Float(if negative { -value } else { value })),
        None => type_error(format!("{} has no sign", value.type_name())),
    }
}

fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left.number(), right.number()) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => integers(operator, a, b),
        (Some(a), Some(b)) => floats(operator, a.to_float(), b.to_float()).map(Value::Float),
        _ => type_error(format!(
            "'{}' does not apply to {} and {}",
            operator.symbol(),
            left.type_name(),
            right.type_name()
        )),
    }
}

fn zero_division<T>(operator: Operator) -> Result<T, Fault> {
    Err((FilterFault::ZeroDivision, format!("'{}' by zero", operator.symbol())))
}

fn integers(operator: Operator, a: i64, b: i64) -> Result<Value, Fault> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::FloorDivide | Operator::Remainder if b == 0 => {
            return zero_division(operator);
        }
        Operator::Divide => return Ok(Value::Float(true_quotient(a, b))),
        // Both round toward minus infinity, so the remainder has the divisor's sign.
        Operator::FloorDivide => {
            let rest = a.wrapping_rem(b);
            a.checked_div(b).map(|quotient| quotient - i64::from(rest != 0 && (rest < 0) != (b < 0)))
        }
        Operator::Remainder => {
            let rest = a.wrapping_rem(b);
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
    };
    result.map_or_else(overflow, |value| Ok(Value::Int(value)))
}

/// The quotient of two whole numbers, rounded only once. `b` is not 0.
fn true_quotient(a: i64, b: i64) -> f64 {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    if a.unsigned_abs() <= EXACT && b.unsigned_abs() <= EXACT {
        return a as f64 / b as f64;
    }
    // At least 64 bits of the quotient, and a last bit that says whether there is a remainder: rounding that
    // to a double gives the same result as rounding the full quotient.
    let (dividend, divisor) = (u128::from(a.unsigned_abs()), u128::from(b.unsigned_abs()));
    let shift = dividend.leading_zeros().min(127);
    let shifted = dividend << shift;
    let quotient = (shifted / divisor) | u128::from(!shifted.is_multiple_of(divisor));
    let magnitude = quotient as f64 * 2f64.powi(-(shift as i32));
    if (a < 0) == (b < 0) { magnitude } else { -magnitude }
}

fn floats(operator: Operator, a: f64, b: f64) -> Result<f64, Fault> {
    Ok(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        _ if b == 0.0 => return zero_division(operator),
        Operator::Divide => a / b,
        Operator::FloorDivide => floor_divide(a, b).0,
        Operator::Remainder => floor_divide(a, b).1,
    })
}

/// Python's `divmod` of doubles: the quotient is derived from the exact remainder, so that both are
/// consistent.
fn floor_divide(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0f64.copysign(a / b), rest);
    }
    let mut floor = quotient.floor();
    if quotient - floor > 0.5 {
        floor += 1.0;
    }
    (floor, rest)
}

fn call(function: Function, arguments: &[Value]) -> Result<Value, Fault> {
    let least = |greater: bool, name: &str| {
        let items = match arguments {
            [one] => items(one).ok_or_else(|| {
                (
                    FilterFault::Type,
                    format!("{name}() of one {}, expected a list, a tuple or more", one.type_name()),
                )
            })?,
            several => several.to_vec(),
        };
        extreme(&items, greater, name)
    };
    match (function, arguments) {
        (Function::Max, _) => least(true, "max"),
        (Function::Min, _) => least(false, "min"),
        (Function::Len, [Value::Str(text)]) => Ok(Value::Int(text.chars().count() as i64)),
        (Function::Len, [Value::List(items) | Value::Tuple(items)]) => Ok(Value::Int(items.len() as i64)),
        (Function::Len, [other, ..]) => type_error(format!("{} has no len()", other.type_name())),
        (Function::Abs, [value, ..]) => match value.number() {
            Some(Number::Int(value)) => {
                value.checked_abs().map_or_else(overflow, |value| Ok(Value::Int(value)))
            }
            Some(Number::Float(value)) => Ok(Value::Float(value.abs())),
            None => type_error(format!("{} has no abs()", value.type_name())),
        },
        // The parser has checked the number of arguments.
        (Function::Len | Function::Abs, []) => type_error("no argument".to_owned()),
    }
}

fn items(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::List(items) | Value::Tuple(items) => Some(items.to_vec()),
        Value::Str(text) => Some(text.chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4]))).collect()),
        _ => None,
    }
}

/// The first of the greatest or least items.
fn extreme(items: &[Value], greater: bool, name: &str) -> Result<Value, Fault> {
    let Some((mut best, rest)) = items.split_first() else {
        return Err((FilterFault::Value, format!("{name}() of nothing")));
    };
    for item in rest {
        let relation = if greater { Relation::Greater } else { Relation::Less };
        if relate(relation, item, best)? {
            best = item;
        }
    }
    Ok(best.clone())
}

fn affix(method: Method, object: &Value, argument: &Value) -> Result<Value, Fault> {
    let Value::Str(text) = object else {
        return type_error(format!("{} has no methods, only str has", object.type_name()));
    };
    let has = |affix: &Value| match (affix, method) {
        (Value::Str(affix), Method::StartsWith) => Ok(text.starts_with(&**affix)),
        (Value::Str(affix), Method::EndsWith) => Ok(text.ends_with(&**affix)),
        _ => type_error(format!("found {}, expected a str or a tuple of them", affix.type_name())),
    };
    let found = match argument {
        Value::Tuple(affixes) => {
            let mut found = false;
            for affix in affixes.iter() {
                found = has(affix)?;
                if found {
                    break;
                }
            }
            found
        }
        one => has(one)?,
    };
    Ok(Value::Bool(found))
}
