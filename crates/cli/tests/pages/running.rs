//! The page of `ckselect bench`, while the sweep runs and once it is over.

use std::fs;
use std::process::Command;

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
    assert!(page.contains("<dd id=\"num_rows\">90</dd>"), "{page}");
    assert!(!page.contains("http-equiv=\"refresh\"") && page.contains("completed"), "{page}");

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
  return [text("num_rows"), wins.length, wins.every((many, at) => at === 0 || many <= wins[at - 1])];
"#,
    );
    assert_eq!(found, json!(["90", 30, true]));
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
    let meta = json!({"plan": {"pairs": 30}, "sessions": [{"began": 1_700_000_000, "ended": null}]});
    fs::write(folder.path().join("sweep.csv.meta.json"), meta.to_string()).unwrap();
    let mut report = Command::new(env!("CARGO_BIN_EXE_ckselect"));
    report.current_dir(folder.path()).args(["report", "sweep.csv", "--running", "--output", "page.html"]);
    assert!(report.output().unwrap().status.success());
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("http-equiv=\"refresh\"") && page.contains("3 of 30"), "{page}");
    let Some(browser) = browser() else { return };
    look(browser, &folder.path().join("page.html"));
}

/// A page that cannot be written was told after the sweep.
#[test]
fn a_page_without_a_folder_is_an_error_before_anything_is_measured() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("problems.txt"), "N=4,C=64,K=64,Hi=28,Wi=28,Y=3,X=3\n").unwrap();
    let line = "bench --problems problems.txt --simulate analytic --output sweep.csv none/page.html --pool";
    let mut bench = Command::new(env!("CARGO_BIN_EXE_ckselect"));
    bench.args(line.split(' ')).arg(root().join("configs/forward_bf16.txt")).current_dir(folder.path());
    let output = bench.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.path().join("sweep.csv").exists());
}
