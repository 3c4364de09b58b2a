//! Which problems were measured.

use std::collections::{BTreeMap, BTreeSet};

use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;

use ck_select_data::measurements::Measurements;

use crate::evaluate::slices::KINDS;

/// Maximum number of distinct values that are shown individually; more are binned by powers of two.
const VALUES: usize = 12;

/// A property of problems, with the number of problems of each value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Its name, such as `C` or `filter`.
    pub name: &'static str,
    /// Its values in order, with their problems.
    pub values: Vec<(String, usize)>,
}

/// Which problems were measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// The numbers that are not the same in all problems.
    pub numbers: Vec<Axis>,
    /// Kinds such as filter and groups, and the words that are not the same in all problems.
    pub kinds: Vec<Axis>,
    /// Rows.
    pub rows: usize,
    /// Pairs of a problem and a kernel that have a valid row.
    pub measured: usize,
    /// All pairs.
    pub possible: usize,
}

impl Coverage {
    pub(super) fn of(measurements: &Measurements) -> Self {
        let problems = measurements.problems();
        let op = measurements.wanted().op;
        let values: Vec<_> = problems.iter().map(Problem::values).collect();
        let fields = Problem::fields(op).iter().enumerate().filter(|(_, field)| field.is_number());
        let mut taken: Vec<(&'static str, Bins)> = Vec::new();
        for (place, field) in fields {
            let column: Vec<i64> = values.iter().map(|values| values[place]).collect();
            // Padding is often the same on both sides, and then listed once.
            let bins = Bins::of(&column);
            if bins.labels.len() > 1 && !taken.iter().any(|(_, known)| known.of == bins.of) {
                taken.push((field.name, bins));
            }
        }
        let mut pairs_measured: Vec<u64> = measurements
            .rows()
            .iter()
            .filter(|row| row.is_valid)
            .map(|row| u64::from(row.problem) << 32 | u64::from(row.kernel))
            .collect();
        pairs_measured.sort_unstable();
        pairs_measured.dedup();
        Self {
            numbers: taken.iter().map(|(name, bins)| Axis { name, values: bins.counts() }).collect(),
            kinds: kinds(problems, op),
            rows: measurements.rows().len(),
            measured: pairs_measured.len(),
            possible: problems.len() * measurements.kernels().len(),
        }
    }
}

/// The values of a number, or ranges of them, in order.
struct Bins {
    labels: Vec<String>,
    /// The bin of each problem's value.
    of: Vec<usize>,
}

impl Bins {
    fn of(column: &[i64]) -> Self {
        let distinct: BTreeSet<i64> = column.iter().copied().collect();
        if distinct.len() <= VALUES {
            let values: Vec<i64> = distinct.into_iter().collect();
            let of = column.iter().map(|value| values.partition_point(|known| known < value)).collect();
            return Self { labels: values.iter().map(ToString::to_string).collect(), of };
        }
        let power = |value: i64| 64 - value.max(0).leading_zeros();
        let powers: BTreeSet<u32> = column.iter().map(|&value| power(value)).collect();
        let powers: Vec<u32> = powers.into_iter().collect();
        let of = column.iter().map(|&value| powers.partition_point(|&known| known < power(value))).collect();
        let label = |&power: &u32| match power {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            power => format!("{}–{}", 1_u64 << (power - 1), (1_u64 << power) - 1),
        };
        Self { labels: powers.iter().map(label).collect(), of }
    }

    fn counts(&self) -> Vec<(String, usize)> {
        let mut counts = vec![0; self.labels.len()];
        self.of.iter().for_each(|&place| counts[place] += 1);
        self.labels.iter().cloned().zip(counts).collect()
    }
}

/// The kinds by which evaluations tell problems apart, and all words that differ.
fn kinds(problems: &[Problem], op: Op) -> Vec<Axis> {
    let mut kinds = Vec::new();
    let mut add = |name: &'static str, least: usize, of: &dyn Fn(&Problem) -> Option<String>| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for value in problems.iter().filter_map(of) {
            *counts.entry(value).or_default() += 1;
        }
        if counts.len() >= least {
            let mut values: Vec<(String, usize)> = counts.into_iter().collect();
            values.sort_by_key(|value| std::cmp::Reverse(value.1));
            kinds.push(Axis { name, values });
        }
    };
    for kind in &KINDS {
        add(kind.title, 1, &kind.of);
    }
    let words = Problem::fields(op).iter().enumerate().filter(|(_, field)| field.words().is_some());
    for (place, field) in words.filter(|(_, field)| KINDS.iter().all(|kind| kind.title != field.name)) {
        add(field.name, 2, &|problem| Some(field.text(problem.canonical().values()[place])));
    }
    add("arch", 2, &|problem| {
        Some(problem.arch().map_or_else(|| "not said".to_owned(), |arch| arch.to_string()))
    });
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_are_taken_together_by_powers_of_two() {
        let few = Bins::of(&[8, 1, 8, 3]);
        assert_eq!(few.counts(), [("1".to_owned(), 1), ("3".to_owned(), 1), ("8".to_owned(), 2)]);
        let many = Bins::of(&(0..20).collect::<Vec<i64>>());
        let found: Vec<(String, usize)> = many.counts();
        let found: Vec<(&str, usize)> = found.iter().map(|(label, count)| (label.as_str(), *count)).collect();
        assert_eq!(found, [("0", 1), ("1", 1), ("2–3", 2), ("4–7", 4), ("8–15", 8), ("16–31", 4)]);
    }

    /// Four kinds were listed here again, and `report` lacked layout, stride and channels.
    #[test]
    fn a_report_has_the_kinds_of_an_evaluation_once() {
        use ck_select_types::problem::ConvProblem;
        use ck_select_types::vocab::ConvLayout;

        let flat = ConvProblem { c: 64, k: 64, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let other = ConvProblem { layout: ConvLayout::Ngchw, ..flat };
        let found: Vec<&str> =
            kinds(&[flat.into(), other.into()], Op::Conv).iter().map(|axis| axis.name).collect();
        assert_eq!(found, KINDS.map(|kind| kind.title));
    }
}
