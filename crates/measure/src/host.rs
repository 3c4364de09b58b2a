//! What is known about the host: names, versions. What a host does not report is absent, never guessed.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Host name, kernel and GPU driver.
pub fn facts() -> Value {
    let system = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let mut facts = Map::new();
    facts.insert("name".into(), text(system.nodename()).into());
    facts.insert("kernel".into(), text(system.release()).into());
    if let Some(version) = file(Path::new("/sys/module/amdgpu/version")) {
        facts.insert("amdgpu".into(), version.into());
    }
    Value::Object(facts)
}

fn file(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
