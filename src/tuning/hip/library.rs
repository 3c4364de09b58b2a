//! Finds libamdhip64: at a given path, in the process, or through the system's loader.

use std::ffi::OsStr;
use std::mem::ManuallyDrop;

use libloading::os::unix;

use super::error::{HipError, Tried};

/// The names that are tried without a path, newest first.
#[cfg(not(feature = "hip-link"))]
const NAMES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];

/// A library that is never unloaded: HIP starts threads and registers handlers that would outlive it.
pub(super) struct Library {
    /// The name or path under which it was found.
    pub(super) name: String,
    inner: ManuallyDrop<unix::Library>,
}

impl Library {
    /// The function with a name, which ends with a NUL.
    ///
    /// # Safety
    ///
    /// `F` is the type of a function pointer, and the right one for the function of this name.
    pub(super) unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller guarantees the type.
        unsafe { self.inner.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    }

    /// The library at a path, or with a name that the system's loader finds.
    pub(super) fn open(name: &OsStr) -> Result<Self, HipError> {
        Self::open_with(name, unix::RTLD_LAZY).map_err(|tried| HipError::NotFound { tried: vec![tried] })
    }

    /// The runtime of this process, or the system's.
    #[cfg(not(feature = "hip-link"))]
    pub(super) fn find() -> Result<Self, HipError> {
        if let Some(loaded) = Self::loaded() {
            return Ok(loaded);
        }
        let mut tried = Vec::new();
        for name in NAMES {
            match Self::open_with(OsStr::new(name), unix::RTLD_LAZY) {
                Ok(library) => return Ok(library),
                Err(failure) => tried.push(failure),
            }
        }
        Err(HipError::NotFound { tried })
    }

    /// The runtime that the process already has. It must come first, because the callers' streams belong to
    /// that runtime, and a second one in the process would not know them.
    #[cfg(not(feature = "hip-link"))]
    fn loaded() -> Option<Self> {
        let process = Self::process();
        // SAFETY: the function is not called through this pointer, only its presence counts.
        let linked = unsafe { process.function::<unsafe extern "C" fn()>("hipEventRecord\0") };
        if linked.is_some() {
            return Some(process);
        }
        // Loaded for private use (RTLD_LOCAL), as by a Python extension.
        let resident = |name: &&str| Self::open_with(OsStr::new(name), unix::RTLD_LAZY | RTLD_NOLOAD).ok();
        NAMES.iter().find_map(resident)
    }

    /// Everything that the process was linked with.
    pub(super) fn process() -> Self {
        Self { name: "this process".to_owned(), inner: ManuallyDrop::new(unix::Library::this()) }
    }

    fn open_with(name: &OsStr, flags: i32) -> Result<Self, Tried> {
        let display = name.to_string_lossy().into_owned();
        // The loader would wait for a pipe's writer. A bare name is searched among the system's libraries.
        if display.contains('/')
            && let Err(error) = crate::files::check(name)
        {
            return Err(Tried { reason: error.to_string(), library: display });
        }
        // SAFETY: the library's initializers run. HIP's may run in any thread and at any time; any other
        // library was named by the user, who is responsible for it.
        match unsafe { unix::Library::open(Some(name), flags) } {
            Ok(inner) => Ok(Self { name: display, inner: ManuallyDrop::new(inner) }),
            Err(error) => Err(Tried { library: display, reason: error.to_string() }),
        }
    }
}

/// dlopen's flag to open only what is already loaded.
#[cfg(not(feature = "hip-link"))]
const RTLD_NOLOAD: i32 = if cfg!(target_vendor = "apple") { 0x10 } else { 4 };
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
compile_error!("RTLD_NOLOAD is another number here, or there is no dlopen");
