//! Environment variables. A process with privileges that its caller lacks (setuid, setgid, file capabilities)
//! ignores them: the caller sets them, and they name files to write and a library to load.

use std::ffi::OsString;

/// The value of a variable, if it is set and this process may trust its caller.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if is_privileged() { None } else { std::env::var_os(name) }
}

#[cfg(target_os = "linux")]
fn is_privileged() -> bool {
    unsafe extern "C" {
        fn getauxval(kind: std::ffi::c_ulong) -> std::ffi::c_ulong;
    }
    /// `AT_SECURE` of the kernel's auxiliary vector.
    const SECURE: std::ffi::c_ulong = 23;
    // SAFETY: it accepts any number, and only reads what the kernel gave the process at its start.
    unsafe { getauxval(SECURE) != 0 }
}

#[cfg(not(target_os = "linux"))]
const fn is_privileged() -> bool {
    false
}
