//! Who ranks, and how sure: one line above a ranking, in the words of every interface.

use std::fmt::Write;
use std::sync::Arc;

use super::segment::CompiledModel;
use super::{Outlook, Ranking, words};
use crate::directory::{Model, TrainedOn};
use crate::sureness::Sureness;

impl Outlook {
    /// The line above a ranking of this origin, by what its choices are judged by, as [`Ranking::heading`] has it.
    pub(crate) fn heading(&self, origin: &str, learned: Option<&Sureness>) -> String {
        let mut text = format!("{origin}: {}", words::sureness(self.sure.as_ref().zip(learned)));
        if self.sure.is_none() && !self.has_unit() {
            text.push_str(", and how much slower others are: scores have no unit");
        }
        if let Some(spread) = self.log_spread {
            // Writing to a string cannot fail.
            let _ = write!(text, "; times within {:.0} %", 100.0 * spread.exp_m1());
        }
        text
    }

    /// The expected figures of a kernel with this score, such as `43.1 us, 1.03x, loss 3.4 %`; empty if nothing is
    /// known.
    pub fn summary(&self, score: f64) -> String {
        let time = self.time_us(score).map(words::microseconds);
        let slower = self.slower(score).map(words::times);
        let loss = self.loss(score).map(|loss| format!("loss {}", words::percent(loss)));
        [time, slower, loss].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Ranking<'_, '_> {
    /// The line above the ranking, such as `embedded:universal, trained on gfx950, sm_90: expected loss 0.6 % by
    /// 4008 judged choices, within 2 % of the best with 88 %, of the first 2 with 90 %; times within 30 %`.
    pub fn heading(&self, outlook: &Outlook) -> String {
        outlook.heading(&self.origin(), self.sureness().map(Arc::as_ref))
    }

    /// The name of the model, and what it has seen.
    fn origin(&self) -> String {
        let model = &self.ranker.model;
        let (name, archs) = (model.name(), archs_of(model));
        if let CompiledModel::Universal(universal) = &self.ranker.first_segment().compiled
            && model.is_universal()
        {
            let arch = self.arch().map_or_else(|| "the GPU".to_owned(), |arch| arch.to_string());
            if archs.is_empty() {
                return format!("{name}; nothing was measured on {arch}: a guess");
            }
            let prior = universal.prior_on(&self.query.problem, self.query.arch);
            if !prior.is_some_and(|prior| universal.has_seen(prior)) {
                return format!(
                    "{name}, trained on {archs}, though not with such kernels on {arch}: a guess"
                );
            }
        }
        origin(name, model)
    }
}

/// The architectures that a model was trained on.
fn archs_of(model: &Model) -> String {
    let trained_on = model.spec().trained_on.iter();
    trained_on.flat_map(TrainedOn::archs).map(|arch| arch.to_string()).collect::<Vec<_>>().join(", ")
}

/// The name of a model, and what it has seen.
pub(crate) fn origin(name: &str, model: &Model) -> String {
    let archs = archs_of(model);
    if archs.is_empty() { name.to_owned() } else { format!("{name}, trained on {archs}") }
}
