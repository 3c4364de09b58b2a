//! Problems that leave open into how many parts their reduction is split: the number is chosen with the
//! kernel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ck_select::directory::{Model, Target};
use ck_select::estimate::{Device, EstimateScratch, Estimator, PoolEstimate};
use ck_select::forest::text_head;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{AUTO, GemmProblem, Problem, Splits};
use ck_select::ranking::{RankError, RankScratch, Ranked, Ranker};
use ck_select::registry::{Mode, Options, Registry, SelectError, Source};
use ck_select::tuning::search::RunOutcome;

use crate::common::{Scripted, on, plain, root, running};

fn model() -> Model {
    Model::load(root("tests/golden/models/gemm_small")).unwrap()
}

fn pool() -> Pool {
    Pool::read(root("tests/golden/models/gemm_small/pool.txt")).unwrap()
}

fn gemm(m: i64, split_k: i32) -> Problem {
    GemmProblem { split_k, ..GemmProblem::new(m, 1536, 7168) }.into()
}

struct Made {
    registry: Registry,
    seen: Arc<Mutex<Vec<i32>>>,
    runs: Arc<AtomicUsize>,
}

/// Kernels that support some numbers of parts, and whose runs take as long as the test says.
fn made(options: Options, least: i32, time: fn(&str, i32) -> f64) -> Made {
    let (seen, runs) = (Arc::<Mutex<Vec<i32>>>::default(), Arc::<AtomicUsize>::default());
    let with_parts = |_, kernel: &Kernel| {
        let (name, seen, runs) = (kernel.name.clone(), Arc::clone(&seen), Arc::clone(&runs));
        let supports = move |problem: &Problem| {
            seen.lock().unwrap().push(problem.split_k());
            problem.split_k() >= least
        };
        let run = move |problem: &Problem| {
            runs.fetch_add(1, Ordering::Relaxed);
            RunOutcome::Milliseconds(time(&name, problem.split_k()))
        };
        Scripted { supports, run }
    };
    Made { registry: running(options, pool().iter().cloned(), with_parts), seen, runs }
}

/// The pairs of all rankings with a given number, best first; the smaller number goes first among equal
/// scores.
fn merged(rank: impl Fn(&Problem) -> Vec<Ranked>, m: i64, splits: &Splits, lower: bool) -> Vec<Ranked> {
    let each = splits.as_slice().iter().flat_map(|&parts| rank(&gemm(m, parts)));
    let mut all: Vec<Ranked> = each.collect();
    all.sort_by(|a, b| if lower { a.score.total_cmp(&b.score) } else { b.score.total_cmp(&a.score) });
    all
}

/// However many places are asked for, they are those of all pairs.
#[test]
#[cfg(feature = "embedded-models")]
fn a_model_ranks_pairs_as_it_ranks_each_number() {
    let universal = ck_select::embedded::all().iter().find(|one| one.name() == "universal").unwrap();
    let device = Device::for_arch("gfx942".parse().unwrap()).unwrap();
    let universal = universal.load().unwrap().for_op(ck_select::vocab::Op::Gemm).unwrap();
    let universal = universal.on_device(device, "gfx942".parse().ok());
    for model in [model(), universal] {
        let ranker = Ranker::new(Arc::new(model), Arc::new(pool())).unwrap();
        for (m, list) in [(16, "1,2,4,8,16"), (4096, "3,1")] {
            let splits: Splits = list.parse().unwrap();
            let expected = merged(|problem| ranker.rank(problem).unwrap(), m, &splits, false);
            let auto = gemm(m, AUTO);
            for count in [1, 3, usize::MAX] {
                let mut scratch = RankScratch::default();
                let checked = auto.checked().unwrap().among(&splits);
                let places = ranker.ranking(checked, None, count, &mut scratch).unwrap();
                let places: Vec<Ranked> = places.collect::<Result<_, _>>().unwrap();
                assert_eq!(places, expected, "{} {m} {count}", ranker.model().name());
            }
        }
        // Of one kernel each number has a whole ranking, but not all of them are among the first places.
        let (auto, splits): (_, Splits) = (gemm(16, AUTO), "1,2,4,8,16".parse().unwrap());
        let only = Pool::new(vec![pool().iter().nth(1).unwrap().clone()]).unwrap();
        let alone = Ranker::new(Arc::clone(ranker.model()), Arc::new(only)).unwrap();
        let checked = auto.checked().unwrap().among(&splits);
        let mut scratch = RankScratch::default();
        let places = alone.ranking(checked, None, 2, &mut scratch).unwrap();
        assert_eq!(places.count(), 5, "{}", ranker.model().name());
        assert_eq!(
            ranker.rank(&gemm(16, AUTO)).unwrap()[0],
            merged(|one| ranker.rank(one).unwrap(), 16, &Splits::USUAL, false)[0]
        );
    }
}

#[test]
fn the_estimate_ranks_pairs_and_prefers_the_smaller_number() {
    let device = Device::for_arch("gfx942".parse().unwrap()).unwrap();
    let estimate = PoolEstimate::new(Estimator::new(device), Arc::new(pool()));
    let rank = |problem: &Problem| {
        let mut scratch = EstimateScratch::default();
        estimate.rank(problem.checked().unwrap(), &mut scratch).unwrap();
        scratch.ranking().to_vec()
    };
    for m in [1, 64, 8192] {
        let found = rank(&gemm(m, AUTO));
        let times = |all: &[Ranked]| all.iter().map(|one| one.score).collect::<Vec<_>>();
        assert_eq!(times(&found), times(&merged(rank, m, &Splits::USUAL, true)));
        for pair in found.windows(2).filter(|pair| pair[0].score == pair[1].score) {
            assert!(pair[0].index != pair[1].index || pair[0].split_k < pair[1].split_k);
        }
    }
    // Few rows and a deep K leave a device idle that is not split.
    assert!(rank(&gemm(1, AUTO))[0].split_k > 1);
}

#[test]
fn every_source_chooses_among_what_is_allowed_and_supported() {
    let auto = gemm(16, AUTO);
    let slow = |_: &str, _: i32| 1.0;
    let splits: Splits = "1,2,4".parse().unwrap();
    for (mode, model, estimate, source) in [
        (Mode::Model, true, true, Source::Model),
        (Mode::Model, false, true, Source::Estimate),
        (Mode::Model, false, false, Source::Priority),
        (Mode::Priority, false, true, Source::Priority),
    ] {
        let options = Options { mode, estimate, splits, ..on("gfx950") };
        let Made { registry, seen, .. } = made(options, 2, slow);
        if model {
            registry.set_model(Arc::new(self::model()), None);
        }
        // The second answer is remembered.
        for _ in 0..2 {
            let chosen = registry.select(&auto).unwrap();
            assert_eq!(chosen.source, source);
            assert!([2, 4].contains(&chosen.split_k), "{source}: {}", chosen.split_k);
        }
        let asked = std::mem::take(&mut *seen.lock().unwrap());
        assert!(asked.iter().all(|parts| splits.as_slice().contains(parts)), "{source}: {asked:?}");
        let text = registry.explain(&auto).unwrap();
        let chosen = registry.select(&auto).unwrap();
        let named = format!("selected: {} in {} parts by {source}", chosen.entry.name(), chosen.split_k);
        assert!(text.contains(&named), "{text}");
        // What is given is respected.
        assert_eq!(registry.select(&gemm(16, 4)).unwrap().split_k, 4);
        let none = registry.select(&gemm(16, 1)).unwrap_err();
        assert!(matches!(none, SelectError::NoKernel { .. }), "{none}");
    }
    let Made { registry, .. } = made(on("gfx942"), 32, slow);
    let none = registry.select(&auto).unwrap_err().to_string();
    assert!(none.contains(&format!("{} do not support it", pool().len())), "{none}");
}

/// Nothing learned AITER's splits, and what the estimate chose was right less often than none.
#[test]
#[cfg(feature = "embedded-models")]
fn aiters_kernels_stay_whole_unless_numbers_are_given() {
    let aiter = ["64x128x128_32x32_1x2", "128x128x128_32x32_2x2"].map(|tile| {
        let rest = "8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
        Kernel::from_name(&format!("a8w8_rowwise_256x{tile}_{rest}")).unwrap()
    });
    let text = "M=16,N=512,K=16384,split_k=auto,quant=rowcolquant";
    let auto = Problem::parse(ck_select::vocab::Op::Gemm, text, &aiter[0].kind.defaults()).unwrap();
    let usual = Options { embedded_models: true, ..on("gfx942") };
    let without = Options { embedded_models: false, ..usual.clone() };
    let given = Options { splits: "2,4".parse().unwrap(), ..usual.clone() };
    for (options, source, least) in [
        (usual.clone(), Source::Model, 1),
        (without.clone(), Source::Estimate, 1),
        (Options { mode: Mode::Priority, ..without.clone() }, Source::Priority, 1),
        (given.clone(), Source::Model, 2),
        (Options { embedded_models: false, ..given }, Source::Estimate, 2),
    ] {
        let registry = Registry::new(options).unwrap();
        registry.add_all(plain(aiter.clone())).unwrap();
        let chosen = registry.select(&auto).unwrap();
        assert_eq!((chosen.source, chosen.split_k.min(2)), (source, least));
    }
    // Others beside them are split, if they add pairs of fp16.
    let other = pool().iter().nth(1).unwrap().clone();
    let estimate = PoolEstimate::new(
        Estimator::new(Device::for_arch("gfx942".parse().unwrap()).unwrap()),
        Arc::new(Pool::new([&aiter[..], &[other]].concat()).unwrap()),
    );
    let mut scratch = EstimateScratch::default();
    estimate.rank(gemm(1, AUTO).checked().unwrap(), &mut scratch).unwrap();
    let parts = |index| scratch.ranking().iter().filter(|one| one.index == index).count();
    assert_eq!([parts(0), parts(2)], [0, 5]);
}

/// A winner has its number, on disk, too.
#[test]
fn pairs_are_measured_and_the_winner_keeps_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let auto = gemm(16, AUTO);
    let time = |name: &str, parts: i32| if parts == 8 { 0.5 } else { 1.0 + name.len() as f64 / 100.0 };
    let options = |mode| Options { mode, store: Some(folder.path().join("winners")), ..on("gfx942") };
    let Made { registry, runs, .. } = made(options(Mode::Search), 1, time);
    let first = registry.select(&auto).unwrap();
    assert_eq!((first.source, first.split_k, first.measured_ms), (Source::Search, 8, Some(0.5)));
    assert!(runs.load(Ordering::Relaxed) >= 5 * pool().len(), "each kernel in each number of parts");
    let Made { registry, runs, .. } = made(options(Mode::Model), 1, time);
    let stored = registry.select(&auto).unwrap();
    assert_eq!((stored.source, stored.split_k, stored.entry.name()), (Source::Store, 8, first.entry.name()));
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert_eq!(registry.select(&gemm(16, 2)).unwrap().source, Source::Estimate, "another problem");
    let text = std::fs::read_to_string(folder.path().join("winners")).unwrap();
    assert!(text.contains("split_k=auto") && text.contains("\"split_k\":8"), "{text}");
    assert!(registry.explain(&auto).unwrap().contains(" in 8 parts, measured 0.5 ms"));
}

/// A tree that prefers one part below three, two above.
fn forest() -> String {
    text_head(&["M", "split_k"])
        + "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\nthreshold=3\ndecision_type=2\nleft_child=-1\n\
           right_child=-2\nleaf_value=1 2\n\nend of trees\n"
}

/// Scores of different numbers do not compare in a model that only ranked the kernels of each.
#[test]
fn a_model_that_was_not_trained_to_choose_leaves_the_choice_to_the_next_source() {
    let spec = |choose: &str| {
        format!(
            r#"{{"op_type": "gemm_universal", "feature_names": ["M", "split_k"],
                "ck_select": {{"rank_by": "relative"{choose}}}}}"#
        )
    };
    let forest = forest();
    let forest = [(Target::Relative, forest.as_bytes())];
    let load = |choose| Model::from_bytes("mine", spec(choose).as_bytes(), &forest);
    let error = load(r#", "choose": "k""#).unwrap_err().to_string();
    assert!(error.contains("ck_select.choose: found 'k', expected split_k"), "{error}");
    for (choose, source, split_k) in
        [("", Source::Estimate, None), (r#", "choose": "split_k""#, Source::Model, Some(4))]
    {
        let model = Arc::new(load(choose).unwrap());
        let Made { registry, .. } = made(on("gfx942"), 1, |_, _| 1.0);
        registry.set_model(Arc::clone(&model), None);
        let chosen = registry.select(&gemm(16, AUTO)).unwrap();
        assert_eq!(chosen.source, source);
        assert!(split_k.is_none_or(|parts| parts == chosen.split_k), "the smallest of equal ones");
        assert_eq!(registry.select(&gemm(16, 2)).unwrap().source, Source::Model);
        let ranker = Ranker::new(model, Arc::new(pool())).unwrap();
        let ranked = ranker.rank(&gemm(16, AUTO));
        assert_eq!(ranked.is_err(), split_k.is_none());
        if let Err(error) = ranked {
            let expected = "split_k is auto, the model is for a given number: it was not trained with \
                --choose split_k";
            assert!(error.to_string().contains(expected), "{error}");
        }
        let features = ranker.features(gemm(16, AUTO).checked().unwrap(), 0).unwrap_err();
        let expected = if split_k.is_none() {
            matches!(features, RankError::NotFor { .. })
        } else {
            matches!(features, RankError::Problem(_))
        };
        assert!(expected, "{choose}: {features:?}");
    }
}

#[test]
fn a_rule_gives_the_kernel_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules");
    let name = pool().get(1).unwrap().name.clone();
    std::fs::write(&rules, format!("M=16,N=1536,K=7168,split_k=auto -> {name}, split_k=4\n")).unwrap();
    let Made { registry, .. } = made(Options { override_file: Some(rules), ..on("gfx942") }, 1, |_, _| 1.0);
    let chosen = registry.select(&gemm(16, AUTO)).unwrap();
    assert_eq!((chosen.source, chosen.entry.name(), chosen.split_k), (Source::Override, name.as_str(), 4));
}

/// The unpadded kernel came first whatever the extents were, and K of one step was cut into sixteen parts.
#[test]
fn a_registry_never_answers_with_a_kernel_that_cannot_be_launched() {
    let kernel = |pads: &str| {
        let name = format!(
            "gemm_universal_bf16_rcr_compv3_cshuffle_intrawave_{pads}_False_128x128x64_2x2x1_32x32x16"
        );
        Kernel::from_name(&name).unwrap()
    };
    let (plain, padded) = (kernel("False_False_False"), kernel("True_True_True"));
    let problem = |n, k, split_k| -> Problem {
        let bf16 = ck_select::vocab::Dtype::Bf16;
        GemmProblem { split_k, ..GemmProblem::new(64, n, k).with_dtype(bf16) }.into()
    };
    for mode in [Mode::Model, Mode::Priority] {
        let options = Options { mode, splits: "1,2,4,8,16".parse().unwrap(), ..on("gfx942") };
        let registry = Registry::new(options).unwrap();
        registry.add_all([plain.clone(), padded.clone()].map(Into::into).into()).unwrap();
        let select = |n, k, split_k| {
            registry.select(&problem(n, k, split_k)).map(|one| (one.entry.name().to_owned(), one.split_k))
        };
        assert_eq!(select(104, 4088, 1).unwrap(), (padded.name.clone(), 1));
        let error = select(101, 4095, 1).unwrap_err();
        assert!(matches!(error, SelectError::NoKernel { kernels: 2, unfit: 2, .. }), "{error}");
        assert!(error.to_string().contains("its tiles do not divide N"), "{error}");
        // One step has one part; two steps have two.
        assert_eq!(select(128, 64, AUTO).unwrap().1, 1);
        assert!(select(128, 128, AUTO).unwrap().1 <= 2);
        let error = select(128, 128, 3).unwrap_err().to_string();
        assert!(error.contains("its steps do not divide K") || error.contains("split_k is more"), "{error}");
    }
}
