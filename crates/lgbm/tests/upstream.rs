//! An upstream program, unchanged: linked against this library, with the library put in front of another, and
//! linked against the real LightGBM.

mod support;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use ck_select_model::forest::Forest;
use support::{FMHA, GEMM, library, rows, run, succeed};
use tempfile::TempDir;

const ROWS: usize = 500;
/// The forests of upstream's heuristics, with their features.
const MODELS: [(&str, usize); 2] = [(GEMM, 72), (FMHA, 68)];

/// A folder with the shared library under both of its names, as an installation has it.
fn installed() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libck_select_lgbm.so", "libck_select_lgbm.so.0"] {
        symlink(library(), folder.path().join(name)).unwrap();
    }
    folder
}

fn compiler() -> Command {
    let mut compiler = Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    compiler.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]);
    compiler
}

/// Builds the program against a library in the folder.
fn program(folder: &Path, link: &str) -> PathBuf {
    let program = folder.join("upstream");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/upstream.cpp");
    let mut compiler = compiler();
    compiler.arg(source).arg("-o").arg(&program).arg("-L").arg(folder).arg(link);
    succeed(compiler.arg(format!("-Wl,-rpath,{}", folder.display())));
    program
}

/// The rows, and the bits of our own predictions for them as the program prints them.
fn expected(folder: &Path, (model, width): (&str, usize)) -> (PathBuf, String) {
    let forest = Forest::load(model).unwrap();
    let rows = rows(ROWS, width);
    let bits = |row| format!("{:016x}\n", forest.predict(row).unwrap().to_bits());
    let path = folder.join("rows");
    fs::write(&path, rows.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>()).unwrap();
    (path, rows.chunks(width).map(bits).collect())
}

fn command(program: &Path, model: &Path, rows: &Path, width: usize, threads: usize) -> Command {
    let mut command = Command::new(program);
    command.arg(model).arg(rows).args([width.to_string(), threads.to_string()]);
    command
}

#[test]
fn a_linked_program_predicts_from_many_threads() {
    let folder = installed();
    let program = program(folder.path(), "-lck_select_lgbm");
    for (model, width) in MODELS {
        let (rows, expected) = expected(folder.path(), (model, width));
        let plain = plain(folder.path(), model);
        for (model, threads) in [(plain.as_path(), 1), (&plain, 16), (Path::new(model), 16)] {
            assert_eq!(succeed(&mut command(&program, model, &rows, width, threads)), expected);
        }
    }
}

/// The text of the model, which LightGBM reads only when it is not compressed.
fn plain(folder: &Path, model: &str) -> PathBuf {
    let path = folder.join("model.lgbm");
    let mut text = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(fs::File::open(model).unwrap()), &mut text).unwrap();
    fs::write(&path, &text).unwrap();
    path
}

/// The library of a Python package of LightGBM.
fn lightgbm() -> PathBuf {
    let script = "import importlib.util as u, os; print(os.path.dirname(u.find_spec('lightgbm').origin))";
    let package = succeed(Command::new(ck_select_testing::python()).args(["-c", script]));
    Path::new(package.trim()).join("lib/lib_lightgbm.so")
}

#[test]
fn linked_with_the_real_lightgbm_it_prints_the_same_bits() {
    let folder = installed();
    symlink(lightgbm(), folder.path().join("lib_lightgbm.so")).unwrap();
    for (model, width) in MODELS {
        let (rows, expected) = expected(folder.path(), (model, width));
        let model = plain(folder.path(), model);
        let printed = ["-l_lightgbm", "-lck_select_lgbm"].map(|link| {
            let program = program(folder.path(), link);
            succeed(&mut command(&program, &model, &rows, width, 1))
        });
        assert_eq!(printed[0].lines().count(), ROWS);
        assert_eq!(printed[0], printed[1]);
        assert_eq!(printed[0], expected);
    }
}

#[test]
fn a_model_that_cannot_be_loaded_is_a_status_and_no_print() {
    let folder = installed();
    let program = program(folder.path(), "-lck_select_lgbm");
    let bad = folder.path().join("bad.lgbm");
    fs::write(&bad, "tree\nversion=v4\n").unwrap();
    for model in [&bad, &folder.path().join("none.lgbm"), folder.path()] {
        let (output, out, err) = run(&mut command(&program, model, &bad, 72, 1));
        assert_eq!(
            (output.status.code(), out.as_str(), err.as_str()),
            (Some(3), "", ""),
            "{}",
            model.display()
        );
    }
}

/// The program stays as it was linked, against a library that knows nothing.
#[test]
fn preloaded_it_answers_instead_of_another_library() {
    let folder = installed();
    let source = folder.path().join("nothing.cpp");
    let nothing = "int LGBM_BoosterCreateFromModelfile() { return -1; }\n\
        int LGBM_BoosterPredictForMat() { return -1; }\nint LGBM_BoosterFree() { return -1; }\n";
    fs::write(&source, format!("extern \"C\" {{\n{nothing}}}\n")).unwrap();
    let other = folder.path().join("lib_lightgbm.so");
    succeed(compiler().args(["-shared", "-fPIC", "-o"]).arg(&other).arg(&source));
    let program = program(folder.path(), "-l_lightgbm");
    let (rows, expected) = expected(folder.path(), MODELS[0]);

    let mut command = command(&program, Path::new(GEMM), &rows, 72, 2);
    assert_eq!(run(&mut command).0.status.code(), Some(3));
    assert_eq!(succeed(command.env("LD_PRELOAD", library())), expected);
}
