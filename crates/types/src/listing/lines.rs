//! Lists: a problem a line, as pairs.

use super::line::{ProblemLine, op_of, parse_line, parse_silent};
use super::{Fault, ListedProblem, ProblemLineFault, ReadProblem, Request, Skipped, StatedFields, aiter_log};
use crate::problem::cells_of_line;
use crate::sheet::{Lines, Opened, Text};

/// The lines of a list.
pub(super) struct PairLines<'a> {
    lines: Lines<'a>,
    /// Whether lines have to name their operation.
    all_say_op: bool,
    /// Whether there was a problem.
    any: bool,
}

impl<'a> PairLines<'a> {
    pub(super) fn new(opened: Opened<'a>) -> Result<Self, Fault> {
        let says_op = op_of(&opened.beginning).is_some();
        let mut lines = Lines::new(opened.text());
        // Either no line names it, or the first one was truncated: the other lines tell.
        let names_op = |line: &str| !line.starts_with('#') && op_of(line).is_some();
        let any_names = |error| (None, ProblemLineFault::from(error));
        let all_say_op = says_op || lines.any_follows(names_op).map_err(any_names)?;
        Ok(Self { lines, all_say_op, any: false })
    }

    pub(super) fn into_rest(self) -> (Text<'a>, u64) {
        self.lines.into_rest()
    }

    pub(super) fn next(
        &mut self,
        request: &Request,
        passed: &mut Skipped,
    ) -> Result<Option<ReadProblem>, Fault> {
        while self.lines.next().map_err(ProblemLineFault::at)? {
            let Self { lines, all_say_op, any } = self;
            let (line, number) = (lines.line(), lines.number());
            if !*any && aiter_log::has_problems(line) {
                let reason = "found a line of a log, expected a problem".to_owned();
                return Err((Some(number), ProblemLineFault::Row(reason)));
            }
            let Request { op, ref defaults, .. } = *request;
            let read = if *all_say_op {
                parse_line(line, op, defaults)
            } else {
                parse_silent(line, op, defaults).map(ProblemLine::Problem)
            };
            let is_torn = matches!(read, Ok(ProblemLine::Incomplete | ProblemLine::Behind(_)))
                || (read.is_err() && !*all_say_op && !lines.is_whole());
            if is_torn {
                passed.tear(number);
            }
            match read {
                Ok(ProblemLine::Problem(problem) | ProblemLine::Behind(problem)) => {
                    *any = true;
                    let stated = StatedFields::by(&cells_of_line(line));
                    let listed = ListedProblem { number: None, problem, stated };
                    return Ok(Some(ReadProblem { listed, written: problem, line: number }));
                }
                Err(fault) if !is_torn => return Err((Some(number), fault)),
                Ok(ProblemLine::Nothing | ProblemLine::Incomplete) | Err(_) => {}
            }
        }
        Ok(None)
    }
}
