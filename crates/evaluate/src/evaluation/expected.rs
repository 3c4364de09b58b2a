//! Whether choices lose what they were expected to lose.

use serde_json::{Value, json};

use super::Outcome;
use crate::judge::Order;

/// Expected losses beside those that were observed, of the choices that had an expectation.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Of all of them.
    pub all: Losses,
    /// By thirds of the expected loss, the surest first.
    pub thirds: Vec<Losses>,
    /// By tenths of it.
    pub tenths: Vec<Losses>,
}

/// Means over some choices.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Losses {
    /// How many choices.
    pub choices: usize,
    /// The expected loss.
    pub expected: f64,
    /// The observed loss.
    pub observed: f64,
    /// The chance to be within 2 % of the best, and the share of choices that are.
    pub chance: f64,
    /// See `chance`.
    pub within: f64,
    /// How many kernels have to be measured for a chance of 90 %.
    pub sure_within: f64,
    /// The share of choices for which the best of so many is within 2 %.
    pub covered: f64,
}

/// A choice with its expectation.
struct Judged {
    expected: f64,
    observed: f64,
    chance: f64,
    within: bool,
    sure_within: usize,
    covered: bool,
}

impl Expected {
    /// Of judged choices; `within` is the loss of the best of the first kernels of each. `None` if none of them
    /// had an expectation.
    pub(super) fn new(
        outcomes: &[Outcome],
        orders: &[Order],
        is_within: impl Fn(usize, usize) -> bool,
    ) -> Option<Self> {
        let judged = |(place, (outcome, order)): (usize, (&Outcome, &Order))| {
            let sure = order.sure?;
            let [sure_within, _] = sure.sure_within;
            Some(Judged {
                expected: sure.expected_loss,
                observed: 1.0 - outcome.efficiency,
                chance: sure.chance,
                within: is_within(place, 1),
                sure_within,
                covered: is_within(place, sure_within),
            })
        };
        let mut all: Vec<Judged> = outcomes.iter().zip(orders).enumerate().filter_map(judged).collect();
        if all.is_empty() {
            return None;
        }
        all.sort_by(|a, b| a.expected.total_cmp(&b.expected));
        let parts = |count: usize| {
            let part = |number: usize| {
                let [start, end] = [number, number + 1].map(|number| number * all.len() / count);
                Losses::mean(&all[start..end])
            };
            (0..count).map(part).filter(|losses| losses.choices > 0).collect()
        };
        Some(Self { all: Losses::mean(&all), thirds: parts(3), tenths: parts(10) })
    }

    /// All choices, and their thirds, each with its name.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &Losses)> {
        let names = ["the surest third", "the second third", "the least sure third"];
        std::iter::once(("all", &self.all)).chain(names.into_iter().zip(&self.thirds))
    }

    /// The mean observed losses by thirds over that of all; a sign of how much an expectation tells.
    pub(super) fn figures(&self) -> Value {
        json!({
            "expected_loss_mean": self.all.expected,
            "loss_mean": self.all.observed,
            "loss_by_thirds": self.thirds.iter().map(|third| third.observed).collect::<Vec<_>>(),
            "expected_within_2_percent": self.all.chance,
            "within_2_percent": self.all.within,
            "sure_within_mean": self.all.sure_within,
            "sure_within_observed": self.all.covered,
        })
    }
}

impl Losses {
    fn mean(of: &[Judged]) -> Self {
        let mean = |value: fn(&Judged) -> f64| of.iter().map(value).sum::<f64>() / of.len().max(1) as f64;
        Self {
            choices: of.len(),
            expected: mean(|one| one.expected),
            observed: mean(|one| one.observed),
            chance: mean(|one| one.chance),
            within: mean(|one| f64::from(u8::from(one.within))),
            sure_within: mean(|one| one.sure_within as f64),
            covered: mean(|one| f64::from(u8::from(one.covered))),
        }
    }
}
