//! Holds the committed C header to the sources, from which cbindgen makes it.
//!
//! Not in the build script: who builds the library needs no cbindgen.

use std::path::Path;
use std::{env, fs};

const HEADER: &str = "include/ck_select.h";

/// The files of `src/ffi` that declare something, in the order of the header.
const SOURCES: [&str; 20] = [
    "status",
    "words",
    "error",
    "log",
    "memory",
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
    "rows",
    "engines",
    "forests",
];

#[test]
fn the_committed_header_is_what_the_sources_make() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let builder = SOURCES.iter().fold(cbindgen::Builder::new().with_config(config), |builder, file| {
        builder.with_src(root.join(format!("src/ffi/{file}.rs")))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let path = root.join(HEADER);
    if fs::read(&path).is_ok_and(|committed| committed == made) {
        return;
    }
    assert!(
        env::var_os("CK_SELECT_UPDATE_HEADER").is_some(),
        "{HEADER} is stale: run `CK_SELECT_UPDATE_HEADER=1 cargo test --test header` and commit it"
    );
    fs::write(&path, made).unwrap();
}
