//! Why a row got its score: what each feature added on the row's way down the trees.

use super::node::{Child, Target};
use super::row::Row;
use super::tree::Tree;

/// The contribution of each feature to a raw score.
///
/// Each step of the row's way down a tree, from a node to its child, adds the difference of their values to
/// the node's feature (Saabas' method). The values of the roots, before any step, are the bias. The parts add
/// up exactly: summed with plain `f64` additions, [`bias`](Self::bias), then [`features`](Self::features) in
/// any order, then [`rounding`](Self::rounding) give the raw score bit for bit.
///
/// The raw score is a sum over the trees even if the prediction is their average.
#[derive(Debug, Clone, PartialEq)]
pub struct Contributions {
    /// The forest's value before it looks at the row.
    pub bias: f64,
    /// The contribution of each feature, by its index.
    pub features: Vec<f64>,
    /// The remainder from rounding the other parts to a common grid: about 1e-15 of their total size.
    pub rounding: f64,
}

impl Contributions {
    pub(super) fn new(row: &Row<'_>) -> Contributions {
        let mut features = vec![0.0; row.values.len()];
        let bias: f64 = row.forest.trees().iter().map(|tree| tree.walk(&row.values, &mut features)).sum();
        add_up(row.raw_score(), bias, features)
    }

    /// The raw score: bias, features and rounding, added in this order.
    pub fn raw_score(&self) -> f64 {
        self.features.iter().fold(self.bias, |sum, part| sum + part) + self.rounding
    }
}

impl Tree {
    /// Adds the value of each step to its feature, and returns the root's value.
    fn walk(&self, values: &[f64], features: &mut [f64]) -> f64 {
        let mut child = self.root();
        let root = self.value_of(child);
        let mut value = root;
        while let Target::Node(index) = child.target() {
            let node = self.node(index);
            child = self.step(node, values);
            let next = self.value_of(child);
            features[node.feature as usize] += next - value;
            value = next;
        }
        root
    }

    fn value_of(&self, child: Child) -> f64 {
        match child.target() {
            Target::Node(node) => self.internal_values[node],
            Target::Leaf(leaf) => self.leaf_values[leaf],
        }
    }
}

/// Rounds the parts to multiples of one power of two, coarse enough that every partial sum of them is exact
/// in `f64`, in any order. The bias absorbs what the rounded steps leave of the score on that grid; the rest,
/// which is finer than the grid, is the rounding, and adding that last is exact, too, because the score
/// itself is an `f64`.
fn add_up(score: f64, bias: f64, mut features: Vec<f64>) -> Contributions {
    let size = features.iter().fold(score.abs() + bias.abs(), |size, part| size + part.abs());
    let grid = grid(size);
    let mut rest = round(score, grid);
    for part in &mut features {
        *part = round(*part, grid);
        rest -= *part;
    }
    Contributions { bias: rest, features, rounding: score - round(score, grid) }
}

/// The power of two that is 2^-51 of `size`, or the smallest that exists. Parts of at most `size` are then
/// fewer than 2^52 grid steps, which leaves room in the 53 bits of an `f64` for what rounding the parts adds
/// to their sums.
fn grid(size: f64) -> f64 {
    const STEPS: f64 = (1u64 << 51) as f64;
    let power = f64::from_bits(size.to_bits() & f64::INFINITY.to_bits());
    (power / STEPS).max(f64::from_bits(1))
}

fn round(value: f64, grid: f64) -> f64 {
    (value / grid).round_ties_even() * grid
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of every size that a leaf can have, and some that cancel.
    fn part() -> impl Strategy<Value = f64> {
        prop_oneof![
            -1e3..1e3,
            Just(0.0),
            Just(1e290),
            Just(-1e290),
            (any::<bool>(), -320..290).prop_map(|(up, power)| {
                let size: f64 = format!("1.7e{power}").parse().unwrap();
                if up { size } else { -size }
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn parts_add_up_to_the_score_in_any_order(
            score in part(), bias in part(), features in prop::collection::vec(part(), 0..40)
        ) {
            let given = Contributions { bias, features: features.clone(), rounding: 0.0 };
            let made = add_up(score, bias, features);
            prop_assert_eq!(made.raw_score().to_bits(), (score + 0.0).to_bits());
            let mut backwards = made.clone();
            backwards.features.reverse();
            prop_assert_eq!(backwards.raw_score(), score);

            let size: f64 =
                given.features.iter().map(|part| part.abs()).sum::<f64>() + bias.abs() + score.abs();
            for (made, given) in made.features.iter().zip(&given.features) {
                prop_assert!((made - given).abs() <= 1e-15 * size);
            }
            prop_assert!(made.rounding.abs() <= 1e-15 * size);
        }
    }

    #[test]
    fn nothing_adds_up_to_nothing() {
        let made = add_up(0.0, 0.0, vec![0.0; 3]);
        assert_eq!(made, Contributions { bias: 0.0, features: vec![0.0; 3], rounding: 0.0 });
    }
}
