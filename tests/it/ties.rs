//! Kernels with equal scores: every surface chooses the same one, in whatever order they were registered.

use std::sync::Arc;

use crate::common::new;
use ck_select::embedded;
use ck_select::kernel::Kernel;
use ck_select::model::{Model, Target, TrainedOn};
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, FmhaProblem, Problem};
use ck_select::registry::{NewKernel, Options, Priority, Registry};
use ck_select::select::{RankScratch, Ranker};
use proptest::prelude::*;

const MODEL: &str = "embedded:grouped_conv_forward_bf16_gfx950";
/// The model scores the last three like the first, and has measured only that one.
const PIPELINES: [&str; 4] = ["compv3", "basic_v1", "comp_async", "wavelet"];
const TILES: [&str; 10] = [
    "16x64x64", "32x64x64", "64x64x64", "64x128x64", "128x64x64", "128x128x64", "128x128x32", "128x256x64",
    "256x128x32", "256x256x32",
];

fn kernels(tiles: &[&str], pipelines: &[&str]) -> Vec<Kernel> {
    let name = |tile, pipeline| format!("grouped_conv_forward_bf16_2d_{tile}_{pipeline}_intrawave");
    let all = pipelines.iter().flat_map(|pipeline| tiles.iter().map(move |tile| name(tile, pipeline)));
    all.map(|name| Kernel::from_name(&name).unwrap()).collect()
}

fn layer(n: i64, channels: i64, size: i64) -> Problem {
    ConvProblem { n, c: channels, k: channels, ..ConvProblem::new_2d([size, size], [3, 3]) }
        .padded([1, 1])
        .into()
}

fn registry(kernels: impl IntoIterator<Item = (Kernel, i32)>, model: Option<Arc<Model>>) -> Registry {
    let arch = Some("gfx950".parse().unwrap());
    let options = Options { arch, embedded_models: model.is_none(), ..Options::default() };
    let registry = Registry::new(options).unwrap();
    let ranked = |(kernel, priority)| NewKernel { priority: Priority(priority), ..new(kernel, None) };
    registry.add_all(kernels.into_iter().map(ranked).collect()).unwrap();
    if let Some(model) = model {
        registry.set_model(model, None);
    }
    registry
}

/// The names of a ranking, and of the selection.
fn answers(registry: &Registry, problem: &Problem) -> (Vec<String>, String) {
    let ranking = registry.rank(problem).unwrap();
    let names = ranking.places.iter().map(|place| place.entry.name().to_owned()).collect();
    (names, registry.select(problem).unwrap().entry.name().to_owned())
}

fn own_model(model: &str) -> Arc<Model> {
    Arc::new(embedded::named(model.as_ref()).unwrap().unwrap().load().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The alphabet decided, or the order of registration.
    #[test]
    fn no_order_of_registration_changes_anything(
        order in Just((0..40).collect::<Vec<usize>>()).prop_shuffle(),
        priorities in prop::collection::vec(0..3, 40),
        n in 1..64_i64,
        channels in 1..64_i64,
        size in 3..60_i64,
    ) {
        let (all, problem) = (kernels(&TILES, &PIPELINES), layer(n, 8 * channels, size));
        let with = |place: usize| (all[place].clone(), priorities[place]);
        let listed = registry((0..40).map(with), None);
        let (names, selected) = answers(&listed, &problem);
        prop_assert_eq!(&answers(&registry(order.iter().copied().map(with), None), &problem), &(names, selected.clone()));
        // Measured kernels first, then the priority.
        let ranking = listed.rank(&problem).unwrap();
        for pair in ranking.places.windows(2) {
            let standing = |at: usize| {
                let place: &ck_select::registry::Place<'_> = &pair[at];
                (!place.unmeasured.is_empty(), -priorities[place.index])
            };
            if pair[0].score.to_bits() == pair[1].score.to_bits() {
                prop_assert!(standing(0) <= standing(1), "{:?}", pair);
            } else {
                prop_assert!(pair[0].score > pair[1].score);
            }
        }
        // Without priorities a pool in any order has the same first kernel, as `ckselect rank` finds it.
        let equal = registry((0..40).map(|place| (all[place].clone(), 1)), None);
        let pool = Pool::new(order.iter().map(|&place| all[place].clone()).collect()).unwrap();
        let ranker = Ranker::new(own_model(MODEL), Arc::new(pool)).unwrap();
        let best = ranker.best(&problem).unwrap();
        prop_assert_eq!(ranker.name(best.index), answers(&equal, &problem).1);
    }
}

/// A large pool is ranked by a shortlist, whose first places are those of the whole ranking.
#[test]
fn shortlists_have_the_same_first_places() {
    let sizes = [16, 32, 48, 64, 96, 128, 160, 192, 256];
    let tiles: Vec<String> = (0..324)
        .map(|at| format!("{}x{}x{}", sizes[at / 36], sizes[at / 4 % 9], [16, 32, 64, 128][at % 4]))
        .collect();
    let tiles: Vec<&str> = tiles.iter().map(String::as_str).collect();
    // The unmeasured ones come first in the pool.
    let pipelines = ["comp_async", "basic_v1", "wavelet", "compv3"];
    let pool = Pool::new(kernels(&tiles, &pipelines)).unwrap();
    let ranker = Ranker::new(own_model(MODEL), Arc::new(pool)).unwrap();
    let (mut scratch, mut ties) = (RankScratch::default(), 0);
    for (n, channels, size) in [(1, 64, 7), (3, 96, 30), (16, 256, 28), (64, 512, 14), (128, 64, 56)] {
        let problem = layer(n, channels, size);
        let ranking = ranker.rank(&problem).unwrap();
        for count in [1, 2, 3, 4, 7, 20] {
            ranker.ranking(problem.checked().unwrap(), None, count, &mut scratch).unwrap();
            assert_eq!(scratch.ranking(), &ranking[..count], "{problem} {count}");
        }
        assert!(ranker.unmeasured(ranking[0].index).is_empty());
        ties += usize::from(ranking[0].score.to_bits() == ranking[1].score.to_bits());
    }
    assert!(ties > 0);
}

/// With equal scores the pool's order chose the unmeasured `qr_async` of normal priority before the measured
/// `qr` of high priority.
#[test]
fn attention_kernels_are_no_exception() {
    let folder = format!("{}/tests/golden/models/fmha_small", env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read(format!("{folder}/{file}")).unwrap();
    let mut spec: serde_json::Value = serde_json::from_slice(&read("feature_spec.json")).unwrap();
    let pool = Pool::read(format!("{folder}/pool.txt")).unwrap();
    let problem = FmhaProblem::new([799, 3131], 5, 128);
    let chosen = |model: &Model, high: &str| {
        let is = |kernel: &Kernel| kernel.name.contains(high);
        let kernels = pool.iter().map(|kernel| (kernel.clone(), if is(kernel) { 2 } else { 1 }));
        let registry = registry(kernels, Some(Arc::new(model.clone())));
        registry.select(&problem.into()).unwrap().entry.name().to_owned()
    };
    let forest = read("model_tflops.lgbm.gz");
    let model = |spec: &serde_json::Value| {
        let spec = serde_json::to_vec(spec).unwrap();
        Model::from_bytes("attention", &spec, &[(Target::Tflops, &forest)]).unwrap()
    };
    let unrecorded = model(&spec);
    for high in ["_qr_t", "_qr_async_t"] {
        assert!(chosen(&unrecorded, high).contains(high));
    }
    let measured = pool.iter().map(|kernel| &kernel.kind).filter(|kind| kind.pipeline() == "qr");
    spec["ck_select"]["trained_on"] = serde_json::json!(TrainedOn::new([], measured, Vec::new()));
    let recorded = model(&spec);
    for high in ["_qr_t", "_qr_async_t"] {
        assert!(chosen(&recorded, high).contains("_qr_t"), "only qr was measured");
    }
}
