//! Compares choices with the best known times from elsewhere.

use std::collections::HashMap;

use ck_select_types::problem::{FmhaProblem, Problem, ProblemLine};
use ck_select_types::vocab::Arch;

use crate::evaluate::Evaluation;
use crate::figures::Spread;
use crate::measurements::{DataError, Measurements};

/// The best known times of problems.
#[derive(Debug, Clone, Default)]
pub struct Roof(HashMap<Problem, Vec<Best>>);

/// A best known time, and where it was measured, as far as that is known.
#[derive(Debug, Clone, Copy)]
struct Best {
    arch: Option<Arch>,
    num_cus: Option<u32>,
    time: f64,
}

/// How close choices come to the roof: time of the roof over time of the kernel, above 1 if the kernel is
/// faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoofFigures {
    /// Of the chosen kernels.
    pub chosen: Spread,
    /// Of the fastest measured ones.
    pub fastest: Spread,
}

impl Roof {
    /// Adds a list written by [`super::write`].
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), DataError> {
        let mut time = None;
        for (place, line) in (1..).zip(text.lines()) {
            let wrong = |reason: String| DataError::format(file, format_args!("line {place}: {reason}"));
            if let Some(comment) = line.strip_prefix("# ") {
                time = time_of(comment);
                continue;
            }
            match ProblemLine::parse(line).map_err(|error| wrong(error.to_string()))? {
                ProblemLine::Problem(problem) => {
                    let (time, num_cus) =
                        time.take().filter(|(time, _)| *time > 0.0 && time.is_finite()).ok_or_else(|| {
                            wrong(
                                "no time before the problem, expected a line '# 0.25 ms: KERNEL' \
                                 as ckselect import writes it"
                                    .to_owned(),
                            )
                        })?;
                    let best = Best { arch: problem.arch(), num_cus, time };
                    self.0.entry(what(&problem)).or_default().push(best);
                }
                ProblemLine::Nothing => {}
                ProblemLine::Incomplete | ProblemLine::Behind(_) => {
                    return Err(wrong("expected a problem with op=…".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The best known time of a problem in milliseconds, on its architecture and with as many compute units, if
    /// both are known.
    pub fn best(&self, problem: &Problem, num_cus: Option<u32>) -> Option<f64> {
        let arch = problem.arch();
        let fits = |known: &&Best| {
            (known.arch.is_none() || arch.is_none() || known.arch == arch)
                && (known.num_cus.is_none() || num_cus.is_none() || known.num_cus == num_cus)
        };
        let times = self.0.get(&what(problem))?.iter().filter(fits).map(|best| best.time);
        times.min_by(f64::total_cmp)
    }

    /// Compares the choices on problems with a best known time; `None` if there is none.
    pub fn compare(&self, evaluation: &Evaluation, measurements: &Measurements) -> Option<RoofFigures> {
        let mut figures = [Vec::new(), Vec::new()];
        let num_cus = measurements.hardware().and_then(|hardware| u32::try_from(hardware.num_cus).ok());
        for outcome in &evaluation.outcomes {
            let problem = &measurements.problems()[outcome.problem as usize];
            let Some(best) = self.best(problem, num_cus) else { continue };
            let speed = problem.flops() / best / 1e9;
            figures[0].push(outcome.selected_tflops / speed);
            figures[1].push(outcome.oracle_tflops / speed);
        }
        let [chosen, fastest] = figures;
        (!chosen.is_empty()).then(|| RoofFigures { chosen: Spread::of(chosen), fastest: Spread::of(fastest) })
    }
}

/// Milliseconds and compute units of `0.25 ms on 304 compute units: KERNEL`.
fn time_of(comment: &str) -> Option<(f64, Option<u32>)> {
    let (time, rest) = comment.split_once(" ms")?;
    let units = match rest.strip_prefix(" on ") {
        Some(rest) => Some(rest.split_once(" compute units: ")?.0.parse().ok()?),
        None => rest.strip_prefix(": ").map(|_| None)?,
    };
    Some((time.parse().ok()?, units))
}

/// The computation without how and where: tables may differ in the type of the result and in split K.
fn what(problem: &Problem) -> Problem {
    match *problem {
        Problem::Conv(mut problem) => {
            problem.arch = None;
            problem.split_k = 1;
            problem.dtype_out = problem.dtype_in;
            problem.into()
        }
        Problem::Gemm(mut problem) => {
            problem.arch = None;
            problem.split_k = 1;
            problem.request.stream_k = None;
            problem.dtype_c = problem.dtype_a;
            problem.into()
        }
        Problem::Fmha(problem) => FmhaProblem { arch: None, ..problem }.into(),
    }
}
