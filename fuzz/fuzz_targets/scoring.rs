#![no_main]
//! A random forest, pool and call, all made of the input: every way of scoring gives the scalar scorer's
//! bits, and a shortlist has the best kernels. Debug assertions are on, so that indexing is checked, too.

use std::sync::Arc;

use ck_select::forest::Forest;
use ck_select::scoring::{Column, PoolScorer, PoolTable, Scratch, BestKernels};
use ck_select_testing::Numbers;
use ck_select_testing::forests::{Sizes, VALUES, forest_text};
use libfuzzer_sys::fuzz_target;

/// The input as numbers, and a generator that goes on from them when they end.
struct Tape<'a> {
    bytes: std::slice::Iter<'a, u8>,
    state: u64,
}

impl Numbers for Tape<'_> {
    fn below(&mut self, end: usize) -> usize {
        let byte = self.bytes.next().copied();
        self.state =
            self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(u64::from(byte.unwrap_or(91)));
        match byte {
            Some(byte) if end <= 256 => usize::from(byte) % end,
            _ => (self.state >> 33) as usize % end,
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let tape = &mut Tape { bytes: bytes.iter(), state: 1 };
    let features = 1 + tape.below(12);
    let kernels = [1, 2, 7, 8, 30, 32, 33, 64, 65, 300, 513][tape.below(11)];
    let sizes = Sizes { features, trees: 1 + tape.below(24), leaves: 40, chains: false };
    let forest = forest_text(tape, &sizes);
    let forest = Arc::new(Forest::parse(forest.as_bytes()).expect("a forest's text"));
    let columns: Vec<Column> =
        (0..features).map(|_| [Column::Uniform, Column::Kernel, Column::Pair][tape.below(3)]).collect();
    let width = |scope| columns.iter().filter(|&&column| column == scope).count();
    let kernel_values: Vec<f64> = (0..kernels * width(Column::Kernel)).map(|_| tape.pick(&VALUES)).collect();
    let most = 1 + tape.below(kernels.min(40));
    let classes: Vec<u32> = (0..kernels).map(|_| tape.below(most) as u32).collect();
    let class_count = classes.iter().max().map_or(0, |&last| last as usize + 1);
    let table = PoolTable { columns: &columns, classes: &classes, kernel_values: &kernel_values };
    let mut scorers = PoolScorer::compile_for_all(&forest, &table).expect("a table of the forest's width");
    scorers.push(PoolScorer::deferred(&forest, &table).expect("a table of the forest's width"));
    let mut scratch = Scratch::new();
    for _ in 0..3 {
        let uniform: Vec<f64> = (0..width(Column::Uniform)).map(|_| tape.pick(&VALUES)).collect();
        let pair: Vec<f64> = (0..class_count * width(Column::Pair)).map(|_| tape.pick(&VALUES)).collect();
        let row = |kernel: usize| -> Vec<f64> {
            let (mut uniform, mut pairs) = (uniform.iter(), 0..);
            let mut own = kernel_values[kernel * width(Column::Kernel)..].iter();
            let value = |column: &Column| match column {
                Column::Uniform => *uniform.next().expect("one a column"),
                Column::Kernel => *own.next().expect("one a column"),
                Column::Pair => pair[pairs.next().expect("no end") * class_count + classes[kernel] as usize],
            };
            columns.iter().map(value).collect()
        };
        let expected: Vec<f64> =
            (0..kernels).map(|kernel| forest.raw_score(&row(kernel)).expect("a value a feature")).collect();
        let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
        let best = BestKernels { count: 1 + tape.below(32), highest: tape.below(2) == 0 };
        for scorer in &scorers {
            let mut scores = vec![f64::NAN; kernels];
            scorer.score(&uniform, &pair, &mut scratch, &mut scores).expect("the scorer's sizes");
            assert_eq!(bits(&scores), bits(&expected), "{}", scorer.describe());
            let listed = scorer.shortlist(&uniform, &pair, best, |_| true, &mut scratch).expect("the same");
            if listed {
                let better = |a: f64, b: f64| if best.highest { a > b } else { a < b };
                let on_it: Vec<usize> = scratch.shortlist().iter().map(|one| one.kernel).collect();
                for one in scratch.shortlist() {
                    assert_eq!(one.score.to_bits(), expected[one.kernel].to_bits());
                }
                let off_it = (0..kernels).filter(|kernel| !on_it.contains(kernel));
                assert!(off_it.map(|kernel| expected[kernel]).all(|score| !better(score, scratch.beyond())));
            }
        }
    }
});
