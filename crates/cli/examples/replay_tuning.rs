//! How fast a stream of requests gets while `Registry::tune` has a share of its time, on kernels that were
//! measured before.
//!
//! ```console
//! $ replay_tuning MODEL TABLE REQUESTS SHARE KERNELS [PROBLEMS]
//! ```
//!
//! A pass asks for each problem of the table REQUESTS times, problem by problem. Requests take the recorded
//! time of the chosen kernel, which is only counted; after each problem, tuning gets its SHARE of what was
//! counted. A kernel that tuning runs takes its recorded time for real. Prints a line a pass: the speed
//! relative to the fastest kernels, the mean over problems and of the whole stream, both of the pass before
//! its tuning.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ck_select::problem::Problem;
use ck_select::registry::{Hooks, NewKernel, Options, Priority, Registry, TuneBudget, UserData};
use ck_select::tuning::device::Stream;
use ck_select::tuning::search::{RunOutcome, SearchOptions};
use ck_select::vocab::Op;
use ck_select_data::measurements::{Measurements, Wanted};

const PASSES: usize = 4;

/// A kernel's milliseconds on each problem.
#[derive(Clone, Default)]
struct Recorded(Arc<HashMap<Problem, f64>>);

impl Hooks for Recorded {
    fn supports(&self, problem: &Problem) -> bool {
        self.0.contains_key(problem)
    }

    fn can_run(&self) -> bool {
        true
    }

    fn run(&self, problem: &Problem, _: Stream) -> RunOutcome {
        let Some(&ms) = self.0.get(problem) else { return RunOutcome::Failed(1) };
        let end = Instant::now() + Duration::from_secs_f64(ms / 1e3);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        RunOutcome::Milliseconds(ms)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, table, requests, share, kernels, problems @ ..] = arguments.as_slice() else {
        return Err("replay_tuning MODEL TABLE REQUESTS SHARE KERNELS [PROBLEMS]".into());
    };
    let (requests, share): (u32, f64) = (requests.parse()?, share.parse()?);
    let most: usize = problems.first().map_or(Ok(usize::MAX), |count| count.parse())?;
    let measurements = Measurements::read(&[table], Wanted::all(Op::Conv))?;
    let problems = measurements.problems().get(..most).unwrap_or(measurements.problems());
    let mut recorded = vec![HashMap::new(); measurements.kernels().len()];
    let mut fastest: HashMap<Problem, f64> = HashMap::new();
    for row in measurements.rows().iter().filter(|row| row.is_valid) {
        let problem = measurements.problems()[row.problem as usize];
        let best = fastest.entry(problem).or_insert(f64::INFINITY);
        *best = best.min(row.latency_ms);
        recorded[row.kernel as usize].insert(problem, row.latency_ms);
    }
    let recorded: Vec<Recorded> = recorded.into_iter().map(|times| Recorded(Arc::new(times))).collect();

    let arch = measurements.common_arch()?;
    let registry = Registry::new(Options {
        arch,
        store: Some("off".into()),
        host_timing: true,
        measuring: SearchOptions { warmup: 1, repeats: 4, cutoff: Some(1.2), ..SearchOptions::default() },
        ..Options::default()
    })?;
    let new = measurements.kernels().iter().zip(&recorded).map(|(kernel, times)| NewKernel {
        kernel: kernel.clone(),
        priority: Priority::NORMAL,
        user: UserData::default(),
        hooks: Some(Box::new(times.clone())),
    });
    registry.add_all(new.collect())?;
    registry.set_model(Arc::new(ck_select::embedded::open(model)?), None);
    let budget = TuneBudget { kernels: kernels.parse()?, ..TuneBudget::of(Duration::ZERO) };
    registry.tune(&budget)?;

    let place = |name: &str| measurements.kernels().iter().position(|kernel| kernel.name == name);
    for pass in 1..=PASSES {
        let (mut efficiencies, mut taken, mut shortest) = (Vec::new(), 0.0, 0.0);
        let (mut measured, mut waiting, mut tuned) = (0, 0, 0.0);
        for problem in problems {
            let Some(&best) = fastest.get(problem) else { continue };
            let mut counted = 0.0;
            for _ in 0..requests {
                let chosen = registry.select(problem)?;
                let kernel = place(chosen.entry.name()).ok_or("an unknown kernel was chosen")?;
                counted += recorded[kernel].0[problem];
            }
            efficiencies.push(best * f64::from(requests) / counted);
            taken += counted;
            shortest += best * f64::from(requests);
            let time = Duration::from_secs_f64(counted / 1e3 * share);
            let report = registry.tune(&TuneBudget { time, ..budget })?;
            measured += report.measured;
            waiting = report.waiting;
            tuned += report.elapsed.as_secs_f64();
        }
        println!(
            "pass {pass}: {:.2} % mean of {} problems, {:.2} % of the stream's {:.1} s; tuning took {:.2} % \
             of it: {measured} measured, {waiting} wait",
            100.0 * efficiencies.iter().sum::<f64>() / efficiencies.len() as f64,
            efficiencies.len(),
            100.0 * shortest / taken,
            taken / 1e3,
            100.0 * tuned / (taken / 1e3),
        );
    }
    Ok(())
}
