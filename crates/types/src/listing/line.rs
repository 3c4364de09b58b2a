//! A line of a list of problems: what it says, and whether it was truncated.

use super::ProblemLineFault;
use crate::operation::Operation;
use crate::problem::{Problem, ProblemDefaults, ProblemError, separates};
use crate::vocab::Op;

/// The contents of a line of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // lives only while a line is read
pub enum ProblemLine {
    /// A blank line or a comment.
    Nothing,
    /// No operation, or the beginning of one: most likely the line was truncated.
    Incomplete,
    /// A problem.
    Problem(Problem),
    /// A problem behind the beginning of another line, whose writer was stopped while this one's wrote.
    Behind(Problem),
}

/// The line of a problem, without its end.
pub fn problem_line(problem: &Problem) -> String {
    format!("{problem},op={}", problem.op())
}

impl ProblemLine {
    /// Reads a line that names its operation. A problem without types has upstream's defaults.
    pub fn parse(line: &str) -> Result<Self, ProblemLineFault> {
        parse_line(line, Operation::UNSTATED, &ProblemDefaults::new(Operation::UNSTATED))
    }
}

pub(super) fn op_of(line: &str) -> Option<&str> {
    line.split(separates).find_map(|part| part.strip_prefix("op="))
}

/// Reads a line; `defaults` are for problems of the operation `mine`.
pub(super) fn parse_line(
    line: &str,
    mine: Op,
    defaults: &ProblemDefaults,
) -> Result<ProblemLine, ProblemLineFault> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(ProblemLine::Nothing);
    }
    let read = parse_pairs(line, mine, defaults);
    match read {
        Err(_) => behind(line).map_or(read, |problem| Ok(ProblemLine::Behind(problem))),
        read => read,
    }
}

/// The problem at the end of a line if it stands there exactly as [`problem_line`] writes it, behind the
/// beginning of another such line.
fn behind(text: &str) -> Option<Problem> {
    const BEGINNINGS: [&str; 3] = ["direction=", "M=", "api_family="];
    let places = BEGINNINGS.iter().flat_map(|beginning| text.match_indices(beginning));
    places.filter(|(index, _)| *index > 0).find_map(|(index, _)| {
        let (start, end) = text.split_at(index);
        if !BEGINNINGS.iter().any(|begins| begins.starts_with(start) || start.starts_with(begins)) {
            return None;
        }
        match parse_pairs(end, Operation::UNSTATED, &ProblemDefaults::new(Operation::UNSTATED)) {
            Ok(ProblemLine::Problem(problem)) if problem_line(&problem) == end => Some(problem),
            _ => None,
        }
    })
}

fn parse_pairs(line: &str, mine: Op, defaults: &ProblemDefaults) -> Result<ProblemLine, ProblemLineFault> {
    let Some(word) = op_of(line) else { return Ok(ProblemLine::Incomplete) };
    let op: Op = match word.parse() {
        Ok(op) => op,
        Err(_) if Op::WORDS.iter().any(|op| op.starts_with(word)) => return Ok(ProblemLine::Incomplete),
        Err(unknown) => return Err(ProblemLineFault::Op(unknown)),
    };
    let defaults = if op == mine { *defaults } else { ProblemDefaults::new(op) };
    Problem::parse(op, line, &defaults).map(ProblemLine::Problem).map_err(ProblemLineFault::Problem)
}

/// Reads a line of a list that never names an operation.
pub(super) fn parse_silent(
    line: &str,
    mine: Op,
    defaults: &ProblemDefaults,
) -> Result<Problem, ProblemLineFault> {
    let by_another = || {
        let mut others = Op::ALL.iter().filter(|op| **op != mine);
        others.find_map(|&op| Problem::parse(op, line, &ProblemDefaults::new(op)).ok())
    };
    let read = match Problem::parse(mine, line, defaults) {
        Err(error @ ProblemError::UnknownKey { .. }) => by_another().ok_or(error),
        read => read,
    };
    read.map_err(ProblemLineFault::Problem)
}
