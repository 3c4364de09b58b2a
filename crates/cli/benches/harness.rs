//! What the harness itself costs a measurement: kernels that take no time, run by workers.
//!
//! A row is everything between two kernels: a worker's share of its start, both messages, the log's row on
//! the disk. Kernels answer at once by their own timing, so all of the time is the harness's.

#![allow(clippy::unwrap_used, reason = "a bench ends when something is wrong")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const KERNELS: usize = 200;
const PROBLEMS: usize = 25;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("{KERNELS} kernels x {PROBLEMS} problems, 1 run each, best of 3");
    println!("{:34} {:>8} {:>10} {:>12}", "log on", "batch", "ms/row", "rows/s");
    for (place, folder) in [("disk", env!("CARGO_TARGET_TMPDIR")), ("memory (/dev/shm)", "/dev/shm")] {
        if !Path::new(folder).is_dir() {
            continue;
        }
        let folder = tempfile::tempdir_in(folder).unwrap();
        prepare(&root, folder.path());
        for batch in [1, 20, 200] {
            let best = (0..3).map(|_| sweep(folder.path(), batch)).fold(f64::INFINITY, f64::min);
            let rows = (KERNELS * PROBLEMS) as f64;
            println!("{place:34} {batch:>8} {:>10.4} {:>12.0}", best * 1e3 / rows, rows / best);
        }
    }
}

fn prepare(root: &Path, folder: &Path) {
    let mut pool = String::new();
    for i in 0..KERNELS {
        let (m, n) = (16 * (1 + i % 20), 16 * (1 + i / 20));
        writeln!(pool, "grouped_conv_forward_bf16_2d_{m}x{n}x64_compv3_intrawave").unwrap();
    }
    fs::write(folder.join("pool.txt"), pool).unwrap();
    let mut problems = String::from("N,C,K,Hi,Wi,Y,X\n");
    for i in 0..PROBLEMS {
        writeln!(problems, "{},64,64,14,14,1,1", i + 1).unwrap();
    }
    fs::write(folder.join("problems.csv"), problems).unwrap();
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

/// Seconds of a sweep whose rows were checked.
fn sweep(folder: &Path, batch: usize) -> f64 {
    let began = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .current_dir(folder)
        .args(["bench", "--pool", "pool.txt", "--problems", "problems.csv", "--runner", "runner.json"])
        .args(["--output", "out.csv", "--overwrite", "--warmup", "0", "--repeat", "1"])
        .args(["--batch", &batch.to_string()])
        .env("FAKE_POOL", folder.join("pool.txt"))
        .env("CK_SELECT_LOCK_DIR", folder)
        .stdout(Stdio::null())
        .status();
    let seconds = began.elapsed().as_secs_f64();
    assert!(status.unwrap().success());
    let log = fs::read_to_string(folder.join("out.csv")).unwrap();
    assert_eq!(log.lines().count(), 1 + KERNELS * PROBLEMS);
    assert!(!log.contains("N/A"));
    seconds
}
