//! The compiled form of a forest against the real LightGBM, on pools of every width.

use std::sync::Arc;

use ck_select::forest::Forest;
use ck_select::scoring::{Column, PoolScorer, PoolTable, Scratch};
use ck_select_parity::{Booster, Output, synthetic};
use ck_select_testing::{Numbers as _, Random};

/// Around the width of every set and vector, and as many as the largest sweep has.
const SIZES: [usize; 12] = [1, 2, 29, 30, 31, 32, 33, 63, 64, 65, 300, 4608];

/// Compares one problem's scores of a random pool of each size: rows that look for trouble (NaN, zeros,
/// thresholds and their neighbours) with equal kernels and columns that are the same for all of them.
pub(crate) fn compare(name: &str, booster: &Booster, forest: &Forest) {
    let (forest, width) = (Arc::new(forest.clone()), forest.num_features());
    let mut scratch = Scratch::new();
    for kernels in SIZES {
        let random = &mut Random(kernels as u64);
        let classes = 1 + random.below(kernels.min(40));
        let columns: Vec<Column> =
            (0..width).map(|_| random.pick(&[Column::Uniform, Column::Kernel, Column::Pair])).collect();
        // Values come from these rows: one for each kernel, for each class, and for the problem.
        let values = synthetic::trouble(&forest, kernels + classes + 1, kernels as u64);
        let value = |row: usize, column: usize| values[row * width + column];
        let cell = |kernel: usize, column: usize| match columns[column] {
            Column::Uniform => value(kernels + classes, column),
            Column::Pair => value(kernels + kernel % classes, column),
            Column::Kernel if column.is_multiple_of(4) => value(0, column),
            // Every fifth is the one before it.
            Column::Kernel => value(kernel - kernel % 5 / 4, column),
        };
        let own = |scope| (0..width).filter(|&column| columns[column] == scope).collect::<Vec<_>>();
        let of_kernels = own(Column::Kernel);
        let kernel_values: Vec<f64> =
            (0..kernels).flat_map(|kernel| of_kernels.iter().map(move |&at| cell(kernel, at))).collect();
        let classes_of: Vec<u32> = (0..kernels).map(|kernel| (kernel % classes) as u32).collect();
        let table = PoolTable { columns: &columns, classes: &classes_of, kernel_values: &kernel_values };
        let scorer = PoolScorer::compile(&forest, &table).unwrap();
        // The first kernels are of one class each.
        let uniform: Vec<f64> = own(Column::Uniform).into_iter().map(|at| cell(0, at)).collect();
        let pair: Vec<f64> =
            own(Column::Pair).iter().flat_map(|&at| (0..classes).map(move |class| cell(class, at))).collect();
        let mut ours = vec![f64::NAN; kernels];
        scorer.score(&uniform, &pair, &mut scratch, &mut ours).unwrap();
        let rows: Vec<f64> =
            (0..kernels).flat_map(|kernel| (0..width).map(move |at| cell(kernel, at))).collect();
        let theirs = booster.predict(&rows, Output::RawScore).unwrap();
        for (kernel, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert!(
                ours.to_bits() == theirs.to_bits(),
                "{name}: kernel {kernel} of {kernels} ({}): ours {ours:e}, LightGBM's {theirs:e}",
                scorer.describe()
            );
        }
    }
}
