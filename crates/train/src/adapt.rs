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
//! On a GPU that the universal model has not seen, the estimate counts twice. A few measurements hardly
//! change that, many bring it down to once.
//!
//! The user's trees start where the others end, so that nothing changes without measurements, and a leaf that
//! no measurement reaches adds nothing. The forest of these problems alone errs elsewhere: from a hundred
//! problems on, both together choose better than either. The user's trees may also use the features of models
//! for one GPU, such as extents, which do not transfer to GPUs that were not measured. The measured problems
//! are far from each other: disagreement between models is a worse indicator of where they err.

use ck_select_model::ranking::universal_prior;
use ck_select_types::problem::Problem;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::objective::Objective;
use super::params::Params;

/// Parameters for learning the user's measurements: those of a model for one GPU, on top of a universal one;
/// ten trees per measured problem, 400 at most.
pub fn own_params() -> Params {
    let sharpness = Params::universal().sharpness();
    let values = [("n_estimators", 400.0), ("problems_a_tree", 0.1), ("sharpness", sharpness)];
    Params::new(Objective::Listwise).with(&values)
}

/// Parameters of the forest of these problems alone: those of a model for one GPU, with fewer trees for few
/// problems.
pub(super) fn alone_params() -> Params {
    Params::new(Objective::Listwise).with(&[("problems_a_tree", 0.1)])
}

/// How many problems have to be measured for the forest of these problems alone to count as much as the
/// adapted model. Chosen on the H200's data.
const EVEN_PROBLEMS: f64 = 150.0;

/// The weight of the scores of a forest of these problems alone, beside those of the adapted model; `sharper`
/// is how many times as sharp the latter's are.
pub(super) fn share_of_alone(problems: usize, sharper: f64) -> f64 {
    problems as f64 / EVEN_PROBLEMS * sharper
}

/// How many problems have to be measured to halve what the estimate counts more on a GPU that the universal
/// model has not seen. Chosen on the H200's data.
const HALVING_PROBLEMS: f64 = 15.0;

/// The weight of the estimate in a universal model adapted by so many problems; without any, that of the
/// universal model itself. The square keeps it there while few problems could mislead.
pub(super) fn adapted_prior(prior: f64, has_seen_device: bool, problems: usize) -> f64 {
    let more = universal_prior(prior, has_seen_device) - prior;
    prior + more / (1.0 + (problems as f64 / HALVING_PROBLEMS).powi(2))
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
        .map(|problem| problem.numbers().map(|(_, number)| (1.0 + number.max(0) as f64).log2()).collect())
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
        let problem = free.swap_remove(drawn.into_iter().max_by(farther).unwrap_or(0));
        for (other, distance) in distances.iter_mut().enumerate() {
            *distance = distance.min(between(problem, other));
        }
        chosen.push(problem);
    }
    chosen
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
        let kinds: std::collections::BTreeSet<usize> = order.iter().map(|index| index % 7).collect();
        assert!(kinds.len() >= 6, "{order:?}");
    }

    #[test]
    fn the_estimate_counts_less_the_more_is_measured() {
        let unseen = [0, 5, 15, 45, 135].map(|problems| adapted_prior(8.0, false, problems));
        assert_eq!(unseen, [universal_prior(8.0, false), 15.2, 12.0, 8.8, 8.0 + 8.0 / 82.0]);
        assert_eq!([0, 10].map(|problems| adapted_prior(8.0, true, problems)), [8.0; 2]);
    }

    #[test]
    fn more_problems_are_learned_with_more_trees() {
        assert_eq!([1, 10, 40, 500].map(|problems| own_params().trees_for(problems)), [10, 100, 400, 400]);
        assert_eq!([1, 330, 5000].map(|problems| Params::universal().trees_for(problems)), [1, 42, 500]);
        assert_eq!(
            Params::new(Objective::Listwise).trees_for(1),
            800,
            "others have as many as they are given"
        );
    }
}
