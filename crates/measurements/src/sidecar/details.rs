//! The details of measurements beyond their rows.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use serde::{Deserialize, Serialize};

use crate::distinct::Distinct;
use crate::figures::quantile;
use crate::outcome::Outcome;

/// Maximum number of rows that are listed.
const LISTED: usize = 50;

/// A line of the details: a measurement beyond its row. Readers ignore further fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DetailsLine {
    /// The problem's number in the log.
    pub problem_idx: u64,
    /// The kernel.
    pub kernel: String,
    /// The result with its samples.
    pub outcome: Outcome,
    /// Whether the samples vary too much.
    #[serde(default)]
    pub unstable: bool,
    /// The host's name for the GPU, which no reader needs.
    #[serde(skip_deserializing)]
    pub gpu: String,
    /// When the line was written, in seconds since 1970.
    #[serde(default)]
    pub at: u64,
}

/// Takes the lines of the details, of which the last one of a row counts. A torn last line is ignored.
pub fn read_details(mut reader: impl BufRead, mut take: impl FnMut(DetailsLine)) -> io::Result<()> {
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        if let Ok(line) = serde_json::from_slice(&bytes) {
            take(line);
        }
        bytes.clear();
    }
    Ok(())
}

/// A row with a large spread of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsteadyRow {
    /// The kernel.
    pub kernel: String,
    /// The problem's number in the log.
    pub problem: u64,
    /// Coefficient of variation of the samples.
    pub cv: f64,
}

/// Details beyond rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Rows.
    pub rows: usize,
    /// Rows that were timed again because samples varied too much.
    pub remeasured: usize,
    /// Rows that were written again: after `--resume=failed`, or after a crash.
    pub again: usize,
    /// Rows with a coefficient of variation.
    pub with_cv: usize,
    /// The coefficients' median; NaN without any.
    pub median: f64,
    /// The coefficients' ninetieth percentile.
    pub p90: f64,
    /// Rows that stayed unstable.
    pub unsteady: usize,
    /// The worst of the unstable rows.
    pub worst: Vec<UnsteadyRow>,
}

/// The details of a log, and the times at which their lines were written.
pub(super) fn details(file: File) -> io::Result<(Details, Vec<u64>)> {
    let mut kernels: Distinct<String, String> = Distinct::default();
    let mut last: HashMap<(u32, u64), (f64, bool, bool)> = HashMap::new();
    let (mut again, mut times) = (0, Vec::new());
    read_details(BufReader::new(file), |line| {
        let kernel = kernels.index_of(line.kernel.as_str(), || line.kernel.clone());
        let measured = line.outcome.measured();
        let cv = measured.and_then(|measured| measured.cv).unwrap_or(f64::NAN);
        let remeasured = measured.is_some_and(|measured| measured.timed > 1);
        let before = last.insert((kernel, line.problem_idx), (cv, line.unstable, remeasured));
        again += usize::from(before.is_some());
        times.push(line.at);
    })?;
    let mut spreads: Vec<f64> = last.values().map(|one| one.0).filter(|cv| !cv.is_nan()).collect();
    spreads.sort_by(f64::total_cmp);
    let mut unsteady: Vec<(f64, u64, u32)> = last
        .iter()
        .filter(|(_, one)| one.1)
        .map(|(&(kernel, problem), one)| (one.0, problem, kernel))
        .collect();
    unsteady.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let details = Details {
        rows: last.len(),
        remeasured: last.values().filter(|one| one.2).count(),
        again,
        with_cv: spreads.len(),
        median: quantile(&spreads, 0.5),
        p90: quantile(&spreads, 0.9),
        unsteady: unsteady.len(),
        worst: unsteady
            .into_iter()
            .take(LISTED)
            .map(|(cv, problem, kernel)| UnsteadyRow {
                kernel: kernels[kernel as usize].clone(),
                problem,
                cv,
            })
            .collect(),
    };
    Ok((details, times))
}
