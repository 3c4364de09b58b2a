//! How long hipDNN waits for the scores of 30 kernels: a library that carries a forest, and a walk with the
//! loop that hipDNN's description has.
//!
//! ```console
//! $ make bench-rivals    # makes target/rivals/500x127.txt
//! $ cargo build --release && cargo run --release --example custom_library -- target/release/libck_select.so \
//!       target/rivals/500x127.txt
//! ```
//!
//! Of each row, 45 values are the problem's. Compares the bits, and prints microseconds of both for 30
//! kernels of a problem that was not asked before, and of the same problem again: the median of 500 problems,
//! in turns.

use std::hint::black_box;
use std::time::Instant;

use ck_select::forest::{Forest, Split, Tree};
use ck_select::uhd::{SYMBOL, carrying};
use ck_select_uhd::{Hgbm, Node};

const KERNELS: usize = 30;
const OF_PROBLEM: usize = 45;
const PROBLEMS: usize = 500;

type Score = unsafe extern "C" fn(*const f64, usize) -> f64;

fn walked(model: &Hgbm, row: &[f64]) -> f64 {
    let mut sum = model.base_score;
    for tree in &model.trees {
        let mut node = 0;
        sum += loop {
            match tree[node] {
                Node::Leaf(value) => break value,
                Node::Split { feature, threshold, less, default_left, children } => {
                    let x = row[feature as usize];
                    let is_left = match (x.is_nan(), less) {
                        (true, _) => default_left,
                        (false, false) => x <= threshold,
                        (false, true) => x < threshold,
                    };
                    node = children[usize::from(!is_left)] as usize;
                }
            }
        };
    }
    sum
}

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

fn timed(rows: &[Vec<f64>], score: impl Fn(&[f64]) -> f64) -> (f64, Vec<u64>) {
    let start = Instant::now();
    let scores: Vec<u64> = rows.iter().map(|row| black_box(score(row)).to_bits()).collect();
    (start.elapsed().as_secs_f64() * 1e6, scores)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let [library, text] = arguments else { return Err("expected a library and a forest".into()) };
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

    let (values, mut state) = (values(&forest), 1_u64);
    let mut draw = |feature: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values[feature][(state >> 33) as usize % values[feature].len()]
    };
    let mut draw_row = || (0..forest.num_features()).map(&mut draw).collect::<Vec<f64>>();
    let kernels: Vec<Vec<f64>> = (0..KERNELS).map(|_| draw_row()).collect();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..PROBLEMS {
        let problem = draw_row();
        let with = |kernel: &Vec<f64>| [&problem[..OF_PROBLEM], &kernel[OF_PROBLEM..]].concat();
        let rows: Vec<Vec<f64>> = kernels.iter().map(with).collect();
        let asked = [timed(&rows, ours), timed(&rows, |row| walked(&model, row)), timed(&rows, ours)];
        let again = timed(&rows, |row| walked(&model, row));
        for (times, (time, scores)) in times.iter_mut().zip(asked.into_iter().chain([again])) {
            times.push(time);
            if scores != rows.iter().map(|row| walked(&model, row).to_bits()).collect::<Vec<_>>() {
                return Err("the scores differ".into());
            }
        }
    }
    let [new, new_walked, again, again_walked] = times.map(median);
    println!(
        "a new problem: {new:.1} us, walked {new_walked:.1}; again: {again:.1} us, walked {again_walked:.1}"
    );
    Ok(())
}

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("custom_library: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
