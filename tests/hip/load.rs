//! Which HIP runtime a process gets. The answer is found once a process, so each case is a process of its
//! own: this program again, with `the_variable_names_the_library` for its only test, which is then the child.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use ck_select::tuning::hip::{Hip, HipError, LIBRARY_VARIABLE};

use crate::hip_double::build;

/// The double under the name that version 6 of the runtime has for the system's loader.
static DOUBLE: LazyLock<PathBuf> = LazyLock::new(|| build("hip", 6, &["-Wl,-soname,libamdhip64.so.6"]));

/// What a child loads for private use before it asks.
const PRELOAD: &str = "CK_SELECT_TEST_PRIVATE_LIBRARY";
/// Where a child writes its answer.
const ANSWER: &str = "CK_SELECT_TEST_ANSWER";

fn child(answer: &OsStr) {
    if let Some(library) = std::env::var_os(PRELOAD) {
        // SAFETY: the double's initializers do nothing.
        std::mem::forget(unsafe { libloading::Library::new(library) }.unwrap());
    }
    let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(Hip::get)).collect();
    let hip = Hip::get();
    for thread in threads {
        match (thread.join().unwrap(), &hip) {
            (Ok(other), Ok(hip)) => assert!(std::ptr::eq(other, *hip), "loaded twice"),
            (Err(other), Err(error)) => assert_eq!(&other, error),
            (other, _) => panic!("another answer: {other:?}"),
        }
    }
    let text = match hip.and_then(|hip| Ok((hip, hip.current_device()?))) {
        Ok((hip, device)) => format!("device of {}: {device:?}", hip.library()),
        Err(HipError::NotFound { .. }) => "not found".to_owned(),
        Err(error @ HipError::NoDevice { .. }) => format!("no device: {error}"),
        Err(error) => format!("error: {error}"),
    };
    std::fs::write(answer, text).unwrap();
}

/// A child's answer. It must print nothing of its own.
fn ask(case: &str, environment: &[(&str, &Path)]) -> String {
    let answer = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("answer_{case}_{}", std::process::id()));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["load::the_variable_names_the_library", "--exact", "--nocapture", "--quiet"]);
    command.env_remove(LIBRARY_VARIABLE).env_remove("LD_PRELOAD").env(ANSWER, &answer);
    command.envs(environment.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{case}: {}", String::from_utf8_lossy(&stderr));
    let printed = String::from_utf8(stdout).unwrap();
    let ours = printed.lines().filter(|line| {
        let harness = ["running 1 test", ".", "test result: ok."];
        !line.is_empty() && !harness.iter().any(|start| line.starts_with(start))
    });
    assert_eq!(ours.collect::<Vec<_>>(), Vec::<&str>::new(), "{case}");
    assert_eq!(String::from_utf8_lossy(&stderr), "", "{case}");
    let text = std::fs::read_to_string(&answer).unwrap();
    std::fs::remove_file(answer).unwrap();
    text
}

#[test]
fn the_variable_names_the_library() {
    if let Some(answer) = std::env::var_os(ANSWER) {
        return child(&answer);
    }
    let text = ask("variable", &[(LIBRARY_VARIABLE, &DOUBLE)]);
    assert!(text.starts_with(&format!("device of {}", DOUBLE.display())), "{text}");
}

#[test]
fn a_wrong_variable_is_no_leave_to_load_another() {
    let nowhere = Path::new("/nowhere/libamdhip64.so");
    assert_eq!(ask("wrong", &[(LIBRARY_VARIABLE, nowhere), ("LD_PRELOAD", &DOUBLE)]), "not found");
}

#[test]
#[cfg(not(feature = "hip-link"))]
fn a_linked_runtime_comes_first() {
    let text = ask("linked", &[("LD_PRELOAD", &DOUBLE)]);
    assert!(text.starts_with("device of this process"), "{text}");
}

#[test]
#[cfg(not(feature = "hip-link"))]
fn a_privately_loaded_runtime_comes_first() {
    let text = ask("private", &[(PRELOAD, &DOUBLE)]);
    assert!(text.starts_with("device of libamdhip64.so.6"), "{text}");
}

#[test]
fn an_empty_variable_is_none() {
    // The linked runtime, the double ahead of all others, or the same through this library's own links.
    let text = ask("empty", &[(LIBRARY_VARIABLE, Path::new("")), ("LD_PRELOAD", &DOUBLE)]);
    assert!(text.starts_with("device of "), "{text}");
}

/// The system's own runtime: AMD's, which `make system-tools` installs.
#[test]
fn the_real_runtime() {
    let text = ask("real", &[]);
    let is_without_device =
        text.starts_with("no device: ") && text.ends_with("finds no device: hipErrorNoDevice (100)");
    assert!(is_without_device || text.starts_with("device of "), "{text}");
}
