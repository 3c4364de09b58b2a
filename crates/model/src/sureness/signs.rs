//! What is known about a choice when it is made, in columns of the forest that expects its loss.

use crate::estimate::{Estimator, Load, Shape, term_names};
use crate::vocab::Op;

/// Most columns of a forest: those of every operation.
pub(super) const MOST: usize = 5 + TERMS;
/// Most terms that the estimate has for an operation.
const TERMS: usize = 16;
/// How many kernels behind the first are looked at: a selection ranks few places.
const BEHIND: usize = 3;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Logarithm of time by which a kernel is behind the first, from the second on.
    Behind(usize),
    /// The number of kernels.
    Kernels,
    /// Logarithm of the microseconds that the estimate has for the first.
    LogTime,
    /// A term's share of them.
    Share(&'static str),
}

/// The names of all columns for some operations.
pub fn column_names() -> Vec<String> {
    all().map(Sign::name).collect()
}

/// All columns.
fn all() -> impl Iterator<Item = Sign> {
    let mut terms: Vec<&'static str> = Vec::new();
    for name in Op::ALL.iter().flat_map(|&op| term_names(op)) {
        if !terms.contains(&name) {
            terms.push(name);
        }
    }
    let places = (0..BEHIND).map(Sign::Behind);
    places.chain([Sign::Kernels, Sign::LogTime]).chain(terms.into_iter().map(Sign::Share))
}

impl Sign {
    fn name(self) -> String {
        match self {
            Self::Behind(place) => format!("behind_{}", place + 2),
            Self::Kernels => "kernels".to_owned(),
            Self::LogTime => "log_time".to_owned(),
            Self::Share(term) => format!("share_{term}"),
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        all().find(|sign| sign.name() == name)
    }
}

/// The signs of a choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signs {
    behind: [f64; BEHIND],
    kernels: usize,
    log_time: f64,
    shares: [(&'static str, f64); TERMS],
}

impl Signs {
    /// Of a choice among so many kernels; `behind` are the logarithms of time by which the next ones are behind
    /// it, best first.
    pub fn new(kernels: usize, behind: impl Iterator<Item = f64>) -> Self {
        let mut signs =
            Self { behind: [f64::NAN; BEHIND], kernels, log_time: f64::NAN, shares: [("", f64::NAN); TERMS] };
        for (value, behind) in signs.behind.iter_mut().zip(behind) {
            *value = behind;
        }
        signs
    }

    /// With what the estimate says of the chosen kernel.
    pub fn with_estimate(mut self, estimator: &Estimator, load: &Load, shape: &Shape) -> Self {
        let mut sum = 0.0;
        let mut place = 0;
        estimator.each_term(load, shape, |name, value| {
            if let Some(share) = self.shares.get_mut(place) {
                *share = (name, value);
                sum += value;
                place += 1;
            }
        });
        self.shares.iter_mut().for_each(|(_, value)| *value /= sum);
        self.log_time = sum.ln();
        self
    }

    /// The number of kernels.
    pub const fn kernels(&self) -> usize {
        self.kernels
    }

    /// The values of all columns, in the order of [`column_names`].
    pub fn row(&self) -> Vec<f64> {
        all().map(|sign| self.get(sign)).collect()
    }

    pub(super) fn get(&self, sign: Sign) -> f64 {
        match sign {
            Sign::Behind(place) => self.behind.get(place).copied().unwrap_or(f64::NAN),
            Sign::Kernels => self.kernels as f64,
            Sign::LogTime => self.log_time,
            Sign::Share(term) => {
                let mut shares = self.shares.iter();
                shares.find(|(name, _)| *name == term).map_or(f64::NAN, |(_, share)| *share)
            }
        }
    }
}
