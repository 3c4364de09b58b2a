//! Measures as `ckselect bench` does, until the budget is spent.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select_measure::plan::Plan;
use ck_select_measure::problems::ProblemSet;
use ck_select_measure::shard::Shard;
use ck_select_measure::stop::StopReason;
use ck_select_measurements::gpus::{FileGpu, measured_on};
use ck_select_measurements::outcome::FailureClass;
use ck_select_measurements::{Measurements, RowScope};

use super::super::bench;
use super::super::bench::order::{Keep, Order};
use super::Args;
use crate::error::CliError;

/// Number of problems per file.
pub(super) const BATCH: usize = 5;
/// How often an unstable time is measured again: a single one misleads all that is learned of a problem.
const REMEASURE: u32 = 3;

/// Measurements of a pool until the budget is spent.
pub(super) struct Sweep<'a> {
    args: &'a Args,
    pool: &'a Path,
    kernels: &'a Arc<Pool>,
    began: Instant,
    /// The GPU of the first file.
    gpu: RefCell<Option<String>>,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(args: &'a Args, pool: &'a Path, kernels: &'a Arc<Pool>) -> Self {
        Self { args, pool, kernels, began: Instant::now(), gpu: RefCell::default() }
    }

    /// The time left of the budget, if there is one.
    fn left(&self) -> Option<Duration> {
        self.args.budget.map(|budget| budget.saturating_sub(self.began.elapsed()))
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Measures all kernels on the problems of each file, as long as there is time, into a file that takes
    /// its place once it is complete.
    pub(super) fn measure_the_rest(&self, work: &Path, files: &mut [PathBuf]) -> Result<(), CliError> {
        if !self.is_over() {
            say!("ckselect: the promising kernels are measured; with the time that is left, all kernels are");
        }
        for (number, file) in files.iter_mut().enumerate() {
            let whole = work.join(format!("{number:04}.all.csv"));
            if self.is_over() && !whole.exists() {
                break;
            }
            let list = file.with_extension("problems.txt");
            self.bench(&list, &whole, self.kernels.len())?;
            let plan = Plan::new(self.kernels, &ProblemSet::read(&list, self.kernels.op())?);
            if rows(&whole) >= plan.len() {
                *file = whole;
            }
        }
        Ok(())
    }

    /// Measures what the file does not have yet, unless the budget is spent.
    pub(super) fn bench(&self, list: &Path, file: &Path, first: usize) -> Result<(), CliError> {
        if self.is_over() {
            return Ok(());
        }
        let args = self.args;
        // A worker process starts once for a file, not once for twenty kernels.
        let together = (first + 1).min(self.kernels.len()) * BATCH;
        // A row that was cut off in the middle cannot be read yet; the sweep removes the rest of it. If all
        // rows failed, they are measured again: the cause may have been fixed.
        let all_failed = rows(file) > 0 && !self.has_a_time(file).unwrap_or(true);
        let bench = bench::Args {
            pool: self.pool.to_owned(),
            problems: list.to_owned(),
            output: file.to_owned(),
            runner: args.runner.clone(),
            simulate: None,
            resume: Some(if all_failed { FailureClass::ALL.to_vec() } else { Vec::new() }),
            overwrite: false,
            cutoff: None,
            params: vec![format!("remeasure={REMEASURE}"), format!("batch={together}")],
            order: Some(Order::Model(Keep::First(first))),
            model: Some(args.model.clone()),
            arch: args.gpu.with_arch(Some(args.arch()?)),
            gpus: None,
            budget: self.left(),
            shard: Shard::WHOLE,
            dry_run: false,
            format: args.format,
        };
        // Problems on which all kernels fail are no reason to lose the others.
        match bench::measure(&bench, self.kernels)?.stopped {
            Some(StopReason::Signal(_)) => {
                Err(CliError::failed("ended by a signal; the same command goes on"))
            }
            _ => self.check_gpu(file),
        }
    }

    fn read(&self, file: &Path) -> Result<Measurements, CliError> {
        let scope = RowScope { arch: Some(self.args.arch()?), ..RowScope::all(self.kernels.op()) };
        Ok(Measurements::read(&[file], scope)?)
    }

    fn has_a_time(&self, file: &Path) -> Result<bool, CliError> {
        Ok(self.read(file)?.rows().iter().any(|row| row.is_valid))
    }

    /// Refuses another GPU than the architecture's, and than that of the files before, as soon as it has
    /// measured a file.
    fn check_gpu(&self, file: &Path) -> Result<(), CliError> {
        if rows(file) == 0 {
            return Ok(());
        }
        for FileGpu { gpu, .. } in measured_on(&self.read(file)?)? {
            let mut known = self.gpu.borrow_mut();
            let known = known.get_or_insert_with(|| gpu.clone());
            if *known != gpu {
                fail!(
                    "{}: measured on {gpu}, the files before on {known}: remove this file and those that \
                     begin with its name, or begin another folder",
                    file.display()
                );
            }
        }
        Ok(())
    }

    /// The measurements without the problem that the end of the budget interrupted.
    pub(super) fn finished(&self, measured: Measurements, first: usize) -> Measurements {
        if !self.is_over() {
            return measured;
        }
        let mut counts = vec![0; measured.problems().len()];
        measured.rows().iter().for_each(|row| counts[row.problem as usize] += 1);
        // A repeated name is measured once.
        let fitting = |problem: &Problem| {
            let kernels = self.kernels.iter().filter(|kernel| kernel.matches(problem));
            kernels.map(|kernel| kernel.name.as_str()).collect::<HashSet<_>>().len()
        };
        let whole: Vec<bool> = measured
            .problems()
            .iter()
            .zip(counts)
            .map(|(problem, count)| count >= first.min(fitting(problem)))
            .collect();
        let unfinished = whole.iter().filter(|whole| !**whole).count();
        if unfinished == 0 {
            return measured;
        }
        say!(
            "ckselect: {unfinished} problems are left out: the budget ended before all of their kernels had \
             run; the same command goes on"
        );
        measured.keeping(|_, row| whole[row.problem as usize])
    }
}

/// The files with anything below their headers: a budget may end while kernels are being loaded.
pub(super) fn with_rows(files: &[PathBuf]) -> Vec<PathBuf> {
    files.iter().filter(|file| has_rows(file)).cloned().collect()
}

pub(super) fn has_rows(file: &Path) -> bool {
    rows(file) > 0
}

/// The number of lines below the header.
fn rows(file: &Path) -> usize {
    let Ok(file) = ck_select::files::open(file) else { return 0 };
    BufReader::new(file).lines().map_while(Result::ok).count().saturating_sub(1)
}
