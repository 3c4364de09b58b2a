//! Progress: a bar on a terminal, a line per minute elsewhere.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ck_select::terminal::printable;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts what is done, and shows it.
pub(crate) struct Progress {
    /// The bar, on a terminal.
    bar: Option<ProgressBar>,
    /// The unit of the counts.
    unit: &'static str,
    every: Duration,
    state: Mutex<State>,
}

struct State {
    begun: Instant,
    shown: Instant,
    /// Work done before this run, which does not count for the speed.
    before: u64,
    done: u64,
    /// Zero if unknown.
    total: u64,
    note: String,
}

impl Progress {
    /// `work` is what is done, with which a bar begins.
    pub(crate) fn new(work: &'static str, total: u64, unit: &'static str) -> Self {
        Self::on(ProgressDrawTarget::stderr(), work, total, unit)
    }

    fn on(target: ProgressDrawTarget, work: &'static str, total: u64, unit: &'static str) -> Self {
        let bar = (!target.is_hidden()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), target);
            // A long line is cut, since it would otherwise wrap, and only one of the two lines would be
            // cleared.
            let style = ProgressStyle::with_template("{prefix} {bar:10} {wide_msg}");
            // The template is our own and thus valid; without it, the bar has its default style.
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.with_prefix(work)
        });
        let every = if bar.is_some() { Duration::from_millis(50) } else { Duration::from_secs(60) };
        let begun = Instant::now();
        let state = State { begun, shown: begun, before: 0, done: 0, total, note: String::new() };
        Self { bar, unit, every, state: Mutex::new(state) }
    }

    /// Whether there is a bar.
    pub(crate) const fn is_drawn(&self) -> bool {
        self.bar.is_some()
    }

    /// Starts with this much already done.
    pub(crate) fn resume(&self, before: u64) {
        self.update(|state| (state.before, state.done) = (before, before));
    }

    /// Sets how much is done.
    pub(crate) fn set(&self, done: u64) {
        self.update(|state| state.done = done);
    }

    /// Counts one more; `note` replaces the note if there is a new one.
    pub(crate) fn advance(&self, note: Option<String>) {
        self.update(|state| {
            state.done += 1;
            if let Some(note) = note {
                state.note = note;
            }
        });
    }

    /// Begins to count something else.
    #[cfg(feature = "train")]
    pub(crate) fn restart(&self, total: u64, note: String) {
        self.update(|state| {
            *state = State { begun: Instant::now(), shown: state.shown, before: 0, done: 0, total, note };
        });
    }

    /// Hides the bar while `work` writes to standard error.
    pub(crate) fn suspend(&self, work: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    pub(crate) fn end(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if state.shown.elapsed() < self.every {
            return;
        }
        state.shown = Instant::now();
        let text = text(&state, self.unit, state.begun.elapsed());
        match &self.bar {
            Some(bar) => {
                bar.set_length(state.total);
                bar.set_position(state.done);
                bar.set_message(printable(&text).into_owned());
            }
            None => say!("ckselect: {text}"),
        }
    }
}

fn text(state: &State, unit: &str, elapsed: Duration) -> String {
    let mut text = HumanCount(state.done).to_string();
    // Writing to a string cannot fail.
    if state.total > 0 {
        let _ = write!(text, " of {}", HumanCount(state.total));
    }
    let _ = write!(text, " {unit}");
    let rate = state.done.saturating_sub(state.before) as f64 / elapsed.as_secs_f64();
    if rate > 0.0 && rate.is_finite() {
        let _ = write!(text, ", {rate:.1}/s");
        let left = state.total.saturating_sub(state.done) as f64 / rate;
        if let (true, Ok(left)) = (state.total > 0, Duration::try_from_secs_f64(left)) {
            let _ = write!(text, ", {:#} left", HumanDuration(left));
        }
    }
    text + &state.note
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use indicatif::TermLike;

    use super::*;

    /// A terminal that records its output.
    #[derive(Debug, Clone)]
    struct Terminal(u16, Arc<Mutex<Vec<String>>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            self.0
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.1.lock().unwrap().push(text.to_owned());
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_is_one_line_on_any_terminal() {
        for width in [40, 80, 110, 200] {
            let terminal = Terminal(width, Arc::default());
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let progress =
                Progress { every: Duration::ZERO, ..Progress::on(target, "measuring", 330_000, "rows") };
            progress.advance(Some(format!(", 12 failed, best 1234.5 TFLOPS by {}", "kernel_".repeat(20))));
            progress.end();
            let written = terminal.1.lock().unwrap();
            assert!(written.iter().any(|text| text.contains("1 of 330,000")), "{written:?}");
            // A bar alone once did not say what it is of.
            assert!(written.iter().any(|text| text.starts_with("measuring ")), "{written:?}");
            for text in written.iter() {
                assert!(text.trim_end().chars().count() <= usize::from(width), "{width}: {text:?}");
            }
        }
    }

    #[test]
    fn elsewhere_it_is_a_line_a_minute() {
        let progress = Progress::on(ProgressDrawTarget::hidden(), "measuring", 100, "rows");
        assert!(!progress.is_drawn());
        let shown = || progress.state.lock().unwrap().shown;
        let first = shown();
        progress.set(10);
        assert_eq!(shown(), first, "not yet");
        progress.state.lock().unwrap().shown = first.checked_sub(Duration::from_secs(61)).unwrap();
        progress.set(20);
        assert!(shown() >= first);
    }

    #[test]
    fn progress_lines_show_speed_and_what_is_left() {
        let now = Instant::now();
        let mut state = State {
            begun: now,
            shown: now,
            before: 1000,
            done: 1600,
            total: 4600,
            note: ", 3 failed".to_owned(),
        };
        let elapsed = Duration::from_secs(60);
        assert_eq!(text(&state, "rows", elapsed), "1,600 of 4,600 rows, 10.0/s, 5m left, 3 failed");
        state.total = 0;
        assert_eq!(text(&state, "rows", elapsed), "1,600 rows, 10.0/s, 3 failed");
        state.done = 1000;
        assert_eq!(text(&state, "rows", elapsed), "1,000 rows, 3 failed");
    }
}
