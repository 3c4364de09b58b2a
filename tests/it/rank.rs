//! Rankings of the small models against what LightGBM's scores and a plain sort say.

use std::collections::BTreeMap;
use std::sync::Arc;

use ck_select::model::{Model, Target};
use ck_select::pool::Pool;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::select::{RankScratch, Ranker};

fn golden(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn ranker(model: &str, pool: &str) -> Ranker {
    let model = Model::load(golden(model)).unwrap();
    Ranker::new(Arc::new(model), Arc::new(Pool::read(golden(pool)).unwrap())).unwrap()
}

fn conv() -> Ranker {
    ranker("tests/golden/models/conv_small", "configs/forward_bf16.txt")
}

fn gemm() -> Ranker {
    ranker("tests/golden/models/gemm_small", "tests/golden/models/gemm_small/pool.txt")
}

fn parse(ranker: &Ranker, text: &str) -> Problem {
    let op = ranker.model().spec().op();
    Problem::parse(op, text, &ProblemDefaults::of(op)).unwrap()
}

/// The expected rankings by problem: kernels and score bits, best first.
fn expected(model: &str) -> BTreeMap<String, Vec<(String, u64)>> {
    let text = std::fs::read_to_string(golden(&format!("tests/golden/models/{model}/rankings.csv"))).unwrap();
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
        assert_eq!(places.collect::<Vec<_>>(), ranking, "{count}");
    }
    assert_eq!(ranker.best(&problem).unwrap(), ranking[0]);
    let predictions = ranker.predict(problem.checked().unwrap(), ranking[0].index).unwrap();
    assert_eq!(predictions.tflops, Some(ranking[0].score));
    assert!(predictions.latency_ms.unwrap() >= 0.0 && predictions.bandwidth_gb_s.is_some());
}

#[test]
fn a_model_can_rank_by_another_target() {
    let by_latency =
        Model::load(golden("tests/golden/models/gemm_small")).unwrap().ranking_by(Target::Latency).unwrap();
    let pool = gemm().pool().clone();
    let ranker = Ranker::new(Arc::new(by_latency), pool).unwrap();
    let ranking = ranker.rank(&parse(&ranker, "M=1024,N=1536,K=7168")).unwrap();
    assert!(ranking.windows(2).all(|pair| pair[0].score <= pair[1].score), "short times first");
    let conv = Model::load(golden("tests/golden/models/conv_small")).unwrap();
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
fn what_cannot_be_ranked_is_an_error_that_says_why() {
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
