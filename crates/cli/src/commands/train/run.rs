//! Reads measurements, trains and writes the model.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::directory::Target;
use ck_select::estimate::{GpuOverride, ops_like};
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select::vocab::{Direction, Dtype};
use ck_select_evaluate::page;
use ck_select_measurements::places::{GpuFigures, WinnerPlace};
use ck_select_measurements::{Measurements, ReadOptions, RowScope, WinnerRows, Winners};
use ck_select_train::{CardInputs, Directory, Efficiency, TrainError, TrainedForest, Watcher, train};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::super::data::check_choice;
use super::super::gpu::Gpu;
use super::super::winners;
use super::{Args, plan};
use crate::error::CliError;
use crate::output::file_name;
use crate::progress::Progress;
use crate::table::{Cell, Table};
use crate::timestamp::timestamp;

pub(crate) fn run(given: &Args) -> Result<(), CliError> {
    let (files, only_trains) = plan::files(given)?;
    let (args, pools) = if given.winners.is_empty() {
        (with_first_rows(given, &files)?, Vec::new())
    } else {
        with_pools(given)?
    };
    let args = &args;
    let settings = plan::Settings::read(&args.params)?;
    let mut plan = plan::plan(args, &settings, only_trains)?;
    Directory::check_free(&args.output, args.overwrite)?;
    let scope = args.rows.filter.scope(plan::op(args), args.gpu.arch.filter(|_| !args.universal))?;
    let tables = tables(args, &scope, pools)?;
    let winner_rows = tables.as_ref().map(|tables| tables.completed(scope, &args.gpu)).transpose()?;
    let measurements = match &winner_rows {
        Some(rows) => &rows.measurements,
        None => &read(given, args, &files, scope)?,
    };
    check(measurements, given)?;
    plan::adopt_hardware(&mut plan, measurements, args)?;
    let (direction, dtype) = direction_and_dtype(measurements, args)?;
    let mut inputs = card(&args.output, measurements, direction, dtype)?;
    if let Some(warm) = &plan.warm_start {
        warm.check(&plan, inputs.dtype)?;
    }
    let space = Directory::reserve(&args.output, args.overwrite, &plan, measurements.rows().len())?;
    let workers =
        rayon::ThreadPoolBuilder::new().num_threads(settings.threads).build().map_err(TrainError::refused)?;
    let bar = Progress::new("training", 0, "trainings");
    let trained = workers.install(|| train(measurements, &plan, &bar));
    bar.end();
    let trained = trained?;
    if let (Some(tables), Some(rows)) = (&tables, &winner_rows) {
        inputs.places = tables.judged(rows, &trained);
        if inputs.places.is_empty() && plan.folds > 1 {
            let group = plan.group_by;
            say!(
                "ckselect: no winner was held out, so there are no figures: these need marked winners, and two \
                 groups of shapes (group_by={group})"
            );
        }
    }
    let mut directory = Directory::new(measurements, &plan, &trained, &inputs)?;
    directory.add_page(page::training(measurements, &plan, &trained, &inputs));
    drop(space);
    write(&directory, args)?;
    if tables.is_some() { winners::table(&inputs.places).print(args.format) } else { report(args, &trained) }
}

/// The rows of --data and --extra-data.
fn read(given: &Args, args: &Args, files: &[PathBuf], scope: RowScope) -> Result<Measurements, CliError> {
    let has_prior = args.universal || args.prior.is_some();
    let options = ReadOptions {
        assumed: args.gpu.arch.filter(|_| args.universal),
        gpu: if has_prior { args.gpu.described()? } else { None },
        of_several_gpus: args.universal,
        of_several_ops: args.universal && given.rows.filter.op.is_none() && ops_like(scope.op).count() > 1,
        chooses_split: args.choose.chooses_split(scope.op)?,
        ..args.rows.filter.options()
    };
    let mut measurements = Measurements::with(scope, options);
    measurements.add_all(files)?;
    Ok(measurements)
}

fn check(measurements: &Measurements, given: &Args) -> Result<(), CliError> {
    check_choice(measurements, given.rows.filter.op, given.gpu.arch)?;
    check_described(measurements)?;
    let gpus = super::super::data::look_over(measurements)?;
    if gpus.len() > 1 && !given.universal && given.winners.is_empty() {
        let names: Vec<&str> = gpus.iter().map(|one| one.gpu.as_str()).collect();
        say!(
            "ckselect: the data was measured on several GPUs, which are taken for one: {}",
            names.join(", ")
        );
    }
    Ok(())
}

/// What a model is for; `None` for all.
fn direction_and_dtype(
    measurements: &Measurements,
    args: &Args,
) -> Result<(Option<Direction>, Option<Dtype>), CliError> {
    Ok(if args.universal {
        // Whatever it was trained on.
        (None, None)
    } else if !args.winners.is_empty() {
        // Winners may be of fp8 and int8, and of families of several types; pools of several directions.
        (measurements.common_direction().ok().flatten(), measurements.common_dtype().ok().flatten())
    } else {
        (measurements.common_direction()?, measurements.common_dtype()?)
    })
}

/// What the card of a model says of its data and of this process.
pub(crate) fn card(
    output: &Path,
    measurements: &Measurements,
    direction: Option<Direction>,
    dtype: Option<Dtype>,
) -> Result<CardInputs, CliError> {
    Ok(CardInputs {
        name: file_name(output),
        dtype,
        direction,
        command: command(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        timestamp: timestamp(),
        digests: ck_select_measurements::trained::digests(measurements)?,
        curve: Vec::new(),
        places: Vec::new(),
    })
}

/// Tuned tables to train on, if they were given.
fn tables(args: &Args, wanted: &RowScope, pools: Vec<Arc<Pool>>) -> Result<Option<Tables>, CliError> {
    if pools.is_empty() {
        return Ok(None);
    }
    let tables = winners::read(&args.winners, wanted, &args.gpu)?;
    let winners = winners::among(tables, &pools)?.thinned(MAX_SHAPES_PER_PAIR);
    Ok(Some(Tables { winners, pools }))
}

/// Shapes of a pair that are trained on.
const MAX_SHAPES_PER_PAIR: usize = 40;

struct Tables {
    winners: Winners,
    pools: Vec<Arc<Pool>>,
}

impl Tables {
    fn completed(&self, scope: RowScope, gpu: &Gpu) -> Result<WinnerRows, CliError> {
        let pools: Vec<&Pool> = self.pools.iter().map(AsRef::as_ref).collect();
        let completed = self.winners.completed(scope, gpu.described()?, &pools)?;
        if completed.measurements.rows().is_empty() {
            fail!("the tables have no shape of what was asked for");
        }
        Ok(completed)
    }

    /// Where the winners of held-out pairs stand.
    fn judged(&self, completed: &WinnerRows, trained: &[TrainedForest]) -> Vec<GpuFigures> {
        let mut placed: BTreeMap<String, (usize, Vec<WinnerPlace>)> = BTreeMap::new();
        let Some(ranking) = trained.iter().find(|one| one.goal.target == Target::Relative) else {
            return Vec::new();
        };
        let rows = completed.measurements.rows();
        for item in &ranking.data.problems {
            let row = |place: usize| &rows[ranking.data.rows[place] as usize];
            let score = |place: usize| ranking.validation.predictions[place];
            let winner = item.span.clone().find(|&place| row(place).share == Some(1.0));
            let shape = completed.shape_of(ranking.data.rows[item.span.start]);
            let (Some(winner), Some(shape)) = (winner, shape) else { continue };
            let shape = &self.winners.shapes[shape];
            if shape.winner.is_none() || score(winner).is_none() {
                continue;
            }
            // Equal scores are in the pool's order, as in selections.
            let score = |place| score(place).unwrap_or(f64::NEG_INFINITY);
            let mut order: Vec<usize> = item.span.clone().collect();
            order.sort_by(|&one, &other| score(other).total_cmp(&score(one)));
            let before = order.iter().position(|&place| place == winner);
            let first = order.first();
            let us = first.map(|&place| row(place).latency_ms * 1e3).filter(|us| *us > 0.0);
            let name = format!("{} {}", winners::stem(self.winners.file(shape)), shape.gpu());
            let (kernels, all) = placed.entry(name).or_default();
            *kernels = self.pools[Winners::pool_among(shape, self.pools.len())].len();
            all.push(WinnerPlace::new(shape, before, us));
        }
        placed.into_iter().filter_map(|(name, (kernels, all))| GpuFigures::new(name, kernels, &all)).collect()
    }
}

/// The options with what those for winners leave to their pools, and the pools.
fn with_pools(given: &Args) -> Result<(Args, Vec<Arc<Pool>>), CliError> {
    let mut args = given.clone();
    args.gpu = args.gpu.with_arch(args.gpu.named_arch()?);
    if args.gpu.arch.is_none() {
        refuse!("--winners needs --arch: a model of winners is for one architecture");
    }
    let pools = winners::pools(&args.pool, args.winners.len(), args.gpu.arch)?;
    let scope = winners::scope(&args.rows.filter, pools[0].op(), args.gpu.arch)?;
    args.rows.filter.op = Some(scope.op);
    args.prior = args.prior.or(Some(1.0));
    Ok((args, pools))
}

/// The options with what they leave to the data. A universal training is of all architectures and all
/// convolutions and GEMMs of its rows.
fn with_first_rows(given: &Args, files: &[PathBuf]) -> Result<Args, CliError> {
    let mut args = given.clone();
    if args.rows.filter.op.is_some() && (args.gpu.arch.is_some() || args.universal) {
        return Ok(args);
    }
    let rows = args.rows.filter.first_rows(files)?;
    if args.rows.filter.op.is_none() {
        args.rows.filter.op = Some(if args.universal { rows.op_of_universal()? } else { rows.op()? });
    }
    if args.gpu.arch.is_none() && !args.universal {
        args.gpu.arch = Some(rows.measured_arch(&args.gpu)?);
    }
    Ok(args)
}

/// Writes the model. If that fails in spite of the reserved space, the model is kept elsewhere, since it may
/// have taken hours.
fn write(directory: &Directory, args: &Args) -> Result<(), CliError> {
    // So far nothing with a name is on disk, and Ctrl-C ends the process at once; from here on it is ignored.
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let Err(error) = directory.write(&args.output, args.overwrite) else { return Ok(()) };
    let name = format!("ckselect-{}-{}", file_name(&args.output), std::process::id());
    let aside = std::env::temp_dir().join(name);
    match directory.write(&aside, false) {
        Ok(()) => fail!("{error}; the trained model is in {}", aside.display()),
        Err(_) => Err(error.into()),
    }
}

/// Refuses a GPU of --arch that no row was measured on.
fn check_described(measurements: &Measurements) -> Result<(), CliError> {
    let archs: BTreeSet<_> = measurements.problems().iter().filter_map(Problem::arch).collect();
    if let Some(GpuOverride { arch, .. }) = measurements.described()
        && !archs.is_empty()
        && !archs.contains(arch)
    {
        let archs: Vec<_> = archs.iter().map(ToString::to_string).collect();
        fail!("--arch: found a GPU of {arch}, but the rows are of {}", archs.join(", "));
    }
    Ok(())
}

/// Progress of the target being trained.
impl Watcher for Progress {
    fn begins(&self, target: Target, trainings: usize) {
        self.restart(trainings as u64, format!(" of {target}"));
    }

    fn trained(&self) {
        self.advance(None);
    }
}

/// The results of cross-validation: a line per fold or what was left out, and one over all problems.
fn report(args: &Args, trained: &[TrainedForest]) -> Result<(), CliError> {
    let mut table = Table::new([
        "target", "fold", "problems", "trees", "rmse", "r2", "mean", "median", "p10", "min", "best_of_top3",
    ]);
    for one in trained {
        let mut push = |counts: [Cell; 3], errors: [Option<f64>; 2], found: &Option<Efficiency>| {
            let mut row = vec![Cell::from(one.goal.target.as_str())];
            row.extend(counts);
            row.extend(errors.map(Cell::from));
            row.extend(Efficiency::shares_of(found.as_ref()).map(Cell::from));
            table.push(row);
        };
        for fold in &one.validation.folds {
            let name = fold.left_out.clone().map_or_else(|| (fold.fold + 1).into(), Cell::from);
            let counts = [name, fold.val_groups.into(), fold.best_iteration.into()];
            push(counts, [fold.rmse, fold.r2], &fold.efficiency);
        }
        let all = &one.validation.efficiency;
        let problems = all.as_ref().map(|all| all.problems);
        push(["all".into(), problems.into(), one.forest.trees().len().into()], [None; 2], all);
    }
    table.print(args.format)
}

/// The command line for the card: paths are reduced to file names, since folders differ between users, and
/// options that do not affect the model are left out.
fn command(words: impl Iterator<Item = String>) -> String {
    // An option, with its values.
    let mut options: Vec<Vec<String>> = vec![Vec::new()];
    for word in words.skip(1) {
        if word.starts_with("--") {
            let (name, value) =
                word.split_once('=').map_or((&*word, None), |(name, value)| (name, Some(value)));
            options.push([Some(name), value].into_iter().flatten().map(str::to_owned).collect());
        } else if let Some(option) = options.last_mut() {
            option.push(word);
        }
    }
    let mut line = vec!["ckselect".to_owned()];
    for mut option in options {
        let had_values = option.len() > 1;
        option.retain(|value| !value.starts_with("threads="));
        let is_empty = had_values && option.len() == 1;
        if !is_empty && !matches!(option.first().map(String::as_str), Some("--format" | "--overwrite")) {
            let value = |word: String| if word.contains('/') { file_name(Path::new(&word)) } else { word };
            line.extend(option.into_iter().map(|word| quoted(&value(word))));
        }
    }
    line.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,+:/@%".contains(c);
    if word.chars().all(plain) && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn a_card_has_a_command_that_trains_the_same_anywhere() {
        let card = |line: &str| command(line.split(' ').map(str::to_owned));
        let data = "/opt/ckselect train --data /home/me/a.csv b.csv --output out/m";
        assert_eq!(card(data), "ckselect train --data a.csv b.csv --output m");
        // Up to 9b343f37, '--params' was left without a value, and '--data=' kept its folder.
        assert_eq!(card("ckselect train --params threads=8 --format json"), "ckselect train");
        assert_eq!(
            card("ckselect train --data=/home/me/a.csv --params=threads=8 num_leaves=7 --overwrite"),
            "ckselect train --data a.csv --params num_leaves=7"
        );
    }
}
