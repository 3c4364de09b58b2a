//! Compares choices with the best known times from elsewhere.

use std::collections::{BTreeSet, HashMap};

use ck_select_types::listing::ProblemLine;
use ck_select_types::problem::{FmhaProblem, Problem};
use ck_select_types::vocab::Arch;

use crate::evaluate::Evaluation;
use crate::figures::Spread;
use crate::measurements::{DataError, Measurements};

/// The best known times of problems.
#[derive(Debug, Clone, Default)]
pub struct Roof(HashMap<Problem, Vec<Known>>);

/// A known time in milliseconds, and the device, as far as a list says it.
#[derive(Debug, Clone, Copy)]
struct Known {
    arch: Option<Arch>,
    num_cus: Option<u32>,
    milliseconds: f64,
}

/// How close choices come to the roof: time of the roof over time of the kernel, above 1 if the kernel is
/// faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoofFigures {
    /// Of the chosen kernels.
    pub chosen: Spread,
    /// Of the fastest measured ones.
    pub fastest: Spread,
    /// Problems whose times in the lists are left out, because they are of devices with other numbers of
    /// compute units than the measurements', or of several while the measurements do not say theirs.
    pub other_devices: usize,
}

/// The best known time of a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Best {
    /// It is not in the lists.
    Unknown,
    /// Its times are of other devices, or of several that cannot be told apart.
    OtherDevices,
    /// The time in milliseconds.
    Milliseconds(f64),
}

impl Roof {
    /// Adds a list written by [`super::write`].
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), DataError> {
        let mut time = None;
        for (place, line) in (1..).zip(text.lines()) {
            let wrong = |reason: String| DataError::format(file, format_args!("line {place}: {reason}"));
            if let Some(comment) = line.strip_prefix("# ") {
                time = super::of_comment(comment);
                continue;
            }
            match ProblemLine::parse(line).map_err(|error| wrong(error.to_string()))? {
                ProblemLine::Problem(problem) => {
                    let time = time.take().filter(|(time, _)| *time > 0.0 && time.is_finite());
                    let (milliseconds, num_cus) = time.ok_or_else(|| {
                        wrong(
                            "no time before the problem, expected a line '# 0.25 ms: KERNEL' or \
                             '# 0.25 ms on 304 compute units: KERNEL' as ckselect import writes it"
                                .to_owned(),
                        )
                    })?;
                    let known = Known { arch: problem.arch(), num_cus, milliseconds };
                    self.0.entry(what(&problem)).or_default().push(known);
                }
                ProblemLine::Nothing => {}
                ProblemLine::Incomplete | ProblemLine::Behind(_) => {
                    return Err(wrong("expected a problem with op=…".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The best known time of a problem on its architecture, and on a device with as many compute units, if
    /// both name one.
    pub fn best(&self, problem: &Problem, num_cus: Option<u32>) -> Best {
        let Some(known) = self.0.get(&what(problem)) else { return Best::Unknown };
        let arch = problem.arch();
        let here = |known: &&Known| known.arch.is_none() || arch.is_none() || known.arch == arch;
        let known: Vec<&Known> = known.iter().filter(here).collect();
        let counts: BTreeSet<u32> = known.iter().filter_map(|known| known.num_cus).collect();
        if known.is_empty() {
            return Best::Unknown;
        }
        if num_cus.is_none() && counts.len() > 1 {
            return Best::OtherDevices;
        }
        let fits = |known: &&&Known| known.num_cus.is_none() || num_cus.is_none() || known.num_cus == num_cus;
        let times = known.iter().filter(fits).map(|known| known.milliseconds);
        times.min_by(f64::total_cmp).map_or(Best::OtherDevices, Best::Milliseconds)
    }

    /// Compares the choices on problems with a best known time; an error if there is none.
    pub fn compare(
        &self,
        evaluation: &Evaluation,
        measurements: &Measurements,
    ) -> Result<RoofFigures, String> {
        let mut figures = [Vec::new(), Vec::new()];
        let mut other_devices = 0;
        for outcome in &evaluation.outcomes {
            let problem = &measurements.problems()[outcome.problem as usize];
            let best = match self.best(problem, measurements.num_cus(problem.arch())) {
                Best::Milliseconds(best) => best,
                Best::Unknown => continue,
                Best::OtherDevices => {
                    other_devices += 1;
                    continue;
                }
            };
            let speed = problem.flops() / best / 1e9;
            figures[0].push(outcome.selected_tflops / speed);
            figures[1].push(outcome.oracle_tflops / speed);
        }
        let [chosen, fastest] = figures;
        if chosen.is_empty() {
            let others = match other_devices {
                0 => String::new(),
                count => format!(
                    "; the times of {count} are of devices with other numbers of compute units (hw_num_cus)"
                ),
            };
            return Err(format!("none of the measured problems has a best known time{others}"));
        }
        Ok(RoofFigures { chosen: Spread::of(chosen), fastest: Spread::of(fastest), other_devices })
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
