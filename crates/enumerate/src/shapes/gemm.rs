//! Upstream's sets of GEMM shapes, by their published rules.

use std::collections::BTreeSet;

use super::distinct;

type Shape = [i64; 3];

/// Every combination of an M, an N and a K.
fn grid(ms: &[i64], ns: &[i64], ks: &[i64]) -> Vec<Shape> {
    let mut shapes = Vec::with_capacity(ms.len() * ns.len() * ks.len());
    for &m in ms {
        for &n in ns {
            shapes.extend(ks.iter().map(|&k| [m, n, k]));
        }
    }
    shapes
}

fn cubes(extents: &[i64]) -> Vec<Shape> {
    extents.iter().map(|&extent| [extent; 3]).collect()
}

fn powers(exponents: std::ops::RangeInclusive<u32>) -> Vec<i64> {
    exponents.map(|exponent| 1 << exponent).collect()
}

fn sorted(parts: Vec<Vec<Shape>>) -> Vec<Shape> {
    parts.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Wide coverage.
pub(super) fn wide() -> Vec<Shape> {
    let primes = [17, 31, 37, 127, 251, 509, 1021, 2039, 4093];
    let mut parts = vec![
        grid(
            &[1],
            &[512, 1024, 1536, 2048, 3072, 4096, 4608, 7168, 8192, 11008, 14336, 28672],
            &[256, 512, 1024, 1536, 2048, 2304, 4096, 7168, 8192],
        ),
        grid(&[2, 4, 8, 16], &[512, 1536, 4096, 7168], &[256, 1024, 4096, 7168]),
        grid(&[32, 48, 64, 96, 128], &[512, 1536, 4096, 7168, 8192], &[256, 512, 2048, 4096, 7168]),
        grid(
            &[256, 384, 512, 768, 1024, 1536, 2048],
            &[512, 1536, 4096, 7168],
            &[256, 1024, 2048, 4096, 7168],
        ),
        grid(&[4096, 8192, 12288, 16384, 20480], &[512, 1536, 4096, 7168], &[256, 1024, 2048, 7168]),
        cubes(&powers(5..=13)),
        grid(&[1, 4, 16, 64], &[8192, 16384, 28672], &[1024, 4096, 8192]),
        grid(&[4096, 8192, 16384], &[32, 64, 128, 256], &[1024, 4096]),
        grid(&[16, 64, 256], &[16, 64, 256], &[4096, 8192, 16384, 32768]),
        grid(&[1024, 4096, 8192], &[1024, 4096, 8192], &[16, 32, 64, 128]),
        cubes(&primes),
        named(),
    ];
    for &p in &primes[..5] {
        parts.push(vec![[p, 4096, 4096], [4096, p, 4096], [4096, 4096, p]]);
    }
    for m in [48, 96, 192, 384, 576, 768, 1152, 1536, 2304, 3072, 4608, 6144] {
        parts.push(vec![[m; 3], [m, 4096, 4096]]);
    }
    sorted(parts)
}

/// Shapes of named models: a mixture of experts, 7B and 70B language models, attention.
fn named() -> Vec<Shape> {
    let mut shapes: Vec<Shape> = [
        [1536, 7168],
        [4608, 7168],
        [7168, 2048],
        [7168, 2304],
        [7168, 256],
        [576, 7168],
        [512, 7168],
        [3072, 1536],
    ]
    .into_iter()
    .map(|[n, k]| [1, n, k])
    .collect();
    shapes.extend(grid(&[1, 32, 128], &[4096], &[4096]));
    shapes.extend(grid(&[1, 32], &[4096], &[11008]));
    shapes.extend(grid(&[1, 32], &[11008], &[4096]));
    shapes.extend(grid(&[1, 32, 128], &[8192], &[8192]));
    shapes.extend(grid(&[1, 32], &[8192], &[28672]));
    shapes.push([1, 28672, 8192]);
    shapes.extend(grid(&[128], &[128], &[64, 128]));
    shapes.extend([256, 512, 1024, 2048].map(|s| [s, s, 64]));
    shapes
}

/// Edge dimensions.
pub(super) fn edge() -> Vec<Shape> {
    let powers = powers(0..=13);
    let extents = [1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 7168, 8192];
    let vectors = [1, 16, 64, 256, 1024, 4096, 8192];
    let large = [64, 256, 1024, 4096];
    let small = [2, 3, 4, 7, 8, 15, 16];
    let mut thin = Vec::new();
    for &b in &large {
        for &s in &small {
            for &c in &large {
                thin.extend([[b, s, c], [b, c, s]]);
            }
        }
    }
    sorted(vec![
        grid(&powers, &[1], &extents),
        grid(&powers, &extents, &[1]),
        grid(&[1], &[1], &vectors),
        grid(&[1], &vectors, &[1]),
        grid(&vectors, &[1], &[1]),
        vec![[1; 3]],
        thin,
    ])
}

/// The shapes of `generate_benchmark_data`.
pub(super) fn benchmark() -> Vec<Shape> {
    let mut shapes = cubes(&powers(6..=13));
    shapes.extend(grid(&[1, 8, 32, 128], &[4096], &[4096]));
    shapes.extend(grid(&[1, 32], &[4096], &[11008]));
    shapes.extend(grid(&[1, 32], &[11008], &[4096]));
    shapes.extend(grid(&[1, 32], &[8192], &[8192]));
    shapes.extend(grid(&[1, 32], &[8192], &[28672]));
    shapes.extend([
        [1024, 4096, 1024],
        [4096, 1024, 4096],
        [2048, 8192, 2048],
        [256, 256, 8192],
        [8192, 8192, 256],
    ]);
    distinct(shapes)
}

/// The shapes of the heuristic's sweep that its filter keeps.
pub(super) fn sweep() -> Vec<Shape> {
    let kept = |&[m, n, k]: &Shape| m >= 1 && n >= 64 && n % 8 == 0 && k >= 32 && k % 2 == 0;
    distinct(sweep_with_repetitions().into_iter().filter(kept))
}

fn sweep_with_repetitions() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for d in powers(6..=13) {
        shapes.push([d; 3]);
        if d >= 128 {
            shapes.extend([[d, d, d / 2], [d, d, d * 2], [d, d, (d / 4).max(32)]]);
        }
    }
    for hidden in [768, 1024, 2048, 3072, 4096, 5120, 8192, 11008, 12288, 16384] {
        for batch in powers(0..=7) {
            shapes.push([batch, hidden, hidden]);
            if hidden >= 4096 {
                // Three quarters, rounded to an even number.
                let inner = hidden * 3 / 4;
                let inner = inner + inner % 2;
                shapes.extend([[batch, hidden, inner], [batch, inner, hidden]]);
            }
        }
    }
    for sequence in powers(7..=13) {
        for head in [64, 80, 96, 128, 256] {
            for heads in [8, 12, 16, 32] {
                shapes.extend([[sequence, heads * head, head], [sequence, head, heads * head]]);
            }
        }
    }
    shapes.extend(every(3, &powers(0..=12), &powers(6..=13), &powers(5..=14)));
    shapes.extend(every(
        4,
        &[
            1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 23, 27, 31, 33, 37, 41, 47, 51, 57, 63, 65, 71, 79, 87, 95,
            97, 111, 119, 127, 129,
        ],
        &[72, 80, 88, 96, 104, 112, 120, 136, 144, 152, 160, 176, 184, 192, 200, 224, 240, 272, 288, 304],
        &[34, 36, 38, 40, 42, 44, 48, 50, 52, 56, 60, 66, 68, 72, 76],
    ));
    for square in powers(6..=10) {
        shapes.extend([4096, 8192, 16384].map(|k| [square, square, k]));
    }
    for square in powers(9..=12) {
        shapes.extend([32, 64, 128].map(|k| [square, square, k]));
    }
    shapes.extend(grid(&powers(0..=5), &powers(6..=11), &powers(5..=9)));
    shapes.extend([
        [10000, 10000, 10000],
        [1000, 10000, 1000],
        [1000, 1000, 10000],
        [5000, 5000, 5000],
        [7168, 7168, 7168],
        [8192, 11008, 8192],
    ]);
    shapes
}

/// The combinations whose indices add up to a multiple of `step`.
fn every(step: usize, ms: &[i64], ns: &[i64], ks: &[i64]) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (i, &m) in ms.iter().enumerate() {
        for (j, &n) in ns.iter().enumerate() {
            for (l, &k) in ks.iter().enumerate() {
                if (i + j + l) % step == 0 {
                    shapes.push([m, n, k]);
                }
            }
        }
    }
    shapes
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn digest(shapes: &[Shape]) -> String {
        let lines: Vec<String> = shapes.iter().map(|[m, n, k]| format!("{m},{n},{k}")).collect();
        Sha256::digest(lines.join("\n"))
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    #[test]
    fn wide_coverage_is_upstreams() {
        let shapes = wide();
        assert_eq!(shapes.len(), 706);
        assert_eq!((shapes[0], shapes[705]), ([1, 512, 256], [20480, 7168, 7168]));
        assert_eq!(digest(&shapes), "171e6af5d27f29e9dd5c8b63a13818d88f41c10b13118463b40179870fb0c337");
    }

    #[test]
    fn edge_dimensions_are_upstreams() {
        let shapes = edge();
        assert_eq!(shapes.len(), 546);
        assert_eq!(digest(&shapes), "d67ee8f9c80d7cc63da93594865d598679f2c9a4bf777b19d9bd7b3ca8403ef2");
        let both = sorted(vec![wide(), shapes]);
        assert_eq!(both.len(), 1246);
    }

    #[test]
    fn benchmark_and_sweep_have_upstreams_counts() {
        assert_eq!(benchmark().len(), 25);
        assert_eq!(sweep_with_repetitions().len(), 3295);
        assert_eq!(sweep().len(), 3167);
    }
}
