//! Selections from many threads at once, with and without a writer: `make bench-threads`.
//!
//! ```console
//! $ bench_threads [SECONDS] [THREADS,…]
//! ```
//!
//! One program without files, to be carried to another machine. Each case runs SECONDS (1) to count calls,
//! and again to time each of them; a timed call also contains a look at the clock. The writer changes
//! a kernel and the model ten times a second. *Apart*, each thread has a registry of its own, so that nothing
//! is shared: what is lost there is the machine's. *Beside*, the writer changes a registry that nobody asks:
//! what is lost there is not due to what it changes. *Efficiency* is the rate of all threads over that of
//! one, times the threads or cores, whichever are fewer. *Changes* is how many of the ten a second the writer
//! got done: it prepares what it has changed.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ck_select::directory::Model;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, Problem};
use ck_select::registry::{NewKernel, Options, Registry};

const MODEL: &str = "embedded:grouped_conv_forward_bf16_gfx950";
const POOL: &str = include_str!("../../configs/forward_bf16.txt");
const CHANGE: Duration = Duration::from_millis(100);

type Failure = Box<dyn std::error::Error>;

/// Times by their logarithm, 64 steps an octave: sorted without being kept.
struct Times(Vec<u64>);

impl Times {
    const STEPS: f64 = 64.0;

    fn new() -> Self {
        Self(vec![0; 64 * 40])
    }

    fn add(&mut self, time: Duration) {
        let step = ((time.as_nanos().max(1) as f64).log2() * Self::STEPS) as usize;
        let last = self.0.len() - 1;
        self.0[step.min(last)] += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum += more);
    }

    /// Nanoseconds that this share of the calls does not exceed.
    fn quantile(&self, share: f64) -> f64 {
        let all: u64 = self.0.iter().sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut seen = 0;
        let at = self.0.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        ((at.unwrap_or(0) as f64 + 1.0) / Self::STEPS).exp2()
    }
}

/// The shipped list, or 4,608 kernels on a grid of tiles.
fn kernels(count: usize) -> Result<Vec<Kernel>, Failure> {
    if count == 30 {
        return Ok(Pool::from_bytes("forward_bf16.txt", POOL.as_bytes())?.iter().cloned().collect());
    }
    let mut kernels = Vec::with_capacity(count);
    for m in 1..=16 {
        for n in 1..=16 {
            for k in [32, 64, 128] {
                for pipeline in ["compv3", "compv4", "mem"] {
                    for scheduler in ["intrawave", "interwave"] {
                        let name = format!(
                            "grouped_conv_forward_bf16_2d_{}x{}x{k}_{pipeline}_{scheduler}",
                            m * 16,
                            n * 16
                        );
                        kernels.push(Kernel::from_name(&name)?);
                    }
                }
            }
        }
    }
    Ok(kernels)
}

/// Distinct problems for distinct numbers below 10^9.
fn problem(number: u64) -> Problem {
    let number = number as i64;
    let (n, rest) = (1 + number % 64, number / 64);
    let (c, k) = (16 + rest % 4000, 16 + rest / 4000);
    ConvProblem { n, c, k, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]).into()
}

/// What each thread asks for.
#[derive(Clone, Copy, PartialEq)]
enum Problems {
    Repeated,
    New,
}

/// What threads have in common, and whether something changes meanwhile.
#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    Shared,
    Written,
    Apart,
    /// A writer changes a registry that no thread asks: what a writer costs by being there.
    Beside,
}

struct Case<'a> {
    /// One for all threads, or one for each.
    registries: &'a [Registry],
    asked: Problems,
    threads: usize,
    time: Duration,
    /// The first number for which no problem was asked yet.
    numbers: &'a AtomicU64,
}

impl Case<'_> {
    /// Runs the threads; returns how many calls they made, and the times of these if `timed`.
    fn run(&self, timed: bool) -> (u64, Times) {
        let stop = AtomicBool::new(false);
        let mut calls = 0;
        let mut times = Times::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| &self.registries[thread % self.registries.len()])
                .map(|registry| scope.spawn(|| self.ask(registry, timed, &stop)))
                .collect();
            std::thread::sleep(self.time);
            stop.store(true, Ordering::Relaxed);
            for thread in threads {
                if let Ok((count, own)) = thread.join() {
                    calls += count;
                    times.merge(&own);
                }
            }
        });
        (calls, times)
    }

    fn ask(&self, registry: &Registry, timed: bool, stop: &AtomicBool) -> (u64, Times) {
        let mut times = Times::new();
        let mut calls = 0;
        let first = self.numbers.fetch_add(4_000_000, Ordering::Relaxed);
        // Numbers of its own, and of the repeated ones a few, as the layers of a network.
        let repeated: Vec<Problem> = (0..16).map(|number| problem(number * 64)).collect();
        while !stop.load(Ordering::Relaxed) {
            let asked = match self.asked {
                Problems::Repeated => repeated[calls as usize % repeated.len()],
                Problems::New => problem(first + calls),
            };
            let began = timed.then(Instant::now);
            let _ = black_box(registry.select(black_box(&asked)));
            if let Some(began) = began {
                times.add(began.elapsed());
            }
            calls += 1;
        }
        (calls, times)
    }
}

/// Changes a kernel and the model ten times a second; returns how often it did.
fn write(registry: &Registry, kernel: &Kernel, models: &[Arc<Model>; 2], stop: &AtomicBool) -> u64 {
    let mut changes = 0;
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        registry.remove(&kernel.name);
        registry.prepare();
        let _ = registry.add_all(vec![kernel.clone().into()]);
        registry.prepare();
        registry.set_model(models[changes as usize % 2].clone(), None);
        changes += 1;
        std::thread::sleep(CHANGE.saturating_sub(began.elapsed()));
    }
    changes
}

fn run(seconds: f64, threads: &[usize]) -> Result<(), Failure> {
    let time = Duration::from_secs_f64(seconds);
    let cores = std::thread::available_parallelism()?.get();
    println!("{cores} cores, {seconds} s a case\n");
    println!(
        "| kernels | asked | writer | threads | calls/s | efficiency | median us | p99.99 us | ratio | \
         changes/s |"
    );
    println!("|---:|---|---|---:|---:|---:|---:|---:|---:|---:|");
    let models = [Arc::new(ck_select::embedded::open(MODEL)?), Arc::new(ck_select::embedded::open(MODEL)?)];
    let numbers = AtomicU64::new(0);
    for count in [30, 4608] {
        let kernels = kernels(count)?;
        let last = kernels.last().ok_or("no kernels")?.clone();
        let registry = || -> Result<Registry, Failure> {
            let registry = Registry::new(Options { arch: Some("gfx950".parse()?), ..Options::default() })?;
            registry.add_all(kernels.iter().cloned().map(NewKernel::from).collect())?;
            registry.set_model(models[0].clone(), None);
            registry.prepare();
            Ok(registry)
        };
        let most = threads.iter().copied().max().unwrap_or(1);
        let registries: Vec<Registry> = (0..most).map(|_| registry()).collect::<Result<_, _>>()?;
        let unasked = registry()?;
        for asked in [Problems::Repeated, Problems::New] {
            for sharing in [Sharing::Shared, Sharing::Apart, Sharing::Beside, Sharing::Written] {
                let mut alone = None;
                for &threads in threads {
                    let registries =
                        if sharing == Sharing::Apart { &registries[..] } else { &registries[..1] };
                    let written = match sharing {
                        Sharing::Shared | Sharing::Apart => None,
                        Sharing::Beside => Some(&unasked),
                        Sharing::Written => Some(&registries[0]),
                    };
                    let case = Case { registries, asked, threads, time, numbers: &numbers };
                    let stop = AtomicBool::new(false);
                    let began = Instant::now();
                    let (calls, times, changes) = std::thread::scope(|scope| {
                        let writer =
                            written.map(|registry| scope.spawn(|| write(registry, &last, &models, &stop)));
                        let (calls, _) = case.run(false);
                        let (_, times) = case.run(true);
                        stop.store(true, Ordering::Relaxed);
                        let changes = writer.and_then(|writer| writer.join().ok()).unwrap_or(0);
                        (calls, times, changes)
                    });
                    let rate = calls as f64 / seconds;
                    let one = *alone.get_or_insert(rate / threads.min(cores) as f64);
                    let (median, worst) = (times.quantile(0.5), times.quantile(0.9999));
                    println!(
                        "| {count} | {} | {} | {threads} | {rate:.0} | {:.1} % | {:.3} | {:.3} | {:.1} | \
                         {:.1} |",
                        if asked == Problems::Repeated { "repeated" } else { "new" },
                        match sharing {
                            Sharing::Shared => "no",
                            Sharing::Written => "yes",
                            Sharing::Apart => "apart",
                            Sharing::Beside => "beside",
                        },
                        100.0 * rate / (one * threads.min(cores) as f64),
                        median / 1e3,
                        worst / 1e3,
                        worst / median,
                        changes as f64 / began.elapsed().as_secs_f64(),
                    );
                }
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(1.0), |word| word.parse());
    let threads = arguments.next().unwrap_or_else(|| "1,2,4,8,16".to_owned());
    let threads: Result<Vec<usize>, _> = threads.split(',').map(str::parse).collect();
    match (seconds, threads) {
        (Ok(seconds), Ok(threads)) if !threads.contains(&0) => run(seconds, &threads),
        _ => Err("usage: bench_threads [SECONDS] [THREADS,…]".into()),
    }
}
