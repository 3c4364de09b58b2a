//! The plan of a training: everything but what the data itself records.

use ck_select::directory::Target;
use ck_select::features::Engine;
use ck_select_train::{Goal, Objective, Params, Plan, Stop, TrainError};

use super::columns::extractor;
use super::params::{Param, Settings};
use super::training::{Common, Training};
use crate::error::CliError;

/// Default number of trees that a warm start adds, as in upstream.
const WARM_TREES: &str = "500";

pub(super) fn plan(training: &Training<'_>, common: &Common<'_>) -> Result<Plan, CliError> {
    let goals = goals(training, common)?;
    let extractor = extractor(training, common, goals[0].target)?;
    let names = extractor.schema.names();
    if let Training::Sweeps { chooses_split: true, .. } = training
        && extractor.schema.universal_columns().is_none()
        && !names.contains(&"split_k")
    {
        refuse!(
            "--choose: none of the features is split_k: add it to --features, or train with --prior or \
             --universal"
        );
    }
    // Columns that upstream's engines train as categories.
    let categories = Engine::categories(training.op()).iter().filter(|name| names.contains(name));
    let settings = &common.settings;
    Ok(Plan {
        categories: categories.map(|&name| name.to_owned()).collect(),
        folds: common.args.folds.clone(),
        mode: training.mode(&goals[0].params),
        group_by: settings.group_by.unwrap_or(training.defaults().group_by),
        fold_seed: settings.fold_seed,
        stop: settings.stop.unwrap_or_else(|| stop(training, &goals)),
        seed: settings.seed,
        only_trains: training.only_trains().to_vec(),
        warm_start: training.warm_start().cloned(),
        extractor,
        goals,
    })
}

/// When trainings stop by default. LightGBM's ranking losses are too coarse to say when.
fn stop(training: &Training<'_>, goals: &[Goal]) -> Stop {
    let is_coarse = goals.iter().any(|goal| goal.objective == Objective::Lambdarank);
    match training {
        Training::Universal { .. } => Stop::Never,
        _ if is_coarse => Stop::Never,
        _ if goals[0].target == Target::Relative => Stop::Inner,
        _ => Stop::HeldOut,
    }
}

/// The forests to train; the first ranks.
fn goals(training: &Training<'_>, common: &Common<'_>) -> Result<Vec<Goal>, CliError> {
    let defaults = training.defaults();
    let objective = common.objective.unwrap_or(defaults.objective);
    training.check_objective(objective)?;
    let mut goals: Vec<Goal> = Vec::new();
    let ranks = objective.only_ranks();
    if ranks {
        goals.push(Goal { target: Target::Relative, objective, params: (defaults.params)(objective) });
    }
    for &target in common.targets.as_deref().unwrap_or(defaults.targets) {
        if target == Target::Relative {
            if ranks {
                continue;
            }
            refuse!("--targets: relative needs an objective that ranks, such as --objective relative");
        }
        if goals.iter().any(|goal| goal.target == target) {
            refuse!("--targets: {target} appears twice");
        }
        // Upstream never takes logarithms of times.
        let objective = match (objective, target) {
            (Objective::Raw, _) | (_, Target::Latency) => Objective::Raw,
            _ => Objective::Log1p,
        };
        // Beside a forest that ranks, small trees are enough, as for one that only ranks.
        let params = Params::new(if ranks { Objective::Relative } else { objective });
        goals.push(Goal { target, objective, params });
    }
    set_params(&mut goals, training, common)?;
    Ok(goals)
}

/// Sets the parameters of `--params` in the forests that they are for.
fn set_params(goals: &mut [Goal], training: &Training<'_>, common: &Common<'_>) -> Result<(), CliError> {
    let usage = |error: TrainError| CliError::usage(format!("--params: {error}"));
    if training.warm_start().is_some() {
        goals.iter_mut().try_for_each(|goal| goal.params.set("n_estimators", WARM_TREES)).map_err(usage)?;
    }
    for &Param { text, only, name, value } in &common.params {
        if only.is_none() && Settings::NAMES.contains(&name) {
            continue;
        }
        let mut used = false;
        for goal in goals.iter_mut().filter(|goal| only.is_none_or(|only| only == goal.target)) {
            // Parameters of our own objectives do not apply to the other forests.
            if name == "sharpness" && goal.objective != Objective::Listwise {
                continue;
            }
            goal.params.set(name, value).map_err(usage)?;
            used = true;
        }
        if !used {
            refuse!("--params: no forest of this training uses '{text}'");
        }
    }
    goals.iter().try_for_each(|goal| goal.params.validate()).map_err(usage)
}
