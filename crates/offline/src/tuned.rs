//! Tuning tables of other projects: their problems, and the time of the best kernel that they found.
//!
//! Most of their kernels are not ours, but their times are an upper bound to compare with. What a table omits
//! about its problems comes from the caller, as fields of a problem:
//! `dtype=fp8,quant=rowcolquant,arch=gfx942`.

mod aiter;
mod aiter_names;
mod hipblaslt;
mod miopen;
mod roof;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use ck_select_types::listing::problem_line;
use ck_select_types::problem::{Problem, ProblemDefaults};
use ck_select_types::vocab::Op;

use crate::measurements::DataError;

pub use roof::{Best, Roof, RoofFigures};

/// A problem with the best time in a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The problem.
    pub problem: Problem,
    /// The time in milliseconds.
    pub milliseconds: f64,
    /// Compute units of the device, where the table says them: devices of one architecture differ.
    pub num_cus: Option<u32>,
    /// The kernel's name in the table.
    pub by: String,
}

/// A parsed table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The project that it comes from.
    pub kind: &'static str,
    /// Its problems in its order, each once.
    pub tuned: Vec<Tuned>,
    /// Lines, counted from 1, that are not supported problems, and why.
    pub left_out: Vec<(usize, String)>,
    /// Its columns that are not known and do not resemble a known one.
    pub unknown: Vec<String>,
}

/// An entry of a table: a problem as text, and the time and the kernel.
struct Said {
    op: Op,
    problem: String,
    milliseconds: f64,
    num_cus: Option<u32>,
    by: String,
}

/// The entries of a table with their lines.
type Places = Vec<(usize, Result<Said, String>)>;

/// Reads a table: AITER's tuned CSV of GEMMs, hipBLASLt's logic of exact solutions (YAML) or `MIOpen`'s
/// find-db as text, distinguished by its beginning. `fields` are added to every problem.
pub fn read(file: &str, text: &str, fields: &str) -> Result<Table, DataError> {
    let wrong = |line: usize, reason: String| DataError::format(file, format_args!("line {line}: {reason}"));
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    let file_name = Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut unknown = Vec::new();
    let (kind, places) = if hipblaslt::begins(text) {
        ("hipBLASLt", hipblaslt::places(text).map_err(|(line, reason)| wrong(line, reason))?)
    } else if aiter::is_header(first) {
        let (places, others) = aiter::places(text, fields, file_name).map_err(|reason| wrong(1, reason))?;
        unknown = others;
        ("AITER", places)
    } else if miopen::is_record(first) {
        ("MIOpen", miopen::places(text))
    } else {
        let expected = "a header with M,N,K,us (AITER), '- {MinimumRequiredVersion: …}' or \
                        'MinimumRequiredVersion: …' (hipBLASLt), or \
                        '576-4-4-1x1-192-4-4-8-1x1-2x2-3x3-0-NCHW-FP32-F=…' (MIOpen)";
        let found: String = first.chars().take(60).collect();
        return Err(wrong(1, format!("found '{found}', expected {expected}")));
    };
    let mut table = Table { kind, tuned: Vec::new(), left_out: Vec::new(), unknown };
    let mut known: HashMap<(Problem, Option<u32>), usize> = HashMap::new();
    for (line, said) in places {
        match said.and_then(|said| tuned(said, fields)) {
            Err(reason) => table.left_out.push((line, reason)),
            Ok(new) => match known.get(&(new.problem, new.num_cus)) {
                Some(&place) if table.tuned[place].milliseconds <= new.milliseconds => {}
                Some(&place) => table.tuned[place] = new,
                None => {
                    known.insert((new.problem, new.num_cus), table.tuned.len());
                    table.tuned.push(new);
                }
            },
        }
    }
    Ok(table)
}

fn tuned(said: Said, fields: &str) -> Result<Tuned, String> {
    let Said { op, problem, milliseconds, num_cus, by } = said;
    let text = if fields.is_empty() { problem } else { format!("{problem},{fields}") };
    let problem = Problem::parse(op, &text, &ProblemDefaults::of(op)).map_err(|error| error.to_string())?;
    if !(milliseconds > 0.0 && milliseconds.is_finite()) {
        return Err(format!("time: found {milliseconds} ms, expected more than 0"));
    }
    problem
        .check_figures(problem.flops() / milliseconds / 1e9, milliseconds)
        .map_err(|error| error.to_string())?;
    Ok(Tuned { problem, milliseconds, num_cus, by })
}

/// What stands around the number of compute units in a comment.
const ON: &str = " on ";
const UNITS: &str = " compute units";

/// The time in milliseconds and the compute units of a comment of [`write`].
fn of_comment(comment: &str) -> Option<(f64, Option<u32>)> {
    let (time, rest) = comment.split_once(" ms")?;
    let num_cus = match rest.strip_prefix(ON) {
        Some(rest) => Some(rest.split_once(UNITS)?.0.parse().ok()?),
        None => rest.starts_with(": ").then_some(None)?,
    };
    Some((time.parse().ok()?, num_cus))
}

/// Writes the problems as a list that every command can read, each after a comment with its time.
pub fn write(tuned: &[Tuned], out: &mut dyn Write) -> io::Result<()> {
    for Tuned { problem, milliseconds, num_cus, by } in tuned {
        let on = num_cus.map_or_else(String::new, |count| format!("{ON}{count}{UNITS}"));
        writeln!(out, "# {milliseconds} ms{on}: {by}\n{}", problem_line(problem))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
