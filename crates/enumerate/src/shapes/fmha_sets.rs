//! Upstream's test matrix of attention: entries of lists, each a product. What several entries share is
//! [`USUAL`]. Layouts and dropout rates are not part of a problem.

use ck_select_types::problem::{FmhaProblem, Problem};
use ck_select_types::vocab::{Dtype, FmhaApi, FmhaBias, FmhaMask};

use super::Choice;
use Dtype::{Bf16, Fp8Bf16, Fp8Fp32, Fp16};

struct Entry {
    batch: &'static [i64],
    seqlen_q: &'static [i64],
    seqlen_k: &'static [i64],
    nhead_q: &'static [i64],
    nhead_k: &'static [i64],
    hdim_q: &'static [i64],
    hdim_v: &'static [i64],
    dtype: &'static [Dtype],
    mask: &'static [FmhaMask],
    bias: &'static [FmhaBias],
    dropout: bool,
    lse: &'static [bool],
    /// Gradients of the bias: always the two values of backward.
    dbias: bool,
    deterministic: bool,
}

const USUAL: Entry = Entry {
    batch: &[2],
    seqlen_q: &[1024],
    seqlen_k: &[1024],
    nhead_q: &[16],
    nhead_k: &[16],
    hdim_q: &[128],
    hdim_v: &[128],
    dtype: &[Fp16],
    mask: &[FmhaMask::No],
    bias: &[FmhaBias::No],
    dropout: false,
    lse: &[false],
    dbias: false,
    deterministic: false,
};

const BOTH: &[Dtype] = &[Fp16, Bf16];
const CAUSAL: &[FmhaMask] = &[FmhaMask::TopLeft];
const MASKS: &[FmhaMask] = &[FmhaMask::No, FmhaMask::TopLeft];
const DIVERSE: &[i64] = &[48, 64, 72, 96, 128, 160, 256];

/// In upstream's order, with its names.
const SMOKE: [Entry; 16] = [
    // GQA_4to1_Prefill_Basic, Small_GQA_7to1_SubWarp, MHA_H96_Irregular_Dim
    Entry {
        batch: &[1, 4],
        seqlen_q: &[2048],
        seqlen_k: &[2048],
        nhead_q: &[32],
        nhead_k: &[8],
        dtype: BOTH,
        mask: MASKS,
        lse: &[false, true],
        ..USUAL
    },
    Entry { batch: &[1], nhead_q: &[14], nhead_k: &[2], hdim_q: &[64], hdim_v: &[64], ..USUAL },
    Entry { nhead_q: &[32], nhead_k: &[32], hdim_q: &[96], hdim_v: &[96], mask: CAUSAL, ..USUAL },
    // CK_Asymmetric_Hdim_Small, CK_Tiny_Sequences, CK_Asymmetric_Seqlen
    Entry {
        seqlen_q: &[55],
        seqlen_k: &[256],
        nhead_q: &[2],
        nhead_k: &[1],
        hdim_q: &[16],
        hdim_v: &[32, 64, 128],
        ..USUAL
    },
    Entry {
        batch: &[1, 2],
        seqlen_q: &[1, 3, 33],
        seqlen_k: &[10, 99, 33],
        nhead_q: &[2],
        nhead_k: &[1],
        mask: MASKS,
        ..USUAL
    },
    Entry {
        batch: &[1, 2],
        seqlen_q: &[100, 99, 1024],
        seqlen_k: &[51, 256, 256],
        nhead_q: &[3],
        nhead_k: &[3],
        hdim_q: &[64, 128],
        hdim_v: &[64, 128],
        mask: MASKS,
        ..USUAL
    },
    // CK_All_Hdim_Sweep, CK_FP8_Basic
    Entry {
        nhead_q: &[8],
        nhead_k: &[4],
        hdim_q: &[32, 64, 80, 96, 128, 160, 192, 256],
        hdim_v: &[32, 64, 96, 128, 160, 192, 256],
        dtype: BOTH,
        ..USUAL
    },
    Entry {
        batch: &[1, 2],
        seqlen_q: &[128],
        seqlen_k: &[128],
        nhead_q: &[1],
        nhead_k: &[1],
        hdim_q: &[64, 128, 192, 256],
        hdim_v: &[64, 128, 128, 256],
        dtype: &[Fp8Bf16, Fp8Fp32],
        ..USUAL
    },
    // GQA_16to1_Large, MQA_128to8_Decode, MLA_Sparse_Decode
    Entry {
        batch: &[1, 4],
        seqlen_q: &[2048],
        seqlen_k: &[2048],
        nhead_q: &[64],
        nhead_k: &[4],
        dtype: BOTH,
        mask: MASKS,
        ..USUAL
    },
    Entry {
        batch: &[1, 8, 64],
        seqlen_q: &[1],
        seqlen_k: &[1024, 4096],
        nhead_q: &[128],
        nhead_k: &[8],
        dtype: BOTH,
        ..USUAL
    },
    Entry {
        batch: &[1, 4],
        seqlen_q: &[1],
        seqlen_k: &[1024, 4096],
        nhead_q: &[128],
        nhead_k: &[128],
        hdim_q: &[192],
        dtype: BOTH,
        ..USUAL
    },
    // Vision_Transformer_Shapes, FP8_Varlen_Realistic, Extreme_GQA_Ratios
    Entry {
        batch: &[1, 4],
        seqlen_q: &[256, 1024],
        seqlen_k: &[256, 1024],
        nhead_q: &[16, 40],
        nhead_k: &[8, 16],
        hdim_q: &[88, 128],
        hdim_v: &[88, 128],
        ..USUAL
    },
    Entry {
        batch: &[1, 8],
        seqlen_q: &[113, 256, 1024],
        seqlen_k: &[203, 512, 1024],
        nhead_q: &[8, 32, 40],
        nhead_k: &[1, 8],
        dtype: &[Fp8Bf16],
        ..USUAL
    },
    Entry { nhead_q: &[5, 10, 24, 48], nhead_k: &[1, 1, 4, 8], mask: MASKS, ..USUAL },
    // Paged_Decode_Shapes, Prefill_Odd_Lengths
    Entry {
        batch: &[4, 80, 128],
        seqlen_q: &[1, 4],
        seqlen_k: &[512, 4096],
        nhead_q: &[8, 16, 64],
        nhead_k: &[1, 4],
        ..USUAL
    },
    Entry {
        seqlen_q: &[113, 339, 799, 1023, 3131],
        seqlen_k: &[203, 339, 799, 1024, 3131],
        nhead_q: &[32],
        nhead_k: &[8],
        mask: CAUSAL,
        ..USUAL
    },
];

const FULL: [Entry; 15] = [
    // MHA_H256_High_LDS_Pressure, MQA_64to1_Broadcast, GQA_6to1_Irregular
    Entry {
        batch: &[1, 4],
        seqlen_q: &[4096],
        seqlen_k: &[4096],
        nhead_q: &[8],
        nhead_k: &[4],
        hdim_q: &[256],
        hdim_v: &[256],
        dtype: &[Bf16],
        mask: MASKS,
        lse: &[true],
        ..USUAL
    },
    Entry { seqlen_q: &[4096], seqlen_k: &[4096], nhead_q: &[64], nhead_k: &[1], mask: CAUSAL, ..USUAL },
    Entry { seqlen_q: &[4096], seqlen_k: &[4096], nhead_q: &[48], nhead_k: &[8], ..USUAL },
    // MLA_H128xH576_Asymmetric, Asymmetric_Head_Dims_192_128, Asymmetric_Head_Dims_128_192
    Entry {
        batch: &[1, 4],
        seqlen_q: &[4096],
        seqlen_k: &[4096],
        nhead_q: &[128],
        nhead_k: &[128],
        hdim_v: &[576],
        dtype: BOTH,
        mask: CAUSAL,
        lse: &[true],
        ..USUAL
    },
    Entry { seqlen_q: &[2048], seqlen_k: &[2048], hdim_q: &[192], dtype: BOTH, mask: MASKS, ..USUAL },
    Entry { seqlen_q: &[2048], seqlen_k: &[2048], hdim_v: &[192], dtype: BOTH, mask: CAUSAL, ..USUAL },
    // Diverse_Head_Dims_Sweep, Stochastic_Execution_Dropout_Sweep, Padding_Boundary_Stress_Odd_Lengths
    Entry { hdim_q: DIVERSE, hdim_v: DIVERSE, ..USUAL },
    Entry {
        batch: &[4],
        nhead_k: &[8],
        hdim_q: DIVERSE,
        hdim_v: DIVERSE,
        mask: CAUSAL,
        dropout: true,
        lse: &[false, true],
        ..USUAL
    },
    Entry { seqlen_q: &[259, 500, 987, 1023], seqlen_k: &[259, 500, 987, 1023], mask: MASKS, ..USUAL },
    // Bias_Variants_Sweep, Extreme_Batch_Size_Stress, Long_Sequence_Stress
    Entry {
        batch: &[1, 4],
        seqlen_q: &[512, 1024],
        seqlen_k: &[512, 1024],
        hdim_q: &[64, 128],
        hdim_v: &[64, 128],
        mask: MASKS,
        bias: &[FmhaBias::Elementwise, FmhaBias::Alibi],
        ..USUAL
    },
    Entry {
        batch: &[64, 128, 256],
        seqlen_q: &[128],
        seqlen_k: &[128],
        nhead_q: &[8],
        nhead_k: &[8],
        hdim_q: &[64],
        hdim_v: &[64],
        ..USUAL
    },
    Entry {
        batch: &[1],
        seqlen_q: &[8192, 16_384],
        seqlen_k: &[8192, 16_384],
        nhead_k: &[4],
        dtype: &[Bf16],
        mask: CAUSAL,
        lse: &[true],
        ..USUAL
    },
    // Cross_Attention_Shapes, CK_Benchmark_Standard, CK_Benchmark_V3_Large
    Entry { seqlen_q: &[1, 32, 128], seqlen_k: &[1024, 4096], ..USUAL },
    Entry {
        batch: &[32, 16, 8, 4, 2, 1],
        seqlen_q: &[512, 1024, 2048, 4096, 8192, 16_384],
        seqlen_k: &[512, 1024, 2048, 4096, 8192, 16_384],
        nhead_q: &[32, 16, 8],
        nhead_k: &[32, 16, 8],
        hdim_q: &[64, 128, 256],
        hdim_v: &[64, 128, 256],
        dtype: BOTH,
        ..USUAL
    },
    Entry {
        batch: &[1],
        seqlen_q: &[16_384, 37_200, 65_536],
        seqlen_k: &[16_384, 37_200, 65_536],
        nhead_q: &[16, 40, 64],
        nhead_k: &[1, 16, 40, 64],
        dtype: BOTH,
        mask: MASKS,
        ..USUAL
    },
];

const BWD_SMOKE: [Entry; 5] = [
    Entry { batch: &[1, 2], seqlen_q: &[512], seqlen_k: &[512], dtype: BOTH, ..USUAL },
    Entry { nhead_q: &[32], nhead_k: &[8], mask: MASKS, ..USUAL },
    Entry {
        seqlen_q: &[512],
        seqlen_k: &[512],
        nhead_q: &[8],
        nhead_k: &[8],
        hdim_q: &[64, 96, 128, 256],
        hdim_v: &[64, 96, 128, 256],
        ..USUAL
    },
    Entry {
        seqlen_q: &[512],
        seqlen_k: &[512],
        hdim_q: &[64, 128],
        hdim_v: &[64, 128],
        mask: CAUSAL,
        dropout: true,
        ..USUAL
    },
    Entry { seqlen_q: &[512], seqlen_k: &[512], hdim_q: &[192], dtype: BOTH, ..USUAL },
];

const BWD_FULL: [Entry; 9] = [
    Entry { nhead_q: &[32, 64], nhead_k: &[8], mask: CAUSAL, ..USUAL },
    Entry {
        batch: &[1],
        nhead_q: &[8],
        nhead_k: &[4],
        hdim_q: &[256],
        hdim_v: &[256],
        dtype: &[Bf16],
        mask: MASKS,
        ..USUAL
    },
    Entry { nhead_q: &[32], nhead_k: &[32], hdim_q: &[96], hdim_v: &[96], mask: CAUSAL, ..USUAL },
    Entry {
        seqlen_q: &[512],
        seqlen_k: &[512],
        hdim_q: DIVERSE,
        hdim_v: DIVERSE,
        mask: CAUSAL,
        bias: &[FmhaBias::Elementwise, FmhaBias::Alibi],
        dropout: true,
        dbias: true,
        deterministic: true,
        ..USUAL
    },
    Entry {
        batch: &[1],
        seqlen_q: &[259, 500, 1023],
        seqlen_k: &[259, 500, 1023],
        nhead_q: &[8],
        nhead_k: &[8],
        mask: MASKS,
        ..USUAL
    },
    Entry { hdim_q: &[192], dtype: BOTH, mask: CAUSAL, ..USUAL },
    Entry { hdim_v: &[192], dtype: BOTH, ..USUAL },
    Entry { seqlen_q: &[512], seqlen_k: &[512], hdim_q: DIVERSE, hdim_v: DIVERSE, ..USUAL },
    Entry { seqlen_q: &[1, 32, 128], seqlen_k: &[1024, 4096], ..USUAL },
];

type SetNumber = fn(&mut FmhaProblem, i64);

impl Entry {
    /// The product of the lists.
    fn problems(&self, api: FmhaApi) -> Vec<Problem> {
        let mut all = vec![FmhaProblem {
            api_family: api,
            family: api.main_stage(),
            dropout: self.dropout,
            dbias: self.dbias,
            deterministic: self.deterministic,
            ..FmhaProblem::new([1, 1], 1, 1)
        }];
        let numbers: [(&[i64], SetNumber); 7] = [
            (self.batch, |p, batch| p.batch = batch),
            (self.seqlen_q, |p, length| p.seqlen_q = length),
            (self.seqlen_k, |p, length| p.seqlen_k = length),
            (self.nhead_q, |p, heads| p.nhead_q = heads),
            (self.nhead_k, |p, heads| p.nhead_k = heads),
            (self.hdim_q, |p, elements| p.hdim_q = elements),
            (self.hdim_v, |p, elements| p.hdim_v = elements),
        ];
        for (values, set) in numbers {
            all = times(&all, values, set);
        }
        all = times(&all, self.dtype, |p, dtype| p.dtype = dtype);
        all = times(&all, self.mask, |p, mask| p.mask = mask);
        all = times(&all, self.bias, |p, bias| p.bias = bias);
        all = times(&all, self.lse, |p, lse| p.lse = lse);
        all.into_iter().map(Problem::Fmha).collect()
    }
}

fn times<T: Copy>(all: &[FmhaProblem], values: &[T], set: fn(&mut FmhaProblem, T)) -> Vec<FmhaProblem> {
    let one = |problem: &FmhaProblem, value| {
        let mut problem = *problem;
        set(&mut problem, value);
        problem
    };
    all.iter().flat_map(|problem| values.iter().map(move |value| one(problem, *value))).collect()
}

fn problems(entries: &[Entry], api: FmhaApi, choice: &Choice) -> Vec<Problem> {
    let asked = |problem: &Problem| match problem {
        Problem::Fmha(problem) => choice.any_dtype || problem.dtype == choice.dtype,
        _ => false,
    };
    entries.iter().flat_map(|entry| entry.problems(api)).filter(asked).collect()
}

/// Forward: the tests that run before a change is accepted.
pub(super) fn smoke(choice: &Choice) -> Vec<Problem> {
    computable(problems(&SMOKE, FmhaApi::Fwd, choice))
}

/// Forward: the additional tests that run afterwards.
pub(super) fn full(choice: &Choice) -> Vec<Problem> {
    computable(problems(&FULL, FmhaApi::Fwd, choice))
}

/// Backward: all tests.
pub(super) fn backward(choice: &Choice) -> Vec<Problem> {
    let entries = [&BWD_SMOKE[..], &BWD_FULL].map(|entries| problems(entries, FmhaApi::Bwd, choice));
    computable(entries.concat())
}

/// Upstream multiplies its lists of heads, so that some key heads do not divide the query heads, which no
/// kernel can compute.
fn computable(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.retain(|problem| problem.validate().is_ok());
    super::distinct(problems)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn choice() -> Choice {
        Choice { any_dtype: true, ..Choice::new(Bf16) }
    }

    /// Counted by a separate program from upstream's file.
    #[test]
    fn smoke_is_upstreams() {
        let products = problems(&SMOKE, FmhaApi::Fwd, &choice());
        assert_eq!((products.len(), smoke(&choice()).len()), (770, 658));
        // Sizes with kernels: pairs of head sizes by type.
        let sixteen = [
            (32, 32),
            (64, 64),
            (80, 96),
            (96, 128),
            (128, 128),
            (160, 160),
            (192, 128),
            (192, 192),
            (256, 256),
        ];
        let eight = [(64, 64), (128, 128), (192, 128), (256, 256)];
        let with_kernels: HashSet<[i64; 7]> = products
            .iter()
            .filter_map(|problem| {
                let Problem::Fmha(p) = problem else { return None };
                let pair = (p.hdim_q, p.hdim_v);
                let has = match p.dtype {
                    Fp16 | Bf16 => sixteen.contains(&pair),
                    Fp8Bf16 => eight.contains(&pair),
                    _ => pair == (128, 128),
                };
                has.then_some([p.batch, p.seqlen_q, p.seqlen_k, p.nhead_q, p.nhead_k, p.hdim_q, p.hdim_v])
            })
            .collect();
        assert_eq!(with_kernels.len(), 321);
    }

    #[test]
    fn all_are_problems_and_types_can_be_chosen() {
        for set in [smoke, full, backward] {
            let all = set(&choice());
            for problem in &all {
                problem.validate().unwrap_or_else(|error| panic!("{problem}: {error}"));
            }
            let of = |dtype| set(&Choice::new(dtype)).len();
            assert_eq!([Fp16, Bf16, Fp8Bf16, Fp8Fp32].map(of).iter().sum::<usize>(), all.len());
        }
    }
}
