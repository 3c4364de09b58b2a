//! The columns of a training: the estimate's where it takes part, then features of problems and kernels.

use ck_select::directory::Target;
use ck_select::features::{Engine, Extractor, Rules, Schema};
use ck_select::hardware::Hardware;
use ck_select::vocab::{Direction, Op};

use super::training::{Common, Training};
use crate::error::CliError;

/// Features by the name of their engine, or by their own names.
enum Features<'a> {
    Engine(Engine),
    Names(Vec<&'a str>),
}

impl<'a> Features<'a> {
    fn from_option(list: &'a str) -> Self {
        list.parse().map_or_else(
            |_| Self::Names(list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()),
            Self::Engine,
        )
    }

    fn schema(self, op: Op) -> Result<(Schema, Rules), CliError> {
        match self {
            Self::Engine(engine) if engine.op() != op => {
                let (engine, its) = (engine.as_str(), engine.op());
                refuse!("--features: {engine} is for {its}, the data is for {op}");
            }
            Self::Engine(engine) => Ok((Schema::for_engine(engine), engine.rules())),
            Self::Names(names) => {
                let schema = Schema::by_names(op, &names);
                let schema = schema.map_err(|error| CliError::usage(format!("--features: {error}")))?;
                Ok((schema, Rules::from_names(&names)))
            }
        }
    }
}

/// Columns and rules of a training by the target that ranks, with the constants of its architecture's profile.
pub(super) fn extractor(
    training: &Training<'_>,
    common: &Common<'_>,
    rank_by: Target,
) -> Result<Extractor, CliError> {
    let (op, gpu) = (training.op(), training.gpu(common));
    let direction = common.args.rows.filter.direction.unwrap_or(Direction::Forward);
    let hardware = gpu.arch.and_then(|arch| Hardware::for_arch(&arch)).unwrap_or_default();
    let ranking = || Features::Engine(Engine::ranking_for(op, direction));
    let estimate = |option: &str| {
        Schema::universal::<&str>(op, None).map_err(|error| CliError::usage(format!("{option}: {error}")))
    };
    let own =
        |usual: Features<'_>| common.args.features.as_deref().map_or(usual, Features::from_option).schema(op);
    let (schema, rules) = match training {
        Training::Universal { .. } => {
            let schema = estimate("--universal")?;
            return Ok(Extractor { schema, hardware, ..Extractor::for_engine(Engine::default_for(op)) });
        }
        // Forests continue with the features that they were trained with.
        Training::Sweeps { warm_start: Some(warm), .. } if common.args.features.is_none() => {
            return Ok(Extractor { arch: gpu.arch, ..warm.extractor().clone() });
        }
        Training::Sweeps { prior, .. } => {
            let usual = match rank_by {
                Target::Relative => ranking(),
                _ => Features::Engine(Engine::upstream_for(op)),
            };
            let (schema, rules) = own(usual)?;
            let with_estimate = prior.map(|_| estimate("--prior")).transpose()?;
            (with_estimate.map_or(schema.clone(), |first| first.followed_by(schema)), rules)
        }
        Training::Winners { .. } => {
            let usual =
                Engine::winner_features(op).map_or_else(ranking, |names| Features::Names(names.to_vec()));
            let (schema, rules) = own(usual)?;
            (estimate("--prior")?.followed_by(schema), rules)
        }
    };
    let rules = rules.for_training(op);
    Ok(Extractor { schema, rules, hardware, arch: gpu.arch, direction, is_ours: true })
}
