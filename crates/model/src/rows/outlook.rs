//! What to expect of a ranking of rows: the figures and the words that a registry's ranking of the same kernels has.

use serde_json::{Value, json};

use super::pool::RowScratch;
use super::{RowPool, RowsError};
use crate::cells::Fields;
use crate::ranking::{Outlook, Ranked, heading};
use crate::sureness::{LogTime, Signs};

impl RowPool {
    /// Ranks all kernels, and says what to expect of them, as a JSON object: `heading`; `expected_loss`, `chance`,
    /// `sure_within_90` and `sure_within_99` of the first; and `places`, best first, each with `row`, `time_us`,
    /// `slower`, `loss`, and `text`, which has these in words. What is not known is null, or an empty text. `null`
    /// if the pool is empty, or if its rows are of different problems.
    pub fn outlook(&self, problem: &dyn Fields) -> Result<Value, RowsError> {
        let mut scratch = RowScratch::default();
        self.rank_with(problem, &mut scratch)?;
        let RowScratch { ranking, problems, .. } = &scratch;
        let (Some(first), [problem]) = (ranking.first(), problems.as_slice()) else { return Ok(Value::Null) };
        let model = self.model().model();
        let learned = model.sureness(problem, problem.arch().or(model.key().arch)).map(AsRef::as_ref);
        let unit = model.log_time();
        let estimated = self.estimated(Some(problem));
        let behind = |unit: LogTime| ranking[1..].iter().map(move |one| unit.behind(first.score, one.score));
        let sure = learned.zip(unit).map(|(learned, unit)| {
            let signs = Signs::new(self.len(), behind(unit));
            let shape =
                estimated.and_then(|(kernels, load)| Some((kernels, load, kernels.shape(first.index)?)));
            learned.judge(&match shape {
                Some((kernels, load, shape)) => signs.with_estimate(kernels.estimator(), &load, shape),
                None => signs,
            })
        });
        let estimated_us = || {
            let (kernels, load) = estimated?;
            Some(kernels.time(&load, first.index)).filter(|time| time.is_finite())
        };
        let outlook = Outlook::new(problem, first.score, unit, (sure, learned), estimated_us);
        let origin = heading::origin(self.model().label(), model);
        let places: Vec<Value> = ranking.iter().map(|one| place(&outlook, one)).collect();
        Ok(json!({
            "heading": outlook.heading(&origin, learned),
            "expected_loss": sure.map(|sure| f64::from(sure.expected_loss)),
            "chance": sure.map(|sure| f64::from(sure.chance)),
            "sure_within_90": sure.map(|sure| sure.sure_within[0]),
            "sure_within_99": sure.map(|sure| sure.sure_within[1]),
            "places": places,
        }))
    }
}

fn place(outlook: &Outlook, ranked: &Ranked) -> Value {
    let Ranked { index, score, .. } = *ranked;
    json!({
        "row": index,
        "time_us": outlook.time_us(score),
        "slower": outlook.slower(score),
        "loss": outlook.loss(score),
        "text": outlook.summary(score),
    })
}
