//! Libraries that tests load, built with the system's C compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds a source of `tests` as a library of this name.
pub(crate) fn build(source: &str, name: &str, arguments: &[&str]) -> PathBuf {
    // Tests of other crates build them, too.
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let source = folders.map(|folder| folder.join("tests").join(source)).find(|source| source.exists());
    // A library a test program: another program's build must not replace it between two loads.
    let library = format!("{name}_{}.so", env!("CARGO_CRATE_NAME"));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(library);
    let built = library.with_extension(std::process::id().to_string());
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]).args(arguments);
    compile.arg(source.unwrap()).arg("-o").arg(&built).arg("-ldl");
    assert!(compile.status().expect("a C compiler is needed").success(), "{compile:?}");
    std::fs::rename(built, &library).unwrap();
    library
}
