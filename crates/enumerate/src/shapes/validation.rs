//! Problems for judging a model, none of which it was trained on.

use std::collections::HashSet;

use ck_select_types::problem::{ConvProblem, FmhaProblem, GemmProblem, Problem};
use ck_select_types::vocab::{ConvLayout, FmhaMask, Op};

use super::Choice;
use super::random::Random;

/// What to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// Number of problems.
    pub count: usize,
    /// The same seed gives the same problems.
    pub seed: u64,
    /// Whether one convolution in six is in three dimensions.
    pub three_d: bool,
    /// Whether convolutions have arbitrary numbers of channels, even odd ones, instead of only usual ones.
    pub any_channels: bool,
    /// Maximum work of a problem, in 10^9 operations.
    pub most_gflop: Option<f64>,
}

/// Random problems, none of which is in `known` with any type or direction.
///
/// Convolutions have log-uniform channels and batches, usual filters and strides, every fourth one groups.
/// GEMMs have log-uniform extents.
pub fn validation(op: Op, choice: &Choice, draw: &Draw, known: &[Problem]) -> Vec<Problem> {
    let known: HashSet<Key> = known.iter().map(key).collect();
    let mut random = Random::new(draw.seed);
    let mut seen = HashSet::new();
    let mut problems = Vec::new();
    // If nearly all possible problems are known, the set would never be complete.
    let mut attempts = draw.count.saturating_mul(1000);
    while problems.len() < draw.count && attempts > 0 {
        attempts -= 1;
        let problem = match op {
            Op::Gemm => gemm(choice, &mut random),
            Op::Conv => conv(choice, draw, problems.len() % 6 == 5, &mut random),
            Op::Fmha => attention(choice, &mut random),
        };
        let key = key(&problem);
        let fits = draw.most_gflop.is_none_or(|most| problem.flops() <= most * 1e9);
        if fits && problem.validate().is_ok() && !known.contains(&key) && seen.insert(key) {
            problems.push(problem);
        }
    }
    problems
}

/// What makes two problems the same for this purpose.
pub(super) type Key = [i64; 22];

pub(super) fn key(problem: &Problem) -> Key {
    let mut key = [0; 22];
    match problem {
        Problem::Gemm(p) => key[..4].copy_from_slice(&[p.m, p.n, p.k, p.split_k.into()]),
        Problem::Fmha(p) => {
            key[..13].copy_from_slice(&p.columns());
            key[13] = p.mask as i64;
        }
        Problem::Conv(p) => {
            let axes = [p.input, p.filter, p.stride, p.dilation, p.pad_left, p.pad_right];
            let values = [p.n, p.c, p.k, p.g].into_iter().chain(axes.into_iter().flatten());
            for (slot, value) in key.iter_mut().zip(values) {
                *slot = value;
            }
        }
    }
    key
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

fn conv(choice: &Choice, draw: &Draw, sixth: bool, random: &mut Random) -> Problem {
    let three_d = draw.three_d && sixth;
    let filter = [1, 1, 3, 3, 3, 5, 7][random.below(7)];
    let stride = [1, 1, 1, 2][random.below(4)];
    let groups = random.below(4) == 0;
    let g = if groups { 1 << (1 + random.below(5)) } else { 1 };
    let channels = if draw.any_channels { any } else { stepped };
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

    const DRAW: Draw = Draw { count: 300, seed: 42, three_d: true, any_channels: false, most_gflop: None };

    fn convolutions(draw: Draw) -> Vec<ConvProblem> {
        let problems = validation(Op::Conv, &Choice::new(Dtype::Bf16), &draw, &[]);
        problems.into_iter().filter_map(|p| if let Problem::Conv(p) = p { Some(p) } else { None }).collect()
    }

    #[test]
    fn work_is_bounded() {
        let most = |draw| convolutions(draw).iter().map(|p| p.flops() / 1e9).fold(0.0, f64::max);
        assert!(most(DRAW) > 50.0);
        assert!(most(Draw { most_gflop: Some(50.0), ..DRAW }) <= 50.0);
    }

    #[test]
    fn channels_are_usual_ones_or_any() {
        let odd = |draw| convolutions(draw).iter().filter(|p| p.c / p.g % 2 == 1).count();
        let usual = odd(DRAW);
        let any = odd(Draw { any_channels: true, ..DRAW });
        assert!(usual <= 5 && (100..200).contains(&any), "{usual} and {any} of 300 odd");
    }

    #[test]
    fn sets_are_seeded_full_and_apart_from_what_is_known() {
        let choice = Choice::new(Dtype::Bf16);
        for op in [Op::Conv, Op::Gemm, Op::Fmha] {
            let first = validation(op, &choice, &DRAW, &[]);
            assert_eq!(first.len(), 300);
            assert_eq!(first, validation(op, &choice, &DRAW, &[]));
            assert_ne!(first, validation(op, &choice, &Draw { seed: 43, ..DRAW }, &[]));
            let apart = validation(op, &choice, &DRAW, &first);
            assert!(apart.iter().all(|problem| !first.contains(problem)) && apart.len() == 300);
        }
        let problems = convolutions(DRAW);
        assert_eq!(problems.iter().filter(|p| p.ndim == 3).count(), 50);
    }
}
