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
    clocks_in(Path::new(CARDS))
}

/// The core clock of a GPU: the current one, and the highest that its driver lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreClock {
    /// The current one in MHz; `None` if the driver marks none.
    pub now: Option<u32>,
    /// The highest one in MHz.
    pub most: u32,
}

/// The core clock of the GPU at a bus address; `None` where the driver does not report it, as NVIDIA's.
pub fn core_clock(bus: &str) -> Option<CoreClock> {
    core_clock_in(Path::new(CARDS), bus)
}

fn core_clock_in(cards: &Path, bus: &str) -> Option<CoreClock> {
    let clocks = clocks_in(cards);
    let (_, gpu) = clocks.as_object()?.iter().find(|(known, _)| known.eq_ignore_ascii_case(bus))?;
    // Lines such as `1: 1700Mhz *`.
    let mhz = |line: &str| {
        let (_, clock) = line.split_once(':')?;
        clock.split_whitespace().next()?.to_ascii_lowercase().strip_suffix("mhz")?.parse::<u32>().ok()
    };
    let lines = gpu.get("core")?.as_str()?.lines();
    Some(CoreClock {
        now: lines.clone().find(|line| line.trim_end().ends_with('*')).and_then(mhz),
        most: lines.filter_map(mhz).max()?,
    })
}

fn clocks_in(cards: &Path) -> Value {
    let mut gpus = Map::new();
    let Ok(cards) = std::fs::read_dir(cards) else { return Value::Object(gpus) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_found_by_the_address_on_the_bus() {
        let folder = tempfile::tempdir().unwrap();
        let cards = folder.path().join("drm");
        std::fs::create_dir(&cards).unwrap();
        let card = |name: &str, bus: &str, core: Option<&str>| {
            let device = folder.path().join(bus);
            std::fs::create_dir(&device).unwrap();
            if let Some(core) = core {
                std::fs::write(device.join("pp_dpm_sclk"), core).unwrap();
            }
            std::fs::create_dir(cards.join(name)).unwrap();
            std::os::unix::fs::symlink(&device, cards.join(name).join("device")).unwrap();
        };
        card("card0", "0000:c1:00.0", Some("0: 132Mhz\n1: 1700Mhz *\n2: 2100Mhz\n"));
        card("card1", "0000:c2:00.0", Some("0: 500Mhz\n1: 800Mhz\n"));
        card("card2", "0000:c3:00.0", None);
        card("card3", "0000:c4:00.0", Some("no clocks today\n"));
        let clock = |bus: &str| core_clock_in(&cards, bus);
        assert_eq!(clock("0000:C1:00.0"), Some(CoreClock { now: Some(1700), most: 2100 }));
        assert_eq!(clock("0000:c2:00.0"), Some(CoreClock { now: None, most: 800 }));
        for bus in ["0000:c3:00.0", "0000:c4:00.0", "0000:c5:00.0", ""] {
            assert_eq!(clock(bus), None, "{bus}");
        }
        assert_eq!(core_clock_in(&folder.path().join("none"), "0000:c1:00.0"), None);
    }
}
