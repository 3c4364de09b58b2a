//! Problems as a few machine words, to be compared and hashed fast.

use super::{GemmRequest, Problem};
use crate::kernel::Mnk;

/// How many words a problem takes.
pub const WORDS: usize = 14;

impl Problem {
    /// The problem as words: equal problems have equal words, different ones different words. `None` when a
    /// number needs more than 31 bits, which no valid problem does, and for a list of GEMMs, which needs more
    /// words.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "its caller compares the words at once, on the way of a repeated selection"
    )]
    pub fn words(&self) -> Option<[u64; WORDS]> {
        let mut words = [0; WORDS];
        let (head, split_k, arch) = match self {
            Self::Conv(p) => {
                let head = [
                    0,
                    p.direction as u8,
                    p.ndim,
                    p.dtype_in as u8,
                    p.dtype_wei as u8,
                    p.dtype_out as u8,
                    p.layout as u8,
                    0,
                ];
                let [i, f, s, d, l, r] = [p.input, p.filter, p.stride, p.dilation, p.pad_left, p.pad_right];
                words[3..].copy_from_slice(&pack([
                    [p.n, p.c],
                    [p.k, p.g],
                    [i[0], i[1]],
                    [i[2], f[0]],
                    [f[1], f[2]],
                    [s[0], s[1]],
                    [s[2], d[0]],
                    [d[1], d[2]],
                    [l[0], l[1]],
                    [l[2], r[0]],
                    [r[1], r[2]],
                ])?);
                (head, p.split_k, p.arch)
            }
            Self::Gemm(p) => {
                let head = [
                    1,
                    p.dtype_a as u8,
                    p.dtype_b as u8,
                    p.dtype_c as u8,
                    p.layout.a as u8,
                    p.layout.b as u8,
                    p.layout.c as u8,
                    0,
                ];
                words[3..5].copy_from_slice(&pack([[p.m, p.n], [p.k, p.request.batch.into()]])?);
                if !p.request.is_none() {
                    words[5..9].copy_from_slice(&request(&p.request)?);
                }
                (head, p.split_k, p.arch)
            }
            Self::Fmha(p) => {
                words[3..].copy_from_slice(&p.packed()?);
                ([2, 0, 0, 0, 0, 0, 0, 0], 1, p.arch)
            }
        };
        words[0] = u64::from_le_bytes(head);
        // The longest architecture has 7 characters.
        words[1] = arch.map_or(Some(0), |arch| {
            let text = arch.as_str().as_bytes();
            let mut bytes = [0; 8];
            bytes.get_mut(..text.len())?.copy_from_slice(text);
            Some(u64::from_le_bytes(bytes))
        })?;
        words[2] = u64::try_from(split_k).ok()?;
        Some(words)
    }
}

/// What a request has besides a batch.
fn request(request: &GemmRequest) -> Option<[u64; 4]> {
    let GemmRequest { batch: _, groups, stream_k, num_d, preshuffle, quant } = *request;
    if !groups.is_empty() {
        return None;
    }
    let reduction = stream_k.map_or(0, |reduction| 1 + reduction as u8);
    let mode = quant.map_or(0, |quant| 1 + quant.mode as u8);
    let head = u64::from_le_bytes([num_d, preshuffle.into(), reduction, mode, 0, 0, 0, 0]);
    let group = |group: Option<Mnk>| group.map_or([0; 3], |group| [group.m, group.n, group.k].map(i64::from));
    let [a, b] = quant.map_or([[0; 3]; 2], |quant| [group(quant.group_a), group(quant.group_b)]);
    let [first, second, third] = pack([[a[0], a[1]], [a[2], b[0]], [b[1], b[2]]])?;
    Some([head, first, second, third])
}

/// Packs numbers of 31 bits in pairs. All are checked at once, since this is most of a repeated selection.
fn pack<const N: usize>(pairs: [[i64; 2]; N]) -> Option<[u64; N]> {
    let any = pairs.iter().fold(0, |any, [low, high]| any | low | high) as u64;
    (any < 1 << 31).then(|| pairs.map(|[low, high]| low as u64 | (high as u64) << 32))
}

#[cfg(test)]
mod tests {
    use super::super::{ConvProblem, GemmProblem, MAX_EXTENT, ProblemDefaults};
    use super::*;

    #[test]
    fn every_field_shows() {
        let base = ConvProblem::new_2d([8, 8], [1, 1]);
        let mut seen = std::collections::HashSet::new();
        let mut add = |problem: Problem| assert!(seen.insert(problem.words().unwrap()), "{problem}");
        add(base.into());
        add(ConvProblem { direction: crate::vocab::Direction::BwdData, ..base }.into());
        add(ConvProblem { ndim: 3, ..base }.into());
        add(ConvProblem { n: 2, ..base }.into());
        add(ConvProblem { c: 2, ..base }.into());
        add(ConvProblem { k: 2, ..base }.into());
        add(ConvProblem { g: 2, ..base }.into());
        add(ConvProblem { split_k: 2, ..base }.into());
        for dtype in ["fp16", "fp8"] {
            let dtype = dtype.parse().unwrap();
            add(ConvProblem { dtype_in: dtype, ..base }.into());
            add(ConvProblem { dtype_wei: dtype, ..base }.into());
            add(ConvProblem { dtype_out: dtype, ..base }.into());
        }
        add(ConvProblem { layout: "ngchw".parse().unwrap(), ..base }.into());
        for arch in ["gfx950", "gfx1250", "sm_90"] {
            add(ConvProblem { arch: arch.parse().ok(), ..base }.into());
        }
        for axis in 0..3 {
            let with = |values: [i64; 3]| {
                let mut values = values;
                values[axis] = MAX_EXTENT;
                values
            };
            add(ConvProblem { input: with(base.input), ..base }.into());
            add(ConvProblem { filter: with(base.filter), ..base }.into());
            add(ConvProblem { stride: with(base.stride), ..base }.into());
            add(ConvProblem { dilation: with(base.dilation), ..base }.into());
            add(ConvProblem { pad_left: with(base.pad_left), ..base }.into());
            add(ConvProblem { pad_right: with(base.pad_right), ..base }.into());
        }
        let gemm = GemmProblem::new(1, 1, 1);
        add(gemm.into());
        add(GemmProblem { m: 2, ..gemm }.into());
        add(GemmProblem { n: 2, ..gemm }.into());
        add(GemmProblem { k: 2, ..gemm }.into());
        add(GemmProblem { layout: "crr".parse().unwrap(), ..gemm }.into());
        add(GemmProblem { layout: "rrr".parse().unwrap(), ..gemm }.into());
        add(GemmProblem { layout: "rcc".parse().unwrap(), ..gemm }.into());
        let asked = [
            "batch=1",
            "batch=2",
            "stream_k=atomic",
            "stream_k=tree",
            "num_d=1",
            "preshuffle=1",
            "quant=aquant",
            "quant=bquant",
            "quant=abquant",
            "quant=abquant,group_a=1x1x64",
            "quant=abquant,group_b=1x128x128",
        ];
        for request in asked {
            let defaults = ProblemDefaults::of(crate::vocab::Op::Gemm);
            add(Problem::parse(crate::vocab::Op::Gemm, &format!("M=1,N=1,K=1,{request}"), &defaults).unwrap());
        }
        assert_eq!(Problem::from(gemm.grouped("1x1x1".parse().unwrap())).words(), None);
    }

    #[test]
    fn numbers_that_do_not_fit_have_no_words() {
        for n in [-1, MAX_EXTENT + 1] {
            assert_eq!(Problem::from(GemmProblem::new(n, 1, 1)).words(), None);
        }
    }
}
