//! Structs have the same sizes on both sides, and the same offsets where Rust knows them by name. Elsewhere
//! order and types are those of the header, which `tests/header/main.rs` holds to the sources.

use std::fmt::Write as _;

use ck_select::ffi::{
    CStruct, CkColumn, CkExportOptions, CkForestBytes, CkGemmGroup, CkGemmGroups, CkKernelHooks,
    CkKernelInfo, CkModelKey, CkModelOptions, CkOptions, CkPredictions, CkQuant, CkRanked, CkRowOptions,
    CkSelection, CkStreamK, CkTuneBudget, CkTuneReport, mirrored_structs,
};

use super::tools;

/// Name, size and alignment of each.
macro_rules! sizes {
    ($($name:ident)+) => { [$((stringify!($name), [size_of::<$name>(), align_of::<$name>()], vec![])),+] };
}

/// A letter of a Rust type as C spells it.
fn snake(letter: char) -> impl Iterator<Item = char> {
    letter.is_uppercase().then_some('_').into_iter().chain(letter.to_lowercase())
}

/// C statements that print size and offsets of all structs of the headers. The printed lines are frozen in
/// `tests/golden/layouts.txt`, because programs that were compiled with an older header are not compiled again. A field
/// may be appended to a struct that begins with its size, and to what such a struct ends with; everything else is a new
/// `CK_SELECT_ABI_VERSION`. `CK_SELECT_UPDATE_LAYOUTS=1` writes the file.
fn frozen_statements(header: &str) -> String {
    let code = |part: &str| part.split_once("*/").map_or(part, |(_, code)| code).to_owned();
    let code: String = header.split("/*").map(code).collect();
    let mut text = String::new();
    for declared in code.split("typedef struct {").skip(1) {
        let (body, rest) = declared.split_once("\n} ").unwrap();
        let name = rest.split_once(';').unwrap().0;
        let _ = writeln!(text, "    printf(\"{name} %zu\\n\", sizeof({name}));");
        for field in body.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            // A function's address is `type (*name)(…)`.
            let declarator =
                field.split_once("(*").map_or(field, |(_, name)| name.split(')').next().unwrap());
            let declarator = declarator.split('[').next().unwrap();
            let field = declarator.rsplit([' ', '*']).next().unwrap();
            let _ = writeln!(text, "    printf(\"  {field} %zu\\n\", offsetof({name}, {field}));");
        }
    }
    text
}

#[test]
fn structs_have_the_same_layout_on_both_sides() {
    let plain = sizes! {
        CkColumn CkExportOptions CkForestBytes CkGemmGroup CkGemmGroups CkKernelHooks CkKernelInfo
        CkModelKey CkModelOptions CkOptions CkPredictions CkQuant CkRanked CkRowOptions
        CkSelection CkStreamK CkTuneBudget CkTuneReport
    };
    let mirrored =
        mirrored_structs().into_iter().map(|CStruct { name, layout, fields, .. }| (name, layout, fields));
    // Lines as Rust has them, and the C statements that print the same ones.
    let (mut rust, mut c) = (String::new(), String::new());
    for (name, [size, align], fields) in plain.into_iter().chain(mirrored) {
        let name: String = name.chars().flat_map(snake).skip(1).collect();
        let _ = writeln!(rust, "{name} {size} {align}");
        let _ = writeln!(c, "  printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));");
        for field in fields {
            let (field, offset) = (field.name, field.offset);
            let _ = writeln!(rust, "{name}.{field} {offset}");
            let _ = writeln!(c, "  printf(\"{name}.{field} %zu\\n\", offsetof({name}, {field}));");
        }
    }
    let header = ["include/ck_select.h", "include/ck_select_rows.h"]
        .map(|name| std::fs::read_to_string(tools::source(name)).unwrap())
        .concat();
    let declared: Vec<&str> = header
        .lines()
        .filter_map(|line| line.strip_prefix("} ck_"))
        .filter_map(|rest| rest.strip_suffix(';'))
        .collect();
    for name in declared {
        let is_enum = header.contains(&format!("A `ck_{name}`")) || name == "status";
        assert!(is_enum || rust.contains(&format!("ck_{name} ")), "ck_{name} is not in the table");
    }

    let directory = tools::scratch("layouts");
    let (more, frozen) = (frozen_statements(&header), tools::source("tests/golden/layouts.txt"));
    let program_text = format!(
        "#include \"ck_select_rows.h\"\n#include <stdio.h>\n\nint main(int argc, char **argv) {{\n  (void)argv;\n  if (argc > 1) {{\n{more}    return \
         0;\n  }}\n{c}  return 0;\n}}\n"
    );
    let file = directory.join("layouts.c");
    std::fs::write(&file, program_text).unwrap();
    for compilers in tools::compilers() {
        let program = directory.join(compilers.c);
        tools::run(tools::compile(compilers.c, "c11").arg(&file).arg("-o").arg(&program));
        assert_eq!(tools::run(&mut std::process::Command::new(&program)), rust, "{compilers:?}");
        let now = tools::run(std::process::Command::new(&program).arg("all"));
        if std::env::var_os("CK_SELECT_UPDATE_LAYOUTS").is_some() {
            std::fs::write(&frozen, &now).unwrap();
        }
        let expected = std::fs::read_to_string(&frozen).unwrap_or_default();
        assert_eq!(now, expected, "{}: fields are only appended: see the test", frozen.display());
    }
}

/// What `packaging/abi.py` says of this checkout after one text in one file was replaced.
fn compared(name: &str, file: &str, from: &str, to: &str) -> String {
    let changed = tools::scratch("abi").join(name);
    for folder in ["include", "tests/golden"] {
        std::fs::create_dir_all(changed.join(folder)).unwrap();
    }
    let headers = ["include/ck_select.h", "include/ck_select_rows.h"];
    for read in headers.into_iter().chain(["include/exports.txt", "tests/golden/layouts.txt"]) {
        let text = std::fs::read_to_string(tools::source(read)).unwrap();
        assert!(read != file || text.contains(from), "{file} has no {from:?}");
        let text = if read == file { text.replacen(from, to, 1) } else { text };
        std::fs::write(changed.join(read), text).unwrap();
    }
    let mut command = std::process::Command::new("python3");
    command.arg("-B").arg(tools::source("packaging/abi.py")).arg(tools::ROOT).arg(&changed);
    let done = tools::output(&mut command);
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.success(), !printed.contains("is "), "{printed}");
    printed
}

#[test]
fn an_interface_that_breaks_older_programs_needs_another_number() {
    let layouts = "tests/golden/layouts.txt";
    for (name, file, from, to, says) in [
        (
            "removed", "include/exports.txt", "ck_export_options_init\n", "",
            "ck_export_options_init() is gone",
        ),
        ("moved", layouts, "  count 12\n", "  count 8\n", "ck_gemm_group.count was 12, is 8"),
        ("shrunk", layouts, "ck_gemm_groups 24", "ck_gemm_groups 16", "sizeof(ck_gemm_groups) was 24, is 16"),
        (
            "renumbered", "include/ck_select.h", "_STRUCT = 3,", "_STRUCT = 4,",
            "CK_STATUS_INVALID_STRUCT was 3, is 4",
        ),
        ("added", layouts, "ck_gemm_groups 24\n", "ck_gemm_groups 32\n  more 24\n", "1 more"),
        ("raised", "include/ck_select.h", "ABI_VERSION 1", "ABI_VERSION 2", "rises from 1 to 2"),
    ] {
        let printed = compared(name, file, from, to);
        assert!(printed.contains(says), "{name}: {printed}");
    }
}
