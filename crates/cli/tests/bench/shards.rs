//! Shards.

use std::fs;

use crate::fakes::{Fakes, succeeded};

#[test]
fn shards_are_together_the_whole() {
    let fakes = Fakes::library(7, 9);
    succeeded(&fakes.bench("--simulate analytic --output whole.csv").output().unwrap());
    // The same rows, byte by byte.
    let rows = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(fakes.path(name)).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    };
    let mut all = Vec::new();
    for shard in 1..=4 {
        let line = format!("--simulate analytic --shard {shard}/4 --output part{shard}.csv");
        succeeded(&fakes.bench(&line).output().unwrap());
        all.extend(rows(&format!("part{shard}.csv")));
    }
    let mut whole = rows("whole.csv");
    all.sort();
    whole.sort();
    assert_eq!(all, whole);
}
