//! The command `ckselect`: everything about choosing kernels outside of a C++ process.
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

mod clash;
mod closed;
#[macro_use]
mod message;
mod commands;
mod error;
mod input;
mod output;
mod problems;
#[cfg(feature = "offline")]
mod progress;
mod successors;
mod table;
#[cfg_attr(not(feature = "offline"), expect(dead_code, reason = "only training asks for the time"))]
mod timestamp;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use ck_select::terminal::printable;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use error::CliError;
use output::Output;

/// The output of `ckselect` without arguments: the most common uses, and where to find the rest.
#[cfg(feature = "offline")]
const OVERVIEW: &str = "Usage: ckselect COMMAND, for example

  ckselect rank --arch gfx942 --pool kernels.txt --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3'
      the best kernels for a problem, without any measurement

  ckselect bench --pool kernels.txt --problems shapes.csv --library ./libkernels.so --output sweep.csv
      measure kernels on your GPU

  ckselect train --data sweep.csv --out models/mine --op grouped_conv --arch gfx942
      make a model from measurements, for `rank --model` and for your program

`ckselect --help` lists all commands, `ckselect doctor` reports what is found on this machine.";
#[cfg(not(feature = "offline"))]
const OVERVIEW: &str = "Usage: ckselect COMMAND, for example

  ckselect rank --arch gfx942 --pool kernels.txt --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3'
      the best kernels for a problem, without any measurement

`ckselect --help` lists all commands, `ckselect doctor` reports what is found on this machine.";

/// Choose the fastest GPU kernel for a problem without trying them all.
#[derive(Parser)]
#[command(name = "ckselect", version, max_term_width = 110, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[cfg(feature = "offline")]
    Convert(commands::convert::Args),
    #[cfg(feature = "offline")]
    Shapes(commands::shapes::Args),
    Rank(commands::rank::Args),
    #[cfg(feature = "offline")]
    Enumerate(commands::enumerate::Args),
    Explain(commands::explain::Args),
    Features(commands::features::Args),
    Predict(commands::predict::Args),
    Inspect(commands::inspect::Args),
    #[cfg(feature = "offline")]
    Pack(commands::pack::Args),
    Store(commands::store::Args),
    Doctor(commands::doctor::Args),
    #[command(name = "hardware")]
    ThisGpu(commands::this_gpu::Args),
    #[cfg(feature = "offline")]
    Evaluate(commands::evaluate::Args),
    #[cfg(feature = "offline")]
    Compare(commands::compare::Args),
    #[cfg(feature = "offline")]
    Search(commands::search::Args),
    #[cfg(feature = "offline")]
    Bench(Box<commands::bench::Args>),
    #[cfg(feature = "offline")]
    Merge(commands::merge::Args),
    #[cfg(feature = "offline")]
    Report(commands::report::Args),
    /// Started by a sweep to kill its remaining processes if it is killed
    #[command(hide = true)]
    #[cfg(feature = "offline")]
    BenchGuard,
    /// Started by a sweep to load and run kernels
    #[command(hide = true)]
    #[cfg(feature = "offline")]
    BenchWorker,
    /// Started by a sweep to show how far it is
    #[command(hide = true)]
    #[cfg(feature = "offline")]
    BenchPage(commands::bench::PageArgs),
    #[cfg(feature = "offline")]
    Train(commands::train::Args),
    #[cfg(feature = "offline")]
    Completions(commands::completions::Args),
    #[cfg(feature = "offline")]
    Man(commands::man::Args),
    #[cfg(feature = "offline")]
    Tune(commands::tune::Args),
    #[cfg(feature = "offline")]
    Curve(commands::curve::Args),
}

fn main() -> ExitCode {
    if std::env::args_os().len() <= 1 {
        say!("{OVERVIEW}");
        return ExitCode::from(2);
    }
    let mut line = Cli::command();
    let parsed = line.try_get_matches_from_mut(std::env::args_os()).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut line))?;
        Ok((matches, cli.command))
    });
    let done = match parsed {
        Ok((matches, command)) => {
            #[cfg(feature = "offline")]
            let time = timestamp::check();
            #[cfg(not(feature = "offline"))]
            let time = Ok(());
            time.and_then(|()| clash::check(&line, &matches)).and_then(|()| run(command))
        }
        Err(help_or_error) => {
            let words: Vec<String> =
                std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            match successors::of(&help_or_error, &words) {
                Some(message) => Err(CliError::usage(message)),
                None => show(&help_or_error),
            }
        }
    };
    match done {
        Ok(code) => code,
        // A reader that has seen enough (`| head`) is not a failure.
        Err(CliError::BrokenPipe) => ExitCode::SUCCESS,
        Err(CliError::Usage(message)) => {
            say!("ckselect: {message}");
            ExitCode::from(2)
        }
        Err(CliError::Failed(message)) => {
            say!("ckselect: {message}");
            ExitCode::FAILURE
        }
        Err(CliError::Judged(message)) => {
            say!("ckselect: {message}");
            ExitCode::from(3)
        }
    }
}

/// Prints help, the version, or the error in the command line.
fn show(shown: &clap::Error) -> Result<ExitCode, CliError> {
    if shown.use_stderr() {
        // It repeats words of the command line, among its own colours.
        let is_safe = |word: OsString| matches!(printable(&word.to_string_lossy()), Cow::Borrowed(_));
        if std::env::args_os().all(is_safe) {
            // As for every message, nothing is lost if nobody can read it.
            let _ = shown.print();
        } else {
            say!("{}", shown.to_string().trim_end());
        }
    } else {
        let mut out = Output::create(None)?;
        let text = shown.render();
        let written =
            if out.screen().styled { write!(out.exact(), "{}", text.ansi()) } else { write!(out, "{text}") };
        written.map_err(|error| CliError::io(out.name(), &error))?;
        out.finish()?;
    }
    Ok(ExitCode::from(u8::try_from(shown.exit_code()).unwrap_or(2)))
}

fn run(command: Command) -> Result<ExitCode, CliError> {
    match command {
        #[cfg(feature = "offline")]
        Command::Convert(args) => commands::convert::run(&args),
        #[cfg(feature = "offline")]
        Command::Shapes(args) => commands::shapes::run(&args),
        Command::Rank(args) => commands::rank::run(&args),
        #[cfg(feature = "offline")]
        Command::Enumerate(args) => commands::enumerate::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Features(args) => commands::features::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        #[cfg(feature = "offline")]
        Command::Pack(args) => commands::pack::run(&args),
        Command::Store(args) => commands::store::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::ThisGpu(args) => commands::this_gpu::run(&args),
        #[cfg(feature = "offline")]
        Command::Evaluate(args) => commands::evaluate::run(&args),
        #[cfg(feature = "offline")]
        Command::Compare(args) => commands::compare::run(&args),
        #[cfg(feature = "offline")]
        Command::Search(args) => commands::search::run(&args),
        #[cfg(feature = "offline")]
        Command::Bench(args) => return commands::bench::run(&args),
        #[cfg(feature = "offline")]
        Command::Merge(args) => commands::merge::run(&args),
        #[cfg(feature = "offline")]
        Command::Report(args) => commands::report::run(&args),
        #[cfg(feature = "offline")]
        Command::BenchGuard => commands::bench::guard(),
        #[cfg(feature = "offline")]
        Command::BenchWorker => commands::bench::worker(),
        #[cfg(feature = "offline")]
        Command::BenchPage(args) => commands::bench::page(&args),
        #[cfg(feature = "offline")]
        Command::Train(args) => commands::train::run(&args),
        #[cfg(feature = "offline")]
        Command::Completions(args) => commands::completions::run(&args),
        #[cfg(feature = "offline")]
        Command::Man(args) => commands::man::run(&args),
        #[cfg(feature = "offline")]
        Command::Tune(args) => commands::tune::run(&args),
        #[cfg(feature = "offline")]
        Command::Curve(args) => commands::curve::run(&args),
    }
    .map(|()| ExitCode::SUCCESS)
}
