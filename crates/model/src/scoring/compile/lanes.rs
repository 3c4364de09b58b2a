//! From kernels to lanes: equal kernels are scored once, similar ones are adjacent.

use std::cmp::Ordering;

pub use crate::column::Column;
use crate::forest::{Forest, Tree};
use crate::scoring::error::PoolError;

/// Maximum number of lanes of a narrow pool.
pub(in crate::scoring) const LANES: usize = 32;

/// The kernels of a pool as seen by a forest.
#[derive(Debug, Clone, Copy)]
pub struct PoolTable<'a> {
    /// One entry per column of the forest, in its order.
    pub columns: &'a [Column],
    /// The class of each kernel, counted from 0. Kernels of a class have the same [`Column::Pair`] values in
    /// every call. If nothing is known, each kernel has a class of its own.
    pub classes: &'a [u32],
    /// The [`Column::Kernel`] values, kernel after kernel.
    pub kernel_values: &'a [f64],
}

impl PoolTable<'_> {
    pub(in crate::scoring) fn kernels(&self) -> usize {
        self.classes.len()
    }

    pub(in crate::scoring) fn width(&self, scope: Column) -> usize {
        self.columns.iter().filter(|&&column| column == scope).count()
    }

    pub(in crate::scoring) fn validate(&self, forest: &Forest) -> Result<(), PoolError> {
        if self.columns.len() != forest.num_features() {
            return Err(PoolError::Columns { found: self.columns.len(), expected: forest.num_features() });
        }
        let expected = self.kernels().saturating_mul(self.width(Column::Kernel));
        if self.kernel_values.len() != expected {
            return Err(PoolError::KernelValues { found: self.kernel_values.len(), expected });
        }
        let kernels = self.kernels();
        if u32::try_from(kernels).is_err() {
            return Err(PoolError::TooLarge { kernels });
        }
        match self.classes.iter().find(|&&class| class as usize >= kernels) {
            Some(&class) => Err(PoolError::Class { class, kernels }),
            None => Ok(()),
        }
    }

    fn values(&self, kernel: usize) -> &[f64] {
        let width = self.width(Column::Kernel);
        &self.kernel_values[kernel * width..(kernel + 1) * width]
    }
}

/// The distinct kernels of a pool, in scoring order.
///
/// Classes are contiguous. Within and among classes, kernels are sorted by the columns that the forest asks
/// about most: so the sets that its questions select are few runs of lanes.
#[derive(Debug)]
pub(in crate::scoring) struct Lanes {
    /// The lane that holds each kernel's score.
    pub(in crate::scoring) lane_of: Vec<u32>,
    /// The class of each lane, in runs.
    pub(in crate::scoring) classes: Vec<u32>,
    /// The kernel values of each lane.
    pub(in crate::scoring) values: Vec<f64>,
    /// Number of kernel columns.
    pub(in crate::scoring) width: usize,
}

impl Lanes {
    pub(in crate::scoring) fn new(pool: &PoolTable<'_>, forest: &Forest) -> Lanes {
        let width = pool.width(Column::Kernel);
        let kernels = pool.kernels();
        let order = columns_by_use(pool, forest);
        // What is compared is computed once a kernel: sorting is most of the work for a large pool.
        let mut keys: Vec<i64> = Vec::with_capacity(kernels * width);
        for kernel in 0..kernels {
            let values = pool.values(kernel);
            keys.extend(order.iter().map(|&column| sortable(values[column])));
        }
        let key = |kernel: usize| &keys[kernel * width..][..width];
        let rank = class_ranks(pool, key);
        let mut kernels: Vec<usize> = (0..kernels).collect();
        // Most classes have few kernels, and each has a rank of its own.
        let rank = |kernel: usize| rank[pool.classes[kernel] as usize];
        kernels.sort_unstable_by_key(|&kernel| (rank(kernel), kernel));
        for class in kernels.chunk_by_mut(|&a, &b| rank(a) == rank(b)) {
            class.sort_unstable_by_key(|&kernel| key(kernel));
        }
        let mut lanes =
            Lanes { lane_of: vec![0; kernels.len()], classes: Vec::new(), values: Vec::new(), width };
        let mut last: Option<usize> = None;
        for kernel in kernels {
            let same = last.is_some_and(|last| {
                pool.classes[last] == pool.classes[kernel]
                    && pool
                        .values(last)
                        .iter()
                        .zip(pool.values(kernel))
                        .all(|(a, b)| a.to_bits() == b.to_bits())
            });
            if !same {
                lanes.classes.push(pool.classes[kernel]);
                lanes.values.extend_from_slice(pool.values(kernel));
                last = Some(kernel);
            }
            lanes.lane_of[kernel] = lanes.classes.len() as u32 - 1;
        }
        lanes
    }

    /// Lanes of a narrow pool of kernels without values.
    pub(in crate::scoring) fn unknown() -> Lanes {
        Lanes { lane_of: Vec::new(), classes: vec![0; LANES], values: Vec::new(), width: 0 }
    }

    pub(in crate::scoring) fn len(&self) -> usize {
        self.classes.len()
    }

    pub(in crate::scoring) fn value(&self, lane: usize, column: usize) -> f64 {
        self.values[lane * self.width + column]
    }
}

/// Kernel columns, those with the most nodes first.
fn columns_by_use(pool: &PoolTable<'_>, forest: &Forest) -> Vec<usize> {
    let mut nodes = vec![0usize; forest.num_features()];
    for node in forest.trees().iter().flat_map(Tree::nodes) {
        nodes[node.feature as usize] += 1;
    }
    let counts = nodes.iter().zip(pool.columns).filter(|(_, column)| **column == Column::Kernel);
    let counts: Vec<usize> = counts.map(|(&count, _)| count).collect();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&column| std::cmp::Reverse(counts[column]));
    order
}

/// Numbers classes by the columns that are constant within every class: with real features, those of the
/// tile.
fn class_ranks<'k>(pool: &PoolTable<'_>, key: impl Fn(usize) -> &'k [i64]) -> Vec<usize> {
    let classes = pool.classes.iter().max().map_or(0, |&last| last as usize + 1);
    let mut first: Vec<Option<usize>> = vec![None; classes];
    let mut constant = vec![true; pool.width(Column::Kernel)];
    for (kernel, &class) in pool.classes.iter().enumerate() {
        let first = *first[class as usize].get_or_insert(kernel);
        for (constant, (a, b)) in constant.iter_mut().zip(key(first).iter().zip(key(kernel))) {
            *constant &= a == b;
        }
    }
    let columns: Vec<usize> = (0..constant.len()).filter(|&column| constant[column]).collect();
    let order = |&a: &usize, &b: &usize| {
        let (Some(one), Some(other)) = (first[a], first[b]) else { return first[a].cmp(&first[b]) };
        let (one, other) = (key(one), key(other));
        let different = columns.iter().find(|&&column| one[column] != other[column]);
        different.map_or(Ordering::Equal, |&column| one[column].cmp(&other[column]))
    };
    let mut sorted: Vec<usize> = (0..classes).collect();
    sorted.sort_by(order);
    let mut ranks = vec![0; classes];
    for (rank, class) in sorted.into_iter().enumerate() {
        ranks[class] = rank;
    }
    ranks
}

/// An integer that orders like the value by [`f64::total_cmp`].
fn sortable(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}
