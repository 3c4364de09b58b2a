//! Broken texts: parsing returns, and what it lets through can be scored.

use std::fs;

use ck_select::forest::Forest;

use crate::random_forests::{Numbers as _, Random};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/forest");
const MUTANTS: usize = 10_000;

/// Numbers that a careless reader trips over.
const NUMBERS: [&str; 20] = [
    "-1", "0", "1", "2", "3", "7", "15", "-2", "2147483647", "-2147483648", "2147483648", "4294967295",
    "4294967296", "18446744073709551616", "1e308", "1e400", "-1e-400", "nan", "inf", "-inf",
];

/// One random change to the text.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(text.len());
    let end = (at + 1 + random.below(30)).min(text.len());
    match random.below(9) {
        0 if at < text.len() => text[at] ^= 1 << random.below(8),
        1 => {
            text.drain(at..end);
        }
        2 => {
            let copy = text[at..end].to_vec();
            text.splice(at..at, copy);
        }
        3 => text.truncate(at),
        4 => swap_lines(text, random),
        5 => with_lines(text, |lines| {
            lines.remove(random.below(lines.len()));
        }),
        6 => with_lines(text, |lines| {
            let copy = lines[random.below(lines.len())];
            lines.insert(random.below(lines.len()), copy);
        }),
        _ => replace_number(text, random),
    }
}

fn with_lines(text: &mut Vec<u8>, change: impl FnOnce(&mut Vec<&[u8]>)) {
    let copy = text.clone();
    let mut lines: Vec<&[u8]> = copy.split(|&byte| byte == b'\n').collect();
    change(&mut lines);
    *text = lines.join(&b'\n');
}

fn swap_lines(text: &mut Vec<u8>, random: &mut Random) {
    with_lines(text, |lines| {
        let (one, other) = (random.below(lines.len()), random.below(lines.len()));
        lines.swap(one, other);
    });
}

/// Puts another number in the place of one of the text's.
fn replace_number(text: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(text.len());
    let is_end = |byte: &u8| matches!(byte, b' ' | b'\n' | b'=');
    let start = text[..at].iter().rposition(is_end).map_or(0, |found| found + 1);
    let end = text[at..].iter().position(is_end).map_or(text.len(), |found| at + found);
    if start < end {
        text.splice(start..end, NUMBERS[random.below(NUMBERS.len())].bytes());
    }
}

fn score(forest: &Forest, mutant: usize) {
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 1.0, 1e300, -1e300];
    for value in values {
        let values = vec![value; forest.num_features()];
        let row = forest.row(&values).unwrap();
        let raw = row.raw_score();
        assert!(raw.is_finite(), "mutant {mutant}: {raw}");
        assert_eq!(row.contributions().raw_score(), raw, "mutant {mutant}");
        let _ = row.predict();
    }
    assert_eq!(forest.feature_uses().len(), forest.num_features());
}

#[test]
fn ten_thousand_broken_texts_are_refused_or_scored() {
    let mut models = Vec::new();
    for name in ["by-hand", "categories", "zero-missing", "random-forest", "single-leaf"] {
        let text = fs::read(format!("{GOLDEN}/{name}.txt")).unwrap();
        // Most of a small model is its parameters; mutants are to be about the trees.
        let end = text.windows(12).position(|window| window == b"end of trees").unwrap();
        models.push(text[..end + 13].to_vec());
    }
    let mut random = Random(1);
    let mut scored = 0;
    for mutant in 0..MUTANTS {
        let mut text = models[mutant % models.len()].clone();
        for _ in 0..=random.below(3) {
            mutate(&mut text, &mut random);
        }
        if let Ok(forest) = Forest::parse(&text) {
            score(&forest, mutant);
            scored += 1;
        }
    }
    // Both sides must be met for the test to mean something.
    assert!(scored > MUTANTS / 20 && scored < MUTANTS * 19 / 20, "{scored} of {MUTANTS} were scored");
}
