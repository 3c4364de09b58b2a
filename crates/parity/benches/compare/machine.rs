//! Pools and problems to train the bench's models on: seeded, the same everywhere.

use ck_select::features::{Engine, Extractor, Uncoded};
use ck_select::kernel::{ConvKernel, Kernel, KernelKind};
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, FmhaProblem, GemmProblem, Problem};
use ck_select::vocab::Pipeline;
use ck_select_testing::{Numbers as _, Random};

/// The ten tiles of the convolution sweep.
const TILES: [&str; 10] = [
    "16x64x64", "32x64x64", "64x64x64", "32x128x64", "64x128x64", "128x128x64", "16x64x128", "32x64x128",
    "64x64x128", "128x64x128",
];

/// What kernels a bench chooses from, with which features, for which problems.
pub(crate) struct Setting {
    pub(crate) extractor: Extractor,
    pub(crate) pool: Vec<Kernel>,
    pub(crate) problem: fn(&mut Random) -> Problem,
}

fn named(name: &str) -> Kernel {
    Kernel::from_name(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A list of kernels in the repository.
fn listed(path: &str) -> Vec<Kernel> {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    Pool::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")).iter().cloned().collect()
}

/// Ten tiles by three pipelines, the 97 features.
pub(crate) fn conv_30() -> Setting {
    let (extractor, pool) = (Extractor::for_engine(Engine::Conv97), listed("configs/forward_bf16.txt"));
    Setting { extractor, pool, problem: conv_problem }
}

/// The forward kernels of `gpu/`.
pub(crate) fn sm_90() -> Vec<Kernel> {
    let tiles = include_str!("../../../../gpu/tiles.txt").lines();
    let tiles = tiles.map(|tile| tile.split(' ').take(3).collect::<Vec<_>>().join("x"));
    let names = |tile: String| {
        ["mem", "compv3", "compv4"].map(|p| format!("grouped_conv_forward_bf16_2d_{tile}_{p}_intrawave"))
    };
    tiles.flat_map(names).map(|name| named(&name)).collect()
}

/// Ten tiles by 31 variants of pipeline, scheduler and suffixes, the 113 features.
pub(crate) fn conv_310() -> Setting {
    let suffixes = ["", "_dsb", "_si", "_dsb_si"];
    let mut variants = Vec::new();
    for scheduler in ["intrawave", "interwave"] {
        for pipeline in ["basic_v1", "mem", "compv3", "compv5", "compv6"] {
            if scheduler == "intrawave" || ["basic_v1", "mem"].contains(&pipeline) {
                variants.extend(suffixes.map(|suffix| format!("{pipeline}_{scheduler}{suffix}")));
            }
        }
    }
    variants.extend(["compv4_intrawave_dsb".to_owned(), "compv4_intrawave_dsb_si".to_owned()]);
    let mut pool = Vec::new();
    for tile in TILES {
        let name = |variant| format!("grouped_conv_forward_bf16_2d_{tile}_{variant}");
        pool.extend(variants.iter().map(|variant| named(&name(variant))));
        // No name of this grammar says wavelet.
        let other = named(&name(&"compv3_intrawave".to_owned()));
        if let KernelKind::Conv(kernel) = other.kind {
            let kind = KernelKind::Conv(ConvKernel { pipeline: Pipeline::Wavelet, ..kernel });
            pool.push(Kernel { name: other.name.replace("compv3", "wavelet"), kind });
        }
    }
    let mut extractor = Extractor::for_engine(Engine::ConvSuperset);
    extractor.rules.uncoded = Uncoded::Upstream;
    Setting { extractor, pool, problem: conv_problem }
}

/// 4,608 GEMM kernels: tiles, waves, matrix instructions and traits that fit together, the 72 features.
pub(crate) fn gemm_4608() -> Setting {
    const EDGES: [u32; 3] = [64, 128, 256];
    const WARP_TILES: [[u32; 3]; 6] =
        [[32, 32, 16], [32, 32, 32], [16, 16, 32], [16, 16, 64], [16, 16, 128], [32, 32, 64]];
    let mut pool = Vec::new();
    for (pipeline, lds) in [("compv3", 65536), ("compv4", 32768), ("mem", 65536)] {
        let schedulers = if pipeline == "mem" { &["intrawave", "interwave"][..] } else { &["intrawave"] };
        for [m, n, k] in
            EDGES.into_iter().flat_map(|m| EDGES.into_iter().flat_map(move |n| EDGES.map(|k| [m, n, k])))
        {
            for [wave_m, wave_n] in [[1, 4], [2, 2], [4, 1]] {
                for [warp_m, warp_n, warp_k] in WARP_TILES {
                    let fits = m % (wave_m * warp_m) == 0 && n % (wave_n * warp_n) == 0 && k % warp_k == 0;
                    if m * k + n * k > lds || !fits {
                        continue;
                    }
                    for epilogue in ["cshuffle", "default"] {
                        for persistent in ["False", "True"] {
                            pool.extend(schedulers.iter().map(|scheduler| {
                                named(&format!(
                                    "gemm_universal_fp8_rcr_{pipeline}_{epilogue}_{scheduler}_True_True\
                                     _True_{persistent}_{m}x{n}x{k}_{wave_m}x{wave_n}x1\
                                     _{warp_m}x{warp_n}x{warp_k}"
                                ))
                            }));
                        }
                    }
                }
            }
        }
    }
    Setting { extractor: Extractor::for_engine(Engine::Gemm72), pool, problem: gemm_problem }
}

/// Fifteen tiles by two pipelines, upstream's 68 features.
pub(crate) fn fmha_30() -> Setting {
    let pool = listed("tests/golden/models/fmha_small/pool.txt");
    Setting { extractor: Extractor::for_engine(Engine::Fmha68Python), pool, problem: fmha_problem }
}

fn conv_problem(random: &mut Random) -> Problem {
    const CHANNELS: [i64; 16] = [16, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 2048];
    const EXTENTS: [i64; 16] = [7, 8, 14, 16, 20, 28, 32, 40, 56, 64, 80, 112, 128, 160, 224, 256];
    let filter = random.pick(&[1, 1, 1, 3, 3, 3, 3, 5, 7]);
    let stride = random.pick(&[1, 1, 1, 2]);
    let height = random.pick(&EXTENTS).max(filter);
    let width = if random.below(4) == 0 { random.pick(&EXTENTS).max(filter) } else { height };
    let pad = if random.below(3) == 0 { 0 } else { filter / 2 };
    let g = if random.below(8) == 0 { random.pick(&[2, 4, 8, 16]) } else { 1 };
    let problem = ConvProblem {
        n: random.pick(&[1, 1, 2, 4, 8, 16, 32, 64]),
        c: random.pick(&CHANNELS) * g,
        k: random.pick(&CHANNELS) * g,
        g,
        stride: [1, stride, stride],
        ..ConvProblem::new_2d([height, width], [filter, filter])
    };
    problem.padded([pad, pad]).into()
}

fn gemm_problem(random: &mut Random) -> Problem {
    let m = match random.below(4) {
        0 => 1 << random.below(7),
        1 => random.pick(&[32, 48, 64, 96, 128, 192, 256, 384, 512, 768]),
        2 => random.pick(&[1024, 1536, 2048, 3072, 4096, 8192, 12288, 16384]),
        _ => 1 + random.below(4096) as i64,
    };
    let n = random.pick(&[
        64, 128, 512, 576, 1000, 1024, 1536, 2048, 3072, 4096, 4608, 7168, 8192, 11008, 14336, 28672,
    ]);
    let k = random.pick(&[64, 128, 256, 512, 1024, 1536, 2048, 2304, 4096, 7168, 8192, 16384]);
    GemmProblem::new(m, n, k).into()
}

fn fmha_problem(random: &mut Random) -> Problem {
    const LENGTHS: [i64; 12] = [64, 113, 256, 339, 512, 1000, 1024, 2048, 3131, 4096, 8192, 16384];
    let keys = random.pick(&LENGTHS);
    let queries = if random.below(4) == 0 { 1 } else { keys };
    let nhead_k = random.pick(&[1, 2, 4, 8, 16]);
    FmhaProblem {
        batch: random.pick(&[1, 1, 2, 4, 8, 16, 64]),
        nhead_k,
        ..FmhaProblem::new([queries, keys], nhead_k * random.pick(&[1, 2, 4, 8]), 128)
    }
    .into()
}
