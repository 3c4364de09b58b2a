//! Questions, sorted so that one search answers all that a forest asks about one value.

use std::collections::HashMap;
use std::ops::Range;

use super::pool::Column;
use crate::forest::{Forest, Missing, Split, Tree, ZERO_THRESHOLD};

/// The number of a question in a forest. Equal questions of different nodes share it.
pub(super) type Question = u16;

/// All numeric questions about one column that treat missing values alike, by rising threshold; or one categorical
/// question.
///
/// Rising thresholds make a ladder: a value that is at most one threshold is at most every higher one, so that one
/// number, its [`position`](Self::position), answers all questions: those below it with no, the others with yes.
#[derive(Debug)]
pub(super) struct Ladder {
    pub(super) scope: Column,
    /// Index among the values of the column's scope.
    pub(super) column: usize,
    /// Its questions' numbers.
    pub(super) questions: Range<usize>,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    Numeric { thresholds: Vec<f64>, missing: Missing, default_left: bool },
    Categorical { words: Vec<u32> },
}

impl Ladder {
    /// A ladder of nothing but these thresholds, which rise.
    #[cfg(all(test, target_arch = "x86_64", not(miri)))]
    pub(super) fn of_thresholds(thresholds: Vec<f64>, missing: Missing, default_left: bool) -> Ladder {
        let questions = 0..thresholds.len();
        let rule = Rule::Numeric { thresholds, missing, default_left };
        Ladder { scope: Column::Pair, column: 0, questions, rule }
    }

    /// The thresholds of numeric questions, and how they treat missing values: which, and whether with yes.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn numeric(&self) -> Option<(&[f64], Missing, bool)> {
        match &self.rule {
            Rule::Numeric { thresholds, missing, default_left } => {
                Some((thresholds, *missing, *default_left))
            }
            Rule::Categorical { .. } => None,
        }
    }

    /// How many of the questions, from the first on, are answered with no for the value.
    pub(super) fn position(&self, value: f64) -> usize {
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
            Rule::Categorical { words } => usize::from(!contains(words, value)),
        }
    }
}

/// Membership as [`CategorySets::contains`](crate::forest::CategorySets::contains) has it.
fn contains(words: &[u32], value: f64) -> bool {
    const END: f64 = 2_147_483_648.0;
    if !(value > -1.0 && value < END) {
        return false;
    }
    let category = value as usize;
    words.get(category / 32).is_some_and(|word| word >> (category % 32) & 1 == 1)
}

/// All questions of a forest.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names)] // a list of what it is named for
pub(super) struct Ladders {
    pub(super) ladders: Vec<Ladder>,
    /// How many questions there are.
    pub(super) questions: usize,
    numbers: HashMap<Key, Question>,
}

/// What makes two nodes ask the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Numeric { feature: u32, missing: u8, default_left: bool, threshold: u64 },
    Categorical { feature: u32, words: Vec<u32> },
}

impl Key {
    fn new(tree: &Tree, feature: u32, split: Split) -> Key {
        match split {
            Split::Numeric { threshold, missing, default_left } => Key::Numeric {
                feature,
                missing: missing as u8,
                default_left,
                // Both zeros are one threshold.
                threshold: (threshold.get() + 0.0).to_bits(),
            },
            Split::Categorical { set } => {
                Key::Categorical { feature, words: tree.category_sets().words(set).to_vec() }
            }
        }
    }
}

impl Ladders {
    /// `None` when there are more questions than numbers for them.
    pub(super) fn new(forest: &Forest, columns: &[Column]) -> Option<Ladders> {
        let mut keys: HashMap<Key, Split> = HashMap::new();
        for tree in forest.trees() {
            for node in tree.nodes() {
                keys.entry(Key::new(tree, node.feature, node.split)).or_insert(node.split);
            }
        }
        if keys.len() > usize::from(Question::MAX) {
            return None;
        }
        let mut within = Vec::with_capacity(columns.len());
        let mut counts = HashMap::new();
        for &column in columns {
            let count = counts.entry(column as u8).or_insert(0usize);
            within.push(*count);
            *count += 1;
        }
        let mut keys: Vec<(Key, Split)> = keys.into_iter().collect();
        keys.sort_by(|(a, _), (b, _)| a.rank(columns).partial_cmp(&b.rank(columns)).unwrap_or(a.tie(b)));

        let mut all = Ladders::default();
        for (key, split) in keys {
            let number = all.questions;
            all.questions += 1;
            let feature = key.feature() as usize;
            match (&key, split) {
                (Key::Categorical { words, .. }, _) => {
                    all.start(columns[feature], within[feature], Rule::Categorical { words: words.clone() });
                }
                (Key::Numeric { .. }, Split::Numeric { threshold, missing, default_left }) => {
                    let goes_on = all.ladders.last_mut().filter(|last| {
                        last.scope == columns[feature]
                            && last.column == within[feature]
                            && matches!(&last.rule, Rule::Numeric { missing: m, default_left: d, .. }
                                if *m == missing && *d == default_left)
                    });
                    if let Some(Ladder { questions, rule: Rule::Numeric { thresholds, .. }, .. }) = goes_on {
                        thresholds.push(threshold.get());
                        questions.end += 1;
                    } else {
                        let rule = Rule::Numeric { thresholds: vec![threshold.get()], missing, default_left };
                        all.start(columns[feature], within[feature], rule);
                    }
                }
                (Key::Numeric { .. }, Split::Categorical { .. }) => {}
            }
            all.numbers.insert(key, number as Question);
        }
        Some(all)
    }

    fn start(&mut self, scope: Column, column: usize, rule: Rule) {
        self.ladders.push(Ladder { scope, column, questions: self.questions - 1..self.questions, rule });
    }

    /// The number of a node's question.
    pub(super) fn number(&self, tree: &Tree, feature: u32, split: Split) -> Question {
        // Every node's key was entered by `new`, so the fallback is never taken.
        self.numbers.get(&Key::new(tree, feature, split)).copied().unwrap_or(0)
    }

    /// The ladders of one scope.
    pub(super) fn of(&self, scope: Column) -> impl Iterator<Item = &Ladder> {
        self.ladders.iter().filter(move |ladder| ladder.scope == scope)
    }
}

impl Key {
    fn feature(&self) -> u32 {
        match self {
            Key::Numeric { feature, .. } | Key::Categorical { feature, .. } => *feature,
        }
    }

    /// Sorts questions by ladder, and by threshold within it. Thresholds are never NaN.
    fn rank(&self, columns: &[Column]) -> (u8, u32, u8, bool, f64) {
        let scope = columns[self.feature() as usize] as u8;
        match *self {
            Key::Numeric { feature, missing, default_left, threshold } => {
                (scope, feature, missing, default_left, f64::from_bits(threshold))
            }
            Key::Categorical { feature, .. } => (scope, feature, u8::MAX, false, 0.0),
        }
    }

    fn tie(&self, other: &Key) -> std::cmp::Ordering {
        let words = |key: &Key| match key {
            Key::Categorical { words, .. } => words.clone(),
            Key::Numeric { .. } => Vec::new(),
        };
        words(self).cmp(&words(other))
    }
}
