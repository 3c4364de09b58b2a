//! HIP's runtime as loaded from a library: every way to have none, and the search on a scripted device.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ck_select::tuning::clock::SystemClock;
use ck_select::tuning::device::{Device, Event, Stream};
use ck_select::tuning::hip::{Hip, HipDevice, HipError};
use ck_select::tuning::search::{Candidate, End, RunOutcome, SearchOptions, SearchReport, Verdict, search};

use crate::hip_double::{Double, build};

static VERSION_5: LazyLock<PathBuf> = LazyLock::new(|| build("hip5", 5, &[]));
static VERSION_6: LazyLock<PathBuf> = LazyLock::new(|| build("hip6", 6, &[]));
static VERSION_7: LazyLock<PathBuf> = LazyLock::new(|| build("hip7", 7, &[]));

// Loading.

#[test]
fn files_that_are_no_runtime_are_named() {
    let nowhere = PathBuf::from("/nowhere/libamdhip64.so");
    let no_library = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    for (library, kind, message) in [
        (nowhere, "NotFound", "no HIP runtime can be loaded (/nowhere/libamdhip64.so: No such file"),
        (no_library, "NotFound", "invalid ELF header"),
        (
            build("hip_incomplete", 6, &["-DWITHOUT_EVENT_QUERY"]),
            "MissingSymbol",
            "has no hipEventQuery, so it is not a HIP runtime of version 5 or later",
        ),
        (build("hip4", 4, &[]), "", "is HIP 4.2, expected version 5 or later"),
    ] {
        // SAFETY: what is opened is no library or the double, which has HIP's functions with HIP's types.
        let error = unsafe { Hip::open(&library) }.unwrap_err();
        let text = error.to_string();
        assert!(format!("{error:?}").starts_with(kind) && text.contains(message), "{error:?}: {text}");
        assert!(kind != "NotFound" || text.contains("CK_SELECT_HIP_LIBRARY"), "{text}");
    }
}

#[test]
fn no_device() {
    for (count, says) in [(-1, "the runtime's own error"), (0, "a count of zero")] {
        let double = Double::new(&VERSION_6);
        double.set_count(count);
        let error = double.hip.current_device().unwrap_err();
        assert!(matches!(error, HipError::NoDevice { .. }), "{says}: {error}");
        assert!(error.to_string().ends_with("finds no device: hipErrorNoDevice (100)"), "{says}: {error}");
        assert_eq!(double.last_error(), 0, "{says}: the caller must not find this error");
    }
}

#[test]
fn a_runtime_that_refuses() {
    for (function, text) in [
        ("hipGetDeviceCount", "hipGetDeviceCount: hipErrorUnknown (999)"),
        ("hipGetDevice", "hipGetDevice: hipErrorUnknown (999)"),
        ("hipDeviceGetName", "hipDeviceGetName: hipErrorUnknown (999)"),
    ] {
        let double = Double::new(&VERSION_6);
        double.fail_next(function, 999);
        let error = double.hip.current_device().unwrap_err();
        assert!(matches!(error, HipError::Device { .. }) && error.to_string().ends_with(text), "{error}");
        assert!(double.hip.current_device().is_ok(), "a failed question is no state");
    }
}

#[test]
fn facts_in_every_version() {
    for (major, library) in [(5, &VERSION_5), (6, &VERSION_6), (7, &VERSION_7)] {
        let double = Double::new(library);
        double.set_count(3);
        assert_eq!(double.hip.device_count(), Ok(3));
        double.set_current(2);
        let device = double.hip.current_device().unwrap();
        let facts = device.facts();
        assert_eq!((facts.index, facts.name.as_str()), (2, "Test Double 2"));
        assert_eq!(facts.target.as_deref(), Some("gfx942:sramecc+:xnack-"), "HIP {major}");
        assert_eq!(facts.arch().map(|arch| arch.to_string()).as_deref(), Some("gfx942"));
        assert_eq!(facts.runtime_version, Some(major * 10_000_000 + 200_034));
        assert_eq!(facts.driver_version, Some(major * 10_000_000 + 200_035));
        assert_eq!((facts.compute_units, facts.wavefront_size), (Some(304), Some(64)));
        assert_eq!((facts.clock_khz, facts.lds_bytes), (Some(2_100_000), Some(65536)));
        assert_eq!((facts.memory_clock_khz, facts.memory_bus_bits), (Some(1_300_000), Some(8192)));
        assert_eq!((facts.l2_bytes, facts.pci_bus_id.as_deref()), (Some(4 << 20), Some("0000:c2:00.0")));
    }
}

#[test]
fn a_fact_that_is_refused_is_absent() {
    let double = Double::new(&VERSION_6);
    for function in ["hipGetDevicePropertiesR0600", "hipDeviceGetAttribute", "hipDeviceGetPCIBusId"] {
        double.fail_next(function, 1);
    }
    let device = double.hip.current_device().unwrap();
    let facts = device.facts();
    assert_eq!((&facts.target, facts.compute_units, &facts.pci_bus_id), (&None, None, &None));
    assert_eq!((facts.arch(), facts.wavefront_size), (None, Some(64)));
    assert_eq!(double.last_error(), 0);
}

#[test]
fn a_later_version_is_not_called_by_numbers() {
    let double = Double::new(&build("hip8", 8, &[]));
    let device = double.hip.current_device().unwrap();
    let facts = device.facts();
    assert_eq!((facts.compute_units, facts.target.as_deref()), (None, Some("gfx942:sramecc+:xnack-")));
}

#[test]
fn codes_without_a_name_have_none() {
    let double = Double::new(&VERSION_6);
    let device = double.hip.current_device().unwrap();
    assert_eq!(device.error_code(999).name.as_deref(), Some("hipErrorUnknown"));
    assert_eq!(device.error_code(-7).name, None);
}

#[test]
fn events_time_and_wait() {
    let double = Double::new(&VERSION_6);
    let device = double.hip.current_device().unwrap();
    let (start, stop) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
    start.record(Stream::DEFAULT).unwrap();
    double.launch(5.0);
    stop.record(Stream::DEFAULT).unwrap();
    assert_eq!(stop.query(), Ok(false));
    assert_eq!(double.last_error(), 0, "not ready is no error");
    assert!(stop.ms_since(&start).unwrap_err().to_string().contains("hipErrorNotReady (600)"));
    while stop.query() == Ok(false) {}
    assert_eq!((stop.query(), stop.ms_since(&start)), (Ok(true), Ok(5.0)));
    drop((start, stop));
    assert_eq!(double.live_events(), 0);
}

#[test]
fn events_belong_to_the_current_device() {
    let double = Double::new(&VERSION_6);
    double.set_count(2);
    let device = double.hip.device(1).unwrap();
    let error = Event::new(&device).unwrap_err();
    assert_eq!(error.to_string(), "device 0 is current on this thread, expected device 1");
    double.set_current(1);
    assert!(Event::new(&device).is_ok());
    assert!(double.hip.device(2).unwrap_err().to_string().contains("hipErrorInvalidDevice (101)"));
}

// Searching.

/// A search on the double, in the time of the clock.
struct Bench {
    double: Double,
    device: HipDevice,
    options: SearchOptions,
}

impl Bench {
    fn new(library: &Path) -> Self {
        let double = Double::new(library);
        let device = double.hip.current_device().unwrap();
        let options = SearchOptions { warmup: 1, repeats: 3, ..SearchOptions::default() };
        Self { double, device, options }
    }

    fn search(&self, mut candidates: Vec<Candidate<'_>>) -> SearchReport {
        let report =
            search(&SystemClock::new(), &self.device, Stream::DEFAULT, &mut candidates, &self.options);
        assert_eq!(self.double.live_events(), 0, "events are left: {report}");
        report
    }

    fn kernel(&self, index: usize, milliseconds: f64) -> Candidate<'_> {
        self.with(index, milliseconds, || ())
    }

    /// A kernel, and something else that happens with each launch.
    fn with<'a>(&'a self, index: usize, milliseconds: f64, mut also: impl FnMut() + 'a) -> Candidate<'a> {
        Candidate::new(index, move |_| {
            self.double.launch(milliseconds);
            also();
            RunOutcome::Launched
        })
    }
}

fn winner(report: &SearchReport) -> Option<(usize, f64)> {
    report.winner.map(|winner| (winner.index, winner.median_ms))
}

#[test]
fn failing_candidates_are_skipped_and_named() {
    for library in [&VERSION_5, &VERSION_6, &VERSION_7] {
        let bench = Bench::new(library);
        let report = bench.search(vec![
            Candidate::new(0, |_| RunOutcome::Failed(98)),
            bench.with(1, 0.5, || bench.double.set_last_error(98)),
            bench.with(2, 0.5, || bench.double.fail_next("hipEventRecord", 400)),
            bench.with(3, 0.5, || bench.double.fail_next("hipEventQuery", 719)),
            bench.with(4, 0.5, || bench.double.fail_next("hipEventElapsedTime", 999)),
            bench.kernel(5, 0.5),
        ]);
        let text = report.to_string();
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "  #0: failed: its callback failed with hipErrorInvalidDeviceFunction (98)",
                "  #1: failed: its launch left hipErrorInvalidDeviceFunction (98) behind",
                "  #2: failed: hipEventRecord: hipErrorInvalidHandle (400)",
                "  #3: failed: hipEventQuery: hipErrorLaunchFailure (719)",
                "  #4: failed: hipEventElapsedTime: hipErrorUnknown (999)",
                "* #5: 0.500000 ms, median of 3, cv 0.0 %",
            ]
        );
        assert_eq!(report.end, End::Completed);
    }
}

#[test]
fn a_hanging_kernel_hangs_nobody() {
    let mut bench = Bench::new(&VERSION_6);
    bench.options.run_timeout = Duration::from_millis(60);
    let began = Instant::now();
    let report = bench.search(vec![bench.kernel(0, 1.0), bench.kernel(1, 1e15), bench.kernel(2, 0.5)]);
    assert!(began.elapsed() < Duration::from_secs(20), "a time-out, however slow the machine");
    assert!(matches!(report.entries[1].verdict, Verdict::TimedOut { .. }), "{report}");
    assert_eq!((&report.end, &report.entries[2].verdict), (&End::Hung, &Verdict::NotTried));
    assert_eq!(winner(&report), Some((0, 1.0)));

    // The stream is still not to be trusted, and the next search says so.
    let report = bench.search(vec![bench.kernel(0, 1.0)]);
    assert_eq!((report.end, report.tried), (End::StreamBusy, 0));
}

#[test]
fn a_capturing_stream_is_left_alone() {
    let bench = Bench::new(&VERSION_6);
    bench.double.set_capturing(true);
    let report = bench.search(vec![bench.kernel(0, 1.0)]);
    assert_eq!((report.end, report.tried), (End::Capturing, 0));
}
