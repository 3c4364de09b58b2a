//! `ckselect dev man`: the help as manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::error::CliError;
use crate::output::Output;

const EXAMPLES: &str = "Examples:
  ckselect dev man ~/.local/share/man/man1
  ckselect dev man pages && man pages/ckselect-rank.1

`make install` and the packages install them.";

/// Write the manual pages of all commands
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder for ckselect.1 and a page for each command; created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    fs::create_dir_all(&args.directory).map_err(CliError::io(args.directory.display()))?;
    let mut command = crate::commands::line().disable_help_subcommand(true);
    command.build();
    write(&command, &args.directory)
}

/// Writes the page of a command and those of its subcommands.
fn write(command: &clap::Command, directory: &Path) -> Result<(), CliError> {
    let source = format!("ckselect {}", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).source(source).manual("ck-select");
    let output = Output::create(Some(&directory.join(page.get_filename())))?;
    output.filled(|out| render(&page, command, out))?;
    command.get_subcommands().filter(|one| !one.is_hide_set()).try_for_each(|one| write(one, directory))
}

/// Writes a page as `Man::render` does, but with a heading of its own for the text after a command's help.
fn render(page: &Man, command: &clap::Command, to: &mut dyn Write) -> io::Result<()> {
    page.render_title(to)?;
    page.render_name_section(to)?;
    page.render_synopsis_section(to)?;
    page.render_description_section(to)?;
    page.render_options_section(to)?;
    if command.has_subcommands() {
        page.render_subcommands_section(to)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    if let Some(examples) = after.strip_prefix("Examples:\n") {
        let mut roff = Roff::default();
        roff.control("SH", ["EXAMPLES"]);
        // Lines that begin with a blank are not wrapped.
        for line in examples.lines() {
            let fill = if line.starts_with(' ') { "nf" } else { "fi" };
            roff.control(fill, []).text([roman(line)]);
        }
        roff.to_writer(to)?;
    }
    Ok(())
}
