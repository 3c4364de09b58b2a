//! How long hipDNN waits for the scores of 30 kernels: a library that carries a forest, and a walk with the
//! loop that hipDNN's description has.
//!
//! ```console
//! $ make bench-rivals    # makes target/rivals/500x127.txt
//! $ cargo build --release && cargo run --release --example custom_library -- target/release/libck_select.so \
//!       target/rivals/500x127.txt
//! ```
//!
//! Of each row, 45 values are the problem's, and as many at its end as a third argument says are of problem and
//! kernel together, so that no row tells those of another. Compares the bits, and prints microseconds of both for 30
//! kernels of a problem that was not asked before, and of the same problem again: the median of 500 problems.

use std::hint::black_box;
use std::time::Instant;

use ck_select::forest::{Forest, Split, Tree};
use ck_select::uhd::{SYMBOL, Score, carrying};
use ck_select_uhd::Hgbm;
use common::walked;
use random::{Numbers as _, Random};

#[path = "../crates/uhd/tests/common/mod.rs"]
mod common;
#[path = "../tests/random/mod.rs"]
mod random;

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

/// Scores each problem's rows twice: the median of the times, and the scores.
fn twice(problems: &[Vec<Vec<f64>>], score: impl Fn(&[f64]) -> f64) -> [(f64, Vec<u64>); 2] {
    let (mut times, mut scores) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    for rows in problems {
        for turn in 0..2 {
            let start = Instant::now();
            scores[turn].extend(rows.iter().map(|row| black_box(score(row)).to_bits()));
            times[turn].push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let [first, second] = times.map(median);
    let [scores, again] = scores;
    [(first, scores), (second, again)]
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, text, of_both @ ..] = &arguments[..] else {
        return Err("expected a library and a forest".into());
    };
    let of_both = of_both.first().map_or(Ok(0), |count| count.parse::<usize>())?;
    let text = std::fs::read_to_string(text)?;
    let (forest, folder) = (Forest::parse(text.as_bytes())?, tempfile::tempdir()?);
    let model = Hgbm::of_forest(&forest)?;
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
    let walked = |row: &[f64]| walked(&model, row);
    let [new, again] = twice(&problems, ours);
    let [new_walked, again_walked] = twice(&problems, walked);
    if new.1 != new_walked.1 || again.1 != new.1 {
        return Err("the scores differ".into());
    }
    let (new, again, new_walked, again_walked) = (new.0, again.0, new_walked.0, again_walked.0);
    println!(
        "a new problem: {new:.1} us, walked {new_walked:.1}; again: {again:.1} us, walked {again_walked:.1}"
    );
    Ok(())
}
