//! Why there is no device to measure on.

use std::fmt;

use crate::tuning::device::{DeviceError, ErrorCode};

/// Why there is no HIP device to measure on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HipError {
    /// No library could be loaded.
    #[error(
        "no HIP runtime can be loaded ({}); set CK_SELECT_HIP_LIBRARY to the path of libamdhip64.so",
        list(tried)
    )]
    NotFound {
        /// The libraries that were tried, in order.
        tried: Vec<Tried>,
    },
    /// The library lacks a function, so it is not HIP's, or older than version 5.
    #[error("{library} has no {symbol}, so it is not a HIP runtime of version 5 or later")]
    MissingSymbol {
        /// The name or path under which the library was found.
        library: String,
        /// The function that the library lacks.
        symbol: &'static str,
    },
    /// The runtime is older than version 5, which numbers queries differently.
    #[error(
        "{library} is HIP {}.{}, expected version 5 or later",
        version / 10_000_000,
        version / 100_000 % 100
    )]
    TooOld {
        /// The name or path under which the library was found.
        library: String,
        /// The runtime's version: major * 10 000 000 + minor * 100 000 + patch.
        version: u32,
    },
    /// The runtime works and finds no device.
    #[error("{library} finds no device: {error}")]
    NoDevice {
        /// The name or path under which the library was found.
        library: String,
        /// The returned error.
        error: ErrorCode,
    },
    /// The runtime refused a call.
    #[error("{library}: {error}")]
    Device {
        /// The name or path under which the library was found.
        library: String,
        /// The refused call, and its error.
        error: DeviceError,
    },
}

/// A library that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The library's name or path.
    pub library: String,
    /// The system loader's message.
    pub reason: String,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The loader's message nearly always begins with the name.
        if self.reason.starts_with(&self.library) {
            f.write_str(&self.reason)
        } else {
            write!(f, "{}: {}", self.library, self.reason)
        }
    }
}

fn list(tried: &[Tried]) -> String {
    tried.iter().map(Tried::to_string).collect::<Vec<_>>().join("; ")
}
