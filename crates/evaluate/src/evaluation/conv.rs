//! Kinds of convolutions.

use ck_select_types::problem::{ConvProblem, Problem};

pub(super) fn filter(problem: &Problem) -> Option<String> {
    along_axes(problem, |problem| problem.filter)
}

pub(super) fn stride(problem: &Problem) -> Option<String> {
    along_axes(problem, |problem| problem.stride)
}

/// Numbers of a convolution along its axes, such as `3x3`.
fn along_axes(problem: &Problem, numbers: fn(&ConvProblem) -> [i64; 3]) -> Option<String> {
    let Problem::Conv(problem) = problem else { return None };
    let numbers = numbers(problem);
    let words = numbers.iter().skip(3 - usize::from(problem.ndim.min(3))).map(i64::to_string);
    Some(words.collect::<Vec<_>>().join("x"))
}

pub(super) fn channels(problem: &Problem) -> Option<String> {
    let Problem::Conv(problem) = problem else { return None };
    let range = match problem.c / problem.g.max(1) {
        ..16 => "1 to 15",
        16..64 => "16 to 63",
        64..256 => "64 to 255",
        256..1024 => "256 to 1023",
        _ => "1024 and more",
    };
    Some(range.to_owned())
}

pub(super) fn group_kind(problem: &Problem) -> Option<String> {
    let Problem::Conv(problem) = problem else { return None };
    let kind = match problem.g {
        1 => "plain",
        g if g == problem.c && g == problem.k => "depthwise",
        _ => "grouped",
    };
    Some(kind.to_owned())
}
