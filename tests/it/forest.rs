//! Forests of tests/golden/forest: the good ones score as LightGBM did, the bad ones say why they are bad,
//! and broken texts are refused or scored.

use std::fs;
use std::path::PathBuf;

use ck_select::forest::{FeatureInfo, Forest, RowError, Target, Transform};

use ck_select_testing::counting::{BYTES, PEAK};
use ck_select_testing::forests::{Sizes, VALUES, forest_text};
use ck_select_testing::{Numbers as _, Random};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/forest");

/// The good files, in order.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(GOLDEN).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn by_hand() -> String {
    fs::read_to_string(format!("{GOLDEN}/by-hand.txt")).unwrap()
}

/// The forests of `bad_forests.txt`, a paragraph each: its name; its changes to `by-hand.txt`, where `A-B:
/// text` puts text in the place of lines A to B, or before line A where B < A, and `A-B` deletes them; and
/// after `>` the message. Text has JSON's escapes, a character for each byte.
fn bad_forests() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let table = include_str!("../golden/bad_forests.txt").trim_end();
    table.split("\n\n").map(bad_forest).collect()
}

fn bad_forest(paragraph: &'static str) -> (&'static str, Vec<u8>, &'static str) {
    let base: Vec<_> = include_str!("../golden/forest/by-hand.txt").split('\n').map(str::as_bytes).collect();
    let (name, rest) = paragraph.split_once('\n').unwrap();
    let (changes, message) = rest.split_once("> ").unwrap();
    let mut lines = Vec::new();
    let mut kept = 0;
    for change in changes.lines() {
        let (range, text) =
            change.split_once(": ").map_or((change, None), |(range, text)| (range, Some(text)));
        let (first, last) = range.split_once('-').unwrap();
        lines.extend(base[kept..first.parse::<usize>().unwrap() - 1].iter().map(|line| line.to_vec()));
        lines.extend(text.map(bytes));
        kept = last.parse().unwrap();
    }
    lines.extend(base[kept..].iter().map(|line| line.to_vec()));
    (name, lines.join(&b'\n'), message)
}

fn bytes(text: &str) -> Vec<u8> {
    let quoted = format!("\"{}\"", text.replace('"', "\\\""));
    serde_json::from_str::<String>(&quoted).unwrap().chars().map(|character| character as u8).collect()
}

#[test]
fn each_bad_forest_is_refused_with_its_message() {
    for (name, text, message) in bad_forests() {
        let error = Forest::parse(&text).err().unwrap_or_else(|| panic!("{name}: was read as a forest"));
        assert_eq!(error.to_string(), message, "{name}");
    }
}

/// Rows with LightGBM's raw score and prediction; the ck-select-parity crate wrote them, and checks them.
#[test]
fn each_good_file_scores_as_lightgbm_did() {
    let scores = fs::read_to_string(format!("{GOLDEN}_scores.txt")).unwrap();
    for path in files() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let forest = Forest::parse(&fs::read(&path).unwrap()).unwrap();
        let lines = scores.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        assert_eq!(lines.clone().count(), 60, "{name}");
        for (index, line) in lines.enumerate() {
            let (expected, values) = line.split_once(" : ").unwrap();
            let (raw, prediction) = expected.split_once(' ').unwrap();
            let values: Vec<f64> = values.split(' ').map(|value| value.parse().unwrap()).collect();
            let row = forest.row(&values).unwrap();
            assert_eq!(format!("{:016x}", row.raw_score().to_bits()), raw, "{name}: row {index}");
            let found = row.predict();
            if forest.objective().transform() == Transform::Exponential {
                // Another C library or processor may round `exp` the other way.
                let expected = f64::from_bits(u64::from_str_radix(prediction, 16).unwrap());
                let near = [expected.next_down(), expected, expected.next_up()].contains(&found);
                assert!(near, "{name}: row {index}: {found:e}, expected {expected:e}");
            } else {
                assert_eq!(format!("{:016x}", found.to_bits()), prediction, "{name}: row {index}");
            }
            assert_eq!(row.contributions().raw_score(), row.raw_score(), "{name}: row {index}");
        }
    }
}

#[test]
fn a_forest_has_every_number_of_its_text() {
    let forest = Forest::parse(by_hand().as_bytes()).unwrap();
    assert_eq!(forest.version(), "v4");
    assert_eq!(forest.num_features(), 3);
    assert_eq!(forest.feature_names(), ["gemm_m", "gemm_n", "pipeline"]);
    assert_eq!(forest.feature_infos()[0], FeatureInfo::Range { min: 1.0, max: 8192.0 });
    assert_eq!(forest.feature_infos()[2], FeatureInfo::Categories(vec![0, 1, 2]));
    let objective = forest.objective();
    assert_eq!((objective.name(), objective.transform()), ("regression", Transform::Identity));
    assert!(!forest.averaged());
    assert_eq!((forest.max_depth(), forest.leaf_count(), forest.node_count()), (2, 7, 5));

    let uses = forest.feature_uses();
    assert_eq!(uses.iter().map(|feature| feature.splits).collect::<Vec<_>>(), [2, 1, 2]);
    assert_eq!(uses.iter().map(|feature| feature.gain).collect::<Vec<_>>(), [12.0, 4.0, 1.5]);
    assert_eq!(uses.iter().map(|feature| feature.thresholds).collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(uses.iter().map(|feature| feature.categorical_splits).collect::<Vec<_>>(), [0, 0, 2]);

    let tree = &forest.trees()[1];
    assert_eq!(tree.root().target(), Target::Node(0));
    assert_eq!(tree.node(0).left.target(), Target::Leaf(0));
    assert_eq!(tree.node(0).right.target(), Target::Node(1));
    assert_eq!(tree.category_sets().words(1), [1, 4]);
    assert_eq!(tree.leaf_counts(), [10, 10, 25]);
    assert_eq!(tree.internal_counts(), [45, 35]);
}

#[test]
fn contributions_name_the_features_on_the_way() {
    let forest = Forest::parse(by_hand().as_bytes()).unwrap();
    // 1 -> 1.5 -> 2 by gemm_m and gemm_n; 0 -> 0.03125 -> -0.125 by pipeline.
    let parts = forest.contributions(&[100.0, 65.0, 0.0]).unwrap();
    assert_eq!(parts.features, [0.5, 0.5, -0.125]);
    assert_eq!(parts.bias, 1.0);
    assert_eq!(parts.rounding, 0.0);
}

#[test]
fn a_row_of_the_wrong_length_is_refused() {
    let forest = Forest::parse(by_hand().as_bytes()).unwrap();
    for found in [0, 2, 4] {
        let error = forest.predict(&vec![0.0; found]).unwrap_err();
        assert_eq!(error, RowError { found, expected: 3 });
    }
}

/// What tools and hands do to a text that does not change what it says.
#[test]
fn spellings_that_say_the_same_make_the_same_forest() {
    let text = by_hand();
    let forest = Forest::parse(text.as_bytes()).unwrap();
    let mut spellings = vec![
        text.replace('\n', "\r\n"),
        text.replace("version=v4", "version=v3"),
        text.replace("tree_sizes=326 340\n", ""),
        text.replace("num_tree_per_iteration=1\n", ""),
        text.replace("label_index=0\n", "label_index=0\nsomething_new=1=2\nanother\n"),
        text.replace("num_cat=", "added_by_a_later_version=x y z\nnum_cat="),
        text.replace("\nnum_class", "\n# a comment, with a=b\n\nnum_class"),
        text.replace("shrinkage=1\n", ""),
        text.replace("is_linear=0\n", ""),
        text.replace("leaf_value=0.25 0.5", "leaf_value= +2.5e-1  .5 "),
        text.replace("end of trees\n", "end of trees\n\nwhatever:\nTree=7\n\n"),
        text.trim_end().to_owned(),
    ];
    spellings.push(spellings[0].replace("\r\nTree", "\r\n\r\n\r\nTree"));
    for spelling in spellings {
        assert_ne!(spelling, text);
        let found = Forest::parse(spelling.as_bytes()).unwrap();
        assert_eq!(found.trees(), forest.trees(), "{spelling}");
        assert_eq!(found.feature_names(), forest.feature_names());
    }
}

#[test]
fn optional_fields_of_a_tree_default_to_zero() {
    let text = by_hand();
    let keys =
        ["split_gain", "decision_type", "leaf_count", "internal_value", "internal_count", "feature_imp"];
    let (trees, _) = text.split_once("Tree=1").unwrap();
    let kept = trees.replace("tree_sizes=326 340\n", "");
    let kept = kept.lines().filter(|line| !keys.iter().any(|key| line.starts_with(key)));
    let text = kept.collect::<Vec<_>>().join("\n") + "\nend of trees\n";
    let forest = Forest::parse(text.as_bytes()).unwrap();
    let tree = &forest.trees()[0];
    assert_eq!(tree.gains(), [0.0; 3]);
    assert_eq!(tree.internal_values(), [0.0; 3]);
    assert_eq!(tree.internal_counts(), [0; 3]);
    assert_eq!(tree.leaf_counts(), [0; 4]);
    assert_eq!(forest.predict(&[100.0, 65.0, 0.0]), Ok(2.0));
}

/// A tree as deep as it has nodes: nothing may use the call stack for depth.
#[test]
fn a_chain_of_a_hundred_thousand_nodes_is_walked() {
    const NODES: usize = 100_000;
    let sizes = Sizes { features: 1, trees: 1, leaves: NODES + 1, chains: true };
    let forest = Forest::parse(forest_text(&mut Random(1), &sizes).as_bytes()).unwrap();
    assert_eq!(forest.max_depth(), NODES);
    for value in VALUES {
        let row = [value];
        let row = forest.row(&row).unwrap();
        assert_eq!(row.contributions().raw_score(), row.raw_score(), "{value}");
    }
}

/// The most bytes that were allocated at once while the text was parsed.
fn peak(text: &[u8]) -> usize {
    let before = BYTES.get();
    PEAK.set(before);
    let _ = Forest::parse(text);
    (PEAK.get() - before) as usize
}

#[test]
fn memory_is_bounded_by_the_text_and_not_by_its_claims() {
    let head = |last: usize, names: &str, infos: &str| {
        format!(
            "tree\nversion=v4\nnum_class=1\nmax_feature_idx={last}\nfeature_names={names}\n\
             feature_infos={infos}\n"
        )
    };
    let tree = |index| format!("Tree={index}\nnum_leaves=1\nnum_cat=0\nleaf_value=1\n\n");
    let many_features = head(99_999, &"a ".repeat(100_000), &"0 ".repeat(100_000));
    let many_trees = head(0, "x", "none") + &(0..20_000).map(tree).collect::<String>();
    let large = [many_features, many_trees].map(|text| (text + "end of trees\n").into_bytes());
    let bad = bad_forests().into_iter().map(|(_, text, _)| text);
    let good = files().into_iter().map(|path| fs::read(path).unwrap());
    for text in bad.chain(good).chain(large) {
        // A message, or the fields of one tree, may take more than a short text.
        let (found, most) = (peak(&text), 8 * 1024 + 32 * text.len());
        let begin = String::from_utf8_lossy(&text[..text.len().min(400)]);
        assert!(found <= most, "{begin}: {found} bytes for {} of text", text.len());
    }
}

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
        4 => with_lines(text, |lines| {
            let count = lines.len();
            lines.swap(random.below(count), random.below(count));
        }),
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
