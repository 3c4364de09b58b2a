//! Pools, problems and a made-up machine to train the bench's models on: seeded, the same everywhere.

use ck_select::features::{Engine, Extractor, Uncoded};
use ck_select::kernel::{ConvKernel, Kernel, KernelKind};
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, FmhaProblem, GemmProblem, Problem};
use ck_select::vocab::{Epilogue, FmhaPipeline, Pipeline, Scheduler};
use ck_select_parity::synthetic::Random;

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
    let (extractor, pool) = (Extractor::of_engine(Engine::Conv97), listed("configs/forward_bf16.txt"));
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
    let mut extractor = Extractor::of_engine(Engine::ConvSuperset);
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
                                    "gemm_universal_fp8_rcr_{pipeline}_{epilogue}_{scheduler}_False_False\
                                     _False_{persistent}_{m}x{n}x{k}_{wave_m}x{wave_n}x1\
                                     _{warp_m}x{warp_n}x{warp_k}"
                                ))
                            }));
                        }
                    }
                }
            }
        }
    }
    Setting { extractor: Extractor::of_engine(Engine::Gemm72), pool, problem: gemm_problem }
}

/// Fifteen tiles by two pipelines, upstream's 68 features.
pub(crate) fn fmha_30() -> Setting {
    let pool = listed("tests/golden/models/fmha_small/pool.txt");
    Setting { extractor: Extractor::of_engine(Engine::Fmha68Python), pool, problem: fmha_problem }
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

fn conv_problem(random: &mut Random) -> Problem {
    const CHANNELS: [i64; 16] = [16, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 2048];
    const EXTENTS: [i64; 16] = [7, 8, 14, 16, 20, 28, 32, 40, 56, 64, 80, 112, 128, 160, 224, 256];
    let filter = pick(random, &[1, 1, 1, 3, 3, 3, 3, 5, 7]);
    let stride = pick(random, &[1, 1, 1, 2]);
    let height = pick(random, &EXTENTS).max(filter);
    let width = if random.below(4) == 0 { pick(random, &EXTENTS).max(filter) } else { height };
    let pad = if random.below(3) == 0 { 0 } else { filter / 2 };
    let g = if random.below(8) == 0 { pick(random, &[2, 4, 8, 16]) } else { 1 };
    let problem = ConvProblem {
        n: pick(random, &[1, 1, 2, 4, 8, 16, 32, 64]),
        c: pick(random, &CHANNELS) * g,
        k: pick(random, &CHANNELS) * g,
        g,
        stride: [1, stride, stride],
        ..ConvProblem::new_2d([height, width], [filter, filter])
    };
    problem.padded([pad, pad]).into()
}

fn gemm_problem(random: &mut Random) -> Problem {
    let m = match random.below(4) {
        0 => 1 << random.below(7),
        1 => pick(random, &[32, 48, 64, 96, 128, 192, 256, 384, 512, 768]),
        2 => pick(random, &[1024, 1536, 2048, 3072, 4096, 8192, 12288, 16384]),
        _ => 1 + random.below(4096) as i64,
    };
    let n = pick(
        random,
        &[64, 128, 512, 576, 1000, 1024, 1536, 2048, 3072, 4096, 4608, 7168, 8192, 11008, 14336, 28672],
    );
    let k = pick(random, &[64, 128, 256, 512, 1024, 1536, 2048, 2304, 4096, 7168, 8192, 16384]);
    GemmProblem::new(m, n, k).into()
}

fn fmha_problem(random: &mut Random) -> Problem {
    const LENGTHS: [i64; 12] = [64, 113, 256, 339, 512, 1000, 1024, 2048, 3131, 4096, 8192, 16384];
    let keys = pick(random, &LENGTHS);
    let queries = if random.below(4) == 0 { 1 } else { keys };
    let nhead_k = pick(random, &[1, 2, 4, 8, 16]);
    FmhaProblem {
        batch: pick(random, &[1, 1, 2, 4, 8, 16, 64]),
        nhead_k,
        ..FmhaProblem::new([queries, keys], nhead_k * pick(random, &[1, 2, 4, 8]), 128)
    }
    .into()
}

/// What the made-up machine looks at.
struct Job {
    extents: [f64; 3],
    groups: f64,
    element_bytes: f64,
    tile: [f64; 3],
    wave_ratio: f64,
    warp_tile: [f64; 3],
    pipeline: Pipeline,
    interwave: bool,
    double_buffer: bool,
    split_image: bool,
    persistent: bool,
    plain_epilogue: bool,
}

fn job(problem: &Problem, kernel: &KernelKind) -> Option<Job> {
    let f = |mnk: ck_select::kernel::Mnk| [mnk.m, mnk.n, mnk.k].map(f64::from);
    match (problem, kernel) {
        (Problem::Conv(p), KernelKind::Conv(k)) => {
            let [_, height, width] = p.output();
            let depth = p.c / p.g * p.filter[1] * p.filter[2];
            Some(Job {
                extents: [p.n * height * width, p.k / p.g, depth].map(|extent| extent as f64),
                groups: p.g as f64,
                element_bytes: 2.0,
                tile: f(k.tile),
                wave_ratio: f64::from(k.wave.m.max(1)) / f64::from(k.wave.n.max(1)),
                warp_tile: f(k.warp_tile),
                pipeline: k.pipeline,
                interwave: k.scheduler == Scheduler::Interwave,
                double_buffer: k.double_smem_buffer,
                split_image: k.split_image,
                persistent: false,
                plain_epilogue: false,
            })
        }
        (Problem::Gemm(p), KernelKind::Gemm(k)) => Some(Job {
            extents: [p.m, p.n, p.k].map(|extent| extent as f64),
            groups: 1.0,
            element_bytes: 1.0,
            tile: f(k.tile),
            wave_ratio: f64::from(k.wave.m) / f64::from(k.wave.n),
            warp_tile: f(k.warp_tile),
            pipeline: k.pipeline,
            interwave: k.scheduler == Scheduler::Interwave,
            double_buffer: false,
            split_image: false,
            persistent: k.persistent,
            plain_epilogue: k.epilogue == Epilogue::Default,
        }),
        (Problem::Fmha(p), KernelKind::Fmha(k)) => Some(Job {
            extents: [p.seqlen_q, p.hdim_v, p.seqlen_k].map(|extent| extent as f64),
            groups: p.batch as f64 * p.nhead_q as f64,
            element_bytes: 2.0,
            tile: [k.tile.m0, k.tile.n1, k.tile.n0].map(f64::from),
            wave_ratio: 1.0,
            warp_tile: [16.0, 16.0, 32.0],
            pipeline: if k.pipeline == FmhaPipeline::QrAsync { Pipeline::CompV4 } else { Pipeline::CompV3 },
            interwave: false,
            double_buffer: false,
            split_image: false,
            persistent: false,
            plain_epilogue: false,
        }),
        _ => None,
    }
}

/// TFLOPS of a made-up machine: rounds of tiles on 256 units, memory traffic, start-up, traits, and 6 % of
/// noise.
pub(crate) fn tflops(problem: &Problem, kernel: &KernelKind, random: &mut Random) -> f64 {
    let Some(job) = job(problem, kernel) else { return 0.0 };
    let ([m, n, k], [tile_m, tile_n, tile_k]) = (job.extents, job.tile);
    let flag = |condition: bool| f64::from(u8::from(condition));
    let (tiles_m, tiles_n, steps) = ((m / tile_m).ceil(), (n / tile_n).ceil(), (k / tile_k).ceil());
    let rounds = (tiles_m * tiles_n * job.groups / 256.0).ceil();
    let mut rate = match job.pipeline {
        Pipeline::CompV3 => 1.0,
        Pipeline::CompV4 => 1.12,
        Pipeline::CompV5 => 1.06,
        Pipeline::CompV6 => 1.04,
        Pipeline::Mem => 0.8,
        Pipeline::BasicV1 => 0.7,
        _ => 0.75,
    };
    rate *= 1.0 - 20.0 / (tile_m + tile_n);
    rate *= if job.interwave { 0.93 + 0.1 * flag(steps < 8.0) } else { 1.0 };
    rate *= if job.double_buffer { 1.0 + 0.05 * (steps.min(20.0) - 8.0) / 12.0 } else { 1.0 };
    rate *= if job.split_image { 0.97 + 0.08 * flag(m > 1e5) } else { 1.0 };
    rate *= 0.8 + 0.2 * job.warp_tile[2].min(64.0) / 64.0;
    rate *= 1.0 + 0.03 * flag(job.warp_tile[0] > 16.0);
    rate *= 1.0 - 0.02 * ((tile_m / tile_n).log2() - job.wave_ratio.log2()).abs().min(3.0);
    let startup = match job.pipeline {
        Pipeline::CompV4 | Pipeline::CompV6 => 3.0,
        Pipeline::Mem => 1.0,
        _ => 2.0,
    };
    let compute = rounds * (steps + startup) * tile_m * tile_n * tile_k * 2.0 / (rate * 9e6);
    let traffic = m * k * tiles_n.sqrt() + n * k * tiles_m.sqrt() + m * n * 2.0;
    let memory =
        traffic * job.element_bytes * job.groups / 5e6 * (1.0 - 0.15 * flag(job.pipeline == Pipeline::Mem));
    let fixed = 3.0
        + if job.persistent { 1.0 - 0.3 * rounds.min(6.0) } else { 0.0 }
        + if job.plain_epilogue { 0.3 * flag(n % 8.0 != 0.0) + memory * 0.02 - 0.2 } else { 0.0 };
    let us = compute.max(memory) + 0.3 * compute.min(memory) + fixed.max(0.5);
    let noise = 1.0 + 0.06 * (random.unit() + random.unit() + random.unit() - 1.5);
    problem.flops() / us * 1e-6 * noise
}
