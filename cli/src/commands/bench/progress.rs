//! How far a sweep is, on a terminal.

use ck_select_measure::outcome::Outcome;
use ck_select_measure::plan::Plan;
use ck_select_measure::sweep::{Event, Observer, Tally};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error, if that is a terminal.
pub(super) struct Bar<'a> {
    plan: &'a Plan,
    bar: ProgressBar,
}

impl<'a> Bar<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let bar = ProgressBar::with_draw_target(Some(plan.len() as u64), ProgressDrawTarget::stderr());
        let template = "{bar:24} {pos}/{len} rows, {per_sec}, {eta} left{msg}";
        // The template is our own; without it the bar has its usual look.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { plan, bar }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
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
            Event::Built { done, total, failed } => {
                self.bar.set_message(format!(", built {done} of {total} kernels, {failed} failed"));
                self.bar.tick();
            }
            Event::Waiting { gpu, lock } => {
                let text = format!("waiting for GPU {}: another process has {}", gpu.host, lock.display());
                self.bar.suspend(|| eprintln!("ckselect: {text}"));
            }
            Event::Resumed(rows) => {
                self.bar.set_position(*rows as u64);
                // What others measured earlier says nothing about our speed.
                self.bar.reset_eta();
            }
            Event::Row { pair, outcome, tally } => {
                if let Outcome::Failed(failure) = outcome
                    && self.bar.is_hidden()
                {
                    let (kernel, idx) = (&self.plan.kernel(*pair).name, self.plan.asked(*pair).idx);
                    eprintln!("ckselect: problem {idx}, {kernel}: {failure}");
                }
                self.bar.set_message(self.message(tally));
                self.bar.inc(1);
            }
        }
    }
}
