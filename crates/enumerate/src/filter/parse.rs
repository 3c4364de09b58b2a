//! Parses tokens into a tree, with Python's precedences: a function for each, weakest first.

use std::ops::Range;

use ck_select_types::nearest::Hint;

use super::error::FilterError;
use super::expression::{Expr, Node, Value};
use super::token::{Kind, Token, tokens};

/// The deepest nesting.
const MAX_DEPTH: usize = 150;

const RELATIONS: [&str; 7] = ["==", "!=", "<=", ">=", "<", ">", "in"];
/// What cannot begin an operand.
const KEYWORDS: [&str; 9] = ["and", "or", "not", "in", "is", "if", "else", "lambda", "for"];

/// Reads an expression over fields with these names.
pub(super) fn parse(text: &str, fields: &[&str]) -> Result<Node, FilterError> {
    let mut parser = Parser { text, fields, tokens: &tokens(text)?, at: 0, depth: 0 };
    let node = parser.any()?;
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
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// The next token's text, if it is a word or a symbol.
    fn word(&self) -> &'a str {
        let token = self.peek();
        if token.kind == Kind::Word { &self.text[token.span.clone()] } else { "" }
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += usize::from(found);
        found
    }

    fn eat_one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().copied().find(|word| self.eat(word))
    }

    fn fail<T>(&self, span: Range<usize>, message: impl Into<String>) -> Result<T, FilterError> {
        Err(FilterError::new(self.text, span, message))
    }

    /// The error for a token that is not `expected`, with advice if it has a meaning in Python.
    fn unexpected(&self, expected: &str) -> FilterError {
        let span = self.peek().span.clone();
        let found = match &self.text[span.clone()] {
            "" => "the end".to_owned(),
            text => format!("'{text}'"),
        };
        let hint = match self.word() {
            "=" | "is" => "; '==' compares",
            "&" | "|" | "^" | "~" => "; 'and', 'or' and 'not' combine conditions",
            "**" => "; there are no powers",
            "[" => "; there are no indices",
            "if" | "else" => "; there are no conditional expressions",
            _ => "",
        };
        FilterError::new(self.text, span, format!("found {found}, expected {expected}{hint}"))
    }

    /// From the start of a node to the last token that was read.
    fn node(&self, start: usize, expr: Expr) -> Node {
        Node { expr, span: start..self.tokens[self.at - 1].span.end }
    }

    fn start(&self) -> usize {
        self.peek().span.start
    }

    fn any(&mut self) -> Result<Node, FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(self.peek().span.clone(), format!("nested more than {MAX_DEPTH} deep"));
        }
        let node = self.chain(false, |parser| parser.chain(true, Self::negation));
        self.depth -= 1;
        node
    }

    /// Operands of one chain of `and` or `or` in one node, so that long chains are not deep.
    fn chain(
        &mut self,
        all: bool,
        operand: fn(&mut Self) -> Result<Node, FilterError>,
    ) -> Result<Node, FilterError> {
        let start = self.start();
        let mut operands = vec![operand(self)?];
        while self.eat(if all { "and" } else { "or" }) {
            operands.push(operand(self)?);
        }
        Ok(if operands.len() > 1 { self.node(start, Expr::Chain(all, operands)) } else { operands.remove(0) })
    }

    fn negation(&mut self) -> Result<Node, FilterError> {
        let start = self.start();
        let mut negations = 0;
        while self.eat("not") {
            negations += 1;
        }
        let node = self.comparison()?;
        // Two of them make a truth value of anything.
        let negated = |node, _| self.node(start, Expr::Not(Box::new(node)));
        Ok((0..if negations > 0 { 2 - negations % 2 } else { 0 }).fold(node, negated))
    }

    fn comparison(&mut self) -> Result<Node, FilterError> {
        let start = self.start();
        let first = self.sum()?;
        let mut others = Vec::new();
        while let Some(relation) = self.relation() {
            others.push((relation, self.sum()?));
        }
        Ok(if others.is_empty() { first } else { self.node(start, Expr::Compare(Box::new(first), others)) })
    }

    fn relation(&mut self) -> Option<&'static str> {
        if self.word() == "not" {
            self.at += 1;
            if self.eat("in") {
                return Some("not in");
            }
            self.at -= 1;
        }
        self.eat_one_of(&RELATIONS)
    }

    fn sum(&mut self) -> Result<Node, FilterError> {
        self.calculation(&["+", "-"], |parser| parser.calculation(&["*", "//", "/", "%"], Self::signed))
    }

    fn calculation(
        &mut self,
        operators: &[&'static str],
        operand: fn(&mut Self) -> Result<Node, FilterError>,
    ) -> Result<Node, FilterError> {
        let start = self.start();
        let mut left = operand(self)?;
        let mut operands = 1;
        while let Some(operator) = self.eat_one_of(operators) {
            operands += 1;
            if operands > MAX_DEPTH {
                return self.fail(start..self.start(), format!("nested more than {MAX_DEPTH} deep"));
            }
            let right = operand(self)?;
            left = self.node(start, Expr::Calculate(operator, Box::new([left, right])));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Node, FilterError> {
        let start = self.start();
        let minus = self.eat("-");
        let mut node = self.operand()?;
        while self.eat(".") {
            let starts = match self.word() {
                "startswith" => true,
                "endswith" => false,
                _ => return Err(self.unexpected("startswith or endswith")),
            };
            self.at += 1;
            if !self.eat("(") {
                return Err(self.unexpected("'('"));
            }
            let argument = self.any()?;
            if !self.eat(")") {
                return Err(self.unexpected("an operator or ')'"));
            }
            node = self.node(start, Expr::Affix(starts, Box::new([node, argument])));
        }
        Ok(if minus { self.node(start, Expr::Minus(Box::new(node))) } else { node })
    }

    fn operand(&mut self) -> Result<Node, FilterError> {
        let start = self.start();
        let literal = match (&self.peek().kind, self.word()) {
            (Kind::Number(number), _) => Value::Number(*number),
            (Kind::Text(text), _) => Value::text(text),
            (_, "True") => Value::flag(true),
            (_, "False") => Value::flag(false),
            (_, "None") => Value::None,
            (_, "(") => return self.list(")"),
            (_, "[") => return self.list("]"),
            (_, "c") => return self.field(),
            (_, word)
                if word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !KEYWORDS.contains(&word) =>
            {
                let known = self.fields.contains(&word).then(|| format!(", did you mean 'c.{word}'?"));
                let expected = known.unwrap_or_else(|| ", expected c.<field>, a number or a text".to_owned());
                return self.fail(self.peek().span.clone(), format!("unknown name '{word}'{expected}"));
            }
            _ => return Err(self.unexpected("an operand")),
        };
        self.at += 1;
        Ok(self.node(start, Expr::Literal(literal)))
    }

    /// One expression in parentheses is itself; anything else in brackets is a list.
    fn list(&mut self, close: &str) -> Result<Node, FilterError> {
        let start = self.start();
        self.at += 1;
        let (mut items, mut comma) = (Vec::new(), close == "]");
        while !self.eat(close) {
            items.push(self.any()?);
            if self.eat(",") {
                comma = true;
            } else if self.word() != close {
                return Err(self.unexpected(&format!("an operator, ',' or '{close}'")));
            }
        }
        Ok(match items.pop() {
            Some(node) if !comma => Node { span: start..self.tokens[self.at - 1].span.end, ..node },
            last => {
                items.extend(last);
                self.node(start, Expr::List(items))
            }
        })
    }

    fn field(&mut self) -> Result<Node, FilterError> {
        let start = self.start();
        self.at += 1;
        if !self.eat(".") {
            return Err(self.unexpected("'.' and a field, as in c.tile_m"));
        }
        let word = self.word();
        if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Err(self.unexpected("the name of a field"));
        }
        let Some(index) = self.fields.iter().position(|field| *field == word) else {
            let hint = Hint::new(word, self.fields.iter().copied());
            let fields = self.fields.join(", ");
            let message = format!("kernels have no field '{word}'{hint} (the fields are: {fields})");
            return self.fail(self.peek().span.clone(), message);
        };
        self.at += 1;
        Ok(self.node(start, Expr::Field(index)))
    }
}
