//! `ckselect bench-guard`.

use std::sync::Arc;

use signal_hook::flag;

use super::signals::ENDING;
use crate::error::CliError;

/// Started by a sweep to kill its remaining processes if it is killed
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<(), CliError> {
    // Batch systems signal every process of a job; the guard must not end before the sweep does.
    for number in ENDING {
        flag::register(number, Arc::default())?;
    }
    ck_select_measure::guard::serve(std::io::stdin().lock());
    Ok(())
}
