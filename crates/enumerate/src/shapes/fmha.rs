//! Attention of known models, and random attention.

use ck_select_types::problem::{FmhaProblem, Problem};
use ck_select_types::vocab::FmhaMask;

use super::Choice;
use super::random::Random;

/// A model's attention: heads of queries and of keys, elements of queries and of values, queries and keys,
/// mask.
struct Layer {
    heads: [i64; 2],
    hdims: [i64; 2],
    lengths: &'static [[i64; 2]],
    mask: FmhaMask,
}

/// Prefill, then decoding with a cache.
const LANGUAGE: &[[i64; 2]] = &[[512, 512], [2048, 2048], [8192, 8192], [1, 1024], [1, 4096], [1, 16_384]];

const fn language(heads: [i64; 2], hdims: [i64; 2]) -> Layer {
    Layer { heads, hdims, lengths: LANGUAGE, mask: FmhaMask::BottomRight }
}

const fn image(heads: i64, hdim: i64, lengths: &'static [[i64; 2]]) -> Layer {
    Layer { heads: [heads; 2], hdims: [hdim; 2], lengths, mask: FmhaMask::No }
}

/// Decoding, with the weights of keys and values absorbed into the queries.
const LATENT: &[[i64; 2]] = &[[1, 1024], [1, 4096], [1, 16_384]];

const LAYERS: [Layer; 15] = [
    // Llama 3 of 8, 70 and 405 billion parameters.
    language([32, 8], [128; 2]),
    language([64, 8], [128; 2]),
    language([128, 8], [128; 2]),
    // Qwen 2.5 of 0.5 and 7 billion.
    language([14, 2], [64; 2]),
    language([28, 4], [128; 2]),
    // Qwen 3 of 30 and 235 billion; the one of 8 billion has the same as the smallest Llama.
    language([32, 4], [128; 2]),
    language([64, 4], [128; 2]),
    // DeepSeek V3's latent attention, as defined and in decoding.
    language([128, 128], [192, 128]),
    Layer { heads: [128, 1], hdims: [576, 512], lengths: LATENT, mask: FmhaMask::BottomRight },
    // ViT-B at 224 and 384 pixels, ViT-H.
    image(12, 64, &[[197, 197], [577, 577]]),
    image(16, 80, &[[257, 257]]),
    // Stable Diffusion's U-Net: self-attention of pixels, and cross-attention with 77 words.
    image(8, 40, &[[4096, 4096], [4096, 77]]),
    // The same of Stable Diffusion XL at 1024 pixels, in its two resolutions.
    image(10, 64, &[[4096, 4096], [4096, 77]]),
    image(20, 64, &[[1024, 1024], [1024, 77]]),
    // FLUX.1 at 1024 pixels: joint self-attention of pixels and 512 words.
    image(24, 128, &[[4608, 4608]]),
];

/// The attention of known models, forward.
pub(super) fn models(choice: &Choice) -> Vec<Problem> {
    let mut problems = Vec::new();
    for layer in &LAYERS {
        for (&[seqlen_q, seqlen_k], &batch) in
            layer.lengths.iter().flat_map(|lengths| choice.batches.iter().map(move |batch| (lengths, batch)))
        {
            let ([nhead_q, nhead_k], [hdim_q, hdim_v]) = (layer.heads, layer.hdims);
            problems.push(Problem::Fmha(FmhaProblem {
                batch,
                nhead_k,
                hdim_v,
                mask: layer.mask,
                dtype: choice.dtype,
                ..FmhaProblem::new([seqlen_q, seqlen_k], nhead_q, hdim_q)
            }));
        }
    }
    problems
}

/// A random attention: prefill, decoding, or cross-attention.
pub(super) fn drawn(choice: &Choice, random: &mut Random) -> Problem {
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
    fn all_are_problems() {
        let models = models(&Choice::new(Dtype::Bf16));
        assert_eq!(models.len(), 3 * (8 * LANGUAGE.len() + LATENT.len() + 10));
        assert_eq!(super::super::distinct(models.clone()).len(), models.len());
        let mut random = Random::new(7);
        let drawn = (0..500).map(|_| drawn(&Choice::new(Dtype::Fp16), &mut random));
        for problem in models.into_iter().chain(drawn) {
            problem.validate().unwrap_or_else(|error| panic!("{problem}: {error}"));
        }
    }
}
