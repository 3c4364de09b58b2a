//! Adapts a universal model with a few measurements of the user's own: which problems to measure next, and
//! how training continues with them.
//!
//! ```text
//! score = - prior * ln(estimated time / shortest)     without measurements
//!         + trees of the universal model              from others' measurements
//!         + trees on the user's own problems          more of them for more problems
//!         + share * a forest of these problems alone  the share grows with their number
//! ```
//!
//! On a GPU that the universal model has not seen, the estimate counts twice, and with more measurements ever
//! less so, down to once.
//!
//! The user's trees start where the others end, so that nothing changes without measurements, and a leaf that
//! no measurement reaches adds nothing. The forest of these problems alone errs elsewhere: from a hundred
//! problems on, both together choose better than either. The user's trees may also use the features of models for one GPU, such as
//! extents, which do not transfer to GPUs that were not measured. The measured problems are far from each
//! other: disagreement between models is a worse indicator of where they err (`docs/model-quality.md`).

use std::path::Path;

use ck_select_model::features::{Engine, Extractor};
use ck_select_model::model::Target;
use ck_select_model::select::universal_prior;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Arch;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::measurements::Measurements;

use super::data::TrainingData;
use super::fit::{Recipe, Task};
use super::folds::group_k_fold;
use super::metrics::Efficiency;
use super::validate::split;
use super::{GroupBy, Holdout, Objective, Params, TrainError, WarmStart};

/// Folds in which measured problems are held out, to predict the quality on others.
const FOLDS: usize = 5;

/// Parameters for learning the user's measurements: those of a model for one GPU, on top of a universal one;
/// ten trees per measured problem, 400 at most.
pub fn own_params() -> Params {
    let mut params = Params::of(Objective::Listwise);
    params.put("n_estimators", 400.0);
    params.put("problems_a_tree", 0.1);
    params.put("sharpness", Params::universal().sharpness());
    params
}

/// Parameters of the forest of these problems alone: those of a model for one GPU, with fewer trees for few
/// problems.
pub(super) fn alone_params() -> Params {
    let mut params = Params::of(Objective::Listwise);
    params.put("problems_a_tree", 0.1);
    params
}

/// How many problems have to be measured for the forest of these problems alone to count as much as the
/// adapted model. Chosen on the H200's data.
const EVEN: f64 = 150.0;

/// The weight of the scores of a forest of these problems alone, beside those of the adapted model; `sharper`
/// is how many times as sharp the latter's are.
pub(super) fn share_of_alone(problems: usize, sharper: f64) -> f64 {
    problems as f64 / EVEN * sharper
}

/// How many problems have to be measured to halve what the estimate counts more on a GPU that the universal model has
/// not seen. Chosen on the H200's data.
const HALVES: f64 = 10.0;

/// The weight of the estimate in a universal model adapted by so many problems; without any, that of the
/// universal model itself.
pub(super) fn adapted_prior(prior: f64, has_seen_device: bool, problems: usize) -> f64 {
    let more = universal_prior(prior, has_seen_device) - prior;
    prior + more * HALVES / (HALVES + problems as f64)
}

/// Number of random candidates of which the one farthest from all previous problems is measured next: fewer
/// follow the distribution, more prefer outliers.
const DRAWN: usize = 3;

/// The order in which problems are measured, for a seed: of a few random candidates, the one that is farthest
/// from all previous ones by the logarithms of its numbers, each scaled to its spread. A shorter order is the
/// beginning of a longer one.
pub fn spread_order(problems: &[&Problem], count: usize, seed: u64) -> Vec<usize> {
    let mut points: Vec<Vec<f64>> = problems
        .iter()
        .map(|problem| problem.numbers().iter().map(|&number| (1.0 + number.max(0) as f64).log2()).collect())
        .collect();
    for axis in 0..points.first().map_or(0, Vec::len) {
        let count = points.len() as f64;
        let mean = points.iter().map(|point| point[axis]).sum::<f64>() / count;
        let spread = (points.iter().map(|point| (point[axis] - mean).powi(2)).sum::<f64>() / count).sqrt();
        let scale = if spread > 0.0 { spread } else { 1.0 };
        for point in &mut points {
            point[axis] = (point[axis] - mean) / scale;
        }
    }
    let between =
        |a: usize, b: usize| points[a].iter().zip(&points[b]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut free: Vec<usize> = (0..points.len()).collect();
    let mut distances = vec![f64::INFINITY; points.len()];
    let mut chosen = Vec::new();
    while chosen.len() < count && !free.is_empty() {
        let drawn: [usize; DRAWN] = std::array::from_fn(|_| random.random_range(0..free.len()));
        let farther = |a: &usize, b: &usize| distances[free[*a]].total_cmp(&distances[free[*b]]);
        let place = free.swap_remove(drawn.into_iter().max_by(farther).unwrap_or(0));
        for (other, distance) in distances.iter_mut().enumerate() {
            *distance = distance.min(between(place, other));
        }
        chosen.push(place);
    }
    chosen
}

/// How kernels are learned from a few problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Like `ckselect tune`.
    Tuned,
    /// A ranking forest, as trained by `ckselect train`, from these problems alone.
    Alone,
    /// Upstream's features, parameters and target.
    Upstream,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tuned, Self::Alone, Self::Upstream];

    /// Its word in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Alone => "alone",
            Self::Upstream => "upstream",
        }
    }

    fn objective(self) -> Objective {
        match self {
            Self::Upstream => Objective::Log1p,
            Self::Tuned | Self::Alone => Objective::Listwise,
        }
    }

    fn params(self) -> Params {
        match self {
            Self::Tuned => own_params(),
            Self::Alone | Self::Upstream => Params::of(self.objective()),
        }
    }
}

/// One draw of problems, and its results.
#[derive(Debug, Clone)]
pub struct Draw {
    /// The seed of its first problem.
    pub seed: u64,
    /// Measured problems, as indices into [`Measurements::problems`], in their order.
    pub measured: Vec<u32>,
    /// The quality to expect on other problems, from holding out each measured one; `None` if there are too
    /// few.
    pub expected: Option<Efficiency>,
    /// The actual quality on problems that were not measured.
    pub found: Efficiency,
}

/// Recorded sweeps that replace a GPU.
pub struct Simulation<'a> {
    measurements: &'a Measurements,
    data: TrainingData,
    way: Way,
    base: Option<(&'a str, f64, Vec<Arch>)>,
    /// Problems that are judged and never measured; if there are none, those that were not measured.
    held_back: Vec<u32>,
}

impl<'a> Simulation<'a> {
    /// Prepares the data of one device for a way of learning. `base` is the universal model that
    /// [`Way::Tuned`] continues.
    pub fn new(
        measurements: &'a Measurements,
        base: &'a WarmStart,
        extractor: &Extractor,
        way: Way,
    ) -> Result<Self, TrainError> {
        let op = base.extractor().schema.op();
        let (extractor, target) = match way {
            Way::Tuned => (Extractor { arch: extractor.arch, ..base.extractor().clone() }, Target::Relative),
            Way::Alone => (with_columns(extractor, Engine::of_op(op)), Target::Relative),
            Way::Upstream => (with_columns(extractor, Engine::of_upstream(op)), Target::Tflops),
        };
        let data = TrainingData::new(measurements, &extractor, target, &[])?;
        let base = match (way, base.forest(Target::Relative), base.prior()) {
            (Way::Tuned, Some(text), Some(prior)) => Some((text, prior, base.archs().collect())),
            (Way::Tuned, ..) => return Err(TrainError::NotUniversal(base.place().to_owned())),
            _ => None,
        };
        Ok(Self { measurements, data, way, base, held_back: Vec::new() })
    }

    /// The same, judged by the problems of one file of the measurements, which are never measured.
    pub fn holding_back(mut self, file: Option<&Path>) -> Result<Self, TrainError> {
        if let Some(file) = file {
            let folds = Holdout::File(file.to_owned()).folds(self.measurements, &self.data.problems)?;
            let held = self.data.problems.iter().zip(folds).filter(|(_, fold)| fold.is_some());
            self.held_back = held.map(|(item, _)| item.problem).collect();
        }
        Ok(self)
    }

    fn is_held_back(&self, place: usize) -> bool {
        self.held_back.contains(&self.data.problems[place].problem)
    }

    /// Number of problems that could be measured.
    pub fn problems(&self) -> usize {
        (0..self.data.problems.len()).filter(|&place| !self.is_held_back(place)).count()
    }

    /// Measures `count` problems, starting from a seed, and judges the rest. If `count` includes all
    /// problems, each is held out once, in five folds.
    pub fn draw(&self, count: usize, seed: u64) -> Result<Draw, TrainError> {
        let problem = |item: &super::Item| &self.measurements.problems()[item.problem as usize];
        let problems: Vec<&Problem> = self.data.problems.iter().map(problem).collect();
        let groups: Vec<String> = problems.iter().map(|problem| GroupBy::Problem.key(problem)).collect();
        let task = self.task(groups);
        let free: Vec<usize> = (0..problems.len()).filter(|&place| !self.is_held_back(place)).collect();
        let of_free: Vec<&Problem> = free.iter().map(|&place| problems[place]).collect();
        let measured = spread_order(&of_free, count, seed);
        let measured: Vec<usize> = measured.into_iter().map(|place| free[place]).collect();
        let rest: Vec<usize> = (0..problems.len())
            .filter(|&place| self.held_back.is_empty() || self.is_held_back(place))
            // A problem that was measured twice counts as known after either.
            .filter(|place| measured.iter().all(|known| task.groups[*known] != task.groups[*place]))
            .collect();
        let all = self.held_out(&task, &measured, seed)?;
        let found = if rest.is_empty() { all.clone() } else { self.judge(&task, &measured, &rest)? };
        let expected = all.and_then(|choices| Efficiency::of(&choices));
        let found = found.and_then(|choices| Efficiency::of(&choices)).ok_or(TrainError::NothingHeldBack)?;
        let measured = measured.into_iter().map(|place| self.data.problems[place].problem).collect();
        Ok(Draw { seed, measured, expected, found })
    }

    fn task(&self, groups: Vec<String>) -> Task<'_> {
        let target = if self.way == Way::Upstream { Target::Tflops } else { Target::Relative };
        let categories = match (self.way, self.measurements.problems().first()) {
            (Way::Upstream, Some(problem)) => {
                Engine::categories(problem.op()).iter().map(|&name| name.to_owned()).collect()
            }
            _ => Vec::new(),
        };
        let mut task = Task::new(&self.data, target, self.way.objective(), &categories, groups);
        if let Some((text, prior, seen)) = &self.base {
            (task.start, task.prior, task.adapts) = (Some((*text).to_owned()), Some(*prior), true);
            task.seen.clone_from(seen);
        }
        task
    }

    /// Efficiencies of the choices on some problems after learning from others.
    fn judge(
        &self,
        task: &Task<'_>,
        measured: &[usize],
        rest: &[usize],
    ) -> Result<Option<Vec<(f64, f64)>>, TrainError> {
        let text = match (measured.is_empty(), &self.base) {
            (true, None) => return Ok(None),
            (true, Some((text, ..))) => (*text).to_owned(),
            (false, _) => {
                let weights = vec![1.0; self.data.problems.len()];
                task.forest(measured, &Recipe { params: self.way.params(), weights })?
            }
        };
        Ok(Some(task.choices(&task.predict(&text, measured, rest)?, rest)))
    }

    /// Holds each measured problem out once.
    fn held_out(
        &self,
        task: &Task<'_>,
        measured: &[usize],
        seed: u64,
    ) -> Result<Option<Vec<(f64, f64)>>, TrainError> {
        if measured.len() < 2 * FOLDS {
            return Ok(None);
        }
        let items: Vec<(String, usize)> =
            measured.iter().map(|&place| (task.groups[place].clone(), 1)).collect();
        let fold_of: Vec<Option<usize>> =
            group_k_fold(&items, FOLDS, Some(seed)).into_iter().map(Some).collect();
        let folds = (0..FOLDS).into_par_iter().map(|fold| {
            let (trained, held) = split(&fold_of, fold);
            let of = |places: Vec<usize>| places.into_iter().map(|place| measured[place]).collect::<Vec<_>>();
            self.judge(task, &of(trained), &of(held))
        });
        let folds = folds.collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(folds.map(|folds| folds.concat()))
    }
}

fn with_columns(extractor: &Extractor, engine: Engine) -> Extractor {
    Extractor { hardware: extractor.hardware, arch: extractor.arch, ..Extractor::of_engine(engine) }
}

#[cfg(test)]
mod tests {
    use ck_select_types::problem::ConvProblem;

    use super::*;

    #[test]
    fn problems_are_taken_once_and_a_longer_order_goes_on() {
        let problem = |at: i64| -> Problem {
            ConvProblem { n: 1 << (at % 7), c: 64 + at, k: 64, ..ConvProblem::new_2d([28, 28], [3, 3]) }
                .into()
        };
        let problems: Vec<Problem> = (0..40).map(problem).collect();
        let problems: Vec<&Problem> = problems.iter().collect();
        let order = spread_order(&problems, 12, 1);
        assert_eq!(order, spread_order(&problems, 99, 1)[..12]);
        assert_ne!(order, spread_order(&problems, 12, 2));
        let mut all = spread_order(&problems, 99, 1);
        all.sort_unstable();
        assert_eq!(all, (0..40).collect::<Vec<_>>());
        assert_eq!(spread_order(&[], 3, 0), [0; 0]);
        // Frequent batch sizes are not picked over and over: of seven kinds, nearly all occur.
        let kinds: std::collections::BTreeSet<usize> = order.iter().map(|place| place % 7).collect();
        assert!(kinds.len() >= 6, "{order:?}");
    }

    #[test]
    fn the_estimate_counts_less_the_more_is_measured() {
        let unseen = [0, 10, 30, 990].map(|problems| adapted_prior(8.0, false, problems));
        assert_eq!(unseen, [universal_prior(8.0, false), 12.0, 10.0, 8.08]);
        assert_eq!([0, 10].map(|problems| adapted_prior(8.0, true, problems)), [8.0; 2]);
    }

    #[test]
    fn more_problems_are_learned_with_more_trees() {
        assert_eq!([1, 10, 40, 500].map(|problems| own_params().trees_for(problems)), [10, 100, 400, 400]);
        assert_eq!([1, 330, 5000].map(|problems| Params::universal().trees_for(problems)), [1, 66, 300]);
        assert_eq!(
            Params::of(Objective::Listwise).trees_for(1),
            800,
            "others have as many as they are given"
        );
    }
}
