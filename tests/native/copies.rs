//! Two copies of the library in one process, as of a program and its plugin, and a library that is closed
//! while it is used.

use std::process::{Command, Stdio};

use ck_select::tuning::store::{Mode, Store};

use super::tools;

/// What each run writes: copies x threads x rounds x problems of `copies.c`.
const WINNERS: usize = 2 * 3 * 4 * 6;

fn program(name: &str) -> std::path::PathBuf {
    let c = tools::compilers()[0].c;
    tools::build(c, "c11", &["tests/c/copies.c"], &["-Wconversion", "-ldl"], name)
}

/// The locks of each copy must hold against the other, and against two more processes.
#[test]
fn two_copies_write_one_store() {
    let program = program("copies_together");
    let folder = tempfile::tempdir().unwrap();
    let copies = ["a.so", "b.so"].map(|name| folder.path().join(name));
    for copy in &copies {
        std::fs::copy(tools::library().join("libck_select.so"), copy).unwrap();
    }
    let store = folder.path().join("store");
    let runs: Vec<_> = (0..2)
        .map(|_| {
            let mut command = Command::new(&program);
            command.arg("together").arg(&store).args(&copies).stdout(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let count = runs.len();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = Store::open(&store, Mode::ReadOnly).unwrap();
    store.check().unwrap();
    assert_eq!(store.count(), Ok(count * WINNERS), "nothing is lost");
}

#[test]
fn a_library_that_is_closed_stays_while_threads_select() {
    tools::run(
        Command::new(program("copies_closed")).arg("closed").arg(tools::library().join("libck_select.so")),
    );
}
