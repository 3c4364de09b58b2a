//! A library that carries a forest, used as hipDNN uses one of `custom_library`.

use std::fs;

use ck_select::forest::Forest;
use ck_select::uhd::{SYMBOL, Score, carrying, is_library};
use libloading::Library;

use super::tools;

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
        let divisor = if forest.averaged() { forest.trees().len() as f64 } else { 1.0 };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let forest = &forest;
                scope.spawn(move || {
                    for row in rows(thread) {
                        // SAFETY: as many values as the count says.
                        let found = unsafe { score(row.as_ptr(), row.len()) };
                        let expected = forest.raw_score(&row).unwrap() / divisor;
                        assert_eq!(found.to_bits(), expected.to_bits());
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
