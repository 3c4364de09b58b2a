//! What is known about the host: names, versions, clocks. What a host does not report is absent, never
//! guessed.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::guard::Guard;
use crate::process::{self, Ended};
use crate::stop::Stop;

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

/// Where the kernel lists the graphics cards.
const CARDS: &str = "/sys/class/drm";

/// The clocks that the driver lists for each GPU, with a `*` at the current ones, by the GPU's bus address.
pub fn clocks() -> Value {
    let mut gpus = Map::new();
    let Ok(cards) = std::fs::read_dir(CARDS) else { return Value::Object(gpus) };
    for card in cards.flatten() {
        let device = card.path().join("device");
        let name = card.file_name().to_string_lossy().into_owned();
        if !name.starts_with("card") || name.contains('-') {
            continue;
        }
        let mut clocks = Map::new();
        for (key, knob) in [
            ("core", "pp_dpm_sclk"),
            ("memory", "pp_dpm_mclk"),
            ("level", "power_dpm_force_performance_level"),
        ] {
            if let Some(text) = file(&device.join(knob)) {
                clocks.insert(key.into(), text.into());
            }
        }
        if !clocks.is_empty() {
            let bus = device.canonicalize().ok();
            let bus = bus.as_deref().and_then(Path::file_name).map(|bus| bus.to_string_lossy().into_owned());
            gpus.insert(bus.unwrap_or(name), Value::Object(clocks));
        }
    }
    Value::Object(gpus)
}

fn file(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The revision that is checked out in a folder, and whether files differ from it; null outside a repository.
pub fn revision(folder: &Path, guard: &Guard) -> Value {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(arguments);
        process::run(command, Duration::from_secs(10), 1 << 20, guard, &Stop::default()).ok()
    };
    let Some(head) = git(&["rev-parse", "HEAD"]) else { return Value::Null };
    let hash = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    if !matches!(head.ended, Ended::Exited(status) if status.success()) || hash.is_empty() {
        return Value::Null;
    }
    let changed = git(&["diff-index", "--quiet", "HEAD", "--"]).and_then(|diff| match diff.ended {
        Ended::Exited(status) => Some(!status.success()),
        _ => None,
    });
    json!({ "revision": hash, "changed": changed })
}
