//! Forests as hipDNN walks them, and files that nobody should trust.

mod common;

use ck_select_model::forest::{Forest, Node as Inner, Split as Trained};
use ck_select_testing::forests::{Sizes, VALUES, forest_text};
use ck_select_testing::{Numbers as _, Random};
use ck_select_uhd::{Hgbm, Node, Split, Tree};
use common::{check_bytes, walked};

/// The numbers that a forest compares with, and those beside them.
fn bounds(forest: &Forest) -> Vec<f64> {
    let threshold = |node: Inner| match node.split {
        Trained::Numeric { threshold, .. } => Some(threshold.get()),
        Trained::Categorical { .. } => None,
    };
    let thresholds = forest.trees().iter().flat_map(|tree| tree.nodes().filter_map(threshold));
    thresholds.flat_map(|at| [at.next_down(), at, at.next_up()]).collect()
}

fn fill(row: &mut [f64], bounds: &[f64], random: &mut Random) {
    for value in row {
        *value = match random.below(8) {
            0 if !bounds.is_empty() => random.pick(bounds),
            1 => random.pick(&VALUES),
            2 => random.below(1 << 14) as f64,
            3 => f64::from_bits(random.bits()),
            4 => (random.below(400) as f64 - 200.0) / 2.0,
            _ => random.below(70) as f64,
        };
    }
}

/// Compares a forest with what is made of it, and again as a file, and again as LightGBM's text, if it
/// becomes that.
fn compare(forest: &Forest, rows: usize) -> bool {
    let model = Hgbm { features_hash: "sha256:00".to_owned(), ..Hgbm::from_forest(forest).unwrap() };
    let model = Hgbm::read(&model.write().unwrap()).unwrap();
    let back = match model.to_text(forest.feature_names()) {
        Ok(text) => Some(Forest::parse(text.as_bytes()).unwrap()),
        Err(error) => {
            assert!(model.shape().shared > 0 && error.found == "several parents", "{error}");
            None
        }
    };
    let (bounds, mut random) = (bounds(forest), Random(51));
    let mut row = vec![0.0; forest.num_features()];
    let parts = if forest.averaged() { forest.trees().len() as f64 } else { 1.0 };
    for _ in 0..rows {
        fill(&mut row, &bounds, &mut random);
        let expected = forest.raw_score(&row).unwrap() / parts;
        assert_eq!(walked(&model, &row).to_bits(), expected.to_bits(), "{row:?}");
        if let Some(back) = &back {
            assert_eq!(back.raw_score(&row).unwrap().to_bits(), expected.to_bits(), "{row:?}");
        }
    }
    back.is_some()
}

/// The forests that the real LightGBM made: every kind of missing value, categories, a million rows in all.
#[test]
fn golden_forests_are_walked_to_the_same_bits_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (mut refused, mut only_out) = (Vec::new(), Vec::new());
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt")) {
        let forest = Forest::load(&path).unwrap();
        let name = path.file_stem().unwrap().display();
        match Hgbm::from_forest(&forest) {
            Ok(_) if compare(&forest, 111_112) => {}
            Ok(_) => only_out.push(name.to_string()),
            Err(error) => refused.push(format!("{name}: {error}")),
        }
    }
    let expected = "random-forest: tree 0: found an average of 7 trees, expected a power of two, by which \
                    leaves divide exactly";
    assert_eq!(refused, [expected]);
    // Zero that is missing.
    assert_eq!(only_out, ["zero-missing"]);
}

#[test]
fn an_average_of_four_trees_is_exact() {
    let text = include_str!("../../../tests/golden/forest/categories.txt");
    let averaged = text.replacen("objective=", "average_output\nobjective=", 1);
    compare(&Forest::parse(averaged.as_bytes()).unwrap(), 10_000);
}

/// A tree of up to 12 leaves with each kind of split.
fn tree(seed: u64) -> Forest {
    let sizes = Sizes { features: 3, trees: 1, leaves: 12, chains: seed.is_multiple_of(4) };
    Forest::parse(forest_text(&mut Random(seed), &sizes).as_bytes()).unwrap()
}

#[test]
fn any_tree_is_walked_to_the_same_bits_unless_a_threshold_is_infinite() {
    let (mut refused, mut back) = (0, 0);
    for forest in (0..800).map(tree) {
        match Hgbm::from_forest(&forest) {
            Ok(_) => back += usize::from(compare(&forest, 300)),
            Err(error) => {
                assert!(bounds(&forest).iter().any(|bound| bound.is_infinite()), "{error}");
                assert!(error.to_string().starts_with("tree 0, split ") && error.expected == "a finite one");
                refused += 1;
            }
        }
    }
    assert!((200..500).contains(&refused) && back > 200, "{refused} {back}");
}

fn read_of(tree: Tree) -> Result<Hgbm, String> {
    let model = Hgbm { trees: vec![tree], num_features: 2, ..Hgbm::default() };
    model.write().map_err(|error| error.to_string()).map(|bytes| Hgbm::read(&bytes).unwrap())
}

const fn node(threshold: f64, children: [u32; 2]) -> Node {
    Node::Split(Split { feature: 1, threshold, less: false, default_left: false, children })
}

/// Sixty nodes with two ways each from one to the next: 2^60 paths, which nothing may follow one by one.
#[test]
fn shared_nodes_are_read_and_never_copied() {
    let mut tree: Tree = (0..60)
        .flat_map(|at| {
            let next = 3 * at + 3;
            [node(f64::from(at), [3 * at + 1, 3 * at + 2]), node(0.5, [next, 183]), node(1.5, [next, 183])]
        })
        .collect();
    tree.extend([Node::Leaf(2.0); 4]);
    let model = read_of(tree).unwrap();
    assert_eq!((model.shape().nodes, model.shape().shared), (184, 61));
    let error = model.to_text(&["x".to_owned(), "y".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("found several parents, expected one"), "{error}");
}

#[test]
fn trees_that_no_walk_ends_in_are_refused() {
    let leaf = Node::Leaf(1.0);
    let cases = [
        (vec![node(0.0, [0, 1]), leaf], ": found a cycle"),
        (vec![leaf, node(0.0, [2, 3]), node(0.0, [1, 3]), leaf], ": found a cycle"),
        (vec![node(0.0, [1, 7]), leaf], ", node 0: found the children [1, 7], expected -1, or nodes below 2"),
        (vec![node(f64::INFINITY, [1, 1]), leaf], ", node 0: found the threshold inf, expected a finite"),
        (vec![Node::Leaf(f64::NAN)], ", node 0: found the leaf value NaN, expected a finite number"),
        (vec![], ": found 0 nodes, expected one at least"),
    ];
    for (tree, message) in cases {
        let error = read_of(tree).unwrap_err();
        assert!(error.starts_with(&format!("tree 0{message}")), "{error}");
    }
}

/// The base is added last, so that it is a last tree to LightGBM; others may compare with `<` anywhere.
#[test]
fn a_base_score_and_other_comparisons_keep_their_bits() {
    let less = Split { threshold: 2.0, less: true, default_left: true, children: [1, 2], ..Split::default() };
    let trees =
        [node(0.5, [1, 2]), Node::Split(less)].map(|split| vec![split, Node::Leaf(0.5), Node::Leaf(0.25)]);
    let model = Hgbm { base_score: 0.1, trees: trees.to_vec(), num_features: 2, ..Hgbm::default() };
    let text = model.to_text(&["x".to_owned(), "y".to_owned()]).unwrap();
    let back = Forest::parse(text.as_bytes()).unwrap();
    for row in [[0.5, 0.25], [2.0, f64::NAN], [2.0_f64.next_down(), 2.0], [31.0, -1.0], [f64::NAN, 1.0]] {
        assert_eq!(back.raw_score(&row).unwrap().to_bits(), walked(&model, &row).to_bits(), "{row:?}");
    }
}

/// Damaged, a file is refused, or is another model that is as safe to walk.
#[test]
fn damaged_files_are_refused_or_safe() {
    let whole = (0..).find_map(|seed| Hgbm::from_forest(&tree(seed)).ok()).unwrap().write().unwrap();
    let mut random = Random(400);
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            bytes[random.below(whole.len())] = random.bits() as u8;
        }
        let end = if random.below(5) == 0 { random.below(whole.len()) } else { whole.len() };
        check_bytes(&bytes[..end]);
    }
}
