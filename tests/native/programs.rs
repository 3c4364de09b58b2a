//! Headers alone, and the test programs: plain, under sanitizers, under valgrind, with many threads.

use std::process::Command;

use super::tools::{self, ROOT};
use crate::hip_double;

pub(super) const SANITIZERS: [&str; 4] =
    ["-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"];

#[test]
fn every_header_compiles_alone() {
    let directory = tools::scratch("headers");
    let cpp = [("c++", "c++17"), ("c++", "c++20")];
    let mut headers = vec![
        ("ck_select.h".to_owned(), vec![("c", "c11"), ("c", "c17"), cpp[0], cpp[1]]),
        ("ck_select_bench.h".to_owned(), vec![("c", "c11"), cpp[0]]),
        ("ck_select_rows.h".to_owned(), vec![("c", "c11"), cpp[0]]),
        ("ck_select.hpp".to_owned(), cpp.to_vec()),
        ("ck_select_dispatcher.hpp".to_owned(), cpp.to_vec()),
    ];
    for folder in ["ck_select", "ck_select_dispatcher"] {
        let files = std::fs::read_dir(tools::source("include").join(folder)).unwrap();
        let name =
            |file: std::io::Result<std::fs::DirEntry>| file.unwrap().file_name().into_string().unwrap();
        headers.extend(files.map(|file| (format!("{folder}/{}", name(file)), vec![cpp[0]])));
    }
    assert!(headers.len() > 20, "{headers:?}");
    let compilers = tools::compilers();
    for (header, languages) in headers {
        for (language, standard) in languages {
            // Nothing else is included, and the second time must be nothing.
            let extension = if language == "c" { "c" } else { "cpp" };
            let file = directory.join(format!("{}.{standard}.{extension}", header.replace('/', "_")));
            std::fs::write(
                &file,
                format!("#include \"{header}\"\n#include \"{header}\"\nint main(void) {{ return 0; }}\n"),
            )
            .unwrap();
            for compilers in &compilers {
                let compiler = if language == "c" { compilers.c } else { compilers.cpp };
                tools::run(
                    tools::compile(compiler, standard)
                        .args(["-Wconversion", "-Wshadow", "-fsyntax-only"])
                        .arg(&file),
                );
            }
        }
    }
}

#[test]
fn c_programs_can_call_everything() {
    let scratch = tools::scratch("api");
    for compilers in tools::compilers() {
        let program = tools::build(compilers.c, "c11", &["tests/c/api.c"], &[], "api");
        tools::run(Command::new(program).arg(ROOT).arg(&scratch));
    }
}

/// The double of libamdhip64, as each version of it.
fn search(program: &std::path::Path) {
    let name = program.file_name().unwrap().to_str().unwrap();
    for major in [5, 6, 7] {
        let double = hip_double::build(&format!("hip{major}_for_{name}"), major, &[]);
        tools::run(Command::new(program).arg(double));
    }
}

#[test]
fn c_programs_can_search() {
    for compilers in tools::compilers() {
        search(&tools::build(compilers.c, "c11", &["tests/c/search.c"], &["-ldl"], "search"));
    }
}

#[test]
fn c_callbacks_may_select_leave_and_be_late() {
    let log = tools::scratch("callbacks").join("log");
    for compilers in tools::compilers() {
        let program = tools::build(compilers.c, "c11", &["tests/c/callbacks.c"], &["-pthread"], "callbacks");
        let _ = std::fs::remove_file(&log);
        tools::run(Command::new(program).arg(&log));
    }
}

/// The process ended with "Rust cannot catch foreign exceptions", which names nobody.
#[test]
fn a_callback_that_throws_is_named_before_the_process_ends() {
    for compilers in tools::compilers() {
        let program = tools::build(compilers.cpp, "c++17", &["tests/cpp/throwing.cpp"], &[], "throwing");
        for callback in ["supports", "run", "release"] {
            let output = tools::output(Command::new(&program).arg(callback));
            let said = String::from_utf8_lossy(&output.stderr);
            let expected = format!(
                "ck_select error kernels: the callback '{callback}' of kernel \
                 'grouped_conv_forward_bf16_2d_64x64x64_compv3' threw an exception, which it must not\n"
            );
            assert!(!output.status.success() && said.contains(&expected), "{}: {said}", output.status);
        }
    }
}

#[test]
fn every_function_and_status_is_tested() {
    let files = std::fs::read_dir(tools::source("tests/c")).unwrap();
    let test: String = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let exports = std::fs::read_to_string(tools::source("include/exports.txt")).unwrap();
    for function in exports.lines().filter(|line| !line.starts_with('#')) {
        assert!(test.contains(&format!("{function}(")), "tests/c does not call {function}");
    }
    let header = std::fs::read_to_string(tools::source("include/ck_select.h")).unwrap();
    let statuses =
        header.lines().filter_map(|line| line.trim().strip_prefix("CK_STATUS_")?.split(' ').next());
    let statuses: Vec<_> = statuses.collect();
    assert!(statuses.len() >= 16, "{statuses:?}");
    // A panic cannot be provoked from outside; src/ffi/tests does it from the inside.
    for status in statuses.into_iter().filter(|status| *status != "PANIC") {
        assert!(
            test.contains(&format!("ANSWERS(CK_STATUS_{status},")),
            "tests/c never gets CK_STATUS_{status}"
        );
    }
}

/// With the first compiler under sanitizers, with the others as they are.
#[test]
fn cpp_programs_can_use_the_classes() {
    let mut sanitizers = &SANITIZERS[..];
    for compilers in tools::compilers() {
        let sources = ["tests/cpp/wrapper.cpp", "tests/cpp/second.cpp"];
        let flags = [&["-Wconversion", "-Wshadow"], sanitizers].concat();
        let program = tools::build(compilers.cpp, "c++17", &sources, &flags, "wrapper");
        tools::run(Command::new(program).arg(ROOT));
        sanitizers = &[];
    }
}

#[test]
fn many_threads_select_while_kernels_and_models_change() {
    let compiler = tools::compilers()[0].cpp;
    let program = tools::build(compiler, "c++17", &["tests/cpp/threads.cpp"], &["-O1"], "threads");
    tools::run(Command::new(program).arg(ROOT).args(["64", "40"]));
}

#[test]
fn sanitizers_find_nothing() {
    let compilers = tools::compilers()[0];
    // That they are on: they find what is wrong on purpose.
    let faulty = tools::build(compilers.c, "c11", &["tests/c/faulty.c"], &SANITIZERS, "faulty");
    for (argument, complaint) in
        [("address", "heap-buffer-overflow"), ("undefined", "signed integer overflow")]
    {
        let output = tools::output(Command::new(&faulty).arg(argument));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(complaint), "{argument}: {} {said}", output.status);
    }
    let scratch = tools::scratch("api_sanitized");
    let (c, cpp) = (compilers.c, compilers.cpp);
    let threads = ["tests/cpp/threads.cpp"];
    for (program, arguments) in [
        (
            tools::build(c, "c11", &["tests/c/api.c"], &SANITIZERS, "api_sanitized"),
            vec![scratch.to_str().unwrap()],
        ),
        (tools::build(cpp, "c++17", &threads, &SANITIZERS, "threads_sanitized"), vec!["16", "15"]),
    ] {
        let symbols = tools::run(Command::new("nm").arg(&program));
        assert!(
            symbols.contains("__asan_init") && symbols.contains("__ubsan_handle"),
            "{}",
            program.display()
        );
        tools::run(Command::new(program).arg(ROOT).args(arguments));
    }
    search(&tools::build(
        c,
        "c11",
        &["tests/c/search.c"],
        &[&SANITIZERS[..], &["-ldl"]].concat(),
        "search_sanitized",
    ));
}

#[test]
fn valgrind_finds_nothing() {
    let program = tools::build(tools::compilers()[0].c, "c11", &["tests/c/api.c"], &["-g"], "api_valgrind");
    let scratch = tools::scratch("api_valgrind");
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    tools::run(command.arg(program).arg(ROOT).arg(scratch));
}

#[test]
fn the_library_exports_its_list_and_nothing_else() {
    let library = tools::library().join("libck_select.so");
    let symbols =
        tools::run(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library));
    let mut found: Vec<_> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    found.sort_unstable();
    let list = std::fs::read_to_string(tools::source("include/exports.txt")).unwrap();
    let listed: Vec<_> = list.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(found, listed);
}

/// A machine that has nothing, and where nothing can be installed: `make test` ends before it compiles for minutes.
#[test]
fn missing_tools_are_named_with_their_packages() {
    let bare = tools::scratch("bare_path");
    for tool in ["sh", "id", "sed", "tr", "cut"] {
        let path = tools::run(Command::new("sh").args(["-c", &format!("command -v {tool}")]));
        let _ = std::fs::remove_file(bare.join(tool));
        std::os::unix::fs::symlink(path.trim(), bare.join(tool)).unwrap();
    }
    for step in ["check", "install"] {
        let mut script = Command::new(tools::source("packaging/make/system_tools.sh"));
        let output = script.arg(step).env("PATH", &bare).env("HIP_PATH", &bare).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(
            said,
            "make test: tools are missing: apt-get install clang chromium-headless-shell pkg-config bsdutils valgrind \
             libamdhip64-dev, or dnf install clang chromium-headless pkgconf-pkg-config util-linux-script valgrind \
             rocm-hip-devel\n"
        );
    }
}
