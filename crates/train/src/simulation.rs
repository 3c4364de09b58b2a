//! Recorded sweeps in the place of a GPU: what a few measured problems teach about the others.
//!
//! Whoever adapts a model to a GPU wants to know how many problems are worth measuring before any is
//! measured. A recorded sweep knows the times of all of them, so that it can play the GPU:
//!
//! ```text
//! for each draw (a seed):
//!     measured  = the first problems in the order in which `tune` would measure them
//!     expected  = learn in folds of the measured ones, judge each held-out one      what `tune` would report
//!     actual    = learn from all measured ones, judge the rest                      what would be true
//! ```
//!
//! `expected` beside `actual` shows whether the report can be believed. A problem that was measured twice is
//! in one fold, and counts as known after either measurement. `misled` is the rule by which `tune` writes no
//! model: with at least 20 held-out problems, a loss against the model before of more than twice its standard
//! error.

use std::collections::BTreeSet;
use std::path::Path;

use ck_select_model::directory::Target;
use ck_select_model::features::{Engine, Extractor};
use ck_select_model::ties;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Arch;
use ck_select_types::vocabulary;
use rayon::prelude::*;

use ck_select_measurements::Measurements;
use ck_select_measurements::figures::mean;

use super::adapt::{own_params, spread_order};
use super::data::{ItemIndex, TrainingData};
use super::error::TrainError;
use super::fit::{Recipe, Task};
use super::folds::{GroupBy, in_folds};
use super::holdout::Holdout;
use super::metrics::{Choice, Efficiency};
use super::objective::Objective;
use super::params::Params;
use super::text_forest::TextForest;
use super::warm::WarmStart;

/// Folds in which measured problems are held out by default, to predict the quality on others.
const FOLDS: usize = 5;
/// How many measured problems say what to expect of others, at least.
const MIN_MEASURED: usize = 10;

vocabulary! {
    /// How kernels are learned from a few problems.
    Method, "method" {
        /// Like `ckselect tune`.
        Tuned = "tuned",
        /// A ranking forest, as trained by `ckselect train`, from these problems alone.
        Alone = "alone",
        /// Upstream's features, parameters and target.
        Upstream = "upstream",
    }
}

impl Method {
    fn objective(self) -> Objective {
        match self {
            Self::Upstream => Objective::Log1p,
            Self::Tuned => Objective::Listwise,
            // The usual objective of a model for one GPU.
            Self::Alone => Objective::Lambdarank,
        }
    }

    fn target(self) -> Target {
        match self {
            Self::Upstream => Target::Tflops,
            Self::Tuned | Self::Alone => Target::Relative,
        }
    }

    fn params(self) -> Params {
        match self {
            Self::Tuned => own_params(),
            Self::Alone | Self::Upstream => Params::new(self.objective()),
        }
    }
}

/// One draw of problems, and its results.
#[derive(Debug, Clone)]
pub struct Draw {
    /// The seed of the draw's first problem.
    pub seed: u64,
    /// Measured problems, as indices into [`Measurements::problems`], in their order.
    pub measured: Vec<u32>,
    /// The quality to expect on other problems, from holding out each measured one; `None` if there are too
    /// few.
    pub expected: Option<Efficiency>,
    /// The efficiency without having learned anything, for [`Method::Tuned`].
    pub before: Option<Efficiency>,
    /// Whether the held-out problems, if there are at least 20, show that nothing should be learned of them:
    /// choices are worse than before, by more than twice the standard error of the mean difference.
    pub misled: bool,
    /// The actual quality on problems that were not measured.
    pub actual: Efficiency,
}

/// The rows of promising kernels, by their indices in measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromisingRows(Vec<bool>);

impl PromisingRows {
    /// Whether a row is among them.
    pub fn has(&self, row: usize) -> bool {
        self.0.get(row).copied().unwrap_or(false)
    }
}

/// Recorded sweeps that replace a GPU.
pub struct Simulation<'a> {
    measurements: &'a Measurements,
    data: TrainingData,
    /// The rows of measured problems to learn from, if fewer than those that are judged.
    learned: Option<TrainingData>,
    method: Method,
    base: Option<(&'a TextForest, f64, Vec<Arch>)>,
    /// Problems that are judged and never measured; if there are none, those that were not measured.
    held_back: Vec<u32>,
    /// The number of folds in which measured problems are held out.
    folds: usize,
}

impl<'a> Simulation<'a> {
    /// Prepares the data of one device for a method of learning. `base` is the universal model that
    /// [`Method::Tuned`] continues.
    pub fn new(
        measurements: &'a Measurements,
        base: &'a WarmStart,
        extractor: &Extractor,
        method: Method,
    ) -> Result<Self, TrainError> {
        let op = base.extractor().schema.op();
        let extractor = match method {
            Method::Tuned => Extractor { arch: extractor.arch, ..base.extractor().clone() },
            Method::Alone => with_columns(extractor, Engine::default_for(op)),
            Method::Upstream => with_columns(extractor, Engine::upstream_for(op)),
        };
        let data = TrainingData::new(measurements, &extractor, method.target(), &[])?;
        let base = match (method, base.forest(Target::Relative), base.prior()) {
            (Method::Tuned, Some(forest), Some(prior)) => Some((forest, prior, base.archs().collect())),
            (Method::Tuned, ..) => return Err(TrainError::not_universal(base.name())),
            _ => None,
        };
        Ok(Self { measurements, data, learned: None, method, base, held_back: Vec::new(), folds: FOLDS })
    }

    /// The simulation with another number of folds in which measured problems are held out, at least two.
    #[must_use]
    pub fn in_folds(self, folds: usize) -> Self {
        Self { folds: folds.max(2), ..self }
    }

    /// Which rows there would be if only promising kernels had been measured: of each problem the first
    /// `count` in the order of `base`.
    pub fn promising(
        measurements: &Measurements,
        base: &WarmStart,
        extractor: &Extractor,
        count: usize,
    ) -> Result<PromisingRows, TrainError> {
        let whole = Simulation::new(measurements, base, extractor, Method::Tuned)?;
        let data = &whole.data;
        let items: Vec<ItemIndex> = data.items().collect();
        let forest = base.forest(Target::Relative).ok_or_else(|| TrainError::not_universal(base.name()))?;
        let scores = whole.task(data).predict(forest, &[], &items)?;
        let mut keep = vec![false; measurements.rows().len()];
        for item in &data.problems {
            let mut order: Vec<usize> = item.span.clone().collect();
            order.sort_by(|&one, &next| ties::order(scores[one], scores[next], true));
            order.into_iter().take(count).for_each(|row| keep[data.rows[row] as usize] = true);
        }
        Ok(PromisingRows(keep))
    }

    /// The simulation, learning only from promising rows of its measurements; the choices are judged among
    /// all kernels.
    #[must_use]
    pub fn learning_from(mut self, promising: &PromisingRows) -> Self {
        self.learned = Some(self.data.keeping(|row| promising.has(row as usize)));
        self
    }

    /// The simulation, judged by the problems of one file of the measurements, which are never measured.
    pub fn holding_back(mut self, file: Option<&Path>) -> Result<Self, TrainError> {
        if let Some(file) = file {
            let folds = Holdout::File(file.to_owned()).folds(self.measurements, &self.data.problems)?;
            let held = self.data.problems.iter().zip(folds.fold_of).filter(|(_, fold)| fold.is_some());
            self.held_back = held.map(|(item, _)| item.problem).collect();
        }
        Ok(self)
    }

    fn is_held_back(&self, item: ItemIndex) -> bool {
        self.held_back.contains(&self.data.item(item).problem)
    }

    /// Number of problems that could be measured.
    pub fn problems(&self) -> usize {
        self.data.items().filter(|&item| !self.is_held_back(item)).count()
    }

    /// Measures `count` problems, starting from a seed, and judges the rest. If `count` includes all
    /// problems, each is held out once, in folds.
    pub fn draw(&self, count: usize, seed: u64) -> Result<Draw, TrainError> {
        let judged = self.task(&self.data);
        let of_part = self.learned.as_ref().map(|part| self.task(part));
        let learned = of_part.as_ref().unwrap_or(&judged);
        let free: Vec<ItemIndex> = self.data.items().filter(|&item| !self.is_held_back(item)).collect();
        let of_free: Vec<&Problem> = free.iter().map(|&item| self.problem(item)).collect();
        let measured = spread_order(&of_free, count, seed);
        let measured: Vec<ItemIndex> = measured.into_iter().map(|index| free[index]).collect();
        let rest = self.unmeasured(&judged, &measured);
        // If only a part of the kernels was measured, there are no others by which to judge.
        let expected = self.held_out(learned, learned, &measured, seed)?;
        let before = match (&expected, &self.base) {
            (Some(held), Some(_)) => {
                let items: Vec<ItemIndex> = held.iter().map(|&(item, _)| item).collect();
                self.judge(learned, learned, &[], &items)?
            }
            _ => None,
        };
        let choices_of = |held: &[(ItemIndex, Choice)]| held.iter().map(|held| held.1).collect::<Vec<_>>();
        let expected = expected.as_deref().map(choices_of);
        let actual = match (rest.is_empty(), &of_part) {
            (false, _) => self.judge(learned, &judged, &measured, &rest)?,
            (true, Some(part)) => self.held_out(part, &judged, &measured, seed)?.as_deref().map(choices_of),
            (true, None) => expected.clone(),
        };
        let misled = expected.as_ref().zip(before.as_ref()).is_some_and(|(now, before)| {
            let gains: Vec<f64> =
                now.iter().zip(before).map(|(now, before)| now.efficiency - before.efficiency).collect();
            gains.len() >= 2 * MIN_MEASURED && is_clearly_negative(&gains)
        });
        let expected = expected.and_then(|choices| Efficiency::new(&choices));
        let before = before.and_then(|choices| Efficiency::new(&choices));
        let actual = actual
            .and_then(|choices| Efficiency::new(&choices))
            .ok_or(TrainError::NothingHeldBack { found: measured.len(), expected: MIN_MEASURED })?;
        let measured = measured.into_iter().map(|item| self.data.item(item).problem).collect();
        Ok(Draw { seed, measured, expected, before, misled, actual })
    }

    /// The quality of a draw's judged problems without having learned anything.
    pub fn unlearned(&self, draw: &Draw) -> Result<Option<Efficiency>, TrainError> {
        let judged = self.task(&self.data);
        let is_measured = |item: &ItemIndex| draw.measured.contains(&self.data.item(*item).problem);
        let measured: Vec<ItemIndex> = self.data.items().filter(is_measured).collect();
        let rest = self.unmeasured(&judged, &measured);
        // If all were measured, each was held out.
        let judging = if rest.is_empty() { measured } else { rest };
        Ok(self.judge(&judged, &judged, &[], &judging)?.and_then(|choices| Efficiency::new(&choices)))
    }

    /// The quality on all problems after the first `count` of them, in the order of the measurements, were
    /// measured: those are held out in folds, the others judged by what all of those teach. `None` if they
    /// are too few.
    pub fn after(&self, count: usize, seed: u64) -> Result<Option<Efficiency>, TrainError> {
        let task = self.task(&self.data);
        let first: Vec<ItemIndex> = self.data.items().take(count).collect();
        let rest = self.unmeasured(&task, &first);
        let Some(held) = self.held_out(&task, &task, &first, seed)? else { return Ok(None) };
        let mut choices: Vec<Choice> = held.into_iter().map(|(_, choice)| choice).collect();
        if !rest.is_empty() {
            choices.extend(self.judge(&task, &task, &first, &rest)?.into_iter().flatten());
        }
        Ok(Efficiency::new(&choices))
    }

    /// The problems by which is judged what measured ones teach.
    fn unmeasured(&self, judged: &Task<'_>, measured: &[ItemIndex]) -> Vec<ItemIndex> {
        self.data
            .items()
            .filter(|&item| self.held_back.is_empty() || self.is_held_back(item))
            // A problem that was measured twice counts as known after either.
            .filter(|&item| measured.iter().all(|&known| judged.group(known) != judged.group(item)))
            .collect()
    }

    /// Whether there are enough problems to hold each out, or others by which to judge.
    pub fn can_hold_out(&self) -> bool {
        !self.held_back.is_empty() || self.problems() >= MIN_MEASURED
    }

    fn problem(&self, item: ItemIndex) -> &'a Problem {
        &self.measurements.problems()[self.data.item(item).problem as usize]
    }

    fn task<'t>(&'t self, data: &'t TrainingData) -> Task<'t> {
        let categories = match (self.method, self.measurements.problems().first()) {
            (Method::Upstream, Some(problem)) => {
                Engine::categories(problem.op()).iter().map(|&name| name.to_owned()).collect()
            }
            _ => Vec::new(),
        };
        // A part has the same problems, in the same order.
        let groups = self.data.items().map(|item| GroupBy::Problem.key(self.problem(item))).collect();
        let mut task = Task::new(data, self.method.target(), self.method.objective(), &categories, groups);
        if let Some((forest, prior, seen)) = &self.base {
            (task.start, task.prior, task.adapts) = (Some(*forest), Some(*prior), true);
            task.seen.clone_from(seen);
        }
        task
    }

    /// Efficiencies of the choices on some problems after learning from others.
    fn judge(
        &self,
        learned: &Task<'_>,
        judged: &Task<'_>,
        measured: &[ItemIndex],
        rest: &[ItemIndex],
    ) -> Result<Option<Vec<Choice>>, TrainError> {
        let forest = match (measured.is_empty(), &self.base) {
            (true, None) => return Ok(None),
            (true, Some((forest, ..))) => (*forest).clone(),
            (false, _) => {
                let weights = vec![1.0; self.data.problems.len()];
                learned.forest(measured, &Recipe { params: self.method.params(), weights })?
            }
        };
        Ok(Some(judged.choices(&judged.predict(&forest, measured, rest)?, rest)))
    }

    /// Holds each measured problem out once. Returns it with its choice.
    fn held_out(
        &self,
        learned: &Task<'_>,
        judged: &Task<'_>,
        measured: &[ItemIndex],
        seed: u64,
    ) -> Result<Option<Vec<(ItemIndex, Choice)>>, TrainError> {
        if measured.len() < MIN_MEASURED {
            return Ok(None);
        }
        let items: Vec<(String, usize)> =
            measured.iter().map(|&item| (judged.group(item).clone(), 1)).collect();
        let known: BTreeSet<&String> = items.iter().map(|item| &item.0).collect();
        let folds = in_folds(measured, &items, self.folds.min(known.len()), seed);
        let folds = folds.into_par_iter().map(|(trained, held)| {
            let choices = self.judge(learned, judged, &trained, &held)?;
            Ok(choices.map(|choices| held.into_iter().zip(choices).collect::<Vec<_>>()))
        });
        let folds = folds.collect::<Result<Option<Vec<_>>, TrainError>>()?;
        Ok(folds.map(|folds| folds.concat()))
    }
}

/// Whether the mean is below zero by more than twice its standard error.
fn is_clearly_negative(values: &[f64]) -> bool {
    let count = values.len() as f64;
    let average = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - average).powi(2)).sum();
    average < -2.0 * (squares / (count * (count - 1.0))).sqrt()
}

fn with_columns(extractor: &Extractor, engine: Engine) -> Extractor {
    Extractor { hardware: extractor.hardware, arch: extractor.arch, ..Extractor::for_engine(engine) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_loss_is_one() {
        assert!(is_clearly_negative(&[-0.1, -0.2, -0.1, -0.2]));
        assert!(!is_clearly_negative(&[-0.1, -0.2, 0.1, 0.15]));
        assert!(!is_clearly_negative(&[0.1, 0.2, 0.1, 0.2]));
        assert!(!is_clearly_negative(&[0.0; 10]), "nothing has changed");
        // One bad problem among many.
        assert!(!is_clearly_negative(&[-0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    }
}
