//! Problems as CSV or JSON, in the formats of `ckselect rank --problems` and the benchmarks.

use std::io::{self, Write};

use ck_select_types::problem::{CONV_COLUMNS, FMHA_COLUMNS, Problem};
use serde_json::{Map, Value};

/// Writes a CSV with a row per problem, numbered in `problem_idx`.
pub fn write_csv(problems: &[Problem], out: &mut dyn Write) -> io::Result<()> {
    let mut header = None;
    for (index, problem) in problems.iter().enumerate() {
        let cells = cells(problem);
        if header.is_none() {
            let names: Vec<&str> = cells.iter().map(|(name, _)| *name).collect();
            writeln!(out, "problem_idx,{}", names.join(","))?;
            header = Some(());
        }
        write!(out, "{index}")?;
        for (_, value) in cells {
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
    match problem {
        Problem::Gemm(p) => vec![
            ("m", p.m.into()),
            ("n", p.n.into()),
            ("k", p.k.into()),
            ("dtype", p.dtype_a.as_str().into()),
            ("layout", p.layout.to_string().into()),
        ],
        Problem::Conv(p) => {
            let mut cells: Vec<(&'static str, Value)> =
                CONV_COLUMNS.into_iter().zip(p.columns().map(Value::from)).collect();
            cells.push(("ndim", p.ndim.into()));
            cells.push(("direction", p.direction.as_str().into()));
            cells.push(("dtype", p.dtype_in.as_str().into()));
            cells
        }
        Problem::Fmha(p) => {
            let mut cells: Vec<(&'static str, Value)> =
                FMHA_COLUMNS.into_iter().zip(p.columns().map(Value::from)).collect();
            cells.extend(
                [
                    ("family", p.family.as_str()),
                    ("dtype", p.dtype.as_str()),
                    ("mode", p.mode.as_str()),
                    ("mask", p.mask.as_str()),
                    ("bias", p.bias.as_str()),
                ]
                .map(|(name, word)| (name, word.into())),
            );
            cells.extend(
                [
                    ("lse", p.lse),
                    ("dropout", p.dropout),
                    ("dbias", p.dbias),
                    ("deterministic", p.deterministic),
                ]
                .map(|(name, flag)| (name, i64::from(flag).into())),
            );
            cells
        }
    }
}
