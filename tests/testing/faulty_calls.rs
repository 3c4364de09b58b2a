//! Programs whose calls of the system fail, by `faulty_calls.c`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::c_library;

static LIBRARY: LazyLock<PathBuf> =
    LazyLock::new(|| c_library::build("faulty_calls/faulty_calls.c", "faulty_calls", &[]));

/// Which calls fail, and how.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// `rename`, `write`, `sync`, `truncate`, `any`.
    pub call: &'static str,
    /// Counted from 1.
    pub first: u32,
    /// How many from then on.
    pub count: u32,
    /// An error of the system; 0 kills the process.
    pub error: i32,
}

impl Fault {
    /// Lets a program meet it; `mark` is a file that is made when it does.
    pub fn meets(self, command: &mut Command, mark: &Path) {
        let Self { call, first, count, error } = self;
        command.env("LD_PRELOAD", &*LIBRARY).env("CK_FAULT_MARK", mark);
        command.env("CK_FAULT", format!("{call}:{first}:{count}:{error}"));
    }
}

/// Lets a program's clock run backwards.
pub fn backwards(command: &mut Command) {
    command.env("LD_PRELOAD", &*LIBRARY).env("CK_CLOCK", "back");
}

/// How many times as much `make faults` does.
pub fn times() -> u32 {
    std::env::var("CK_SELECT_FAULTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The numbers of the calls that fail: all of the first, of the later ones fewer, the fewer the more there
/// are.
pub fn next(number: u32) -> u32 {
    number + (2 * number / (1 + times())).max(1)
}
