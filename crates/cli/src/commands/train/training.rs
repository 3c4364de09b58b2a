//! The three ways to train, and what each leaves to its defaults.
//!
//! | default | sweeps | universal | winners |
//! |---|---|---|---|
//! | objective | the warm start's, else lambdarank | listwise | lambdarank |
//! | parameters | by the objective | of universal models | of winners |
//! | targets beside the ranking | tflops; none with a prior | none | none |
//! | features | the operation's engine | the estimate's alone | chosen for winners |
//! | groups of folds | problem | sizes | pair of N and K |
//! | prior | `--prior` | the sharpness | 1 |
//! | constants of a GPU | the plan's, or the data's | each row's | each row's |
//! | direction, type | one, or an error | any | one if all rows agree |
//!
//! The command line is read once, into one of these and [`Common`]. Whoever needs to know the way matches on
//! [`Training`]; nobody infers it from which options were given.

use std::path::PathBuf;
use std::sync::Arc;

use ck_select::directory::Target;
use ck_select::estimate::ops_like;
use ck_select::pool::Pool;
use ck_select::vocab::{Direction, Dtype, Op};
use ck_select_measurements::{Measurements, files_of};
use ck_select_train::{Folds, GroupBy, Mode, Objective, Params, WarmStart};

use super::super::gpu::Gpu;
use super::super::{warm_start_of, winners};
use super::Args;
use super::params::{Param, Settings, params};
use crate::error::CliError;

/// The command line, with its words as values where they mean the same in every way to train.
pub(super) struct Common<'a> {
    pub(super) args: &'a Args,
    pub(super) targets: Option<Vec<Target>>,
    pub(super) objective: Option<Objective>,
    pub(super) settings: Settings,
    pub(super) params: Vec<Param<'a>>,
}

impl<'a> Common<'a> {
    pub(super) fn new(args: &'a Args) -> Result<Self, CliError> {
        let settings = Settings::read(&args.params)?;
        let is_grouped = settings.fold_seed.is_some() || settings.group_by.is_some();
        if is_grouped && matches!(args.folds, Folds::Each(_)) {
            refuse!("--params: fold_seed and group_by are for a number of --folds");
        }
        let target =
            |word: &String| word.parse().map_err(|error| CliError::usage(format!("--targets: {error}")));
        let objective =
            |word: &String| word.parse().map_err(|error| CliError::usage(format!("--objective: {error}")));
        Ok(Self {
            args,
            objective: args.objective.as_ref().map(objective).transpose()?,
            targets: args.targets.as_ref().map(|list| list.iter().map(target).collect()).transpose()?,
            settings,
            params: params(&args.params)?,
        })
    }
}

/// Files of measurements.
pub(super) struct DataFiles {
    pub(super) paths: Vec<PathBuf>,
    /// For each file, whether its problems are never held out.
    pub(super) only_trains: Vec<bool>,
}

impl DataFiles {
    fn new(args: &Args) -> Result<Self, CliError> {
        let (mut paths, mut only_trains) = (Vec::new(), Vec::new());
        for (given, only) in [(&args.data, false), (&args.extra_data, true)] {
            for file in given.iter().map(|path| files_of(path)).collect::<Result<Vec<_>, _>>()?.concat() {
                if paths.contains(&file) {
                    refuse!("{} is given twice", file.display());
                }
                paths.push(file);
                only_trains.push(only);
            }
        }
        Ok(Self { paths, only_trains })
    }
}

/// A training: the kind of model, and the data that it is trained from.
#[allow(clippy::large_enum_variant)] // a command has one
pub(super) enum Training<'a> {
    /// A model for one GPU, from its measurements.
    Sweeps {
        data: DataFiles,
        op: Op,
        /// The GPU that was measured, with its architecture.
        gpu: Gpu,
        chooses_split: bool,
        /// The estimate's weight, if it takes part.
        prior: Option<f64>,
        warm_start: Option<WarmStart>,
    },
    /// A model for any GPU, from measurements of several.
    Universal {
        data: DataFiles,
        op: Op,
        /// Whether rows of all operations count that the estimate sees as this one.
        several_ops: bool,
        chooses_split: bool,
    },
    /// A model for one architecture, from the winners of tuned tables.
    Winners {
        tables: &'a [PathBuf],
        /// One for all tables, or one for each.
        pools: Vec<Arc<Pool>>,
        op: Op,
        /// The GPU of rows that record no compute units, with its architecture.
        gpu: Gpu,
        prior: f64,
    },
}

impl<'a> Training<'a> {
    pub(super) fn new(args: &'a Args) -> Result<Self, CliError> {
        if !args.winners.is_empty() {
            Self::winners(args)
        } else if args.universal {
            Self::universal(args)
        } else {
            Self::sweeps(args)
        }
    }

    fn sweeps(args: &Args) -> Result<Self, CliError> {
        let (data, filter) = (DataFiles::new(args)?, &args.rows.filter);
        let (op, arch) = match (filter.op, args.gpu.arch) {
            (Some(op), Some(arch)) => (op, arch),
            (op, arch) => {
                let rows = filter.first_rows(&data.paths)?;
                let op = op.map_or_else(|| rows.op(), Ok)?;
                (op, arch.map_or_else(|| rows.measured_arch(&args.gpu), Ok)?)
            }
        };
        let warm_start = args.warm_start.as_deref().map(warm_start_of).transpose()?;
        if warm_start.as_ref().is_some_and(|warm| warm.prior().is_some()) {
            return Err(no_universal_warm_start());
        }
        let chooses_split = args.choose.chooses_split(op)?;
        let gpu = args.gpu.with_arch(Some(arch));
        Ok(Self::Sweeps { data, op, gpu, chooses_split, prior: args.prior, warm_start })
    }

    fn universal(args: &Args) -> Result<Self, CliError> {
        if args.warm_start.is_some() {
            return Err(no_universal_warm_start());
        }
        let (data, filter) = (DataFiles::new(args)?, &args.rows.filter);
        let op = filter.op.map_or_else(|| filter.first_rows(&data.paths)?.op_of_universal(), Ok)?;
        let several_ops = filter.op.is_none() && ops_like(op).count() > 1;
        let chooses_split = args.choose.chooses_split(op)?;
        Ok(Self::Universal { data, op, several_ops, chooses_split })
    }

    fn winners(args: &'a Args) -> Result<Self, CliError> {
        if let Folds::Each(holdout) = &args.folds {
            refuse!("--folds: found {holdout}, expected a number with --winners");
        }
        if args.choose.is_given() {
            refuse!(
                "--choose: splits are not learned from --winners: what was tried is hardly ever right more often \
                 than never splitting (docs/what-did-not-work.md)"
            );
        }
        let gpu = args.gpu.with_arch(args.gpu.named_arch()?);
        if gpu.arch.is_none() {
            refuse!("--winners needs --arch: a model of winners is for one architecture");
        }
        let pools = winners::pools(&args.pool, args.winners.len(), gpu.arch)?;
        let op = winners::scope(&args.rows.filter, pools[0].op(), gpu.arch)?.op;
        Ok(Self::Winners { tables: &args.winners, pools, op, gpu, prior: args.prior.unwrap_or(1.0) })
    }

    pub(super) const fn op(&self) -> Op {
        match self {
            Self::Sweeps { op, .. } | Self::Universal { op, .. } | Self::Winners { op, .. } => *op,
        }
    }

    /// The GPU of rows that do not name theirs.
    pub(super) const fn gpu<'g>(&'g self, common: &Common<'g>) -> &'g Gpu {
        match self {
            Self::Sweeps { gpu, .. } | Self::Winners { gpu, .. } => gpu,
            Self::Universal { .. } => &common.args.gpu,
        }
    }

    /// For each file, whether its problems are never held out; false for files beyond the end.
    pub(super) fn only_trains(&self) -> &[bool] {
        match self {
            Self::Sweeps { data, .. } | Self::Universal { data, .. } => &data.only_trains,
            Self::Winners { .. } => &[],
        }
    }

    pub(super) const fn warm_start(&self) -> Option<&WarmStart> {
        match self {
            Self::Sweeps { warm_start, .. } => warm_start.as_ref(),
            Self::Universal { .. } | Self::Winners { .. } => None,
        }
    }

    /// The values of options that are not given.
    pub(super) fn defaults(&self) -> Defaults {
        match self {
            Self::Sweeps { warm_start, prior, .. } => Defaults {
                objective: warm_start
                    .as_ref()
                    .and_then(WarmStart::objective)
                    .unwrap_or(Objective::Lambdarank),
                params: Params::new,
                targets: if prior.is_none() { &[Target::Tflops] } else { &[] },
                group_by: GroupBy::Problem,
            },
            Self::Universal { .. } => Defaults {
                objective: Objective::Listwise,
                params: |_| Params::universal(),
                targets: &[],
                group_by: GroupBy::Sizes,
            },
            Self::Winners { .. } => Defaults {
                objective: Objective::Lambdarank,
                params: Params::for_winners,
                targets: &[],
                group_by: GroupBy::Pair,
            },
        }
    }

    /// Refuses an objective that takes no prior, where the estimate takes part: the objective has to order the
    /// kernels of a problem.
    pub(super) fn check_objective(&self, objective: Objective) -> Result<(), CliError> {
        let option = match self {
            Self::Sweeps { prior: Some(_), .. } => "--prior",
            Self::Winners { .. } => "--winners",
            Self::Sweeps { prior: None, .. } | Self::Universal { .. } => return Ok(()),
        };
        if matches!(objective, Objective::Listwise | Objective::Lambdarank) {
            return Ok(());
        }
        refuse!("{option}: found --objective {objective}, expected listwise or lambdarank")
    }

    /// The mode of the plan; `ranking` are the parameters of its first forest.
    pub(super) fn mode(&self, ranking: &Params) -> Mode {
        match *self {
            Self::Sweeps { prior, .. } => Mode::Sweeps { prior },
            Self::Universal { .. } => Mode::Universal { prior: ranking.sharpness() },
            Self::Winners { prior, .. } => Mode::Winners { prior },
        }
    }

    /// The direction and the element type that a model is for; `None` for any.
    pub(super) fn direction_and_dtype(
        &self,
        measurements: &Measurements,
    ) -> Result<(Option<Direction>, Option<Dtype>), CliError> {
        let (direction, dtype) = (|| measurements.common_direction(), || measurements.common_dtype());
        Ok(match self {
            Self::Sweeps { .. } => (direction()?, dtype()?),
            Self::Universal { .. } => (None, None),
            // Tables may be of fp8 and int8, and of families of several types; pools of several directions.
            Self::Winners { .. } => (direction().ok().flatten(), dtype().ok().flatten()),
        })
    }
}

/// Values of options that are not given.
pub(super) struct Defaults {
    pub(super) objective: Objective,
    /// Parameters of the forest that ranks.
    pub(super) params: fn(Objective) -> Params,
    /// Targets besides the ranking.
    pub(super) targets: &'static [Target],
    /// Which problems stay on one side of a fold.
    pub(super) group_by: GroupBy,
}

fn no_universal_warm_start() -> CliError {
    CliError::usage("--warm-start: a universal model is adapted by `ckselect tune`")
}
