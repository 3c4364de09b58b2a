//! AMD's HIP runtime, versions 5 to 7, loaded on first use.
//!
//! Which library: the path in `CK_SELECT_HIP_LIBRARY`, if that is set; with the feature `hip-link` the linked
//! one; otherwise the runtime that is already in the process, since the process's streams belong to that
//! runtime; otherwise `libamdhip64.so.7`, `.6`, `.5` or `libamdhip64.so` from the system's loader. It is
//! never unloaded.

mod api;
mod device;
mod error;
#[cfg(test)]
mod headers_test;
mod library;
mod properties;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;

use api::{Api, NO_DEVICE};
use library::Library;

use crate::environment;
use crate::tuning::device::DeviceError;

pub use device::HipDevice;
pub use error::{HipError, Tried};

/// The environment variable that names the library.
pub const LIBRARY_VARIABLE: &str = "CK_SELECT_HIP_LIBRARY";

/// Multiple of the major version in HIP's version numbers.
const MAJOR: u32 = 10_000_000;

/// A loaded HIP runtime.
#[derive(Debug, Clone)]
pub struct Hip {
    api: Api,
    library: String,
}

impl Hip {
    /// The runtime of this process, loaded by the first call. Its result is kept, even an error.
    ///
    /// ```
    /// use ck_select::tuning::hip::{Hip, HipError};
    ///
    /// match Hip::get().and_then(Hip::current_device) {
    ///     Ok(device) => println!("{device:?}"),
    ///     Err(HipError::NoDevice { .. }) => println!("a runtime, but no GPU"),
    ///     Err(error) => println!("{error}"),
    /// }
    /// ```
    pub fn get() -> Result<&'static Self, HipError> {
        static HIP: OnceLock<Result<Hip, HipError>> = OnceLock::new();
        HIP.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    /// The runtime in a library file, regardless of the environment and of other calls.
    ///
    /// # Safety
    ///
    /// - The library is HIP's, or one with functions of the same names, types and meanings;
    /// - streams that are later used with its devices are its own.
    pub unsafe fn open(path: &Path) -> Result<Self, HipError> {
        Self::load_named(path.as_os_str())
    }

    fn load() -> Result<Self, HipError> {
        match environment::variable(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => Self::load_named(&path),
            None => Self::load_default(),
        }
    }

    fn load_named(path: &OsStr) -> Result<Self, HipError> {
        Self::from_library(&Library::open(path)?)
    }

    #[cfg(not(feature = "hip-link"))]
    fn load_default() -> Result<Self, HipError> {
        Self::from_library(&Library::find()?)
    }

    #[cfg(feature = "hip-link")]
    fn load_default() -> Result<Self, HipError> {
        let api = Api::linked(&Library::process());
        Self::from_api(api, "the linked libamdhip64".to_owned())
    }

    fn from_library(library: &Library) -> Result<Self, HipError> {
        let name = library.name.clone();
        // SAFETY: the library is libamdhip64 by its name or by the guarantee of whoever set the path; it is
        // never unloaded.
        match unsafe { Api::load(library) } {
            Ok(api) => Self::from_api(api, name),
            Err(symbol) => Err(HipError::MissingSymbol { library: name, symbol }),
        }
    }

    fn from_api(api: Api, library: String) -> Result<Self, HipError> {
        match api.runtime_version() {
            Some(version) if version < 5 * MAJOR => Err(HipError::TooOld { library, version }),
            // A runtime without a version may still report, below, that it has no device.
            _ => Ok(Self { api, library }),
        }
    }

    /// How the library was found: a path, a name, or `this process`.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// The runtime's version: major * 10 000 000 + minor * 100 000 + patch.
    pub fn version(&self) -> Option<u32> {
        self.api.runtime_version()
    }

    /// The number of devices; none is [`HipError::NoDevice`].
    pub fn device_count(&self) -> Result<u32, HipError> {
        let mut count = 0;
        // SAFETY: the pointer is valid for writing an integer.
        let code = unsafe { (self.api.hipGetDeviceCount)(&raw mut count) };
        let counted = self.api.check("hipGetDeviceCount", code);
        if code == NO_DEVICE || (counted.is_ok() && count <= 0) {
            let error = self.api.error_code(NO_DEVICE);
            return Err(HipError::NoDevice { library: self.library.clone(), error });
        }
        counted.map_err(|error| self.error(error))?;
        Ok(count.unsigned_abs())
    }

    /// The device that is current on this thread.
    pub fn current_device(&self) -> Result<HipDevice, HipError> {
        self.device_count()?;
        let index = self.api.current_device().map_err(|error| self.error(error))?;
        self.device(index)
    }

    /// A device by its number. Events of it can be made only on threads on which it is current.
    pub fn device(&self, index: u32) -> Result<HipDevice, HipError> {
        HipDevice::new(self.api, index).map_err(|error| self.error(error))
    }

    fn error(&self, error: DeviceError) -> HipError {
        HipError::Device { library: self.library.clone(), error }
    }
}
