//! Problems as CSV or JSON, in the formats of `ckselect rank --problems` and the benchmarks.

use std::io::{self, Write};

use ck_select_types::operation::Operation;
use ck_select_types::problem::Problem;
use serde_json::{Map, Value};

/// Writes a CSV with a row per problem, numbered in `problem_idx`.
pub fn write_csv(problems: &[Problem], out: &mut dyn Write) -> io::Result<()> {
    if let Some(first) = problems.first() {
        let names: Vec<&str> = cells(first).into_iter().map(|(name, _)| name).collect();
        writeln!(out, "problem_idx,{}", names.join(","))?;
    }
    for (index, problem) in problems.iter().enumerate() {
        write!(out, "{index}")?;
        for (_, value) in cells(problem) {
            match value {
                Value::String(text) => write!(out, ",{text}")?,
                other => write!(out, ",{other}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes a JSON list of objects.
pub fn write_json(problems: &[Problem], out: &mut dyn Write) -> io::Result<()> {
    let object = |problem: &Problem| {
        let fields = cells(problem).into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    serde_json::to_writer_pretty(&mut *out, &problems.iter().map(object).collect::<Vec<_>>())?;
    writeln!(out)
}

fn cells(problem: &Problem) -> Vec<(&'static str, Value)> {
    let cell = |&name: &&'static str| {
        let (field, value) = problem.value(name)?;
        Some((name, if field.is_number() { value.into() } else { field.text(value).into() }))
    };
    Operation::get(problem.op()).list_columns.iter().copied().flatten().filter_map(cell).collect()
}
