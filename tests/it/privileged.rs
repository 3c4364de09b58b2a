//! A process with rights that its caller lacks does not listen to environment variables, which the caller
//! sets.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

use ck_select::ffi::{CkStatus, ck_registry_create, ck_registry_destroy};

const NOBODY: u32 = 65534;

unsafe extern "C" {
    fn getauxval(kind: std::ffi::c_ulong) -> std::ffi::c_ulong;
}

#[test]
#[ignore = "what the other test runs as a process"]
fn child() {
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

#[test]
fn a_setuid_process_is_not_told_by_its_callers_environment() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("program");
    // By another process: a test that forks meanwhile would keep a copy of ours open, which then cannot be run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let run = |user: Option<u32>| {
        let mut command = Command::new(&program);
        command
            .args(["privileged::child", "--exact", "--ignored", "--quiet"])
            .env("CK_SELECT_MODE", "no mode");
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
    let ran = if is_root { run(Some(NOBODY)) } else { None };
    match ran {
        Some(11) => {}
        // Where the folder's file system gives nobody rights.
        Some(10) | None => {
            let _ =
                writeln!(std::io::stderr(), "setuid: SKIPPED, which takes root and a /tmp without nosuid");
        }
        other => panic!("{other:?}"),
    }
}
