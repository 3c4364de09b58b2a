//! Compilers, the library, and running what was built.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A C compiler and the C++ compiler of the same make.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compilers {
    pub(crate) c: &'static str,
    pub(crate) cpp: &'static str,
}

/// GCC, and Clang, of which AMD's hipcc is made: headers that only the first compiles serve nobody with a GPU.
pub(crate) const fn compilers() -> [Compilers; 2] {
    [Compilers { c: "gcc", cpp: "g++" }, Compilers { c: "clang", cpp: "clang++" }]
}

/// A directory of this test run's own.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// A directory with the shared library under the names that linkers and loaders look for.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        // Cargo puts the library that belongs to a test beside it.
        let built = std::env::current_exe().unwrap().with_file_name("libck_select.so");
        assert!(built.exists(), "{} is not there", built.display());
        let directory = scratch("lib");
        for name in ["libck_select.so", "libck_select.so.1"] {
            let link = directory.join(name);
            // Another test program may be doing the same.
            let made = directory.join(format!("{name}.{}", std::process::id()));
            std::os::unix::fs::symlink(&built, &made).unwrap();
            std::fs::rename(&made, &link).unwrap();
        }
        directory
    })
}

/// A source of this repository.
pub(crate) fn source(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

/// The flags that everything is compiled with.
pub(crate) const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A compiler's command with the warnings and the headers, for `-std=`.
pub(crate) fn compile(compiler: &str, standard: &str) -> Command {
    let mut command = Command::new(compiler);
    command.arg(format!("-std={standard}")).args(WARNINGS).arg("-I").arg(source("include"));
    command
}

/// Adds to a compiler's command what links the program with the library.
pub(crate) fn link(command: &mut Command, program: &Path) {
    let directory = library();
    // The old kind of path goes before LD_LIBRARY_PATH, where cargo has put folders that may hold an older
    // library.
    let mut search = std::ffi::OsString::from("-Wl,--disable-new-dtags,-rpath,");
    search.push(directory);
    command.arg("-o").arg(program).arg("-pthread").arg("-L").arg(directory).arg(search);
    command.args(["-lck_select", "-lm"]);
}

/// Builds a program from sources of this repository.
pub(crate) fn build(
    compiler: &str,
    standard: &str,
    sources: &[&str],
    arguments: &[&str],
    name: &str,
) -> PathBuf {
    let program = scratch("bin").join(format!("{name}_{compiler}"));
    let mut command = compile(compiler, standard);
    command.args(arguments).args(sources.iter().map(|path| source(path)));
    link(&mut command, &program);
    run(&mut command);
    program
}

/// Runs a command without this library's variables in its environment, and without cargo's folders for the loader, which may hold an
/// older library.
pub(crate) fn output(command: &mut Command) -> Output {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CK_SELECT_")) {
            command.env_remove(name);
        }
    }
    command.env_remove("LD_LIBRARY_PATH");
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error} (`make system-tools` installs what tests run)"))
}

/// Runs a command that has to succeed; returns what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = output(command);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{printed}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    printed
}
