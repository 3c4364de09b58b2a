//! `make tsan` watches: a race that is one on purpose is found. Only there is this compiled, with
//! `--cfg tsan`.

#![cfg(tsan)]

use std::cell::UnsafeCell;
use std::process::Command;
use std::sync::Barrier;

const TASK: &str = "CK_SELECT_TEST_RACE";

struct Shared(UnsafeCell<u64>);

// SAFETY: it is not sound, which is what ThreadSanitizer is asked to find.
unsafe impl Sync for Shared {}

#[test]
fn child() {
    if std::env::var_os(TASK).is_none() {
        return;
    }
    let shared = Shared(UnsafeCell::new(0));
    // A thread that begins after the other's end may be taken for it.
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (shared, both) = (&shared, &both);
            scope.spawn(move || {
                both.wait();
                for _ in 0..10_000 {
                    // SAFETY: none; see above.
                    unsafe { *shared.0.get() += 1 };
                }
            });
        }
    });
    // SAFETY: the threads have ended.
    println!("{}", unsafe { *shared.0.get() });
}

#[test]
fn a_race_is_found() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(TASK, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("ThreadSanitizer: data race"),
        "{} {said}",
        output.status
    );
}
