//! Environment variables. A process with privileges that its caller lacks (setuid, setgid, file capabilities)
//! ignores them: the caller sets them, and they name files to write and a library to load.

use std::ffi::OsString;

/// The value of a variable, if it is set and this process may trust its caller.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if is_privileged() { None } else { std::env::var_os(name) }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn is_privileged() -> bool {
    // SAFETY: it accepts any number, and only reads what the kernel gave the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
const fn is_privileged() -> bool {
    false
}
