//! The page of `ckselect bench --html`, once the sweep is over.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::browser::{browser, drive, look, root};

#[test]
fn the_page_of_a_sweep_says_how_far_it_came() {
    let folder = TempDir::new().unwrap();
    let problems = [64, 128, 256].map(|c| format!("N=4,C={c},K={c},Hi=28,Wi=28,Y=3,X=3\n"));
    fs::write(folder.path().join("problems.txt"), problems.concat()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .current_dir(folder.path())
        .arg("bench")
        .arg("--pool")
        .arg(root().join("configs/forward_bf16.txt"))
        .args(["--problems", "problems.txt", "--simulate", "analytic", "--output", "sweep.csv"])
        .args(["--output", "sweep.html"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let html = folder.path().join("sweep.html");
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("It ended: all rows are done."), "{page}");
    assert!(!page.contains("http-equiv=\"refresh\""));

    let Some(browser) = browser() else { return };
    let found = drive(
        browser,
        &html,
        1000,
        r#"
  const text = (id) => page.getElementById(id).textContent;
  const table = page.getElementById("kernels-table");
  const head = [...table.querySelectorAll("th button")].find((button) => button.textContent === "wins");
  head.click();
  const wins = [...table.tBodies[0].rows].map((row) => +row.cells[4].textContent);
  const bar = page.getElementById("progress");
  return [text("rows"), text("share"), bar.value === bar.max, wins.length, wins.every((many, at) => at === 0 || many <= wins[at - 1])];
"#,
    );
    assert_eq!(found, json!(["90 of 90", "100.00 %", true, 30, true]));
    look(browser, &html);
}

/// Its map once looked for a table that only `report` had, and never drew.
#[test]
fn the_page_of_a_sweep_that_runs_has_a_map() {
    let folder = TempDir::new().unwrap();
    let names = fs::read_to_string(root().join("configs/forward_bf16.txt")).unwrap();
    let mut names = names.lines().filter(|line| line.starts_with("grouped_conv"));
    let [first, second] = [names.next().unwrap(), names.next().unwrap()];
    let log = format!(
        "kernel,problem_idx,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n\
         {first},0,4,64,64,28,28,3,3,0.5,50.0,-1,\n{second},0,4,64,64,28,28,3,3,0.6,40.0,-1,\n\
         {first},1,4,96,64,28,28,3,3,0.5,50.0,-1,\n"
    );
    fs::write(folder.path().join("sweep.csv"), log).unwrap();
    let (_, page) = page_after(folder.path(), "page.html", "");
    let page = page.unwrap();
    assert!(page.contains("http-equiv=\"refresh\"") && page.contains("3 of 30"), "{page}");
    let Some(browser) = browser() else { return };
    look(browser, &folder.path().join("page.html"));
}

/// What the process that makes pages says first, and its page once it was told how the sweep ended.
fn page_after(folder: &Path, html: &str, how: &str) -> (String, Option<String>) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .current_dir(folder)
        .args([
            "bench-page",
            "--log",
            "sweep.csv",
            "--op",
            "grouped_conv",
            "--planned",
            "30",
            "--output",
            html,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let mut over = process.stdin.take().unwrap();
    over.write_all(how.as_bytes()).unwrap();
    drop(over);
    assert!(process.wait().unwrap().success());
    (said, fs::read_to_string(folder.join(html)).ok())
}

#[test]
fn the_process_that_makes_pages_ends_with_the_sweep() {
    let folder = TempDir::new().unwrap();
    let (said, page) = page_after(folder.path(), "page.html", "all rows are done");
    assert_eq!(said, "ready\n");
    assert!(page.unwrap().contains("It ended: all rows are done."));
    // A sweep that is killed says nothing; its page stays as it was.
    let (said, page) = page_after(folder.path(), "page.html", "");
    assert_eq!(said, "ready\n");
    assert!(page.unwrap().contains("Running."));
}
