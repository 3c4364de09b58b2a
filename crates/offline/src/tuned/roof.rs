//! Compares choices with the best known times from elsewhere.

use std::collections::HashMap;

use ck_select_types::problem::{FmhaProblem, Problem, ProblemLine};
use ck_select_types::vocab::Arch;

use crate::evaluate::Evaluation;
use crate::figures::Spread;
use crate::measurements::{DataError, Measurements};

/// The best known times of problems.
#[derive(Debug, Clone, Default)]
pub struct Roof(HashMap<Problem, Vec<(Option<Arch>, f64)>>);

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
                time = comment.split_once(" ms: ").and_then(|(time, _)| time.parse().ok());
                continue;
            }
            match ProblemLine::parse(line).map_err(|error| wrong(error.to_string()))? {
                ProblemLine::Problem(problem) => {
                    let time = time.take().filter(|time: &f64| *time > 0.0 && time.is_finite()).ok_or_else(
                        || {
                            wrong(
                                "no time before the problem, expected a line '# 0.25 ms: KERNEL' \
                                 as ckselect import writes it"
                                    .to_owned(),
                            )
                        },
                    )?;
                    self.0.entry(what(&problem)).or_default().push((problem.arch(), time));
                }
                ProblemLine::Nothing => {}
                ProblemLine::Incomplete | ProblemLine::Behind(_) => {
                    return Err(wrong("expected a problem with op=…".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The best known time of a problem in milliseconds, on its architecture if both name one.
    pub fn best(&self, problem: &Problem) -> Option<f64> {
        let arch = problem.arch();
        let fits = |known: Option<Arch>| known.is_none() || arch.is_none() || known == arch;
        let times =
            self.0.get(&what(problem))?.iter().filter(|(known, _)| fits(*known)).map(|(_, time)| *time);
        times.min_by(f64::total_cmp)
    }

    /// Compares the choices on problems with a best known time; `None` if there is none.
    pub fn compare(&self, evaluation: &Evaluation, measurements: &Measurements) -> Option<RoofFigures> {
        let mut figures = [Vec::new(), Vec::new()];
        for outcome in &evaluation.outcomes {
            let problem = &measurements.problems()[outcome.problem as usize];
            let Some(best) = self.best(problem) else { continue };
            let speed = problem.flops() / best / 1e9;
            figures[0].push(outcome.selected_tflops / speed);
            figures[1].push(outcome.oracle_tflops / speed);
        }
        let [chosen, fastest] = figures;
        (!chosen.is_empty()).then(|| RoofFigures { chosen: Spread::of(chosen), fastest: Spread::of(fastest) })
    }
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
