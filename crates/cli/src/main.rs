//! The command `ckselect`: everything about choosing kernels outside of a C++ process.
//!
//! ```text
//! arguments ── upstream_options ── commands (clash, then a file each) ── the crates ── table or JSON ── output
//! ```
//!
//! Results go to standard output, messages to standard error. Exit codes: 0 success, 1 failure, 2 usage
//! error, 3 a check failed.

#![allow(
    clippy::doc_markdown,
    reason = "doc comments of arguments are help texts, where backticks are noise"
)]
#![deny(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "they panic where nothing can be written: `say!` and `Output` do not"
)]
#![cfg_attr(
    not(feature = "offline"),
    allow(dead_code, reason = "what the commands share, some of which are left out")
)]

#[macro_use]
mod message;
#[macro_use]
mod error;
#[cfg(target_os = "linux")]
mod closed;
mod commands;
mod input;
mod output;
#[cfg(feature = "offline")]
mod progress;

mod table;
#[cfg_attr(not(feature = "offline"), expect(dead_code, reason = "only training asks for the time"))]
mod timestamp;
mod upstream_options;
mod usage;

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;

use error::CliError;
use output::Output;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.exit(),
    }
}

fn run() -> Result<(), CliError> {
    let mut line = commands::line();
    if std::env::args_os().len() <= 1 {
        say!("{}", line.render_help());
        return Err(CliError::Reported(2));
    }
    match line.try_get_matches_from_mut(std::env::args_os()) {
        Ok(matches) => {
            #[cfg(feature = "offline")]
            timestamp::check()?;
            // A write at the limit of a file's size (`ulimit -f`) is an error, as on a full disk.
            #[cfg(feature = "offline")]
            signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default())?;
            commands::clash::check(&line, &matches)?;
            commands::run(&matches)
        }
        Err(help_or_error) => {
            let words: Vec<String> =
                std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            match upstream_options::find(&help_or_error, &words) {
                Some(message) => Err(CliError::usage(message)),
                None => show(&help_or_error),
            }
        }
    }
}

/// Prints help, the version, or the error in the command line.
fn show(shown: &clap::Error) -> Result<(), CliError> {
    if shown.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say!("{}", shown.to_string().trim_end());
        return Err(CliError::Reported(2));
    }
    if shown.use_stderr() {
        return Err(CliError::usage(usage::message(shown)));
    }
    let text = shown.render();
    Output::create(None)?.filled(|out| {
        if out.screen().styled { write!(out.exact(), "{}", text.ansi()) } else { write!(out, "{text}") }
    })
}
