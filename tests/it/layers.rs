//! No circles, no way up: what a module imports is below it, inside crates as between them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ck_select::vocab::Op;

use crate::common::root;

/// Each crate may import those before it; the library's folder is the repository.
const CRATES: [&str; 13] = [
    "types", "model", "enumerate", "uhd", "lgbm", "measurements", "train", "evaluate", "", "measure", "cli",
    "parity", "loom",
];

/// Circles: modules that others import although they import them. Defaults hold what only GEMMs ask for; rules
/// hold each operation's, which reads them.
const CIRCLES: [&str; 2] = ["types/defaults", "enumerate/rules"];

/// Adds what a module's files import from the crate's root.
fn read(path: &Path, module: &str, imports: &mut BTreeSet<[String; 2]>) {
    for entry in fs::read_dir(path).into_iter().flatten() {
        read(&entry.unwrap().path(), module, imports);
    }
    if path.extension().is_none_or(|end| end != "rs") || path.ends_with("tests.rs") {
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code =
        if path.parent().unwrap().ends_with("src") { &code.replace("super::", "crate::") } else { code };
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    for names in code.flat_map(|line| line.split("crate::").skip(1)) {
        for name in names.trim_start_matches('{').split('}').next().unwrap().split(", ") {
            let end = name.find(|end: char| !end.is_alphanumeric() && end != '_').unwrap_or(name.len());
            imports.insert([module, &name[..end]].map(str::to_owned));
        }
    }
}

#[test]
fn modules_and_crates_import_from_below() {
    for (place, name) in CRATES.iter().enumerate() {
        let folder = root(["crates/", ""][usize::from(name.is_empty())]) + name;
        let manifest = fs::read_to_string(format!("{folder}/Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
        let is_above =
            |other: &&&str| dependencies.contains(&format!("\nck-select-{other} ").replace("- ", " "));
        assert_eq!(CRATES[place..].iter().find(is_above), None, "{name:?} depends on what is not below it");
        let mut imports = BTreeSet::new();
        for entry in fs::read_dir(format!("{folder}/src")).unwrap() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap();
            if module != "lib" && module != "main" && !CIRCLES.contains(&&*format!("{name}/{module}")) {
                read(&path, module, &mut imports);
            }
        }
        imports.retain(|[from, to]| from != to);
        // What imports nothing, or is imported by nothing, is in no circle.
        for _ in 0..imports.len() {
            let [from, to] = [0, 1].map(|end| imports.iter().map(|one| one[end].clone()).collect::<Vec<_>>());
            imports.retain(|one| to.contains(&one[0]) && from.contains(&one[1]));
        }
        assert!(imports.is_empty(), "circles among the modules of {name:?}: {imports:?}");
    }
}

/// Files of shared code that name an operation, and why.
const NAMES: [(&str, &str); 6] = [
    ("crates/types/src/operation_list.rs", "the list"),
    ("crates/types/src/operations.rs", "that of what does not show its own"),
    ("crates/train/src/folds.rs", "a convolution of single points is its GEMM"),
    ("crates/types/src/pool/common.rs", "AITER's tables and log give extents of GEMMs alone"),
    ("src/ffi/kernels.rs", "a hook of C for each type of problem"),
    ("crates/cli/src/commands/tuned_table.rs", "AITER's tables are of GEMMs"),
];

/// The operations as the code calls them.
static OPERATIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| Op::ALL.iter().map(|op| format!("{op:?}")).collect());

/// Product files that are in no folder of an operation.
fn shared(path: &Path, files: &mut Vec<PathBuf>) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_of_an_operation = OPERATIONS.iter().any(|op| *stem == op.to_lowercase());
    if is_of_an_operation || ["tests", "target", "benches", "examples"].contains(&&*stem) {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten() {
        shared(&entry.unwrap().path(), files);
    }
    files.extend(path.extension().filter(|end| *end == "rs").map(|_| path.to_path_buf()));
}

/// Some 80 places of shared code asked for an operation, which what adds one had to find.
#[test]
fn operations_are_named_in_their_folders() {
    let mut files = Vec::new();
    shared(Path::new(&root("src")), &mut files);
    shared(Path::new(&root("crates")), &mut files);
    assert!(files.len() > 300, "{} files", files.len());
    let names_one = |line: &str| {
        OPERATIONS.iter().any(|op| {
            let mut ends =
                line.match_indices(op.as_str()).map(|(at, _)| (&line[..at], &line[at + op.len()..]));
            ends.any(|(before, after)| {
                let is_variant = before.ends_with("::") && !after.starts_with(char::is_alphanumeric);
                is_variant || after.starts_with("Problem") || after.starts_with("Kernel")
            })
        })
    };
    let mut naming = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("\nmod tests").next().unwrap().lines().map(str::trim_start);
        let mut code =
            code.filter(|line| !["//", "use ", "pub use "].iter().any(|start| line.starts_with(start)));
        if code.any(names_one) {
            naming.insert(file.strip_prefix(root("")).unwrap().display().to_string());
        }
    }
    assert_eq!(naming, NAMES.iter().map(|(file, _)| (*file).to_owned()).collect());
}
