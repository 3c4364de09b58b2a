//! The cost as the pool grows: kernels that share the values of their features, and kernels that share none.

use std::sync::Arc;

use ck_select::features::KernelTerms;
use ck_select::forest::Forest;
use ck_select::kernel::{GemmKernel, KernelKind, Mnk};
use ck_select::scoring::{CallValues, PoolFeatures, PoolScorer, Scratch};
use ck_select_parity::synthetic::Random;
use serde_json::json;

use crate::Options;
use crate::machine::Setting;
use crate::models::GEMM;
use crate::report::{Line, Report, median, time};

const SIZES: [usize; 7] = [30, 300, 1000, 4608, 10_000, 30_000, 100_000];

/// Kernels from which the pools are cut.
type Kernels = fn(&Setting) -> Vec<KernelKind>;

pub(crate) fn run(options: &Options, report: &mut Report) {
    let pools: [(&str, Kernels); 3] = [
        ("the 4608 over and over", |setting| {
            setting.pool.iter().map(|kernel| kernel.kind.clone()).cycle().take(100_000).collect()
        }),
        ("all different, on a grid", grid),
        ("all different, nothing shared", scattered),
    ];
    if !options.wants("curve") {
        return;
    }
    let setting = (GEMM.setting)();
    let forest = Arc::new(Forest::parse(GEMM.text().as_bytes()).expect("a model that LightGBM wrote"));
    for (name, kernels) in pools {
        let kernels = kernels(&setting);
        for size in SIZES {
            one(
                &format!("curve, {name}: {size} kernels"),
                &setting,
                &forest,
                &kernels[..size],
                options,
                report,
            );
        }
    }
}

fn one(
    case: &str,
    setting: &Setting,
    forest: &Arc<Forest>,
    kernels: &[KernelKind],
    options: &Options,
    report: &mut Report,
) {
    let side = |kernel| setting.extractor.kernel_side(kernel).expect("a described kernel");
    let sides: Vec<KernelTerms> = kernels.iter().map(side).collect();
    let features = PoolFeatures::new(&setting.extractor, &sides).expect("kernels of one operation");
    let scorer = PoolScorer::compile(forest, &features.table()).expect("a pool that fits");
    let mut random = Random::new(78);
    // Seven problems a round, others each time; of the largest pools one.
    let share = if kernels.len() > 10_000 { 1 } else { 7 };
    let (mut scratch, mut scores, mut times) = (Scratch::new(), vec![0.0; kernels.len()], Vec::new());
    let mut exact = true;
    for number in 0..options.rounds() * share {
        let problem = (setting.problem)(&mut random);
        let side = setting.extractor.problem_side(&problem).expect("a described problem");
        let mut values = CallValues::default();
        features.fill(&side, &mut values);
        time(&mut times, || scorer.score(&values.uniform, &values.pair, &mut scratch, &mut scores))
            .expect("values that fit");
        // The scalar scorer has LightGBM's bits; some kernels of each problem.
        let mut row = vec![0.0; forest.num_features()];
        for kernel in (number % 97..kernels.len()).step_by(kernels.len().div_ceil(20)) {
            setting.extractor.fill(&side, &sides[kernel], &mut row);
            exact &= forest.raw_score(&row).expect("a row that fits").to_bits() == scores[kernel].to_bits();
        }
    }
    report.add(&Line {
        case: case.to_owned(),
        ours_us: median(&mut times),
        exact: Some(exact),
        rows: kernels.len(),
        trees: GEMM.trees,
        leaves: GEMM.leaves,
        more: vec![("distinct_rows", json!(scorer.distinct_kernels()))],
        ..Line::default()
    });
}

fn gemm(setting: &Setting) -> Vec<&GemmKernel> {
    let kernels = setting.pool.iter().filter_map(|kernel| match &kernel.kind {
        KernelKind::Gemm(kernel) => Some(kernel),
        _ => None,
    });
    kernels.collect()
}

/// Variants of the sweep's kernels with more tiles: each value of a feature is that of many kernels.
fn grid(setting: &Setting) -> Vec<KernelKind> {
    const EDGES: [u32; 8] = [16, 32, 48, 64, 96, 128, 192, 256];
    let shapes =
        EDGES.into_iter().flat_map(|m| EDGES.into_iter().flat_map(move |n| EDGES.map(|k| Mnk::new(m, n, k))));
    // The sweep's kernels of one tile are all that differs apart from the tile.
    let first = gemm(setting)[0].tile;
    let variants: Vec<_> = gemm(setting).into_iter().filter(|kernel| kernel.tile == first).collect();
    let waves = [[1, 1], [1, 2], [2, 1], [2, 2], [1, 4], [4, 1], [2, 4], [4, 2]];
    let mut kernels = Vec::new();
    for tile in shapes {
        for [m, n] in waves {
            for &kernel in &variants {
                if kernel.wave == variants[0].wave {
                    kernels.push(KernelKind::Gemm(GemmKernel {
                        tile,
                        wave: Mnk::new(m, n, 1),
                        ..kernel.clone()
                    }));
                }
            }
        }
    }
    assert!(kernels.len() >= SIZES[SIZES.len() - 1], "{} kernels", kernels.len());
    // Any beginning of the list is to be like the whole.
    shuffle(&mut kernels);
    kernels
}

/// Kernels of a shape of their own each.
fn scattered(setting: &Setting) -> Vec<KernelKind> {
    let base = gemm(setting);
    let mut random = Random::new(79);
    let mut any = |most: usize| 1 + random.below(most) as u32;
    (0..SIZES[SIZES.len() - 1])
        .map(|number| {
            let tile = Mnk::new(any(512), any(512), any(256));
            KernelKind::Gemm(GemmKernel { tile, ..base[number % base.len()].clone() })
        })
        .collect()
}

fn shuffle<T>(items: &mut [T]) {
    let mut random = Random::new(80);
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}
