//! Reading a model's text until it can score, and the most memory that takes: each load in a process of its
//! own, which is this program again, started alternately for either side.
//!
//! LightGBM's load runs with OpenMP's default threads, ours with one. The second case holds both to one core,
//! with `taskset`. Both times include reading the file, which comes from memory, because it was read before.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ck_select::forest::Forest;
use ck_select_parity::Booster;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::Options;
use crate::models::CONV_30;
use crate::report::{Line, Report, median};

/// Loads a file as one of the sides, and prints microseconds, the peak of the memory in KiB before and after,
/// and a score.
pub(crate) fn child(side: &str, file: &str) {
    let before = peak_kib();
    let start = Instant::now();
    let (us, score);
    if side == "ours" {
        let forest = Forest::load(file).unwrap_or_else(|error| panic!("{error}"));
        us = start.elapsed().as_secs_f64() * 1e6;
        score = forest.raw_score(&vec![1.0; forest.num_features()]).expect("a row that fits");
    } else {
        let booster = Booster::from_file(file).expect("LightGBM reads its own model");
        us = start.elapsed().as_secs_f64() * 1e6;
        let row = vec![1.0; booster.width().expect("a width")];
        score = booster.predict(&row, ck_select_parity::Output::RawScore).expect("a score")[0];
    }
    println!("{us} {before} {} {}", peak_kib(), score.to_bits());
}

/// The most memory that this process ever had, in KiB; 0 where the system does not say.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// What the loads of one side took.
#[derive(Default)]
struct Loads {
    us: Vec<f64>,
    before_kib: Vec<f64>,
    peak_kib: Vec<f64>,
    score: u64,
}

impl Loads {
    fn add(&mut self, side: &str, file: &Path, one_core: bool) {
        let program = std::env::current_exe().expect("the program's own file");
        let mut command = if one_core {
            let mut command = Command::new("taskset");
            command.args(["-c", "0"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let output = command.args(["--load", side]).arg(file).output().expect("this program again");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        let mut word =
            || words.next().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        self.us.push(word().parse().expect("microseconds"));
        self.before_kib.push(word().parse().expect("KiB"));
        self.peak_kib.push(word().parse().expect("KiB"));
        self.score = word().parse().expect("bits");
    }
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    if !options.wants("load") {
        return;
    }
    let file = CONV_30.file();
    let packed = packed(&file);
    let size = std::fs::metadata(&file).map_or(0, |data| data.len()) as f64 / 1e6;
    let taskset = Command::new("taskset").arg("--version").output().is_ok();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for (what, ours_file, one_core) in [
        (format!("load, {size:.0} MB of text, {cores} cores"), &file, false),
        (format!("load, {size:.0} MB of text, one core"), &file, true),
        (format!("load, ours from .gz, LightGBM from text, {cores} cores"), &packed, false),
    ] {
        if one_core && !taskset {
            eprintln!("{what}: left out, there is no taskset");
            continue;
        }
        let (mut ours, mut theirs) = (Loads::default(), Loads::default());
        for _ in 0..options.rounds() {
            ours.add("ours", ours_file, one_core);
            theirs.add("lightgbm", &file, one_core);
        }
        let [our_peak, their_peak] = [&mut ours.peak_kib, &mut theirs.peak_kib].map(|kib| median(kib));
        report.add(&Line {
            case: what,
            ours_us: median(&mut ours.us),
            lightgbm_us: Some(median(&mut theirs.us)),
            exact: Some(ours.score == theirs.score),
            rows: 1,
            trees: CONV_30.trees,
            leaves: CONV_30.leaves,
            more: vec![
                ("ours_peak_kib", json!(our_peak)),
                ("lightgbm_peak_kib", json!(their_peak)),
                ("peak_ratio", json!(their_peak / our_peak)),
                ("peak_kib_before_loading", json!(median(&mut ours.before_kib))),
            ],
        });
    }
}

/// The file's text, compressed, beside the file.
fn packed(file: &Path) -> PathBuf {
    let packed = file.with_extension("txt.gz");
    if !packed.exists() {
        let text = std::fs::read(file).expect("a model that was written");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let bytes = encoder.write_all(&text).and_then(|()| encoder.finish()).expect("compressed");
        let part = file.with_extension("part");
        std::fs::write(&part, bytes)
            .and_then(|()| std::fs::rename(&part, &packed))
            .expect("a writable target directory");
    }
    packed
}
