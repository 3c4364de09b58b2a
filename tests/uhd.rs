//! A library that carries a forest, used as hipDNN uses one of `custom_library`.

#[path = "native/tools.rs"]
#[allow(dead_code)]
mod tools;

use std::fs;

use ck_select::forest::Forest;
use ck_select::uhd::{SYMBOL, carrying, check};
use libloading::Library;

type Score = unsafe extern "C" fn(*const f64, usize) -> f64;

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
        check(&path, &forest).unwrap();
        // SAFETY: our own library.
        let copy = unsafe { Library::new(&path) }.unwrap();
        // SAFETY: the type of the header.
        let score = *unsafe { copy.get::<Score>(SYMBOL.as_bytes()) }.unwrap();
        let divisor = if forest.averaged() { forest.trees().len() as f64 } else { 1.0 };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let forest = &forest;
                scope.spawn(move || {
                    // Each row twice, and more than a thread remembers.
                    for row in (0..2000).flat_map(|row| [row, row - row % 20]) {
                        let row: Vec<f64> =
                            (0..10).map(|at| f64::from((row * 7 + at * 13 + thread) % 1511 - 9)).collect();
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
    // The library itself carries none, and what is no library is refused.
    let forest =
        Forest::parse(&fs::read(tools::source("tests/golden/forest/categories.txt")).unwrap()).unwrap();
    let error = check(&tools::library().join("libck_select.so"), &forest).unwrap_err();
    assert!(error.starts_with("ck_uhd_score answers NaN"), "{error}");
    assert!(check(&tools::source("Cargo.toml"), &forest).is_err());
}
