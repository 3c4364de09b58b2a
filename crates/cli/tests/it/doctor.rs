//! `ckselect doctor`: what it finds, what it calls wrong, and that it changes nothing.

use std::fs;

use serde_json::Value;

use crate::common::{Folder, Ran};

/// What a finding is about, its state, and what was found.
type Finding = [String; 3];

/// What doctor says where nothing but these variables is set, and the folder is the user's home.
fn findings(folder: &Folder, variables: &[(&str, &str)]) -> (Option<i32>, Vec<Finding>) {
    let mut command = folder.command("doctor --format json");
    command.env_clear().env("HOME", folder.path("")).envs(variables.iter().copied());
    let ran = Ran::run(&mut command);
    let rows: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let rows = rows.iter().map(|row| {
        assert!(row["effect"].as_str().is_some_and(|effect| !effect.is_empty()), "{row}");
        ["what", "state", "found"].map(|name| row[name].as_str().unwrap().to_owned())
    });
    (ran.code, rows.collect())
}

fn about<'r>(rows: &'r [Finding], what: &str) -> (&'r str, &'r str) {
    let [_, state, found] =
        rows.iter().find(|row| row[0] == what).unwrap_or_else(|| panic!("nothing about {what}: {rows:?}"));
    (state, found)
}

#[test]
fn a_fresh_user_has_nothing_wrong_and_nothing_is_made() {
    let folder = Folder::inside();
    let (_, rows) = findings(&folder, &[]);
    let store = format!("{}: no file yet", folder.path(".cache/ck-select/winners.jsonl").display());
    assert_eq!(about(&rows, "store"), ("none", &*store));
    for name in ["MODE", "OVERRIDE", "HARDWARE", "CAPTURE", "LOG"] {
        assert_eq!(about(&rows, &format!("CK_SELECT_{name}")), ("none", "not set"));
    }
    assert_eq!(about(&rows, "embedded:universal"), ("ok", "inside the library"));
    // The universal model ranks GEMMs, too; doctor and inspect once named convolutions alone.
    let said = folder.run("doctor --format json").stdout;
    assert!(said.contains("\"chooses for grouped_conv + gemm_universal + moe\""), "{said}");
    let model = folder.json("inspect --model embedded:universal");
    assert_eq!(model["operation"], serde_json::json!(["grouped_conv", "gemm_universal", "moe"]));
    assert_eq!(folder.json("inspect --model embedded:gemm_fp8_gfx942")["operation"], "gemm_universal");
    assert_eq!(about(&rows, "library").1, env!("CARGO_PKG_VERSION"));
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 0);
}

/// On a terminal the middle of a sentence was cut out, and elsewhere lines had up to 180 characters.
#[test]
fn lines_wrap_and_nothing_is_cut() {
    let folder = Folder::inside();
    let mut command = folder.command("doctor");
    command.env_clear().env("HOME", folder.path("")).env("CK_SELECT_LIBRARY_OF_MINE", "x");
    let text = Ran::run(&mut command).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 100) && !text.contains('…'), "{text}");
    // The words of a sentence, of which others stand between.
    for word in ["measured;", "models,", "estimate", "choose"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn doctor_judges_the_environment() {
    let folder = Folder::inside();
    folder.write("rules", "C=8,K=8,Hi=4,Wi=4,Y=1,X=1 -> a_kernel # a comment\n\nM=1,N=2,K=3 -> another\n");
    folder.write("broken", "N=1,C=8,K=8\n");
    folder.write("gpu.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    folder.write("no_gpu.json", r#"{"based_on": "gfx942", "cus": 304}"#);
    folder.write("no.db", "this is no store");
    folder.write("no.so", "this is no library");
    let at = |name: &str| folder.path(name).display().to_string();
    for (name, value, state, found) in [
        ("CK_SELECT_MODE", "refine=3,no-estimate".to_owned(), "ok", "refine=3,no-estimate"),
        ("CK_SELECT_MODE", "serach".to_owned(), "wrong", "; did you mean 'search'?"),
        ("CK_SELECT_OVERRIDE", at("rules"), "ok", ": 2 rules"),
        ("CK_SELECT_OVERRIDE", at("broken"), "wrong", "broken: line 1: expected 'problem -> kernel name'"),
        ("CK_SELECT_OVERRIDE", at("absent"), "wrong", "No such file"),
        ("CK_SELECT_HARDWARE", at("gpu.json"), "ok", "gpu.json: 304 compute units"),
        ("CK_SELECT_HARDWARE", at("no_gpu.json"), "wrong", "no_gpu.json: hardware: found cus"),
        ("CK_SELECT_STORE", "off".to_owned(), "none", "off"),
        ("CK_SELECT_STORE", at("no.db"), "wrong", "no.db"),
        ("CK_SELECT_STORE", at("rules/winners.db"), "wrong", "rules is not a folder"),
        ("CK_SELECT_CAPTURE", at("problems.txt"), "ok", "problems.txt"),
        ("CK_SELECT_CAPTURE", at(""), "wrong", "not a regular file"),
        ("CK_SELECT_LOG", "debug".to_owned(), "ok", "debug"),
        ("CK_SELECT_LOG", "debgu".to_owned(), "wrong", "; did you mean 'debug'?"),
        ("CK_SELECT_LOG", format!("info:{}", at("log")), "ok", "log"),
        ("CK_SELECT_HIP_LIBRARY", at("no.so"), "wrong", "no.so"),
        ("CK_SELECT_STROE", "x.db".to_owned(), "wrong", "; did you mean 'CK_SELECT_STORE'?"),
    ] {
        let (code, rows) = findings(&folder, &[(name, &value)]);
        let what = match name {
            "CK_SELECT_STORE" => "store",
            "CK_SELECT_HIP_LIBRARY" => "HIP runtime",
            name => name,
        };
        let answer = about(&rows, what);
        assert!(answer.0 == state && answer.1.contains(found), "{name}={value}: {answer:?}");
        assert!(state != "wrong" || code == Some(3), "{name}={value}");
    }
    // Looked at, and neither made nor changed.
    assert!(!folder.path("problems.txt").exists() && !folder.path("log").exists());
    assert_eq!(folder.read("no.db"), "this is no store");
}

#[test]
fn a_store_is_counted() {
    let folder = Folder::inside().with("CK_SELECT_STORE", "winners.db");
    folder.write("winners.jsonl", "");
    folder.good("store import winners.jsonl");
    let (_, rows) = findings(&folder, &[("CK_SELECT_STORE", "winners.db")]);
    assert_eq!(about(&rows, "store"), ("ok", "winners.db: 0 winners"));
}

#[cfg(unix)]
#[test]
fn files_without_rights_are_named() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::inside();
    fs::create_dir(folder.path("closed")).unwrap();
    fs::set_permissions(folder.path("closed"), fs::Permissions::from_mode(0o500)).unwrap();
    // Root may write everywhere.
    if fs::write(folder.path("closed/probe"), "").is_ok() {
        return;
    }
    let (code, rows) = findings(&folder, &[("CK_SELECT_CAPTURE", "closed/problems.txt")]);
    let (state, found) = about(&rows, "CK_SELECT_CAPTURE");
    assert_eq!((code, state), (Some(3), "wrong"));
    assert!(found.contains("closed cannot be written: Permission denied"), "{found}");
}
