//! Shortlists and scores by universal models.

use super::*;
use crate::directory::Target;
use crate::forest::texts;
use crate::pool::Pool;
use crate::problem::{ConvProblem, GemmProblem};
use crate::ranking::{RankScratch, Ranker};
use crate::vocab::Dtype;
use ck_select_testing::{Numbers as _, Random};

fn named(names: impl IntoIterator<Item = String>) -> Arc<Pool> {
    let kernels = names.into_iter().map(|name| Kernel::from_name(&name).unwrap());
    Arc::new(Pool::new(kernels.collect()).unwrap())
}

/// The model that ships.
fn shipped(pool: Arc<Pool>) -> Ranker {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/universal");
    Ranker::new(Arc::new(Model::load(folder).unwrap()), pool).unwrap()
}

/// The first places of a large pool are those of all, to the bit, and the rest follows when it is asked
/// for: with equal kernels, kernels of other types that would be faster, on a GPU that was seen and on
/// others, for one number of parts and for several.
#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn a_shortlist_begins_as_the_whole_ranking() {
    let tiles = [16, 32, 64, 128, 256];
    let shapes = tiles.iter().flat_map(|m| tiles.iter().flat_map(move |n| [32, 64].map(|k| (m, n, k))));
    let kinds = ["fp16", "bf16", "fp8"].iter().flat_map(|dtype| {
        ["compv3_default", "compv4_default", "compv4_cshuffle"].map(|pipeline| (dtype, pipeline))
    });
    let names = shapes.flat_map(|(m, n, k)| {
        kinds.clone().map(move |(dtype, pipeline)| {
            format!(
                "gemm_universal_{dtype}_rcr_{pipeline}_intrawave_True_True_True_False_{m}x{n}x{k}\
                 _2x2x1_16x16x16"
            )
        })
    });
    let ranker = shipped(named(names));
    let (mut part, mut whole) = (RankScratch::default(), RankScratch::default());
    let bits = |one: &crate::ties::Ranked| (one.index, one.split_k, one.score.to_bits());
    for (m, n, k) in [(1, 4096, 4096), (300, 5000, 704), (4096, 4096, 4096), (64, 64, 65536)] {
        let one: Problem = GemmProblem::new(m, n, k).with_dtype(Dtype::Fp16).into();
        for (problem, arch) in [(one, "sm_90"), (one, "gfx942"), (one.leaving_split(), "sm_90")] {
            let arch = Some(arch.parse().unwrap());
            let checked = || problem.checked().unwrap();
            let whole = ranker.ranking(checked(), arch, usize::MAX, &mut whole).unwrap();
            let all: Vec<_> = whole.places().iter().map(bits).collect();
            for count in [1, 4, 32] {
                let ranking = ranker.ranking(checked(), arch, count, &mut part).unwrap();
                assert_eq!(ranking.places().len(), count);
                let shortlist: Vec<_> = ranking.map(|one| bits(&one.unwrap())).collect();
                assert_eq!(shortlist, all, "{problem} {count}");
            }
        }
    }
}

/// A forest that asks for the columns of `features`, of leaves that are often equal.
fn random_forest(random: &mut Random, features: &[&str]) -> String {
    let tree = |_| {
        let leaves = 2 + random.below(12);
        let mut each = |count: usize, one: &mut dyn FnMut(&mut Random, usize) -> String| {
            (0..count).map(|at| one(random, at)).collect::<Vec<_>>().join(" ")
        };
        let nodes = leaves - 1;
        let asked = each(nodes, &mut |random, _| random.below(features.len()).to_string());
        let thresholds = ["0.3", "0.9", "1.5", "3", "20", "40", "100"];
        let thresholds = each(nodes, &mut |random, _| random.pick(&thresholds).to_owned());
        let types = each(nodes, &mut |_, _| "2".to_owned());
        let left = each(nodes, &mut |_, node| format!("-{}", node + 1));
        // A chain, whose last node has a leaf on either side.
        let next = |node: usize| if node < nodes { node.to_string() } else { format!("-{leaves}") };
        let right = each(nodes, &mut |_, node| next(node + 1));
        let values = each(leaves, &mut |random, _| ((random.below(9) as f64 - 4.0) / 16.0).to_string());
        format!(
            "num_leaves={leaves}\nnum_cat=0\nsplit_feature={asked}\nthreshold={thresholds}\n\
             decision_type={types}\nleft_child={left}\nright_child={right}\nleaf_value={values}\n"
        )
    };
    texts::forest(features, (0..40).map(tree))
}

/// The choice equals that of scoring all kernels, to the bit, whatever the forest and the pool.
#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn random_forests_choose_among_random_pools_as_if_all_were_scored() {
    let features = [
        "est_over_least", "est_rounds", "est_waits_share", "est_tile_m", "est_tile_n", "est_filled",
        "est_steps", "est_cache_share", "log2_K", "tile_mn", "num_tiles_m", "tile_eff_m",
    ];
    let tiles = [16, 32, 48, 64, 96, 128, 192, 256];
    for seed in 0..12 {
        // The sums of a model of one GPU are not cut, so its trees' leaves say what no score exceeds. A model for
        // GEMMs alone may have columns of its own: of problem, kernel and both.
        let own = if seed % 2 == 1 { r#"gemm_universal","arch":"gfx942"# } else { "grouped_conv" };
        let features = &features[..if seed % 4 == 3 { 12 } else { 8 }];
        let spec = format!(
            r#"{{"op_type":"{own}","feature_names":{features:?},"ck_select":{{"prior":10,"rank_by":"relative"}}}}"#
        );
        let random = &mut Random(seed);
        let forest = random_forest(random, features);
        let model = Model::from_bytes("any", spec.as_bytes(), &[(Target::Relative, forest.as_bytes())]);
        let mut names = std::collections::BTreeSet::new();
        while names.len() < 100 + 40 * seed as usize {
            let (m, n, k) = (random.pick(&tiles), random.pick(&tiles), random.pick(&[16, 32, 64]));
            let pipeline = random.pick(&["compv3_default", "compv4_default", "compv4_cshuffle"]);
            let waves = random.pick(&["1x1x1", "2x2x1", "4x1x1"]);
            names.insert(format!(
                "gemm_universal_fp16_rcr_{pipeline}_intrawave_True_True_True_False_{m}x{n}x{k}_{waves}_16x16x16"
            ));
        }
        let ranker = Ranker::new(Arc::new(model.unwrap()), named(names)).unwrap();
        let (mut part, mut whole) = (RankScratch::default(), RankScratch::default());
        for _ in 0..8 {
            let [m, n, k] = [0; 3].map(|_| 16 << random.below(9));
            let problem: Problem = GemmProblem::new(m, n, k).with_dtype(Dtype::Fp16).into();
            let arch = Some("gfx942".parse().unwrap());
            let bits = |one: &crate::ties::Ranked| (one.index, one.score.to_bits());
            ranker.ranking(problem.checked().unwrap(), arch, usize::MAX, &mut whole).unwrap();
            for count in [1, 3, 20] {
                ranker.ranking(problem.checked().unwrap(), arch, count, &mut part).unwrap();
                assert!(part.list.is_first());
                let [listed, all] = [&part, &whole]
                    .map(|one| one.list.places()[..count].iter().map(bits).collect::<Vec<_>>());
                assert_eq!(listed, all, "forest {seed}, {problem}, {count}");
            }
        }
    }
}

/// An error in the rest looked like the end of the ranking.
#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn a_rest_that_cannot_be_ranked_ends_in_its_error() {
    let names = [16, 32, 64, 128, 256].map(|m| [16, 32, 64, 128, 256].map(|n| [32, 64].map(|k| (m, n, k))));
    let ranker = shipped(named(names.as_flattened().as_flattened().iter().flat_map(|(m, n, k)| {
        ["compv3_default", "compv4_default"].map(|pipeline| {
            format!(
                "gemm_universal_fp16_rcr_{pipeline}_intrawave_False_False_False_False_{m}x{n}x{k}\
                 _2x2x1_16x16x16"
            )
        })
    })));
    let problem: Problem = GemmProblem::new(512, 512, 512).with_dtype(Dtype::Fp16).into();
    let (arch, mut scratch) = (Some("gfx942".parse().unwrap()), RankScratch::default());
    let mut ranking = ranker.ranking(problem.checked().unwrap(), arch, 1, &mut scratch).unwrap();
    assert!(ranking.next().unwrap().is_ok());
    ranking.query.arch = None;
    assert_eq!(ranking.next(), Some(Err(RankError::NoArch)));
    assert_eq!((ranking.next(), ranking.places()), (None, &[][..]));
}

/// Few kernels that the GPU cannot compute were refused for the number of their columns (fffebdae).
#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn kernels_without_an_estimate_are_named() {
    let name =
        "gemm_universal_fp8_rcr_compv4_default_intrawave_False_False_False_False_16x32x32_1x2x1_16x16x16";
    let ranker = shipped(named([name.to_owned()]));
    let problem: Problem = GemmProblem::new(64, 64, 64).into();
    let (arch, mut scratch) = (Some("sm_80".parse().unwrap()), RankScratch::default());
    let error = ranker.ranking(problem.checked().unwrap(), arch, 4, &mut scratch).err().unwrap();
    assert!(error.to_string().ends_with("does not: it has no estimate there"), "{error}");
}

/// A score is the forest's, as far as it counts, less the prior, to the bit, on rows as training has them. On
/// a GPU of which no measurement was trained on, the estimate counts twice.
#[test]
fn scores_are_the_forests_and_what_was_learned_elsewhere_counts_less() {
    let spec = r#"{"op_type":"grouped_conv","feature_names":["est_over_least","est_rounds","C","tile_mn"],
        "ck_select":{"prior":10,"rank_by":"relative","trained_on":{"archs":["gfx950"]}}}"#;
    // Asks for a column of each kind.
    let tree = "num_leaves=4\nnum_cat=0\nsplit_feature=2 3 0\nthreshold=100 5000 1.5\ndecision_type=2 2 2\n\
                left_child=-1 -2 -3\nright_child=1 2 -4\nleaf_value=0.5 1.5 2.5 3.5\n";
    let forest = texts::forest(&["est_over_least", "est_rounds", "C", "tile_mn"], [tree.to_owned()]);
    let load = |spec: &str| {
        let forest = (Target::Relative, forest.as_bytes());
        Arc::new(Model::from_bytes("mine", spec.as_bytes(), &[forest]).unwrap())
    };
    let (model, adapted) = (load(spec), load(&spec.replacen('{', r#"{"arch":"gfx950","#, 1)));
    let tails = ["16x64x64_compv3", "128x128x64_compv3", "64x64x64_compv4", "128x64x64_compv4"];
    let pool = named(tails.map(|tail| format!("grouped_conv_forward_bf16_2d_{tail}")));
    let mut scratch = RankScratch::default();
    for (arch, prior, c) in [("gfx950", 10.0, 64), ("gfx950", 10.0, 320), ("gfx942", 20.0, 256)] {
        let arch: Arch = arch.parse().unwrap();
        let problem: Problem =
            ConvProblem { n: 16, c, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into();
        let checked = || problem.checked().unwrap();
        let device = Device::for_arch(arch).unwrap();
        let kinds = pool.iter().map(|kernel| &kernel.kind);
        let (rows, times) =
            universal_rows(model.extractor(), Estimator::new(device), &problem, kinds).unwrap();
        let placed = Arc::new(Model::clone(&model).on_device(device, Some(arch)));
        let adapted = (prior == 10.0).then_some((&adapted, None));
        for (model, asked) in [(&model, Some(arch)), (&placed, None)].into_iter().chain(adapted) {
            let ranker = Ranker::new(Arc::clone(model), Arc::clone(&pool)).unwrap();
            let ranking = ranker.ranking(checked(), asked, usize::MAX, &mut scratch).unwrap();
            assert_eq!(ranking.places().len(), pool.len());
            for ranked in ranking.places() {
                let row = &rows[4 * ranked.index..][..4];
                assert!(asked.is_some() || row == ranker.features(checked(), ranked.index).unwrap());
                assert_eq!(row[2], c as f64);
                let raw = model.ranking_forest().unwrap().predict(row).unwrap();
                let expected = universal_score(raw.min(most_of_forest(10.0)), prior, times[ranked.index]);
                assert_eq!(ranked.score.to_bits(), expected.to_bits(), "{arch} {c}");
            }
        }
    }
    // A described GPU whose architecture nobody named was not seen either, nor was a library that is not
    // its own.
    let prior_on = |json: &str, arch: Option<&str>, name: &str| {
        let trained_on: TrainedOn = serde_json::from_str(json).unwrap();
        let arch: Option<Arch> = arch.map(|arch| arch.parse().unwrap());
        let device = Device::for_arch(arch.unwrap_or("gfx950".parse().unwrap())).unwrap();
        let kernel = Kernel::from_name(name).unwrap();
        prior_on(10.0, Some(&trained_on), arch, &Estimator::new(device), [&kernel.kind].into_iter())
    };
    let body = "fp16_rcr_compv4_default_intrawave_False_False_False_False_64x64x64_4x1x1_16x16x16";
    let (triton, other) = (format!("triton_gemm_{body}"), format!("gemm_universal_{body}"));
    let seen = r#"{"archs": ["gfx950", "sm_90"]}"#;
    assert_eq!([None, Some("gfx950")].map(|arch| prior_on(seen, arch, &other)), [20.0, 10.0]);
    assert_eq!(prior_on("{}", None, &other), 10.0);
    assert_eq!([Some("sm_90"), Some("gfx950")].map(|arch| prior_on(seen, arch, &triton)), [20.0; 2]);
    assert_eq!(prior_on(seen, Some("sm_90"), &other), 20.0);
    let seen = r#"{"archs": ["sm_90"], "suffixes": ["default"]}"#;
    assert_eq!(prior_on(seen, Some("sm_90"), &other), 10.0);
}
