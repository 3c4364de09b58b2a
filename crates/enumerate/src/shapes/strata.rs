//! Strata of convolutions: a few classes by the properties that matter to kernels, and balanced choices from
//! them.

use std::collections::BTreeMap;
use std::fmt;

use ck_select_types::problem::{ConvProblem, Problem};

/// A class of convolutions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stratum {
    /// Spatial dimensions.
    pub ndim: u8,
    /// The largest extent of the filter.
    pub filter: i64,
    /// The largest stride.
    pub stride: i64,
    /// `dense` for one group, `depthwise` if every channel is a group, otherwise `grouped`.
    pub groups: &'static str,
    /// The largest extent of the input: `tiny` up to 4, `small` up to 16, `medium` up to 64, otherwise
    /// `large`.
    pub space: &'static str,
    /// The smaller number of channels: `tiny` up to 16, `small` up to 64, `medium` up to 256, otherwise
    /// `large`.
    pub channels: &'static str,
}

impl Stratum {
    /// The stratum of a problem.
    pub fn of(problem: &ConvProblem) -> Self {
        let largest = |axes: [i64; 3]| axes.into_iter().fold(1, i64::max);
        Self {
            ndim: problem.ndim,
            filter: largest(problem.filter),
            stride: largest(problem.stride),
            groups: match problem.g {
                1 => "dense",
                g if g == problem.c && g == problem.k => "depthwise",
                _ => "grouped",
            },
            space: size(largest(problem.input), [4, 16, 64]),
            channels: size(problem.c.min(problem.k), [16, 64, 256]),
        }
    }
}

impl fmt::Display for Stratum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ndim, filter, stride, groups, space, channels } = self;
        write!(f, "{ndim}D, filter {filter}, stride {stride}, {groups}, {space} maps, {channels} channels")
    }
}

fn size(value: i64, most: [i64; 3]) -> &'static str {
    const NAMES: [&str; 4] = ["tiny", "small", "medium", "large"];
    NAMES[most.iter().filter(|&&most| value > most).count()]
}

/// `count` of the problems in their order, equally many of each stratum: what a small stratum leaves of its
/// share goes to the larger ones, and a share is evenly spaced. GEMMs have no strata.
pub fn stratified(problems: &[Problem], count: usize) -> Vec<Problem> {
    let mut strata: BTreeMap<Stratum, Vec<usize>> = BTreeMap::new();
    for (place, problem) in problems.iter().enumerate() {
        if let Problem::Conv(problem) = problem {
            strata.entry(Stratum::of(problem)).or_default().push(place);
        }
    }
    let mut strata: Vec<Vec<usize>> = strata.into_values().collect();
    strata.sort_by_key(Vec::len);
    let (mut left, mut strata_left) = (count, strata.len());
    let mut places = Vec::with_capacity(count);
    for stratum in strata {
        let share = stratum.len().min(left / strata_left);
        places.extend(super::evenly(&stratum, share));
        left -= share;
        strata_left -= 1;
    }
    places.sort_unstable();
    places.into_iter().map(|place| problems[place]).collect()
}

#[cfg(test)]
mod tests {
    use ck_select_types::problem::ProblemDefaults;
    use ck_select_types::vocab::{Dtype, Op};

    use super::*;
    use crate::shapes::{Choice, sets};

    fn strata(problems: &[Problem]) -> BTreeMap<Stratum, usize> {
        let mut strata = BTreeMap::new();
        for problem in problems {
            let Problem::Conv(problem) = problem else { continue };
            *strata.entry(Stratum::of(problem)).or_default() += 1;
        }
        strata
    }

    #[test]
    fn shares_are_equal_where_strata_allow() {
        let synthetic = sets().unwrap().iter().find(|set| set.name == "synthetic").unwrap();
        let all = synthetic.problems(&Choice::new(Dtype::Bf16)).unwrap();
        let whole = strata(&all);
        for count in [1, 7, 100, 300, all.len(), all.len() + 1] {
            let chosen = stratified(&all, count);
            assert_eq!(chosen.len(), count.min(all.len()), "{count}");
            let part = strata(&chosen);
            // A stratum has fewer than another by more than one only if it is exhausted.
            let most = part.values().copied().max().unwrap();
            for (stratum, number) in &whole {
                let taken = part.get(stratum).copied().unwrap_or_default();
                assert!(taken == *number || taken + 1 >= most, "{stratum}: {taken} of {number}, {most}");
            }
            let mut rest = all.iter();
            assert!(chosen.iter().all(|problem| rest.any(|other| other == problem)), "their order");
        }
    }

    #[test]
    fn a_stratum_says_what_a_problem_is() {
        let text = "N=1,C=64,K=32,G=4,Hi=56,Wi=7,Y=3,X=1,stride_h=2";
        let problem = Problem::parse(Op::Conv, text, &ProblemDefaults::of(Op::Conv)).unwrap();
        let Problem::Conv(problem) = problem else { panic!() };
        assert_eq!(
            Stratum::of(&problem).to_string(),
            "2D, filter 3, stride 2, grouped, medium maps, small channels"
        );
    }
}
