//! Trains a forest on some problems, and finds its number of trees.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use ck_select_model::directory::Target;
use ck_select_model::ranking::{universal_prior, universal_score};
use ck_select_model::scoring::{RowScorer, Rows};
use ck_select_types::vocab::Arch;

use crate::lightgbm::{Booster, Matrix};

use super::data::{ItemIndex, TrainingData};
use super::error::TrainError;
use super::lambdarank::Lambdarank;
use super::metrics::Choice;
use super::objective::{Lists, Objective};
use super::params::Params;
use super::text_forest::TextForest;
use super::{adapt, combine, metrics};

/// The data and the settings of a training.
#[derive(Clone)]
pub(super) struct Task<'a> {
    pub(super) data: &'a TrainingData,
    pub(super) target: Target,
    pub(super) objective: Objective,
    /// The label of each row.
    pub(super) labels: Vec<f64>,
    /// Columns that are categories.
    pub(super) categories: Vec<usize>,
    /// The group of each problem; problems of a group must be on the same side.
    pub(super) groups: Vec<String>,
    pub(super) seed: u64,
    /// The forest to continue.
    pub(super) start: Option<&'a TextForest>,
    /// The weight of the estimate, for a universal model.
    pub(super) prior: Option<f64>,
    /// The most that the forest adds to a score.
    pub(super) most: f64,
    /// The architectures that the forest to continue has seen.
    pub(super) seen: Vec<Arch>,
    /// Whether the forest to continue is of other devices, so that one of these problems alone is added.
    pub(super) adapts: bool,
}

/// The progress of a training on validation problems, tree by tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// The name of the loss.
    pub loss: &'static str,
    /// The loss with one tree, with two, and so on.
    pub losses: Vec<f64>,
    /// Number of trees that are kept.
    pub best: usize,
}

/// Settings that a training may decide from its own data.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub(super) params: Params,
    /// The weight of each problem, by its index in the data.
    pub(super) weights: Vec<f64>,
}

impl Recipe {
    fn weight(&self, problem: ItemIndex) -> f64 {
        self.weights[problem.get()]
    }
}

impl<'a> Task<'a> {
    pub(super) fn new(
        data: &'a TrainingData,
        target: Target,
        objective: Objective,
        categories: &[String],
        groups: Vec<String>,
    ) -> Self {
        let labels =
            data.measured.iter().zip(&data.efficiency).map(|(&y, &e)| objective.label(y, e)).collect();
        let column = |name: &String| data.names.iter().position(|known| known == name);
        let categories = categories.iter().filter_map(column).collect();
        Self {
            data,
            target,
            objective,
            labels,
            categories,
            groups,
            seed: 0,
            start: None,
            prior: None,
            most: f64::INFINITY,
            seen: Vec::new(),
            adapts: false,
        }
    }

    /// The group of a problem.
    pub(super) fn group(&self, problem: ItemIndex) -> &String {
        &self.groups[problem.get()]
    }

    /// Whether a kernel could be chosen by the target.
    pub(super) const fn chooses(&self) -> bool {
        matches!(self.target, Target::Tflops | Target::Relative)
    }

    /// A forest trained on these problems, on top of the forest to continue.
    pub(super) fn forest(&self, problems: &[ItemIndex], recipe: &Recipe) -> Result<TextForest, TrainError> {
        self.parsed(self.text(problems, recipe)?)
    }

    /// The forest of a text that LightGBM wrote for this target.
    pub(super) fn parsed(&self, text: String) -> Result<TextForest, TrainError> {
        TextForest::parse(text).map_err(|error| TrainError::forest(self.target, error))
    }

    /// The text of a forest trained on these problems, on top of the forest to continue.
    pub(super) fn text(&self, problems: &[ItemIndex], recipe: &Recipe) -> Result<String, TrainError> {
        let continued = self.continued(problems, recipe)?;
        if !self.adapts {
            return Ok(continued);
        }
        let wrong = |message: String| TrainError::forest(self.target, message);
        let alone = Self { start: None, prior: None, adapts: false, ..self.clone() };
        let params = adapt::alone_params();
        let share = adapt::share_of_alone(problems.len(), self.prior.unwrap_or(1.0) / params.sharpness());
        let alone = alone.text(problems, &Recipe { params, weights: recipe.weights.clone() })?;
        combine::sum(&[(&continued, 1.0), (&alone, 1.0 / share)]).map_err(wrong)
    }

    fn continued(&self, problems: &[ItemIndex], recipe: &Recipe) -> Result<String, TrainError> {
        let start = self.start.map(|start| Booster::from_text(start.text())).transpose()?;
        let mut training = self.begin(problems, recipe, start.as_ref())?;
        for _ in 0..recipe.params.trees_for(problems.len()) {
            if !training.step()? {
                break;
            }
        }
        let text = training.booster.to_text()?;
        // LightGBM knows only that derivatives came from elsewhere.
        Ok(match self.objective {
            Objective::Lambdarank => text
                .replacen("\nfeature_names=", "\nobjective=lambdarank\nfeature_names=", 1)
                .replacen("[objective: custom]", "[objective: lambdarank]", 1),
            _ => text,
        })
    }

    /// Trains on some problems until the loss on others has not fallen for as many trees as patience allows.
    /// Returns the progress, and the number of trees with the lowest loss.
    pub(super) fn best_trees(
        &self,
        problems: &[ItemIndex],
        watched: &[ItemIndex],
        recipe: &Recipe,
    ) -> Result<Rounds, TrainError> {
        let mut training = self.begin(problems, recipe, None)?;
        let matrix = self.matrix(watched, None);
        training.booster.watch(&matrix, &training.params)?;
        let patience = recipe.params.patience();
        // The values of each metric, its minimum, and when that was reached. The first metric to stall
        // decides.
        let mut all: Vec<Vec<f64>> = Vec::new();
        let mut lowest: Vec<(f64, usize)> = Vec::new();
        let mut decides = 0;
        for tree in 1..=recipe.params.trees() {
            let grew = training.step()?;
            let losses = self.losses(&training.booster, watched, recipe)?;
            lowest.resize(losses.len(), (f64::INFINITY, 1));
            all.resize(losses.len(), Vec::new());
            for ((lowest, all), loss) in lowest.iter_mut().zip(&mut all).zip(losses) {
                all.push(loss);
                if loss < lowest.0 {
                    *lowest = (loss, tree);
                }
            }
            let stalled = lowest.iter().position(|lowest| tree - lowest.1 >= patience);
            decides = stalled.unwrap_or(decides);
            if stalled.is_some() || !grew {
                break;
            }
        }
        Ok(Rounds {
            loss: self.objective.loss_name(decides),
            losses: all.into_iter().nth(decides).unwrap_or_default(),
            best: lowest.get(decides).map_or(1, |lowest| lowest.1),
        })
    }

    fn losses(
        &self,
        booster: &Booster,
        watched: &[ItemIndex],
        recipe: &Recipe,
    ) -> Result<Vec<f64>, TrainError> {
        if !self.objective.is_custom() {
            return Ok(booster.losses()?);
        }
        Ok(vec![self.lists(watched, recipe).loss(self.objective, &booster.scores(1)?)])
    }

    /// The efficiencies of some problems, as the losses that are computed here take them.
    fn lists(&self, problems: &[ItemIndex], recipe: &Recipe) -> Lists {
        Lists {
            efficiency: self.data.rows_of(problems).map(|row| self.data.efficiency[row]).collect(),
            problems: self.data.spans_of(problems),
            weights: problems.iter().map(|&problem| recipe.weight(problem)).collect(),
            sharpness: recipe.params.sharpness(),
        }
    }

    fn begin(
        &self,
        problems: &[ItemIndex],
        recipe: &Recipe,
        start: Option<&Booster>,
    ) -> Result<Stepper, TrainError> {
        let matrix = self.matrix(problems, Some(recipe));
        let categories: Vec<String> = self.categories.iter().map(ToString::to_string).collect();
        let (objective, given, seed) = (self.objective.lightgbm(), recipe.params.to_lightgbm(), self.seed);
        let mut params = format!(
            "{objective} {given} seed={seed} data_random_seed={seed} num_threads=1 deterministic=true \
             force_row_wise=true verbosity=-1",
        );
        if !categories.is_empty() {
            params.push_str(" categorical_feature=");
            params.push_str(&categories.join(","));
        }
        let derivatives: Option<Derivatives> = match self.objective {
            Objective::Lambdarank => {
                let labels = matrix.labels.iter().copied().map(f64::from).collect();
                let weights = problems.iter().map(|&problem| recipe.weight(problem) as f32).collect();
                let (spans, places) = (self.data.spans_of(problems), recipe.params.ranked_places());
                let mut pairs = Lambdarank::new(spans, labels, weights, places);
                Some(Box::new(move |scores| pairs.derivatives(scores)))
            }
            Objective::Listwise => {
                let lists = self.lists(problems, recipe);
                Some(Box::new(move |scores| lists.derivatives(scores)))
            }
            Objective::Log1p | Objective::Raw | Objective::Relative => None,
        };
        Ok(Stepper { booster: Booster::begin(&matrix, &params, start)?, params, derivatives })
    }

    fn matrix(&self, problems: &[ItemIndex], recipe: Option<&Recipe>) -> Matrix<'a> {
        let data = self.data;
        let blocks = data.blocks(problems).map(Cow::Borrowed).collect();
        let mut matrix =
            Matrix { width: data.width(), blocks, names: data.names.clone(), ..Matrix::default() };
        let weighted = recipe.filter(|recipe| problems.iter().any(|&problem| recipe.weight(problem) != 1.0));
        for &problem in problems {
            let span = data.item(problem).span.clone();
            matrix.labels.extend(self.labels[span.clone()].iter().map(|&label| label as f32));
            if let Some(recipe) = weighted {
                matrix.weights.extend(span.clone().map(|_| recipe.weight(problem) as f32));
            }
            if let Some(prior) = self.prior {
                let before = |row: usize| universal_score(0.0, prior, data.log_time(row));
                matrix.start.extend(span.clone().map(before));
            }
        }
        matrix
    }

    /// The predictions for the rows of some problems, in the space of the labels, of a forest that was
    /// trained on others.
    pub(super) fn predict(
        &self,
        forest: &TextForest,
        trained: &[ItemIndex],
        problems: &[ItemIndex],
    ) -> Result<Vec<f64>, TrainError> {
        let of_trained = trained.iter().filter_map(|&problem| self.data.item(problem).arch);
        let seen: BTreeSet<Arch> = self.seen.iter().copied().chain(of_trained).collect();
        let prior_of = |problem: ItemIndex| {
            let arch = self.data.item(problem).arch;
            let prior = self.prior?;
            if self.adapts {
                return Some(self.adapted_prior(prior, arch, trained.len()));
            }
            let has_seen = seen.is_empty() || arch.is_some_and(|arch| seen.contains(&arch));
            Some(universal_prior(prior, has_seen))
        };
        let rows: Vec<usize> = self.data.rows_of(problems).collect();
        if let Some(&first) = rows.first() {
            forest.row(self.data.row(first)).map_err(|error| TrainError::forest(self.target, error))?;
        }
        let mut scores = vec![0.0; rows.len()];
        // Our own scorer, because selections will use it.
        let scorer = RowScorer::new(Arc::clone(forest.forest()));
        scorer.score(&ListedRows { data: self.data, rows: &rows }, 0..usize::MAX, &mut scores);
        let prior_of_rows = problems.iter().flat_map(|&problem| {
            let prior = prior_of(problem);
            self.data.item(problem).span.clone().map(move |_| prior)
        });
        for ((score, prior), &row) in scores.iter_mut().zip(prior_of_rows).zip(&rows) {
            let raw = scorer.forest().finish(*score);
            let in_all = |prior| universal_score(raw.min(self.most), prior, self.data.log_time(row));
            *score = prior.map_or(raw, in_all);
        }
        Ok(scores)
    }

    /// The weight of the estimate in selections on a GPU, after training on so many of its problems.
    pub(super) fn adapted_prior(&self, prior: f64, arch: Option<Arch>, problems: usize) -> f64 {
        let had_seen = self.seen.is_empty() || arch.is_some_and(|arch| self.seen.contains(&arch));
        if self.adapts { adapt::adapted_prior(prior, had_seen, problems) } else { prior }
    }

    /// How well a forest chooses among the kernels of each of these problems.
    pub(super) fn choices(&self, scores: &[f64], problems: &[ItemIndex]) -> Vec<Choice> {
        let speeds: Vec<f64> = self.data.rows_of(problems).map(|row| self.data.tflops[row]).collect();
        metrics::choices(scores, &speeds, &self.data.spans_of(problems))
    }
}

/// Some rows of the data.
struct ListedRows<'a> {
    data: &'a TrainingData,
    rows: &'a [usize],
}

impl Rows for ListedRows<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn column(&self, feature: usize, first: usize, values: &mut [f64]) {
        for (value, &row) in values.iter_mut().zip(&self.rows[first..]) {
            *value = self.data.row(row)[feature];
        }
    }
}

/// A training that proceeds tree by tree.
struct Stepper {
    booster: Booster,
    params: String,
    derivatives: Option<Derivatives>,
}

/// Computes the first and second derivatives of a loss by each row's score.
type Derivatives = Box<dyn FnMut(&[f64]) -> (Vec<f32>, Vec<f32>)>;

impl Stepper {
    fn step(&mut self) -> Result<bool, TrainError> {
        let Some(derivatives) = &mut self.derivatives else { return Ok(self.booster.boost()?) };
        let (first, second) = derivatives(&self.booster.scores(0)?);
        Ok(self.booster.boost_by(&first, &second)?)
    }
}
