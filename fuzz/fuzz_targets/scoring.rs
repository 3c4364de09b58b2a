#![no_main]
//! A random forest, pool and call, all made of the input: every way of scoring gives the scalar scorer's
//! bits, and a shortlist has the best kernels. Debug assertions are on, so that indexing is checked, too.

use std::fmt::Write;
use std::sync::Arc;

use ck_select::forest::Forest;
use ck_select::scoring::{Column, PoolScorer, PoolTable, Scratch, Wanted};
use libfuzzer_sys::fuzz_target;

/// Values on, beside and far from the thresholds, and all that is special.
const VALUES: [f64; 20] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    1.000_000_001e-35,
    -1e-34,
    0.5,
    -0.5,
    1.0,
    1.5,
    3.0,
    7.0,
    33.0,
    64.0,
    -1.0,
    1e300,
    2_147_483_648.0,
];
const THRESHOLDS: [f64; 12] = [
    -0.0,
    0.0,
    1.000_000_018_002_509_5e-35,
    -1.000_000_018_002_509_5e-35,
    0.5,
    1.0,
    1.5,
    3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -1.0,
    33.0,
];

/// The input as numbers, and a generator that goes on from them when they end.
struct Tape<'a> {
    bytes: std::slice::Iter<'a, u8>,
    state: u64,
}

impl Tape<'_> {
    fn below(&mut self, end: usize) -> usize {
        let byte = self.bytes.next().copied();
        self.state =
            self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(u64::from(byte.unwrap_or(91)));
        match byte {
            Some(byte) if end <= 256 => usize::from(byte) % end,
            _ => (self.state >> 33) as usize % end,
        }
    }

    fn value(&mut self) -> f64 {
        VALUES[self.below(VALUES.len())]
    }
}

fn tree(tape: &mut Tape<'_>, text: &mut String, number: usize, features: usize) {
    let leaves = 1 + tape.below(40);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut place: Vec<Option<(usize, bool)>> = vec![None];
    for node in 0..leaves - 1 {
        let leaf = tape.below(place.len());
        if let Some((parent, is_left)) = place[leaf] {
            if is_left { left[parent] = node as i64 } else { right[parent] = node as i64 }
        }
        left.push(!(leaf as i64));
        right.push(!(place.len() as i64));
        place[leaf] = Some((node, true));
        place.push(Some((node, false)));
    }
    let (mut splits, mut thresholds, mut types, mut sets) = (vec![], vec![], vec![], vec![]);
    for _ in 1..leaves {
        splits.push(tape.below(features).to_string());
        if tape.below(6) == 0 {
            thresholds.push(sets.len().to_string());
            sets.push(tape.below(usize::MAX) as u32);
            types.push("1");
        } else {
            thresholds.push(format!("{:?}", THRESHOLDS[tape.below(THRESHOLDS.len())]));
            types.push(["0", "2", "4", "6", "8", "10"][tape.below(6)]);
        }
    }
    let join = |numbers: &[i64]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let values =
        |tape: &mut Tape<'_>| (tape.below(1 << 20) as f64 - 5e5) * [1e-7, 3e-3, 1e-12][tape.below(3)];
    let values: Vec<String> = (0..leaves).map(|_| format!("{:?}", values(tape))).collect();
    let ones = vec!["1"; leaves];
    let _ = write!(
        text,
        "Tree={number}\nnum_leaves={leaves}\nnum_cat={}\nsplit_feature={}\nthreshold={}\ndecision_type={}\n\
         left_child={}\nright_child={}\nleaf_value={}\nleaf_count={}\ninternal_count={}\n",
        sets.len(),
        splits.join(" "),
        thresholds.join(" "),
        types.join(" "),
        join(&left),
        join(&right),
        values.join(" "),
        ones.join(" "),
        ones[1..].join(" "),
    );
    if !sets.is_empty() {
        let bounds: Vec<i64> = (0..=sets.len() as i64).collect();
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "cat_boundaries={}\ncat_threshold={}", join(&bounds), sets.join(" "));
    }
    text.push_str("is_linear=0\nshrinkage=1\n\n");
}

fn forest(tape: &mut Tape<'_>, features: usize) -> Arc<Forest> {
    let names: Vec<String> = (0..features).map(|feature| format!("f{feature}")).collect();
    let mut text = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\n\
         objective=regression\nfeature_names={}\nfeature_infos={}\n\n",
        features - 1,
        names.join(" "),
        vec!["[-100:100]"; features].join(" ")
    );
    for number in 0..1 + tape.below(24) {
        tree(tape, &mut text, number, features);
    }
    text.push_str("end of trees\n");
    Arc::new(Forest::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

fuzz_target!(|bytes: &[u8]| {
    let tape = &mut Tape { bytes: bytes.iter(), state: 1 };
    let features = 1 + tape.below(12);
    let kernels = [1, 2, 7, 8, 30, 32, 33, 64, 65, 300, 513][tape.below(11)];
    let forest = forest(tape, features);
    let columns: Vec<Column> =
        (0..features).map(|_| [Column::Uniform, Column::Kernel, Column::Pair][tape.below(3)]).collect();
    let width = |scope| columns.iter().filter(|&&column| column == scope).count();
    let kernel_values: Vec<f64> = (0..kernels * width(Column::Kernel)).map(|_| tape.value()).collect();
    let most = 1 + tape.below(kernels.min(40));
    let classes: Vec<u32> = (0..kernels).map(|_| tape.below(most) as u32).collect();
    let class_count = classes.iter().max().map_or(0, |&last| last as usize + 1);
    let table = PoolTable { columns: &columns, classes: &classes, kernel_values: &kernel_values };
    let mut scorers = PoolScorer::compile_for_all(&forest, &table).expect("a table of the forest's width");
    scorers.push(PoolScorer::deferred(&forest, &table).expect("a table of the forest's width"));
    let mut scratch = Scratch::new();
    for _ in 0..3 {
        let uniform: Vec<f64> = (0..width(Column::Uniform)).map(|_| tape.value()).collect();
        let pair: Vec<f64> = (0..class_count * width(Column::Pair)).map(|_| tape.value()).collect();
        let row = |kernel: usize| -> Vec<f64> {
            let (mut uniform, mut pairs) = (uniform.iter(), 0..);
            let mut own = kernel_values[kernel * width(Column::Kernel)..].iter();
            let value = |column: &Column| match column {
                Column::Uniform => *uniform.next().expect("one a column"),
                Column::Kernel => *own.next().expect("one a column"),
                Column::Pair => pair[pairs.next().expect("no end") * class_count + classes[kernel] as usize],
            };
            columns.iter().map(value).collect()
        };
        let expected: Vec<f64> =
            (0..kernels).map(|kernel| forest.raw_score(&row(kernel)).expect("a value a feature")).collect();
        let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
        let wanted = Wanted { count: 1 + tape.below(32), highest: tape.below(2) == 0 };
        for scorer in &scorers {
            let mut scores = vec![f64::NAN; kernels];
            scorer.score(&uniform, &pair, &mut scratch, &mut scores).expect("the scorer's sizes");
            assert_eq!(bits(&scores), bits(&expected), "{}", scorer.describe());
            let listed = scorer.shortlist(&uniform, &pair, wanted, |_| true, &mut scratch).expect("the same");
            if listed {
                let better = |a: f64, b: f64| if wanted.highest { a > b } else { a < b };
                let on_it: Vec<usize> = scratch.shortlist().iter().map(|one| one.kernel).collect();
                for one in scratch.shortlist() {
                    assert_eq!(one.score.to_bits(), expected[one.kernel].to_bits());
                }
                let off_it = (0..kernels).filter(|kernel| !on_it.contains(kernel));
                assert!(off_it.map(|kernel| expected[kernel]).all(|score| !better(score, scratch.beyond())));
            }
        }
    }
});
