//! Discrete differential evolution, with upstream's parameters and upstream's order of steps.

use ck_select_model::select::RankScratch;
use rand::{Rng, RngExt};

use super::sample::{self, valid_point};
use super::score::{Scored, Scorer};
use super::space::{PARAMETERS, Point};
use super::{Progress, SearchError};

/// Size of a population.
const POPULATION: usize = 20;
/// Probability that a parameter is taken from a donor.
const MUTATION: f64 = 0.3;
/// One minus the probability that a parameter reverts to the parent's.
const CROSSOVER: f64 = 0.7;

/// The final population. A budget below the population size is spent on random points; upstream would exceed
/// it.
pub(super) fn evolve(
    scorer: &Scorer<'_>,
    budget: usize,
    random: &mut impl Rng,
    progress: Progress<'_>,
) -> Result<(Vec<Scored>, usize), SearchError> {
    if budget < POPULATION {
        return sample::random(scorer, budget, random, progress);
    }
    let drawn: Vec<Point> = (0..POPULATION).filter_map(|_| valid_point(scorer, random)).collect();
    // Three donors besides the parent.
    if drawn.len() < 4 {
        return sample::random(scorer, budget, random, progress);
    }
    let mut scratch = RankScratch::default();
    let scores = scorer.scores(&drawn, &mut scratch)?;
    let mut count = drawn.len();
    let mut population: Vec<Scored> = drawn.into_iter().zip(scores).collect();
    let generations = (budget - population.len()) / POPULATION;
    for _ in 0..generations {
        // Donors come from the old population.
        let trials: Vec<(usize, Point)> = (0..population.len())
            .filter_map(|member| {
                let mut trials = (0..scorer.space.trials()).map(|_| trial(&population, member, random));
                trials
                    .find(|trial| scorer.space.is_trial(trial, &population[member].0))
                    .map(|trial| (member, trial))
            })
            .collect();
        let points: Vec<Point> = trials.iter().map(|(_, point)| *point).collect();
        let scores = scorer.scores(&points, &mut scratch)?;
        count += points.len();
        for ((member, point), score) in trials.into_iter().zip(scores) {
            if scorer.is_better(score, population[member].1) {
                population[member] = (point, score);
            }
        }
        progress(count as u64, budget as u64);
    }
    Ok((population, count))
}

/// A parent with some parameters of three other members.
fn trial(population: &[Scored], member: usize, random: &mut impl Rng) -> Point {
    let mut donors = [0; 3];
    for place in 0..donors.len() {
        donors[place] = loop {
            let other = random.random_range(0..population.len());
            if other != member && !donors[..place].contains(&other) {
                break other;
            }
        };
    }
    let parent = population[member].0;
    let mut trial = parent;
    for parameter in 0..PARAMETERS {
        if random.random::<f64>() < MUTATION {
            let donor = donors[random.random_range(0..donors.len())];
            trial.0[parameter] = population[donor].0.0[parameter];
        }
        if random.random::<f64>() > CROSSOVER {
            trial.0[parameter] = parent.0[parameter];
        }
    }
    trial
}
