//! What the harness itself costs a measurement: kernels that take no time, run by workers.
//!
//! A row is everything between two kernels: a worker's share of its start, both messages, the log's row on
//! the disk. Kernels answer at once by their own timing, so all of the time is the harness's.
//!
//! And what the page of a running sweep costs it: the same longer sweep with and without a page, one after
//! the other. `cargo bench --package ckselect --bench harness -- rows` (or `page`) is one of the two alone.

#![allow(clippy::unwrap_used, reason = "a bench ends when something is wrong")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const KERNELS: usize = 200;
const PROBLEMS: usize = 25;
/// Of a sweep that runs long enough for its page to be made again.
const MORE_PROBLEMS: usize = 300;
/// How often it runs without and with a page.
const PAIRS: usize = 7;

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    if only.as_deref().is_none_or(|only| only == "rows") {
        rows();
    }
    if only.as_deref().is_none_or(|only| only == "page") {
        page();
    }
}

fn rows() {
    println!("{KERNELS} kernels x {PROBLEMS} problems, 1 run each, best of 3");
    println!("{:34} {:>8} {:>10} {:>12}", "log on", "batch", "ms/row", "rows/s");
    for (place, folder) in [("disk", env!("CARGO_TARGET_TMPDIR")), ("memory (/dev/shm)", "/dev/shm")] {
        if !Path::new(folder).is_dir() {
            continue;
        }
        let folder = tempfile::tempdir_in(folder).unwrap();
        prepare(folder.path(), PROBLEMS);
        for batch in [1, 20, 200] {
            let wall = || sweep(folder.path(), PROBLEMS, batch, &[]).wall;
            let best = (0..3).map(|_| wall()).fold(f64::INFINITY, f64::min);
            let rows = (KERNELS * PROBLEMS) as f64;
            println!("{place:34} {batch:>8} {:>10.4} {:>12.0}", best * 1e3 / rows, rows / best);
        }
    }
}

/// Each sweep with a page beside the one without that ran just before, so that what else the machine does
/// meets both.
fn page() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    prepare(folder.path(), MORE_PROBLEMS);
    println!(
        "\n{KERNELS} kernels x {MORE_PROBLEMS} problems, log on disk, batches of 20, without and with a page"
    );
    println!(
        "{:>20} {:>21} {:>10} {:>30} {:>8} {:>8}",
        "wall s", "CPU s", "page's", "memory at most MiB, page's", "wall", "CPU"
    );
    let mut ratios: Vec<[f64; 3]> = Vec::new();
    for _ in 0..PAIRS {
        let [without, with] =
            [&[][..], &["--output", "page.html"]].map(|more| sweep(folder.path(), MORE_PROBLEMS, 20, more));
        let shown = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(shown.contains("It ended: all rows are done."));
        let [wall, cpu] = [with.wall / without.wall, with.cpu / without.cpu];
        println!(
            "{:>10.2} {:>9.2} {:>11.2} {:>9.2} {:>10.2} {:>12.1} {:>8.1} {:>8.1} {wall:>8.3} {cpu:>8.3}",
            without.wall,
            with.wall,
            without.cpu,
            with.cpu,
            with.page.cpu,
            without.memory,
            with.memory,
            with.page.memory
        );
        ratios.push([wall, cpu, with.page.cpu / with.cpu]);
    }
    let median = |which: usize| {
        let mut all: Vec<f64> = ratios.iter().map(|ratio| ratio[which]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    println!("median: wall {:.3}, CPU {:.3}, of which the page's own {:.4}", median(0), median(1), median(2));
}

fn prepare(folder: &Path, problems: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pool = String::new();
    for i in 0..KERNELS {
        let (m, n) = (16 * (1 + i % 20), 16 * (1 + i / 20));
        writeln!(pool, "grouped_conv_forward_bf16_2d_{m}x{n}x64_compv3_intrawave").unwrap();
    }
    fs::write(folder.join("pool.txt"), pool).unwrap();
    let mut list = String::from("N,C,K,Hi,Wi,Y,X\n");
    for i in 0..problems {
        writeln!(list, "{},64,64,14,14,1,1", i + 1).unwrap();
    }
    fs::write(folder.join("problems.csv"), list).unwrap();
    let config = r#"{"runner": "library", "library": "fakes.so", "device": "host"}"#;
    fs::write(folder.join("runner.json"), config).unwrap();
    let compiled = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-I"])
        .arg(root.join("include"))
        .arg(root.join("tests/fake_kernels/fake_library.c"))
        .arg("-o")
        .arg(folder.join("fakes.so"))
        .status();
    assert!(compiled.unwrap().success());
}

/// What a sweep took.
struct Took {
    /// Seconds.
    wall: f64,
    /// Seconds of all its processes on all cores.
    cpu: f64,
    /// MiB that `ckselect` itself had at most.
    memory: f64,
    /// What the process that makes the page took.
    page: Page,
}

/// The process that makes a page, when it was last looked at.
#[derive(Default)]
struct Page {
    cpu: f64,
    memory: f64,
}

/// Runs a sweep, and checks its rows.
fn sweep(folder: &Path, problems: usize, batch: usize, more: &[&str]) -> Took {
    let (before, began) = (children_seconds(), Instant::now());
    let mut child = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .current_dir(folder)
        .args(["bench", "--pool", "pool.txt", "--problems", "problems.csv", "--runner", "runner.json"])
        .args(["--output", "out.csv", "--overwrite", "--params", "warmup=0", "--params", "repeat=1"])
        .args(["--batch", &batch.to_string()])
        .args(more)
        .env("FAKE_POOL", folder.join("pool.txt"))
        .env("CK_SELECT_LOCK_DIR", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut memory, mut page, mut page_process) = (0.0_f64, Page::default(), None);
    let status = loop {
        memory = memory.max(most_memory(child.id()).unwrap_or(0.0));
        if !more.is_empty() {
            page_process = page_process.or_else(|| page_of(child.id()));
        }
        if let Some(process) = page_process {
            page.memory = page.memory.max(most_memory(process).unwrap_or(0.0));
            page.cpu = page.cpu.max(seconds(&format!("/proc/{process}/stat"), 11).unwrap_or(0.0));
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let wall = began.elapsed().as_secs_f64();
    assert!(status.success());
    let log = fs::read_to_string(folder.join("out.csv")).unwrap();
    assert_eq!(log.lines().count(), 1 + KERNELS * problems);
    assert!(!log.contains("N/A"));
    Took { wall, cpu: children_seconds() - before, memory, page }
}

/// Seconds on all cores of all processes that were started here and have ended, with theirs.
fn children_seconds() -> f64 {
    seconds("/proc/self/stat", 13).unwrap()
}

/// Two neighbours among the times of a process, user and system, added up. Places count behind its name,
/// which may hold anything.
fn seconds(stat: &str, place: usize) -> Option<f64> {
    /// `USER_HZ`, which is this on every machine that Linux runs on.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(stat).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(place)? + ticks(place + 1)?) / TICKS)
}

/// The process that makes the page of a sweep.
fn page_of(sweep: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{sweep}/task/{sweep}/children")).ok()?;
    let is_page = |child: &u32| {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"bench-page")
    };
    children.split_whitespace().filter_map(|child| child.parse().ok()).find(is_page)
}

/// MiB that a process had at most until now; nothing once it has ended.
fn most_memory(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}
