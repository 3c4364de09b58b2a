//! Forests as hipDNN walks them, and files that nobody should trust.

mod common;

use ck_select_model::forest::{Forest, Node as Inner, Split};
use ck_select_uhd::{Hgbm, Node, Tree};
use common::{check_bytes, walked};
use proptest::prelude::*;

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }
}

/// Values at which walkers differ.
fn odd() -> Vec<f64> {
    let text = "nan inf -inf 1.7976931348623157e308 -1.7976931348623157e308 0 -0 1e-35 -1e-35 \
        1.0000000180025095e-35 -1.0000000180025095e-35 1.1e-35 -1.1e-35 1e-36 -1e-36 5e-324 -5e-324 -0.5 -1 \
        -3 0.999 31.5 2147483647.5 2147483648";
    text.split_whitespace().map(|value| value.parse().unwrap()).collect()
}

/// The numbers that a forest compares with, and those beside them.
fn bounds(forest: &Forest) -> Vec<f64> {
    let threshold = |node: Inner| match node.split {
        Split::Numeric { threshold, .. } => Some(threshold.get()),
        Split::Categorical { .. } => None,
    };
    let thresholds = forest.trees().iter().flat_map(|tree| tree.nodes().filter_map(threshold));
    thresholds.flat_map(|at| [at.next_down(), at, at.next_up()]).collect()
}

fn fill(row: &mut [f64], bounds: &[f64], odd: &[f64], random: &mut Random) {
    for value in row {
        *value = match random.below(8) {
            0 if !bounds.is_empty() => bounds[random.below(bounds.len())],
            1 => odd[random.below(odd.len())],
            2 => random.below(1 << 14) as f64,
            3 => f64::from_bits(random.bits()),
            4 => (random.below(400) as f64 - 200.0) / 2.0,
            _ => random.below(70) as f64,
        };
    }
}

/// Compares a forest with what is made of it, and again as a file, and again as LightGBM's text.
fn compare(forest: &Forest, rows: usize) {
    let model = Hgbm { features_hash: "sha256:00".to_owned(), ..Hgbm::of_forest(forest).unwrap() };
    let model = Hgbm::read(&model.write().unwrap()).unwrap();
    let text = model.to_text("regression", forest.feature_names()).unwrap();
    let back = Forest::parse(text.as_bytes()).unwrap();
    let (bounds, odd, mut random) = (bounds(forest), odd(), Random(51));
    let mut row = vec![0.0; forest.num_features()];
    let parts = if forest.averaged() { forest.trees().len() as f64 } else { 1.0 };
    for _ in 0..rows {
        fill(&mut row, &bounds, &odd, &mut random);
        let expected = forest.raw_score(&row).unwrap() / parts;
        assert_eq!(walked(&model, &row).to_bits(), expected.to_bits(), "{row:?}");
        assert_eq!(back.raw_score(&row).unwrap().to_bits(), expected.to_bits(), "{row:?}");
    }
}

fn golden() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    texts.map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}

/// The forests that the real LightGBM made: every kind of missing value, categories, a million rows in all.
#[test]
fn golden_forests_are_walked_to_the_same_bits_or_refused() {
    let mut refused = Vec::new();
    for (name, text) in golden() {
        let forest = Forest::parse(text.as_bytes()).unwrap();
        match Hgbm::of_forest(&forest) {
            Ok(_) => compare(&forest, 111_112),
            Err(error) => refused.push(format!("{name}: {error}")),
        }
    }
    assert_eq!(refused.len(), 1, "{refused:?}");
    let expected =
        "tree 0: found an average of 7 trees, expected a power of two, by which leaves divide exactly";
    assert!(refused[0].contains("random-forest") && refused[0].ends_with(expected), "{refused:?}");
}

#[test]
fn an_average_of_four_trees_is_exact_and_an_infinite_threshold_is_named() {
    let (_, text) = golden().into_iter().find(|(name, _)| name.contains("categories")).unwrap();
    let averaged = text.replacen("objective=", "average_output\nobjective=", 1);
    compare(&Forest::parse(averaged.as_bytes()).unwrap(), 10_000);
    let text = FOREST.replacen("threshold=-1e-36", "threshold=inf", 1);
    let error = Hgbm::of_forest(&Forest::parse(text.as_bytes()).unwrap()).unwrap_err().to_string();
    assert_eq!(error, "tree 0, split 0: found an infinite threshold, expected a finite one");
}

const FOREST: &str = "tree\nversion=v4\nnum_class=1\nmax_feature_idx=1\nfeature_names=x \
                      y\nfeature_infos=none none\n\n\
    Tree=0\nnum_leaves=4\nnum_cat=1\nsplit_feature=0 0 1\nthreshold=-1e-36 0 1e-36\ndecision_type=6 1 4\n\
    left_child=1 -1 -3\nright_child=2 -2 -4\nleaf_value=1 2 3 4\ncat_boundaries=0 \
    2\ncat_threshold=2147483651 7\n\n\
    end of trees\n";

/// What a tree's splits are: feature, threshold, decision, categories.
fn splits() -> impl Strategy<Value = Vec<(u8, f64, u8, u64)>> {
    let threshold = prop_oneof![
        prop::sample::select(odd().into_iter().filter(|value| value.is_finite()).collect::<Vec<_>>()),
        -100.0..100.0_f64,
    ];
    let decision = prop::sample::select(vec![0, 2, 4, 6, 8, 10, 1]);
    let set = prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>(), 0..256_u64];
    prop::collection::vec((0..3_u8, threshold, decision, set), 1..12)
}

/// A tree in which splits lie as in a heap: the children of the first are the second and the third.
fn text(splits: &[(u8, f64, u8, u64)]) -> String {
    let count = splits.len();
    let list = |value: &dyn Fn(usize) -> String| (0..count).map(value).collect::<Vec<_>>().join(" ");
    let sets: Vec<u64> = splits.iter().filter(|split| split.2 == 1).map(|split| split.3).collect();
    let set_of = |node: usize| splits[..node].iter().filter(|split| split.2 == 1).count();
    let child = |side: usize| {
        list(&|node| {
            let at = 2 * node + side;
            if at < count { at.to_string() } else { format!("-{}", at + 1 - count) }
        })
    };
    let words: Vec<String> = sets.iter().map(|set| format!("{} {}", *set as u32, set >> 32)).collect();
    format!(
        "tree\nversion=v4\nnum_class=1\nmax_feature_idx=2\nfeature_names=x y z\nfeature_infos=none none \
         none\n\n\
         Tree=0\nnum_leaves={}\nnum_cat={}\nsplit_feature={}\nthreshold={}\ndecision_type={}\nleft_child={}\n\
         right_child={}\nleaf_value=0.1 {}\ncat_boundaries={}\ncat_threshold={}\n\nend of trees\n",
        count + 1,
        sets.len(),
        list(&|node| splits[node].0.to_string()),
        list(&|node| match splits[node] {
            (_, _, 1, _) => set_of(node).to_string(),
            (_, threshold, ..) => format!("{threshold:e}"),
        }),
        list(&|node| splits[node].2.to_string()),
        child(1),
        child(2),
        list(&|node| format!("{}.1", node + 1)),
        (0..=sets.len()).map(|set| (2 * set).to_string()).collect::<Vec<_>>().join(" "),
        words.join(" "),
    )
}

fn read_of(tree: Tree) -> Result<Hgbm, String> {
    let model = Hgbm { trees: vec![tree], num_features: 2, ..Hgbm::default() };
    model.write().map_err(|error| error.to_string()).map(|bytes| Hgbm::read(&bytes).unwrap())
}

const fn node(threshold: f64, children: [u32; 2]) -> Node {
    Node::Split { feature: 1, threshold, less: false, default_left: false, children }
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
    let error = model.to_text("regression", &["x".to_owned(), "y".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("found several parents, expected one, or a form of LightGBM"), "{error}");
}

#[test]
fn trees_that_no_walk_ends_in_are_refused() {
    let leaf = Node::Leaf(1.0);
    let cases = [
        (vec![node(0.0, [0, 1]), leaf], "tree 0: found a cycle"),
        (vec![leaf, node(0.0, [2, 3]), node(0.0, [1, 3]), leaf], "tree 0: found a cycle"),
        (
            vec![node(0.0, [1, 7]), leaf],
            "tree 0, node 0: found the children [1, 7], expected -1, or nodes below 2",
        ),
        (
            vec![node(f64::INFINITY, [1, 1]), leaf],
            "tree 0, node 0: found the threshold inf, expected a finite number",
        ),
        (vec![Node::Leaf(f64::NAN)], "tree 0, node 0: found the leaf value NaN, expected a finite number"),
        (vec![], "tree 0: found 0 nodes, expected one at least"),
    ];
    for (tree, message) in cases {
        let error = read_of(tree).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

/// The base is added last, so that it is a last tree to LightGBM; others may compare with `<` anywhere.
#[test]
fn a_base_score_and_other_comparisons_keep_their_bits() {
    let of_forest = Hgbm::of_forest(&Forest::parse(FOREST.as_bytes()).unwrap()).unwrap();
    let less = Node::Split { feature: 0, threshold: 2.0, less: true, default_left: true, children: [1, 2] };
    let trees = [of_forest.trees, vec![vec![less, Node::Leaf(0.5), Node::Leaf(0.25)]]].concat();
    let model = Hgbm { base_score: 0.1, trees, num_features: 2, ..Hgbm::default() };
    let text = model.to_text("regression", &["x".to_owned(), "y".to_owned()]).unwrap();
    let back = Forest::parse(text.as_bytes()).unwrap();
    for row in [[0.5, 0.25], [2.0, f64::NAN], [2.0_f64.next_down(), 2.0], [31.0, -1.0], [f64::NAN, 1.0]] {
        assert_eq!(back.raw_score(&row).unwrap().to_bits(), walked(&model, &row).to_bits(), "{row:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_tree_is_walked_to_the_same_leaves(splits in splits()) {
        compare(&Forest::parse(text(&splits).as_bytes()).unwrap(), 300);
    }

    /// Damaged, a file is refused, or is another model that is as safe to walk.
    #[test]
    fn damaged_files_are_refused_or_safe(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(), is_cut in prop::bool::weighted(0.2)
    ) {
        let mut bytes = Hgbm::of_forest(&Forest::parse(FOREST.as_bytes()).unwrap()).unwrap().write().unwrap();
        for (at, with) in changes {
            let at = at.index(bytes.len());
            bytes[at] = with;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        check_bytes(&bytes);
    }
}
