//! The compiled form of a forest against the real LightGBM, on pools of every width.

use std::sync::Arc;

use ck_select::forest::Forest;
use ck_select::scoring::{Column, PoolScorer, PoolTable, Scratch};
use ck_select_parity::synthetic::{self, Random};
use ck_select_parity::{Booster, Output};

/// Around the width of every set and vector, and as many as the largest sweep has.
const SIZES: [usize; 12] = [1, 2, 29, 30, 31, 32, 33, 63, 64, 65, 300, 4608];

/// Compares one problem's scores of a random pool of each size: rows that look for trouble (NaN, zeros,
/// thresholds and their neighbours) with equal kernels and columns that are the same for all of them.
pub(crate) fn compare(name: &str, booster: &Booster, forest: &Forest) {
    let forest = Arc::new(forest.clone());
    let mut scratch = Scratch::new();
    for kernels in SIZES {
        let random = &mut Random::new(kernels as u64);
        let pool = Pool::new(&forest, kernels, random);
        let scorer = PoolScorer::compile(&forest, &pool.table()).unwrap();
        let mut ours = vec![f64::NAN; kernels];
        scorer.score(&pool.uniform, &pool.pair, &mut scratch, &mut ours).unwrap();
        let theirs = booster.predict(&pool.rows, Output::RawScore).unwrap();
        for (kernel, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert!(
                ours.to_bits() == theirs.to_bits(),
                "{name}: kernel {kernel} of {kernels} ({}): ours {ours:e}, LightGBM's {theirs:e}",
                scorer.describe()
            );
        }
    }
}

/// A pool with one problem: as the compiled form takes them, and as LightGBM does.
struct Pool {
    columns: Vec<Column>,
    classes: Vec<u32>,
    kernel_values: Vec<f64>,
    uniform: Vec<f64>,
    pair: Vec<f64>,
    rows: Vec<f64>,
}

impl Pool {
    fn new(forest: &Forest, kernels: usize, random: &mut Random) -> Pool {
        const SCOPES: [Column; 3] = [Column::Uniform, Column::Kernel, Column::Pair];
        let width = forest.num_features();
        let classes = 1 + random.below(kernels.min(40));
        let columns: Vec<Column> = (0..width).map(|_| SCOPES[random.below(3)]).collect();
        let constant: Vec<bool> = (0..width).map(|_| random.below(4) == 0).collect();
        let class_of: Vec<usize> = (0..kernels).map(|_| random.below(classes)).collect();
        // The pool has as many classes as its kernels name, which may be fewer than were drawn from.
        let classes = class_of.iter().max().map_or(1, |last| last + 1);
        // Values come from these rows: one for each kernel, for each class, and for the problem.
        let values = synthetic::trouble(forest, kernels + classes + 1, kernels as u64);
        let value = |row: usize, column: usize| values[row * width + column];
        let mut source: Vec<usize> = Vec::with_capacity(kernels);
        for kernel in 0..kernels {
            let copy = kernel > 0 && random.below(5) == 0;
            source.push(if copy { source[random.below(kernel)] } else { kernel });
        }
        let of = |scope: Column| {
            let columns = columns.iter().enumerate();
            columns.filter(move |&(_, &column)| column == scope).map(|(column, _)| column)
        };
        let of_kernel =
            |kernel: usize, column: usize| value(if constant[column] { 0 } else { source[kernel] }, column);
        let of_class = |class: usize, column: usize| value(kernels + class, column);
        let of_problem = |column: usize| value(kernels + classes, column);
        let mut rows = Vec::with_capacity(kernels * width);
        for (kernel, &class) in class_of.iter().enumerate() {
            rows.extend(columns.iter().enumerate().map(|(column, scope)| match scope {
                Column::Uniform => of_problem(column),
                Column::Kernel => of_kernel(kernel, column),
                Column::Pair => of_class(class, column),
            }));
        }
        Pool {
            classes: class_of.iter().map(|&class| class as u32).collect(),
            kernel_values: (0..kernels)
                .flat_map(|kernel| of(Column::Kernel).map(move |column| (kernel, column)))
                .map(|(kernel, column)| of_kernel(kernel, column))
                .collect(),
            uniform: of(Column::Uniform).map(of_problem).collect(),
            pair: of(Column::Pair)
                .flat_map(|column| (0..classes).map(move |class| of_class(class, column)))
                .collect(),
            rows,
            columns,
        }
    }

    fn table(&self) -> PoolTable<'_> {
        PoolTable { columns: &self.columns, classes: &self.classes, kernel_values: &self.kernel_values }
    }
}
