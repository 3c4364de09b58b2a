//! What `rocminfo` says about the GPU of this machine.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::columns::Source;

/// How long `rocminfo` may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Columns, and the labels of `rocminfo` that they come from, in the section of the first GPU.
const FIELDS: [(&str, &str); 13] = [
    ("hw_gfx_name", "Name"),
    ("hw_marketing_name", "Marketing Name"),
    ("hw_num_cus", "Compute Unit"),
    ("hw_simds_per_cu", "SIMDs per CU"),
    ("hw_shader_engines", "Shader Engines"),
    ("hw_shader_arrays_per_engine", "Shader Arrs. per Eng."),
    ("hw_max_clock_mhz", "Max Clock Freq. (MHz)"),
    ("hw_wavefront_size", "Wavefront Size"),
    ("hw_max_waves_per_cu", "Max Waves Per CU"),
    ("hw_chip_id", "Chip ID"),
    ("hw_l1_cache_kb", "L1"),
    ("hw_l2_cache_kb", "L2"),
    ("hw_l3_cache_kb", "L3"),
];

/// The captured values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture(Vec<(&'static str, Value)>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Number(i64),
    Text(String),
}

impl Value {
    pub(super) fn source(&self) -> Source {
        match self {
            Self::Number(value) => Source::Int(*value),
            Self::Text(text) => Source::Text(text.clone()),
        }
    }
}

impl Capture {
    /// The columns, in upstream's order.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    pub(super) fn number(&self, column: &str) -> Option<i64> {
        self.0.iter().find(|(name, _)| *name == column).and_then(|(_, value)| match value {
            Value::Number(value) => Some(*value),
            Value::Text(_) => None,
        })
    }

    /// The architecture of the GPU, as `rocminfo` names it.
    pub fn gfx_name(&self) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == "hw_gfx_name").and_then(|(_, value)| match value {
            Value::Text(text) => Some(text.as_str()),
            Value::Number(_) => None,
        })
    }
}

/// Runs `rocminfo`. The error says why that failed.
pub fn capture() -> Result<Capture, String> {
    let text = output_of("rocminfo")?;
    let capture = parse(&text);
    if capture.0.is_empty() {
        return Err("rocminfo names no GPU".to_owned());
    }
    Ok(capture)
}

fn output_of(program: &str) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{program}: {error}");
    let mut child = Command::new(program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&error))?;
    let Some(mut stdout) = child.stdout.take() else { return Err(failed(&"no output")) };
    // Read on another thread, so that a full pipe does not block the program, and a program that hangs does
    // not block us.
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::Read::read_to_end(&mut stdout, &mut bytes).map(|_| bytes);
        let _ = sender.send(read);
    });
    let begun = Instant::now();
    let Ok(read) = receiver.recv_timeout(TIMEOUT) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed(&format_args!("no answer within {} seconds", TIMEOUT.as_secs())));
    };
    let bytes = read.map_err(|error| failed(&error))?;
    while begun.elapsed() < TIMEOUT {
        match child.try_wait().map_err(|error| failed(&error))? {
            Some(status) if status.success() => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Some(status) => return Err(failed(&status)),
            None => thread::sleep(Duration::from_millis(2)),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(failed(&format_args!("did not end within {} seconds", TIMEOUT.as_secs())))
}

/// Reads the section of the first agent whose name begins with `gfx`.
fn parse(text: &str) -> Capture {
    let mut fields: Vec<(&'static str, Value)> = Vec::new();
    for section in text.split("\nAgent ") {
        fields.clear();
        for line in section.lines() {
            let Some((word, value)) = line.trim().split_once(':') else { continue };
            let Some(&(column, _)) = FIELDS.iter().find(|(_, known)| *known == word.trim()) else { continue };
            let value = value.split('(').next().unwrap_or(value).trim();
            // Pools and instruction sets have names, too; the agent's own comes first.
            if value.is_empty() || fields.iter().any(|(known, _)| *known == column) {
                continue;
            }
            let value = value.parse().map_or_else(|_| Value::Text(value.to_owned()), Value::Number);
            fields.push((column, value));
        }
        let is_gpu = fields.iter().any(|(name, value)| {
            *name == "hw_gfx_name" && matches!(value, Value::Text(text) if text.starts_with("gfx"))
        });
        if is_gpu {
            fields.sort_by_key(|(name, _)| FIELDS.iter().position(|(known, _)| known == name));
            return Capture(fields);
        }
    }
    Capture(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gpu_is_read() {
        let text = "ROCk module is loaded\n=====\nHSA Agents\n=====\n*******\nAgent 1\n*******\n  \
                    Name:                    AMD EPYC\n  Compute Unit:            128\n*******\nAgent 2\n\
                    *******\n  Name:                    gfx950\n  \
                    Marketing Name:          AMD Instinct MI355X\n  \
                    Chip ID:                 30114(0x75a2)\n  Cache Info:\n    \
                    L1:                      32(0x20) KB\n    L2:                      4096(0x1000) KB\n  \
                    Max Clock Freq. (MHz):   2400\n  Compute Unit:            256\n  \
                    Wavefront Size:          64(0x40)\n  ISA Info:\n    ISA 1\n      \
                    Name:                    amdgcn-amd-amdhsa--gfx950\n";
        let capture = parse(text);
        assert_eq!(capture.gfx_name(), Some("gfx950"));
        assert_eq!(capture.number("hw_num_cus"), Some(256));
        assert_eq!(capture.number("hw_l2_cache_kb"), Some(4096));
        assert_eq!(capture.number("hw_chip_id"), Some(30114));
        assert_eq!(capture.number("hw_max_clock_mhz"), Some(2400));
        assert_eq!(capture.columns().count(), 8);
        assert!(parse("no agents").0.is_empty());
    }
}
