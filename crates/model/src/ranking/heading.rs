//! Who ranks, and how sure: one line above a ranking, in the words of every interface.

use std::fmt::Write;

use super::segment::CompiledModel;
use super::{Outlook, Ranking};
use crate::directory::TrainedOn;

impl Ranking<'_, '_> {
    /// The line above the ranking, such as `embedded:universal, trained on gfx950, sm_90: expected loss 0.6 % by
    /// 4008 judged choices, within 2 % of the best with 88 %, of the first 2 with 90 %; times within 30 %`.
    pub fn heading(&self, outlook: &Outlook) -> String {
        let mut text = self.origin();
        match outlook.sure.zip(self.sureness()) {
            Some((sure, learned)) => {
                let percent = |share: f32| 100.0 * share;
                // Writing to a string cannot fail.
                let _ = write!(
                    text,
                    ": expected loss {:.1} % by {} judged choices, within 2 % of the best with {:.0} %",
                    percent(sure.expected_loss),
                    learned.choices(),
                    percent(sure.chance)
                );
                if let [count @ 2..=u32::MAX, _] = sure.sure_within {
                    let _ = write!(text, ", of the first {count} with 90 %");
                }
            }
            None => text.push_str(": expected loss unknown"),
        }
        if let Some(spread) = outlook.log_spread {
            let _ = write!(text, "; times within {:.0} %", 100.0 * spread.exp_m1());
        }
        text
    }

    /// The name of the model, and what it has seen.
    fn origin(&self) -> String {
        let model = &self.ranker.model;
        let (name, trained_on) = (model.name(), model.spec().trained_on.as_ref());
        let archs = trained_on.into_iter().flat_map(TrainedOn::archs).map(|arch| arch.to_string());
        let archs = archs.collect::<Vec<_>>().join(", ");
        if let CompiledModel::Universal(universal) = &self.ranker.first_segment().compiled
            && model.is_universal()
        {
            let arch = universal.arch_for(&self.query.problem, self.query.arch).or(model.key().arch);
            let arch = arch.map_or_else(|| "the GPU".to_owned(), |arch| arch.to_string());
            if archs.is_empty() {
                return format!("{name}; nothing was measured on {arch}: a guess");
            }
            if universal.has_seen(&self.query.problem, self.query.arch) != Some(true) {
                return format!(
                    "{name}, trained on {archs}; {arch} was never measured with such kernels: a guess"
                );
            }
        }
        if archs.is_empty() { name.to_owned() } else { format!("{name}, trained on {archs}") }
    }
}
