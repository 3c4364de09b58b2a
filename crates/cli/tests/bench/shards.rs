//! Shards and their merge.

use std::fs;

use crate::fakes::{Fakes, assert_same, found, succeeded};

#[test]
fn merged_shards_are_the_whole() {
    let fakes = Fakes::library(7, 9);
    succeeded(&fakes.bench("--simulate analytic --output whole.csv").output().unwrap());
    for shard in 1..=4 {
        let line = format!("--simulate analytic --shard {shard}/4 --output part{shard}.csv");
        succeeded(&fakes.bench(&line).output().unwrap());
    }
    let merge = |words: &str| {
        let mut command = fakes.command("merge");
        command.args(words.split_whitespace()).output().unwrap()
    };
    succeeded(&merge("part1.csv part2.csv part3.csv part4.csv --complete --output all.csv"));
    assert_same(&found(&fakes.path("all.csv")), &found(&fakes.path("whole.csv")));
    // The same rows, byte by byte.
    let sorted = |name: &str| {
        let text = fs::read_to_string(fakes.path(name)).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted("all.csv"), sorted("whole.csv"));

    let again = merge("part1.csv whole.csv --output all.csv");
    assert_eq!(again.status.code(), Some(1), "an output is not overwritten");
    let overlap = merge("part1.csv whole.csv --output overlap.csv");
    let count = found(&fakes.path("part1.csv")).len();
    assert!(
        String::from_utf8_lossy(&overlap.stderr).contains(&format!("63 rows of 2 logs, {count} overlaps"))
    );

    let part = fs::read_to_string(fakes.path("part1.csv")).unwrap();
    let changed = part.replacen(",-1,", ",9,", 1);
    fs::write(fakes.path("changed.csv"), changed).unwrap();
    let conflict = merge("part1.csv changed.csv --output c.csv");
    assert_eq!(conflict.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&conflict.stderr).contains("changed.csv: line 2: kernel '"));
    assert!(!fakes.path("c.csv").exists());
}

#[test]
fn a_complete_merge_has_every_row_of_the_plan() {
    let fakes = Fakes::library(7, 9);
    for shard in 1..=4 {
        let line = format!("--simulate analytic --shard {shard}/4 --output part{shard}.csv");
        succeeded(&fakes.bench(&line).output().unwrap());
    }
    let merge = |words: &str| {
        let mut command = fakes.command("merge");
        command.args(words.split_whitespace()).args(["--complete", "--output", "all.csv"]).output().unwrap()
    };
    let refused = |words: &str, message: &str| {
        let output = merge(words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}: {stderr}");
        assert!(stderr.contains(message), "{words}: {stderr}");
        assert!(!fakes.path("all.csv").exists());
    };
    refused("part1.csv part3.csv", "of 63 rows: no log of shard 2/4; no log of shard 4/4");
    // A log that lost its end after it was done.
    let whole = fs::read_to_string(fakes.path("part2.csv")).unwrap();
    let cut = whole.lines().count() - 3;
    let kept: String = whole.lines().take(cut).flat_map(|line| [line, "\n"]).collect();
    fs::write(fakes.path("part2.csv"), kept).unwrap();
    let all = "part1.csv part2.csv part3.csv part4.csv";
    refused(all, "the logs have 60 of 63 rows: part2.csv: shard 2/4 has");
    fs::write(fakes.path("part2.csv"), whole).unwrap();
    // Merged logs know what they were made of.
    let half = |words: &str| {
        let mut command = fakes.command("merge");
        succeeded(&command.args(words.split_whitespace()).output().unwrap());
    };
    half("part1.csv part2.csv --output left.csv");
    half("part3.csv part4.csv --output right.csv");
    refused("left.csv part3.csv", "of 63 rows: no log of shard 4/4");
    // Another plan, and a log of unknown origin.
    succeeded(&fakes.bench("--simulate analytic --quick --output other.csv").output().unwrap());
    let kernels = fakes.kernels[..3].join("\n");
    fs::write(fakes.path("pool.txt"), kernels).unwrap();
    succeeded(&fakes.bench("--simulate analytic --output small.csv").output().unwrap());
    refused(&format!("{all} small.csv"), "small.csv: it belongs to another plan than part1.csv");
    fs::copy(fakes.path("part1.csv"), fakes.path("stray.csv")).unwrap();
    refused(
        &format!("{all} stray.csv"),
        "stray.csv.meta.json: found nothing: the size of a complete log is not known",
    );
    succeeded(&merge("left.csv right.csv"));
    assert_eq!(found(&fakes.path("all.csv")).len(), 63);
}
