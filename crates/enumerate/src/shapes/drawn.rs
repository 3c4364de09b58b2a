//! Problems for judging a model, drawn at random.

use ck_select_types::problem::{ConvProblem, FmhaProblem, GemmProblem, Problem};
use ck_select_types::vocab::{ConvLayout, FmhaMask, Op};
use serde::Deserialize;

use super::Choice;

/// What to draw.
///
/// Convolutions have log-uniform channels and batches, usual filters and strides, every fourth one groups; in
/// three dimensions are one in six, if any. GEMMs have log-uniform extents.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draw {
    /// Number of problems.
    count: usize,
    /// Whether convolutions have arbitrary numbers of channels, even odd ones, instead of only usual ones.
    #[serde(default)]
    any_channels: bool,
    /// Maximum work of a problem, in 10^9 operations, which bounds a sweep's time.
    #[serde(default)]
    most_gflop: Option<f64>,
}

impl Draw {
    /// Random problems; the same seed gives the same ones.
    pub(super) fn problems(&self, op: Op, choice: &Choice) -> Vec<Problem> {
        let mut random = Random(choice.seed);
        let mut problems = Vec::new();
        // No attention has some types: such a set has no problem.
        for _ in 0..self.count * 1000 {
            if problems.len() == self.count {
                break;
            }
            let problem = match op {
                Op::Gemm => gemm(choice, &mut random),
                Op::Conv => self.conv(choice, problems.len() % 6 == 5, &mut random),
                Op::Fmha => attention(choice, &mut random),
            };
            let fits = self.most_gflop.is_none_or(|most| problem.flops() <= most * 1e9);
            if fits && problem.validate().is_ok() && !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        problems
    }

    fn conv(&self, choice: &Choice, sixth: bool, random: &mut Random) -> Problem {
        let three_d = choice.ndim == 3 && sixth;
        let filter = [1, 1, 3, 3, 3, 5, 7][random.below(7)];
        let stride = [1, 1, 1, 2][random.below(4)];
        let groups = random.below(4) == 0;
        let g = if groups { 1 << (1 + random.below(5)) } else { 1 };
        let channels = if self.any_channels { any } else { stepped };
        let (least, most) = if groups { (2, 6) } else { (4, 10) };
        let c = g * channels(random, least, most);
        let k = g * channels(random, least, most);
        let extent = any(random, 3, if three_d { 6 } else { 8 });
        let pad = if random.below(5) == 0 { 0 } else { (filter - 1) / 2 };
        let axes = |value: i64, neutral: i64| [if three_d { value } else { neutral }, value, value];
        let width = if random.below(4) == 0 { any(random, 3, if three_d { 6 } else { 8 }) } else { extent };
        let depth = if three_d { any(random, 2, 5) } else { 1 };
        ConvProblem {
            direction: choice.direction,
            ndim: if three_d { 3 } else { 2 },
            n: stepped(random, 0, if three_d { 3 } else { 6 }),
            c,
            k,
            g,
            input: [depth, extent, width],
            filter: axes(filter, 1),
            stride: axes(stride, 1),
            dilation: [1; 3],
            pad_left: axes(pad, 0),
            pad_right: axes(pad, 0),
            split_k: 1,
            dtype_in: choice.dtype,
            dtype_wei: choice.dtype,
            dtype_out: choice.dtype,
            layout: ConvLayout::Nhwgc,
            arch: None,
        }
        .into()
    }
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(word ^ (word >> 31)) * bound as u128) >> 64) as usize
    }
}

/// A power of two, or one and a half of it, between 2^`least` and 2^`most`.
fn stepped(random: &mut Random, least: usize, most: usize) -> i64 {
    let value = 1i64 << (least + random.below(most - least + 1));
    if value >= 2 && random.below(3) == 0 { value / 2 * 3 } else { value }
}

/// Any number with this range of bits, so that all magnitudes are equally likely.
fn any(random: &mut Random, least: usize, most: usize) -> i64 {
    let high = 1i64 << (least + random.below(most - least));
    high + random.below(high as usize) as i64
}

fn gemm(choice: &Choice, random: &mut Random) -> Problem {
    let m = if random.below(4) == 0 { any(random, 0, 12) } else { stepped(random, 0, 13) };
    let n = 8 * any(random, 1, 11);
    let k = 8 * any(random, 1, 11);
    GemmProblem::new(m, n, k).of(choice.dtype).into()
}

/// A random attention: prefill, decoding, or cross-attention.
fn attention(choice: &Choice, random: &mut Random) -> Problem {
    let length = |random: &mut Random, least: usize, most: usize| {
        let power = 1_i64 << (least + random.below(most - least + 1));
        if random.below(3) == 0 {
            power - random.below(power.unsigned_abs() as usize / 4 + 1) as i64
        } else {
            power
        }
    };
    let lengths = match random.below(4) {
        0 => [1, length(random, 8, 15)],
        1 => [length(random, 5, 12), length(random, 5, 12)],
        _ => [length(random, 6, 13); 2],
    };
    let hdim = [32, 64, 64, 80, 128, 128, 128, 256][random.below(8)];
    let nhead_k = [1, 2, 4, 8, 16, 32][random.below(6)];
    let shared = [1, 1, 2, 4, 8][random.below(5)];
    let masks = [FmhaMask::No, FmhaMask::BottomRight];
    FmhaProblem {
        batch: 1 << random.below(7),
        nhead_k,
        mask: masks[random.below(2)],
        dtype: choice.dtype,
        ..FmhaProblem::new(lengths, nhead_k * shared, hdim)
    }
    .into()
}

#[cfg(test)]
mod tests {
    use ck_select_types::vocab::Dtype;

    use super::*;

    #[test]
    fn work_is_bounded_and_channels_are_any() {
        let usual = Draw { count: 300, any_channels: false, most_gflop: None };
        let bounded = Draw { any_channels: true, most_gflop: Some(50.0), ..usual };
        let found = |draw: Draw| {
            let problems = draw.problems(Op::Conv, &Choice { ndim: 3, ..Choice::new(Dtype::Bf16) });
            let most = problems.iter().map(|problem| problem.flops() / 1e9).fold(0.0, f64::max);
            let convs = problems.iter().filter_map(|p| if let Problem::Conv(p) = p { Some(p) } else { None });
            let odd = convs.clone().filter(|p| p.c / p.g % 2 == 1).count();
            (odd, convs.filter(|p| p.ndim == 3).count(), most > 50.0)
        };
        let ((few, in_three, unbounded), (many, _, still)) = (found(usual), found(bounded));
        assert!(few <= 5 && (100..200).contains(&many), "{few} and {many} of 300 odd");
        assert_eq!((in_three, unbounded, still), (50, true, false));
    }
}
