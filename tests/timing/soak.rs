//! Hours of everything at once: `make soak SECONDS=3600`.
//!
//! ```console
//! $ soak [SECONDS] [THREADS]
//! ```
//!
//! Half of the threads (64) select from a registry with a model, repeated problems and new ones. The other
//! half select from one that measures: a thread tunes it on the host, its winners go to a store, and a third
//! registry reads them. A writer changes the model of both ten times a second, and replaces a kernel: of the
//! first by one with a name that was never there, of the second by itself, because a new name makes a new
//! pool, of which the store keeps the winners. Prints a line a minute, and fails where memory grows by more
//! than those names, file descriptors are left open, a selection fails, or the store is not sound.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ck_select::directory::Model;
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, Problem};
use ck_select::registry::{Hooks, NewKernel, Options, Registry, Source, TuneBudget};
use ck_select::tuning::device::Stream;
use ck_select::tuning::host::HostDevice;
use ck_select::tuning::search::{RunOutcome, SearchOptions};
use ck_select::tuning::store::{Mode, Store};

const MODEL: &str = "embedded:grouped_conv_forward_bf16_gfx950";
const POOL: &str = include_str!("../../configs/forward_bf16.txt");
const CHANGE: Duration = Duration::from_millis(100);
/// Problems of the registry that measures: each has a winner for each pool in the end, so the store stops
/// growing.
const MEASURED: u64 = 512;
const REPEATED: u64 = 16;
/// How many bytes a registry keeps for good for each name, because callers may hold it.
const NAME: u64 = 1024;

type Failure = Box<dyn std::error::Error>;

/// A kernel that runs on the host: its time depends on its place and on the problem.
fn timed(place: usize) -> Box<dyn Hooks> {
    Box::new(move |problem: &Problem, _: Stream| {
        let turn = problem.flops() as u64 / 1_000_000 + place as u64 * 7;
        RunOutcome::Milliseconds(1e-3 * (1.0 + (turn % 13) as f64))
    })
}

fn problem(number: u64) -> Problem {
    let number = number as i64;
    let (n, rest) = (1 + number % 64, number / 64);
    let (c, k) = (16 + rest % 4000, 16 + rest / 4000);
    ConvProblem { n, c, k, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]).into()
}

fn kernels(hooks: bool) -> Result<Vec<NewKernel>, Failure> {
    let pool = Pool::from_bytes("forward_bf16.txt", POOL.as_bytes())?;
    let new = |(place, kernel): (usize, &ck_select::kernel::Kernel)| NewKernel {
        hooks: hooks.then(|| timed(place)),
        ..kernel.clone().into()
    };
    Ok(pool.iter().enumerate().map(new).collect())
}

/// What runs together.
struct Soak {
    modelled: Registry,
    measuring: Registry,
    reading: Registry,
    models: [Arc<Model>; 2],
    stop: AtomicBool,
    selections: AtomicU64,
    measured: AtomicU64,
    changes: AtomicU64,
    failures: AtomicU64,
}

impl Soak {
    fn new(store: &std::path::Path) -> Result<Self, Failure> {
        let models =
            [Arc::new(ck_select::embedded::open(MODEL)?), Arc::new(ck_select::embedded::open(MODEL)?)];
        let measuring = SearchOptions { warmup: 0, repeats: 2, ..SearchOptions::default() };
        let arch = Some("gfx950".parse()?);
        let options = Options { arch, store: Some(store.to_owned()), measuring, ..Options::default() };
        let registry = |options: Options, hooks| -> Result<Registry, Failure> {
            let registry = Registry::with_device(options, Box::new(HostDevice::new()))?;
            registry.add_all(kernels(hooks)?)?;
            registry.set_model(models[0].clone(), None);
            registry.prepare();
            Ok(registry)
        };
        Ok(Self {
            modelled: registry(Options { arch, store: Some("off".into()), ..Options::default() }, false)?,
            measuring: registry(options.clone(), true)?,
            reading: registry(options, true)?,
            models,
            stop: AtomicBool::new(false),
            selections: AtomicU64::new(0),
            measured: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        })
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn fail(&self, what: impl std::fmt::Display) {
        if self.failures.fetch_add(1, Ordering::Relaxed) < 10 {
            eprintln!("soak: {what}");
        }
    }

    /// Asks until the end; every second problem is one of a few.
    fn ask(&self, registry: &Registry, numbers: impl Fn(u64) -> u64) {
        let mut calls = 0;
        while self.goes_on() {
            let number = if calls % 2 == 0 { calls / 2 % REPEATED } else { numbers(calls / 2) };
            match registry.select(&problem(number)) {
                Ok(chosen) if matches!(chosen.source, Source::Model | Source::Store) => {}
                Ok(chosen) => self.fail(format_args!("problem {number} is answered by {:?}", chosen.source)),
                Err(error) => self.fail(format_args!("problem {number}: {error}")),
            }
            calls += 1;
            if calls % 1024 == 0 {
                self.selections.fetch_add(1024, Ordering::Relaxed);
            }
        }
    }

    fn write(&self) -> Result<(), Failure> {
        let usual = kernels(false)?.pop().ok_or("no kernels")?.kernel.name;
        let mut name = usual.clone();
        for count in 0.. {
            if !self.goes_on() {
                break;
            }
            let new = format!("the_last_of_forward_bf16_as_it_is_after_change_{count}");
            for (registry, old, new) in [(&self.modelled, &name, &new), (&self.measuring, &usual, &usual)] {
                let mut last =
                    kernels(std::ptr::eq(registry, &raw const self.measuring))?.pop().ok_or("no kernels")?;
                last.kernel.name.clone_from(new);
                registry.remove(old);
                registry.prepare();
                registry.add_all(vec![last])?;
                registry.prepare();
                registry.set_model(self.models[count % 2].clone(), None);
            }
            self.changes.fetch_add(1, Ordering::Relaxed);
            name = new;
            std::thread::sleep(CHANGE);
        }
        Ok(())
    }

    fn tune(&self) {
        while self.goes_on() {
            match self.measuring.tune(&TuneBudget::new(Duration::from_millis(20))) {
                Ok(report) => self.measured.fetch_add(report.measured as u64, Ordering::Relaxed),
                Err(error) => {
                    self.fail(error);
                    return;
                }
            };
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What another process would do, in this one: reads the winners, and asks for them.
    fn read(&self) {
        while self.goes_on() {
            if let Err(error) = self.reading.refresh_store() {
                // A store that others write to may be busy.
                if !error.to_string().contains("in use") {
                    self.fail(error);
                }
            }
            for number in 0..MEASURED {
                if let Err(error) = self.reading.select(&problem(number)) {
                    self.fail(error);
                }
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// KiB of memory, and open files.
fn usage() -> Result<(u64, usize), Failure> {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm")?
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .ok_or("/proc/self/statm has no second number")?;
    Ok((pages * 4, std::fs::read_dir("/proc/self/fd")?.count()))
}

fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// The last quarter against the second, by which all is warm. Each change is of a name that stays.
fn judge(memory: &[u64], changes: &[u64], files: &[usize]) -> Result<(), Failure> {
    let (quarter, half) = (memory.len() / 4, memory.len() / 2);
    let compared = |values: &[u64]| (median(&values[quarter..half]), median(&values[half + quarter..]));
    let ((early, late), (first, last)) = (compared(memory), compared(changes));
    let names = last - first;
    println!(
        "memory: {early} KiB in the second quarter, {late} KiB in the last, after {names} new names: {} \
         bytes a name",
        late.saturating_sub(early) * 1024 / names.max(1)
    );
    if late > early + early / 20 + names * NAME / 1024 {
        return Err("memory grows".into());
    }
    let most = |files: &[usize]| files.iter().copied().max().unwrap_or(0);
    let (early, late) = (most(&files[..half]), most(&files[half..]));
    println!("open files: at most {early} in the first half, {late} in the second");
    if late > early { Err("open files grow".into()) } else { Ok(()) }
}

fn run(seconds: u64, threads: usize) -> Result<(), Failure> {
    let folder = std::env::temp_dir().join(format!("ck-select-soak-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let path = folder.join("winners.db");
    let soak = Soak::new(&path)?;
    // Tuning begins with the first call; what is asked before is not counted.
    soak.measuring.tune(&TuneBudget::new(Duration::ZERO))?;
    let (mut memory, mut changes, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let began = Instant::now();
    println!("{threads} threads, {seconds} s; counts so far\n");
    println!(
        "| s | selections | changes | measured | memory KiB | open files |\n|---:|---:|---:|---:|---:|---:|"
    );
    let result = std::thread::scope(|scope| -> Result<(), Failure> {
        let soak = &soak;
        for thread in 0..threads as u64 {
            if thread % 2 == 0 {
                let first = thread * 4_000_000;
                scope.spawn(move || soak.ask(&soak.modelled, |count| first + count % 4_000_000));
            } else {
                scope.spawn(move || soak.ask(&soak.measuring, |count| (count * 31 + thread) % MEASURED));
            }
        }
        let writer = scope.spawn(|| soak.write().map_err(|error| error.to_string()));
        scope.spawn(|| soak.tune());
        scope.spawn(|| soak.read());
        let mut watch = || -> Result<(), Failure> {
            let mut said = 0;
            for second in 1..=seconds {
                std::thread::sleep(Duration::from_secs(second).saturating_sub(began.elapsed()));
                let (now, open) = usage()?;
                memory.push(now);
                changes.push(soak.changes.load(Ordering::Relaxed));
                files.push(open);
                if second / 60 > said || second == seconds {
                    said = second / 60;
                    println!(
                        "| {second} | {} | {} | {} | {now} | {open} |",
                        soak.selections.load(Ordering::Relaxed),
                        soak.changes.load(Ordering::Relaxed),
                        soak.measured.load(Ordering::Relaxed),
                    );
                }
            }
            Ok(())
        };
        let watched = watch();
        soak.stop.store(true, Ordering::Relaxed);
        writer.join().map_err(|_| "the writer panicked")??;
        watched
    });
    result?;
    let failures = soak.failures.load(Ordering::Relaxed);
    drop(soak);
    let store = Store::open(&path, Mode::ReadOnly)?;
    store.check()?;
    println!("\nthe store is sound and has {} winners", store.count()?);
    drop(store);
    std::fs::remove_dir_all(&folder)?;
    if failures > 0 {
        return Err(format!("{failures} failures").into());
    }
    judge(&memory, &changes, &files)
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(60), |word| word.parse());
    let threads = arguments.next().map_or(Ok(64), |word| word.parse());
    match (seconds, threads) {
        (Ok(seconds @ 8..), Ok(threads @ 1..)) => run(seconds, threads),
        _ => Err("usage: soak [SECONDS] [THREADS], with at least 8 seconds".into()),
    }
}
