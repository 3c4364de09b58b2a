//! Shards.

use crate::fakes::Fakes;

#[test]
fn shards_are_together_the_whole() {
    let fakes = Fakes::library(7, 9);
    fakes.good("--simulate analytic --output whole.csv");
    // The same rows, byte by byte.
    let rows = |name: &str| -> Vec<String> {
        let text = fakes.read(name);
        text.lines().skip(1).map(str::to_owned).collect()
    };
    let mut all = Vec::new();
    for shard in 1..=4 {
        let line = format!("--simulate analytic --shard {shard}/4 --output part{shard}.csv");
        fakes.good(&line);
        all.extend(rows(&format!("part{shard}.csv")));
    }
    let mut whole = rows("whole.csv");
    all.sort();
    whole.sort();
    assert_eq!(all, whole);
}
