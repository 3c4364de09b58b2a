//! Programs whose calls of the system fail: `faulty_calls.c`, built with the system's C compiler.

#![allow(dead_code, reason = "each test program has its own faults")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut sources = folders.map(|folder| folder.join("tests/faulty_calls/faulty_calls.c"));
    let source = sources.find(|source| source.exists()).unwrap();
    let library = directory.join(format!("faulty_calls_{}.so", env!("CARGO_CRATE_NAME")));
    let built = library.with_extension(std::process::id().to_string());
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]);
    compile.arg(source).arg("-o").arg(&built).arg("-ldl");
    assert!(compile.status().expect("a C compiler is needed").success(), "{compile:?}");
    std::fs::rename(built, &library).unwrap();
    library
});

/// Which calls fail, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// `rename`, `write`, `sync`, `truncate`, `any`.
    pub(crate) call: &'static str,
    /// Counted from 1.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// An error of the system; 0 kills the process.
    pub(crate) error: i32,
}

impl Fault {
    /// Lets a program meet it; `mark` is a file that is made when it does.
    pub(crate) fn meets(self, command: &mut Command, mark: &Path) {
        let Self { call, first, count, error } = self;
        command.env("LD_PRELOAD", &*LIBRARY).env("CK_FAULT_MARK", mark);
        command.env("CK_FAULT", format!("{call}:{first}:{count}:{error}"));
    }
}

/// Lets a program's clock run backwards.
pub(crate) fn backwards(command: &mut Command) {
    command.env("LD_PRELOAD", &*LIBRARY).env("CK_CLOCK", "back");
}

/// How many times as much `make faults` does.
pub(crate) fn times() -> u32 {
    std::env::var("CK_SELECT_FAULTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The numbers of the calls that fail: all of the first, of the later ones fewer, the fewer the more there
/// are.
pub(crate) fn next(number: u32) -> u32 {
    number + (2 * number / (1 + times())).max(1)
}
