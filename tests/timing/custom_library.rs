//! How long hipDNN waits for the scores of 30 kernels: a library that carries a forest, and a walk with the
//! loop that hipDNN's description has.
//!
//! ```console
//! $ make bench-rivals    # makes target/rivals/500x127.txt
//! $ cargo build --release && cargo run --release --example custom_library -- target/release/libck_select.so \
//!       target/rivals/500x127.txt
//! ```
//!
//! Of each row, 45 values are the problem's, and as many at its end as a third argument says are of problem
//! and kernel together, so they cannot be known from another row. Compares the bits, and prints microseconds
//! of both for 30 kernels of a problem that was not asked before, and of the same problem again: the median
//! of 500 problems.

use std::hint::black_box;
use std::time::Instant;

use ck_select::forest::{Forest, Split, Tree};
use ck_select::uhd::{SYMBOL, Score, carrying};
use ck_select_testing::{Numbers as _, Random};
use ck_select_uhd::Hgbm;
use common::walked;

#[path = "../../crates/uhd/tests/common/mod.rs"]
mod common;

const KERNELS: usize = 30;
const OF_PROBLEM: usize = 45;
const PROBLEMS: usize = 500;

/// Numbers that a forest compares a feature with, and one below all.
fn values(forest: &Forest) -> Vec<Vec<f64>> {
    let mut values = vec![vec![0.0]; forest.num_features()];
    for node in forest.trees().iter().flat_map(Tree::nodes) {
        if let Split::Numeric { threshold, .. } = node.split {
            values[node.feature as usize].push(threshold.get().next_up());
        }
    }
    values
}

/// The median of the microseconds that the rows of a problem take at first and again, and all scores.
fn timed(problems: &[Vec<Vec<f64>>], score: impl Fn(&[f64]) -> f64) -> ([f64; 2], Vec<u64>) {
    let (mut times, mut scores) = ([const { Vec::new() }; 2], Vec::new());
    for rows in problems {
        for times in &mut times {
            let start = Instant::now();
            scores.extend(rows.iter().map(|row| black_box(score(row)).to_bits()));
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let median = |mut times: Vec<f64>| *times.select_nth_unstable_by(PROBLEMS / 2, f64::total_cmp).1;
    (times.map(median), scores)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, text, of_both @ ..] = &arguments[..] else {
        return Err("expected a library and a forest".into());
    };
    let of_both = of_both.first().map_or(Ok(0), |count| count.parse::<usize>())?;
    let text = std::fs::read_to_string(text)?;
    let (forest, folder) = (Forest::parse(text.as_bytes())?, tempfile::tempdir()?);
    let model = Hgbm::from_forest(&forest)?;
    let path = folder.path().join("carrying.so");
    std::fs::write(&path, carrying(&std::fs::read(library)?, &text)?)?;
    // SAFETY: whoever names a library of ck-select wants its code to run.
    let copy = unsafe { libloading::Library::new(&path) }?;
    // SAFETY: the function has this type in every library of ck-select.
    let function = *unsafe { copy.get::<Score>(SYMBOL.as_bytes()) }?;
    // SAFETY: as many values as the count says.
    let ours = |row: &[f64]| unsafe { function(row.as_ptr(), row.len()) };

    let (values, mut random) = (values(&forest), Random(1));
    let mut draw_row = || values.iter().map(|values| random.pick(values)).collect::<Vec<f64>>();
    let kernels: Vec<Vec<f64>> = (0..KERNELS).map(|_| draw_row()).collect();
    let problems: Vec<Vec<Vec<f64>>> = (0..PROBLEMS)
        .map(|_| {
            let problem = draw_row();
            let with = |kernel: &Vec<f64>| {
                let (own, both) = (kernel.len() - of_both, draw_row());
                [&problem[..OF_PROBLEM], &kernel[OF_PROBLEM..own], &both[own..]].concat()
            };
            kernels.iter().map(with).collect()
        })
        .collect();
    let (ours, scores) = timed(&problems, ours);
    let (theirs, expected) = timed(&problems, |row| walked(&model, row));
    if scores != expected {
        return Err("the scores differ".into());
    }
    for (problem, ours, theirs) in [("new", ours[0], theirs[0]), ("again", ours[1], theirs[1])] {
        println!("{problem}: {ours:.1} us, walked {theirs:.1}");
    }
    Ok(())
}
