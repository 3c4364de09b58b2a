//! README's commands do what they say there.

#![cfg(feature = "train")]

use std::path::Path;
use std::process::Command;

fn blocks() -> Vec<String> {
    let readme = include_str!("../../../README.md").replace("\\\n   ", "");
    readme
        .split("```console\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0.to_owned())
        .filter(|block| block.starts_with("$ ckselect"))
        .collect()
}

fn run(folder: &Path, line: &str) -> String {
    let words = line.replace("ckselect", env!("CARGO_BIN_EXE_ckselect"));
    let output = Command::new("sh").args(["-c", &words]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_command_prints_what_stands_below_it() {
    let block = &blocks()[0];
    let (line, printed) = block.strip_prefix("$ ").unwrap().split_once('\n').unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert_eq!(run(&root, line), printed);
}

/// There is no GPU here: invented times stand for the runner's, and few trees for the default's.
#[test]
fn the_way_from_a_configuration_to_a_ranking_is_walked() {
    let folder = tempfile::tempdir().unwrap();
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    std::os::unix::fs::symlink(configs, folder.path().join("configs")).unwrap();
    let block = &blocks()[1];
    let lines: Vec<_> = block.lines().map(|line| line.strip_prefix("$ ").unwrap()).collect();
    assert_eq!(lines.len(), 5);
    for line in &lines {
        let line = line
            .replace("--runner runner.json --gpus 0,1 --cutoff 5x", "--simulate analytic")
            .replace("ckselect train", "ckselect train --folds 2 --params n_estimators=20");
        let printed = run(folder.path(), &line);
        assert!(!line.contains(" rank ") || printed.contains("grouped_conv_forward"), "{printed}");
    }
}
