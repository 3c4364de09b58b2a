//! What `make install` puts somewhere is enough for a project that knows only that place.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::tools::{self, ROOT};

/// Copies the examples to a place outside of the repository, so that only installed headers can be found.
fn consumer(name: &str) -> PathBuf {
    let directory = tools::scratch(name);
    super::dispatchers::copy(&tools::source("cpp_examples"), &directory);
    directory
}

/// What stands for the command line, which is another package's: it prints its name, or what it is asked for.
fn command_line() -> PathBuf {
    let path = tools::scratch("command_line").join("ckselect");
    // Two tests may be at it at once.
    let made = path.with_extension(format!("{:?}", std::thread::current().id()));
    let script = "#!/bin/sh
        case \"$1 $2\" in
        'dev man') echo page >\"$3/ckselect.1\" && echo page >\"$3/ckselect-rank.1\" ;;
        'dev completions') echo \"$3 completes ckselect\" ;;
        *) echo ckselect ;;
        esac\n";
    std::fs::write(&made, script).unwrap();
    std::fs::rename(&made, &path).unwrap();
    path
}

/// Installs or uninstalls what stands beside this program.
fn make(target: &str, settings: &[String]) {
    let built = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut command = Command::new("make");
    command.arg(target).arg(format!("BUILT={}", built.display())).args(settings);
    tools::run(command.arg(format!("CKSELECT={}", command_line().display())).current_dir(ROOT));
}

/// Installs once a test run.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = tools::scratch("prefix");
        std::fs::remove_dir_all(&prefix).unwrap();
        make("install-files", &[format!("PREFIX={}", prefix.display())]);
        prefix
    })
}

fn prints_what_the_example_prints(program: &Path) {
    let printed = tools::run(&mut Command::new(program));
    let expected = std::fs::read_to_string(tools::source("cpp_examples/expected/c_minimal.txt")).unwrap();
    assert_eq!(printed, expected, "{}", program.display());
}

#[test]
fn the_command_line_is_installed_too() {
    let program = prefix().join("bin/ckselect");
    assert_eq!(tools::run(&mut Command::new(&program)), "ckselect\n");
    for (file, text) in [
        ("man/man1/ckselect.1", "page\n"),
        ("man/man1/ckselect-rank.1", "page\n"),
        ("bash-completion/completions/ckselect", "bash completes ckselect\n"),
        ("zsh/site-functions/_ckselect", "zsh completes ckselect\n"),
        ("fish/vendor_completions.d/ckselect.fish", "fish completes ckselect\n"),
    ] {
        assert_eq!(std::fs::read_to_string(prefix().join("share").join(file)).unwrap(), text, "{file}");
    }
    let plan = |more: &[&str]| {
        let mut command = Command::new("make");
        tools::run(command.args(["--dry-run", "install", "CARGO=cargo"]).args(more).current_dir(ROOT))
    };
    assert!(plan(&[]).contains("--package ckselect\n"), "{}", plan(&[]));
    assert!(plan(&["TRAIN=1"]).contains("--package ckselect --features train"));
}

#[test]
fn the_library_has_its_soname_and_links() {
    let lib = prefix().join("lib");
    let version = env!("CARGO_PKG_VERSION");
    let abi = ck_select::ffi::CK_SELECT_ABI_VERSION;
    let link = |name: &str| std::fs::read_link(lib.join(name)).unwrap().to_str().unwrap().to_owned();
    assert_eq!(link("libck_select.so"), format!("libck_select.so.{abi}"));
    assert_eq!(link(&format!("libck_select.so.{abi}")), format!("libck_select.so.{abi}.{version}"));
    let dynamic = tools::run(Command::new("readelf").arg("-d").arg(lib.join("libck_select.so")));
    assert!(dynamic.contains(&format!("Library soname: [libck_select.so.{abi}]")), "{dynamic}");
    // Nothing that a machine without C++, OpenMP or ROCm lacks.
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    for library in needed.map(|line| line.split('[').nth(1).unwrap().trim_end_matches(']')) {
        let usual =
            ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
        assert!(usual.contains(&library), "{library}");
    }
}

/// A program that was linked with what cargo builds did not start: the file of the soname was missing.
#[test]
fn what_cargo_builds_has_the_name_that_programs_look_up() {
    let program = std::env::current_exe().unwrap();
    let profile = program.parent().unwrap().parent().unwrap();
    let link = profile.join(format!("libck_select.so.{}", ck_select::ffi::CK_SELECT_ABI_VERSION));
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("libck_select.so"), "{}", link.display());
}

#[test]
fn pkg_config_is_enough() {
    let prefix = prefix();
    let ask = |arguments: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(arguments).arg("ck_select");
        tools::run(&mut command).trim().to_owned()
    };
    assert_eq!(ask(&["--modversion"]), env!("CARGO_PKG_VERSION"));
    let directory = consumer("with_pkg_config");
    for compilers in tools::compilers() {
        for (compiler, standard, example) in [
            (compilers.c, "-std=c11", "c_minimal.c"),
            (compilers.cpp, "-std=c++17", "fallback_search.cpp"),
            (compilers.cpp, "-std=c++17", "dispatcher_v3.cpp"),
        ] {
            let program = directory.join(example).with_extension(compiler);
            let mut command = Command::new(compiler);
            command
                .args([standard, "-pthread", "-Istand_in/v3", example, "-o"])
                .arg(&program)
                .current_dir(&directory);
            command.args(ask(&["--cflags", "--libs"]).split_whitespace());
            tools::run(command.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display())));
            if example == "c_minimal.c" {
                prints_what_the_example_prints(&program);
            }
            if example == "fallback_search.cpp" {
                assert!(tools::run(&mut Command::new(&program)).contains("by store"));
            }
        }
        // Without the shared library.
        let program = directory.join(format!("c_minimal_static.{}", compilers.c));
        let mut command = Command::new(compilers.c);
        command.arg("c_minimal.c").arg("-o").arg(&program).current_dir(&directory);
        command.args(ask(&["--cflags"]).split_whitespace()).arg(prefix.join("lib/libck_select.a"));
        let private = ask(&["--static", "--libs-only-l"]);
        tools::run(command.args(private.split_whitespace().filter(|library| *library != "-lck_select")));
        prints_what_the_example_prints(&program);
    }
}

#[test]
fn the_static_library_keeps_its_insides_to_itself() {
    let prefix = prefix();
    let directory = tools::scratch("own_runtime");
    let store = directory.join("winners.jsonl");
    for compilers in tools::compilers() {
        let _ = std::fs::remove_file(&store);
        let program = directory.join(compilers.c);
        let mut command = Command::new(compilers.c);
        command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(prefix.join("include"));
        command
            .arg(tools::source("tests/c/own_runtime.c"))
            .arg(prefix.join("lib/libck_select.a"))
            .arg("-o")
            .arg(&program);
        tools::run(command.args(["-lpthread", "-ldl", "-lm"]));
        tools::run(Command::new(&program).arg(&store));
        assert!(std::fs::read(&store).unwrap().starts_with(b"{\"arch\":\"gfx950\""), "{}", store.display());
    }
}

#[test]
fn cmake_is_enough() {
    // `make test` installs one for LightGBM.
    let own = tools::source("target/tools/venv/bin/cmake");
    let cmake = if own.exists() { own } else { PathBuf::from("cmake") };
    let directory = consumer("with_cmake");
    let build = directory.join("build");
    let _ = std::fs::remove_dir_all(&build);
    let configure = |version: &str| {
        let text = std::fs::read_to_string(tools::source("cpp_examples/CMakeLists.txt")).unwrap();
        let text = text.replace("find_package(ck_select 0.1 ", &format!("find_package(ck_select {version} "));
        std::fs::write(directory.join("CMakeLists.txt"), text).unwrap();
        let mut command = Command::new(&cmake);
        command.arg("-S").arg(&directory).arg("-B").arg(&build);
        tools::output(command.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display())))
    };
    for refused in ["0.2", "1.0", "0.0", "0.1.99"] {
        assert!(!configure(refused).status.success(), "version {refused} is taken");
    }
    for taken in ["", "0.1.0", "0.1"] {
        let output = configure(taken);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // Other tests compile all examples.
    let programs = ["c_minimal", "c_minimal_static", "fallback_search", "dispatcher_f1"];
    tools::run(Command::new(&cmake).arg("--build").arg(&build).arg("--target").args(programs));
    for program in &programs[..2] {
        prints_what_the_example_prints(&build.join(program));
    }
    assert!(tools::run(&mut Command::new(build.join("fallback_search"))).contains("by store"));
}

#[test]
fn uninstalling_leaves_nothing() {
    let root = tools::scratch("uninstalled");
    let settings =
        [format!("DESTDIR={}", root.display()), "PREFIX=/usr".into(), "LIBDIR=lib/some-linux".into()];
    for target in ["install-files", "uninstall"] {
        make(target, &settings);
        if target == "install-files" {
            let config = root.join("usr/lib/some-linux/cmake/ck_select/ck_selectConfig.cmake");
            let config = std::fs::read_to_string(config).unwrap();
            assert!(config.contains("/../../../..\"") && !config.contains('@'), "{config}");
        }
    }
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert!(path.is_dir(), "{} is left", path.display());
            folders.push(path);
        }
    }
}
