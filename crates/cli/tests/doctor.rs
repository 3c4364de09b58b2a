//! `ckselect doctor`: what it finds, what it calls wrong, and that it changes nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What a finding is about, its state, and what was found.
type Finding = [String; 3];

/// What doctor says where nothing but these variables is set.
fn findings(variables: &[(&str, &str)]) -> (Option<i32>, Vec<Finding>) {
    let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .args(["doctor", "--format", "json"])
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let table: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = table.as_array().unwrap().iter();
    let rows = rows.map(|row| {
        assert!(!text(row, "effect").is_empty(), "{row}");
        ["what", "state", "found"].map(|name| text(row, name))
    });
    (output.status.code(), rows.collect())
}

fn about(rows: &[Finding], what: &str) -> (String, String) {
    let [_, state, found] =
        rows.iter().find(|row| row[0] == what).unwrap_or_else(|| panic!("nothing about {what}: {rows:?}"));
    (state.clone(), found.clone())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_fresh_user_has_nothing_wrong_and_nothing_is_made() {
    let home = tempfile::tempdir().unwrap();
    let (_, rows) = findings(&[("HOME", text(home.path()))]);
    let (state, found) = about(&rows, "store");
    assert_eq!(state, "none");
    assert_eq!(found, format!("{}/.cache/ck-select/winners.jsonl: no file yet", text(home.path())));
    for name in ["MODE", "OVERRIDE", "HARDWARE", "CAPTURE", "LOG"].map(|name| format!("CK_SELECT_{name}")) {
        let name = name.as_str();
        assert_eq!(about(&rows, name), ("none".to_owned(), "not set".to_owned()));
    }
    let (state, found) = about(&rows, "embedded:universal");
    assert_eq!((state.as_str(), found.as_str()), ("ok", "inside the library"));
    assert_eq!(about(&rows, "library").1, env!("CARGO_PKG_VERSION"));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn what_is_set_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("rules"), "C=8,K=8,Hi=4,Wi=4,Y=1,X=1 -> a_kernel # a comment\n\nM=1,N=2,K=3 -> another\n")
        .unwrap();
    fs::write(path("broken"), "N=1,C=8,K=8\n").unwrap();
    fs::write(path("gpu.json"), r#"{"based_on": "gfx942", "num_cus": 304}"#).unwrap();
    fs::write(path("no_gpu.json"), r#"{"based_on": "gfx942", "cus": 304}"#).unwrap();
    fs::write(path("no.db"), "this is no store").unwrap();
    fs::write(path("no.so"), "this is no library").unwrap();
    let at = |name: &str| text(&path(name)).to_owned();
    let said = |name: &str, value: &str| {
        let (code, rows) = findings(&[("HOME", text(folder.path())), (name, value)]);
        let what = match name {
            "CK_SELECT_STORE" => "store",
            "CK_SELECT_HIP_LIBRARY" => "HIP runtime",
            name => name,
        };
        let (state, found) = about(&rows, what);
        if state == "wrong" {
            assert_eq!(code, Some(3), "{name}={value}");
        }
        (state, found)
    };
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
        ("CK_SELECT_CAPTURE", text(folder.path()).to_owned(), "wrong", "not a regular file"),
        ("CK_SELECT_LOG", "debug".to_owned(), "ok", "debug"),
        ("CK_SELECT_LOG", "debgu".to_owned(), "wrong", "; did you mean 'debug'?"),
        ("CK_SELECT_LOG", format!("info:{}", at("log")), "ok", "log"),
        ("CK_SELECT_HIP_LIBRARY", at("no.so"), "wrong", "no.so"),
        ("CK_SELECT_STROE", "x.db".to_owned(), "wrong", "; did you mean 'CK_SELECT_STORE'?"),
    ] {
        let answer = said(name, &value);
        assert_eq!(answer.0, state, "{name}={value}: {answer:?}");
        assert!(answer.1.contains(found), "{name}={value}: {answer:?}");
    }
    // Looked at, and neither made nor changed.
    assert!(!path("problems.txt").exists() && !path("log").exists());
    assert_eq!(fs::read_to_string(path("no.db")).unwrap(), "this is no store");
}

#[test]
fn a_store_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("winners.db");
    let winners = folder.path().join("winners.jsonl");
    fs::write(&winners, "").unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .args(["store", "import", text(&winners)])
        .env("CK_SELECT_STORE", &store)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let (_, rows) = findings(&[("HOME", text(folder.path())), ("CK_SELECT_STORE", text(&store))]);
    assert_eq!(about(&rows, "store"), ("ok".to_owned(), format!("{}: 0 winners", text(&store))));
}

#[cfg(unix)]
#[test]
fn files_without_rights_are_named() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    // Root may write everywhere.
    if fs::write(closed.join("probe"), "").is_ok() {
        return;
    }
    let path = closed.join("problems.txt");
    let (code, rows) = findings(&[("HOME", text(folder.path())), ("CK_SELECT_CAPTURE", text(&path))]);
    let (state, found) = about(&rows, "CK_SELECT_CAPTURE");
    assert_eq!((code, state.as_str()), (Some(3), "wrong"));
    assert!(found.contains("closed cannot be written: Permission denied"), "{found}");
}
