//! `ckselect hardware`: this machine's GPU as a file for `--arch`.

use std::io::Write;
use std::path::PathBuf;

use ck_select::estimate::Device;
use ck_select::tuning::described::FactsError;
use ck_select::tuning::device::Device as _;
use ck_select::tuning::hip::Hip;
use ck_select::vocab::Arch;

use super::word;
use crate::error::CliError;
use crate::output::Output;

const EXAMPLES: &str = "Examples:
  ckselect hardware --output mi300x.json
  ckselect rank --arch mi300x.json --pool kernels.txt \\
      --problem 'C=64,K=64,Hi=56,Wi=56,Y=3,X=3,pad_h=1,pad_w=1'
  ckselect hardware --device 1 --based-on gfx1201 --output w7900.json

The file has what the HIP runtime reports: compute units, clock, the memory's bandwidth (from its clock and bus, \
where it is known what that clock counts), the L2 cache if the base has no larger cache behind it, and, if the \
base is another architecture, the wave size and shared memory. Everything else is taken from the profile that \
--based-on names, by default the architecture's own. HIP does not report rates: if the base is another \
architecture, edit the file and add macs_16bit, cache_gb_s and so on (docs/estimate.md).";

/// Describe this machine's GPU as a file for --arch
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The device's index among the visible ones
    #[arg(long, value_name = "INDEX", default_value = "0")]
    device: u32,
    /// The profile that has what HIP does not report
    #[arg(long, value_name = "ARCH", value_parser = word::<Arch>)]
    based_on: Option<Arch>,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let hip = Hip::get()?;
    let count = hip.device_count()?;
    if args.device >= count {
        return Err(CliError::usage(format!(
            "--device: found {}, but there are {count} devices",
            args.device
        )));
    }
    let device = hip.device(args.device)?;
    let facts = device.facts();
    let fields = facts.constants(args.based_on).map_err(|error| match error {
        FactsError::Base { .. } => CliError::usage(format!("--based-on: {error}")),
        FactsError::NoProfile { .. } => CliError::usage(format!("{error} by --based-on")),
        FactsError::Unreported { .. } => CliError::failed(error.to_string()),
    })?;
    Device::from_json(&fields, None)?;
    let target = facts.target.as_deref().unwrap_or("no architecture reported");
    let base = fields["based_on"].as_str().unwrap_or_default();
    let memory = if fields.contains_key("memory_gb_s") { "" } else { "the memory's bandwidth, " };
    let caches = if fields.contains_key("cache_kb") { "the cache's bandwidth" } else { "caches" };
    say!(
        "ckselect: device {}: {}, {target}; {memory}{caches} and rates are those of {base}",
        facts.index,
        facts.name
    );
    let text = serde_json::to_string_pretty(&fields)?;
    Output::create(args.output.as_deref())?.filled(|out| writeln!(out, "{text}"))
}
