//! Faults from outside while a registry works: every error of the runtime at every call, folders that vanish,
//! signals, forks. Nothing hangs, nothing crashes, and every selection has an answer. `make faults` does more
//! of each.

mod common;
mod hip_double;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ck_select::problem::Problem;
use ck_select::registry::{Mode, Options, Registry, Source, TuneBudget};
use ck_select::tuning::device::{Device, Stream};
use ck_select::tuning::mock::MockDevice;
use ck_select::tuning::search::{RunOutcome, SearchOptions};
use ck_select_testing::faulty_calls::times;
use common::{kernels, running_on, small_conv as problem};
use hip_double::Double;

static DOUBLE: LazyLock<PathBuf> = LazyLock::new(|| hip_double::build("hip6_for_faults", 6, &[]));

const LONG: TuneBudget = TuneBudget::new(Duration::from_secs(60));

type Run = Arc<dyn Fn() -> RunOutcome + Send + Sync>;

/// Four kernels with the same runs.
fn registry(mode: Mode, store: &Path, device: impl Device + Send + 'static, run: &Run) -> Registry {
    let measuring = SearchOptions {
        warmup: 0,
        repeats: 2,
        run_timeout: Duration::from_millis(20),
        ..SearchOptions::default()
    };
    let arch = Some("gfx942".parse().unwrap());
    let options = Options { mode, arch, store: Some(store.to_owned()), measuring, ..Options::default() };
    running_on(device, options, kernels().into_iter().take(4), |_, _| {
        let run = run.clone();
        move |_: &Problem, _: Stream| run()
    })
}

/// A registry on a mock device, whose kernels all take a millisecond.
fn on_mock(mode: Mode, store: &Path) -> Registry {
    registry(mode, store, MockDevice::new(), &(Arc::new(|| RunOutcome::Milliseconds(1.0)) as Run))
}

/// Each function that measuring calls fails once, with some codes (all of them with `CK_SELECT_FAULTS=4`),
/// before the first run or in the middle of one.
#[test]
fn every_error_of_the_runtime_is_survived() {
    const CALLS: [&str; 6] = [
        "hipEventCreate", "hipEventDestroy", "hipEventRecord", "hipEventQuery", "hipEventElapsedTime",
        "hipStreamIsCapturing",
    ];
    const CODES: [i32; 12] = [1, 2, 98, 100, 209, 400, 600, 700, 719, 900, 999, i32::MAX];
    let mut cases = 0;
    for call in CALLS {
        for &code in CODES.iter().take(3 * times() as usize) {
            for at in 0..4 {
                for mode in [Mode::Search, Mode::Model] {
                    // The double's state is the thread's.
                    std::thread::scope(|scope| {
                        scope.spawn(|| one_error(call, code, at, mode)).join().unwrap();
                    });
                    cases += 1;
                }
            }
        }
    }
    eprintln!("{cases} errors of the runtime");
}

fn one_error(call: &'static str, code: i32, at: usize, mode: Mode) {
    let double = Arc::new(Double::new(&DOUBLE));
    let device = double.hip.current_device().unwrap();
    let runs = AtomicUsize::new(0);
    // The double is of this thread alone, and so are the runs.
    let address = Arc::as_ptr(&double).expose_provenance();
    let run: Run = Arc::new(move || {
        // SAFETY: the double lives until the end of this function, and its registry ends before it.
        let double = unsafe { &*std::ptr::with_exposed_provenance::<Double>(address) };
        if runs.fetch_add(1, Ordering::Relaxed) + 1 == at {
            double.fail_next(call, code);
        }
        double.launch(0.5);
        RunOutcome::Launched
    });
    let registry = registry(mode, Path::new("off"), device, &run);
    let case = format!("{call} {code} at {at}, {mode:?}");
    if mode == Mode::Model {
        registry.tune(&LONG).unwrap();
        registry.select(&problem(1)).unwrap();
    }
    if at == 0 {
        double.fail_next(call, code);
    }
    // An error, or as many winners as there are; in any case the next selection has an answer.
    let _ = registry.tune(&LONG);
    assert!(registry.select(&problem(1)).is_ok(), "{case}");
    assert_eq!(double.live_events(), 0, "{case}");
    // What failed once is over, at the latest with the next problem, which may meet a call that the first one
    // never made.
    for number in [2, 3] {
        registry.select(&problem(number)).unwrap();
        if mode == Mode::Model {
            let _ = registry.tune(&LONG);
        }
        assert_eq!(double.live_events(), 0, "{case}");
    }
    assert_eq!(registry.select(&problem(3)).unwrap().source, Source::Store, "{case}");
    drop(registry);
}

#[test]
fn a_store_whose_folder_vanishes_stops_nothing() {
    for round in 0..3 * i64::from(times()) {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("cache");
        fs::create_dir(&place).unwrap();
        let store = place.join("winners.db");
        let registry = on_mock(Mode::Search, &store);
        std::thread::scope(|scope| {
            let selections = scope.spawn(|| {
                for number in 1..60 {
                    for _ in 0..2 {
                        // What was deleted is measured again; nothing else answers.
                        let chosen = registry.select(&problem(number)).unwrap();
                        assert!(matches!(chosen.source, Source::Search | Source::Store), "{}", chosen.source);
                    }
                }
            });
            while !selections.is_finished() {
                std::thread::sleep(Duration::from_micros(300 * (1 + round as u64 % 7)));
                // What the registry makes at that moment may keep a folder from going.
                let _ = fs::remove_dir_all(&place);
                let _ = registry.refresh_store();
                let _ = fs::create_dir(&place);
            }
        });
    }
}

unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
    fn getpid() -> i32;
    fn kill(process: i32, number: i32) -> i32;
}

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count_signal(_: i32) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Calls that are interrupted are made again: selections, winners and the store go on under a rain of
/// signals.
#[test]
fn signals_lose_nothing() {
    const SIGUSR1: i32 = 10;
    let handler: extern "C" fn(i32) = count_signal;
    // SAFETY: the handler only counts.
    unsafe { signal(SIGUSR1, handler as usize) };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("winners.db");
    let registry = on_mock(Mode::Model, &store);
    registry.tune(&LONG).unwrap();
    let done = AtomicBool::new(false);
    let problems = 100 * i64::from(times());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // SAFETY: the signal has a handler.
                unsafe { kill(getpid(), SIGUSR1) };
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        for number in 1..=problems {
            registry.select(&problem(number)).unwrap();
            assert_eq!(registry.tune(&LONG).unwrap().measured, 1);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(registry.store_status().waiting, 0);
    drop(registry);
    let again = on_mock(Mode::Model, &store);
    for number in 1..=problems {
        assert_eq!(again.select(&problem(number)).unwrap().source, Source::Store);
    }
    eprintln!("{} signals", SIGNALS.load(Ordering::Relaxed));
}
