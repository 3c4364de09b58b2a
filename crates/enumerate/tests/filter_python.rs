//! Filters keep what they would keep in Python: random expressions through both.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use ck_select_enumerate::filter::{Expression, Value};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

/// A kernel in both languages.
const KERNEL: &str = "
import sys
class c: tile_m = 64; tile_n = 128; pipeline = 'compv3'; split_image = False; arch = None
for line in sys.stdin:
    try: print(bool(eval(line)))
    except Exception: print('Error')
";

fn fields() -> [(&'static str, Value); 5] {
    [
        ("tile_m", Value::Number(64.0)),
        ("tile_n", Value::Number(128.0)),
        ("pipeline", Value::text("compv3")),
        ("split_image", Value::flag(false)),
        ("arch", Value::None),
    ]
}

fn kept(text: &str) -> &'static str {
    let fields = fields();
    let names = fields.each_ref().map(|(name, _)| *name);
    let value = Expression::parse(text, &names).and_then(|read| read.value(&|index| fields[index].1.clone()));
    value.map_or("Error", |value| if value.truthy() { "True" } else { "False" })
}

fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "0", "1", "3", "64", "2.5", "True", "None", "''", "'compv3'", "c.tile_m", "c.tile_n", "c.pipeline",
        "c.split_image", "c.arch", "(1, 64)", "('a', 'compv3')", "()", "c.pipeline.startswith('comp')",
        "'ab'.endswith(('b', 'c'))",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let infix = prop::sample::select(vec![
            " + ", " - ", " * ", " / ", " // ", " % ", " == ", " != ", " < ", " <= ", " > ", " >= ", " in ",
            " not in ", " and ", " or ",
        ]);
        let many = prop::collection::vec((infix, inner.clone()), 1..3);
        prop_oneof![
            inner.clone().prop_map(|text| format!("({text})")),
            inner.clone().prop_map(|text| format!("not {text}")),
            (inner, many).prop_map(|(first, others)| others.into_iter().fold(
                first,
                |mut text, (infix, next)| {
                    let _ = write!(text, "{infix}{next}");
                    text
                }
            )),
        ]
    })
}

#[test]
fn random_expressions_mean_the_same_in_python() {
    let mut runner = TestRunner::deterministic();
    let texts: Vec<String> =
        (0..4000).map(|_| expressions().new_tree(&mut runner).unwrap().current()).collect();
    let Ok(mut child) = Command::new("python3")
        .args(["-Wignore", "-c", KERNEL])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    else {
        return;
    };
    let mut stdin = child.stdin.take().unwrap();
    let lines = texts.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let outcomes = String::from_utf8(output.stdout).unwrap();
    assert_eq!(outcomes.lines().count(), texts.len());
    let mut compared = 0;
    for (text, python) in texts.iter().zip(outcomes.lines()) {
        let ours = kept(text);
        // Python also joins, repeats and formats texts and lists, and orders lists.
        if ours == "Error" && python != "Error" {
            continue;
        }
        compared += 1;
        assert_eq!(ours, python, "{text}");
    }
    assert!(compared > texts.len() / 2, "{compared}");
}
