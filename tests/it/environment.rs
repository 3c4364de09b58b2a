//! What the environment makes the library do: a log of mistakes and decisions, and nothing where a process
//! has rights that its caller lacks, who sets the variables.
//!
//! The processes are this test program again: `logging` does nothing unless the environment asks for it.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{self, null, null_mut};

use ck_select::ffi::{CkStatus, ck_registry_create, ck_registry_destroy};
use ck_select::problem::Problem;
use ck_select::registry::{Mode, Options, Registry, SelectError};
use ck_select::tuning::device::Stream;
use ck_select::tuning::search::RunOutcome;

use crate::common::{conv, kernels, model, on, running};

const TASK: &str = "CK_SELECT_TEST_FOLDER";

fn select(registry: &Registry, images: i64) {
    println!("@@{}", registry.select(&conv(images).into()).unwrap().entry.name());
}

#[test]
fn logging() {
    let Some(folder) = std::env::var_os(TASK).map(PathBuf::from) else { return };
    // A registry of C reads the variable.
    let mut of_c = null_mut();
    // SAFETY: NULL stands for the usual options, and the registry is used by nobody.
    unsafe {
        assert_eq!(ck_registry_create(null(), &raw mut of_c), CkStatus::Ok);
        ck_registry_destroy(of_c);
    }
    let usual = Options { override_file: Some(folder.join("rules")), ..on("gfx950") };
    if Registry::new(usual.clone()).is_err() {
        return; // the override file cannot be read
    }
    let embedded = Options { embedded_models: true, ..usual.clone() };
    let searching = Options { mode: Mode::Search, store: Some(folder.join("winners")), ..usual.clone() };
    let run = |_, _: &_| |_: &Problem, _: Stream| RunOutcome::Milliseconds(1.0);
    let registry = running(Options { embedded_models: false, ..usual }, kernels(), run);
    select(&registry, 1); // by the estimate
    registry.set_model(model("conv_small"), None);
    select(&registry, 2); // by the model
    select(&registry, 2); // the same, remembered
    for key in registry.model_keys() {
        registry.remove_model(&key);
    }
    registry.set_options(embedded).unwrap();
    select(&registry, 3); // by an embedded one
    registry.set_options(searching).unwrap();
    select(&registry, 4); // by search
    select(&registry, 4); // by the store
    let refused = registry.select(&conv(6).into()).unwrap_err();
    assert!(matches!(refused, SelectError::Override { .. }), "{refused}");
}

/// A rule for the last problem that is asked for.
const RULE: &str = "N=6,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1 -> a_kernel_that_is_gone";

/// Runs the child with a log of this level and a rule; what it printed, and what it logged.
fn run(folder: &Path, level: &str, rule: &str) -> (String, String) {
    let (log, rules) = (folder.join("it's a log"), folder.join("rules"));
    std::fs::write(&rules, rule).unwrap();
    let output = crate::common::child("environment::logging")
        .env(TASK, folder)
        .env("CK_SELECT_LOG", format!("{level}:{}", log.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (String::from_utf8(output.stdout).unwrap(), std::fs::read_to_string(log).unwrap())
}

#[test]
fn every_source_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (chosen, log) = run(folder.path(), "debug", RULE);
    let chosen: Vec<&str> = chosen.lines().filter_map(|line| line.split("@@").nth(1)).collect();
    let said =
        log.lines().filter_map(|line| line.strip_prefix("debug select: ")?.rsplit_once(": ")).map(|it| it.1);
    let said: Vec<&str> = said.filter(|said| said.contains(" by ")).collect();
    let sources = ["estimate", "model", "model", "model", "search", "store"];
    let expected: Vec<String> =
        chosen.iter().zip(sources).map(|(name, from)| format!("{name} by {from}")).collect();
    assert_eq!((chosen.len(), said), (6, expected.iter().map(String::as_str).collect()), "{log}");
    assert!(!log.contains("store: grouped_conv"), "before the search the store had nothing: {log}");
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "off", RULE).1, "", "nothing is said unless it is asked for");
}

#[test]
fn a_rule_that_cannot_be_followed_is_an_error_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (_, log) = run(folder.path(), "error", RULE);
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].starts_with("error select: direction=forward,ndim=2,N=6,"), "{log}");
    assert!(
        lines[0].ends_with(": the override names 'a_kernel_that_is_gone', which is not registered"),
        "{log}"
    );
    let (_, log) = run(tempfile::tempdir().unwrap().path(), "error", "\nno rule");
    assert!(
        log.starts_with("error override: ")
            && log.ends_with("rules: line 2: expected 'problem -> kernel name'\n")
    );
}

const NOBODY: u32 = 65534;

unsafe extern "C" {
    fn getauxval(kind: std::ffi::c_ulong) -> std::ffi::c_ulong;
}

/// Ends the process with a code for whether it is privileged and what its registry makes of the environment.
fn privileged() -> ! {
    let mut registry = ptr::null_mut();
    // SAFETY: no options are the defaults, and the registry is destroyed once.
    let status = unsafe { ck_registry_create(ptr::null(), &raw mut registry) };
    // SAFETY: NULL, or made above.
    unsafe { ck_registry_destroy(registry) };
    // SAFETY: it takes any number. 23 is `AT_SECURE`.
    let privileged = unsafe { getauxval(23) != 0 };
    std::process::exit(match (privileged, status) {
        (false, CkStatus::InvalidArgument) => 10,
        (true, CkStatus::Ok) => 11,
        other => panic!("{other:?}"),
    });
}

/// The process is this test again. Root alone can make it one of another user's; `make test` of an ordinary user sees the first half.
#[test]
fn a_setuid_process_ignores_its_callers_environment() {
    const CHILD: &str = "CK_SELECT_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        privileged();
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("program");
    // By another process: a test that forks meanwhile would keep a copy of ours open, which then cannot be
    // run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let run = |user: Option<u32>| {
        let mut command = Command::new(&program);
        command
            .args(["environment::a_setuid_process_ignores_its_callers_environment", "--exact", "--quiet"])
            .env("CK_SELECT_MODE", "no mode")
            .env(CHILD, "1");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command.current_dir("/").output().unwrap().status.code()
    };
    assert_eq!(run(None), Some(10), "the variable is read, and refused");
    let everybody = std::fs::Permissions::from_mode;
    let is_root = chown(&program, Some(0), Some(0)).is_ok();
    std::fs::set_permissions(folder.path(), everybody(0o755)).unwrap();
    std::fs::set_permissions(&program, everybody(0o4755)).unwrap();
    if is_root {
        assert_eq!(run(Some(NOBODY)), Some(11), "10: /tmp is mounted nosuid, and gives nobody rights");
    }
}
