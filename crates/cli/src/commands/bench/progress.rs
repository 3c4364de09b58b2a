//! Progress of a sweep.

use ck_select_measure::outcome::Outcome;
use ck_select_measure::plan::Plan;
use ck_select_measure::sweep::{Event, Observer, Tally};

use crate::progress::Progress;

/// Shows the progress of a sweep.
pub(super) struct Bar<'a> {
    plan: &'a Plan,
    bar: Progress,
}

impl<'a> Bar<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let bar = Progress::new(plan.len() as u64, "rows");
        Self { plan, bar }
    }

    pub(super) fn finish(&self) {
        self.bar.end();
    }

    fn message(&self, tally: &Tally) -> String {
        let counts = [(tally.failures(), "failed"), (tally.cut_off, "cut off"), (tally.unstable, "unstable")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let mut parts: Vec<String> = counts.map(|(count, what)| format!(", {count} {what}")).collect();
        parts.extend(
            tally.best.map(|(tflops, pair)| {
                format!(", best {tflops:.1} TFLOPS by {}", self.plan.kernel(pair).name)
            }),
        );
        parts.concat()
    }
}

impl Observer for Bar<'_> {
    fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Waiting { gpu, lock } => {
                let text = format!("waiting for GPU {}: another process has {}", gpu.host, lock.display());
                self.bar.suspend(|| say!("ckselect: {text}"));
            }
            Event::Resumed(tally) => self.bar.resume(tally.rows() as u64),
            Event::Row { pair, outcome, tally } => {
                if let Outcome::Failed(failure) = outcome
                    && !self.bar.is_drawn()
                {
                    let (kernel, idx) = (&self.plan.kernel(*pair).name, self.plan.asked(*pair).idx);
                    say!("ckselect: problem {idx}, {kernel}: {failure}");
                }
                self.bar.advance(Some(self.message(tally)));
            }
        }
    }
}
