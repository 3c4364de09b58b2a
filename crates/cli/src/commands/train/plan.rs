//! Turns the options into a plan, and checks them before any work.

use std::fmt::Display;
use std::path::PathBuf;

use ck_select::directory::Target;
use ck_select::features::{Engine, Extractor, Rules, Schema};
use ck_select::hardware::Hardware;
use ck_select::operation::Operation;
use ck_select::vocab::{Direction, Op, UnknownWord};
use ck_select_enumerate::rules::AiterRules;
use ck_select_measurements::{Measurements, files_of};
use ck_select_train::{Goal, GroupBy, Holdout, Objective, Params, Plan, Stop, TrainError, WarmStart};

use super::super::{Params as Words, pair, warm_start_of, whole, word};
use super::{Args, Folds};
use crate::error::CliError;

/// The features for winners: those that need no number of a word, because tables have kernels of pipelines
/// that no trainer numbers, and not N and K, by which a forest would know its pairs by heart.
const WINNER_FEATURES: [&str; 48] = [
    "M", "integers", "tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "warp_k", "warp_tile_m",
    "warp_tile_k", "pad_n", "pad_k", "num_warps", "tile_volume", "tile_mn", "lds_usage_estimate",
    "num_tiles_m", "num_tiles_n", "num_tiles_k", "total_output_tiles", "tile_eff_m", "tile_eff_n",
    "tile_eff_k", "overall_tile_efficiency", "cu_utilization", "needs_padding_m", "needs_padding_n",
    "needs_padding_k", "pipeline_place", "scheduler_place", "epilogue_place", "quant_place", "block_per_cu",
    "store_threads", "preshuffled", "batched", "row_scales", "repeat_m", "repeat_n", "shuffle_m",
    "shuffle_n", "load_threads_a", "load_threads_b", "store_width", "rounds", "wave_quant_efficiency",
    "cu_macs", "cu_bytes",
];

/// Default number of trees that a warm start adds, as in upstream.
const WARM_TREES: &str = "500";

/// The files to read, in order, and whether each is only trained on.
pub(super) fn files(args: &Args) -> Result<(Vec<PathBuf>, Vec<bool>), CliError> {
    let (mut files, mut only_trains) = (Vec::new(), Vec::new());
    for (paths, only) in [(&args.data, false), (&args.extra_data, true)] {
        for file in paths.iter().map(|path| files_of(path)).collect::<Result<Vec<_>, _>>()?.concat() {
            if files.contains(&file) {
                refuse!("{} is given twice", file.display());
            }
            files.push(file);
            only_trains.push(only);
        }
    }
    Ok((files, only_trains))
}

/// One of `--params`.
struct Param<'a> {
    text: &'a str,
    /// The forest that it is for; `None` for all.
    only: Option<Target>,
    name: &'a str,
    value: &'a str,
}

/// The parameters: first those of all forests, so that those of one forest override them wherever they stand.
fn params(pairs: &[String]) -> Result<Vec<Param<'_>>, CliError> {
    let mut read: Vec<Param<'_>> = Vec::with_capacity(pairs.len());
    let refused = |error: &dyn Display| CliError::usage(format!("--params: {error}"));
    for text in pairs {
        let (name, value) = pair(text).map_err(|error| refused(&error))?;
        let (only, name) = match name.split_once('.') {
            Some((target, name)) => {
                (Some(target.parse().map_err(|error: UnknownWord| refused(&error))?), name)
            }
            None => (None, name),
        };
        let name = Params::name(name);
        if let Some(other) = read.iter().find(|other| (other.only, other.name) == (only, name)) {
            return Err(refused(&format_args!("'{}' and '{text}' set one parameter", other.text)));
        }
        read.push(Param { text, only, name, value });
    }
    read.sort_by_key(|param| param.only.is_some());
    Ok(read)
}

/// What `--params` sets of a training besides the parameters of its forests.
pub(super) struct Settings {
    seed: u64,
    fold_seed: Option<u64>,
    /// Folds to train at the same time; 0: one per processor.
    pub(super) threads: usize,
    hard_examples: u8,
    stop: Option<Stop>,
    group_by: Option<GroupBy>,
}

impl Settings {
    const NAMES: [&str; 6] = ["seed", "fold_seed", "threads", "hard_examples", "early_stopping", "group_by"];

    pub(super) fn read(words: &[String]) -> Result<Self, CliError> {
        let is_ours =
            |word: &&String| word.split_once('=').is_some_and(|(name, _)| Self::NAMES.contains(&name));
        let own: Vec<String> = words.iter().filter(is_ours).cloned().collect();
        let params = Words::read(&own, &Self::NAMES)?;
        Ok(Self {
            seed: params.get("seed", whole(0..=1_000_000_000))?.unwrap_or(42),
            fold_seed: params.get("fold_seed", whole(0..=u64::MAX))?,
            threads: params.get("threads", whole(0..=1 << 16))?.unwrap_or(0),
            hard_examples: params.get("hard_examples", whole(0..=20))?.unwrap_or(0),
            stop: params.get("early_stopping", word)?,
            group_by: params.get("group_by", word)?,
        })
    }
}

fn objective(args: &Args, warm_start: Option<&WarmStart>) -> Result<Objective, CliError> {
    let objective = match &args.objective {
        Some(word) => word.parse().map_err(|error| CliError::usage(format!("--objective: {error}")))?,
        None if args.universal => Objective::Listwise,
        None => warm_start.and_then(WarmStart::objective).unwrap_or(Objective::Lambdarank),
    };
    if args.prior.is_some() && !matches!(objective, Objective::Listwise | Objective::Lambdarank) {
        refuse!("--prior: found --objective {objective}, expected listwise or lambdarank");
    }
    Ok(objective)
}

/// The forests to train; the first ranks.
fn goals(args: &Args, warm_start: Option<&WarmStart>) -> Result<Vec<Goal>, CliError> {
    let objective = objective(args, warm_start)?;
    let mut goals: Vec<Goal> = Vec::new();
    let ranks = objective.only_ranks();
    if ranks {
        let params = match (args.universal, args.winners.is_empty()) {
            (true, _) => Params::universal(),
            (false, true) => Params::new(objective),
            (false, false) => Params::of_winners(objective),
        };
        goals.push(Goal { target: Target::Relative, objective, params });
    }
    let only_ranks = args.universal || args.prior.is_some();
    let usual = if only_ranks { Vec::new() } else { vec![Target::Tflops.as_str().to_owned()] };
    for word in args.targets.as_ref().unwrap_or(&usual) {
        let target: Target = word.parse().map_err(|error| CliError::usage(format!("--targets: {error}")))?;
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
    set_params(&mut goals, args)?;
    Ok(goals)
}

/// Sets what `--params` says of the forests.
fn set_params(goals: &mut [Goal], args: &Args) -> Result<(), CliError> {
    let usage = |error: TrainError| CliError::usage(format!("--params: {error}"));
    if args.warm_start.is_some() {
        goals.iter_mut().try_for_each(|goal| goal.params.set("n_estimators", WARM_TREES)).map_err(usage)?;
    }
    for Param { text, only, name, value } in params(&args.params)? {
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

/// Feature columns, rules and hardware.
fn extractor(args: &Args, ranks: bool) -> Result<Extractor, CliError> {
    let op = op(args);
    let universal = |option| {
        Schema::universal::<&str>(op, None).map_err(|error| CliError::usage(format!("{option}: {error}")))
    };
    if args.universal {
        let schema = universal("--universal")?;
        return Ok(Extractor { schema, ..Extractor::of_engine(Engine::default_for(op)) });
    }
    let (mut schema, rules) = schema(args, op, ranks)?;
    if args.prior.is_some() {
        schema = universal("--prior")?.followed_by(schema);
    }
    Ok(Extractor {
        schema,
        rules: rules.for_training(op),
        hardware: Hardware::default(),
        arch: args.gpu.arch,
        direction: args.rows.filter.direction.unwrap_or(Direction::Forward),
        is_ours: true,
    })
}

/// The features that --features names, else the best for the data.
fn schema(args: &Args, op: Op, ranks: bool) -> Result<(Schema, Rules), CliError> {
    let named = |names: &[&str]| {
        let schema = Schema::by_names(op, names);
        let schema = schema.map_err(|error| CliError::usage(format!("--features: {error}")))?;
        Ok((schema, Rules::from_names(names)))
    };
    let engine = match args.features.as_deref().map(|list| (list, list.parse::<Engine>())) {
        Some((_, Ok(engine))) => engine,
        Some((list, Err(_))) => {
            let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
            return named(&names.collect::<Vec<_>>());
        }
        None if !args.winners.is_empty() && op == AiterRules::OP => return named(&WINNER_FEATURES),
        None if !ranks => Engine::upstream_for(op),
        None => Engine::ranking_for(op, args.rows.filter.direction.unwrap_or(Direction::Forward)),
    };
    if engine.op() != op {
        let (engine, its) = (engine.as_str(), engine.op());
        refuse!("--features: {engine} is for {its}, the data is for {op}");
    }
    Ok((Schema::of_engine(engine), engine.rules()))
}

/// The operation, which [`super::run`] takes from the data where the options have none.
pub(super) fn op(args: &Args) -> Op {
    args.rows.filter.op.unwrap_or(Operation::UNSTATED)
}

/// Everything except what the data itself records.
pub(super) fn plan(args: &Args, settings: &Settings, only_trains: Vec<bool>) -> Result<Plan, CliError> {
    let holdout = holdout(args, settings)?;
    let warm_start = args.warm_start.as_deref().map(warm_start_of).transpose()?;
    let goals = goals(args, warm_start.as_ref())?;
    let rank_by = goals[0].target;
    let ranks = rank_by == Target::Relative;
    let mut extractor = extractor(args, ranks)?;
    extractor.hardware = args.gpu.arch.and_then(|arch| Hardware::for_arch(&arch)).unwrap_or_default();
    if let (Some(warm), None) = (&warm_start, &args.features) {
        // Forests continue with the features that they were trained with.
        extractor = Extractor { arch: args.gpu.arch, ..warm.extractor().clone() };
    }
    let names = extractor.schema.names();
    let sees_split = extractor.schema.universal_columns().is_some() || names.contains(&"split_k");
    if args.choose.chooses_split(op(args))? && !sees_split {
        refuse!(
            "--choose: none of the features is split_k: add it to --features, or train with \
                       --prior or --universal"
        );
    }
    // LightGBM's ranking losses are too coarse to say when to stop.
    let coarse = goals.iter().any(|goal| goal.objective == Objective::Lambdarank);
    let stop = settings.stop.unwrap_or(match (args.universal || coarse, ranks) {
        (true, _) => Stop::Never,
        (false, true) => Stop::Inner,
        (false, false) => Stop::HeldOut,
    });
    if warm_start.as_ref().is_some_and(|warm| args.universal || warm.prior().is_some()) {
        refuse!("--warm-start: a universal model is adapted by `ckselect tune`");
    }
    // Columns that upstream's engines train as categories.
    let categories = Engine::categories(op(args)).iter().filter(|name| names.contains(name));
    Ok(Plan {
        categories: categories.map(|&name| name.to_owned()).collect(),
        rank_by,
        folds: if let Folds::Count(count) = args.folds { count.into() } else { 5 },
        holdout,
        prior: if args.universal { Some(goals[0].params.sharpness()) } else { args.prior },
        group_by: settings.group_by.unwrap_or(match args.winners.is_empty() {
            true if args.universal => GroupBy::Sizes,
            true => GroupBy::Problem,
            false => GroupBy::Pair,
        }),
        fold_seed: settings.fold_seed,
        stop,
        hard_rounds: settings.hard_examples.into(),
        seed: settings.seed,
        only_trains,
        warm_start,
        adapts: false,
        extractor,
        goals,
    })
}

fn holdout(args: &Args, settings: &Settings) -> Result<Option<Holdout>, CliError> {
    let Folds::Each(word) = &args.folds else { return Ok(None) };
    if settings.fold_seed.is_some() || settings.group_by.is_some() {
        refuse!("--params: fold_seed and group_by are for a number of --folds");
    }
    if !args.winners.is_empty() {
        refuse!("--folds: found {word}, expected a number with --winners");
    }
    Ok(Some(Holdout::from_word(word)))
}

/// Features are computed with the GPU constants of a file, else with those that the data records, else with
/// the profile of the architecture.
pub(super) fn adopt_hardware(
    plan: &mut Plan,
    measurements: &Measurements,
    args: &Args,
) -> Result<(), CliError> {
    // In a universal training and in one on winners, each row has its own.
    if args.universal || !args.winners.is_empty() {
        return Ok(());
    }
    if let (Some(arch), Some(_)) = (args.gpu.arch, plan.prior) {
        plan.extractor.hardware = match args.gpu.described()? {
            Some(gpu) => gpu.device.hardware,
            None => measurements.device(arch)?.hardware,
        };
        return Ok(());
    }
    if args.gpu.is_described() {
        plan.extractor.hardware = args.gpu.hardware_over(plan.extractor.hardware)?;
        return Ok(());
    }
    match (measurements.hardware(), args.gpu.arch) {
        (Some(hardware), _) => plan.extractor.hardware = hardware,
        (None, Some(arch)) if plan.warm_start.is_none() && Hardware::for_arch(&arch).is_none() => {
            let known = Hardware::PROFILES.join(", ");
            fail!(
                "--arch: there is no profile of {arch}, only of {known}, and the data records no constants \
                 of the GPU: give --arch a file (docs/estimate.md)"
            );
        }
        _ => {}
    }
    Ok(())
}
