//! README's commands do what they say there.

#![cfg(feature = "train")]

mod common;

use common::{Folder, good, root};

fn blocks() -> Vec<String> {
    let readme = include_str!("../../../README.md").replace("\\\n   ", "");
    readme
        .split("```console\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0.to_owned())
        .filter(|block| block.starts_with("$ ckselect"))
        .collect()
}

#[test]
fn the_first_command_prints_what_stands_below_it() {
    let block = &blocks()[0];
    let (line, printed) = block.strip_prefix("$ ckselect ").unwrap().split_once('\n').unwrap();
    assert_eq!(good(line), printed);
}

/// There is no GPU here: invented times stand for the runner's, and few trees for the default's.
#[test]
fn the_way_from_a_configuration_to_a_ranking_is_walked() {
    let folder = Folder::inside();
    std::os::unix::fs::symlink(root().join("configs"), folder.path("configs")).unwrap();
    let block = &blocks()[1];
    let lines: Vec<_> = block.lines().map(|line| line.strip_prefix("$ ckselect ").unwrap()).collect();
    assert_eq!(lines.len(), 5);
    for line in &lines {
        let line = line
            .replace("--runner runner.json --gpus 0,1 --cutoff 5x", "--simulate analytic")
            .replace("train ", "train --folds 2 --params n_estimators=20 ");
        let printed = folder.good(&line);
        assert!(!line.starts_with("rank ") || printed.contains("grouped_conv_forward"), "{printed}");
    }
}
