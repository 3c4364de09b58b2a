//! The command `ckselect`: everything around choosing kernels outside of a C++ process.
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

#[macro_use]
mod message;
mod commands;
mod error;
mod input;
mod output;
mod problems;
mod progress;
mod table;
mod timestamp;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::CliError;

/// Choose the fastest GPU kernel for a problem without trying them all.
#[derive(Parser)]
#[command(
    name = "ckselect",
    version,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Convert(commands::convert::Args),
    Shapes(commands::shapes::Args),
    Rank(commands::rank::Args),
    Enumerate(commands::enumerate::Args),
    Explain(commands::explain::Args),
    Features(commands::features::Args),
    Predict(commands::predict::Args),
    Inspect(commands::inspect::Args),
    Store(commands::store::Args),
    Evaluate(commands::evaluate::Args),
    Validate(commands::validate::Args),
    Compare(commands::compare::Args),
    Search(commands::search::Args),
    Bench(Box<commands::bench::Args>),
    Merge(commands::merge::Args),
    /// Started by a sweep to kill its remaining processes if it is killed
    #[command(hide = true)]
    BenchGuard,
    /// Started by a sweep to load and run kernels
    #[command(hide = true)]
    BenchWorker,
    Train(commands::train::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Convert(args) => commands::convert::run(&args),
        Command::Shapes(args) => commands::shapes::run(&args),
        Command::Rank(args) => commands::rank::run(&args),
        Command::Enumerate(args) => commands::enumerate::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Features(args) => commands::features::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Store(args) => commands::store::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Search(args) => commands::search::run(&args),
        Command::Bench(args) => match commands::bench::run(&args) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Merge(args) => commands::merge::run(&args),
        Command::BenchGuard => commands::bench::guard(),
        Command::BenchWorker => commands::bench::worker(),
        Command::Train(args) => commands::train::run(&args),
    };
    match result {
        // A reader that has seen enough (`| head`) is no failure.
        Ok(()) | Err(CliError::BrokenPipe) => ExitCode::SUCCESS,
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
