//! Measures a few problems at a time, each time into a new file.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::estimate::Device;
use ck_select::operation::Operation;
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select_measure::problems::ProblemSet;
use ck_select_train::{WarmStart, spread_order};

use super::Args;
use super::recorded::{TuningData, described};
use super::sweep::{BATCH, Sweep, has_rows, with_rows};
use super::work::{claim, claim_list, unclaim};
use crate::error::CliError;

/// How many kernels of a problem are measured: a tenth of the pool, within these bounds. Of 30, ten keep
/// 99.8 % of the best speed; of 546, thirty keep 100.00 % (docs/results.md).
const DEFAULT_FIRST: std::ops::RangeInclusive<usize> = 10..=30;
/// With this many problems, the expected quality for others is known well enough to decide whether to stop.
const ENOUGH_PROBLEMS: usize = 40;
/// Measuring ends when twice as many problems raise the expected mean by less than this.
const MIN_GAIN: f64 = 5e-4;

/// Measures until the budget is spent, everything is measured, or there is little left to gain. Measurements
/// of an earlier call are kept. Also returns how many problems were measured at each decision.
pub(super) fn measure<'a>(
    args: &Args,
    pool: &Path,
    kernels: &Arc<Pool>,
    base: &'a WarmStart,
) -> Result<(TuningData<'a>, Vec<usize>), CliError> {
    let (Some(list), Some(work)) = (&args.problems, &args.work) else {
        refuse!("give --pool, --problems and --work, or --simulate");
    };
    let all = problems(args, list, kernels)?;
    let all: Vec<&Problem> = all.iter().collect();
    let most = args.at_most(all.len())?.unwrap_or(all.len());
    if described(args)?.is_none() {
        Device::for_arch(args.arch()?).map_err(|error| CliError::usage(format!("--arch: {error}")))?;
    }
    let usual = (kernels.len() / 10).clamp(*DEFAULT_FIRST.start(), *DEFAULT_FIRST.end());
    let first = args.first.map_or(usual, |count| count as usize).min(kernels.len());
    let order = spread_order(&all, all.len(), args.settings.seed);
    claim(work, args.arch()?, first)?;
    let sweep = Sweep::new(args, pool, kernels);
    let mut files = Vec::new();
    let mut gain = Gain { args, base, previous: (0, None), decisions: Vec::new(), is_little: false };
    for (number, batch) in order.chunks(BATCH).take(most.div_ceil(BATCH)).enumerate() {
        let file = work.join(format!("{number:04}.csv"));
        let list = file.with_extension("problems.txt");
        if sweep.is_over() && !has_rows(&file) {
            break;
        }
        let texts: Vec<String> = batch.iter().map(|&index| all[index].to_string()).collect();
        claim_list(&list, &(texts.join("\n") + "\n"))?;
        sweep.bench(&list, &file, first).inspect_err(|_| {
            if number == 0 && !has_rows(&file) {
                unclaim(work);
            }
        })?;
        files.push(file);
        gain.decide(&files, most)?;
        if gain.is_little {
            break;
        }
    }
    if args.first.is_none() && first < kernels.len() && !gain.is_little {
        sweep.measure_the_rest(work, &mut files)?;
    }
    let files = with_rows(&files);
    let mut measured = TuningData::read(args, base, &files)?;
    measured.measurements = sweep.finished(measured.measurements, first);
    if measured.measurements.rows().iter().any(|row| row.is_valid) {
        return Ok((measured, gain.decisions));
    }
    Err(CliError::failed(if files.is_empty() && args.budget.is_some() {
        "--budget: it was spent before any kernel had run".to_owned()
    } else {
        format!("{}: no measurement succeeded; the same command tries again", work.display())
    }))
}

/// The expected gain of more measurements.
struct Gain<'a> {
    args: &'a Args,
    base: &'a WarmStart,
    /// The number of measured problems and the expected mean at the last decision.
    previous: (usize, Option<f64>),
    /// The number of measured problems at each decision.
    decisions: Vec<usize>,
    is_little: bool,
}

impl Gain<'_> {
    /// Decides whether it is little, once there are twice as many problems as at the last decision.
    fn decide(&mut self, files: &[PathBuf], most: usize) -> Result<(), CliError> {
        let (count, (last, before)) = (files.len() * BATCH, self.previous);
        if self.args.measure.is_some() || count < ENOUGH_PROBLEMS || count < 2 * last {
            return Ok(());
        }
        let measured = TuningData::read(self.args, self.base, &with_rows(files))?;
        let expected = measured.draw_all(self.args)?.and_then(|draw| draw.expected);
        self.decisions.push(measured.measurements.problems().len());
        let expected = expected.map(|expected| expected.mean);
        if let (Some(before), Some(now)) = (before, expected)
            && now - before < MIN_GAIN
        {
            say!(
                "ckselect: measuring stops after {count} of {most} problems: the expected mean is {now:.4} now \
                 and was {before:.4} after {last}, so little is left to gain"
            );
            self.is_little = true;
        }
        self.previous = (count, expected);
        Ok(())
    }
}

/// The distinct problems that kernels of the pool compute. What a file leaves open, such as the type, the
/// kernels say.
fn problems(args: &Args, path: &Path, kernels: &Pool) -> Result<Vec<Problem>, CliError> {
    let set = ProblemSet::read(path, kernels.op())?;
    let (mut all, mut known, mut without) = (Vec::new(), HashSet::new(), Vec::new());
    for requested in &set.problems {
        let mut is_computed = false;
        for problem in kernels.iter().filter_map(|kernel| requested.for_kernel(kernel)) {
            is_computed = true;
            if known.insert(problem) {
                all.push(problem);
            }
        }
        if !is_computed {
            without.push(requested.problem);
        }
    }
    let file = path.display();
    if let Some(first) = without.first() {
        let count = without.len();
        say!(
            "ckselect: {file}: {count} problems are left out, which no kernel computes; the first is {first}"
        );
    }
    if all.is_empty() {
        fail!("{file}: {}", set.misfit(kernels));
    }
    let taken = args.arch()?;
    if let Some(other) = all.iter().find(|problem| problem.arch().is_some_and(|arch| arch != taken)) {
        fail!("{file}: found a problem of another architecture than --arch {taken}: {other}");
    }
    let kinds: BTreeSet<String> = all.iter().filter_map(kind).collect();
    if kinds.len() > 1 {
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
        refuse!("--pool, --problems: found {kinds}; a model is adapted to one direction and type");
    }
    Ok(all)
}

/// The direction and type that a model is for, by one of its problems; `None` for operations whose models are for
/// several types.
fn kind(problem: &Problem) -> Option<String> {
    let direction = problem.direction().map_or_else(String::new, |direction| format!("{direction} "));
    let serves_several_types = Operation::get(problem.op()).has_dtype_features;
    (!serves_several_types).then(|| format!("{direction}{}", problem.dtype()))
}
