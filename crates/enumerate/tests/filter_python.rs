//! Filters mean what Python means: a table of expressions with outcomes that Python wrote, and, where there
//! is a Python, the same table and random expressions through it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use ck_select_enumerate::filter::{Expression, FilterFault, Value};

const EXPRESSIONS: &str = include_str!("filter/expressions.txt");
const OUTCOMES: &str = include_str!("filter/outcomes.txt");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filter/outcomes.py");

/// The kernel of `filter/outcomes.py`.
fn fields() -> Vec<(&'static str, Value)> {
    vec![
        ("tile_m", Value::Int(64)),
        ("tile_n", Value::Int(128)),
        ("tile_k", Value::Int(32)),
        ("pipeline", Value::text("compv3")),
        ("name", Value::text("grouped_conv_forward_bf16_2d_64x128x32_compv3_intrawave_gm2_dsb")),
        ("double_smem_buffer", Value::Bool(true)),
        ("split_image", Value::Bool(false)),
        ("arch", Value::None),
    ]
}

fn shown(value: &Value) -> String {
    let all = |items: &[Value]| items.iter().map(shown).collect::<Vec<_>>().join(";");
    match value {
        Value::None => "n".to_owned(),
        Value::Bool(value) => format!("b:{}", u8::from(*value)),
        Value::Int(value) => format!("i:{value}"),
        Value::Float(value) if value.is_nan() => "f:nan".to_owned(),
        Value::Float(value) => format!("f:{:016x}", value.to_bits()),
        Value::Str(text) => format!("s:{}", text.replace('\n', "\\n")),
        Value::List(items) => format!("[{}]", all(items)),
        Value::Tuple(items) => format!("({})", all(items)),
    }
}

/// Our outcome in Python's words; `None` where our whole numbers end and Python's do not.
fn ours(text: &str) -> Option<String> {
    let fields = fields();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let value = Expression::parse(text, &names)
        .and_then(|expression| expression.value(&|index| fields[index].1.clone()));
    Some(match value {
        Ok(value) => shown(&value),
        Err(error) => match error.fault {
            FilterFault::Syntax => "SyntaxError".to_owned(),
            FilterFault::Name => "NameError".to_owned(),
            FilterFault::Type => "TypeError".to_owned(),
            FilterFault::Value => "ValueError".to_owned(),
            FilterFault::ZeroDivision => "ZeroDivisionError".to_owned(),
            FilterFault::Overflow => return None,
        },
    })
}

/// Python's word for an outcome, as ours: one kind of ours may be several of Python's.
fn theirs(outcome: &str) -> &str {
    match outcome {
        "IndentationError" => "SyntaxError",
        "AttributeError" => "TypeError",
        other => other,
    }
}

#[test]
fn the_table_has_pythons_outcomes() {
    assert_eq!(EXPRESSIONS.lines().count(), OUTCOMES.lines().count());
    assert!(EXPRESSIONS.lines().count() > 240);
    for (text, outcome) in EXPRESSIONS.lines().zip(OUTCOMES.lines()) {
        // Conditional expressions are the one thing in the table that Python has and filters do not.
        if text.contains(" if ") {
            assert_eq!(ours(text).as_deref(), Some("SyntaxError"));
            continue;
        }
        assert_eq!(ours(text).as_deref(), Some(theirs(outcome)), "{text}");
    }
}

/// What Python makes of the lines; `None` without a Python.
fn python(lines: &str) -> Option<Vec<String>> {
    let mut child = Command::new("python3")
        .arg(SCRIPT)
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn the_table_is_what_this_python_says() {
    let Some(outcomes) = python(EXPRESSIONS) else { return };
    assert!(outcomes.iter().map(String::as_str).eq(OUTCOMES.lines()));
}

/// A small generator: expressions of all kinds, with and without parentheses.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }

    fn one_of(&mut self, words: &[&str]) -> String {
        words[self.below(words.len())].to_owned()
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        match self.below(12) {
            0 => self.leaf(),
            1 => format!("not {}", self.expression(depth - 1)),
            2 => format!("-{}", self.expression(depth - 1)),
            3 => format!("({})", self.expression(depth - 1)),
            4 | 5 => {
                let operator = self.one_of(&[" + ", " - ", " * ", " / ", " // ", " % "]);
                self.joined(depth, &operator, 2)
            }
            6 | 7 => {
                let count = 2 + self.below(2);
                let mut text = self.expression(depth - 1);
                for _ in 1..count {
                    let relation = self.one_of(&["==", "!=", "<", "<=", ">", ">=", "in", "not in"]);
                    write!(text, " {relation} {}", self.expression(depth - 1)).unwrap();
                }
                text
            }
            8 => self.joined(depth, " and ", 3),
            9 => self.joined(depth, " or ", 2),
            10 => {
                let (open, close) = if self.below(2) == 0 { ("(", ",)") } else { ("[", "]") };
                let items = self.joined(depth, ", ", 2);
                format!("{open}{items}{close}")
            }
            _ => {
                let function = self.one_of(&["max", "min"]);
                let items = self.joined(depth, ", ", 2);
                format!("{function}({items})")
            }
        }
    }

    fn joined(&mut self, depth: usize, separator: &str, count: usize) -> String {
        (0..count).map(|_| self.expression(depth - 1)).collect::<Vec<_>>().join(separator)
    }

    fn leaf(&mut self) -> String {
        self.one_of(&[
            "0",
            "1",
            "2",
            "3",
            "7",
            "64",
            "1009",
            "0.0",
            "0.5",
            "2.5",
            "-3",
            "-0.75",
            "1e300",
            "True",
            "False",
            "None",
            "''",
            "'a'",
            "'compv3'",
            "c.tile_m",
            "c.tile_n",
            "c.tile_k",
            "c.pipeline",
            "c.split_image",
            "c.double_smem_buffer",
            "c.arch",
            "(1, 2)",
            "['a', 'compv3']",
            "()",
            "len(c.name)",
            "abs(-2.5)",
        ])
    }
}

#[test]
fn random_expressions_mean_the_same_in_python() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let texts: Vec<String> = (0..6000).map(|at| random.expression(1 + at % 4)).collect();
    let Some(outcomes) = python(&(texts.join("\n") + "\n")) else { return };
    assert_eq!(outcomes.len(), texts.len());
    let mut errors = 0;
    for (text, outcome) in texts.iter().zip(&outcomes) {
        if let Some(found) = ours(text) {
            // In Python '%' also formats texts, and '+' and '*' join and repeat them.
            if found == "TypeError" && text.contains(['%', '+', '*']) {
                continue;
            }
            errors += usize::from(found.ends_with("Error"));
            assert_eq!(found, theirs(outcome), "{text}");
        }
    }
    assert!(errors < texts.len() * 4 / 5, "most fail: {errors}");
}
