//! `ckselect completions`: scripts that let a shell complete the command line.

use std::io::Write as _;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use crate::error::CliError;
use crate::output::Output;

const EXAMPLES: &str = "Examples:
  ckselect completions bash > ~/.local/share/bash-completion/completions/ckselect
  ckselect completions zsh > ~/.zfunc/_ckselect
  ckselect completions fish > ~/.config/fish/completions/ckselect.fish

`make install` and the packages install those of bash, zsh and fish.";

/// Print shell completions for the command line
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell that reads them
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    // Without the hidden commands, which the generator would include.
    let all = crate::Cli::command();
    let shown = all.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    let mut command = Command::new("ckselect").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    // Generated in memory first, because the generator panics on write errors.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "ckselect", &mut script);
    let mut output = Output::create(None)?;
    output.write_all(&script).map_err(|error| CliError::io(output.name(), &error))?;
    output.finish()
}
