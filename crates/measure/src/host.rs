//! What is known about the host: names, versions. What a host does not report is absent, never guessed.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Host name, kernel and GPU driver.
pub fn facts() -> Value {
    let system = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let mut facts = json!({ "name": text(system.nodename()), "kernel": text(system.release()) });
    let driver = std::fs::read_to_string("/sys/module/amdgpu/version").unwrap_or_default();
    if !driver.trim().is_empty() {
        facts["amdgpu"] = driver.trim().into();
    }
    facts
}
