//! What a runtime reports of a GPU, as constants for the estimate.

use serde_json::{Map, Value};

use super::device::DeviceFacts;
use crate::environment;
use crate::estimate::Device;
use crate::nearest::Hint;
use crate::vocab::Arch;

/// Why the facts do not describe a GPU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// The base has no profile.
    #[error(
        "no profile of {base}, expected one of {}{}",
        Device::PROFILES.join(", "),
        Hint::new(base.as_str(), Device::PROFILES)
    )]
    Base {
        /// The requested base.
        base: Arch,
    },
    /// The GPU's own architecture has no profile, and no base was named.
    #[error(
        "device {index}: there is no profile of {}; name the most similar of {} as its base",
        arch.map_or_else(|| "its architecture".to_owned(), |arch| arch.to_string()),
        Device::PROFILES.join(", ")
    )]
    NoProfile {
        /// The runtime's number of the device.
        index: u32,
        /// Its architecture.
        arch: Option<Arch>,
    },
    /// A constant that the runtime does not report.
    #[error("device {index}: the runtime does not report {constant}")]
    Unreported {
        /// The runtime's number of the device.
        index: u32,
        /// The constant.
        constant: &'static str,
    },
}

impl DeviceFacts {
    /// The number of compute units. The runtime counts work-group processors of RDNA, which are pairs, unless
    /// `GPU_ENABLE_WGP_MODE` is 0.
    pub fn all_compute_units(&self) -> Option<u32> {
        self.units(environment::variable("GPU_ENABLE_WGP_MODE").is_none_or(|value| value != "0"))
    }

    fn units(&self, wgp_mode: bool) -> Option<u32> {
        let of_rdna =
            |own: Arch| ["gfx10", "gfx11", "gfx120"].iter().any(|family| own.as_str().starts_with(family));
        let pairs = wgp_mode && self.arch().is_some_and(of_rdna);
        self.compute_units.map(|units| if pairs { 2 * units } else { units })
    }

    /// What the runtime reports, as a JSON object for [`Described`](crate::estimate::Described). Everything
    /// else is from the profile of `based_on`, by default the GPU's own: runtimes do not report rates, and the
    /// clock of the memory does not tell its bandwidth.
    pub fn constants(&self, based_on: Option<Arch>) -> Result<Map<String, Value>, FactsError> {
        let own = self.arch();
        let has_profile = |arch: &Arch| Device::for_arch(*arch).is_ok();
        let base = match based_on {
            Some(base) if !has_profile(&base) => return Err(FactsError::Base { base }),
            Some(base) => base,
            None => {
                let index = self.index;
                own.filter(has_profile).ok_or(FactsError::NoProfile { index, arch: own })?
            }
        };
        let mut known = vec![
            ("num_cus", self.all_compute_units()),
            ("max_clock_mhz", self.clock_khz.map(|khz| khz / 1000)),
        ];
        if own != Some(base) {
            known.extend([
                ("wavefront_size", self.wavefront_size),
                ("lds_capacity", self.lds_bytes),
                ("l2_cache_kb", self.l2_bytes.map(|bytes| bytes / 1024)),
            ]);
        }
        let mut fields = Map::from_iter([("based_on".to_owned(), base.as_str().into())]);
        for (constant, value) in known {
            let value = value.ok_or(FactsError::Unreported { index: self.index, constant })?;
            fields.insert(constant.to_owned(), value.into());
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Described;

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

    fn described(facts: &DeviceFacts, based_on: Option<&str>) -> Result<String, String> {
        let based_on = based_on.map(|word| word.parse().unwrap());
        let fields = facts.constants(based_on).map_err(|error| error.to_string())?;
        Described::from_json(&fields, facts.arch()).map_err(|error| error.to_string())?;
        Ok(Value::Object(fields).to_string())
    }

    #[test]
    fn a_known_architecture_keeps_its_own_constants() {
        assert_eq!(
            described(&facts("gfx942:sramecc+:xnack-"), None).unwrap(),
            r#"{"based_on":"gfx942","max_clock_mhz":2500,"num_cus":48}"#
        );
        // RDNA's pairs of compute units count twice, unless the runtime counts units.
        assert_eq!([true, false].map(|mode| facts("gfx1201").units(mode)), [Some(96), Some(48)]);
        assert_eq!(facts("gfx942").units(true), Some(48));
    }

    #[test]
    fn another_architecture_needs_a_base() {
        let error = described(&facts("gfx1100"), None).unwrap_err();
        assert!(error.contains("no profile of gfx1100") && error.contains("gfx1201"), "{error}");
        assert_eq!(
            described(&facts("gfx1100"), Some("gfx1201")).unwrap(),
            r#"{"based_on":"gfx1201","l2_cache_kb":6144,"lds_capacity":65536,"max_clock_mhz":2500,"num_cus":96,"wavefront_size":32}"#
        );
        let error = described(&facts("gfx942"), Some("gfx908")).unwrap_err();
        assert!(error.starts_with("no profile of gfx908, expected one of"), "{error}");
        let silent = DeviceFacts { clock_khz: None, ..facts("gfx942") };
        assert_eq!(
            described(&silent, None).unwrap_err(),
            "device 0: the runtime does not report max_clock_mhz"
        );
    }
}
