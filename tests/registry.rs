//! The registry: the chain of sources, changes while others read, and no allocation on the select path.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ck_select::directory::{Model, Target};
use ck_select::embedded;
use ck_select::kernel::Kernel;
use ck_select::pool::{ExportOptions, Pool};
use ck_select::problem::{AUTO, ConvProblem, GemmProblem, Problem};
use ck_select::registry::{Hooks, Mode, Options, Priority, Registry, SelectError, Source, UserData};
use ck_select::sureness::Sure;
use ck_select::tuning::device::Stream;
use ck_select::tuning::mock::MockDevice;
use ck_select::tuning::search::RunOutcome;
use ck_select::vocab::{Direction, Op};
use ck_select_testing::counting::{ALLOCATIONS, BYTES, Counting, EVER};
use common::{
    Supports, add, conv, filled, kernels, model, new, of_kernels, on, plain, root, running, running_on,
    small_conv,
};
use serde_json::{Value, json};

#[global_allocator]
static COUNTING: Counting = Counting;

/// The thirty kernels with a model.
fn modelled(options: Options) -> Registry {
    let registry = filled(options);
    registry.set_model(model("conv_small"), None);
    registry
}

fn resnet() -> Problem {
    conv(16).into()
}

fn named(tail: &str) -> Kernel {
    Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{tail}")).unwrap()
}

/// It waited for itself, because the last change was pending (4e55668).
#[test]
fn the_callback_of_retain_may_read_the_registry() {
    let registry = of_kernels(Options::default(), [named("64x64x64_compv3")]);
    assert_eq!(registry.retain(|entry| registry.position(entry.name()).is_none() && registry.len() == 1), 1);
    assert!(registry.is_empty());
}

#[test]
fn the_model_chooses_and_unsupported_kernels_are_passed_over() {
    let registry = modelled(Options::default());
    let best = registry.select(&resnet()).unwrap();
    assert_eq!((best.source, best.rank, best.unsupported), (Source::Model, 0, 0));
    assert!(best.score.unwrap() > 0.0);

    // The same kernels, but the owners of all compv5 ones say no.
    let picky = Registry::new(Options::default()).unwrap();
    let new = kernels().into_iter().map(|kernel| {
        let hooks: Option<Box<dyn Hooks>> =
            if kernel.name.contains("compv5") { Some(Box::new(Supports(|_: &Problem| false))) } else { None };
        new(kernel, hooks)
    });
    picky.add_all(new.collect()).unwrap();
    picky.set_model(model("conv_small"), None);
    let second = picky.select(&resnet()).unwrap();
    assert!(best.entry.name().contains("compv5") && !second.entry.name().contains("compv5"));
    assert_eq!(second.rank, second.unsupported);
    assert!(second.unsupported > 0 && second.score < best.score);
    let text = picky.explain(&resnet()).unwrap();
    assert!(text.contains(", unsupported") && text.contains("search: not allowed"), "{text}");
}

#[test]
fn without_a_model_priority_then_order_decides() {
    let registry = of_kernels(Options::default(), ["64x64x64_compv3", "64x64x64_compv4"].map(named));
    assert_eq!(registry.select(&resnet()).unwrap().index, 0);
    let never = Box::new(Supports(|_: &Problem| false));
    registry.add(named("64x128x64_compv3"), Priority::HIGH, UserData::default(), Some(never)).unwrap();
    let selection = registry.select(&resnet()).unwrap();
    assert_eq!((selection.index, selection.source, selection.unsupported), (0, Source::Priority, 1));
    add(&registry, named("64x128x64_compv4"), Priority::HIGH);
    assert_eq!(registry.select(&resnet()).unwrap().index, 3);

    let again = registry.add(named("64x128x64_compv4"), Priority::HIGH, UserData::default(), None);
    let error = again.unwrap_err().to_string();
    assert!(error.ends_with("is already registered, with the same or a higher priority"), "{error}");
    assert_eq!(registry.len(), 4);
    add(&registry, named("64x64x64_compv3"), Priority(7));
    let selection = registry.select(&resnet()).unwrap();
    let priority = registry.get(selection.index).unwrap().priority();
    assert_eq!((selection.index, priority, registry.len()), (0, Priority(7), 4));
}

#[test]
fn never_a_wrong_kernel() {
    let registry = modelled(Options::default());
    let good = conv(16);
    for wrong in [
        ConvProblem { direction: Direction::BwdData, ..good },
        ConvProblem { dtype_in: "fp16".parse().unwrap(), ..good },
        ConvProblem { layout: "ngchw".parse().unwrap(), ..good },
        ConvProblem { ndim: 3, input: [4, 28, 28], ..good },
    ] {
        let error = registry.select(&wrong.into()).unwrap_err();
        let SelectError::NoKernel { kernels: 30, unfit: 30, unsupported: 0, why: Some(why) } = error else {
            panic!("{error}")
        };
        assert!(why.starts_with("'grouped_conv_forward_bf16_2d_16x64x64_compv3': it"), "{why}");
    }
    assert!(matches!(registry.select(&ConvProblem { n: 0, ..good }.into()), Err(SelectError::Problem(_))));
    // "none of the 0 kernels fits" was no reason.
    let error = Registry::new(Options::default()).unwrap().select(&resnet()).unwrap_err().to_string();
    assert_eq!(error, "no kernel is registered");
}

#[test]
fn an_explanation_follows_the_order_of_the_mode() {
    let registry = modelled(off());
    for (mode, order, not_asked) in [
        (Mode::Model, ["override", "store", "model", "search", "estimate", "priority"], 0),
        (Mode::Search, ["override", "store", "search", "model", "estimate", "priority"], 0),
        (Mode::Refine(2), ["override", "store", "search", "model", "estimate", "priority"], 0),
        (Mode::Priority, ["override", "priority", "store", "model", "search", "estimate"], 4),
    ] {
        registry.set_options(Options { mode, ..off() }).unwrap();
        let text = registry.explain(&resnet()).unwrap();
        let sources = text.lines().filter(|line| !line.starts_with([' ', '*']));
        let sources: Vec<_> = sources.map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(sources[0], "problem");
        assert_eq!(sources[1..7], order, "{text}");
        assert_eq!(sources[7..], ["selected"], "{text}");
        assert_eq!(text.matches(": not asked in this mode; ").count(), not_asked, "{text}");
    }
}

#[test]
fn kernels_that_the_model_cannot_describe_stay_for_the_others() {
    let registry = filled(Options::default());
    add(&registry, named("64x64x64_wavelet"), Priority::HIGH);
    registry.set_model(model("conv_small"), None);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Model);
    let text = registry.explain(&resnet()).unwrap();
    assert!(
        text.contains("cannot describe grouped_conv_forward_bf16_2d_64x64x64_wavelet: pipeline"),
        "{text}"
    );
}

#[test]
fn removal_renumbers_and_keeps_what_was_handed_out() {
    let registry = filled(Options::default());
    let (generation, last) = (registry.generation(), registry.get(29).unwrap());
    assert!(!registry.remove("of my own"));
    assert_eq!(registry.generation(), generation, "nothing changed");
    assert_eq!(registry.retain(|entry| entry.name().contains("compv5")), 20);
    assert_eq!((registry.len(), registry.position(last.name())), (10, Some(9)));
    assert_eq!(registry.get(9).unwrap().name(), last.name());
    assert_eq!(registry.retain(|_| false), 10);
    assert!(registry.is_empty() && last.name() == kernels()[29].name);
}

/// Hooks that keep something as long as they live.
fn holding(owned: Arc<()>) -> Box<dyn Hooks> {
    Box::new(Supports(move |_: &Problem| Arc::strong_count(&owned) > 0))
}

#[test]
fn adding_and_removing_one_kernel_takes_no_memory() {
    let registry = filled(Options::default());
    let kernel = kernels().swap_remove(7);
    let cycles = |count| {
        for round in 0..count {
            assert!(registry.remove(&kernel.name));
            add(&registry, kernel.clone(), Priority::NORMAL);
            // Nobody can tell these hooks from those of the round before.
            let hooks = holding(Arc::new(()));
            registry.add(kernel.clone(), Priority::HIGH, UserData::default(), Some(hooks)).unwrap();
            if round % 100 == 0 {
                assert_eq!(registry.select(&resnet()).unwrap().index, registry.len() - 1);
            }
        }
        BYTES.get()
    };
    let before = cycles(1000);
    assert_eq!(cycles(20_000), before);
}

/// Their memory grew until the caller gave it back, with 1.4 KB for each kernel of a program that keeps
/// replacing them (20b0a2e5).
#[test]
fn removed_kernels_are_dropped_with_the_last_state_that_has_them() {
    let registry = modelled(Options::default());
    let count = Arc::new(());
    let kernel = kernels().swap_remove(7);
    assert!(registry.remove(&kernel.name));
    for _ in 0..50 {
        let hooks = holding(count.clone());
        registry.add(kernel.clone(), Priority::NORMAL, UserData::default(), Some(hooks)).unwrap();
        registry.select(&resnet()).unwrap();
        assert!(registry.remove(&kernel.name));
        // What was prepared for the kernels before may be needed again.
        assert!(Arc::strong_count(&count) <= 3, "{}", Arc::strong_count(&count));
    }
    let kept = registry.select(&resnet()).unwrap();
    registry.set_model(model("conv_small"), None);
    registry.set_model(model("conv_small"), None);
    assert_eq!(Arc::strong_count(&count), 1);
    // What a caller keeps outlives its kernel.
    let name = kept.entry.name().to_owned();
    assert!(registry.remove(&name));
    registry.retain(|_| false);
    assert_eq!((kept.entry.name(), kept.entry.c_name().to_str()), (name.as_str(), Ok(name.as_str())));
}

/// A remembered decision asks its kernel while others remove it.
#[test]
fn kernels_are_removed_while_remembered_decisions_ask_them() {
    let registry = Registry::new(Options { arch: "gfx950".parse().ok(), ..Options::default() }).unwrap();
    let kernel = kernels().swap_remove(7);
    let alive = Arc::new(());
    let add = |priority| {
        let alive = alive.clone();
        let hooks = Box::new(Supports(move |_: &Problem| Arc::strong_count(&alive) > 1));
        registry.add(kernel.clone(), Priority(priority), UserData::default(), Some(hooks)).unwrap();
    };
    add(0);
    let rounds = if cfg!(miri) { 20 } else { 2_000 };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..10 * rounds {
                    assert_eq!(registry.select(&resnet()).unwrap().entry.name(), kernel.name);
                }
            });
        }
        (1..rounds).for_each(add);
    });
    assert!(Arc::strong_count(&alive) < 5);
}

/// Bytes that so many kernels write: in one call, and one by one with a look before each and a removal after
/// all.
fn registering(count: usize) -> [usize; 2] {
    let kernel = kernels().swap_remove(0);
    let kernels: Vec<Kernel> =
        (0..count).map(|at| Kernel { name: format!("kernel {at}"), ..kernel.clone() }).collect();
    let (together, apart) = (filled(Options::default()), filled(Options::default()));
    let new = plain(kernels.clone());
    let began = EVER.get();
    together.add_all(new).unwrap();
    let in_one_call = EVER.get() - began;
    let began = EVER.get();
    for (at, kernel) in kernels.iter().enumerate() {
        assert_eq!(apart.position(&kernel.name), None);
        add(&apart, kernel.clone(), Priority(at as i32 % 3));
        assert_eq!(apart.get(30 + at).unwrap().name(), kernel.name);
    }
    for kernel in &kernels {
        assert!(apart.remove(&kernel.name));
    }
    [in_one_call, EVER.get() - began]
}

/// What copies the kernels that are there for each that comes is quadratic, and writes as much.
/// `make instructions` counts the rest.
#[test]
fn registering_copies_no_kernel_for_another() {
    const FACTOR: usize = 16;
    let (few, many) = (registering(250), registering(250 * FACTOR));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many < 2 * FACTOR * few, "{few} and {many} bytes");
    }
}

/// The model with another spec.
fn described(change: impl FnOnce(&mut Value)) -> Arc<Model> {
    let directory = root("tests/golden/models/conv_small");
    let spec = std::fs::read(format!("{directory}/feature_spec.json")).unwrap();
    let mut spec: Value = serde_json::from_slice(&spec).unwrap();
    change(&mut spec);
    let forest = std::fs::read(format!("{directory}/model_tflops.lgbm.gz")).unwrap();
    let model = Model::from_bytes("described", spec.to_string().as_bytes(), &[(Target::Tflops, &forest)]);
    Arc::new(model.unwrap())
}

#[test]
fn a_selection_says_in_which_fields_a_problem_is_out_of_range_and_remembers_it() {
    let known = [conv(16), conv(32)].map(Problem::from);
    let compv3 = named("64x64x64_compv3").kind;
    let trained = ck_select::directory::TrainedOn::new(&known, [&compv3], Vec::new());
    let model = described(|spec| spec["ck_select"]["trained_on"] = serde_json::to_value(&trained).unwrap());
    let registry = filled(Options { arch: "gfx950".parse().ok(), ..Options::default() });
    registry.set_model(model, None);
    let base = conv(16);
    let far = ConvProblem { g: 32, split_k: 8, pad_right: [0, 1, 2], ..base };
    // The second answer is from memory.
    for _ in 0..2 {
        assert!(!registry.select(&resnet()).unwrap().out_of_range());
        let selection = registry.select(&far.into()).unwrap();
        let fields: Vec<_> = selection.outside.names(Op::Conv).collect();
        assert_eq!(fields[..3], ["G", "pad_w_right", "split_k"]);
        assert!(selection.out_of_range() && !selection.arch_unknown && !selection.no_model);
        assert_eq!(selection.unmeasured, !selection.entry.name().contains("compv3"));
    }
    let text = registry.explain(&far.into()).unwrap();
    assert!(
        text.contains("training range: G is 32, trained on 1 only; pad_w_right is 2, trained on 1 only"),
        "{text}"
    );
    assert!(text.contains("compv5 was never measured for the model"), "{text}");
    let ranking = registry.rank(&far.into()).unwrap();
    assert_eq!(ranking.outside.names(Op::Conv).next(), Some("G"));
    assert!(
        ranking
            .places
            .iter()
            .all(|place| place.unmeasured.is_empty() == place.entry.name().contains("compv3"))
    );
}

#[test]
fn ties_are_ties_and_kernels_without_a_place_are_counted() {
    let names = ["64x64x64_compv3", "64x64x64_compv3_intrawave_si", "64x128x64_compv4", "64x64x64_wavelet"];
    let registry = of_kernels(Options::default(), names.map(named));
    registry.set_model(model("conv_small"), None);
    let ranking = registry.rank(&resnet()).unwrap();
    assert_eq!((ranking.places.len(), ranking.left_out), (3, 1));
    for place in &ranking.places {
        assert_eq!(place.tied, !place.entry.name().contains("compv4"), "{}", place.entry.name());
    }
}

#[test]
fn a_model_that_does_not_fit_says_why_and_answers_when_it_is_forced() {
    let base = conv(16);
    let other = ConvProblem { arch: "gfx942".parse().ok(), ..base }.into();
    let registry = modelled(Options { estimate: false, ..Options::default() });
    registry.set_model(model("gemm_small"), None);
    let selection = registry.select(&other).unwrap();
    assert!(selection.source == Source::Priority && selection.no_model);
    let whys = [registry.explain(&other).unwrap(), registry.rank(&other).unwrap_err().to_string()];
    for text in whys {
        assert!(
            text.contains("conv_small (grouped_conv bf16 gfx950): arch is gfx942, the model is for gfx950"),
            "{text}"
        );
        assert!(text.contains("gemm_small (gemm_universal fp8 gfx950): operation is grouped_conv"), "{text}");
    }
    let text = registry.explain(&resnet()).unwrap();
    assert!(text.contains("\n  not ") && text.contains("the model is for gemm_universal"), "{text}");

    registry.set_model(Arc::new(Model::clone(&model("conv_small")).forced()), None);
    let forced = registry.select(&other).unwrap();
    assert_eq!((forced.source, forced.out_of_range()), (Source::Model, true));
    assert_eq!(forced.outside.names(Op::Conv).collect::<Vec<_>>(), ["arch"]);
    let fitting = registry.select(&resnet()).unwrap();
    assert!(!fitting.out_of_range() && fitting.arch_unknown, "nobody named an architecture");
}

/// Selects without a model twice, in two registries.
fn select_without_a_model() {
    for _ in 0..2 {
        let registry = filled(Options::default());
        for n in 1..4 {
            assert!(registry.select(&conv(n).into()).unwrap().no_model);
        }
    }
    if !embedded::all().is_empty() {
        let registry = filled(Options { embedded_models: true, ..Options::default() });
        assert!(registry.select(&resnet()).unwrap().arch_unknown);
    }
}

/// The selections are made by a process of their own, which is this test again.
#[test]
fn a_registry_warns_of_unknown_hardware_once_on_standard_error() {
    const CHILD: &str = "CK_SELECT_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return select_without_a_model();
    }
    let said = |log: Option<&str>| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "a_registry_warns_of_unknown_hardware_once_on_standard_error", "--nocapture"]);
        child.env_remove("CK_SELECT_LOG").env(CHILD, "1");
        child.envs(log.map(|log| ("CK_SELECT_LOG", log)));
        let output = child.output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stderr).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("ck_select warn select: "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = said(None);
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!(count("is chosen by priority alone, because no model fits the problem"), 2, "{lines:?}");
    let embedded = usize::from(!embedded::all().is_empty());
    assert_eq!(count("which may not be the architecture of this device"), embedded, "{lines:?}");
    assert!(said(Some("off")).is_empty() && said(Some("error")).is_empty());
    assert_eq!(said(Some("warn")).len(), 2 + embedded);
}

#[test]
fn a_warm_selection_does_not_allocate() {
    let registry = modelled(Options::default());
    check_warm(&registry, (1..100).map(|n| conv(n).into()));

    let registry = of_kernels(Options::default(), gemms());
    registry.set_model(model("gemm_small"), None);
    check_warm(&registry, (1..100).map(|m| GemmProblem::new(m, 512, 1024).into()));
    // K has steps for some numbers of parts: the reason why none of few kernels takes the others was made, and dropped.
    let registry = of_kernels(Options::default(), gemms().into_iter().take(2).collect::<Vec<_>>());
    registry.set_model(model("gemm_small"), None);
    let short = |m| GemmProblem { split_k: AUTO, ..GemmProblem::new(m, 512, 512) };
    check_warm(&registry, (1..100).map(|m| short(m).into()));
}

fn gemms() -> Vec<Kernel> {
    let pool = Pool::read(root("tests/golden/models/gemm_small/pool.txt")).unwrap();
    pool.iter().cloned().collect()
}

fn check_warm(registry: &Registry, problems: impl Iterator<Item = Problem>) {
    let problems: Vec<Problem> = problems.collect();
    // The second selection compiles the forest.
    for problem in &problems[..2] {
        registry.select(problem).unwrap();
    }
    let before = ALLOCATIONS.get();
    for problem in &problems {
        assert_eq!(registry.select(problem).unwrap().source, Source::Model);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn selections_are_consistent_while_kernels_and_models_change() {
    let registry = filled(Options::default());
    let model = model("conv_small");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let selection = registry.select(&resnet()).unwrap();
                    assert_eq!(selection.source == Source::Model, selection.score.is_some());
                    // Only compv3 kernels are ever removed, so a compv5 one is always the model's best.
                    if selection.source == Source::Model {
                        assert!(selection.entry.name().ends_with("128x128x64_compv5"));
                    }
                    std::thread::yield_now();
                }
            });
        }
        for round in 0..40 {
            registry.set_model(model.clone(), None);
            registry.retain(|entry| !entry.name().contains("compv3"));
            for kernel in kernels().into_iter().filter(|kernel| kernel.name.contains("compv3")) {
                add(&registry, kernel, Priority::NORMAL);
            }
            assert_eq!(registry.len(), 30);
            if round % 2 == 0 {
                assert!(registry.remove_model(&registry.model_keys()[0]));
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// The run of a kernel that times itself, and counts its runs.
fn timed(
    ms: f64,
    runs: &Arc<AtomicUsize>,
) -> impl Fn(&Problem, Stream) -> RunOutcome + Send + Sync + 'static {
    let runs = Arc::clone(runs);
    move |_, _| {
        runs.fetch_add(1, Ordering::Relaxed);
        if ms < 0.0 { RunOutcome::Failed(1) } else { RunOutcome::Milliseconds(ms) }
    }
}

/// The 30 kernels on a mock device; `ms` says how long each takes.
fn measured(options: Options, ms: impl Fn(&str) -> f64) -> (Registry, Arc<AtomicUsize>) {
    let runs = Arc::default();
    (running(options, kernels(), |_, kernel| timed(ms(&kernel.name), &runs)), runs)
}

fn off() -> Options {
    on("gfx950")
}

const FASTEST: &str = "grouped_conv_forward_bf16_2d_16x64x128_compv4";

fn ms(name: &str) -> f64 {
    if name == FASTEST { 0.5 } else { 1.0 + name.len() as f64 / 100.0 }
}

#[test]
fn search_measures_once_and_remembers_on_a_device_and_on_the_host() {
    let options = Options { mode: Mode::Search, ..off() };
    let (registry, runs) = measured(options.clone(), ms);
    let on_host = Options { host_timing: true, ..options };
    let host = Registry::new(on_host.clone()).unwrap();
    let timed = |kernel: Kernel| {
        let hooks = Box::new(timed(ms(&kernel.name), &runs));
        new(kernel, Some(hooks))
    };
    host.add_all(kernels().into_iter().map(timed).collect()).unwrap();
    for registry in [&registry, &host] {
        runs.store(0, Ordering::Relaxed);
        let first = registry.select(&resnet()).unwrap();
        let found = (first.entry.name(), first.source, first.measured_ms);
        assert_eq!(found, (FASTEST, Source::Search, Some(0.5)));
        let tried = runs.load(Ordering::Relaxed);
        assert!(tried >= 30);
        let second = registry.select(&resnet()).unwrap();
        let found = (second.entry.name(), second.source, second.measured_ms);
        assert_eq!(found, (FASTEST, Source::Store, Some(0.5)));
        assert_eq!(runs.load(Ordering::Relaxed), tried, "nothing was run again");
    }
    assert!(host.explain(&resnet()).unwrap().contains("search: all kernels, before the model, on host"));
    let nowhere = Options { arch: None, ..on_host };
    let error = Registry::new(nowhere.clone()).unwrap_err().to_string();
    assert!(error.starts_with("host_timing: arch is not set"), "{error}");
    assert!(host.set_options(nowhere).is_err());
}

#[test]
fn refine_measures_the_models_best_and_only_those() {
    let (registry, runs) = measured(Options { mode: Mode::Refine(3), ..off() }, ms);
    registry.set_model(model("conv_small"), None);
    let ranking: Vec<String> =
        registry.rank(&resnet()).unwrap().places.iter().map(|place| place.entry.name().to_owned()).collect();
    let selection = registry.select(&resnet()).unwrap();
    assert_eq!(selection.source, Source::Search);
    assert!(ranking[..3].iter().any(|name| name == selection.entry.name()));
    // Three warm-up runs and ten that count, of three kernels at the most.
    assert!(runs.load(Ordering::Relaxed) <= 3 * 13);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Store);
}

/// Each choice says how many kernels have to be measured: none where it is sure.
#[test]
fn choices_say_how_sure_they_are_and_refine_auto_measures_as_many_as_they_ask_for() {
    let universal = Arc::new(Model::load(root("models/universal")).unwrap());
    let (registry, runs) = measured(Options { mode: Mode::RefineAuto, ..off() }, ms);
    let modelled_by = |model: Arc<Model>| {
        let registry = filled(off());
        registry.set_model(model, None);
        registry
    };
    registry.set_model(Arc::clone(&universal), None);
    for problem in [1, 2, 4, 8, 16, 32, 64, 128].map(small_conv) {
        let ranking = registry.rank(&problem).unwrap();
        let Sure { expected_loss, sure_within: [asked, _], .. } = ranking.sure.unwrap();
        assert!((0.0..0.5).contains(&expected_loss), "{expected_loss}");
        let [first, second] = [0, 1].map(|place| &ranking.places[place]);
        assert_eq!((first.slower, first.loss.unwrap() as f32), (Some(1.0), expected_loss));
        assert!(second.time_us >= first.time_us && second.loss >= first.loss && first.time_us > Some(0.0));
        runs.store(0, Ordering::Relaxed);
        let selection = registry.select(&problem).unwrap();
        let tried = runs.load(Ordering::Relaxed);
        assert_eq!((selection.source, selection.sure), (Source::Search, None));
        let first = &ranking.places[..asked as usize];
        assert!(tried > 0 && first.iter().any(|place| place.index == selection.index));
    }
    // The estimate says it, too, and both are remembered.
    for (registry, source) in [(modelled_by(universal), Source::Model), (filled(off()), Source::Estimate)] {
        let sure = registry.rank(&resnet()).unwrap().sure;
        for _ in 0..2 {
            let selection = registry.select(&resnet()).unwrap();
            assert_eq!((selection.source, selection.sure, sure.is_some()), (source, sure, true));
        }
    }
}

/// A loss was stated on every architecture: left out of the examples, the MI355X's was expected to be twice the observed
/// one.
#[test]
fn on_architectures_without_judged_choices_the_loss_is_unknown_and_three_kernels_are_measured() {
    let universal = Arc::new(Model::load(root("models/universal")).unwrap());
    for arch in ["gfx942", "sm_80"] {
        let [(registry, runs), three] = [Mode::RefineAuto, Mode::Refine(3)].map(|mode| {
            let (registry, runs) = measured(Options { mode, ..on(arch) }, ms);
            registry.set_model(Arc::clone(&universal), None);
            registry.select(&resnet()).unwrap();
            (registry, runs.load(Ordering::Relaxed))
        });
        assert!(runs > 0 && runs == three.1, "{arch}");
        let ranking = registry.rank(&resnet()).unwrap();
        let first = &ranking.places[0];
        assert_eq!((ranking.source, ranking.sure, first.loss), (Source::Model, None, None), "{arch}");
        assert!(first.time_us > Some(0.0) && first.slower == Some(1.0), "{arch}");
        let by_estimate = filled(on(arch));
        assert_eq!(
            (by_estimate.rank(&resnet()).unwrap().sure, by_estimate.select(&resnet()).unwrap().sure),
            (None, None)
        );
    }
}

#[test]
fn unmeasurable_problems_fall_through_and_are_not_retried() {
    let (registry, runs) = measured(Options { mode: Mode::Search, ..off() }, |_| -1.0);
    registry.set_model(model("conv_small"), None);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Model);
    let tried = runs.load(Ordering::Relaxed);
    assert!(tried >= 30);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Model);
    assert_eq!(runs.load(Ordering::Relaxed), tried);
}

#[test]
fn without_a_model_a_search_may_be_allowed() {
    let (registry, _) = measured(Options { search: true, ..off() }, ms);
    assert_eq!(registry.select(&resnet()).unwrap().entry.name(), FASTEST);
    registry.set_model(model("conv_small"), None);
    let base = conv(16);
    assert_eq!(registry.select(&ConvProblem { n: 3, ..base }.into()).unwrap().source, Source::Model);

    let refined = Options { refine_out_of_range: 2, ..off() };
    let (registry, runs) = measured(refined, ms);
    registry.set_model(model("conv_small"), None);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Model);
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    let far = registry.select(&ConvProblem { n: 5000, ..base }.into()).unwrap();
    assert_eq!((far.source, far.out_of_range()), (Source::Search, true));
}

#[test]
fn another_driver_has_winners_of_its_own_whatever_the_device_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for device_name in [None, Some("mine".to_owned())] {
        let store = folder.path().join(device_name.as_deref().unwrap_or("usual"));
        let source = |driver: u32| {
            let options = Options {
                mode: Mode::Search,
                store: Some(store.clone()),
                device_name: device_name.clone(),
                ..off()
            };
            let device = MockDevice::new().with_facts(|facts| facts.driver_version = Some(driver));
            let (kernel, runs) = (kernels().into_iter().take(1), Arc::default());
            let registry = running_on(device, options, kernel, |_, _| timed(1.0, &runs));
            registry.select(&resnet()).unwrap().source
        };
        assert_eq!([1, 1, 2, 1].map(source), [Source::Search, Source::Store, Source::Search, Source::Store]);
    }
}

#[test]
fn without_a_device_the_chain_goes_on() {
    let registry = modelled(Options { mode: Mode::Search, ..off() });
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Model);
    assert!(registry.explain(&resnet()).unwrap().contains("search: all kernels, before the model, but "));
}

#[test]
fn a_repeated_problem_is_answered_from_memory_until_something_changes() {
    let asked = Arc::new(AtomicUsize::new(0));
    let registry = Registry::new(Options::default()).unwrap();
    let asking = |kernel| {
        let asked = asked.clone();
        let counts = move |_: &Problem| {
            asked.fetch_add(1, Ordering::Relaxed);
            true
        };
        new(kernel, Some(Box::new(Supports(counts))))
    };
    registry.add_all(kernels().into_iter().map(asking).collect()).unwrap();
    registry.set_model(model("conv_small"), None);
    let first = registry.select(&resnet()).unwrap();
    let once = asked.load(Ordering::Relaxed);
    for _ in 0..10 {
        let again = registry.select(&resnet()).unwrap();
        assert!(std::ptr::eq(first.entry.name(), again.entry.name()));
        assert_eq!(
            (first.index, first.source, first.score, first.rank, first.generation),
            (again.index, again.source, again.score, again.rank, again.generation)
        );
    }
    assert_eq!(asked.load(Ordering::Relaxed), once + 10, "only the chosen kernel is asked again");

    let name = first.entry.name();
    assert_eq!(registry.retain(|entry| entry.name() != name), 1);
    let second = registry.select(&resnet()).unwrap();
    assert_ne!(second.entry.name(), name, "a removed kernel is never answered");
    registry.remove_model(&registry.model_keys()[0]);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Priority);
}

#[test]
fn a_recorded_range_goes_before_the_forests() {
    let registry = filled(Options::default());
    for (range, flagged) in [([1.0, 64.0], false), ([1.0, 15.0], true), ([17.0, 64.0], true)] {
        let model = described(|spec| spec["ck_select"]["trained_range"] = json!({ "N": range }));
        registry.set_model(model, None);
        assert_eq!(registry.select(&resnet()).unwrap().out_of_range(), flagged, "{range:?}");
        let text = registry.explain(&resnet()).unwrap();
        let [min, max] = range;
        assert_eq!(
            text.contains(&format!("training range: N is 16, trained on {min} to {max}\n")),
            flagged,
            "{text}"
        );
    }
}

#[test]
fn winners_of_other_processes_are_taken_in_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = Some(folder.path().join("winners.db"));
    let (reader, runs) = measured(Options { store: path.clone(), ..off() }, ms);
    reader.set_model(model("conv_small"), None);
    assert_eq!(reader.select(&resnet()).unwrap().source, Source::Model);
    assert!(!reader.refresh_store().unwrap(), "nothing is new");
    let generation = reader.generation();

    let (other, _) = measured(Options { mode: Mode::Search, store: path, ..off() }, ms);
    assert_eq!(other.select(&resnet()).unwrap().entry.name(), FASTEST);
    assert_eq!(reader.select(&resnet()).unwrap().source, Source::Model, "not yet asked");
    assert!(reader.refresh_store().unwrap());
    assert!(reader.generation() > generation);
    let found = reader.select(&resnet()).unwrap();
    assert_eq!((found.source, found.entry.name(), found.measured_ms), (Source::Store, FASTEST, Some(0.5)));
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert!(reader.explain(&resnet()).unwrap().contains(&format!("store: {FASTEST}")));
    reader.retain(|entry| !entry.name().contains("compv5"));
    assert_eq!(reader.select(&resnet()).unwrap().source, Source::Model, "another pool");
    // A registry without a store has nothing to take in.
    assert!(!filled(Options::default()).refresh_store().unwrap());
}

#[test]
fn embedded_models_answer_where_no_loaded_one_does() {
    let registry = filled(Options { embedded_models: true, ..Options::default() });
    // The universal one also serves GEMMs and mixtures of experts.
    let embedded: usize =
        embedded::all().iter().map(|model| if model.load().unwrap().is_universal() { 3 } else { 1 }).sum();
    assert_eq!(registry.model_keys().len(), embedded);
    registry.set_model(model("conv_small"), None);
    assert_eq!(registry.model_keys().len(), embedded + 1);
    let text = registry.explain(&resnet()).unwrap();
    assert!(text.contains("conv_small"), "a loaded model goes first: {text}");
    for key in registry.model_keys() {
        registry.remove_model(&key);
    }
    assert_eq!(registry.model_keys().len(), embedded, "embedded ones go with the options only");
    registry.set_options(Options::default()).unwrap();
    assert!(registry.model_keys().is_empty());
}

#[test]
fn exports_count_kernels_and_have_the_time_on_request() {
    let registry = filled(Options::default());
    registry.add_all(plain(gemms())).unwrap();
    let json = |op, options: &ExportOptions<'_>| -> Value {
        serde_json::from_str(&registry.export_json(op, options).unwrap()).unwrap()
    };
    let full = ExportOptions {
        timestamp: Some("2026-01-31T12:00:00"),
        statistics: true,
        ..ExportOptions::default()
    };
    let conv = json(Op::Conv, &full);
    assert_eq!(conv["metadata"], json!({ "registry_name": "default", "total_kernels": 30 }));
    assert_eq!(conv["statistics"]["by_datatype"], json!({ "bf16_bf16_bf16": 30 }));
    let pipelines = conv["statistics"]["by_pipeline"].as_object().unwrap();
    assert_eq!(pipelines.values().filter_map(Value::as_u64).sum::<u64>(), 30);
    let gemm = json(Op::Gemm, &full);
    assert_eq!(gemm["metadata"]["timestamp"], "2026-01-31T12:00:00");
    assert_eq!(gemm["statistics"]["by_layout"], json!({ "row_major_col_major_row_major": 32 }));
    assert_eq!(gemm["statistics"]["by_gfx_arch"], json!({ "": 32 }));
    let plain = json(Op::Gemm, &ExportOptions::default());
    assert_eq!((plain.get("statistics"), plain["metadata"].get("timestamp")), (None, None));
    registry.retain(|_| false);
    assert_eq!(json(Op::Conv, &full).get("statistics"), None, "nothing to count");
}

#[test]
fn changed_options_open_the_winners_anew() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        |store: &str| Options { mode: Mode::Search, store: Some(folder.path().join(store)), ..off() };
    let (registry, runs) = measured(options("a.db"), ms);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Search);
    registry.set_options(options("b.db")).unwrap();
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Search, "nothing is in the other store");
    let tried = runs.load(Ordering::Relaxed);
    registry.set_options(options("a.db")).unwrap();
    registry.set_model(model("conv_small"), None);
    assert_eq!(registry.select(&resnet()).unwrap().source, Source::Store);
    assert_eq!(runs.load(Ordering::Relaxed), tried);
}
