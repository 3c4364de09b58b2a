//! The HIP functions and constants in use, which versions 5 to 7 share.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::library::Library;

/// `hipSuccess`.
pub(super) const SUCCESS: c_int = 0;
/// `hipErrorNoDevice`.
pub(super) const NO_DEVICE: c_int = 100;
/// `hipErrorNotReady`: not an error; the device has not reached the event yet.
pub(super) const NOT_READY: c_int = 600;
/// `hipErrorUnknown`, whose name is also the runtime's name for codes that it does not know.
pub(super) const UNKNOWN: c_int = 999;

/// Queries by number (`hipDeviceAttribute_t`).
pub(super) mod attribute {
    use std::ffi::c_int;

    pub(in super::super) const CLOCK_RATE: c_int = 5;
    pub(in super::super) const L2_CACHE_SIZE: c_int = 19;
    pub(in super::super) const MEMORY_BUS_WIDTH: c_int = 59;
    pub(in super::super) const MEMORY_CLOCK_RATE: c_int = 60;
    pub(in super::super) const MULTIPROCESSOR_COUNT: c_int = 63;
    pub(in super::super) const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 74;
    pub(in super::super) const WARP_SIZE: c_int = 87;
}

/// Declares the table of functions, and how it is filled from a loaded or a linked library.
///
/// Error codes are plain integers here, as in C: a Rust enum, as in hip-runtime-sys, must never hold an
/// unknown code of a later version.
macro_rules! functions {
    (
        required { $($name:ident($($type:ty),*) -> $result:ty;)* }
        optional { $($optional:ident($($optional_type:ty),*) -> $optional_result:ty;)* }
    ) => {
        /// A pointer to each function. They stay valid forever, because the library is never unloaded.
        #[derive(Debug, Clone, Copy)]
        #[allow(non_snake_case)] // the functions' own names
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($type),*) -> $result,)*
            $(pub(super) $optional: Option<unsafe extern "C" fn($($optional_type),*) -> $optional_result>,)*
        }

        impl Api {
            /// The functions of a library, or the name of the first missing one.
            ///
            /// # Safety
            ///
            /// - Functions of these names in the library are HIP's;
            /// - the library is never unloaded.
            pub(super) unsafe fn load(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        let symbol = concat!(stringify!($name), "\0");
                        // SAFETY: the caller guarantees that this is HIP's function, which has this type in
                        // versions 5 to 7.
                        unsafe { library.function(symbol) }.ok_or(stringify!($name))?
                    },)*
                    $($optional: {
                        let symbol = concat!(stringify!($optional), "\0");
                        // SAFETY: as above.
                        unsafe { library.function(symbol) }
                    },)*
                })
            }

            /// The functions that this library is linked with; the optional ones from the loaded libraries.
            #[cfg(feature = "hip-link")]
            pub(super) fn linked(loaded: &Library) -> Self {
                // The build script of hip-runtime-sys names the library to the linker; see above why its
                // declarations are not used.
                use hip_runtime_sys as _;

                unsafe extern "C" {
                    $(fn $name($(_: $type),*) -> $result;)*
                }
                Self {
                    $($name,)*
                    $($optional: {
                        let symbol = concat!(stringify!($optional), "\0");
                        // SAFETY: libamdhip64 is linked, so the function of this name in the process is
                        // HIP's.
                        unsafe { loaded.function(symbol) }
                    },)*
                }
            }
        }
    };
}

functions! {
    required {
        hipGetErrorName(c_int) -> *const c_char;
        hipGetLastError() -> c_int;
        hipRuntimeGetVersion(*mut c_int) -> c_int;
        hipDriverGetVersion(*mut c_int) -> c_int;
        hipGetDeviceCount(*mut c_int) -> c_int;
        hipGetDevice(*mut c_int) -> c_int;
        hipDeviceGetName(*mut c_char, c_int, c_int) -> c_int;
        hipDeviceGetAttribute(*mut c_int, c_int, c_int) -> c_int;
        hipEventCreate(*mut *mut c_void) -> c_int;
        hipEventDestroy(*mut c_void) -> c_int;
        hipEventRecord(*mut c_void, *mut c_void) -> c_int;
        hipEventQuery(*mut c_void) -> c_int;
        hipEventElapsedTime(*mut f32, *mut c_void, *mut c_void) -> c_int;
    }
    optional {
        hipDeviceGetPCIBusId(*mut c_char, c_int, c_int) -> c_int;
        hipStreamIsCapturing(*mut c_void, *mut c_int) -> c_int;
        hipGetDevicePropertiesR0600(*mut c_void, c_int) -> c_int;
        hipGetDeviceProperties(*mut c_void, c_int) -> c_int;
    }
}

impl Api {
    /// The runtime's name for an error code.
    pub(super) fn error_name(&self, code: c_int) -> Option<String> {
        // SAFETY: any number may be passed; the answer is null or a string constant of the library.
        let name = unsafe {
            let name = (self.hipGetErrorName)(code);
            if name.is_null() { None } else { Some(CStr::from_ptr(name)) }
        };
        let name = name?.to_str().ok()?;
        let known = code == UNKNOWN || name != "hipErrorUnknown";
        (known && !name.is_empty()).then(|| name.to_owned())
    }
}
