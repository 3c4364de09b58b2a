//! Holds the committed C headers to the sources, from which cbindgen makes them.
//!
//! Not in the build script: who builds the library needs no cbindgen.

use std::path::Path;
use std::{env, fs};

/// The files of `src/ffi` that declare something, in the order of the header.
const SOURCES: [&str; 18] = [
    "status",
    "words",
    "error",
    "log",
    "memory",
    "gemm_request",
    "problems",
    "registry",
    "kernels",
    "descriptors",
    "desc_names",
    "fmha",
    "fmha_kernels",
    "exchange",
    "hardware",
    "models",
    "select",
    "tune",
];

/// Those with tables of rows, which have a header of their own.
const ROWS: [&str; 3] = ["rows", "engines", "forests"];

const ABOUT_ROWS: &str = "
/* ck_select for tables: features and predictions of rows, as the Python package computes them.
 *
 * Generated and used as ck_select.h is. Models, pools and forests are immutable: any number of threads may use one.
 */";

fn config() -> cbindgen::Config {
    cbindgen::Config::from_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("cbindgen.toml")).unwrap()
}

fn check(header: &str, sources: &[&str], config: cbindgen::Config) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let builder = sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, file| {
        builder.with_src(root.join(format!("src/ffi/{file}.rs")))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let path = root.join(header);
    if fs::read(&path).is_ok_and(|committed| committed == made) {
        return;
    }
    assert!(
        env::var_os("CK_SELECT_UPDATE_HEADER").is_some(),
        "{header} is stale: run `CK_SELECT_UPDATE_HEADER=1 cargo test --test header` and commit it"
    );
    fs::write(&path, made).unwrap();
}

#[test]
fn the_committed_headers_are_what_the_sources_make() {
    let (mut main, mut rows) = (config(), config());
    main.export.include.retain(|name| name != "CkUncoded");
    check("include/ck_select.h", &SOURCES, main);
    rows.export.include = vec!["CkUncoded".to_owned()];
    rows.header = Some(ABOUT_ROWS.to_owned());
    rows.include_guard = Some("CK_SELECT_ROWS_H".to_owned());
    rows.sys_includes = vec!["stddef.h".to_owned(), "stdint.h".to_owned()];
    rows.includes = vec!["ck_select.h".to_owned()];
    check("include/ck_select_rows.h", &ROWS, rows);
}
