//! The test double of libamdhip64, built with the system's C compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the double for a version, with more arguments for the compiler, as a library of its own.
pub(crate) fn build(name: &str, major: u32, arguments: &[&str]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hip_double/hip_double.c");
    // A library a test program: another program's build must not replace it between two loads.
    let library = directory.join(format!("{name}_{}.so", env!("CARGO_CRATE_NAME")));
    let built = library.with_extension(std::process::id().to_string());
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile
        .args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"])
        .arg(format!("-DHIP_MAJOR={major}"))
        .args(arguments)
        .arg(source)
        .arg("-o")
        .arg(&built);
    assert!(compile.status().expect("a C compiler is needed").success(), "{compile:?}");
    std::fs::rename(built, &library).unwrap();
    library
}
