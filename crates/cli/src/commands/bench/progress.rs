//! Progress of a sweep.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use ck_select_measure::plan::{Pair, Plan};
use ck_select_measure::sweep::{Event, Tally};
use ck_select_measurements::outcome::{FailureClass, Outcome};

use crate::progress::Progress;

/// Shows the progress of a sweep.
pub(super) struct Bar<'a> {
    plan: &'a Plan,
    pub(super) progress: Progress,
    /// Kernels that were reported to have no code.
    codeless: Mutex<HashSet<u32>>,
}

impl<'a> Bar<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let progress = Progress::new("measuring", plan.len() as u64, "rows");
        Self { plan, progress, codeless: Mutex::default() }
    }

    /// Whether a failure says something new: a kernel without code has none for the other problems either.
    fn is_news(&self, pair: Pair, class: FailureClass) -> bool {
        let is_codeless = matches!(class, FailureClass::Missing | FailureClass::Load);
        !is_codeless || self.codeless.lock().unwrap_or_else(PoisonError::into_inner).insert(pair.kernel)
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

    pub(super) fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Waiting { gpu, lock } => {
                let text = format!("waiting for GPU {}: another process has {}", gpu.host, lock.display());
                self.progress.suspend(|| say!("ckselect: {text}"));
            }
            Event::Resumed(tally) => self.progress.resume(tally.rows() as u64),
            Event::Row { pair, outcome, tally } => {
                if let Outcome::Failed(failure) = outcome
                    && !self.progress.is_drawn()
                    && self.is_news(*pair, failure.class)
                {
                    let (kernel, idx) = (&self.plan.kernel(*pair).name, self.plan.requested(*pair).idx);
                    say!("ckselect: problem {idx}, {kernel}: {failure}");
                }
                self.progress.advance(Some(self.message(tally)));
            }
        }
    }
}
