//! From the start of a process to its first selection, step by step.
//!
//! ```console
//! $ first_selection embedded:grouped_conv_forward_bf16_gfx950
//! $ first_selection models/M
//! ```
//!
//! Prints the microseconds of each step. Run it many times and take the least: the first run finds the files
//! on disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, Problem};
use ck_select::registry::{NewKernel, Options, Priority, Registry, UserData};

fn run(model: &str) -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::read(concat!(env!("CARGO_MANIFEST_DIR"), "/configs/forward_bf16.txt"))?;
    let mut steps: Vec<(&str, Duration)> = Vec::new();
    let mut last = Instant::now();
    let mut step = |name| {
        steps.push((name, last.elapsed()));
        last = Instant::now();
    };

    let registry = Registry::new(Options::default())?;
    let new =
        |kernel| NewKernel { kernel, priority: Priority::NORMAL, user: UserData::default(), hooks: None };
    registry.add_all(pool.kernels().iter().cloned().map(new).collect())?;
    step("register 30 kernels");
    let model = Arc::new(ck_select::embedded::open(model)?);
    step("load the model");
    registry.set_model(model, None);
    step("prepare it for the kernels");
    let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) };
    let problem: Problem = problem.padded([1, 1]).into();
    let selection = registry.select(&problem)?;
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

fn main() {
    let model = std::env::args().nth(1).unwrap_or_default();
    if let Err(error) = run(&model) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
