//! Lists of problems as text: one a line, as `key=value` pairs with the operation among them.
//!
//! ```text
//! # layers of a network
//! op=grouped_conv N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1
//! M=128,N=1536,K=7168,op=gemm_universal
//! ```
//!
//! Blank lines and lines that begin with `#` are passed over. Whoever appends to such a list while it may be killed puts
//! the operation last, so that a line that was cut off has none, or only the beginning of one, and shows itself.

use std::collections::HashSet;

use super::{Problem, ProblemDefaults, ProblemError};
use crate::vocab::{Op, UnknownWord};

/// The problems of a list, each once, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProblemList {
    /// The problems.
    pub problems: Vec<Problem>,
    /// Lines, counted from 1, that do not say their operation: most likely they were cut off.
    pub incomplete: Vec<usize>,
}

/// A line that is no problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{list}, line {line}: {fault}")]
pub struct ProblemListError {
    /// What the list is called.
    pub list: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: ProblemLineFault,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemLineFault {
    /// An operation that there is not.
    #[error(transparent)]
    Op(UnknownWord),
    /// Pairs that are no problem of the operation.
    #[error(transparent)]
    Problem(ProblemError),
}

/// What a line of a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // lives only while a line is read
pub enum ProblemLine {
    /// A blank line or a comment.
    Nothing,
    /// No operation, or the beginning of one: most likely the line was cut off.
    Incomplete,
    /// A problem.
    Problem(Problem),
}

impl ProblemList {
    /// Reads a list; `label` names it in errors. A problem that does not say its types has those of upstream's defaults.
    ///
    /// ```
    /// use ck_select::problem::ProblemList;
    ///
    /// let list = ProblemList::parse("seen.txt", "op=gemm_universal M=1,N=2,K=3\nM=4,N=5,K=6,op=gemm_univ")?;
    /// assert_eq!((list.problems.len(), list.incomplete), (1, vec![2]));
    /// # Ok::<(), ck_select::problem::ProblemListError>(())
    /// ```
    pub fn parse(label: &str, text: &str) -> Result<Self, ProblemListError> {
        let mut list = Self::default();
        let mut seen = HashSet::new();
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let parsed = parse_line(line).map_err(|fault| ProblemListError {
                list: label.to_owned(),
                line: at + 1,
                fault,
            })?;
            match parsed {
                ProblemLine::Nothing => {}
                ProblemLine::Incomplete => list.incomplete.push(at + 1),
                ProblemLine::Problem(problem) => {
                    if seen.insert(problem) {
                        list.problems.push(problem);
                    }
                }
            }
        }
        Ok(list)
    }

    /// Whether a text looks like such a list and not like a CSV: its first line with anything in it has a pair.
    pub fn recognizes(text: &str) -> bool {
        let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        lines.find(|line| !line.is_empty() && !line.starts_with('#')).is_some_and(|line| line.contains('='))
    }
}

/// The line of a problem, without its end.
pub(crate) fn line(problem: &Problem) -> String {
    format!("{problem},op={}", problem.op())
}

impl ProblemLine {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Self, ProblemLineFault> {
        parse_line(line)
    }
}

fn parse_line(line: &str) -> Result<ProblemLine, ProblemLineFault> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(ProblemLine::Nothing);
    }
    let separator = |c: char| c == ',' || c.is_whitespace();
    let Some(word) = line.split(separator).find_map(|part| part.strip_prefix("op=")) else {
        return Ok(ProblemLine::Incomplete);
    };
    let op: Op = match word.parse() {
        Ok(op) => op,
        Err(_) if Op::WORDS.iter().any(|op| op.starts_with(word)) => return Ok(ProblemLine::Incomplete),
        Err(unknown) => return Err(ProblemLineFault::Op(unknown)),
    };
    let others: Vec<&str> = line.split(separator).filter(|part| !part.starts_with("op=")).collect();
    Problem::parse(op, &others.join(","), &ProblemDefaults::of(op))
        .map(ProblemLine::Problem)
        .map_err(ProblemLineFault::Problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, GemmProblem};

    fn problems() -> [Problem; 3] {
        let conv = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let arch = "gfx950".parse().ok();
        [conv.into(), ConvProblem { arch, ..conv.padded([1, 1]) }.into(), GemmProblem::new(1, 2, 3).into()]
    }

    #[test]
    fn lines_read_back() {
        let lines: Vec<String> = problems().iter().map(line).collect();
        let list = ProblemList::parse("list", &(lines.join("\r\n") + "\n\n# end")).unwrap();
        assert_eq!(list, ProblemList { problems: problems().to_vec(), incomplete: Vec::new() });
        assert!(ProblemList::recognizes("\n# head\nM=1 op=gemm_universal"));
        assert!(!ProblemList::recognizes("# M=1\nM,N,K\n1,2,3\n") && !ProblemList::recognizes(""));
    }

    /// However a line is cut off, it is not taken for another problem.
    #[test]
    fn no_beginning_of_a_line_is_a_problem() {
        for problem in problems() {
            let whole = line(&problem);
            for end in 0..whole.len() {
                assert!(
                    !matches!(parse_line(&whole[..end]), Ok(ProblemLine::Problem(_)) | Err(_)),
                    "{}",
                    &whole[..end]
                );
            }
        }
    }

    #[test]
    fn repeated_problems_count_once_and_mistakes_are_named() {
        let list =
            ProblemList::parse("l", "op=gemm_universal m=1 N=2 K=3\nop=gemm_universal,M=1,N=2,K=3").unwrap();
        assert_eq!(list.problems.len(), 1);
        for (text, message) in [
            ("# a\nop=gemm,M=1,N=2,K=3", None),
            (
                "# a\nop=matmul",
                Some("l, line 2: unknown operation 'matmul', expected one of: gemm_universal"),
            ),
            ("op=gemm_universal,M=1", Some("l, line 1: N: found nothing, expected a whole number")),
            (
                "op=gemm_universal,M=1,N=1,K=1,X=2",
                Some("l, line 1: gemm_universal problems have no field 'X'"),
            ),
        ] {
            match (ProblemList::parse("l", text), message) {
                (Ok(list), None) => assert_eq!((list.problems, list.incomplete), (vec![], vec![2])),
                (Err(error), Some(message)) => assert!(error.to_string().starts_with(message), "{error}"),
                (result, _) => panic!("{text}: {result:?}"),
            }
        }
    }
}
