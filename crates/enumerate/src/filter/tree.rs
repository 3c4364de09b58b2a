//! A parsed filter.

use std::ops::Range;

use super::value::Value;

/// An expression with its position in the text.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) expr: Expr,
    pub(super) span: Range<usize>,
    /// Levels of expressions down from this one, itself included; it limits the recursion of a walk.
    pub(super) depth: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Expr {
    Literal(Value),
    /// The field with this index.
    Field(usize),
    Sequence {
        tuple: bool,
        items: Vec<Node>,
    },
    Not(Box<Node>),
    Sign {
        negative: bool,
        operand: Box<Node>,
    },
    Arithmetic {
        operator: Operator,
        left: Box<Node>,
        right: Box<Node>,
    },
    /// `first < second <= third …`
    Comparison {
        first: Box<Node>,
        rest: Vec<(Relation, Node)>,
    },
    /// The operands of one chain of `and`.
    And(Vec<Node>),
    /// The operands of one chain of `or`.
    Or(Vec<Node>),
    Call {
        function: Function,
        arguments: Vec<Node>,
    },
    Method {
        object: Box<Node>,
        method: Method,
        argument: Box<Node>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
}

impl Operator {
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("+", Self::Add),
        ("-", Self::Subtract),
        ("*", Self::Multiply),
        ("/", Self::Divide),
        ("//", Self::FloorDivide),
        ("%", Self::Remainder),
    ];

    pub(super) fn symbol(self) -> &'static str {
        Self::ALL.iter().find(|(_, operator)| *operator == self).map_or("", |(symbol, _)| symbol)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
}

impl Relation {
    pub(super) const SYMBOLS: [(&'static str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        ("<=", Self::LessEqual),
        (">", Self::Greater),
        (">=", Self::GreaterEqual),
    ];

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::NotIn => "not in",
            _ => {
                Self::SYMBOLS.iter().find(|(_, relation)| *relation == self).map_or("", |(symbol, _)| symbol)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Len,
    Max,
    Min,
}

impl Function {
    pub(super) const ALL: [(&'static str, Self); 4] =
        [("abs", Self::Abs), ("len", Self::Len), ("max", Self::Max), ("min", Self::Min)];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    StartsWith,
    EndsWith,
}

impl Method {
    pub(super) const ALL: [(&'static str, Self); 2] =
        [("startswith", Self::StartsWith), ("endswith", Self::EndsWith)];
}
