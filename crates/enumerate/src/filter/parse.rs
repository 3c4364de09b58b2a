//! Parses tokens into a tree: a Pratt parser with Python's precedences.
//!
//! ```text
//! weakest  or
//!          and
//!          not x
//!          < <= > >= == != in, not in      (chained: a < b < c)
//!          + -
//!          * / // %
//!          +x -x
//! closest  x.startswith(…)
//! ```

use std::ops::Range;

use ck_select_types::nearest::nearest;

use super::error::{FilterError, FilterFault};
use super::token::{Kind, Token, tokens};
use super::tree::{Expr, Function, Method, Node, Operator, Relation};
use super::value::Value;

/// The deepest nesting, of the text and of the tree.
pub(super) const MAX_DEPTH: usize = 150;

/// Python keywords, which cannot be names.
const KEYWORDS: &[&str] = &["and", "or", "not", "in", "is", "if", "else", "lambda", "for", "await", "yield"];

/// How tightly an operator binds; the operand to its right must bind tighter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Power {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Sign,
}

/// Reads an expression over fields with these names.
pub(super) fn parse(text: &str, fields: &[&str]) -> Result<Node, FilterError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, fields, tokens: &tokens, at: 0, nesting: 0 };
    let node = parser.expression(Power::Or)?;
    match parser.peek().kind {
        Kind::End => Ok(node),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    fields: &'a [&'a str],
    /// The last token is always the end.
    tokens: &'a [Token],
    at: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        &self.tokens[self.at]
    }

    fn next(&mut self) -> &'a Token {
        let token = self.peek();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    fn word(&self, token: &Token) -> &'a str {
        &self.text[token.span.clone()]
    }

    fn is_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Name && self.word(token) == word
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek().kind, Kind::Symbol(found) if found == symbol);
        if found {
            self.next();
        }
        found
    }

    fn fault(&self, fault: FilterFault, span: &Range<usize>, message: impl Into<String>) -> FilterError {
        FilterError::new(fault, self.text, span.clone(), message)
    }

    fn syntax(&self, span: &Range<usize>, message: impl Into<String>) -> FilterError {
        self.fault(FilterFault::Syntax, span, message)
    }

    /// The error for a token that is not `expected`, with advice if it has a meaning in Python.
    fn unexpected(&self, expected: &str) -> FilterError {
        let token = self.peek();
        let found = match &token.kind {
            Kind::End => "the end".to_owned(),
            _ => format!("'{}'", self.word(token)),
        };
        let hint = match (&token.kind, self.word(token)) {
            (Kind::Symbol("="), _) | (Kind::Name, "is") => "; '==' compares",
            (Kind::Symbol("&" | "|" | "^" | "~"), _) => "; 'and', 'or' and 'not' combine conditions",
            (Kind::Symbol("**"), _) => "; there are no powers",
            (Kind::Symbol("["), _) => "; there are no indices",
            (Kind::Name, "if" | "else") => "; there are no conditional expressions",
            _ => "",
        };
        self.syntax(&token.span, format!("found {found}, expected {expected}{hint}"))
    }

    /// A node with these parts, unless they are nested too deep.
    fn node(&self, expr: Expr, span: Range<usize>, parts: usize) -> Result<Node, FilterError> {
        let depth = parts + 1;
        if depth > MAX_DEPTH {
            return Err(self.syntax(&span, format!("nested more than {MAX_DEPTH} deep")));
        }
        Ok(Node { expr, span, depth })
    }

    fn expression(&mut self, least: Power) -> Result<Node, FilterError> {
        self.nesting += 1;
        if self.nesting > MAX_DEPTH {
            return Err(self.syntax(&self.peek().span, format!("nested more than {MAX_DEPTH} deep")));
        }
        let mut left = self.prefix(least)?;
        loop {
            if least <= Power::Or && self.is_word("or") {
                left = self.chain("or", Power::And, left, Expr::Or)?;
            } else if least <= Power::And && self.is_word("and") {
                left = self.chain("and", Power::Not, left, Expr::And)?;
            } else if least <= Power::Comparison && self.relation().is_some() {
                left = self.comparison(left)?;
            } else if let Some((operator, power)) = self.operator().filter(|(_, power)| least <= *power) {
                self.next();
                let right =
                    self.expression(if power == Power::Sum { Power::Product } else { Power::Sign })?;
                let (span, parts) = (left.span.start..right.span.end, left.depth.max(right.depth));
                let expr = Expr::Arithmetic { operator, left: Box::new(left), right: Box::new(right) };
                left = self.node(expr, span, parts)?;
            } else {
                self.nesting -= 1;
                return Ok(left);
            }
        }
    }

    /// All operands of a chain of `and` or `or` in one node, so that long chains are not deep.
    fn chain(
        &mut self,
        word: &str,
        operand: Power,
        first: Node,
        make: fn(Vec<Node>) -> Expr,
    ) -> Result<Node, FilterError> {
        let start = first.span.start;
        let (mut end, mut parts) = (first.span.end, first.depth);
        let mut operands = vec![first];
        while self.is_word(word) {
            self.next();
            let next = self.expression(operand)?;
            (end, parts) = (next.span.end, parts.max(next.depth));
            operands.push(next);
        }
        self.node(make(operands), start..end, parts)
    }

    fn comparison(&mut self, first: Node) -> Result<Node, FilterError> {
        let start = first.span.start;
        let (mut end, mut parts) = (first.span.end, first.depth);
        let mut rest = Vec::new();
        while let Some((relation, words)) = self.relation() {
            self.at += words;
            let next = self.expression(Power::Sum)?;
            (end, parts) = (next.span.end, parts.max(next.depth));
            rest.push((relation, next));
        }
        self.node(Expr::Comparison { first: Box::new(first), rest }, start..end, parts)
    }

    /// The comparison at this position, and how many words it has.
    fn relation(&self) -> Option<(Relation, usize)> {
        let token = self.peek();
        match token.kind {
            Kind::Symbol(found) => Relation::SYMBOLS
                .into_iter()
                .find(|(symbol, _)| *symbol == found)
                .map(|(_, relation)| (relation, 1)),
            Kind::Name if self.word(token) == "in" => Some((Relation::In, 1)),
            Kind::Name if self.word(token) == "not" => {
                let next = self.tokens.get(self.at + 1)?;
                (next.kind == Kind::Name && self.word(next) == "in").then_some((Relation::NotIn, 2))
            }
            _ => None,
        }
    }

    fn operator(&self) -> Option<(Operator, Power)> {
        let Kind::Symbol(found) = self.peek().kind else { return None };
        let (_, operator) = Operator::ALL.into_iter().find(|(symbol, _)| *symbol == found)?;
        let sum = matches!(operator, Operator::Add | Operator::Subtract);
        Some((operator, if sum { Power::Sum } else { Power::Product }))
    }

    fn prefix(&mut self, least: Power) -> Result<Node, FilterError> {
        let token = self.peek();
        let start = token.span.start;
        match token.kind {
            Kind::Symbol(symbol @ ("-" | "+")) => {
                self.next();
                // The smallest whole number cannot be written, since its digits are read first as a positive
                // number.
                let operand = self.expression(Power::Sign)?;
                let (span, parts) = (start..operand.span.end, operand.depth);
                let expr = Expr::Sign { negative: symbol == "-", operand: Box::new(operand) };
                self.node(expr, span, parts)
            }
            Kind::Name if self.word(token) == "not" => {
                if least > Power::Not {
                    return Err(self.unexpected("an operand; put 'not …' into parentheses"));
                }
                self.next();
                let operand = self.expression(Power::Not)?;
                let (span, parts) = (start..operand.span.end, operand.depth);
                self.node(Expr::Not(Box::new(operand)), span, parts)
            }
            _ => {
                let mut node = self.atom()?;
                while self.eat(".") {
                    node = self.method(node)?;
                }
                Ok(node)
            }
        }
    }

    fn atom(&mut self) -> Result<Node, FilterError> {
        let token = self.peek();
        let span = token.span.clone();
        let literal = |value| Node { expr: Expr::Literal(value), span: span.clone(), depth: 1 };
        match &token.kind {
            Kind::Int(value) => {
                self.next();
                Ok(literal(Value::Int(*value)))
            }
            Kind::Float(value) => {
                self.next();
                Ok(literal(Value::Float(*value)))
            }
            Kind::Str(text) => {
                self.next();
                Ok(literal(Value::text(text)))
            }
            Kind::Symbol("(") => self.parentheses(),
            Kind::Symbol("[") => {
                self.next();
                let (items, _) = self.items("]")?;
                self.sequence(false, items, span.start)
            }
            Kind::Name => match self.word(token) {
                "True" | "False" | "None" => {
                    self.next();
                    Ok(literal(match self.word(token) {
                        "True" => Value::Bool(true),
                        "False" => Value::Bool(false),
                        _ => Value::None,
                    }))
                }
                word if KEYWORDS.contains(&word) => Err(self.unexpected("an operand")),
                "c" => self.field(),
                word => self.call(word),
            },
            _ => Err(self.unexpected("an operand")),
        }
    }

    fn parentheses(&mut self) -> Result<Node, FilterError> {
        let start = self.next().span.start;
        let (mut items, comma) = self.items(")")?;
        if comma || items.len() != 1 {
            return self.sequence(true, items, start);
        }
        // Parentheses alone only group; errors show them with their contents.
        let mut node = items.swap_remove(0);
        node.span = start..self.tokens[self.at - 1].span.end;
        Ok(node)
    }

    fn sequence(&self, tuple: bool, items: Vec<Node>, start: usize) -> Result<Node, FilterError> {
        let end = self.tokens[self.at - 1].span.end;
        let parts = items.iter().map(|item| item.depth).max().unwrap_or(0);
        self.node(Expr::Sequence { tuple, items }, start..end, parts)
    }

    /// Expressions up to the closing bracket, and whether they had a comma.
    fn items(&mut self, close: &str) -> Result<(Vec<Node>, bool), FilterError> {
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            if self.eat(close) {
                return Ok((items, comma));
            }
            items.push(self.expression(Power::Or)?);
            if self.eat(",") {
                comma = true;
            } else if self.eat(close) {
                return Ok((items, comma));
            } else {
                return Err(self.unexpected(&format!("an operator, ',' or '{close}'")));
            }
        }
    }

    fn field(&mut self) -> Result<Node, FilterError> {
        let start = self.next().span.start;
        if !self.eat(".") {
            return Err(self.unexpected("'.' and a field, as in c.tile_m"));
        }
        let token = self.peek();
        if token.kind != Kind::Name {
            return Err(self.unexpected("the name of a field"));
        }
        let word = self.word(token);
        let Some(index) = self.fields.iter().position(|field| *field == word) else {
            let meant = nearest(word, self.fields.iter().copied())
                .map(|field| format!(", did you mean '{field}'?"))
                .unwrap_or_default();
            let message =
                format!("kernels have no field '{word}'{meant} The fields are: {}", self.fields.join(", "));
            return Err(self.fault(FilterFault::Name, &token.span, separate(message)));
        };
        self.next();
        if matches!(self.peek().kind, Kind::Symbol("(")) {
            return Err(self.unexpected(&format!("an operator, because '{word}' is a value and no function")));
        }
        Ok(Node { expr: Expr::Field(index), span: start..token.span.end, depth: 1 })
    }

    fn call(&mut self, word: &str) -> Result<Node, FilterError> {
        let token = self.peek();
        let Some((_, function)) = Function::ALL.into_iter().find(|(name, _)| *name == word) else {
            return Err(self.unknown_name(word, &token.span));
        };
        self.next();
        if !self.eat("(") {
            return Err(self.unexpected(&format!("'(' after the function '{word}'")));
        }
        let (arguments, _) = self.items(")")?;
        let one = matches!(function, Function::Abs | Function::Len);
        let span = token.span.start..self.tokens[self.at - 1].span.end;
        if arguments.is_empty() || (one && arguments.len() > 1) {
            let expected = if one { "one argument" } else { "at least one argument" };
            let message = format!("{word}() with {} arguments, expected {expected}", arguments.len());
            return Err(self.fault(FilterFault::Type, &span, message));
        }
        let parts = arguments.iter().map(|argument| argument.depth).max().unwrap_or(0);
        self.node(Expr::Call { function, arguments }, span, parts)
    }

    fn method(&mut self, object: Node) -> Result<Node, FilterError> {
        let token = self.peek();
        if token.kind != Kind::Name {
            return Err(self.unexpected("a method: startswith, endswith"));
        }
        let word = self.word(token);
        let Some((_, method)) = Method::ALL.into_iter().find(|(name, _)| *name == word) else {
            let message = format!("no method '{word}', expected startswith or endswith");
            return Err(self.fault(FilterFault::Name, &token.span, message));
        };
        self.next();
        if !self.eat("(") {
            return Err(self.unexpected(&format!("'(' after the method '{word}'")));
        }
        let (mut arguments, _) = self.items(")")?;
        let span = object.span.start..self.tokens[self.at - 1].span.end;
        let (Some(argument), true) = (arguments.pop(), arguments.is_empty()) else {
            return Err(self.fault(FilterFault::Type, &span, format!("{word}() takes one argument")));
        };
        let parts = object.depth.max(argument.depth);
        let expr = Expr::Method { object: Box::new(object), method, argument: Box::new(argument) };
        self.node(expr, span, parts)
    }

    fn unknown_name(&self, word: &str, span: &Range<usize>) -> FilterError {
        let functions = Function::ALL.map(|(name, _)| name);
        let message = if self.fields.contains(&word) {
            format!("unknown name '{word}', did you mean 'c.{word}'?")
        } else if let Some(meant) = nearest(word, functions.into_iter().chain(["True", "False", "None"])) {
            format!("unknown name '{word}', did you mean '{meant}'?")
        } else {
            let known = functions.join(", ");
            format!("unknown name '{word}', expected c.<field>, a number, a text or one of: {known}")
        };
        self.fault(FilterFault::Name, span, message)
    }
}

/// Ends the first sentence with a full stop, unless it has a question mark.
fn separate(message: String) -> String {
    if message.contains("? The") { message } else { message.replacen(" The fields", ". The fields", 1) }
}
