//! What is known about a choice when it is made, in the columns of the forest that expects its loss.

use crate::estimate::{Estimator, Load, MOST_TERMS, Shape, term_names};
use crate::vocab::Op;

/// How many kernels behind the first are looked at: a selection ranks few places.
const BEHIND: usize = 3;
/// The column of the number of kernels.
const KERNELS: usize = BEHIND;
/// The column of the logarithm of the estimate's microseconds.
const LOG_TIME: usize = KERNELS + 1;
/// The first column of the shares that terms have of those microseconds.
const TERMS: usize = LOG_TIME + 1;
/// Most columns that an operation has.
const MOST: usize = TERMS + MOST_TERMS;

/// The names of the columns for an operation, in the order of [`Signs::columns`].
pub fn column_names(op: Op) -> Vec<String> {
    let behind = (0..BEHIND).map(|number| format!("behind_{}", number + 2));
    let own = ["kernels", "log_time"].map(str::to_owned);
    let shares = term_names(op).into_iter().map(|term| format!("share_{term}"));
    behind.chain(own).chain(shares).collect()
}

/// The signs of a choice; NaN for what is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signs {
    columns: [f64; MOST],
}

impl Signs {
    /// The signs of a choice among so many kernels; `behind` are the logarithms of time by which the next ones are
    /// behind the chosen one, best first.
    pub fn new(kernels: usize, behind: impl Iterator<Item = f64>) -> Self {
        let mut columns = [f64::NAN; MOST];
        columns[KERNELS] = kernels as f64;
        for (column, behind) in columns.iter_mut().zip(behind.take(BEHIND)) {
            *column = behind;
        }
        Self { columns }
    }

    /// Signs completed by those of the chosen kernel's estimate.
    pub fn with_estimate(mut self, estimator: &Estimator, load: &Load, shape: &Shape) -> Self {
        let terms = estimator.values_of_terms(load, shape);
        // Not `Iterator::sum`, which starts from -0.0.
        let time = terms.iter().fold(0.0, |time, term| time + term);
        // Before the shares, which would wait in memory for the end of the call.
        self.columns[LOG_TIME] = time.ln();
        self.columns[TERMS..].iter_mut().zip(terms).for_each(|(share, term)| *share = term / time);
        self
    }

    /// The logarithm of the estimate's microseconds for the chosen kernel; NaN if there is no estimate.
    pub const fn log_time(&self) -> f64 {
        self.columns[LOG_TIME]
    }

    /// The number of kernels.
    pub const fn kernels(&self) -> u32 {
        self.columns[KERNELS] as u32
    }

    /// The values of the columns of [`column_names`]; operations that have fewer leave the last ones.
    pub const fn columns(&self) -> &[f64] {
        &self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_column_for_each_term() {
        for &op in Op::ALL {
            assert!(column_names(op).len() <= MOST, "{op}");
        }
    }
}
