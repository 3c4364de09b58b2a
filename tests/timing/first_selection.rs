//! From the start of a process to its first selection, step by step.
//!
//! ```console
//! $ first_selection embedded:grouped_conv_forward_bf16_gfx950
//! $ first_selection models/M
//! $ first_selection models/M winners.db
//! ```
//!
//! Prints the microseconds of each step. Run it many times and take the least: the first run finds the files
//! on disk. A store that does not exist is made, with 10,000 winners of the kernels; then the selection is
//! the answer of one of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, Problem};
use ck_select::registry::{NewKernel, Options, Registry};
use ck_select::tuning::host::HostDevice;
use ck_select::tuning::store::{Mode, PoolHash, Record, Scope, Store, Winner, WinnerSource};

type Failure = Box<dyn std::error::Error>;

const WINNERS: i64 = 10_000;

fn problem(number: i64) -> Problem {
    let (n, c) = (1 + number % 64, 16 * (1 + number / 64));
    ConvProblem { n, c, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]).into()
}

/// Writes winners of the host to a store, as a registry would have measured them.
fn fill(store: &Path, pool: &Pool) -> Result<(), Failure> {
    let names = || pool.iter().map(|kernel| kernel.name.as_str());
    let scope = Scope::new("gfx950".parse()?, HostDevice::NAME, PoolHash::from_names(names()), "");
    let record = |number| Record {
        scope: scope.clone(),
        problem: problem(number),
        winner: Winner {
            kernel: names().nth(number as usize % pool.len()).unwrap_or_default().into(),
            split_k: 1,
            median_ms: 0.1,
            cv: 0.01,
            repeats: 20,
            candidates: 30,
            measured_at: Winner::now(),
            source: WinnerSource::Search,
        },
    };
    let records: Vec<Record> = (0..WINNERS).map(record).collect();
    Store::open(store, Mode::ReadWrite)?.merge(&records)?;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (model, store) = (arguments.next().unwrap_or_default(), arguments.next().map(PathBuf::from));
    let pool = Pool::read(concat!(env!("CARGO_MANIFEST_DIR"), "/configs/forward_bf16.txt"))?;
    if let Some(store) = store.as_deref().filter(|store| !store.exists()) {
        fill(store, &pool)?;
    }
    let mut steps: Vec<(&str, Duration)> = Vec::new();
    let mut last = Instant::now();
    let mut step = |name| {
        steps.push((name, last.elapsed()));
        last = Instant::now();
    };

    let arch = store.is_some().then_some("gfx950".parse()?);
    let options = Options { arch, store, ..Options::default() };
    let registry = Registry::with_device(options, Box::new(HostDevice::new()))?;
    registry.add_all(pool.iter().cloned().map(NewKernel::from).collect())?;
    step("register 30 kernels");
    let model = Arc::new(ck_select::embedded::open(&model)?);
    step("load the model");
    registry.set_model(model, None);
    step("prepare it for the kernels");
    let selection = registry.select(&problem(975))?;
    step("select");

    for (name, time) in &steps {
        println!("{:>9.1} us  {name}", time.as_secs_f64() * 1e6);
    }
    let total: Duration = steps.iter().map(|(_, time)| *time).sum();
    println!(
        "{:>9.1} us  in all: {}, from {:?}",
        total.as_secs_f64() * 1e6,
        selection.entry.name(),
        selection.source
    );
    Ok(())
}
