//! GPUs by the names that engines write into tables' names: what the driver says, with `_` for blanks.

use crate::invalid::InvalidField;
use crate::nearest::Hint;
use crate::vocab::{Arch, Product};

/// A GPU as engines name it.
#[derive(Debug, PartialEq, Eq)]
pub struct EngineDevice {
    /// The name in tables' names.
    pub name: &'static str,
    /// The architecture; empty if drivers give the name to GPUs of several, or if nothing here knows it.
    pub arch: &'static str,
    /// The GPU's compute units, 0 if the architecture is unknown.
    pub units: i64,
}

const fn device(name: &'static str, arch: &'static str, units: i64) -> EngineDevice {
    EngineDevice { name, arch, units }
}

/// GPUs of which tables exist. The first of an architecture, or of a product, is meant where only that is
/// given.
pub const DEVICES: [EngineDevice; 50] = [
    device("AMD_Instinct_MI210", "gfx90a", 104),
    device("AMD_Instinct_MI250X", "gfx90a", 110),
    device("AMD_Instinct_MI300X", "gfx942", 304),
    device("AMD_Instinct_MI300X_HF", "gfx942", 304),
    device("AMD_Instinct_MI325X", "gfx942", 304),
    device("AMD_Instinct_MI308X", "gfx942", 80),
    device("AMD_Instinct_MI300A", "gfx942", 228),
    device("AMD_Instinct_MI355X", "gfx950", 256),
    device("AMD_Instinct_MI350X", "gfx950", 256),
    device("AMD_Radeon_RX7900XTX", "gfx1100", 96),
    device("AMD_Radeon_RX9070XT", "gfx1201", 64),
    device("AMD_Radeon_R9700", "gfx1201", 64),
    device("AMD_Radeon_Graphics", "", 0),
    device("Intel(R)_Arc(TM)_Pro_B60_Graphics", "", 0),
    device("Intel(R)_Arc(TM)_Pro_B70_Graphics", "", 0),
    device("NVIDIA_GeForce_RTX_2080_Ti", "sm_75", 68),
    device("NVIDIA_A100-SXM4-80GB", "sm_80", 108),
    device("NVIDIA_A100-SXM4-40GB", "sm_80", 108),
    device("NVIDIA_A100_80GB_PCIe", "sm_80", 108),
    device("NVIDIA_A100-PCIe-40GB", "sm_80", 108),
    device("NVIDIA_A800-SXM4-80GB", "sm_80", 108),
    device("NVIDIA_A10", "sm_86", 72),
    device("NVIDIA_L40S", "sm_89", 142),
    device("NVIDIA_L20", "sm_89", 92),
    device("NVIDIA_L4", "sm_89", 58),
    device("NVIDIA_GeForce_RTX_4090", "sm_89", 128),
    device("NVIDIA_RTX_6000_Ada_Generation", "sm_89", 142),
    device("NVIDIA_RTX_5880_Ada_Generation", "sm_89", 110),
    device("NVIDIA_H200", "sm_90", 132),
    device("NVIDIA_H200_NVL", "sm_90", 132),
    device("NVIDIA_H100_80GB_HBM3", "sm_90", 132),
    device("NVIDIA_H100", "sm_90", 132),
    device("NVIDIA_H100_NVL", "sm_90", 132),
    device("NVIDIA_H100_PCIe", "sm_90", 114),
    device("NVIDIA_GH200_480GB", "sm_90", 132),
    device("NVIDIA_H800", "sm_90", 132),
    device("NVIDIA_H20", "sm_90", 78),
    device("NVIDIA_H20-3e", "sm_90", 78),
    device("NVIDIA_L20Y", "", 0),
    device("NVIDIA_B200", "sm_100", 148),
    device("NVIDIA_GB200", "sm_100", 152),
    device("NVIDIA_B100", "sm_100", 148),
    device("NVIDIA_B300_SXM6_AC", "sm_103", 148),
    device("NVIDIA_GB300", "sm_103", 152),
    device("NVIDIA_GeForce_RTX_5090", "sm_120", 170),
    device("NVIDIA_RTX_PRO_6000_Blackwell_Server_Edition", "sm_120", 188),
    device("NVIDIA_RTX_PRO_6000_Blackwell_Workstation_Edition", "sm_120", 188),
    device("NVIDIA_RTX_PRO_6000_Blackwell_Max-Q_Workstation_Edition", "sm_120", 188),
    device("NVIDIA_GB10", "sm_121", 48),
    device("Orin_(nvgpu)", "sm_87", 16),
];

impl EngineDevice {
    /// The device of a name, which may have blanks as drivers write it.
    pub fn named(name: &str) -> Result<&'static Self, InvalidField> {
        let spelled = name.replace(' ', "_");
        DEVICES.iter().find(|device| device.name == spelled).ok_or_else(|| {
            let names: Vec<&str> = DEVICES.iter().map(|device| device.name).collect();
            let hint = Hint::new(&spelled, names.iter().copied());
            InvalidField::new(
                "device_name",
                format_args!("'{name}'"),
                format!("one of {}{hint}", names.join(", ")),
            )
        })
    }

    /// The first device that is a product; of an architecture with these compute units; of an architecture.
    pub fn from_gpu(product: Option<&Product>, arch: Arch, units: Option<i64>) -> Option<&'static Self> {
        let is_product = |device: &&Self| {
            product.is_some_and(|product| device.name.split(['_', '-']).any(|part| part == product.name))
        };
        let has_arch = |device: &&Self| device.arch == arch.as_str();
        let fits = |device: &&Self| {
            has_arch(device)
                && if product.is_some() {
                    is_product(device)
                } else {
                    units.is_none_or(|units| units == device.units)
                }
        };
        DEVICES.iter().find(fits)
    }

    /// The architecture, if the name says it.
    pub fn arch(&self) -> Option<Arch> {
        self.arch.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_once_and_have_valid_architectures() {
        for (index, device) in DEVICES.iter().enumerate() {
            assert!(DEVICES[..index].iter().all(|other| other.name != device.name), "{}", device.name);
            assert_eq!(device.arch().is_some(), !device.arch.is_empty(), "{}", device.name);
            assert_eq!(EngineDevice::named(&device.name.replace('_', " ")), Ok(device));
            assert_eq!(device.units == 0, device.arch.is_empty());
        }
    }

    #[test]
    fn a_gpu_has_the_name_of_its_product_else_of_its_units() {
        let name = |product: &str, arch: &str, units| {
            let device = EngineDevice::from_gpu(Product::find(product), arch.parse().unwrap(), units);
            device.map(|device| device.name)
        };
        assert_eq!(name("MI325X", "gfx942", Some(304)), Some("AMD_Instinct_MI325X"));
        assert_eq!(name("H100", "sm_90", Some(132)), Some("NVIDIA_H100_80GB_HBM3"));
        assert_eq!(name("A100", "sm_80", Some(108)), Some("NVIDIA_A100-SXM4-80GB"));
        assert_eq!(name("", "gfx942", Some(80)), Some("AMD_Instinct_MI308X"));
        assert_eq!(name("", "gfx942", Some(304)), Some("AMD_Instinct_MI300X"));
        assert_eq!(name("", "sm_90", None), Some("NVIDIA_H200"));
        assert_eq!(name("", "sm_90", Some(7)), None);
        assert_eq!(name("", "gfx906", None), None);
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        let error = EngineDevice::named("NVIDIA_H2000").unwrap_err().to_string();
        assert!(
            error.starts_with("device_name: found 'NVIDIA_H2000', expected one of AMD_Instinct_MI210, "),
            "{error}"
        );
        assert!(error.ends_with("; did you mean 'NVIDIA_H200'?"), "{error}");
    }
}
