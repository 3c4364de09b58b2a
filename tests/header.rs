//! Holds the committed C headers to the sources, from which cbindgen makes them.
//!
//! Not in the build script: who builds the library needs no cbindgen.

#![allow(clippy::format_collect, clippy::format_push_string, reason = "short texts, in a test")]

use std::path::{Path, PathBuf};
use std::{env, fs};

use ck_select::ffi;
use ck_select::vocab::{ConvLayout, Direction, Dtype, FmhaApi, FmhaFamily, Major, Op};

#[path = "header/cpp.rs"]
mod cpp;
#[path = "header/fields.rs"]
mod fields;
#[path = "header/layout.rs"]
mod layout;
#[path = "header/python.rs"]
mod python;

/// The files of `src/ffi` that declare something, under the headings of the header.
const SOURCES: [(&str, &[&str]); 6] = [
    ("Errors, versions, the log", &["status", "error", "log", "memory"]),
    ("Problems", &["gemm/request", "conv/problem", "gemm/problem", "fmha/problem"]),
    (
        "A registry and its kernels",
        &["registry", "kernels", "conv/kernels", "gemm/kernels", "fmha/kernels", "conv/name", "exchange"],
    ),
    ("Models", &["hardware", "models"]),
    ("Choosing", &["select", "conv/select", "gemm/select", "fmha/select"]),
    ("Measuring between selections", &["tune"]),
];

/// Those with tables of rows, which have a header of their own.
const ROWS: [(&str, &[&str]); 3] = [
    ("Models and pools", &["rows", "tables/mod"]),
    ("Feature engines", &["engines"]),
    ("Forests", &["forests"]),
];

const ABOUT_ROWS: &str = "
/* ck_select for tables: features and predictions of rows, as the Python package computes them.
 *
 * Generated and used as ck_select.h is. Models, pools and forests are immutable: any number of threads may \
 use one.
 */";

fn config() -> cbindgen::Config {
    cbindgen::Config::from_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("cbindgen.toml")).unwrap()
}

/// The enums of the header, which are vocabularies: Rust itself takes plain integers.
const ENUMS: [(&str, &str, &[&str]); 6] = [
    ("CkDirection", "Direction of a convolution.", Direction::WORDS),
    (
        "CkDtype",
        "Element type. FP8 is E4M3, BF8 is E5M2; the 4-bit types are packed. The last five are only for \
         attention: input type, then output type; MX is scaled in blocks of 32.",
        Dtype::WORDS,
    ),
    (
        "CkMajor",
        "Memory layout of one GEMM operand: rows, columns, or the order in which a kernel reads it.",
        &["row", "col", "packed"],
    ),
    (
        "CkConvLayout",
        "Memory layout of the convolution tensors: N images, G groups, C channels, D depth, H height, W \
         width.",
        ConvLayout::WORDS,
    ),
    ("CkFmhaApi", "The attention operation that a caller requests.", FmhaApi::WORDS),
    ("CkFmhaFamily", "The stage that an attention kernel computes.", FmhaFamily::WORDS),
];

/// What macros make of tables, and cbindgen does not expand, as a source file.
fn mirrored() -> PathBuf {
    assert_eq!(Major::ALL, [Major::Row, Major::Col, Major::Packed]);
    let mut source = String::new();
    for (name, doc, words) in ENUMS {
        source += &format!("#[doc = {doc:?}]\n#[repr(C)]\npub enum {name} {{\n");
        for (number, word) in words.iter().enumerate() {
            source += &format!("{} = {number},\n", class(word));
        }
        source += "}\n";
    }
    for ffi::CStruct { name, doc, fields, .. } in ffi::mirrored_structs() {
        source += &format!("#[doc = {doc:?}]\n#[repr(C)]\npub struct {name} {{\n");
        for ffi::CField { name: field, rust, doc, .. } in fields {
            let plain = rust.replace("i8", "c_char");
            let path = plain.rsplit_once("::").map_or(plain.as_str(), |(_, name)| name);
            source += &format!("#[doc = {doc:?}]\npub {field}: {path},\n");
        }
        source += "}\n";
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mirrored.rs");
    fs::write(&path, source).unwrap();
    path
}

/// Holds a header to what these sources make.
fn check(header: &str, sources: &[(&str, &[&str])], beside: Option<PathBuf>, config: cbindgen::Config) {
    let path = |file: &&str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/ffi/{file}.rs"));
    let files: Vec<PathBuf> =
        sources.iter().flat_map(|(_, files)| files.iter().map(path)).chain(beside).collect();
    let builder =
        files.into_iter().fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src);
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let text = |files: &[&str]| files.iter().map(|file| fs::read_to_string(path(file)).unwrap()).collect();
    let groups: Vec<(&str, String)> =
        sources.iter().map(|(heading, files)| (*heading, text(files))).collect();
    hold(header, layout::laid_out(&String::from_utf8(made).unwrap(), &groups).as_bytes());
}

/// Compares a committed file with what was made, or updates it.
fn hold(file: &str, made: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if fs::read(&path).is_ok_and(|committed| committed == made) {
        return;
    }
    assert!(
        env::var_os("CK_SELECT_UPDATE_HEADER").is_some(),
        "{file} is stale: run `CK_SELECT_UPDATE_HEADER=1 cargo test --test header` and commit it"
    );
    fs::write(&path, made).unwrap();
}

/// The same of what stands in a file behind a comment that says so.
fn hold_parts(file: &str, parts: &[(String, String)]) {
    let mut text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    for (name, made) in parts {
        let begin = format!(" Made by tests/header.rs: {name}.\n");
        let begin = text.find(&begin).unwrap_or_else(|| panic!("{file} has no {begin}")) + begin.len();
        let end = begin + text[begin..].find(" End of what is made.\n").unwrap();
        let end = begin + text[begin..end].rfind('\n').map_or(0, |at| at + 1);
        text.replace_range(begin..end, made);
    }
    hold(file, text.as_bytes());
}

#[test]
fn the_committed_headers_are_what_the_sources_make() {
    let (mut main, mut rows) = (config(), config());
    main.export.include.retain(|name| name != "CkUncoded");
    check("include/ck_select.h", &SOURCES, Some(mirrored()), main);
    rows.export.include = vec!["CkUncoded".to_owned()];
    rows.header = Some(ABOUT_ROWS.to_owned());
    rows.include_guard = Some("CK_SELECT_ROWS_H".to_owned());
    rows.sys_includes = vec!["stddef.h".to_owned(), "stdint.h".to_owned()];
    rows.includes = vec!["ck_select.h".to_owned()];
    check("include/ck_select_rows.h", &ROWS, None, rows);

    let header = |name: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let c = header("include/ck_select.h");
    hold("include/ck_select/vocabularies.hpp", cpp::vocabularies().as_bytes());
    hold("include/ck_select/kernel.hpp", cpp::kernels(&c).as_bytes());
    let mut problem = vec![("calls".to_owned(), cpp::calls())];
    problem.extend(Op::ALL.iter().map(|&op| (format!("setters of {op:?}"), cpp::setters(op))));
    hold_parts("include/ck_select/problem.hpp", &problem);
    let hooks = [
        ("supports", cpp::callables("supports", "bool(const ck_OP_problem&)")),
        ("run", cpp::callables("run", "float(const ck_OP_problem&, void* stream)")),
        ("callables", cpp::passed_callables()),
    ];
    hold_parts("include/ck_select/hooks.hpp", &hooks.map(|(name, made)| (name.to_owned(), made)));
    let headers = c + &header("include/ck_select_rows.h");
    hold("python/src/ck_select/_structs.py", python::structs(&headers).as_bytes());
    hold("python/src/ck_select/_fields.py", python::fields().as_bytes());
    for (module, op) in [("registry", Op::Conv), ("registry", Op::Gemm), ("fmha", Op::Fmha)] {
        let module = format!("python/src/ck_select/{module}.py");
        let classes = header(&module);
        hold_parts(&module, &[(format!("fields of {op:?}"), python::class_fields(op, &classes))]);
    }
}

/// A word as a variant; the Python class of a C struct, or of a callback: `ck_conv_problem` is `ConvProblem`.
fn class(c_name: &str) -> String {
    c_name.trim_start_matches("ck_").split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
