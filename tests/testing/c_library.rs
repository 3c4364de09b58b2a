//! Libraries that tests load, built with the system's C compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds a source of `tests` as a library of this name.
///
/// # Panics
/// Where it does not compile.
pub fn build(source: &str, name: &str, arguments: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(source);
    // Beside the test program, for it alone: another program's build must not replace it between two loads.
    let program = std::env::current_exe().unwrap();
    let library = program.with_file_name(format!("{}_{name}.so", program.file_name().unwrap().display()));
    let built = library.with_extension(std::process::id().to_string());
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]).args(arguments);
    compile.arg(source).arg("-o").arg(&built).arg("-ldl");
    assert!(compile.status().expect("a C compiler is needed").success(), "{compile:?}");
    std::fs::rename(built, &library).unwrap();
    library
}
