//! Measuring between selections: what is measured, in which order, within which time, and what others see
//! meanwhile.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ck_select::kernel::Kernel;
use ck_select::problem::{GemmProblem, Problem};
use ck_select::registry::{Mode, NewKernel, Options, Registry, Source, TuneBudget, TuneReport};
use ck_select::tuning::device::Stream;
use ck_select::tuning::mock::MockDevice;
use ck_select::tuning::search::{RunOutcome, SearchOptions};

use crate::common::{new, small_conv as problem};

const LONG: TuneBudget = TuneBudget::new(Duration::from_secs(600));

type Run = Arc<dyn Fn(usize, &Problem) -> RunOutcome + Send + Sync>;

fn kernels() -> Vec<Kernel> {
    crate::common::kernels().into_iter().take(6).collect()
}

fn off() -> Options {
    let measuring = SearchOptions { warmup: 0, repeats: 2, ..SearchOptions::default() };
    Options { measuring, ..crate::common::on("gfx942") }
}

/// A kernel whose runs are the test's.
fn scripted(number: usize, kernel: Kernel, run: &Run) -> NewKernel {
    let run = run.clone();
    new(kernel, Some(Box::new(move |problem: &Problem, _: Stream| run(number, problem))))
}

/// Six kernels on a mock device.
fn registry(
    options: Options,
    run: impl Fn(usize, &Problem) -> RunOutcome + Send + Sync + 'static,
) -> Registry {
    on_device(MockDevice::new(), options, &(Arc::new(run) as Run))
}

fn on_device(device: MockDevice, options: Options, run: &Run) -> Registry {
    let registry = Registry::with_device(options, Box::new(device)).unwrap();
    let kernels = kernels().into_iter().enumerate();
    registry.add_all(kernels.map(|(number, kernel)| scripted(number, kernel, run)).collect()).unwrap();
    registry
}

fn ask(registry: &Registry, problem: &Problem) {
    registry.select(problem).unwrap();
}

/// What the first call does that can measure a problem.
fn tuned(registry: &Registry) -> TuneReport {
    tuned_for(registry, &problem(1), &LONG)
}

fn tuned_for(registry: &Registry, problem: &Problem, budget: &TuneBudget) -> TuneReport {
    registry.tune(&LONG).unwrap();
    ask(registry, problem);
    registry.tune(budget).unwrap()
}

/// The last of the first three by the estimate, whatever they are, takes half the time of the others.
fn last_wins() -> impl Fn(usize, &Problem) -> RunOutcome + Send + Sync {
    let seen = Mutex::new(Vec::new());
    move |number, problem| {
        let mut seen = seen.lock().unwrap();
        if !seen.contains(&(number, *problem)) {
            seen.push((number, *problem));
        }
        let place = seen.iter().filter(|(_, of)| of == problem).position(|(one, _)| *one == number);
        RunOutcome::Milliseconds(if place == Some(2) { 0.5 } else { 1.0 })
    }
}

#[test]
fn the_first_call_begins_to_count_and_the_next_measures() {
    let registry = registry(off(), last_wins());
    let guess = registry.select(&problem(1)).unwrap();
    assert_eq!(guess.source, Source::Estimate);
    assert_eq!(registry.tune(&LONG).unwrap().measured, 0);
    let again = registry.select(&problem(1)).unwrap();
    assert_eq!((again.index, again.source), (guess.index, Source::Estimate));
    let report = registry.tune(&LONG).unwrap();
    let expected = TuneReport {
        measured: 1,
        improved: 1,
        saved_ms: 0.5,
        elapsed: report.elapsed,
        ..TuneReport::default()
    };
    assert_eq!(report, expected);
    for _ in 0..2 {
        let winner = registry.select(&problem(1)).unwrap();
        assert_eq!((winner.source, winner.measured_ms), (Source::Store, Some(0.5)));
        assert_ne!(winner.index, guess.index);
        assert_eq!(winner.generation, again.generation, "a winner is no change");
    }
    // What is measured waits no more, and what was not asked is not measured.
    assert_eq!(registry.tune(&LONG).unwrap().measured, 0);
}

#[test]
fn the_most_selected_problems_are_tuned_first() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = order.clone();
    let registry = registry(off(), move |_, problem| {
        let mut seen = seen.lock().unwrap();
        if seen.last() != Some(problem) {
            seen.push(*problem);
        }
        RunOutcome::Milliseconds(1.0)
    });
    registry.tune(&LONG).unwrap();
    // As long as each other, asked 1, 5, 9, 3 times.
    for (at, times) in [(1, 1), (2, 5), (3, 9), (4, 3)] {
        let Problem::Conv(one) = problem(1) else { unreachable!() };
        let one = ck_select::problem::ConvProblem { pad_right: [0, at, at], ..one }.into();
        (0..times).for_each(|_| ask(&registry, &one));
    }
    let report = registry.tune(&LONG).unwrap();
    assert_eq!((report.measured, report.waiting), (4, 0));
    let pads: Vec<i64> = order.lock().unwrap().iter().map(pad).collect();
    assert_eq!(pads, [3, 2, 4, 1]);
}

fn pad(problem: &Problem) -> i64 {
    let Problem::Conv(problem) = problem else { unreachable!() };
    problem.pad_right[1]
}

#[test]
fn short_calls_get_as_far_as_a_long_one() {
    let run_time = Duration::from_millis(4);
    let runs = Arc::new(AtomicUsize::new(0));
    let late = Arc::new(AtomicUsize::new(0));
    let end = Arc::new(Mutex::new(None::<Instant>));
    let registry = {
        let (runs, late, end) = (runs.clone(), late.clone(), end.clone());
        registry(off(), move |number, _| {
            runs.fetch_add(1, Ordering::Relaxed);
            let began = Instant::now();
            std::thread::sleep(run_time);
            if end.lock().unwrap().is_some_and(|end| end < began) {
                late.fetch_add(1, Ordering::Relaxed);
            }
            RunOutcome::Milliseconds(10.0 + number as f64)
        })
    };
    registry.tune(&LONG).unwrap();
    (1..4).for_each(|number| ask(&registry, &problem(number)));
    let mut measured = 0;
    for call in 1.. {
        // A run and a half: one run begins within the time, mostly two.
        let time = run_time * 3 / 2;
        *end.lock().unwrap() = Some(Instant::now() + time);
        let report = registry.tune(&TuneBudget::new(time)).unwrap();
        // One run may have been about to begin when the time ended.
        assert!(late.swap(0, Ordering::Relaxed) <= 1);
        measured += report.measured;
        assert_eq!(measured + report.waiting, 3);
        if report.waiting == 0 {
            break;
        }
        assert!(call < 200, "{report:?} after {call} calls");
    }
    assert_eq!(measured, 3);
    // Three kernels, two runs: no kernel is begun with more often than once a call.
    assert!((9..=36).contains(&runs.load(Ordering::Relaxed)), "{runs:?}");
    assert_eq!(registry.select(&problem(1)).unwrap().source, Source::Store);
}

/// A registry whose first kernels run for longer than a call's whole time, with how often each has run.
fn with_slow(slow: usize, run: Duration) -> (Registry, Arc<Mutex<Vec<usize>>>) {
    let runs = Arc::new(Mutex::new(Vec::new()));
    let order = runs.clone();
    let measuring = SearchOptions { warmup: 1, repeats: 2, ..SearchOptions::default() };
    let registry = registry(Options { measuring, ..off() }, move |number, _| {
        let mut runs = order.lock().unwrap();
        runs.push(number);
        let mut kernels = runs.clone();
        kernels.dedup();
        if kernels.len() > slow || kernels[..kernels.len() - 1].contains(&number) {
            return RunOutcome::Milliseconds(0.5 + 0.01 * number as f64);
        }
        drop(runs);
        std::thread::sleep(run);
        RunOutcome::Milliseconds(run.as_secs_f64() * 1e3)
    });
    registry.tune(&LONG).unwrap();
    ask(&registry, &problem(1));
    (registry, runs)
}

/// Every call began with the same kernel, so that the others were never measured.
#[test]
fn a_kernel_slower_than_a_call_is_not_measured_again_by_every_call() {
    let (time, run) = (Duration::from_millis(100), Duration::from_millis(250));
    let (registry, runs) = with_slow(1, run);
    let guess = registry.select(&problem(1)).unwrap().index;
    let measured = (0..50).position(|_| registry.tune(&TuneBudget::new(time)).unwrap().measured == 1);
    assert!(measured.is_some(), "{runs:?}");
    let runs = runs.lock().unwrap();
    let first = runs[0];
    assert_eq!(runs.iter().filter(|&&number| number == first).count(), 1, "{runs:?}");
    let winner = registry.select(&problem(1)).unwrap();
    assert_eq!(winner.source, Source::Store);
    assert_ne!(winner.index, guess);
}

/// Where no kernel has a timing, nothing is decided: a call with twice the time tries again.
#[test]
fn kernels_slower_than_a_call_are_left_to_a_longer_one() {
    let (time, run) = (Duration::from_millis(20), Duration::from_millis(50));
    let (registry, runs) = with_slow(3, run);
    for _ in 0..10 {
        let report = registry.tune(&TuneBudget::new(time)).unwrap();
        assert_eq!((report.measured, report.failed, report.waiting), (0, 0, 1));
    }
    assert_eq!(runs.lock().unwrap().len(), 3, "{runs:?}");
    assert_eq!(registry.tune(&LONG).unwrap().measured, 1);
}

#[test]
fn failed_problems_wait_until_something_changes() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let registry = registry(off(), move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        RunOutcome::Failed(-7)
    });
    let report = tuned(&registry);
    assert_eq!((report.failed, report.measured, report.waiting), (1, 0, 0));
    let tried = runs.load(Ordering::Relaxed);
    assert_eq!(tried, 3);
    registry.tune(&LONG).unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), tried);
    assert_eq!(registry.select(&problem(1)).unwrap().source, Source::Estimate);
    assert!(registry.remove(&kernels()[5].name));
    assert_eq!(registry.tune(&LONG).unwrap().failed, 1);
    assert_eq!(runs.load(Ordering::Relaxed), 2 * tried);
}

#[test]
fn one_failing_kernel_does_not_lose_the_others() {
    let registry = registry(off(), |number, _| match number % 2 {
        0 => RunOutcome::Failed(1),
        _ => RunOutcome::Milliseconds(1.0),
    });
    let report = tuned_for(&registry, &problem(1), &TuneBudget { kernels: 6, ..LONG });
    assert_eq!((report.measured, report.failed), (1, 0));
}

#[test]
fn a_stream_that_cannot_be_measured_on_is_an_error_and_loses_nothing() {
    let device = MockDevice::new();
    device.set_capturing(true);
    let run: Run = Arc::new(|_, _| RunOutcome::Milliseconds(1.0));
    let registry = on_device(device, off(), &run);
    registry.tune(&LONG).unwrap();
    registry.select(&problem(1)).unwrap();
    for _ in 0..2 {
        let error = registry.tune(&LONG).unwrap_err().to_string();
        assert_eq!(error, "nothing can be measured: the stream is being captured into a graph");
    }
    assert_eq!(registry.tune(&TuneBudget::new(Duration::ZERO)).unwrap().waiting, 1);
}

#[test]
fn where_nothing_was_asked_no_device_is_needed() {
    let registry =
        Registry::new(Options { arch: off().arch, store: off().store, ..Options::default() }).unwrap();
    registry.tune(&LONG).unwrap();
    assert_eq!(registry.tune(&LONG).unwrap().waiting, 0);
}

#[test]
fn callbacks_may_select_and_must_not_tune() {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    static INNER: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let registry = REGISTRY.get_or_init(|| {
        registry(off(), |_, problem| {
            let registry = REGISTRY.get().unwrap();
            assert_ne!(registry.select(problem).unwrap().source, Source::Search);
            registry.select(&self::problem(99)).unwrap();
            INNER.lock().unwrap().push(registry.tune(&LONG).map(|_| ()).unwrap_err().to_string());
            RunOutcome::Milliseconds(1.0)
        })
    });
    let report = tuned(registry);
    assert_eq!((report.measured, report.waiting), (1, 0));
    // The problem that the callbacks asked for is the next call's.
    assert!(matches!(registry.tune(&LONG), Ok(TuneReport { measured: 1, .. })));
    let inner = INNER.lock().unwrap();
    assert!(
        inner.len() >= 6 && inner.iter().all(|text| text.contains("this thread is already measuring")),
        "{inner:?}"
    );
}

#[test]
fn priority_measures_nothing() {
    let registry = registry(Options { mode: Mode::Priority, ..off() }, |_, _| unreachable!());
    for _ in 0..2 {
        registry.select(&problem(1)).unwrap();
        let report = registry.tune(&LONG).unwrap();
        assert_eq!((report.measured, report.waiting), (0, 0));
    }
}

#[test]
fn problems_with_fewer_than_two_runnable_kernels_are_not_measured() {
    let registry = registry(off(), |_, _| unreachable!());
    for kernel in kernels().iter().skip(1) {
        assert!(registry.remove(&kernel.name));
    }
    registry.tune(&LONG).unwrap();
    registry.select(&problem(1)).unwrap();
    assert!(registry.select(&GemmProblem::new(1, 1, 1).into()).is_err(), "nothing computes it");
    let report = registry.tune(&LONG).unwrap();
    assert_eq!((report.measured, report.failed, report.waiting), (0, 0, 0));
}

#[test]
fn a_problem_of_another_architecture_is_not_measured() {
    let elsewhere = problem(1).on("gfx950".parse().ok());
    let report = tuned_for(&registry(off(), |_, _| unreachable!()), &elsewhere, &LONG);
    assert_eq!((report.measured, report.failed, report.waiting), (0, 0, 0));
    let options = Options { mode: Mode::Search, ..off() };
    let searching = registry(options, |_, _| unreachable!());
    for _ in 0..2 {
        assert_ne!(searching.select(&elsewhere).unwrap().source, Source::Search);
    }
}

/// Names that are free text say nothing about the kernel.
#[test]
fn winners_are_not_those_of_other_kernels_with_the_same_names() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("winners.db");
    let search = |skip: usize, best: usize| {
        let options = Options { mode: Mode::Search, store: Some(store.clone()), ..off() };
        let registry = Registry::with_device(options, Box::new(MockDevice::new())).unwrap();
        let run: Run = Arc::new(move |number, _: &Problem| {
            RunOutcome::Milliseconds(if number == best { 1.0 } else { 2.0 })
        });
        let named =
            kernels().into_iter().skip(skip).take(2).enumerate().map(|(number, kernel)| {
                scripted(number, Kernel { name: format!("k{number}"), ..kernel }, &run)
            });
        registry.add_all(named.collect()).unwrap();
        registry.select(&problem(1)).unwrap().index
    };
    assert_eq!(
        (search(0, 0), search(2, 1), search(0, 1)),
        (0, 1, 0),
        "the third finds what the first measured"
    );
}

#[test]
fn more_new_problems_than_the_queue_holds_are_met_again() {
    let registry = registry(off(), |_, _| RunOutcome::Milliseconds(1.0));
    registry.tune(&LONG).unwrap();
    let ask_all = || (1..=1500).for_each(|number| ask(&registry, &problem(number)));
    ask_all();
    let first = registry.tune(&LONG).unwrap();
    assert!(first.measured < 1500, "{first:?}");
    ask_all();
    let second = registry.tune(&LONG).unwrap();
    assert_eq!(first.measured + second.measured, 1500);
    (1..=1500)
        .for_each(|number| assert_eq!(registry.select(&problem(number)).unwrap().source, Source::Store));
}

#[test]
fn a_freed_registry_has_freed_everything() {
    let run: Run = Arc::new(|_, _| RunOutcome::Milliseconds(1.0));
    let registry = on_device(MockDevice::new(), off(), &run);
    assert_eq!(Arc::strong_count(&run), 7);
    registry.tune(&LONG).unwrap();
    // Threads that counted are gone before the registry, and the registry before other threads.
    std::thread::scope(|scope| {
        scope.spawn(|| ask(&registry, &problem(1)));
    });
    registry.tune(&LONG).unwrap();
    drop(registry);
    assert_eq!(Arc::strong_count(&run), 1);
}

/// Selections, two threads that tune, and one that changes kernels and options, all at once.
#[test]
fn others_see_a_guess_or_a_winner_and_nothing_else() {
    const PROBLEMS: i64 = 60;
    let registry = registry(off(), |number, problem| {
        let Problem::Conv(conv) = problem else { unreachable!() };
        RunOutcome::Milliseconds(1.0 + ((number as i64 + conv.n) % 6) as f64)
    });
    registry.tune(&LONG).unwrap();
    let known: HashSet<String> = kernels().iter().map(|kernel| kernel.name.clone()).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for number in 1..=PROBLEMS {
                        let chosen = registry.select(&problem(number)).unwrap();
                        assert!(known.contains(chosen.entry.name()));
                        assert_eq!(chosen.source == Source::Store, chosen.measured_ms.is_some());
                        assert!(
                            matches!(chosen.source, Source::Store | Source::Estimate),
                            "{}",
                            chosen.source
                        );
                    }
                    std::thread::yield_now();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    registry
                        .tune(&TuneBudget { kernels: 6, ..TuneBudget::new(Duration::from_millis(2)) })
                        .unwrap();
                }
            });
        }
        scope.spawn(|| {
            let run: Run = Arc::new(|_, _| RunOutcome::Milliseconds(9.0));
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(5));
                assert!(registry.remove(&kernels()[5].name));
                registry.add_all(vec![scripted(5, kernels()[5].clone(), &run)]).unwrap();
                registry.set_options(off()).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
    });
    for _ in 0..2 {
        (1..=PROBLEMS).for_each(|number| ask(&registry, &problem(number)));
        assert_eq!(registry.tune(&TuneBudget { kernels: 6, ..LONG }).unwrap().failed, 0);
    }
    for number in 1..=PROBLEMS {
        let winner = registry.select(&problem(number)).unwrap();
        assert_eq!(winner.source, Source::Store, "{number}");
    }
}

/// No guess that was made before a winner was known is kept after it.
#[test]
fn a_winner_replaces_a_guess_for_good() {
    let registry = registry(off(), |_, _| RunOutcome::Milliseconds(1.0));
    registry.tune(&LONG).unwrap();
    let rounds = 300;
    for round in 1..=rounds {
        let asked = problem(round);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..3).for_each(|_| ask(&registry, &asked)));
            }
            scope.spawn(|| while registry.tune(&LONG).unwrap().measured == 0 {});
        });
        assert_eq!(registry.select(&asked).unwrap().source, Source::Store, "round {round}");
    }
}
