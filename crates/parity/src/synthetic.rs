//! Made-up training data with every kind of column, and rows that look for trouble.

use ck_select::forest::{Forest, Split};

use crate::Matrix;
use ck_select_testing::{Numbers as _, Random};

/// Columns of the training data; each has its own kind of values, see [`training_value`].
pub const WIDTH: usize = 10;

/// The columns of few and of many categories.
pub const CATEGORICAL: [usize; 2] = [7, 8];

/// A value as a column has it in training.
fn training_value(column: usize, random: &mut Random) -> f64 {
    match column {
        // Sizes of problems.
        0 => f64::from(1u32 << random.below(14)),
        1 => (1 + random.below(4096)) as f64,
        // Any number of either sign.
        2 => random.unit() * 200.0 - 100.0,
        // Mostly zero, and often not there.
        3 if random.below(3) > 0 => 0.0,
        4 if random.below(3) > 0 => f64::NAN,
        // Both, so that zero and missing meet in one column.
        5 => match random.below(4) {
            0 => 0.0,
            1 => f64::NAN,
            _ => random.unit() - 0.5,
        },
        // Around the size that counts as zero.
        6 => (random.unit() - 0.5) * 1e-34,
        7 => random.below(6) as f64,
        8 => random.below(200) as f64,
        // Constant, so that no tree asks for it.
        9 => 7.0,
        _ => random.unit() * 10.0 - 2.0,
    }
}

/// Training data in which every column but the constant one says something about the label, which is
/// positive.
pub fn training(rows: usize, seed: u64) -> Matrix<'static> {
    let mut random = Random(seed);
    let mut data = Matrix { width: WIDTH, ..Matrix::default() };
    let mut block = Vec::with_capacity(rows * WIDTH);
    for _ in 0..rows {
        let row: Vec<f64> = (0..WIDTH).map(|column| training_value(column, &mut random)).collect();
        let or_zero = |value: f64| if value.is_nan() { 0.3 } else { value };
        let label = row[0].log2() * 0.3
            + (row[1] / 300.0).sin()
            + row[2] * row[2] * 2e-4
            + or_zero(row[3]) * 0.2
            + (or_zero(row[4]) - 3.0).abs() * 0.1
            + or_zero(row[5])
            + (row[6] * 1e35).tanh() * 0.5
            + [0.0, 1.0, -1.0, 0.5, 0.2, 1.5][row[7] as usize]
            + ((row[8] * 7.0) % 11.0) * 0.1
            + random.unit() * 0.2;
        data.labels.push((label + 4.0).max(0.1) as f32);
        block.extend(row);
    }
    data.blocks.push(block.into());
    data
}

/// Synthetic data to rank within groups: labels are grades from 0 to 4.
pub fn ranking(rows: usize, seed: u64) -> Matrix<'static> {
    const GROUP: usize = 20;
    let mut data = training(rows - rows % GROUP, seed);
    for label in &mut data.labels {
        *label = (*label / 2.0).floor().clamp(0.0, 4.0);
    }
    data.groups = vec![GROUP as i32; rows / GROUP];
    data
}

/// Rows that look for trouble: each value is one of training's, one that is special to the format, or one of
/// the forest's own thresholds or categories or just beside it.
pub fn trouble(forest: &Forest, rows: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    let columns: Vec<Vec<f64>> = turning_points(forest);
    let special = special_values();
    let mut values = Vec::with_capacity(rows * columns.len());
    for _ in 0..rows {
        for (column, points) in columns.iter().enumerate() {
            values.push(match random.below(8) {
                0..=1 => random.pick(&special),
                2..=4 if !points.is_empty() => beside(random.pick(points), &mut random),
                _ => training_value(column, &mut random),
            });
        }
    }
    values
}

/// The values of each feature at which the forest's answer may change: its thresholds, and the members of its
/// category sets.
fn turning_points(forest: &Forest) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::new(); forest.num_features()];
    for tree in forest.trees() {
        for node in tree.nodes() {
            let points = &mut points[node.feature as usize];
            match node.split {
                Split::Numeric { threshold, .. } => points.push(threshold.get()),
                Split::Categorical { set } => {
                    let end = tree.category_sets().words(set).len() * 32;
                    let members = (0..end)
                        .map(|value| value as f64)
                        .filter(|&value| tree.category_sets().contains(set, value));
                    points.extend(members.chain([end as f64]));
                }
            }
        }
    }
    for points in &mut points {
        points.sort_by(f64::total_cmp);
        points.dedup();
    }
    points
}

/// The value, or one that a comparison or a cast may tell from it by the least there is.
fn beside(value: f64, random: &mut Random) -> f64 {
    match random.below(7) {
        0 => value.next_up(),
        1 => value.next_down(),
        2 => -value,
        3 => value + 0.5,
        _ => value,
    }
}

fn special_values() -> Vec<f64> {
    let threshold = f64::from(1e-35f32);
    #[rustfmt::skip]
    let sizes = [
        0.0, f64::from_bits(1), 1e-310, f64::MIN_POSITIVE, 1e-36, 1e-35, threshold.next_down(), threshold,
        threshold.next_up(), 1e-34, 0.5, 0.999_999, 1.0, 31.0, 32.0, 63.999, 64.0, 199.0, 200.0, 1e6,
        2_147_483_647.0, 2_147_483_647.5, 2_147_483_648.0, 4_294_967_296.0, 9.3e18, 1e300, f64::MAX,
        f64::INFINITY, f64::NAN,
    ];
    sizes.into_iter().flat_map(|size| [size, -size]).collect()
}
