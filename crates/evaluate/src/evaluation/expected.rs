//! Whether choices lose what they were expected to lose.

use serde_json::{Value, json};

use crate::judge::Order;
use ck_select_model::sureness::WITHIN;

/// Expected losses beside those that were observed, of the choices that had an expectation.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Losses of all choices.
    pub all: Losses,
    /// Losses by thirds of the expected loss, the surest choices first.
    pub thirds: Vec<Losses>,
    /// Losses by tenths of the expected loss, the surest choices first.
    pub tenths: Vec<Losses>,
    /// The result of measuring as many kernels as each choice needs to be sure.
    pub refined: Refined,
}

/// Measuring the first kernels of each choice until it is sure (`refine=auto`), beside a fixed number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refined {
    /// Mean number of measured kernels; none where the choice is sure.
    pub measured: f64,
    /// Mean loss afterwards.
    pub loss: f64,
    /// The fixed number of the first kernels that loses as much, between two numbers in proportion.
    pub fixed: f64,
}

impl Refined {
    /// The result for judged choices; `top_k` are the best efficiencies among the first one, two and so on, as means
    /// over all problems.
    fn new(choices: &[Judged], top_k: &[f64]) -> Self {
        let mean = |value: fn(&Judged) -> f64| choices.iter().map(value).sum::<f64>() / choices.len() as f64;
        let measured = mean(|one| if one.sure_within > 1 { one.sure_within.into() } else { 0.0 });
        let loss = mean(|one| one.loss_after);
        let losses: Vec<f64> = top_k.iter().map(|efficiency| 1.0 - efficiency).collect();
        let enough = losses.iter().position(|&fixed| fixed <= loss);
        let fixed = match enough {
            None => losses.len() as f64,
            Some(0) => 0.0,
            Some(after) => {
                let [before, at] = [losses[after - 1], losses[after]];
                // One kernel alone needs no measurement.
                let least = if after == 1 { 0.0 } else { after as f64 };
                least + (after as f64 + 1.0 - least) * (before - loss) / (before - at)
            }
        };
        Self { measured, loss, fixed }
    }
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
    sure_within: u32,
    loss_after: f64,
}

impl Expected {
    /// The losses of judged choices: `top_k` are the mean efficiencies of the best of the first kernels, `loss` is
    /// what the first kernels of one choice lose. `None` if none of them had an expectation.
    pub(super) fn new(orders: &[Order], top_k: &[f64], loss: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let judged = |(index, order): (usize, &Order)| {
            let sure = order.sure?;
            let [sure_within, _] = sure.sure_within;
            Some(Judged {
                expected: sure.expected_loss.into(),
                observed: loss(index, 1),
                chance: sure.chance.into(),
                sure_within,
                loss_after: loss(index, sure_within as usize),
            })
        };
        let mut all: Vec<Judged> = orders.iter().enumerate().filter_map(judged).collect();
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
        let refined = Refined::new(&all, top_k);
        Some(Self { all: Losses::mean(&all), thirds: parts(3), tenths: parts(10), refined })
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
            "refined_measured_mean": self.refined.measured,
            "refined_loss_mean": self.refined.loss,
            "fixed_for_refined_loss": self.refined.fixed,
        })
    }
}

/// 1 for a loss that does not count.
fn is_within(loss: f64) -> f64 {
    f64::from(u8::from(1.0 - loss >= 1.0 - WITHIN))
}

impl Losses {
    fn mean(of: &[Judged]) -> Self {
        let mean = |value: fn(&Judged) -> f64| of.iter().map(value).sum::<f64>() / of.len().max(1) as f64;
        Self {
            choices: of.len(),
            expected: mean(|one| one.expected),
            observed: mean(|one| one.observed),
            chance: mean(|one| one.chance),
            within: mean(|one| is_within(one.observed)),
            sure_within: mean(|one| one.sure_within.into()),
            covered: mean(|one| is_within(one.loss_after)),
        }
    }
}
