//! The shared library as a file: what it offers, what it needs, and its name.

mod support;

use std::process::Command;

use support::{library, succeed};

/// Adding one is a decision: programs may come to rely on it.
const EXPORTED: [&str; 8] = [
    "LGBM_BoosterCreateFromModelfile", "LGBM_BoosterFree", "LGBM_BoosterGetNumClasses",
    "LGBM_BoosterGetNumFeature", "LGBM_BoosterLoadModelFromString", "LGBM_BoosterPredictForMat",
    "LGBM_BoosterPredictForMatSingleRow", "LGBM_GetLastError",
];

#[test]
fn the_library_exports_lightgbms_functions_and_nothing_else() {
    let symbols = succeed(Command::new("nm").args(["--dynamic", "--defined-only"]).arg(library()));
    let mut names: Vec<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    names.sort_unstable();
    assert_eq!(names, EXPORTED);
}

#[test]
fn the_library_needs_the_c_library_and_nothing_else() {
    let listing = succeed(Command::new("ldd").arg(library()));
    let allowed = ["linux-vdso.so", "libc.so", "libm.so", "libgcc_s.so", "ld-linux"];
    let mut found = 0;
    for line in listing.lines() {
        let path = line.split_whitespace().next().unwrap();
        let name = path.rsplit('/').next().unwrap();
        assert!(allowed.iter().any(|allowed| name.starts_with(allowed)), "{line}");
        found += usize::from(name.starts_with("libc.so"));
    }
    assert_eq!(found, 1, "{listing}");
}

#[test]
fn the_library_is_named_for_its_version() {
    let dynamic = succeed(Command::new("readelf").args(["--dynamic", "--wide"]).arg(library()));
    let name = concat!("[libck_select_lgbm.so.", env!("CARGO_PKG_VERSION_MAJOR"), "]");
    assert!(dynamic.lines().any(|line| line.contains("(SONAME)") && line.ends_with(name)), "{dynamic}");
}
