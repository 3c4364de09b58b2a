//! Searches for kernels with high predictions: among GEMM kernels that nobody has compiled yet, or in a pool.

mod evolve;
mod exhaust;
mod sample;
mod score;
mod space;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use ck_select_enumerate::rules::Rules;
use ck_select_model::estimate::Estimator;
use ck_select_model::features::{Engine, Extractor};
use ck_select_model::model::Model;
use ck_select_model::select::{RankError, RankScratch, Ranked, Ranker};
use ck_select_types::kernel::Kernel;
use ck_select_types::problem::{Checked, GemmProblem, Problem};
use ck_select_types::vocab::{Arch, Op};
use rand::SeedableRng;
use rand::rngs::StdRng;

pub use space::{Constraints, Point, Space};

use score::Scorer;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Random points, as many as the budget allows.
    Random,
    /// Discrete differential evolution with upstream's parameters.
    Evolve,
    /// Every valid point.
    Exhaustive,
}

impl Strategy {
    /// Their words; the first two are upstream's.
    pub const WORDS: [(&'static str, Self); 3] =
        [("random", Self::Random), ("de", Self::Evolve), ("exhaustive", Self::Exhaustive)];
}

/// The budget and the size of the result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How to search.
    pub strategy: Strategy,
    /// Maximum number of points to score; the exhaustive search scores all.
    pub budget: usize,
    /// How many of the best points to keep.
    pub top: usize,
    /// The same seed gives the same points.
    pub seed: u64,
}

/// A found kernel, which may not exist yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The kernel, under the name that upstream would give it.
    pub kernel: Kernel,
    /// The parts into which the reduction is split: the problem's, unless it leaves the choice.
    pub split_k: i32,
    /// The model's score, or the estimate's time in microseconds.
    pub score: f64,
}

/// What scores the kernels.
#[derive(Debug, Clone, Copy)]
pub enum By<'a> {
    /// A model for GEMMs of one GPU.
    Model(&'a Arc<Model>),
    /// The estimate, and the architecture whose rules say what can be built.
    Estimate(&'a Estimator, Option<Arch>),
}

impl By<'_> {
    fn higher_is_better(self) -> bool {
        match self {
            Self::Model(model) => model.spec().rank_by.higher_is_better(),
            Self::Estimate(..) => false,
        }
    }

    /// The pipelines that there are, and the hardware.
    fn extractor(&self) -> Cow<'_, Extractor> {
        match self {
            Self::Model(model) => Cow::Borrowed(model.extractor()),
            Self::Estimate(estimator, _) => Cow::Owned(Extractor {
                hardware: estimator.device().hardware,
                ..Extractor::of_engine(Engine::of_op(Op::Gemm))
            }),
        }
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The best points, best first.
    pub found: Vec<Found>,
    /// Number of scored points.
    pub scored: usize,
}

/// Why a search is impossible.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A problem that no kernel of the space computes.
    #[error(
        "the space has plain GEMMs with the usual types of B and of results, such as '{0}', and none that \
         computes the problem; give a pool"
    )]
    Unfit(String),
    /// Convolutions have no space of parameters.
    #[error(
        "{0} has no space of parameters to search, only {gemm} has: give a pool",
        gemm = Op::Gemm
    )]
    NoSpace(Op),
    /// The problem is not a GEMM.
    #[error("the problem is not a GEMM")]
    NotAGemm,
    /// Scores of different draws cannot be compared.
    #[error(
        "the scores of a model with the estimate, such as a universal or adapted one, are relative to the best of \
         a pool: give a pool"
    )]
    NeedsPool,
    /// The constraints need more information.
    #[error("{0}")]
    Constraints(String),
    /// The estimate has no time for any point.
    #[error("the estimate has no time for any point of the space: {0}")]
    NoEstimate(String),
    /// No point of the space is valid.
    #[error("no point of the space is valid")]
    NoPoint,
    /// The model cannot score the points.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// The points are not a pool.
    #[error(transparent)]
    Pool(#[from] ck_select_types::pool::PoolError),
}

/// Receives the number of scored points, and the total.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Scores all kernels of a ranker's pool, of either operation; those that the model cannot describe are
/// ignored.
pub fn search_pool(ranker: &Ranker, problem: Checked<'_>, top: usize) -> Result<Outcome, SearchError> {
    let mut scratch = RankScratch::default();
    ranker.ranking(problem, None, usize::MAX, &mut scratch)?;
    let pool = ranker.pool();
    let found = |&Ranked { index, split_k, score }: &Ranked| {
        Some(Found { kernel: pool.get(index)?.clone(), split_k, score })
    };
    let ranking = scratch.ranking();
    Ok(Outcome { found: ranking.iter().take(top).filter_map(found).collect(), scored: ranking.len() })
}

/// Searches the space of GEMM kernels for those with good scores for a problem, in each number of parts that may be
/// chosen.
pub fn search(
    by: By<'_>,
    problem: Checked<'_>,
    constraints: Constraints,
    settings: &Settings,
    progress: Progress<'_>,
) -> Result<Outcome, SearchError> {
    let mut all = Outcome { found: Vec::new(), scored: 0 };
    for definite in problem.each_split() {
        let one = search_in_parts(by, &definite, constraints, settings, progress)?;
        all.scored += one.scored;
        all.found.extend(one.found);
    }
    let order = |a: &Found, b: &Found| a.score.total_cmp(&b.score);
    all.found.sort_by(|a, b| if by.higher_is_better() { order(b, a) } else { order(a, b) });
    all.found.truncate(settings.top);
    Ok(all)
}

fn search_in_parts(
    by: By<'_>,
    problem: &Problem,
    constraints: Constraints,
    settings: &Settings,
    progress: Progress<'_>,
) -> Result<Outcome, SearchError> {
    let (op, arch) = match by {
        By::Model(model) if model.spec().prior.is_some() => return Err(SearchError::NeedsPool),
        By::Model(model) => (model.spec().op(), model.spec().arch),
        By::Estimate(_, arch) => (problem.op(), arch),
    };
    if op != Op::Gemm {
        return Err(SearchError::NoSpace(op));
    }
    let gemm: GemmProblem = match problem {
        Problem::Gemm(gemm) => *gemm,
        _ => return Err(SearchError::NotAGemm),
    };
    let rules = Rules::built_in().map_err(|error| SearchError::Constraints(error.to_string()))?;
    let arch = gemm.arch.or(arch).map(|arch| arch.to_string()).unwrap_or_default();
    let space = Space::new(&by.extractor(), &gemm, constraints, &rules, &arch)?;
    let scorer = Scorer { by, problem, space: &space };
    let mut random = StdRng::seed_from_u64(settings.seed);
    let (mut scored, count) = match settings.strategy {
        Strategy::Random => sample::random(&scorer, settings.budget, &mut random, progress)?,
        Strategy::Evolve => evolve::evolve(&scorer, settings.budget, &mut random, progress)?,
        Strategy::Exhaustive => exhaust::exhaust(&scorer, settings.top, progress)?,
    };
    scorer.sort(&mut scored);
    // The device may lack instructions for the type. Points without a score come last.
    if let Some((point, _)) = scored.first().filter(|(_, score)| score.is_nan()) {
        return Err(scorer.why_not(point));
    }
    scored.retain(|(_, score)| !score.is_nan());
    // Random draws and evolution may come upon a point twice.
    let mut known = HashSet::new();
    scored.retain(|(point, _)| known.len() < settings.top && known.insert(*point));
    let split_k = problem.split_k();
    let found =
        scored.into_iter().map(|(point, score)| Found { kernel: space.kernel(&point), split_k, score });
    let found: Vec<Found> = found.collect();
    // All points have the same types and variant. A name is all that the caller gets.
    if let Some(Found { kernel, .. }) = found.first()
        && !Kernel::from_name(&kernel.name).is_ok_and(|named| named.computes(problem))
    {
        return Err(SearchError::Unfit(kernel.name.clone()));
    }
    Ok(Outcome { found, scored: count })
}
