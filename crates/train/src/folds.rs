//! Splits problems into folds, so that no problem is on both sides.

use std::collections::BTreeMap;

use ck_select_types::operation::Operation;
use ck_select_types::problem::{GemmProblem, Problem};
use ck_select_types::vocabulary;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

vocabulary! {
    /// Which problems must not be on both sides of a fold.
    GroupBy, "group" {
        /// Problems that are equal in every field.
        Problem = "problem",
        /// Problems of the same sizes, whatever their direction, type, layout and architecture.
        Sizes = "sizes",
        /// GEMMs of the same columns and depth, whatever their rows: what a layer of a network shares.
        Pair = "pair",
        /// Problems that are equal by upstream's keys, which ignore strides, padding, direction and type.
        Upstream = "upstream",
    }
}

impl GroupBy {
    /// A sentence that says what is not on both sides of a fold. Whoever holds out a device, direction, type or file
    /// promises no more than that.
    pub(super) const fn promise(self, holds_out: bool) -> &'static str {
        match self {
            Self::Sizes | Self::Pair | Self::Upstream if holds_out => Self::Problem.promise(false),
            Self::Problem => "no problem is on both sides",
            Self::Sizes => {
                "no problem is on both sides, nor one of the same sizes that differs only in direction, \
                 type, layout or architecture"
            }
            Self::Pair => "no pair of N and K is on both sides, on any device and of any family",
            Self::Upstream => {
                "no problem is on both sides, nor another one that upstream's keys do not distinguish"
            }
        }
    }

    /// The key that problems of one group share.
    pub fn key(self, problem: &Problem) -> String {
        match (self, problem) {
            (Self::Problem, problem) => problem.to_string(),
            (Self::Pair, problem) => problem.weight().unwrap_or_else(|| sizes(problem).to_string()),
            (Self::Sizes, problem) => sizes(problem).to_string(),
            (Self::Upstream, problem) => {
                let extents = Operation::get(problem.op()).extents.iter();
                extents.map(|extent| problem.cell(extent)).collect::<Vec<_>>().join("_")
            }
        }
    }
}

/// A problem with everything at its default that is not a size; a convolution of single points is its GEMM.
fn sizes(problem: &Problem) -> Problem {
    match problem {
        Problem::Conv(conv) if conv.g == 1 && conv.filter == [1; 3] && conv.output() == conv.input => {
            let rows = conv.input.iter().fold(conv.n, |rows, &edge| rows.saturating_mul(edge));
            GemmProblem::new(rows, conv.k, conv.c).into()
        }
        problem => problem.usual_in(Operation::get(problem.op()).variant_fields).on(None),
    }
}

/// The fold of each item, by scikit-learn's `GroupKFold`: the groups, largest first, each go to the fold with
/// the fewest rows so far. Among equally large groups the last by key comes first; with a seed their order is
/// random.
///
/// `items` are a key and a number of rows each. There must be at least as many keys as folds.
pub fn group_k_fold(items: &[(String, usize)], folds: usize, seed: Option<u64>) -> Vec<usize> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, rows) in items {
        *sizes.entry(key).or_default() += rows;
    }
    let mut groups: Vec<(&str, usize)> = sizes.into_iter().collect();
    if let Some(seed) = seed {
        groups.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    }
    // Sorted ascending and stable, then reversed, as in scikit-learn.
    groups.sort_by_key(|group| group.1);
    let mut loads = vec![0; folds];
    let mut fold_of: BTreeMap<&str, usize> = BTreeMap::new();
    for &(key, rows) in groups.iter().rev() {
        let lightest = (0..folds).min_by_key(|&fold| loads[fold]).unwrap_or(0);
        loads[lightest] += rows;
        fold_of.insert(key, lightest);
    }
    items.iter().map(|(key, _)| fold_of[key.as_str()]).collect()
}

/// Some problems in folds, each with its item: those that a fold trains on, and those that it holds out.
pub(super) fn in_folds<T: Copy>(
    problems: &[T],
    items: &[(String, usize)],
    folds: usize,
    seed: u64,
) -> Vec<(Vec<T>, Vec<T>)> {
    let fold_of = group_k_fold(items, folds, Some(seed));
    let one = |fold: usize| {
        let part = |is_held: bool| {
            let part = problems.iter().zip(&fold_of).filter(|(_, own)| (**own == fold) == is_held);
            part.map(|(&problem, _)| problem).collect()
        };
        (part(false), part(true))
    };
    (0..folds).map(one).collect()
}

#[cfg(test)]
mod tests {
    use ck_select_types::problem::{ConvProblem, GemmProblem};
    use ck_select_types::vocab::{ConvLayout, Direction, Dtype};

    use super::*;

    fn items(list: &[(&str, usize)]) -> Vec<(String, usize)> {
        list.iter().map(|&(key, rows)| (key.to_owned(), rows)).collect()
    }

    /// `GroupKFold(n_splits=3)` of scikit-learn 1.9.1 on groups with these sizes: fold of a, b, c, d, e, f.
    #[test]
    fn folds_are_scikit_learns() {
        let sizes = items(&[("a", 5), ("b", 3), ("c", 3), ("d", 1), ("e", 4), ("f", 3)]);
        assert_eq!(group_k_fold(&sizes, 3, None), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn equal_shapes_share_a_key_and_others_do_not() {
        let gemm = |m, n, k| Problem::from(GemmProblem::new(m, n, k));
        assert_eq!(GroupBy::Pair.key(&gemm(1, 2, 3)), GroupBy::Pair.key(&gemm(5, 2, 3)));
        assert_ne!(GroupBy::Pair.key(&gemm(1, 2, 3)), GroupBy::Pair.key(&gemm(1, 3, 2)));
        for by in [GroupBy::Problem, GroupBy::Upstream] {
            assert_eq!(by.key(&gemm(1, 2, 3)), by.key(&gemm(1, 2, 3)));
            let keys = [gemm(1, 2, 3), gemm(12, 3, 3), gemm(1, 23, 3)].map(|problem| by.key(&problem));
            assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
        }
        assert_eq!(GroupBy::Upstream.key(&gemm(1, 2, 3)), "1_2_3");
    }

    #[test]
    fn upstreams_keys_pool_strides_and_ours_do_not() {
        let problem = ConvProblem { c: 8, k: 8, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let strided = ConvProblem { stride: [1, 2, 2], ..problem };
        let keys = |by: GroupBy| (by.key(&problem.into()), by.key(&strided.into()));
        let (one, other) = keys(GroupBy::Upstream);
        assert_eq!((one.as_str(), &one), ("1_8_8_1_28_28_3_3_1_1_1_1", &other));
        let (one, other) = keys(GroupBy::Problem);
        assert_ne!(one, other);
    }

    #[test]
    fn sizes_are_what_directions_types_and_architectures_share() {
        let problem = ConvProblem { c: 8, k: 8, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let other = ConvProblem {
            direction: Direction::BwdData,
            dtype_in: Dtype::Fp16,
            arch: "sm_90".parse().ok(),
            layout: ConvLayout::Nchw,
            ..problem
        };
        let key = |problem: ConvProblem| GroupBy::Sizes.key(&problem.into());
        assert_eq!(key(problem), key(other));
        assert_ne!(key(problem), key(ConvProblem { stride: [1, 2, 2], ..problem }));
        let gemm = GemmProblem::new(1, 2, 3);
        let typed = GemmProblem { dtype_a: Dtype::Bf16, split_k: 4, ..gemm };
        assert_eq!(GroupBy::Sizes.key(&gemm.into()), GroupBy::Sizes.key(&typed.into()));
        assert_ne!(GroupBy::Sizes.key(&gemm.into()), GroupBy::Sizes.key(&GemmProblem::new(3, 2, 1).into()));
        // Trainings may have both.
        let points = ConvProblem { n: 2, c: 8, k: 16, ..ConvProblem::new_2d([3, 5], [1, 1]) };
        assert_eq!(key(points), GroupBy::Sizes.key(&GemmProblem::new(30, 16, 8).into()));
        assert_ne!(key(ConvProblem { stride: [1, 2, 2], ..points }), key(points));
    }

    #[test]
    fn a_seed_shuffles_groups_of_one_size() {
        let sizes: Vec<_> = (0..40).map(|group| (format!("{group:02}"), 30)).collect();
        let plain = group_k_fold(&sizes, 5, None);
        let shuffled = group_k_fold(&sizes, 5, Some(1));
        assert_ne!(plain, shuffled);
        assert_eq!(shuffled, group_k_fold(&sizes, 5, Some(1)));
        for fold in 0..5 {
            assert_eq!(shuffled.iter().filter(|&&found| found == fold).count(), 8);
        }
    }
}
