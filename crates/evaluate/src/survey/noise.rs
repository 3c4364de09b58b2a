//! How stable times are, judged by kernels that were measured more than once on a problem.

use ck_select_measurements::Measurements;
use ck_select_measurements::figures::quantile;

/// A kernel that was measured more than once on a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatedPair {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// Index into [`Measurements::kernels`].
    pub kernel: u32,
    /// The number of measurements.
    pub times: usize,
    /// The slowest time over the fastest.
    pub ratio: f64,
}

/// Maximum number of pairs that are listed.
const LISTED: usize = 50;

/// How stable times are.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// Pairs of a kernel and a problem that were measured more than once.
    pub repeated: usize,
    /// The slowest time over the fastest of such pairs: the median; NaN without any.
    pub median: f64,
    /// The ninetieth percentile.
    pub p90: f64,
    /// The worst of the pairs.
    pub worst: Vec<RepeatedPair>,
}

impl Noise {
    pub(super) fn new(measurements: &Measurements) -> Self {
        let rows = measurements.rows();
        let mut places: Vec<u32> =
            (0u32..).zip(rows).filter(|(_, row)| row.is_valid).map(|(row, _)| row).collect();
        let pair = |row: u32| (rows[row as usize].problem, rows[row as usize].kernel);
        places.sort_unstable_by_key(|&row| pair(row));
        let mut repeated: Vec<RepeatedPair> = places
            .chunk_by(|&a, &b| pair(a) == pair(b))
            .filter(|same| same.len() > 1)
            .map(|same| {
                let times = same.iter().map(|&row| rows[row as usize].tflops);
                let (slowest, fastest) =
                    times.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
                let (problem, kernel) = pair(same[0]);
                RepeatedPair { problem, kernel, times: same.len(), ratio: fastest / slowest }
            })
            .collect();
        repeated.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let ratios: Vec<f64> = repeated.iter().map(|one| one.ratio).collect();
        Self {
            repeated: repeated.len(),
            median: quantile(&ratios, 0.5),
            p90: quantile(&ratios, 0.9),
            worst: repeated.into_iter().rev().take(LISTED).collect(),
        }
    }
}
