//! `ckselect hardware`: this machine's GPU as a file for `--hardware`.

use std::io::Write;
use std::path::PathBuf;

use ck_select::estimate::Device;
use ck_select::nearest::Hint;
use ck_select::tuning::device::{Device as _, DeviceFacts};
use ck_select::tuning::hip::Hip;
use ck_select::vocab::Arch;
use serde_json::{Map, Value};

use super::word;
use crate::error::CliError;
use crate::output::Output;

const EXAMPLES: &str = "Examples:
  ckselect hardware --output mi300x.json
  ckselect rank --hardware mi300x.json --pool kernels.txt \\
      --problem 'C=64,K=64,Hi=56,Wi=56,Y=3,X=3,pad_h=1,pad_w=1'
  ckselect hardware --device 1 --based-on gfx1201 --output w7900.json

The file has what the HIP runtime reports: compute units and clock, and for an architecture without a profile \
also the wave size, shared memory and the L2 cache. Everything else is taken from the profile that --based-on \
names, by default the architecture's own. HIP does not report rates, and its memory clock does not tell the \
bandwidth (docs/estimate.md): for another base, edit the file and add memory_gb_s, macs_16bit and so on.";

/// Describe this machine's GPU as a file for --hardware
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
        return Err(CliError::usage(format!("--device: found {}, there are {count} devices", args.device)));
    }
    let device = hip.device(args.device)?;
    let facts = device.facts();
    let fields = describe(facts, args.based_on, compute_units(facts, wgp_mode()))?;
    Device::from_json(&fields)?;
    let target = facts.target.as_deref().unwrap_or("no architecture reported");
    let base = fields["based_on"].as_str().unwrap_or_default();
    say!(
        "ckselect: device {}: {}, {target}; bandwidths and rates are those of {base}",
        facts.index,
        facts.name
    );
    let mut out = Output::create(args.output.as_deref())?;
    let text = serde_json::to_string_pretty(&fields)?;
    writeln!(out, "{text}").map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}

/// Whether the runtime counts work-group processors of RDNA, which are pairs of compute units, as it does by
/// default.
pub(super) fn wgp_mode() -> bool {
    std::env::var_os("GPU_ENABLE_WGP_MODE").is_none_or(|value| value != "0")
}

/// The number of compute units.
pub(super) fn compute_units(facts: &DeviceFacts, wgp_mode: bool) -> Option<u32> {
    let of_rdna =
        |own: Arch| ["gfx10", "gfx11", "gfx120"].iter().any(|family| own.as_str().starts_with(family));
    let pairs = wgp_mode && facts.arch().is_some_and(of_rdna);
    facts.compute_units.map(|units| if pairs { 2 * units } else { units })
}

/// The constants that the runtime reports, and the profile for the others.
fn describe(
    facts: &DeviceFacts,
    based_on: Option<Arch>,
    compute_units: Option<u32>,
) -> Result<Map<String, Value>, CliError> {
    let profiles = Device::PROFILES.join(", ");
    let own = facts.arch();
    let base = match (based_on, own) {
        (Some(base), _) if Device::for_arch(base).is_ok() => base,
        (Some(base), _) => {
            let hint = Hint::new(base.as_str(), Device::PROFILES);
            return Err(CliError::usage(format!(
                "--based-on: no profile of {base}, expected one of {profiles}{hint}"
            )));
        }
        (None, Some(own)) if Device::for_arch(own).is_ok() => own,
        (None, own) => {
            let name = own.map_or_else(|| "its architecture".to_owned(), |own| own.to_string());
            return Err(CliError::usage(format!(
                "device {}: there is no profile of {name}; name the most similar of {profiles} by --based-on",
                facts.index
            )));
        }
    };
    let mut known =
        vec![("num_cus", compute_units), ("max_clock_mhz", facts.clock_khz.map(|khz| khz / 1000))];
    if own != Some(base) {
        known.extend([
            ("wavefront_size", facts.wavefront_size),
            ("lds_capacity", facts.lds_bytes),
            ("l2_cache_kb", facts.l2_bytes.map(|bytes| bytes / 1024)),
        ]);
    }
    let mut fields = Map::from_iter([("based_on".to_owned(), base.as_str().into())]);
    for (name, value) in known {
        let value = value.ok_or_else(|| {
            CliError::failed(format!("device {}: the runtime does not report {name}", facts.index))
        })?;
        fields.insert(name.to_owned(), value.into());
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(target: &str) -> DeviceFacts {
        DeviceFacts {
            index: 0,
            name: "a GPU".to_owned(),
            target: Some(target.to_owned()),
            runtime_version: None,
            driver_version: None,
            compute_units: Some(48),
            wavefront_size: Some(32),
            clock_khz: Some(2_500_000),
            lds_bytes: Some(65536),
            l2_bytes: Some(6 << 20),
            pci_bus_id: None,
        }
    }

    fn described(facts: &DeviceFacts, based_on: Option<&str>, wgp_mode: bool) -> Result<String, String> {
        let based_on = based_on.map(|word| word.parse().unwrap());
        let fields = describe(facts, based_on, compute_units(facts, wgp_mode))
            .map_err(|error| format!("{error:?}"))?;
        Device::from_json(&fields).map_err(|error| error.to_string())?;
        Ok(Value::Object(fields).to_string())
    }

    #[test]
    fn a_known_architecture_keeps_its_own_constants() {
        assert_eq!(
            described(&facts("gfx942:sramecc+:xnack-"), None, true).unwrap(),
            r#"{"based_on":"gfx942","max_clock_mhz":2500,"num_cus":48}"#
        );
        // RDNA's pairs of compute units count twice, unless the runtime counts units.
        for (wgp_mode, units) in [(true, "96"), (false, "48")] {
            let text = described(&facts("gfx1201"), None, wgp_mode).unwrap();
            assert!(text.contains(&format!(r#""num_cus":{units}"#)), "{text}");
        }
    }

    #[test]
    fn another_architecture_needs_a_base() {
        let error = described(&facts("gfx1100"), None, true).unwrap_err();
        assert!(error.contains("no profile of gfx1100") && error.contains("gfx1201"), "{error}");
        assert_eq!(
            described(&facts("gfx1100"), Some("gfx1201"), true).unwrap(),
            r#"{"based_on":"gfx1201","l2_cache_kb":6144,"lds_capacity":65536,"max_clock_mhz":2500,"num_cus":96,"wavefront_size":32}"#
        );
        let error = described(&facts("gfx942"), Some("gfx908"), true).unwrap_err();
        assert!(error.contains("--based-on: no profile of gfx908"), "{error}");
        let silent = DeviceFacts { clock_khz: None, ..facts("gfx942") };
        let error = described(&silent, None, true).unwrap_err();
        assert!(error.contains("does not report max_clock_mhz"), "{error}");
    }
}
