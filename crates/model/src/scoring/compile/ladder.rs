//! Questions, sorted so that one search answers all of a forest's questions about one value.

use std::ops::Range;

use crate::forest::{CategorySets, Forest, Missing, Split, ZERO_THRESHOLD};
use crate::scoring::compile::lanes::Column;

/// The number of a question in a forest. Equal questions of different nodes share it.
pub(in crate::scoring) type Question = u16;

/// All numeric questions about one column that treat missing values alike, by ascending threshold; or one
/// categorical question. Ascending thresholds make a ladder: a value that is at most one threshold is at most
/// every higher one, so one number, its [`position`](Self::position), answers all questions: those below it
/// with no, the others with yes.
#[derive(Debug, Clone)]
pub(in crate::scoring) struct Ladder {
    pub(in crate::scoring) scope: Column,
    /// Index among the values of the column's scope.
    pub(in crate::scoring) column: usize,
    /// The numbers of the ladder's questions.
    pub(in crate::scoring) questions: Range<usize>,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    Numeric { thresholds: Vec<f64>, missing: Missing, default_left: bool },
    Categorical { words: Vec<u32> },
}

impl Ladder {
    /// A ladder of only these thresholds, which must be ascending.
    #[cfg(all(test, target_arch = "x86_64", not(miri)))]
    pub(in crate::scoring) fn from_thresholds(
        thresholds: Vec<f64>,
        missing: Missing,
        default_left: bool,
    ) -> Ladder {
        let questions = 0..thresholds.len();
        let rule = Rule::Numeric { thresholds, missing, default_left };
        Ladder { scope: Column::Pair, column: 0, questions, rule }
    }

    /// The thresholds of numeric questions, and how they treat missing values: which ones, and whether the
    /// answer is yes.
    pub(in crate::scoring) fn numeric(&self) -> Option<(&[f64], Missing, bool)> {
        match &self.rule {
            Rule::Numeric { thresholds, missing, default_left } => {
                Some((thresholds, *missing, *default_left))
            }
            Rule::Categorical { .. } => None,
        }
    }

    /// The ladder's questions as ladders of so few that positions are bytes.
    pub(in crate::scoring) fn into_short(self) -> impl Iterator<Item = Ladder> {
        const MOST: usize = u8::MAX as usize;
        let Ladder { scope, column, questions, rule } = self;
        let count = questions.len();
        (0..count).step_by(MOST).map(move |first| {
            let steps = first..count.min(first + MOST);
            let rule = match &rule {
                Rule::Numeric { thresholds, missing, default_left } => Rule::Numeric {
                    thresholds: thresholds[steps.clone()].to_vec(),
                    missing: *missing,
                    default_left: *default_left,
                },
                Rule::Categorical { words } => Rule::Categorical { words: words.clone() },
            };
            let questions = questions.start + steps.start..questions.start + steps.end;
            Ladder { scope, column, questions, rule }
        })
    }

    /// The number of questions, from the first one, that are answered with no for the value.
    pub(in crate::scoring) fn position(&self, value: f64) -> usize {
        match &self.rule {
            Rule::Numeric { thresholds, missing, default_left } => {
                let zero = value.abs() <= ZERO_THRESHOLD;
                let absent = match missing {
                    Missing::Never => false,
                    Missing::Zero => zero || value.is_nan(),
                    Missing::Nan => value.is_nan(),
                };
                if absent {
                    return if *default_left { 0 } else { thresholds.len() };
                }
                let value = if zero || value.is_nan() { 0.0 } else { value };
                thresholds.partition_point(|&threshold| threshold < value)
            }
            Rule::Categorical { words } => usize::from(!CategorySets::has(words, value)),
        }
    }
}

/// All questions of a forest, in a reproducible order.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names)] // a list of what it is named for
pub(in crate::scoring) struct Ladders {
    pub(in crate::scoring) ladders: Vec<Ladder>,
    /// How many questions there are.
    pub(in crate::scoring) questions: usize,
}

/// The number of each node's question, for the layout of cells.
#[derive(Debug)]
pub(in crate::scoring) struct Numbers {
    /// The number of each tree's first node.
    starts: Vec<usize>,
    questions: Vec<Question>,
}

impl Numbers {
    /// The number of the question of one of a tree's nodes.
    pub(in crate::scoring) fn question(&self, tree: usize, node: usize) -> Question {
        self.questions[self.starts[tree] + node]
    }
}

/// The questions of a forest's nodes about one feature; nodes are numbered across all trees.
#[derive(Default)]
struct FeatureQuestions<'a> {
    /// Numeric questions by treatment of missing values: the threshold's [`rank`], and the node.
    numeric: [Vec<(u64, u32)>; 6],
    /// The set of categories, and the node.
    categorical: Vec<(&'a [u32], u32)>,
}

impl Ladders {
    /// `None` if there are more questions or nodes than numbers for them.
    pub(in crate::scoring) fn new(forest: &Forest, columns: &[Column]) -> Option<(Ladders, Numbers)> {
        let mut asked: Vec<FeatureQuestions<'_>> =
            columns.iter().map(|_| FeatureQuestions::default()).collect();
        let mut starts = Vec::with_capacity(forest.trees().len());
        let mut nodes: u32 = 0;
        for tree in forest.trees() {
            starts.push(nodes as usize);
            for node in tree.nodes() {
                let asked = &mut asked[node.feature as usize];
                match node.split {
                    Split::Numeric { threshold, missing, default_left } => {
                        let rule = missing as usize * 2 + usize::from(default_left);
                        asked.numeric[rule].push((rank(threshold.get()), nodes));
                    }
                    Split::Categorical { set } => {
                        asked.categorical.push((tree.category_sets().words(set), nodes));
                    }
                }
                nodes = nodes.checked_add(1)?;
            }
        }
        let mut numbers = Numbers { starts, questions: vec![0; nodes as usize] };
        let mut all = Ladders::default();
        for scope in [Column::Uniform, Column::Kernel, Column::Pair] {
            let features = columns.iter().zip(&mut asked).filter(|(column, _)| **column == scope);
            for (column, (_, asked)) in features.enumerate() {
                all.add(scope, column, asked, &mut numbers.questions);
                if all.questions > usize::from(Question::MAX) {
                    return None;
                }
            }
        }
        Some((all, numbers))
    }

    /// Adds the questions about one column, and sets the number of each node's question.
    fn add(
        &mut self,
        scope: Column,
        column: usize,
        asked: &mut FeatureQuestions<'_>,
        numbers: &mut [Question],
    ) {
        for (rule, ladder) in asked.numeric.iter_mut().enumerate().filter(|(_, ladder)| !ladder.is_empty()) {
            ladder.sort_unstable_by_key(|&(rank, _)| rank);
            let start = self.questions;
            let mut thresholds = Vec::new();
            for question in ladder.chunk_by(|(a, _), (b, _)| a == b) {
                for &(_, node) in question {
                    numbers[node as usize] = self.questions as Question;
                }
                thresholds.push(threshold(question[0].0));
                self.questions += 1;
            }
            let missing = [Missing::Never, Missing::Zero, Missing::Nan][rule / 2];
            let rule = Rule::Numeric { thresholds, missing, default_left: rule % 2 == 1 };
            self.ladders.push(Ladder { scope, column, questions: start..self.questions, rule });
        }
        asked.categorical.sort_unstable();
        for question in asked.categorical.chunk_by(|(a, _), (b, _)| a == b) {
            for &(_, node) in question {
                numbers[node as usize] = self.questions as Question;
            }
            let rule = Rule::Categorical { words: question[0].0.to_vec() };
            self.ladders.push(Ladder { scope, column, questions: self.questions..self.questions + 1, rule });
            self.questions += 1;
        }
    }

    /// The ladders of one scope.
    pub(in crate::scoring) fn in_scope(&self, scope: Column) -> impl Iterator<Item = &Ladder> {
        self.ladders.iter().filter(move |ladder| ladder.scope == scope)
    }

    /// The questions of a scope, which are contiguous.
    pub(in crate::scoring) fn range(&self, scope: Column) -> Range<usize> {
        let start = self.in_scope(scope).next().map_or(0, |ladder| ladder.questions.start);
        start..self.in_scope(scope).last().map_or(0, |ladder| ladder.questions.end)
    }
}

const SIGN: u64 = 1 << 63;

/// A number that orders like the threshold, which is not NaN. Both zeros are the same threshold.
fn rank(threshold: f64) -> u64 {
    let bits = (threshold + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The threshold of a rank.
fn threshold(rank: u64) -> f64 {
    f64::from_bits(if rank & SIGN == 0 { !rank } else { rank & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::texts;

    /// A forest of trees with one node each: ascending and descending thresholds, and categories.
    fn forest(sets: u32) -> Forest {
        let trees = (0..2 * sets).map(|tree| {
            let set = (tree * 7 + 3) % sets;
            if tree % 2 == 0 {
                return format!(
                    "num_leaves=2\nleaf_value=1 2\nleft_child=-1\nright_child=-2\nnum_cat=1\nsplit_feature=0\n\
                     threshold=0\ndecision_type=1\ncat_boundaries=0 1\ncat_threshold={}\n",
                    set + 1
                );
            }
            texts::stump(1, f64::from(set) - 4.5, [0, 2, 8, 10][tree as usize / 2 % 4], [1.0, 2.0])
        });
        Forest::parse(texts::forest(&["a", "b"], trees).as_bytes()).unwrap()
    }

    /// Categorical questions used to be in the order of a hash map, which varies (c4e009ec).
    #[test]
    fn questions_have_the_same_order_each_time() {
        let forest = forest(40);
        let made = || format!("{:?}", Ladders::new(&forest, &[Column::Uniform, Column::Pair]).unwrap());
        let first = made();
        assert!((0..5).all(|_| made() == first));
        let (ladders, _) = Ladders::new(&forest, &[Column::Uniform, Column::Pair]).unwrap();
        let words = ladders.in_scope(Column::Uniform).map(|ladder| match &ladder.rule {
            Rule::Categorical { words } => words[0],
            Rule::Numeric { .. } => 0,
        });
        assert!(words.is_sorted_by(|a, b| a < b));
    }

    /// Each node's number leads back to its own question.
    #[test]
    fn numbers_are_of_the_nodes_questions() {
        let forest = forest(40);
        let (ladders, numbers) = Ladders::new(&forest, &[Column::Kernel, Column::Pair]).unwrap();
        for (number, tree) in forest.trees().iter().enumerate() {
            let (node, question) = (tree.node(0), usize::from(numbers.question(number, 0)));
            let ladder = ladders.ladders.iter().find(|ladder| ladder.questions.contains(&question)).unwrap();
            match (&ladder.rule, node.split) {
                (Rule::Categorical { words }, Split::Categorical { set }) => {
                    assert_eq!(words, tree.category_sets().words(set));
                }
                (rule @ Rule::Numeric { .. }, Split::Numeric { threshold, missing, default_left }) => {
                    let Rule::Numeric { thresholds, missing: found, default_left: left } = rule else {
                        panic!()
                    };
                    assert_eq!(thresholds[question - ladder.questions.start], threshold.get());
                    assert_eq!((*found, *left), (missing, default_left));
                    assert!(thresholds.is_sorted_by(|a, b| a < b));
                }
                (rule, split) => panic!("{rule:?} for {split:?}"),
            }
        }
    }

    #[test]
    fn ranks_order_as_thresholds_do() {
        let rising = [f64::NEG_INFINITY, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
        assert!(rising.is_sorted_by(|&a, &b| rank(a) < rank(b)));
        assert!(rising.iter().all(|&number| threshold(rank(number)).to_bits() == number.to_bits()));
        assert_eq!(rank(-0.0), rank(0.0));
    }
}
