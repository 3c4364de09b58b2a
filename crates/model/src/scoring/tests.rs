//! Every walk must equal the scalar scorer, bit for bit, on every instruction set that this CPU has.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::forest::{Forest, texts};
use crate::isa::Isa;
use ck_select_testing::forests::{Sizes, VALUES, forest_text};
use ck_select_testing::{Numbers as _, Random};

pub(super) fn forest(random: &mut Random, features: usize, trees: usize, leaves: usize) -> Arc<Forest> {
    let text = forest_text(random, &Sizes { features, trees, leaves, chains: false });
    Arc::new(Forest::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

/// Kernels with repeated values, duplicates and constant columns.
pub(super) struct Pool {
    columns: Vec<Column>,
    classes: Vec<u32>,
    kernel_values: Vec<f64>,
}

impl Pool {
    pub(super) fn new(random: &mut Random, features: usize, kernels: usize) -> Pool {
        let columns: Vec<Column> =
            (0..features).map(|_| random.pick(&[Column::Uniform, Column::Kernel, Column::Pair])).collect();
        let width = columns.iter().filter(|&&column| column == Column::Kernel).count();
        let choices = 1 + random.below(6);
        let classes = 1 + random.below(kernels.min(40));
        let constant: Vec<bool> = (0..width).map(|_| random.below(4) == 0).collect();
        let mut kernel_values = Vec::new();
        for _ in 0..kernels {
            for &constant in &constant {
                let choices = if constant { 1 } else { choices };
                kernel_values.push(VALUES[random.below(choices) * 7 % VALUES.len()]);
            }
        }
        let classes = (0..kernels).map(|_| random.below(classes) as u32).collect();
        Pool { columns, classes, kernel_values }
    }

    pub(super) fn table(&self) -> PoolTable<'_> {
        PoolTable { columns: &self.columns, classes: &self.classes, kernel_values: &self.kernel_values }
    }

    /// Values of a call.
    pub(super) fn call(random: &mut Random, scorer: &PoolScorer) -> (Vec<f64>, Vec<f64>) {
        let uniform = (0..scorer.uniform_width).map(|_| random.pick(&VALUES)).collect();
        let few = random.below(2) == 0;
        let pair = (0..scorer.classes() * scorer.pair_width)
            .map(|_| if few { random.pick(&VALUES[9..12]) } else { random.pick(&VALUES) })
            .collect();
        (uniform, pair)
    }

    fn row(&self, kernel: usize, uniform: &[f64], pair: &[f64]) -> Vec<f64> {
        let width = |scope| self.columns.iter().filter(|&&column| column == scope).count();
        let mut uniform = uniform.iter();
        let mut of_kernel = self.kernel_values[kernel * width(Column::Kernel)..].iter();
        let classes = pair.len() / width(Column::Pair).max(1);
        let mut pair = pair.iter().skip(self.classes[kernel] as usize).step_by(classes.max(1));
        let value = |column: &Column| match column {
            Column::Uniform => *uniform.next().unwrap(),
            Column::Kernel => *of_kernel.next().unwrap(),
            Column::Pair => *pair.next().unwrap(),
        };
        self.columns.iter().map(value).collect()
    }
}

fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|score| score.to_bits()).collect()
}

/// Scores random problems with all walks, and compares them with the scalar scorer.
fn check(seed: u64, features: usize, trees: usize, leaves: usize, kernels: usize, calls: usize) {
    let random = &mut Random(seed);
    let forest = forest(random, features, trees, leaves);
    check_forest(random, &forest, kernels, calls);
}

fn check_forest(random: &mut Random, forest: &Arc<Forest>, kernels: usize, calls: usize) {
    let pool = Pool::new(random, forest.num_features(), kernels);
    let mut scorers: Vec<PoolScorer> = Isa::available()
        .into_iter()
        .map(|isa| PoolScorer::compile_for(forest, &pool.table(), isa).unwrap())
        .collect();
    let uncompiled = PoolScorer::uncompiled(forest, &pool.table(), Isa::best()).unwrap();
    scorers.push(PoolScorer { evaluator: Evaluator::Uncompiled.into(), ..uncompiled });
    let mut scratch = Scratch::new();
    for _ in 0..calls {
        let (uniform, pair) = Pool::call(random, &scorers[0]);
        let expected: Vec<f64> = (0..kernels)
            .map(|kernel| forest.raw_score(&pool.row(kernel, &uniform, &pair)).unwrap())
            .collect();
        for scorer in &scorers {
            let mut scores = vec![f64::NAN; kernels];
            scorer.score(&uniform, &pair, &mut scratch, &mut scores).unwrap();
            let (found, expected) = (bits(&scores), bits(&expected));
            assert_eq!(found, expected, "{kernels} kernels, {}", scorer.describe());
        }
        // Rows that share columns.
        let rows: Vec<f64> = (0..kernels).flat_map(|kernel| pool.row(kernel, &uniform, &pair)).collect();
        check_rows(forest, &rows);
    }
}

/// Scores rows on all instruction sets, with all trees and with some.
fn check_rows(forest: &Arc<Forest>, rows: &[f64]) {
    check_some(forest, rows);
    let (width, trees) = (forest.num_features(), forest.trees().len());
    let rows = RowMajor { values: rows, width };
    for trees in [0..trees, trees / 3..trees, 0..trees / 2] {
        let score = |row: &[f64]| forest.row(row).unwrap().raw_score_of(trees.clone());
        let expected: Vec<f64> = rows.values.chunks_exact(width).map(score).collect();
        for isa in Isa::available() {
            let scorer = RowScorer::with(Arc::clone(forest), isa);
            // The second call is compiled in any case.
            for call in 0..2 {
                let mut scores = vec![f64::NAN; rows.len()];
                scorer.score(&rows, trees.clone(), &mut scores);
                assert_eq!(
                    bits(&scores),
                    bits(&expected),
                    "{} rows, call {call}, {}",
                    rows.len(),
                    isa.name()
                );
            }
        }
    }
}

/// Scores some of the first rows: about what all sums are is no farther off than is said.
fn check_some(forest: &Arc<Forest>, rows: &[f64]) {
    let width = forest.num_features();
    let rows = RowMajor { values: &rows[..rows.len().min(64 * width)], width };
    let expected: Vec<f64> =
        rows.values.chunks_exact(width).map(|row| forest.raw_score(row).unwrap()).collect();
    for isa in Isa::available() {
        let scorer = RowScorer::with(Arc::clone(forest), isa);
        for wanted in [u64::MAX, 0, 1 << 5 | 1, 0x0f0f_1234_5678_9abc] {
            let (mut scores, mut listed) = (vec![0.0; rows.len()], u64::MAX);
            let pick = |about: &[f64], error: f64| {
                assert!(about.iter().zip(&expected).all(|(about, exact)| (about - exact).abs() <= error));
                listed = wanted;
                wanted
            };
            scorer.score_some(&rows, pick, &mut scores);
            for (row, (score, exact)) in scores.iter().zip(&expected).enumerate() {
                let exact = if listed >> row & 1 == 1 { *exact } else { f64::NAN };
                assert_eq!(score.to_bits(), exact.to_bits(), "row {row} of {}, {}", rows.len(), isa.name());
            }
        }
    }
}

/// Rows that share nothing: sizes around those of slabs and blocks, and trees of one to several parts.
#[test]
fn rows_of_every_number_have_the_forests_bits() {
    let counts: &[usize] = if cfg!(miri) {
        &[1, 2, 65]
    } else {
        &[1, 2, 9, 30, 63, 64, 65, 97, 193, 385, 511, 512, 513, 1000, 8192, 8193]
    };
    for (leaves, &count) in [16, 40, 130, 256, 257, 600].into_iter().cycle().zip(counts) {
        let random = &mut Random(count as u64);
        let (trees, leaves) = if cfg!(miri) { (2, leaves.min(40)) } else { (23, leaves) };
        let text = forest_text(random, &Sizes { features: 12, trees, leaves, chains: leaves == 130 });
        let forest = Arc::new(Forest::parse(text.as_bytes()).unwrap());
        let number = |random: &mut Random| random.below(4000) as f64 / 64.0 - 9.0;
        let rows: Vec<f64> = (0..count * 12)
            .map(|_| if random.below(3) == 0 { number(random) } else { random.pick(&VALUES) })
            .collect();
        check_rows(&forest, &rows);
    }
}

/// More thresholds of a feature than a byte counts.
#[test]
fn positions_beyond_a_byte_have_the_forests_bits() {
    let tree = |tree: u32| {
        let threshold = f64::from(tree * 7 % 600) - 100.5;
        texts::stump(0, threshold, [0, 2, 4, 10][tree as usize % 2], [f64::from(tree), 0.1])
    };
    let (trees, step) = if cfg!(miri) { (300, 62) } else { (600, 1) };
    let forest = Arc::new(Forest::parse(texts::forest(&["a"], (0..trees).map(tree)).as_bytes()).unwrap());
    let values: Vec<f64> = (-110..510).step_by(step).map(f64::from).chain(VALUES).collect();
    check_rows(&forest, &values);
}

/// A deferred scorer gives the same bits as one that is compiled, before, during and after its second call.
#[test]
fn deferred_scorers_are_compiled_by_the_second_call() {
    let random = &mut Random(7);
    let forest = forest(random, 9, 12, 31);
    for kernels in [20, 300] {
        let pool = Pool::new(random, 9, kernels);
        let (deferred, compiled) = (
            PoolScorer::deferred(&forest, &pool.table()).unwrap(),
            PoolScorer::compile(&forest, &pool.table()).unwrap(),
        );
        let later = deferred.lanes.len() <= LANES;
        for call in 0..4 {
            assert_eq!(deferred.describe() != compiled.describe(), later && call < 2, "{kernels} {call}");
            let (uniform, pair) = Pool::call(random, &compiled);
            let scores = [&deferred, &compiled].map(|scorer| {
                let mut scores = vec![f64::NAN; kernels];
                scorer.score(&uniform, &pair, &mut Scratch::new(), &mut scores).unwrap();
                bits(&scores)
            });
            assert_eq!(scores[0], scores[1]);
        }
    }
}

/// Computes shortlists of random problems with all walks: they must contain the best kernels with their
/// scores, and all others must be worse. Returns the number of shortlists.
fn check_shortlists(seed: u64, trees: usize, leaves: usize, kernels: usize, calls: usize) -> usize {
    let random = &mut Random(seed);
    let forest = forest(random, 12, trees, leaves);
    let pool = Pool::new(random, 12, kernels);
    let mut scratch = Scratch::new();
    let mut shortened = 0;
    for isa in Isa::available() {
        let scorer = PoolScorer::compile_for(&forest, &pool.table(), isa).unwrap();
        for _ in 0..calls {
            let (uniform, pair) = Pool::call(random, &scorer);
            let mut scores = vec![f64::NAN; kernels];
            scorer.score(&uniform, &pair, &mut scratch, &mut scores).unwrap();
            let (modulus, highest) = (1 + random.below(3), random.below(2) == 0);
            let may = |kernel: usize| kernel.is_multiple_of(modulus);
            let better = |a: f64, b: f64| if highest { a > b } else { a < b };
            for count in [1, 4, 32] {
                let wanted = BestKernels { count, highest };
                if !scorer.shortlist(&uniform, &pair, wanted, may, &mut scratch).unwrap() {
                    continue;
                }
                shortened += 1;
                let listed = scratch.shortlist();
                let on_it: Vec<usize> = listed.iter().map(|listed| listed.kernel).collect();
                assert!(on_it.is_sorted() && on_it.iter().all(|&kernel| may(kernel)));
                for listed in listed {
                    assert_eq!(listed.score.to_bits(), scores[listed.kernel].to_bits(), "seed {seed}");
                }
                let mut best: Vec<f64> = listed.iter().map(|listed| listed.score).collect();
                best.sort_by(|&a, &b| if highest { b.total_cmp(&a) } else { a.total_cmp(&b) });
                let last = best[count - 1];
                assert!(better(last, scratch.beyond()), "seed {seed}: {last}, {}", scratch.beyond());
                for kernel in (0..kernels).filter(|&kernel| may(kernel) && !on_it.contains(&kernel)) {
                    let worse = !better(scores[kernel], scratch.beyond());
                    assert!(worse, "seed {seed}: {} is not on the list", scores[kernel]);
                }
            }
        }
    }
    shortened
}

#[test]
fn the_best_kernels_are_on_the_shortlist() {
    let (sizes, trees, calls): (&[usize], _, _) =
        if cfg!(miri) { (&[40], 3, 1) } else { (&[33, 65, 300, 513, 4608, 9001], 120, 6) };
    for leaves in [16, 40] {
        let check = |&kernels: &usize| check_shortlists(kernels as u64, trees, leaves, kernels, calls);
        // Three trees, as many as Miri walks in a minute, make no list.
        assert!(sizes.iter().map(check).sum::<usize>() > 0 || cfg!(miri));
    }
}

#[test]
fn kernels_that_are_alike_make_no_shortlist() {
    // No tree tells the kernels apart, so that any of them may be the best.
    let forest = forest(&mut Random(1), 1, 0, 1);
    let values: Vec<f64> = (0..300).map(f64::from).collect();
    let pool = PoolTable { columns: &[Column::Kernel], classes: &[0; 300], kernel_values: &values };
    let scorer = PoolScorer::compile(&forest, &pool).unwrap();
    let wanted = BestKernels { count: 1, highest: true };
    assert!(!scorer.shortlist(&[], &[], wanted, |_| true, &mut Scratch::new()).unwrap());
    let mut few = Scratch::new();
    assert!(scorer.shortlist(&[], &[], wanted, |kernel| kernel % 100 == 7, &mut few).unwrap());
    let listed: Vec<_> = few.shortlist().iter().map(|listed| (listed.kernel, listed.score)).collect();
    assert_eq!(listed, [(7, 0.0), (107, 0.0), (207, 0.0)]);
    assert!(!scorer.shortlist(&[], &[], wanted, |_| false, &mut few).unwrap());
}

/// Lanes of runs whose best leaves are worse than what the best lanes have are not looked at.
#[cfg(target_arch = "x86_64")]
#[test]
fn lanes_of_hopeless_runs_are_left_out() {
    let trees = [texts::stump(0, 3.5, 2, [0.0, 8.0]), texts::stump(1, 3.5, 2, [2.0, -1.0])];
    let forest = Arc::new(Forest::parse(texts::forest(&["a", "b"], trees).as_bytes()).unwrap());
    let (columns, classes) = ([Column::Pair, Column::Kernel], (0..512).map(|kernel| kernel / 8));
    let (classes, values): (Vec<u32>, Vec<f64>) =
        (classes.collect(), (0..512).map(|kernel| f64::from(kernel % 8)).collect());
    let pool = PoolTable { columns: &columns, classes: &classes, kernel_values: &values };
    let pair: Vec<f64> = (0..64).map(|class| if class == 20 { 4.0 } else { 0.0 }).collect();
    for isa in Isa::available().into_iter().filter(|isa| isa.avx2().is_some()) {
        let scorer = PoolScorer::compile_for(&forest, &pool, isa).unwrap();
        for (highest, best, groups) in [(true, (160..164, 10.0), 1), (false, (4..8, -1.0), 16)] {
            let mut scratch = Scratch::new();
            let wanted = BestKernels { count: 4, highest };
            let may = |kernel| highest || kernel < 8;
            assert!(scorer.shortlist(&[], &pair, wanted, may, &mut scratch).unwrap());
            let kept = scratch.shortlist().iter().map(|listed| (listed.kernel, listed.score));
            assert!(kept.eq(best.0.map(|kernel| (kernel, best.1))), "{highest}");
            assert_eq!(scratch.is_found.iter().filter(|&&kept| kept).count(), groups, "{highest}");
        }
    }
}

/// Sizes around the width of every instruction set, vector and slab.
#[test]
fn pools_of_every_size_have_the_forests_bits() {
    let (sizes, calls): (&[usize], _) = if cfg!(miri) {
        (&[2, 33], 1)
    } else {
        (&[1, 2, 7, 8, 9, 29, 30, 31, 32, 33, 63, 64, 65, 300, 511, 512, 513, 4608, 9001], 4)
    };
    for &kernels in sizes {
        let trees = if cfg!(miri) { 2 } else { 70 };
        check(kernels as u64, 12, trees, 40, kernels, calls);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 300 },
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn random_shortlists_have_the_best(
        seed: u64, trees in 1usize..30, leaves in 2usize..60, kernels in 33usize..400
    ) {
        let trees = if cfg!(miri) { trees % 3 } else { trees };
        check_shortlists(seed, trees, leaves, kernels, 1);
    }

    #[test]
    fn random_forests_and_pools_have_the_forests_bits(
        seed: u64, features in 1usize..20, trees in 0usize..12, leaves in 1usize..60, kernels in 1usize..150
    ) {
        let trees = if cfg!(miri) { trees % 3 } else { trees };
        check(seed, features, trees, leaves, kernels, 2);
    }
}

/// As many leaves as a vector has words, and one more, in every shape up to the highest.
#[test]
fn small_trees_have_the_forests_bits() {
    for (leaves, chains) in
        [(17, false), (17, true), (16, false), (16, true), (15, true), (2, false), (1, false)]
    {
        let random = &mut Random(leaves as u64);
        let trees = if cfg!(miri) { 2 } else { 150 };
        let text = forest_text(random, &Sizes { features: 9, trees, leaves, chains });
        let forest = Arc::new(Forest::parse(text.as_bytes()).unwrap());
        let wide: &[usize] = if cfg!(miri) { &[] } else { &[33, 65, 97, 1025, 2100] };
        for kernels in if cfg!(miri) { 2..3 } else { 1..33 }.chain(wide.iter().copied()) {
            check_forest(random, &forest, kernels, 3);
        }
        for isa in Isa::available() {
            let pool = PoolTable { columns: &[Column::Uniform; 9], classes: &[0, 1], kernel_values: &[] };
            let way = PoolScorer::compile_for(&forest, &pool, isa).unwrap().describe();
            let small = leaves <= 16 && isa != Isa::Portable;
            assert_eq!(way.starts_with("small trees"), small, "{leaves} leaves: {way}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn large_trees_have_the_forests_bits() {
    check(1, 30, 3, 2000, 40, 2);
    check(2, 30, 3, 2000, 20, 2);
}

/// Trees that do not fit into cells are scored in the form in which they were read.
#[test]
#[cfg_attr(miri, ignore)]
fn odd_forests_have_the_forests_bits() {
    check(3, 30, 1, 20_000, 40, 2);
    let random = &mut Random(5);
    let forest = forest(random, 30, 1, 40_000);
    let pool = PoolTable { columns: &[Column::Uniform; 30], classes: &[0], kernel_values: &[] };
    let scorer = PoolScorer::compile(&forest, &pool).unwrap();
    assert_eq!(scorer.describe(), "uncompiled");
}

#[test]
fn pools_that_do_not_fit_are_refused() {
    let forest = forest(&mut Random(1), 3, 2, 4);
    let columns = [Column::Uniform, Column::Kernel, Column::Pair];
    let pool = PoolTable { columns: &columns, classes: &[0, 1], kernel_values: &[1.0, 2.0] };
    let compile =
        |pool: PoolTable<'_>| PoolScorer::compile(&forest, &pool).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        compile(PoolTable { columns: &columns[1..], ..pool }),
        "the pool has 2 columns, the forest has 3 features"
    );
    assert_eq!(
        compile(PoolTable { kernel_values: &[1.0], ..pool }),
        "the pool has 1 kernel values, expected 2"
    );
    assert_eq!(
        compile(PoolTable { classes: &[0, 2], ..pool }),
        "class 2 in a pool of 2 kernels, expected classes counted from 0"
    );
    let scorer = PoolScorer::compile(&forest, &pool).unwrap();
    let mut scratch = Scratch::new();
    let mut score = |uniform: &[f64], pair: &[f64], scores: &mut [f64]| {
        scorer.score(uniform, pair, &mut scratch, scores).map_err(|error| error.to_string())
    };
    assert_eq!(score(&[], &[1.0, 1.0], &mut [0.0; 2]).unwrap_err(), "0 uniform values, expected 1");
    assert_eq!(score(&[1.0], &[1.0], &mut [0.0; 2]).unwrap_err(), "1 pair values, expected 2");
    assert_eq!(score(&[1.0], &[1.0, 1.0], &mut [0.0; 3]).unwrap_err(), "3 scores, expected 2");
    score(&[1.0], &[1.0, 1.0], &mut [0.0; 2]).unwrap();
}

#[test]
fn an_empty_pool_has_no_scores() {
    let forest = forest(&mut Random(1), 3, 9, 9);
    let columns = [Column::Kernel, Column::Pair, Column::Pair];
    let pool = PoolTable { columns: &columns, classes: &[], kernel_values: &[] };
    let scorer = PoolScorer::compile(&forest, &pool).unwrap();
    scorer.score(&[], &[], &mut Scratch::new(), &mut []).unwrap();
}
