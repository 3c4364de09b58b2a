//! Every branch of the search, in virtual time.

use super::*;
use crate::tuning::mock::{Call, MockDevice, UNKNOWN};

const MS: Duration = Duration::from_millis(1);

/// A search without warm-up and cut-off, with two repeats, on the mock's clock.
struct Bench {
    device: MockDevice,
    options: SearchOptions,
}

impl Bench {
    fn new() -> Self {
        let options = SearchOptions { warmup: 0, repeats: 2, cutoff: None, ..SearchOptions::default() };
        Self { device: MockDevice::new(), options }
    }

    fn search(&self, mut candidates: Vec<Candidate<'_>>) -> SearchReport {
        let report = search(&self.device, &self.device, Stream::DEFAULT, &mut candidates, &self.options);
        assert_eq!(self.device.live_events(), 0, "events are left: {report}");
        report
    }

    /// Candidates 0, 1, 2, … that launch kernels which take these milliseconds.
    fn search_kernels(&self, milliseconds: &[f64]) -> SearchReport {
        self.search(milliseconds.iter().enumerate().map(|(index, &ms)| self.kernel(index, ms)).collect())
    }

    fn kernel(&self, index: usize, milliseconds: f64) -> Candidate<'_> {
        self.kernel_of(index, &[milliseconds])
    }

    /// A kernel whose runs take these times in turn.
    fn kernel_of(&self, index: usize, milliseconds: &[f64]) -> Candidate<'_> {
        let milliseconds = milliseconds.to_vec();
        let mut runs = 0;
        Candidate::new(index, move |_| {
            self.device.launch(milliseconds[runs % milliseconds.len()]);
            runs += 1;
            RunOutcome::Launched
        })
    }
}

fn verdicts(report: &SearchReport) -> Vec<&Verdict> {
    report.entries.iter().map(|entry| &entry.verdict).collect()
}

fn measured(median_ms: f64) -> Verdict {
    Verdict::Measured { median_ms, cv: Some(0.0), repeats: 2, unstable: false }
}

fn winner(report: &SearchReport) -> Option<usize> {
    report.winner.map(|winner| winner.index)
}

#[test]
fn lowest_median_wins_and_ties_go_by_order() {
    let report = Bench::new().search_kernels(&[3.0, 1.0, 2.0, 1.0]);
    assert_eq!(report.winner, Some(Winner { index: 1, median_ms: 1.0 }));
    assert_eq!(verdicts(&report), [&measured(3.0), &measured(1.0), &measured(2.0), &measured(1.0)]);
    assert_eq!((report.tried, report.end), (4, End::Completed));
}

#[test]
fn no_candidates_no_winner() {
    let report = Bench::new().search(Vec::new());
    assert_eq!((report.winner, report.tried, report.end), (None, 0, End::Completed));
}

#[test]
fn indices_are_the_callers() {
    let bench = Bench::new();
    let report = bench.search(vec![bench.kernel(41, 2.0), bench.kernel(usize::MAX, 1.0)]);
    assert_eq!(winner(&report), Some(usize::MAX));
    assert_eq!(report.entries[0].index, 41);
}

#[test]
fn warm_up_does_not_count() {
    let mut bench = Bench::new();
    bench.options.warmup = 2;
    let report = bench.search(vec![bench.kernel_of(0, &[90.0, 50.0, 1.0, 1.0])]);
    assert_eq!(verdicts(&report), [&measured(1.0)]);
}

#[test]
fn no_repeats_count_as_one() {
    let mut bench = Bench::new();
    bench.options.repeats = 0;
    let report = bench.search_kernels(&[1.0]);
    assert_eq!(
        verdicts(&report),
        [&Verdict::Measured { median_ms: 1.0, cv: None, repeats: 1, unstable: false }]
    );
}

#[test]
fn spread_is_flagged() {
    let mut bench = Bench::new();
    bench.options.max_cv = 0.5;
    let report = bench.search(vec![bench.kernel_of(0, &[1.0, 3.0]), bench.kernel_of(1, &[2.0, 2.5])]);
    let unstable = |entry: &Entry| matches!(entry.verdict, Verdict::Measured { unstable: true, .. });
    assert_eq!(report.entries.iter().map(unstable).collect::<Vec<_>>(), [true, false]);
    assert_eq!(report.winner, Some(Winner { index: 0, median_ms: 2.0 }));
}

/// Two runs, and then three pairs, in which the second run counts.
fn then(first: [f64; 2], turns: f64) -> Vec<f64> {
    [first.to_vec(), vec![turns; 6]].concat()
}

#[test]
fn kernels_within_noise_are_measured_alternately() {
    let bench = Bench::new();
    let runs = std::cell::RefCell::new(Vec::new());
    let kernel = |index: usize, times: Vec<f64>| {
        let (mut kernel, runs) = (bench.kernel_of(index, &times), &runs);
        Candidate::new(index, move |stream| {
            runs.borrow_mut().push(index);
            (kernel.run)(stream)
        })
    };
    let report = bench.search(vec![
        kernel(0, then([1.0, 1.02], 1.0625)),
        kernel(1, then([1.5, 1.51], 0.1)),
        kernel(2, then([1.01, 1.03], 0.96875)),
    ]);
    assert_eq!(report.winner, Some(Winner { index: 2, median_ms: 0.96875 }));
    assert_eq!(*runs.borrow(), [0, 0, 1, 1, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2]);
    let in_turn = |median_ms| Verdict::Measured { median_ms, cv: Some(0.0), repeats: 3, unstable: false };
    assert_eq!(verdicts(&report)[0], &in_turn(1.0625));
    assert_eq!(verdicts(&report)[2], &in_turn(0.96875));
    assert!(matches!(verdicts(&report)[1], Verdict::Measured { repeats: 2, .. }));
}

#[test]
fn a_disturbed_candidate_does_not_call_all_to_the_run_off() {
    let bench = Bench::new();
    let report = bench.search(vec![
        bench.kernel_of(0, &then([1.0, 9.0], 7.0)),
        bench.kernel_of(1, &then([1.0, 1.0], 7.0)),
        bench.kernel_of(2, &then([1.04, 1.06], 7.0)),
    ]);
    assert_eq!(report.winner, Some(Winner { index: 1, median_ms: 1.0 }));
}

#[test]
fn a_budget_that_ends_the_run_off_leaves_what_was_found() {
    let mut bench = Bench::new();
    bench.options.budget = 5 * MS;
    let report = bench.search(vec![
        bench.kernel_of(0, &then([1.0, 1.02], 1.05)),
        bench.kernel_of(1, &then([1.01, 1.03], 0.5)),
    ]);
    assert_eq!(report.winner, Some(Winner { index: 0, median_ms: 1.01 }));
    assert_eq!(report.end, End::Completed);
}

#[test]
fn a_failure_in_the_run_off_does_not_win() {
    let bench = Bench::new();
    let fails_after = |index: usize, runs: usize, failing: fn(&Bench) -> RunOutcome| {
        let mut kernel = bench.kernel_of(index, &[1.0, 1.02]);
        let (mut run, bench) = (0, &bench);
        Candidate::new(index, move |stream| {
            run += 1;
            if run > runs { failing(bench) } else { (kernel.run)(stream) }
        })
    };
    let fails = |_: &Bench| RunOutcome::Failed(7);
    let hangs = |bench: &Bench| {
        bench.device.hang();
        RunOutcome::Launched
    };
    let other = || bench.kernel_of(1, &then([1.01, 1.03], 1.2));
    let report = bench.search(vec![fails_after(0, 3, fails), other()]);
    assert_eq!(report.winner, Some(Winner { index: 1, median_ms: 1.2 }));
    assert!(matches!(verdicts(&report)[0], Verdict::Failed(Failure::Callback(_))));

    assert_eq!(bench.search(vec![fails_after(0, 2, fails), fails_after(1, 2, fails)]).winner, None);

    let report = bench.search(vec![fails_after(0, 2, hangs), other()]);
    assert_eq!((winner(&report), report.end), (Some(1), End::Hung));
}

#[test]
fn slow_candidates_are_cut_off_by_their_fastest_run() {
    let mut bench = Bench::new();
    bench.options.cutoff = Some(3.0);
    let report = bench.search(vec![
        bench.kernel(0, 1.0),
        bench.kernel_of(1, &[3.5, 3.5]),
        bench.kernel_of(2, &[2.5, 9.0]),
        bench.kernel(3, 3.0),
    ]);
    assert_eq!(verdicts(&report)[1], &Verdict::CutOff { fastest_ms: 3.5 });
    assert!(matches!(verdicts(&report)[2], Verdict::Measured { .. }), "one run was not too slow");
    assert_eq!(verdicts(&report)[3], &measured(3.0));
}

#[test]
fn warming_up_ends_early_for_the_slow_but_forgives_the_first_run() {
    let mut bench = Bench::new();
    bench.options = SearchOptions { warmup: 3, cutoff: Some(3.0), ..bench.options };
    let mut runs = 0;
    let report = bench.search(vec![
        bench.kernel(0, 1.0),
        bench.kernel_of(1, &[50.0, 1.0, 1.0, 1.0, 1.0]),
        Candidate::new(2, |_| {
            runs += 1;
            bench.device.launch(70.0);
            RunOutcome::Launched
        }),
    ]);
    assert_eq!(
        verdicts(&report),
        [&measured(1.0), &measured(1.0), &Verdict::CutOff { fastest_ms: 70.0 }],
        "{report}"
    );
    assert_eq!(runs, 2);
}

#[test]
fn the_best_of_an_earlier_search_cuts_off() {
    let mut bench = Bench::new();
    bench.options = SearchOptions { cutoff: Some(3.0), best_ms: Some(1.0), ..bench.options };
    let report = bench.search_kernels(&[3.5, 3.0, 0.5, 2.0]);
    let cut = |fastest_ms| Verdict::CutOff { fastest_ms };
    assert_eq!(verdicts(&report), [&cut(3.5), &measured(3.0), &measured(0.5), &cut(2.0)], "{report}");
}

#[test]
fn a_senseless_cutoff_keeps_the_faster_ones() {
    for factor in [0.0, -1.0, f64::NAN] {
        let mut bench = Bench::new();
        bench.options.cutoff = Some(factor);
        let report = bench.search_kernels(&[2.0, 1.0, 3.0]);
        assert_eq!(winner(&report), Some(1), "{factor}");
        assert_eq!(verdicts(&report)[2], &Verdict::CutOff { fastest_ms: 3.0 }, "{factor}");
    }
}

#[test]
fn budget_keeps_the_first_guesses() {
    let mut bench = Bench::new();
    bench.options.budget = 35 * MS;
    let report = bench.search_kernels(&[10.0, 10.0, 10.0, 10.0]);
    // Two runs, then two that reach past the budget.
    assert_eq!(
        verdicts(&report),
        [&measured(10.0), &measured(10.0), &Verdict::OverBudget, &Verdict::OverBudget]
    );
    assert_eq!((report.end.clone(), report.tried), (End::Budget, 2));
    assert!(report.elapsed < 35 * MS + 11 * MS, "{:?}", report.elapsed);
}

#[test]
fn budget_in_the_middle_of_a_candidate_keeps_what_it_has() {
    let mut bench = Bench::new();
    bench.options.budget = 25 * MS;
    bench.options.repeats = 5;
    let report = bench.search_kernels(&[10.0, 1.0]);
    assert!(matches!(verdicts(&report)[0], Verdict::Measured { repeats: 3, .. }), "{report}");
    assert_eq!((verdicts(&report)[1], &report.end), (&Verdict::OverBudget, &End::Budget));

    bench.options.warmup = 9;
    let report = bench.search_kernels(&[10.0, 1.0]);
    assert_eq!(verdicts(&report), [&Verdict::OverBudget, &Verdict::OverBudget]);
    assert_eq!((report.tried, report.winner), (1, None));
}

#[test]
fn no_budget_tries_nothing() {
    let mut bench = Bench::new();
    bench.options.budget = Duration::ZERO;
    let report = bench.search_kernels(&[1.0]);
    assert_eq!((verdicts(&report), report.tried), (vec![&Verdict::OverBudget], 0));
}

#[test]
fn failing_candidates_are_skipped() {
    let bench = Bench::new();
    let report = bench.search(vec![
        Candidate::new(0, |_| RunOutcome::Failed(UNKNOWN)),
        Candidate::new(1, |_| {
            bench.device.set_last_error(98);
            RunOutcome::Launched
        }),
        bench.kernel(2, 1.0),
    ]);
    let unknown = bench.device.error_code(UNKNOWN);
    let launch = bench.device.error_code(98);
    assert_eq!(
        verdicts(&report),
        [
            &Verdict::Failed(Failure::Callback(unknown)),
            &Verdict::Failed(Failure::Launch(launch)),
            &measured(1.0)
        ]
    );
    assert_eq!((winner(&report), report.end), (Some(2), End::Completed));
}

#[test]
fn an_older_error_is_not_blamed_on_a_candidate() {
    let bench = Bench::new();
    bench.device.set_last_error(98);
    assert_eq!(verdicts(&bench.search_kernels(&[1.0])), [&measured(1.0)]);
}

#[test]
fn a_candidate_that_fails_late_has_no_median() {
    let bench = Bench::new();
    let mut runs = 0;
    let report = bench.search(vec![Candidate::new(0, |_| {
        runs += 1;
        if runs == 1 { RunOutcome::Milliseconds(1.0) } else { RunOutcome::Failed(1) }
    })]);
    assert!(matches!(verdicts(&report)[0], Verdict::Failed(Failure::Callback(_))));
    assert_eq!(report.winner, None);
}

#[test]
fn refused_calls_fail_one_candidate() {
    for call in [Call::Record, Call::Query, Call::Elapsed] {
        let bench = Bench::new();
        let mut armed = true;
        let report = bench.search(vec![
            Candidate::new(0, |_| {
                if std::mem::take(&mut armed) {
                    bench.device.fail_next(call, UNKNOWN);
                }
                bench.device.launch(1.0);
                RunOutcome::Launched
            }),
            bench.kernel(1, 2.0),
        ]);
        assert!(matches!(verdicts(&report)[0], Verdict::Failed(Failure::Device(_))), "{call:?}: {report}");
        assert_eq!((verdicts(&report)[1], &report.end), (&measured(2.0), &End::Completed), "{call:?}");
    }
}

#[test]
fn a_lost_device_ends_the_search() {
    let bench = Bench::new();
    let report = bench.search(vec![
        bench.kernel(0, 1.0),
        Candidate::new(1, |_| {
            bench.device.lose(UNKNOWN);
            RunOutcome::Failed(UNKNOWN)
        }),
        bench.kernel(2, 0.5),
    ]);
    let failure = Failure::Callback(bench.device.error_code(UNKNOWN));
    assert_eq!(verdicts(&report), [&measured(1.0), &Verdict::DeviceLost(failure), &Verdict::NotTried]);
    assert!(
        matches!(&report.end, End::DeviceLost(error) if error.to_string() == "record: hipErrorUnknown (999)")
    );
    assert_eq!(winner(&report), Some(0));
}

#[test]
fn a_hanging_candidate_ends_the_search() {
    let mut bench = Bench::new();
    bench.options.run_timeout = 40 * MS;
    let report = bench.search_kernels(&[1.0, f64::INFINITY, 0.5]);
    assert_eq!(
        verdicts(&report),
        [&measured(1.0), &Verdict::TimedOut { after: 40 * MS }, &Verdict::NotTried]
    );
    assert_eq!((winner(&report), report.end), (Some(0), End::Hung));
    assert!(report.elapsed < 45 * MS, "{:?}", report.elapsed);
}

#[test]
fn a_failing_candidate_may_leave_a_hanging_kernel() {
    let bench = Bench::new();
    let report = bench.search(vec![Candidate::new(0, |_| {
        bench.device.hang();
        RunOutcome::Failed(1)
    })]);
    assert!(matches!(verdicts(&report)[0], Verdict::TimedOut { .. }));
    assert_eq!(report.end, End::Hung);
}

#[test]
fn earlier_work_is_not_blamed_on_a_candidate() {
    let bench = Bench::new();
    bench.device.launch(1000.0);
    assert_eq!(verdicts(&bench.search_kernels(&[1.0])), [&measured(1.0)]);

    bench.device.hang();
    let report = bench.search_kernels(&[1.0]);
    assert_eq!((verdicts(&report), &report.end), (vec![&Verdict::NotTried], &End::StreamBusy));
}

#[test]
fn a_device_that_refuses_to_prepare_is_reported() {
    for (call, function) in
        [(Call::CreateEvent, "create_event"), (Call::Record, "record"), (Call::Capturing, "is_capturing")]
    {
        let bench = Bench::new();
        bench.device.fail_next(call, 100);
        let report = bench.search_kernels(&[1.0]);
        let expected = format!("nothing could be tried: {function}: hipErrorNoDevice (100)");
        assert_eq!((report.end.to_string(), report.tried), (expected, 0));
    }
}

#[test]
fn a_capturing_stream_is_left_alone() {
    let bench = Bench::new();
    bench.device.set_capturing(true);
    let report = bench.search_kernels(&[1.0]);
    assert_eq!((verdicts(&report), &report.end), (vec![&Verdict::NotTried], &End::Capturing));
}

#[test]
fn callbacks_may_time_themselves() {
    let bench = Bench::new();
    let own = |index, ms| Candidate::new(index, move |_| RunOutcome::Milliseconds(ms));
    let report = bench.search(vec![own(0, 2.0), bench.kernel(1, 3.0), own(2, 1.0)]);
    assert_eq!(verdicts(&report), [&measured(2.0), &measured(3.0), &measured(1.0)]);
}

#[test]
fn an_invalid_time_does_not_win() {
    // Any positive time counted, so that one of 1e-30 ms won.
    for ms in [0.0, -1.0, 1e-30, f64::NAN, f64::INFINITY] {
        let bench = Bench::new();
        let report =
            bench.search(vec![Candidate::new(0, |_| RunOutcome::Milliseconds(ms)), bench.kernel(1, 1.0)]);
        assert!(matches!(verdicts(&report)[0], Verdict::Failed(Failure::NotATime(_))), "{ms}");
        assert_eq!(winner(&report), Some(1), "{ms}");
    }
    let bench = Bench::new();
    let report = bench.search(vec![Candidate::new(0, |_| RunOutcome::Launched)]);
    assert_eq!(verdicts(&report), [&Verdict::Failed(Failure::NotATime(0.0))], "a stub that launches nothing");
}

#[test]
fn events_are_given_back_when_a_callback_panics() {
    let device = MockDevice::new();
    let mut candidates = [Candidate::new(0, |_| std::panic::resume_unwind(Box::new("callback")))];
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        search(&device, &device, Stream::DEFAULT, &mut candidates, &SearchOptions::default())
    }));
    assert!(panicked.is_err());
    assert_eq!(device.live_events(), 0);
}

#[test]
fn the_text_tells_every_verdict() {
    let mut bench = Bench::new();
    bench.options.cutoff = Some(3.0);
    bench.options.run_timeout = 40 * MS;
    let report = bench.search(vec![
        Candidate::new(0, |_| RunOutcome::Failed(100)),
        bench.kernel_of(1, &[1.0, 1.5]),
        bench.kernel(2, 9.0),
        bench.kernel(3, f64::INFINITY),
        bench.kernel(4, 1.0),
    ]);
    let report = SearchReport { elapsed: 52 * MS, ..report };
    let text = report.text(|index| format!("kernel_{index}"));
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "4 of 5 candidates tried in 0.052 s: a candidate hangs, so its stream must not be relied on",
            "  kernel_0: failed: its callback failed with hipErrorNoDevice (100)",
            "* kernel_1: 1.250000 ms, median of 2, cv 28.3 %, unstable",
            "  kernel_2: cut off, no run faster than 9.000000 ms",
            "  kernel_3: hangs: not finished after 40ms",
            "  kernel_4: not tried",
        ]
    );
    assert!(report.to_string().contains("* #1: "));
}
