//! `ckselect dev completions`: scripts that let a shell complete the command line.

use std::io::Write as _;

use clap::Command;
use clap_complete::Shell;

use crate::error::CliError;
use crate::output::Output;

const EXAMPLES: &str = "Examples:
  ckselect dev completions bash > ~/.local/share/bash-completion/completions/ckselect
  ckselect dev completions zsh > ~/.zfunc/_ckselect
  ckselect dev completions fish > ~/.config/fish/completions/ckselect.fish

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
    let all = crate::commands::line();
    let shown = all.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    let mut command = Command::new("ckselect").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    // Generated in memory first, because the generator panics on write errors.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "ckselect", &mut script);
    Output::create(None)?.filled(|out| out.write_all(&script))
}
