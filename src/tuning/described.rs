//! What a runtime reports of a GPU, as constants for the estimate.

use serde_json::{Map, Value};

use super::device::DeviceFacts;
use crate::environment;
use crate::estimate::{Device, Rates};
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

/// Transfers on each line of the memory's bus per clock that HIP reports. AMD's driver reports the clock of
/// the memory controller: half the data rate for HBM2, a quarter for HBM3, a sixteenth for GDDR6
/// (ROCm/rocm-systems issue 5034). CUDA reports half the data rate of any memory. Not known of memory that a
/// GPU shares with a host.
fn transfers_per_clock(arch: Arch) -> Option<f64> {
    match arch.as_str() {
        "gfx906" | "gfx908" | "gfx90a" => Some(2.0),
        "gfx942" | "gfx950" => Some(4.0),
        "gfx1030" | "gfx1031" | "gfx1032" | "gfx1100" | "gfx1101" | "gfx1102" | "gfx1200" | "gfx1201" => {
            Some(16.0)
        }
        other if other.starts_with("sm_") => Some(2.0),
        _ => None,
    }
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

    /// The bandwidth of the memory in GB/s, by its clock and the width of its bus; `None` if they are not
    /// reported or absurd, or if it is not known what the clock of such an architecture counts.
    pub fn memory_gb_s(&self) -> Option<f64> {
        let transfers = transfers_per_clock(self.arch()?)?;
        let (khz, bits) = (f64::from(self.memory_clock_khz?), f64::from(self.memory_bus_bits?));
        Some(khz * bits * transfers / 8.0 / 1e6)
            .filter(|bandwidth| Rates::PLAUSIBLE_MEMORY_GB_S.contains(bandwidth))
    }

    /// What the runtime reports, as a JSON object for [`GpuOverride`](crate::estimate::GpuOverride). Everything
    /// else is from the profile of `based_on`, by default the GPU's own: runtimes do not report rates.
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
        // The largest cache that all units share, unless there is another one behind it, which runtimes do not
        // report.
        let is_last = |device: &Device| device.rates.cache_kb == device.hardware.l2_cache_kb as f64;
        let cache_kb = self.l2_bytes.map(|bytes| bytes / 1024);
        if let (Some(kb), Ok(true)) = (cache_kb, Device::for_arch(base).as_ref().map(is_last)) {
            known.push(("cache_kb", Some(kb)));
        }
        let mut fields = Map::from_iter([("based_on".to_owned(), base.as_str().into())]);
        if let Some(bandwidth) = self.memory_gb_s() {
            fields.insert("memory_gb_s".to_owned(), bandwidth.into());
        }
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
    use crate::estimate::GpuOverride;

    fn facts(target: &str) -> DeviceFacts {
        DeviceFacts {
            target: Some(target.to_owned()),
            compute_units: Some(48),
            wavefront_size: Some(32),
            clock_khz: Some(2_500_000),
            lds_bytes: Some(65536),
            l2_bytes: Some(6 << 20),
            ..DeviceFacts::default()
        }
    }

    fn described(facts: &DeviceFacts, based_on: Option<&str>) -> Result<String, String> {
        let based_on = based_on.map(|word| word.parse().unwrap());
        let fields = facts.constants(based_on).map_err(|error| error.to_string())?;
        GpuOverride::from_json(&fields, facts.arch()).map_err(|error| error.to_string())?;
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

    /// Against the bandwidths of data sheets: an MI250X's die, MI300X, MI355X, RX 7900 XTX, RX 9070 XT, H100.
    #[test]
    fn clock_and_bus_tell_the_bandwidth_of_the_memory() {
        for (target, mhz, bits, sheet) in [
            ("gfx90a:sramecc+:xnack-", 1600, 4096, 1638.0),
            ("gfx942", 1300, 8192, 5300.0),
            ("gfx950", 1900, 8192, 8000.0),
            ("gfx1100", 1249, 384, 960.0),
            ("gfx1201", 1258, 256, 640.0),
            ("sm_90", 2619, 5120, 3350.0),
        ] {
            let facts = DeviceFacts {
                memory_clock_khz: Some(1000 * mhz),
                memory_bus_bits: Some(bits),
                ..facts(target)
            };
            let found = facts.memory_gb_s().unwrap();
            assert!((found / sheet - 1.0).abs() < 0.03, "{target}: {found}");
            assert_eq!(DeviceFacts { memory_bus_bits: None, ..facts }.memory_gb_s(), None);
        }
        let shared =
            DeviceFacts { memory_clock_khz: Some(1_000_000), memory_bus_bits: Some(256), ..facts("gfx1151") };
        assert_eq!(shared.memory_gb_s(), None);
        let h100 = DeviceFacts {
            memory_clock_khz: Some(2_619_000),
            memory_bus_bits: Some(5120),
            l2_bytes: Some(50 << 20),
            ..facts("sm_90")
        };
        assert_eq!(
            described(&h100, None).unwrap(),
            r#"{"based_on":"sm_90","cache_kb":51200,"max_clock_mhz":2500,"memory_gb_s":3352.32,"num_cus":48}"#
        );
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
