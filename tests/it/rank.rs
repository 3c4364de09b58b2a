//! Rankings of the small models against what LightGBM's scores and a plain sort say, and kernels with equal
//! scores: every surface chooses the same one, in whatever order they were registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use ck_select::directory::{Model, Target, TrainedOn};
use ck_select::embedded;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, FmhaProblem, Problem, ProblemDefaults};
use ck_select::ranking::{RankScratch, Ranker};
use ck_select::registry::{NewKernel, Options, Priority, Registry};
use proptest::prelude::*;

use crate::common::{new, root};

fn ranker(model: &str, pool: &str) -> Ranker {
    let model = Model::load(root(model)).unwrap();
    Ranker::new(Arc::new(model), Arc::new(Pool::read(root(pool)).unwrap())).unwrap()
}

fn conv() -> Ranker {
    ranker("tests/golden/models/conv_small", "configs/forward_bf16.txt")
}

fn gemm() -> Ranker {
    ranker("tests/golden/models/gemm_small", "tests/golden/models/gemm_small/pool.txt")
}

fn parse(ranker: &Ranker, text: &str) -> Problem {
    let op = ranker.model().spec().op();
    Problem::parse(op, text, &ProblemDefaults::new(op)).unwrap()
}

/// The expected rankings by problem: kernels and score bits, best first.
fn expected(model: &str) -> BTreeMap<String, Vec<(String, u64)>> {
    let text = std::fs::read_to_string(root(&format!("tests/golden/models/{model}/rankings.csv"))).unwrap();
    let mut rankings = BTreeMap::<_, Vec<_>>::new();
    for line in text.lines().skip(1) {
        let (problem, rest) = line[1..].split_once('"').unwrap();
        let [_, _target, _place, kernel, bits] = rest.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let score = u64::from_str_radix(bits, 16).unwrap();
        rankings.entry(problem.to_owned()).or_default().push((kernel.to_owned(), score));
    }
    rankings
}

/// Among equal scores, which LightGBM does not put in an order, that of the names.
fn by_name(mut places: Vec<(String, u64)>) -> Vec<(String, u64)> {
    places.chunk_by_mut(|one, next| one.1 == next.1).for_each(<[_]>::sort_unstable);
    places
}

fn check(ranker: &Ranker, model: &str) {
    let expected = expected(model);
    assert!(expected.len() >= 3);
    for (problem, places) in expected {
        let ranking = ranker.rank(&parse(ranker, &problem)).unwrap();
        let found: Vec<_> = ranking
            .iter()
            .map(|place| (ranker.name(place.index).to_owned(), place.score.to_bits()))
            .collect();
        assert_eq!(by_name(found), by_name(places), "{problem}");
    }
}

#[test]
fn convolutions_rank_as_lightgbm_says() {
    check(&conv(), "conv_small");
}

#[test]
fn gemms_rank_as_lightgbm_says() {
    // One of the problems is of another type, for which LightGBM was asked all the same.
    let forced = Arc::new(Model::clone(gemm().model()).forced());
    check(&Ranker::new(forced, gemm().pool().clone()).unwrap(), "gemm_small");
}

#[test]
fn attention_ranks_as_lightgbm_says() {
    let ranker = ranker("tests/golden/models/fmha_small", "tests/golden/models/fmha_small/pool.txt");
    check(&ranker, "fmha_small");
    // A kernel that cannot run the problem is not ranked.
    let causal = parse(&ranker, "seqlen_q=2048,nhead_q=32,hdim_q=128,mask=top_left");
    let error = ranker.rank(&causal).unwrap_err().to_string();
    assert!(error.starts_with("none of the 30 kernels computes"), "{error}");
}

#[test]
fn top_best_and_predictions_agree_with_the_ranking() {
    let ranker = gemm();
    let problem = parse(&ranker, "M=128,N=1536,K=7168");
    let ranking = ranker.rank(&problem).unwrap();
    let (checked, mut scratch) = (problem.checked().unwrap(), RankScratch::default());
    for count in [1, 4, usize::MAX] {
        // The rest is ranked when it is reached.
        let places = ranker.ranking(checked, None, count, &mut scratch).unwrap();
        assert_eq!(places.collect::<Result<Vec<_>, _>>().as_ref(), Ok(&ranking), "{count}");
    }
    let predictions = ranker.predict(problem.checked().unwrap(), ranking[0].index).unwrap();
    assert_eq!(predictions.tflops, Some(ranking[0].score));
    assert!(predictions.latency_ms.unwrap() >= 0.0 && predictions.bandwidth_gb_s.is_some());
}

#[test]
fn a_model_can_rank_by_another_target() {
    let by_latency =
        Model::load(root("tests/golden/models/gemm_small")).unwrap().ranking_by(Target::Latency).unwrap();
    let pool = gemm().pool().clone();
    let ranker = Ranker::new(Arc::new(by_latency), pool).unwrap();
    let ranking = ranker.rank(&parse(&ranker, "M=1024,N=1536,K=7168")).unwrap();
    assert!(ranking.windows(2).all(|pair| pair[0].score <= pair[1].score), "short times first");
    let conv = Model::load(root("tests/golden/models/conv_small")).unwrap();
    let error = conv.ranking_by(Target::Latency).unwrap_err().to_string();
    assert!(error.ends_with("no model_latency.lgbm and no model_latency.lgbm.gz"), "{error}");
}

#[test]
fn equal_kernels_keep_the_order_of_the_pool() {
    let names = ["64x64x64_compv3", "64x64x64_compv3_intrawave", "64x64x64_compv3"]
        .map(|tail| format!("grouped_conv_forward_bf16_2d_{tail}"));
    let pool = Pool::from_bytes("names", names.join("\n").as_bytes()).unwrap();
    let ranker = Ranker::new(conv().model().clone(), Arc::new(pool)).unwrap();
    let ranking = ranker.rank(&parse(&ranker, "C=64,K=64,Hi=28,Wi=28,Y=3,X=3")).unwrap();
    assert_eq!(ranking.iter().map(|place| place.index).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn comparisons_add_up_to_the_scores() {
    let ranker = conv();
    let problem = parse(&ranker, "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1");
    let ranking = ranker.rank(&problem).unwrap();
    let [first, second] = [ranking[0], ranking[1]];
    let comparison = ranker.compare((&problem, first.index), (&problem, second.index)).unwrap();
    for (side, place) in [first, second].into_iter().enumerate() {
        let parts = &comparison.parts[side];
        assert_eq!(parts.raw_score().exp_m1().to_bits(), place.score.to_bits());
        let backwards: f64 =
            parts.features.iter().rev().fold(parts.bias, |sum, part| sum + part) + parts.rounding;
        assert_eq!(backwards.to_bits(), comparison.raw[side].to_bits());
    }
    assert_eq!(comparison.terms.len(), 97);
    assert!(comparison.terms.windows(2).all(|pair| pair[0].difference().abs() >= pair[1].difference().abs()));
}

#[test]
fn unrankable_problems_are_refused_with_the_reason() {
    let ranker = conv();
    let problem = parse(&ranker, "C=64,K=64,Hi=28,Wi=28,Y=3,X=3,direction=bwd_data");
    let error = ranker.rank(&problem).unwrap_err().to_string();
    assert!(error.starts_with("none of the 30 kernels computes a 2D bwd_data convolution"), "{error}");

    let wavelet: &[u8] = b"grouped_conv_forward_bf16_2d_64x64x64_wavelet_intrawave";
    let pool = Arc::new(Pool::from_bytes("names", wavelet).unwrap());
    let error = Ranker::new(ranker.model().clone(), pool.clone()).unwrap_err().to_string();
    assert!(
        error.contains("_wavelet_intrawave': pipeline: found 'wavelet', expected one of compv3"),
        "{error}"
    );
    let mut rules = ranker.model().extractor().rules;
    rules.uncoded = ck_select::features::Uncoded::Upstream;
    let lenient = Model::clone(ranker.model()).with_rules(rules);
    assert!(Ranker::new(Arc::new(lenient), pool).is_ok());

    let problem = parse(&ranker, "C=64,K=64,Hi=28,Wi=28,Y=3,X=3");
    let error = ranker.predict(problem.checked().unwrap(), 30).unwrap_err().to_string();
    assert_eq!(error, "the pool has 30 kernels, none at index 30");
    let error = Ranker::new(gemm().model().clone(), ranker.pool().clone()).unwrap_err().to_string();
    assert!(
        error.contains("none of the 30 kernels") && error.contains("operation is grouped_conv"),
        "{error}"
    );
}

#[test]
fn kernels_that_the_model_is_not_for_are_left_out_and_keep_the_places_of_the_others() {
    let whole = conv();
    let names: Vec<&str> = (0..4).map(|index| whole.name(index)).collect();
    let strangers =
        ["grouped_conv_forward_fp32_2d_64x64x64_compv3", "grouped_conv_forward_bf16_2d_64x64x64_wavelet"];
    let mixed = [strangers[0], names[0], names[1], strangers[1], names[2], names[3]].join("\n");
    let pool = Arc::new(Pool::from_bytes("names", mixed.as_bytes()).unwrap());
    let ranker = Ranker::new(whole.model().clone(), pool).unwrap();
    let left_out: Vec<_> = ranker.left_out().iter().map(|one| (one.index, one.reason.to_string())).collect();
    assert_eq!(left_out[0], (0, "dtype is fp32, the model is for bf16".to_owned()));
    assert!(left_out[1].0 == 3 && left_out[1].1.contains("found 'wavelet'") && left_out.len() == 2);

    let problem = parse(&ranker, "C=64,K=64,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1");
    let only = Arc::new(Pool::from_bytes("names", names.join("\n").as_bytes()).unwrap());
    let plain = Ranker::new(whole.model().clone(), only).unwrap();
    let named = |ranker: &Ranker| -> Vec<_> {
        let ranking = ranker.rank(&problem).unwrap();
        ranking.iter().map(|one| (ranker.name(one.index).to_owned(), one.score.to_bits())).collect()
    };
    assert_eq!(named(&ranker), named(&plain));
    let checked = problem.checked().unwrap();
    for (index, name) in [1, 2, 4, 5].into_iter().zip(0..4) {
        assert_eq!(ranker.features(checked, index), plain.features(checked, name));
    }
    let error = ranker.predict(checked, 3).unwrap_err().to_string();
    assert!(error.contains("_wavelet': pipeline: found 'wavelet'"), "{error}");
}

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

    /// The alphabet decided, or the order of registration (accde6c8).
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
                let place: &ck_select::registry::RankedKernel<'_> = &pair[at];
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
        let best = ranker.rank(&problem).unwrap()[0];
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
            let first = ranker.ranking(problem.checked().unwrap(), None, count, &mut scratch).unwrap();
            assert_eq!(first.places(), &ranking[..count], "{problem} {count}");
        }
        assert!(ranker.unmeasured(ranking[0].index).is_empty());
        ties += usize::from(ranking[0].score.to_bits() == ranking[1].score.to_bits());
    }
    assert!(ties > 0);
}

/// With equal scores the pool's order chose the unmeasured `qr_async` of normal priority before the measured
/// `qr` of high priority (accde6c8).
#[test]
fn attention_kernels_are_no_exception() {
    let folder = root("tests/golden/models/fmha_small");
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
    let measured = pool.iter().map(|kernel| &kernel.kind).filter(|kind| kind.pipeline() == Some("qr"));
    spec["ck_select"]["trained_on"] = serde_json::json!(TrainedOn::new([], measured, Vec::new()));
    let recorded = model(&spec);
    for high in ["_qr_t", "_qr_async_t"] {
        assert!(chosen(&recorded, high).contains("_qr_t"), "only qr was measured");
    }
}
