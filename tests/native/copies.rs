//! Two copies of the library in one process, as of a program and its plugin; a library that is closed while
//! it is used; one that carries a forest, used as hipDNN uses one of `custom_library`.

use std::fs;
use std::process::{Command, Stdio};

use ck_select::forest::Forest;
use ck_select::tuning::store::{Mode, Store};
use ck_select::uhd::{SYMBOL, Score, carrying, is_library};
use libloading::Library;

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

/// Each row twice, and more than a thread remembers; then problems with their kernels, of which some are left
/// out, and without and with values of both.
fn rows(thread: usize) -> Vec<Vec<f64>> {
    let value = |number: usize| (number % 1511) as f64 - 9.0;
    let any = |row: usize| (0..10).map(|at| value(row * 7 + at * 13 + thread)).collect();
    let mut rows: Vec<Vec<f64>> = (0..2000).flat_map(|row| [any(row), any(row - row % 20)]).collect();
    for of_both in [0, 2] {
        for problem in 0..60 {
            for kernel in (0..20).filter(|kernel| (problem + kernel) % 7 != 0) {
                let values = |at: usize| match at {
                    0..6 => value(problem * 31 + at * 17),
                    _ if at < 6 + of_both => value(problem * kernel),
                    _ => value(kernel * 11 + at),
                };
                rows.push((0..10).map(values).collect());
            }
        }
    }
    rows
}

#[test]
fn a_copy_of_the_library_scores_rows_from_any_thread() {
    let library = fs::read(tools::library().join("libck_select.so")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["categories", "random-forest"] {
        let text = fs::read_to_string(tools::source(&format!("tests/golden/forest/{name}.txt"))).unwrap();
        let forest = Forest::parse(text.as_bytes()).unwrap();
        let path = folder.path().join(format!("{name}.so"));
        let first = carrying(&library, &text).unwrap();
        assert_eq!(carrying(&first, &text).unwrap(), first, "one forest replaces another");
        fs::write(&path, first).unwrap();
        // SAFETY: our own library.
        let copy = unsafe { Library::new(&path) }.unwrap();
        // SAFETY: the type of the header.
        let score = *unsafe { copy.get::<Score>(SYMBOL.as_bytes()) }.unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let forest = &forest;
                scope.spawn(move || {
                    for row in rows(thread) {
                        // SAFETY: as many values as the count says.
                        let found = unsafe { score(row.as_ptr(), row.len()) };
                        assert_eq!(found.to_bits(), forest.predict(&row).unwrap().to_bits());
                    }
                });
            }
        });
        // SAFETY: as many values as the count says, or none.
        let [short, null] = unsafe { [score([0.0; 9].as_ptr(), 9), score(std::ptr::null(), 10)] };
        assert!(short.is_nan() && null.is_nan());
    }
    // The library itself carries none.
    // SAFETY: our own library.
    let itself = unsafe { Library::new(tools::library().join("libck_select.so")) }.unwrap();
    // SAFETY: the type of the header, and as many values as the count says.
    assert!(unsafe { itself.get::<Score>(SYMBOL.as_bytes()).unwrap()([0.0; 10].as_ptr(), 10) }.is_nan());
    assert!(is_library(&library) && !is_library(&library[1..]) && !is_library(b"\x7fELF and nothing else"));
}
