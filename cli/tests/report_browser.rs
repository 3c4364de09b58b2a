//! The report, opened in a browser: what a reader sees are the figures that `--json` has.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The first of some browsers that is there.
fn browser() -> Option<&'static str> {
    let there = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["chromium-headless-shell", "chromium", "google-chrome"].into_iter().find(there)
}

fn open(browser: &str, page: &Path, more: &[&str]) -> String {
    let profile = TempDir::new().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,2400"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Three problems whose kernels run at speeds of no particular order.
fn data(path: &Path) {
    let names = fs::read_to_string(root().join("configs/forward_bf16.txt")).unwrap();
    let names: Vec<&str> = names.lines().filter(|line| line.starts_with("grouped_conv")).collect();
    let mut text = "kernel,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops\n".to_owned();
    for problem in
        ["16,256,128,1,28,28,3,3,1,1,1,1", "1,64,64,1,56,56,1,1,1,1,0,0", "4,96,192,1,31,31,5,5,2,2,2,2"]
    {
        for (index, name) in names.iter().enumerate() {
            writeln!(text, "{name},{problem},1.0,{}", 20 + (index * 37 + problem.len() * 11) % 101).unwrap();
        }
    }
    fs::write(path, text).unwrap();
}

#[test]
fn a_browser_shows_the_figures() {
    let Some(browser) = browser() else {
        eprintln!("skipped: there is no headless Chromium; `make browser` installs one");
        return;
    };
    let folder = TempDir::new().unwrap();
    let (csv, html, json) = (
        folder.path().join("data.csv"),
        folder.path().join("report.html"),
        folder.path().join("figures.json"),
    );
    data(&csv);
    let status = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .current_dir(root())
        .args(["evaluate", "--model", "tests/golden/models/conv_small", "--data"])
        .arg(&csv)
        .arg("--html")
        .arg(&html)
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let figures: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let global = &figures["global_metrics"];

    let page = open(browser, &html, &["--dump-dom"]);
    let shown = |id: &str| -> String {
        let (_, rest) = page.split_once(&format!("<dd id=\"{id}\">")).unwrap();
        rest.split_once("</dd>").unwrap().0.to_owned()
    };
    for id in ["efficiency_mean", "efficiency_p50", "efficiency_p10", "efficiency_min", "best_of_top3_mean"] {
        assert_eq!(shown(id), format!("{:.2} %", global[id].as_f64().unwrap() * 100.0), "{id}");
    }
    assert_eq!((shown("num_shapes"), shown("num_rows")), ("3".to_owned(), "90".to_owned()));
    assert_eq!(page.matches("<svg viewBox=\"0 0 720 260\"").count(), 2);

    let picture = folder.path().join("report.png");
    open(browser, &html, &[&format!("--screenshot={}", picture.display())]);
    let bytes = fs::read(&picture).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let extent = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((extent(16), extent(20)), (1000, 2400));
    // A page of one colour compresses to a few kilobytes.
    assert!(bytes.len() > 30_000, "{} bytes", bytes.len());
}
