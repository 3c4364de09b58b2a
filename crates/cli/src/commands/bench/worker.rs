//! `ckselect bench-worker`.

use crate::error::CliError;

/// Started by a sweep to load and run kernels
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<(), CliError> {
    let answers = ck_select_measure::worker::claim_stdout()?;
    ck_select_measure::worker::serve(std::io::stdin().lock(), answers)?;
    Ok(())
}
