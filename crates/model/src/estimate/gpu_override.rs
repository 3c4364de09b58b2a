//! A GPU that the user describes in a file, in the place of an architecture's profile.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::device::{Device, DeviceError};
use crate::files;
use crate::json;
use crate::vocab::{Arch, GpuName};

/// A GPU in the place of an architecture's profile.
///
/// ```
/// use ck_select_model::estimate::GpuOverride;
///
/// let fields = serde_json::from_str(r#"{"based_on": "gfx942", "num_cus": 304}"#)?;
/// let mi300x = GpuOverride::from_json(&fields, None)?;
/// assert_eq!((mi300x.arch.as_str(), mi300x.device.hardware.num_cus), ("gfx942", 304));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuOverride {
    /// The architecture whose profile it replaces.
    pub arch: Arch,
    /// The GPU's constants.
    pub device: Device,
}

impl GpuOverride {
    /// The profile of a GPU's architecture, with a product's compute units.
    pub fn named(gpu: GpuName) -> Result<Self, DeviceError> {
        let mut device = Device::for_arch(gpu.arch)?;
        device.hardware.num_cus = gpu.units.unwrap_or(device.hardware.num_cus);
        Ok(Self { arch: gpu.arch, device })
    }

    /// Reads a JSON object, as [`Device::from_json`] does. The GPU is one of `arch`; without it, of the
    /// architecture that the object is `based_on`.
    pub fn from_json(fields: &Map<String, Value>, arch: Option<Arch>) -> Result<Self, GpuOverrideFault> {
        if arch.is_none() && !fields.contains_key("based_on") {
            return Err(GpuOverrideFault::NoArch);
        }
        let device = Device::from_json(fields, arch)?;
        let base = fields.get("based_on").and_then(Value::as_str).and_then(|base| base.parse().ok());
        Ok(Self { arch: arch.or(base).ok_or(GpuOverrideFault::NoArch)?, device })
    }

    /// Reads a file with such an object.
    pub fn read(path: &Path, arch: Option<Arch>) -> Result<Self, GpuOverrideError> {
        let fields = constants_of(path)?;
        Self::from_json(&fields, arch).map_err(|fault| GpuOverrideError { path: path.to_owned(), fault })
    }
}

/// The JSON object of a file of hardware constants.
pub fn constants_of(path: &Path) -> Result<Map<String, Value>, GpuOverrideError> {
    let read = || {
        let text = files::read_to_string(path)?;
        Ok(json::object(text.as_bytes())?)
    };
    read().map_err(|fault| GpuOverrideError { path: path.to_owned(), fault })
}

/// Why a description of a GPU cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GpuOverrideFault {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The description is not a JSON object.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A value cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Nothing says which architecture the GPU has.
    #[error("nothing names the GPU's architecture: give it (`arch`), or name a profile as based_on")]
    NoArch,
}

/// A fault of a description, with its file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", .path.display())]
pub struct GpuOverrideError {
    path: PathBuf,
    fault: GpuOverrideFault,
}

impl GpuOverrideError {
    /// Whether the file could not be read, rather than understood.
    pub const fn is_io(&self) -> bool {
        matches!(self.fault, GpuOverrideFault::Io(_))
    }
}

/// A value for each GPU, made on first use: for the described one, and for the profiles of other architectures.
#[derive(Debug)]
pub struct PerDevice<T> {
    described: Option<GpuOverride>,
    on_gpu: OnceLock<T>,
    of_profiles: [OnceLock<T>; Device::PROFILES.len()],
}

impl<T> PerDevice<T> {
    /// No values yet.
    pub const fn new(described: Option<GpuOverride>) -> Self {
        let of_profiles = [const { OnceLock::new() }; Device::PROFILES.len()];
        Self { described, on_gpu: OnceLock::new(), of_profiles }
    }

    /// The described GPU.
    pub const fn described(&self) -> Option<&GpuOverride> {
        self.described.as_ref()
    }

    /// The architectures of the GPUs that have a value.
    pub fn known(&self) -> impl Iterator<Item = Arch> {
        let described = self.described.filter(|_| self.on_gpu.get().is_some());
        let profiles =
            Device::PROFILES.iter().zip(&self.of_profiles).filter(|(_, value)| value.get().is_some());
        described
            .map(|described| described.arch)
            .into_iter()
            .chain(profiles.filter_map(|(arch, _)| arch.parse().ok()))
    }

    /// The value for a GPU of this architecture, made on first use.
    pub fn get(&self, arch: Arch, make: impl FnOnce(Device) -> T) -> Result<&T, DeviceError> {
        if let Some(described) = self.described.as_ref().filter(|described| described.arch == arch) {
            return Ok(self.on_gpu.get_or_init(|| make(described.device)));
        }
        let name = arch.as_str();
        let position = Device::PROFILES.iter().position(|known| *known == name);
        let slot = position.and_then(|profile| self.of_profiles.get(profile));
        let slot = slot.ok_or(DeviceError::NoProfile { arch })?;
        // A selection only looks; the profile is needed once.
        if let Some(value) = slot.get() {
            return Ok(value);
        }
        let device = Device::for_arch(arch)?;
        Ok(slot.get_or_init(|| make(device)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(json: &str, arch: Option<&str>) -> Result<GpuOverride, String> {
        let fields = serde_json::from_str(json).unwrap();
        let arch = arch.map(|arch| arch.parse().unwrap());
        GpuOverride::from_json(&fields, arch).map_err(|error| error.to_string())
    }

    #[test]
    fn the_architecture_is_the_given_one_or_the_base() {
        let of = |json, arch| described(json, arch).map(|own| (own.arch.to_string(), own.device.hardware));
        let (arch, mi300x) = of(r#"{"based_on": "gfx942", "num_cus": 304}"#, None).unwrap();
        assert_eq!((arch.as_str(), mi300x.num_cus), ("gfx942", 304));
        assert_eq!(of(r#"{"num_cus": 304}"#, Some("gfx942")).unwrap(), (arch, mi300x));
        // An architecture without a profile needs a base.
        let based = of(r#"{"based_on": "gfx1201", "num_cus": 40}"#, Some("gfx1151")).unwrap();
        assert_eq!((based.0.as_str(), based.1.wavefront_size), ("gfx1151", 32));
    }

    #[test]
    fn a_gpu_from_a_file_replaces_one_profile() {
        let own = described(r#"{"based_on": "gfx942", "num_cus": 304}"#, None).unwrap();
        let values = PerDevice::new(Some(own));
        let units = |arch: &str| {
            let units = values.get(arch.parse().unwrap(), |device| device.hardware.num_cus);
            units.copied().map_err(|error| error.to_string())
        };
        assert_eq!([units("gfx942"), units("gfx950")], [Ok(304), Ok(256)]);
        assert!(units("gfx1151").unwrap_err().contains("no profile of gfx1151"));
        assert_eq!(values.get("gfx942".parse().unwrap(), |_| 1), Ok(&304), "made once");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn faults_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpu.json");
        for (text, expected) in [
            ("[1]", "expected a JSON object"),
            ("{", "EOF while parsing an object at line 1 column 1"),
            (r#"{"num_cus": 4}"#, "nothing names the GPU's architecture: give it"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = GpuOverride::read(&path, None).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: {expected}", path.display())), "{error}");
        }
        let missing = folder.path().join("missing.json");
        assert!(GpuOverride::read(&missing, None).unwrap_err().to_string().contains("missing.json: "));
    }
}
