//! Reads the rows, trains and writes the model.

use std::path::Path;
use std::sync::Arc;

use ck_select::directory::Target;
use ck_select::vocab::{Direction, Dtype};
use ck_select_evaluate::page;
use ck_select_measurements::Measurements;
use ck_select_train::{
    CardInputs, Directory, Efficiency, Folds, Plan, TrainError, TrainedForest, Watcher, train,
};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::super::winners;
use super::Args;
use super::plan::plan;
use super::rows::{TrainingRows, check, hardware};
use super::training::{Common, Training};
use crate::error::CliError;
use crate::output::file_name;
use crate::progress::Progress;
use crate::table::{Cell, ResultTable};
use crate::timestamp::timestamp;

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let common = Common::new(args)?;
    let training = Training::new(args)?;
    let mut plan = plan(&training, &common)?;
    Directory::check_free(&args.output, args.overwrite)?;
    let rows = TrainingRows::read(&training, &common)?;
    let measurements = rows.measurements();
    check(measurements, &training, &common)?;
    plan.extractor.hardware = hardware(plan.extractor.hardware, measurements, &training)?;
    let (direction, dtype) = training.direction_and_dtype(measurements)?;
    let mut inputs = card(&args.output, measurements, direction, dtype)?;
    plan.check_warm_start(inputs.dtype)?;
    let space = Directory::reserve(&args.output, args.overwrite, &plan, measurements.rows().len())?;
    let trained = train_in_threads(measurements, &plan, common.settings.threads)?;
    if let TrainingRows::Tuned(tuned) = &rows {
        inputs.places = tuned.judged(&trained);
        say_if_unjudged(&plan, &inputs);
    }
    let mut directory = Directory::new(measurements, &plan, &trained, &inputs)?;
    directory.add_page(page::training(measurements, &plan, &trained, &inputs));
    drop(space);
    write(&directory, args)?;
    match rows {
        TrainingRows::Measured(_) => folds_table(&trained).print(args.format),
        TrainingRows::Tuned(_) => winners::table(&inputs.places).print(args.format),
    }
}

fn train_in_threads(
    measurements: &Measurements,
    plan: &Plan,
    threads: usize,
) -> Result<Vec<TrainedForest>, CliError> {
    let workers =
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(TrainError::refused)?;
    let bar = Progress::new("training", 0, "trainings");
    let trained = workers.install(|| train(measurements, plan, &bar));
    bar.end();
    Ok(trained?)
}

fn say_if_unjudged(plan: &Plan, inputs: &CardInputs) {
    if inputs.places.is_empty() && plan.folds != Folds::Count(1) {
        let group = plan.group_by;
        say!(
            "ckselect: no winner was held out, so there are no figures: these need marked winners, and two \
             groups of shapes (group_by={group})"
        );
    }
}

/// The part of a model's card about its data and this process.
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
fn folds_table(trained: &[TrainedForest]) -> ResultTable {
    let mut table = ResultTable::new([
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
    table
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
