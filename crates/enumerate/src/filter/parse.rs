//! Parses tokens into a tree, with Python's precedences.

use ck_select_types::nearest::OneOf;

use super::FilterError;
use super::expression::{Expr, Level, Value};
use super::token::{Token, tokens};

/// The deepest nesting.
const MAX_DEPTH: usize = 150;

/// Operators of equal precedence, weakest first. `not` is as strong as a comparison.
const PRECEDENCES: [(Level, &[&str]); 5] = [
    (Level::Or, &["or"]),
    (Level::And, &["and"]),
    (Level::Compare, &["==", "!=", "<=", ">=", "<", ">", "in", "not in"]),
    (Level::Calculate, &["+", "-"]),
    (Level::Calculate, &["*", "//", "/", "%"]),
];
/// Words of Python that cannot begin an operand.
const KEYWORDS: [&str; 9] = ["and", "or", "not", "in", "is", "if", "else", "lambda", "for"];

/// Reads an expression over fields with these names.
pub(super) fn parse(text: &str, fields: &[&str]) -> Result<Expr, FilterError> {
    let mut parser = Parser { text, fields, tokens: &tokens(text)?, depth: 0 };
    let expression = parser.expression(&PRECEDENCES)?;
    parser.expect("", "an operator or the end").map(|()| expression)
}

struct Parser<'a> {
    text: &'a str,
    fields: &'a [&'a str],
    /// The tokens that are not yet read; the last one is always the end.
    tokens: &'a [Token<'a>],
    depth: usize,
}

impl<'a> Parser<'a> {
    fn next(&self) -> Token<'a> {
        self.tokens[0]
    }

    fn skip(&mut self) {
        self.tokens = if self.tokens.len() > 1 { &self.tokens[1..] } else { self.tokens };
    }

    fn eat(&mut self, text: &str) -> bool {
        let matches = self.next().text == text;
        if matches {
            self.skip();
        }
        matches
    }

    fn expect(&mut self, text: &str, expected: &str) -> Result<(), FilterError> {
        if self.eat(text) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn fail<T>(&self, message: String) -> Result<T, FilterError> {
        Err(FilterError::new(self.text, self.next().at, message))
    }

    /// The error for a token that is not `expected`, with advice if it has a meaning in Python.
    fn unexpected(&self, expected: &str) -> FilterError {
        let token = self.next();
        let shown = if token.text.is_empty() { "the end" } else { &format!("'{}'", token.text) };
        let hint = match token.text {
            "=" | "is" => "; '==' compares",
            "&" | "|" | "^" | "~" => "; 'and', 'or' and 'not' combine conditions",
            _ => "",
        };
        FilterError::new(self.text, token.at, format!("found {shown}, expected {expected}{hint}"))
    }

    /// Operands with operators of these precedences.
    fn expression(&mut self, precedences: &[(Level, &[&'static str])]) -> Result<Expr, FilterError> {
        let [(level, operators), stronger @ ..] = precedences else { return self.signed() };
        if *level == Level::Compare && self.eat("not") {
            let operand = self.nested(precedences)?;
            return Ok(Expr::Not(Box::new(operand)));
        }
        let (first, mut others) = (self.expression(stronger)?, Vec::new());
        while let Some(operator) = self.operator(operators) {
            others.push((operator, self.expression(stronger)?));
        }
        Ok(Expr::series(*level, first, others))
    }

    fn nested(&mut self, precedences: &[(Level, &[&'static str])]) -> Result<Expr, FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(format!("nested more than {MAX_DEPTH} deep"));
        }
        let expression = self.expression(precedences)?;
        self.depth -= 1;
        Ok(expression)
    }

    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let is_next = |operator: &&str| {
            let words = operator.split(' ');
            words.zip(self.tokens).all(|(word, token)| word == token.text)
        };
        let operator = operators.iter().copied().find(is_next)?;
        operator.split(' ').for_each(|_| self.skip());
        Some(operator)
    }

    fn signed(&mut self) -> Result<Expr, FilterError> {
        let minus = self.eat("-");
        let mut operand = self.operand()?;
        while self.eat(".") {
            let Some(method) = self.operator(&["startswith", "endswith"]) else {
                return Err(self.unexpected("startswith or endswith"));
            };
            self.expect("(", "'('")?;
            let affix = self.nested(&PRECEDENCES)?;
            self.expect(")", "an operator or ')'")?;
            operand = Expr::series(Level::Calculate, operand, vec![(method, affix)]);
        }
        let zero = Expr::Literal(Value::Number(0.0));
        Ok(if minus { Expr::series(Level::Calculate, zero, vec![("-", operand)]) } else { operand })
    }

    fn operand(&mut self) -> Result<Expr, FilterError> {
        let token = self.next();
        let literal = match token.text {
            "True" => Value::flag(true),
            "False" => Value::flag(false),
            "None" => Value::None,
            "(" => return self.list(")"),
            "[" => return self.list("]"),
            "c" => return self.field(),
            text if text.starts_with(['\'', '"']) => Value::text(&text[1..text.len() - 1]),
            number if number.starts_with(|c: char| c.is_ascii_digit()) => match number.parse() {
                Ok(number) => Value::Number(number),
                Err(_) => return self.fail("not a decimal number".to_owned()),
            },
            word if token.is_word() && !KEYWORDS.contains(&word) => {
                let known = self.fields.contains(&word).then(|| format!("did you mean 'c.{word}'?"));
                let hint = known.unwrap_or_else(|| "expected c.<field>, a number or a text".to_owned());
                return self.fail(format!("unknown name '{word}', {hint}"));
            }
            _ => return Err(self.unexpected("an operand")),
        };
        self.skip();
        Ok(Expr::Literal(literal))
    }

    /// One expression in parentheses is itself; anything else in brackets is a list.
    fn list(&mut self, close: &str) -> Result<Expr, FilterError> {
        self.skip();
        let (mut items, mut comma) = (Vec::new(), close == "]");
        while !self.eat(close) {
            items.push(self.nested(&PRECEDENCES)?);
            if self.eat(",") {
                comma = true;
            } else if self.next().text != close {
                return Err(self.unexpected(&format!("an operator, ',' or '{close}'")));
            }
        }
        Ok(match items.pop() {
            Some(only) if !comma => only,
            last => Expr::List(items.into_iter().chain(last).collect()),
        })
    }

    fn field(&mut self) -> Result<Expr, FilterError> {
        self.skip();
        self.expect(".", "'.' and a field, as in c.tile_m")?;
        let token = self.next();
        if !token.is_word() {
            return Err(self.unexpected("the name of a field"));
        }
        let Some(index) = self.fields.iter().position(|field| *field == token.text) else {
            let known = OneOf::new(token.text, self.fields);
            return self.fail(format!("kernels have no field '{}'{known}", token.text));
        };
        self.skip();
        Ok(Expr::Field(index))
    }
}
