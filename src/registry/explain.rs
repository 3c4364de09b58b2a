//! Explains choices, as text for people.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call::Call;
use super::selection::{SelectError, Selection, Source};
use super::shared::Registry;
use crate::log::{self, Level};
use crate::problem::Problem;

/// Whether this is the first time.
fn first(warned: &AtomicBool) -> bool {
    !warned.load(Ordering::Relaxed) && !warned.swap(true, Ordering::Relaxed)
}

impl Registry {
    /// Warns, once, of a kernel with words that this library does not know.
    #[cold]
    pub(super) fn warn_of_unknown(&self, name: &str, words: &str) {
        if first(&self.warned.word_unknown) {
            log::warn_once(
                "kernels",
                format_args!("{name}: {words}: it comes after the kernels that are ranked, by its priority"),
            );
        }
    }

    /// Warns of a selection that may be poor, once for each reason.
    #[cold]
    pub(super) fn warn_once(&self, call: Call<'_, '_>, selection: &Selection<'_>) {
        let Call { state, problem, .. } = call;
        let name = selection.entry.name();
        if selection.no_model && first(&self.warned.no_model) {
            let no_estimate = Source::Estimate.why_not(call);
            log::warn_once(
                "select",
                format_args!(
                    "{name} is chosen by priority alone, because no model fits the problem and there is no \
                     estimate ({no_estimate}): load a model or give the architecture (`arch`); explain says \
                     more"
                ),
            );
        }
        let embedded = || {
            let chosen = state.model_for(&problem, None)?;
            state.model(chosen).filter(|loaded| loaded.embedded)
        };
        // Whoever loads a model knows its architecture.
        if selection.arch_unknown
            && let Some(loaded) = embedded()
            && first(&self.warned.arch_unknown)
        {
            log::warn_once(
                "select",
                format_args!(
                    "{name} is chosen by a model for {}, which may not be the architecture of this device: \
                     give it with the problem or in the options (`arch`)",
                    loaded.key
                ),
            );
        }
    }

    /// Explains which sources there are for a problem and what each answers. Nothing is measured.
    pub fn explain(&self, problem: &Problem) -> Result<String, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        let call = Call::new(self, &state, problem, false);
        let mut text = format!("problem: {problem}\n");
        let order = state.options().mode.order();
        for source in order {
            let _ = writeln!(text, "{source}: {}", source.explain(call));
        }
        for source in Source::ALL.iter().filter(|source| !order.contains(source)) {
            let _ = writeln!(text, "{source}: not asked in this mode; {}", source.explain(call));
        }
        let selected = match call.decide() {
            Ok(selection) => format!("{}, if nothing is measured", decision(&problem, &selection)),
            Err(error) => format!("nothing: {error}"),
        };
        let _ = writeln!(text, "selected: {selected}");
        Ok(text)
    }

    /// Logs a decision.
    pub(super) fn report(&self, problem: &Problem, answer: &Result<Selection<'_>, SelectError>) {
        let problem = match problem.checked().map_err(SelectError::Problem) {
            Ok(problem) => problem,
            Err(error) => return log::line(Level::Error, "select", format_args!("{error}")),
        };
        match answer {
            Err(error) => log::line(Level::Error, "select", format_args!("{problem}: {error}")),
            Ok(selection) => {
                let decision = decision(&problem, selection);
                log::line(Level::Debug, "select", format_args!("{problem}: {decision}"));
                if selection.out_of_range() {
                    let fields: Vec<_> = selection.outside.names(problem.op()).collect();
                    let fields = fields.join(", ");
                    log::line(
                        Level::Warn,
                        "model",
                        format_args!("{problem}: outside the model's training range: {fields}"),
                    );
                }
            }
        }
        if log::enabled(Level::Debug) {
            let state = self.state();
            let call = Call::new(self, &state, problem, false);
            let skipped = passed_over(call, answer.as_ref().ok().map(|answer| answer.source));
            if !skipped.is_empty() {
                let skipped = skipped.join("; ");
                log::line(Level::Debug, "select", format_args!("{problem}: passed over {skipped}"));
            }
        }
        if log::enabled(Level::Trace) {
            let text = self.explain(&problem).unwrap_or_else(|error| error.to_string());
            log::line(Level::Trace, "select", format_args!("{text}"));
        }
    }
}

/// A kernel, and the source that chose it.
fn decision(problem: &Problem, selection: &Selection<'_>) -> String {
    format!("{} by {}", problem.named(selection.entry.name(), selection.split_k), selection.source)
}

/// The sources that come before the one that answered, each with its reason; all of them if none did.
fn passed_over(call: Call<'_, '_>, chosen: Option<Source>) -> Vec<String> {
    let order = call.state.options().mode.order();
    let before = order.iter().take_while(|&&source| Some(source) != chosen);
    let reason = |&source: &Source| match source {
        // By now it contains the winner, which was measured because there was none.
        Source::Store if chosen == Some(Source::Search) => format!("{source}: no usable winner before"),
        source => format!("{source}: {}", source.why_not(call)),
    };
    before.map(reason).collect()
}
