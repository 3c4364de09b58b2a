//! Holds the committed C headers to the sources, from which cbindgen makes them.
//!
//! Not in the build script: who builds the library needs no cbindgen.

#![allow(clippy::format_collect, clippy::format_push_string, reason = "short texts, in a test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use ck_select::ffi;
use ck_select::vocab::{ConvLayout, Direction, Dtype, FmhaApi, FmhaFamily, Major, Op};

mod cpp;
mod fields;
mod layout;
mod python;

/// Files of `src/ffi`, under a heading of the header; `*` is each operation.
type Sources = &'static [(&'static str, &'static [&'static str])];

/// Those that declare something.
const SOURCES: Sources = &[
    ("Errors, versions, the log", &["status", "error", "log", "memory"]),
    ("Problems", &["gemm/request", "*/problem"]),
    ("A registry and its kernels", &["registry", "kernels", "*/kernels", "conv/name", "exchange"]),
    ("Models", &["hardware", "models"]),
    ("Choosing", &["select", "*/select", "fmha/splits"]),
    ("Measuring between selections", &["tune"]),
];

/// Those with tables of rows, which have a header of their own.
const ROWS: Sources = &[
    ("Models and pools", &["rows"]),
    ("Feature engines", &["engines"]),
    ("Forests", &["forests"]),
    ("The estimate", &["estimates"]),
];

const ABOUT_ROWS: &str = "
/* ck_select for tables: features and predictions of rows, as the Python package computes them.
 *
 * Generated and used as ck_select.h is. Models, pools and forests are immutable: any number of threads may \
 use one.
 */";

/// A path of the repository.
fn source(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn config() -> cbindgen::Config {
    cbindgen::Config::from_file(source("packaging/cbindgen.toml")).unwrap()
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
    let ops: Vec<_> = Op::ALL.iter().map(|op| format!("{op:?}")).collect();
    let mut declare = |name: &str, doc: &str, words: Vec<String>| {
        let words = words.iter().enumerate().map(|(number, word)| format!("{word} = {number},\n"));
        source +=
            &format!("#[doc = {doc:?}]\n#[repr(C)]\npub enum {name} {{\n{}}}\n", words.collect::<String>());
    };
    for (name, doc, words) in ENUMS {
        declare(name, doc, words.iter().map(|word| class(word)).collect());
    }
    declare("CkOp", "An operation.", ops);
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

/// The files of sources with their headings.
fn files(sources: Sources) -> Vec<(&'static str, Vec<PathBuf>)> {
    let path = |name: &str| source(format!("src/ffi/{name}.rs"));
    let of_operation = |file: &str, op: Op| {
        let own = path(&file.replace('*', &word(op)));
        [Some(as_of_convolutions(file, op)), own.exists().then_some(own)].into_iter().flatten()
    };
    let each = |file: &&'static str| -> Vec<PathBuf> {
        let operations = || Op::ALL.iter().flat_map(|&op| of_operation(file, op)).collect();
        if file.contains('*') { operations() } else { vec![path(file)] }
    };
    sources.iter().map(|(heading, files)| (*heading, files.iter().flat_map(each).collect())).collect()
}

/// The declarations of convolutions that an operation's file does not have, since `functions_of_operation!`
/// makes them, as a source file.
fn as_of_convolutions(file: &str, op: Op) -> PathBuf {
    let read = |op: &str| fs::read_to_string(source(format!("src/ffi/{}.rs", file.replace('*', op))));
    let (conv, own) = (read("conv").unwrap(), read(&word(op)).unwrap_or_default());
    let mut copies = String::new();
    for declaration in declarations(&conv).filter(|one| function(one).contains("conv")) {
        let copy = declaration.replace("conv", &word(op)).replace("Conv", &format!("{op:?}"));
        if !own.contains(&format!("fn {}(", function(&copy))) {
            copies += &format!("/// As `{}`.\n#[unsafe(no_mangle)]{copy} {{}}\n", function(declaration));
        }
    }
    let name = format!("{}.rs", file.replace('*', &word(op)).replace('/', "_"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, copies).unwrap();
    path
}

/// An operation's word in names.
fn word(op: Op) -> String {
    format!("{op:?}").to_lowercase()
}

/// What a source file exports, without comments and bodies.
fn declarations(source: &str) -> impl Iterator<Item = &str> {
    source.split("#[unsafe(no_mangle)]").skip(1).map(|rest| rest.split(" {").next().unwrap())
}

/// The function of such a declaration.
fn function(declaration: &str) -> &str {
    declaration.split("fn ").nth(1).unwrap().split('(').next().unwrap()
}

/// Holds a header to what these sources make.
fn check(header: &str, sources: Sources, beside: Option<PathBuf>, mut config: cbindgen::Config) {
    let groups = files(sources);
    let files: Vec<PathBuf> = groups.iter().flat_map(|(_, files)| files.clone()).chain(beside).collect();
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let types = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.starts_with("Ck"));
    config.export.rename.extend(types.map(|name| (name.to_owned(), cpp::snake(name))));
    config.export.include = text
        .split("pub enum ")
        .skip(1)
        .filter_map(|rest| rest.split(' ').next())
        .map(str::to_owned)
        .collect();
    let builder =
        files.into_iter().fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src);
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let text = |files: &[PathBuf]| files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let groups: Vec<(&str, String)> = groups.iter().map(|(heading, files)| (*heading, text(files))).collect();
    hold(header, layout::laid_out(&String::from_utf8(made).unwrap(), &groups).as_bytes());
}

/// Compares a committed file with what was made, or updates it.
fn hold(file: &str, made: &[u8]) {
    let path = source(file);
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
    let mut text = fs::read_to_string(source(file)).unwrap();
    for (name, made) in parts {
        let begin = format!(" Made by tests/header/main.rs: {name}.\n");
        let begin = text.find(&begin).unwrap_or_else(|| panic!("{file} has no {begin}")) + begin.len();
        let end = begin + text[begin..].find(" End of what is made.\n").unwrap();
        let end = begin + text[begin..end].rfind('\n').map_or(0, |at| at + 1);
        text.replace_range(begin..end, made);
    }
    hold(file, text.as_bytes());
}

/// The list of what the library exports, with what is new. It is frozen: a test fails if one of it is gone.
fn exports(listed: &str) -> String {
    let sources = [files(SOURCES), files(ROWS)].concat();
    let text: String =
        sources.iter().flat_map(|(_, files)| files).map(|file| fs::read_to_string(file).unwrap()).collect();
    let found = declarations(&text).map(function);
    let (head, listed) = listed.split_once('\n').unwrap();
    let names: BTreeSet<&str> = listed.lines().chain(found).collect();
    [&[head], &*Vec::from_iter(names)].concat().join("\n") + "\n"
}

#[test]
fn the_committed_headers_are_what_the_sources_make() {
    check("include/ck_select.h", SOURCES, Some(mirrored()), config());
    let mut rows = config();
    rows.header = Some(ABOUT_ROWS.to_owned());
    rows.include_guard = Some("CK_SELECT_ROWS_H".to_owned());
    rows.sys_includes = vec!["stddef.h".to_owned(), "stdint.h".to_owned()];
    rows.includes = vec!["ck_select.h".to_owned()];
    check("include/ck_select_rows.h", ROWS, None, rows);

    let header = |name: &str| fs::read_to_string(source(name)).unwrap();
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
    for &op in Op::ALL {
        let own = format!("python/src/ck_select/{}.py", word(op));
        let is_own = source(&own).exists();
        let module = if is_own { &own } else { "python/src/ck_select/registry.py" };
        let fields = python::class_fields(op, &header(module));
        hold_parts(module, &[(format!("fields of {op:?}"), fields)]);
    }
    hold("include/exports.txt", exports(&header("include/exports.txt")).as_bytes());
}

/// A word as a variant; the Python class of a C struct, or of a callback: `ck_conv_problem` is `ConvProblem`.
fn class(c_name: &str) -> String {
    c_name.trim_start_matches("ck_").split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
