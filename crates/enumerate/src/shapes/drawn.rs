//! Problems for judging a model, drawn at random.

use ck_select_types::each_operation;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;
use serde::Deserialize;

use super::Choice;

/// Problems to draw.
///
/// Convolutions have log-uniform channels and batches, usual filters and strides, and every fourth one has
/// groups; one in six has three dimensions, if any has. GEMMs have log-uniform extents.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draw {
    /// Number of problems.
    count: usize,
    /// Whether convolutions have arbitrary numbers of channels, even odd ones, instead of only usual ones.
    #[serde(default)]
    pub(crate) any_channels: bool,
    /// Maximum work of a problem, in 10^9 operations, which bounds a sweep's time.
    #[serde(default)]
    most_gflop: Option<f64>,
}

/// Problems of an operation of which there are sets.
pub(crate) trait OperationShapes: Sized {
    /// A random problem, of which so many were drawn before.
    fn draw(draw: &Draw, choice: &Choice, number: usize, random: &mut Random) -> Self;

    /// Whether all kernels can address its operands.
    fn is_small(&self) -> bool {
        true
    }
}

impl Draw {
    /// Random problems; the same seed gives the same ones.
    pub(crate) fn problems(&self, op: Op, choice: &Choice) -> Vec<Problem> {
        let mut random = Random(choice.seed);
        let mut problems = Vec::new();
        // No attention has some types: such a set has no problem.
        for _ in 0..self.count * 1000 {
            if problems.len() == self.count {
                break;
            }
            let problem: Problem =
                each_operation!(op, Own => Own::draw(self, choice, problems.len(), &mut random).into());
            let fits = self.most_gflop.is_none_or(|most| problem.flops() <= most * 1e9);
            if fits && problem.validate().is_ok() && !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        problems
    }
}

/// `SplitMix64`.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(word ^ (word >> 31)) * bound as u128) >> 64) as usize
    }
}

/// A power of two, or one and a half of it, between 2^`least` and 2^`most`.
pub(crate) fn stepped(random: &mut Random, least: usize, most: usize) -> i64 {
    let value = 1i64 << (least + random.below(most - least + 1));
    if value >= 2 && random.below(3) == 0 { value / 2 * 3 } else { value }
}

/// Any number with this range of bits, so that all magnitudes are equally likely.
pub(crate) fn any(random: &mut Random, least: usize, most: usize) -> i64 {
    let high = 1i64 << (least + random.below(most - least));
    high + random.below(high as usize) as i64
}

#[cfg(test)]
mod tests {
    use ck_select_types::vocab::Dtype;

    use super::*;

    #[test]
    fn work_is_bounded_and_channels_are_any() {
        let usual = Draw { count: 300, any_channels: false, most_gflop: None };
        let bounded = Draw { any_channels: true, most_gflop: Some(50.0), ..usual };
        let shapes = |draw: Draw| {
            let problems = draw.problems(Op::Conv, &Choice { ndim: 3, ..Choice::new(Dtype::Bf16) });
            let most = problems.iter().map(|problem| problem.flops() / 1e9).fold(0.0, f64::max);
            let convs = problems.iter().filter_map(|p| if let Problem::Conv(p) = p { Some(p) } else { None });
            let odd = convs.clone().filter(|p| p.c / p.g % 2 == 1).count();
            (odd, convs.filter(|p| p.ndim == 3).count(), most > 50.0)
        };
        let ((few, in_three, unbounded), (many, _, still)) = (shapes(usual), shapes(bounded));
        assert!(few <= 5 && (100..200).contains(&many), "{few} and {many} of 300 odd");
        assert_eq!((in_three, unbounded, still), (50, true, false));
    }
}
