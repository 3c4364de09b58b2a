//! Measures with `ckselect bench`, a few problems at a time, each time into a new file.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select_measure::plan::Plan;
use ck_select_measure::problems::ProblemSet;
use ck_select_offline::measurements::Measurements;
use ck_select_offline::report::CurvePoint;
use ck_select_offline::train::{WarmStart, spread_order};

use super::Args;
use super::run::{draw_all, point, read};
use super::work::claim;
use crate::error::CliError;

/// Number of problems per file.
const BATCH: usize = 5;
/// How many kernels of a problem are measured, if the pool has no more than ten times as many: of 30, they have
/// 99.8 % of the best speed (docs/estimate.md).
const USUAL: usize = 10;
/// With this many problems, the expected quality for others is known well enough to decide whether to stop.
const ENOUGH: usize = 40;
/// Measuring ends when twice as many problems raise the expected mean by less than this.
const LITTLE: f64 = 5e-4;
/// How often an unstable time is measured again: a single one misleads all that is learned of a problem.
const AGAIN: &str = "3";

/// Measures until the budget is spent, everything is measured, or there is little left to gain. Measurements
/// of an earlier call are kept. Also returns the expected quality at each decision.
pub(super) fn measure(args: &Args, base: &WarmStart) -> Result<(Measurements, Vec<CurvePoint>), CliError> {
    let (Some(pool), Some(problems), Some(work)) = (&args.pool, &args.problems, &args.work) else {
        return Err(CliError::usage("give --pool, --problems and --work, or --simulate"));
    };
    let op = base.extractor().schema.op();
    let kernels = Pool::read(pool)?;
    let set = ProblemSet::read(problems, kernels.op())?;
    let all: Vec<&Problem> = set.problems.iter().map(|asked| &asked.problem).collect();
    if let Some(other) = all.iter().find(|problem| problem.arch().is_some_and(|arch| arch != args.arch)) {
        return Err(CliError::failed(format!(
            "{}: found a problem of another architecture than --arch {}: {other}",
            problems.display(),
            args.arch
        )));
    }
    let first = args.first.map_or_else(|| USUAL.max(kernels.len() / 10), |count| count as usize);
    let most = args.measure.map_or(all.len(), |count| count as usize);
    let order = spread_order(&all, all.len(), args.seed);
    claim(work, args.arch, first)?;
    let sweep = Sweep { args, pool, kernels: &kernels, began: Instant::now() };
    let mut files = Vec::new();
    // The number of measured problems and the expected mean at the previous decision.
    let mut asked: (usize, Option<f64>) = (0, None);
    let mut curve = Vec::new();
    let mut little_to_gain = false;
    for (number, batch) in order.chunks(BATCH).take(most.div_ceil(BATCH)).enumerate() {
        let file = work.join(format!("{number:04}.csv"));
        let list = file.with_extension("problems.txt");
        if sweep.is_over() && !has_rows(&file) {
            break;
        }
        let texts: Vec<String> = batch.iter().map(|&place| all[place].to_string()).collect();
        claim_list(&list, &(texts.join("\n") + "\n"))?;
        sweep.bench(&list, &file, first)?;
        files.push(file);
        let count = (number + 1) * BATCH;
        if args.measure.is_none() && count >= ENOUGH && count >= 2 * asked.0 {
            let measured = read(args, &with_rows(&files), op)?;
            let expected = draw_all(args, &measured, base)?;
            curve.extend(expected.as_ref().map(|of| point("expected", measured.problems().len(), of)));
            let expected = expected.map(|expected| expected.mean);
            if let (Some(before), Some(now)) = (asked.1, expected)
                && now - before < LITTLE
            {
                little_to_gain = true;
                break;
            }
            asked = (count, expected);
        }
    }
    if args.first.is_none() && first < kernels.len() && !little_to_gain {
        sweep.measure_the_rest(work, &mut files)?;
    }
    let files = with_rows(&files);
    if files.is_empty() {
        return Err(CliError::failed(if args.budget.is_some() {
            "--budget: it was spent before any kernel had run"
        } else {
            "nothing was measured"
        }));
    }
    Ok((read(args, &files, op)?, curve))
}

/// Measurements of a pool until the budget is spent.
struct Sweep<'a> {
    args: &'a Args,
    pool: &'a Path,
    kernels: &'a Pool,
    began: Instant,
}

impl Sweep<'_> {
    /// What is left of the budget, if there is one.
    fn left(&self) -> Option<Duration> {
        self.args.budget.map(|budget| budget.saturating_sub(self.began.elapsed()))
    }

    fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Measures all kernels on the problems of each file, as long as there is time, into a file that takes its
    /// place once it is complete.
    fn measure_the_rest(&self, work: &Path, files: &mut [PathBuf]) -> Result<(), CliError> {
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
    fn bench(&self, list: &Path, file: &Path, first: usize) -> Result<(), CliError> {
        if self.is_over() {
            return Ok(());
        }
        let args = self.args;
        // A worker process starts once for a file, not once for twenty kernels.
        let together = (first + 1).min(self.kernels.len()) * BATCH;
        let program = std::env::current_exe().map_err(|error| CliError::io("ckselect", &error))?;
        let mut command = Command::new(program);
        command.args(["bench", "--resume", "--remeasure", AGAIN, "--batch"]).arg(together.to_string());
        command.args(["--order", "model", "--arch", args.arch.as_str(), "--first"]).arg(first.to_string());
        if let Some(described) = args.hardware.asked() {
            command.arg("--hardware").arg(described);
        }
        command.arg("--model").arg(&args.model).arg("--pool").arg(self.pool);
        command.arg("--problems").arg(list).arg("--output").arg(file);
        match (&args.library, &args.runner) {
            (Some(library), _) => command.arg("--library").arg(library),
            (None, Some(runner)) => command.arg("--runner").arg(runner),
            (None, None) => return Err(CliError::usage("give --library, --runner or --simulate")),
        };
        if let Some(left) = self.left() {
            command.arg("--budget").arg(format!("{}ms", left.as_millis().max(1)));
        }
        let status =
            command.stdout(Stdio::null()).status().map_err(|error| CliError::io("ckselect bench", &error))?;
        if status.success() {
            Ok(())
        } else {
            Err(CliError::failed(format!("ckselect bench ended with {status}")))
        }
    }
}

/// The files with anything below their headers: a budget may end while kernels are being loaded.
fn with_rows(files: &[PathBuf]) -> Vec<PathBuf> {
    files.iter().filter(|file| has_rows(file)).cloned().collect()
}

fn has_rows(file: &Path) -> bool {
    rows(file) > 0
}

/// The number of lines below the header.
fn rows(file: &Path) -> usize {
    let Ok(file) = ck_select::files::open(file) else { return 0 };
    BufReader::new(file).lines().map_while(Result::ok).count().saturating_sub(1)
}

/// Writes the list of a file's problems; refuses another one.
fn claim_list(list: &Path, text: &str) -> Result<(), CliError> {
    match ck_select::files::read_to_string(list) {
        Ok(known) if known == text => Ok(()),
        Ok(_) => {
            let list = list.display();
            Err(CliError::failed(format!(
                "{list}: found other problems than --problems and --seed give; expected those with which the \
                 folder was begun, or a new folder"
            )))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ck_select::files::write(list, text.as_bytes())
                .map_err(|error| CliError::io(list.display(), &error))
        }
        Err(error) => Err(CliError::io(list.display(), &error)),
    }
}
