//! The estimate as a source of the registry: when it is asked, what it says, and what it costs.

use std::sync::{Arc, Mutex};

use ck_select::directory::Model;
use ck_select::estimate::{Device, EstimateScratch, Estimator, PoolEstimate};
use ck_select::hardware::Hardware;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, GemmProblem, Problem, ProblemDefaults};
use ck_select::ranking::Ranker;
use ck_select::registry::{Mode, NewKernel, Options, Priority, Registry, Source};
use ck_select::tuning::search::RunOutcome;
use ck_select::vocab::Op;

use crate::common::{Scripted, conv, filled, kernels, new, of_kernels, on, pool, root, running};
use ck_select_testing::counting::ALLOCATIONS;

fn ranked(arch: &str, problem: &Problem) -> Vec<String> {
    let pool = Arc::new(pool());
    let estimate =
        PoolEstimate::new(Estimator::new(Device::for_arch(arch.parse().unwrap()).unwrap()), pool.clone());
    let mut scratch = EstimateScratch::default();
    estimate.rank(problem.checked().unwrap(), &mut scratch).unwrap();
    scratch.ranking().iter().map(|one| pool.get(one.index).unwrap().name.clone()).collect()
}

#[test]
fn the_estimate_answers_without_a_model_and_is_remembered() {
    let registry = filled(on("gfx942"));
    let problem = conv(16).into();
    let first = registry.select(&problem).unwrap();
    assert_eq!((first.source, first.rank, first.no_model), (Source::Estimate, 0, false));
    assert_eq!(first.entry.name(), ranked("gfx942", &problem)[0]);
    assert!(first.score.is_some_and(|us| us > 1.0 && us < 1e4));
    let again = registry.select(&problem).unwrap();
    assert_eq!((again.source, again.index, again.score), (Source::Estimate, first.index, first.score));
    // The problem's own architecture goes before the options'.
    let other: Problem = ConvProblem { arch: "sm_90".parse().ok(), ..conv(16) }.into();
    assert_eq!(registry.select(&other).unwrap().entry.name(), ranked("sm_90", &other)[0]);

    let model = Model::load(root("tests/golden/models/conv_small")).unwrap();
    let with_model = filled(on("gfx950"));
    assert_eq!(with_model.select(&problem).unwrap().source, Source::Estimate);
    with_model.set_model(Arc::new(model), None);
    assert_eq!(with_model.select(&problem).unwrap().source, Source::Model);
}

#[test]
fn the_estimate_is_skipped_where_it_cannot_or_may_not_answer() {
    let problem = conv(16).into();
    for (options, reason) in [
        (Options { estimate: false, ..on("gfx942") }, "estimate: off"),
        (on("gfx900"), "estimate: the estimate has no profile of gfx900, only of gfx90a"),
        (Options { arch: None, ..on("gfx942") }, "nor do all kernels name one"),
    ] {
        let registry = filled(options);
        let chosen = registry.select(&problem).unwrap();
        assert_eq!((chosen.source, chosen.score, chosen.no_model), (Source::Priority, None, true));
        let text = registry.explain(&problem).unwrap();
        assert!(text.contains(reason), "{text}");
    }
    let registry = filled(Options { mode: Mode::Priority, ..on("gfx942") });
    assert_eq!(registry.select(&problem).unwrap().source, Source::Priority);
}

/// Whatever was trained for a problem goes before what was trained for none, and the estimate comes after
/// both.
#[test]
#[cfg(feature = "embedded-models")]
fn a_universal_model_answers_for_any_gpu_and_says_so() {
    let with_models = |arch: &str| filled(Options { embedded_models: true, ..on(arch) });
    let problem: Problem = conv(16).into();
    for (arch, source, model) in [
        ("gfx950", Source::Model, Some("embedded:grouped_conv_forward_bf16_gfx950")),
        ("gfx942", Source::Model, Some("embedded:universal")),
        ("sm_90", Source::Model, Some("embedded:universal")),
        ("gfx900", Source::Priority, None),
    ] {
        let registry = with_models(arch);
        // The second answer is remembered, name and flag and all.
        for _ in 0..2 {
            let chosen = registry.select(&problem).unwrap();
            assert_eq!((chosen.source, chosen.model_name()), (source, model), "{arch}");
            assert_eq!(chosen.universal, model == Some("embedded:universal"), "{arch}");
            assert!(!chosen.out_of_range() || arch == "gfx950", "its columns stay in range");
        }
    }
    let registry = with_models("gfx942");
    let text = registry.explain(&problem).unwrap();
    assert!(text.contains("embedded:universal (grouped_conv, universal)"), "{text}");
    let ranking = registry.rank(&problem).unwrap();
    assert_eq!(ranking.places.len(), 30);
    assert!(ranking.places.is_sorted_by(|a, b| a.score >= b.score));
    // One's own model of no architecture, loaded, goes before the library's, and after one for the problem.
    let own = Model::load(root("models/universal")).unwrap();
    registry.set_model(Arc::new(own), None);
    assert!(registry.select(&problem).unwrap().universal);
    let small = Model::load(root("tests/golden/models/conv_small")).unwrap();
    registry.set_model(Arc::new(small.forced()), None);
    assert!(!registry.select(&problem).unwrap().universal);
}

/// As the command line's `--arch` beside an architecture.
#[test]
fn a_universal_model_ranks_with_the_callers_constants() {
    let model = || Model::load(root("models/universal")).unwrap();
    let gfx950 = "gfx950".parse().unwrap();
    let constants = Hardware { num_cus: 10, ..Hardware::for_arch(&gfx950).unwrap() };
    let device = Device { hardware: constants, ..Device::for_arch(gfx950).unwrap() };
    let scores = |model: Model| {
        let registry = filled(on("gfx950"));
        registry.set_model(Arc::new(model), None);
        let ranking = registry.rank(&conv(16).into()).unwrap();
        ranking.places.iter().map(|place| (place.index, place.score.to_bits())).collect::<Vec<_>>()
    };
    let expected = scores(model().on_device(device, Some(gfx950)));
    assert_eq!(scores(model().with_hardware(constants)), expected);
    assert_ne!(scores(model()), expected);
}

/// A described GPU takes the place of its architecture's profile, for the estimate and for universal models.
#[test]
fn a_gpu_from_a_file_replaces_its_profile() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let small = file("small.json", r#"{"based_on": "gfx942", "num_cus": 20}"#);
    let described = |arch: &str| Options { hardware: Some(small.clone()), ..on(arch) };
    let problem: Problem = conv(16).into();
    let scores = |registry: &Registry, problem: &Problem| {
        let chosen = registry.select(problem).unwrap();
        let ranking = registry.rank(problem);
        let places = ranking.iter().flat_map(|ranking| &ranking.places);
        let places = places.map(|place| (place.index, place.score.to_bits())).collect::<Vec<_>>();
        (chosen.source, chosen.score.map(f64::to_bits), places)
    };
    let universal = || Arc::new(Model::load(root("models/universal")).unwrap());
    let mut device = Device::for_arch("gfx942".parse().unwrap()).unwrap();
    device.hardware.num_cus = 20;
    let estimator = Estimator::new(device);
    for with_model in [false, true] {
        let registry = |options: Options| {
            let registry = filled(options);
            if with_model {
                registry.set_model(universal(), None);
            }
            registry
        };
        let own = scores(&registry(described("gfx942")), &problem);
        let profile = scores(&registry(on("gfx942")), &problem);
        assert_ne!(own, profile);
        if with_model {
            let given = registry(on("gfx942"));
            given.set_model(
                Arc::new(Model::clone(&universal()).on_device(device, "gfx942".parse().ok())),
                None,
            );
            assert_eq!(own, scores(&given, &problem));
        } else {
            let best = PoolEstimate::new(estimator, Arc::new(pool()));
            let mut scratch = EstimateScratch::default();
            best.rank(problem.checked().unwrap(), &mut scratch).unwrap();
            assert_eq!(own.1, Some(scratch.ranking()[0].score.to_bits()));
        }
        // Without an architecture, the description says which one; others keep their profiles.
        assert_eq!(scores(&registry(Options { arch: None, ..described("gfx942") }), &problem), own);
        let other: Problem = ConvProblem { arch: "gfx90a".parse().ok(), ..conv(16) }.into();
        let described = registry(described("gfx942"));
        assert_eq!(scores(&described, &other), scores(&registry(on("gfx942")), &other));
        // New options, and back.
        described.set_options(on("gfx942")).unwrap();
        assert_eq!(scores(&described, &problem), profile);
        described.set_options(Options { hardware: Some(small.clone()), ..on("gfx942") }).unwrap();
        assert_eq!(scores(&described, &problem), own);
        let text = described.explain(&problem).unwrap();
        assert!(with_model || text.contains(&format!("gfx942, described by {}", small.display())), "{text}");
    }
    // Of an architecture without a profile.
    let strix = Options { hardware: Some(file("strix.json", r#"{"based_on": "gfx1201"}"#)), ..on("gfx1151") };
    assert_eq!(filled(strix).select(&problem).unwrap().source, Source::Estimate);
    // From the environment.
    let variable = |name: &str| (name == "CK_SELECT_HARDWARE").then(|| small.clone().into());
    assert_eq!(on("gfx942").with_environment(variable).unwrap(), described("gfx942"));

    // Wrong options are refused and change nothing.
    let hardware = Some(file("base.json", r#"{"num_cus": 20}"#));
    let options = Options { hardware, ..on("gfx1151") };
    let error = Registry::new(options.clone()).err().unwrap().to_string();
    assert!(
        error.starts_with("hardware: ") && error.contains("base.json: simds_per_cu: found nothing"),
        "{error}"
    );
    let registry = filled(on("gfx942"));
    assert!(registry.set_options(options).is_err());
    assert_eq!(registry.select(&problem).unwrap().source, Source::Estimate);
}

/// The architecture of a described GPU decides about kernels and models as that of the options does.
#[test]
#[cfg(feature = "embedded-models")]
fn a_gpu_from_a_file_gets_its_own_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mi300x.json");
    std::fs::write(&file, r#"{"based_on": "gfx942", "num_cus": 304}"#).unwrap();
    let options = Options { arch: None, hardware: Some(file), embedded_models: true, ..Options::default() };
    let kernels = kernels().into_iter().zip(["gfx950", "gfx942"].iter().cycle()).map(|(mut kernel, arch)| {
        if let ck_select::kernel::KernelKind::Conv(conv) = &mut kernel.kind {
            conv.arch = arch.parse().ok();
        }
        kernel
    });
    let registry = of_kernels(options, kernels);
    for number in 1..20 {
        let chosen = registry.select(&conv(16 * number).into()).unwrap();
        assert_eq!(registry.get(chosen.index).unwrap().arch().unwrap().as_str(), "gfx942");
        assert_ne!(chosen.model_name(), Some("embedded:grouped_conv_forward_bf16_gfx950"));
        assert!(!chosen.arch_unknown);
    }
}

/// A GEMM is a 1x1 convolution to a universal model.
#[test]
#[cfg(feature = "embedded-models")]
fn a_universal_model_ranks_gemms() {
    let names = ["64x64x64", "128x128x64", "256x128x64", "256x256x64"].map(|tile| {
        format!(
            "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_{tile}_2x2x1_32x32x16"
        )
    });
    let kernels: Vec<Kernel> = names.iter().map(|name| Kernel::from_name(name).unwrap()).collect();
    let registry = of_kernels(Options { embedded_models: true, ..on("gfx942") }, kernels.iter().cloned());
    let problem: Problem = GemmProblem::new(4096, 4096, 4096).into();
    let chosen = registry.select(&problem).unwrap();
    assert_eq!((chosen.source, chosen.universal), (Source::Model, true));
    assert_ne!(chosen.entry.name(), names[0], "a large problem wants a large tile");
    // It was trained on GEMMs of this type, on another GPU.
    assert!(!chosen.out_of_range());
    // The same scores as with the model and the pool alone.
    let model = Arc::new(Model::load(root("models/universal")).unwrap());
    let gfx942 = "gfx942".parse().unwrap();
    let model = Arc::new(Model::clone(&model).on_device(Device::for_arch(gfx942).unwrap(), Some(gfx942)));
    let ranker = Ranker::new(model, Arc::new(Pool::new(kernels).unwrap())).unwrap();
    assert_eq!(ranker.rank(&problem).unwrap()[0].score.to_bits(), chosen.score.unwrap().to_bits());
    let text = registry.explain(&problem).unwrap();
    assert!(text.contains("embedded:universal (gemm_universal, universal)"), "{text}");
}

/// No problem says whose kernels it is for, so a model of AITER's fitted every GEMM of its GPU, and where
/// none of its kernels computed one, the estimate answered instead of the universal model (723ad420).
#[test]
#[cfg(feature = "embedded-models")]
fn a_model_of_a_librarys_kernels_is_asked_where_one_computes_the_problem() {
    let plain =
        "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x64_2x2x1_16x16x32";
    let rows = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
    let kernel = |name: &str| Kernel::from_name(name).unwrap();
    let ck_select::kernel::KernelKind::Gemm(gemm) = kernel(rows).kind else { panic!() };
    let of = |request| GemmProblem { dtype_c: gemm.dtype_c, request, ..GemmProblem::new(512, 512, 512) };
    let scaled: Problem = of(gemm.request()).into();
    let unscaled: Problem = GemmProblem::new(512, 512, 512).into();
    let registry = of_kernels(Options { embedded_models: true, ..on("gfx942") }, [kernel(plain)]);
    let chosen = |problem: &Problem| registry.select(problem).unwrap().model_name().map(str::to_owned);
    assert_eq!(chosen(&unscaled).as_deref(), Some("embedded:universal"));
    registry.add_all(vec![new(kernel(rows), None)]).unwrap();
    assert_eq!(chosen(&unscaled).as_deref(), Some("embedded:universal"));
    assert_eq!(chosen(&scaled).as_deref(), Some("embedded:gemm_fp8_gfx942"));
    assert!(!registry.select(&scaled).unwrap().universal);
    // Winners of tables taught the one, measurements the other.
    let [winners, measured] = [&scaled, &unscaled].map(|problem| registry.explain(problem).unwrap());
    assert!(winners.contains(": expected loss unknown, and how much slower others are: "), "{winners}");
    assert!(measured.contains(": a guess: expected loss unknown; times within "), "{measured}");
    assert!(measured.contains(" us, 1.00x\n"), "{measured}");
}

#[test]
fn an_explanation_has_terms_that_add_up() {
    let registry = filled(on("gfx942"));
    let problem = conv(16).into();
    let text = registry.explain(&problem).unwrap();
    assert!(text.contains("by estimate, if nothing is measured"), "{text}");
    assert!(text.contains(" kernels on gfx942: expected loss unknown\n"), "{text}");
    let judged = filled(on("gfx950")).explain(&problem).unwrap();
    assert!(
        judged.contains(" kernels on gfx950: expected loss ") && judged.contains(" judged choices, "),
        "{judged}"
    );
    let best = text.lines().find(|line| line.trim_start().starts_with("1. ")).unwrap();
    let (head, terms) = best.split_once(" us: ").unwrap();
    let time: f64 = head.rsplit(' ').next().unwrap().parse().unwrap();
    let sum: f64 = terms.split(' ').filter_map(|word| word.parse::<f64>().ok()).sum();
    // Each of twelve numbers is rounded to three places.
    assert!((sum - time).abs() < 0.01, "{best}: {sum}");
}

#[test]
fn unsupported_kernels_are_passed_over_and_searches_go_in_its_order() {
    let problem = conv(16).into();
    let order = ranked("gfx942", &problem);
    let runs = Arc::new(Mutex::new(Vec::new()));
    let registry = running(on("gfx942"), kernels(), |_, kernel| {
        let (supported, name, runs) = (kernel.name != order[0], kernel.name.clone(), Arc::clone(&runs));
        let run = move |_: &Problem| {
            runs.lock().unwrap().push(name.clone());
            RunOutcome::Milliseconds(1.0)
        };
        Scripted { supports: move |_: &Problem| supported, run }
    });
    let chosen = registry.select(&problem).unwrap();
    assert_eq!((chosen.entry.name(), chosen.rank, chosen.unsupported), (order[1].as_str(), 1, 1));

    registry.set_options(Options { mode: Mode::Search, ..on("gfx942") }).unwrap();
    assert_eq!(registry.select(&problem).unwrap().source, Source::Search);
    let mut first: Vec<String> = Vec::new();
    for name in runs.lock().unwrap().iter() {
        if !first.contains(name) {
            first.push(name.clone());
        }
    }
    assert_eq!(first, order[1..]);
}

#[test]
fn kernels_of_a_higher_priority_go_first() {
    let problem = conv(16).into();
    let order = ranked("gfx942", &problem);
    let registry = Registry::new(on("gfx942")).unwrap();
    let high = [&order[5], &order[3]];
    let priority = |name: &String| if high.contains(&name) { Priority::HIGH } else { Priority::NORMAL };
    let kernels = pool();
    let with_priority =
        |kernel: &Kernel| NewKernel { priority: priority(&kernel.name), ..new(kernel.clone(), None) };
    registry.add_all(kernels.iter().map(with_priority).collect()).unwrap();
    let chosen = registry.select(&problem).unwrap();
    assert_eq!((chosen.entry.name(), chosen.source, chosen.rank), (order[3].as_str(), Source::Estimate, 0));
    let text = registry.explain(&problem).unwrap();
    let places = [3, 5, 0].map(|at| text.find(&format!(". {} ", order[at])).unwrap());
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn a_warm_selection_does_not_allocate() {
    let mixed = filled(on("gfx942"));
    let first = Kernel { name: "preferred".into(), ..pool().get(0).unwrap().clone() };
    mixed.add_all(vec![NewKernel { priority: Priority::HIGH, ..new(first, None) }]).unwrap();
    let alike = [on("gfx942"), on("gfx900"), Options { estimate: false, ..on("gfx942") }].map(filled);
    for registry in alike.into_iter().chain([mixed]) {
        registry.select(&conv(1).into()).unwrap();
        let before = ALLOCATIONS.get();
        for n in 2..100 {
            registry.select(&conv(n).into()).unwrap();
        }
        assert_eq!(ALLOCATIONS.get() - before, 0);
    }
}

/// Each kernel that does not compute a mixture of experts gave its reason as a text.
#[test]
fn a_warm_selection_does_not_allocate_for_kernels_that_do_not_fit() {
    let name = |depth: u32| format!("triton_moe_fp8_64x64x{depth}_group1_4warps_2stages");
    let kernels = [64, 128, 256].map(|depth| Kernel::from_name(&name(depth)).unwrap());
    let registry = of_kernels(on("sm_90"), kernels);
    let problem = |tokens: i64| {
        let text = format!(
            "stage=1,tokens={tokens},experts=8,topk=2,n=512,k=256,dtype_a=fp8,dtype_b=fp8,quant=block"
        );
        Problem::parse(Op::Moe, &text, &ProblemDefaults::new(Op::Moe)).unwrap()
    };
    let problems: Vec<Problem> = (1..100).map(problem).collect();
    let text = registry.explain(&problems[0]).unwrap();
    assert!(text.contains("estimate: 2 kernels on sm_90"), "{text}");
    registry.select(&problems[0]).unwrap();
    let before = ALLOCATIONS.get();
    for problem in &problems[1..] {
        registry.select(problem).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
