//! Logging, off by default: a callback, or `CK_SELECT_LOG=level[:file]` for standard error or a file.
//!
//! While it is off, a log line costs one load. Lines are formatted and written only at an enabled level.
//!
//! Three warnings are on by default: a registry that chooses with too little information (no model, an
//! unknown architecture, or a kernel with an unknown word) reports each once on standard error, unless a sink was set or removed, or
//! `CK_SELECT_LOG` is set, for example to `off`.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

use arc_swap::ArcSwapOption;

use crate::environment;
use crate::files;
use crate::size_limit::without_signal;
use crate::terminal::printable;
use crate::vocab::UnknownWord;

ck_select_types::vocabulary! {
    /// How much is logged.
    Level, "log level" {
        /// Nothing.
        Off = "off",
        /// Failures that leave a call without a result.
        Error = "error",
        /// Failures after which a worse source answers.
        Warn = "warn",
        /// Loading and measuring.
        Info = "info",
        /// Each decision.
        Debug = "debug",
        /// Each decision with everything that led to it.
        Trace = "trace",
    }
}

/// Receives a line: its level, the part of the library that wrote it, and the text.
pub type Sink = dyn Fn(Level, &str, &str) + Send + Sync;

static LEVEL: AtomicU8 = AtomicU8::new(Level::Off as u8);
static SINK: ArcSwapOption<Box<Sink>> = ArcSwapOption::const_empty();
static ENVIRONMENT: Once = Once::new();
/// Whether the destination of lines was configured, even if to none.
static DECIDED: AtomicBool = AtomicBool::new(false);

/// Sends lines up to a level to a sink, replacing the previous one. `None` turns logging off, including the
/// warnings that are on by default.
pub fn set_sink(level: Level, sink: Option<Box<Sink>>) {
    DECIDED.store(true, Ordering::Relaxed);
    let level = if sink.is_some() { level } else { Level::Off };
    SINK.store(sink.map(Arc::new));
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Whether lines of this level are logged.
pub fn enabled(level: Level) -> bool {
    level != Level::Off && level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Writes a line if its level is on.
pub(crate) fn line(level: Level, source: &str, text: fmt::Arguments<'_>) {
    if enabled(level)
        && let Some(sink) = SINK.load().as_ref()
    {
        sink(level, source, &text.to_string());
    }
}

/// Writes a warning that is on by default: to standard error unless configured otherwise. For what would
/// otherwise be a silent wrong answer, once per registry.
pub(crate) fn warn_once(source: &str, text: fmt::Arguments<'_>) {
    init_from_environment();
    if DECIDED.load(Ordering::Relaxed) {
        line(Level::Warn, source, text);
    } else {
        to_standard_error(Level::Warn, source, &text.to_string());
    }
}

/// Writes a line for code on top of the library. Errors are on by default, like a [`warn_once`].
pub(crate) fn external_line(level: Level, source: &str, text: &str) {
    init_from_environment();
    if level == Level::Error && !DECIDED.load(Ordering::Relaxed) {
        to_standard_error(level, source, text);
    } else {
        line(level, source, format_args!("{text}"));
    }
}

fn to_standard_error(level: Level, source: &str, text: &str) {
    // One write per line. A failure cannot be reported.
    let line = format!("ck_select {level} {source}: {}\n", printable(text));
    let _ = without_signal(|| std::io::stderr().write_all(line.as_bytes()));
}

/// Applies `CK_SELECT_LOG`, once per process, unless a sink was set before. Problems with it are reported on
/// standard error, where whoever set the variable will look.
pub(crate) fn init_from_environment() {
    ENVIRONMENT.call_once(|| {
        let Some(value) = environment::variable("CK_SELECT_LOG")
            .and_then(|value| value.into_string().ok())
            .filter(|value| !value.is_empty())
        else {
            return;
        };
        if DECIDED.load(Ordering::Relaxed) {
            return;
        }
        match sink_of(&value) {
            Ok((level, sink)) => set_sink(level, Some(sink)),
            Err(reason) => {
                to_standard_error(Level::Error, "log", &format!("CK_SELECT_LOG: {reason}"));
            }
        }
    });
}

/// The level and the file, if there is one, of a value of `CK_SELECT_LOG`.
pub fn level_and_file(value: &str) -> Result<(Level, Option<&str>), UnknownWord> {
    let (level, file) = value.split_once(':').map_or((value, None), |(level, file)| (level, Some(file)));
    Ok((level.parse()?, file))
}

fn sink_of(value: &str) -> Result<(Level, Box<Sink>), String> {
    let (level, file) = level_and_file(value).map_err(|error| error.to_string())?;
    let sink: Box<Sink> = match file {
        None => Box::new(to_standard_error),
        Some(path) => {
            // A pipe without a reader is an error, and one with a slow reader loses lines: neither blocks a
            // selection.
            let file = files::without_waiting(OpenOptions::new().create(true).append(true)).open(path);
            to_file(file.map_err(|error| format!("{path}: {error}"))?)
        }
    };
    Ok((level, sink))
}

fn to_file(file: File) -> Box<Sink> {
    let file = Mutex::new(file);
    Box::new(move |level, source, text| {
        // One write per line, so that lines of processes that share the file do not mix.
        let line = format!("{level} {source}: {}\n", printable(text));
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = without_signal(|| file.write_all(line.as_bytes()));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_levels_with_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (level, sink) = sink_of(&format!("debug:{}", path.display())).unwrap();
        assert_eq!(level, Level::Debug);
        sink(Level::Warn, "store", "a line");
        // A log is read on terminals, and names in it are from anywhere.
        sink(Level::Error, "model", "another\x1b[2J");
        let logged = std::fs::read_to_string(&path).unwrap();
        assert_eq!(logged, "warn store: a line\nerror model: another\\u001b[2J\n");
        assert_eq!(sink_of("info").unwrap().0, Level::Info);
        assert!(
            sink_of("loud")
                .err()
                .unwrap()
                .starts_with("unknown log level 'loud', expected one of: off, error")
        );
        assert!(sink_of("info:/no/such/folder/file").is_err());
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_an_error_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(sink_of(&format!("info:{}", path.display())).is_err());
    }

    #[test]
    fn words_and_numbers_agree() {
        for (number, level) in Level::ALL.iter().copied().enumerate() {
            assert_eq!((level as usize, level.as_str().parse()), (number, Ok(level)));
        }
    }
}
