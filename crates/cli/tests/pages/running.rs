//! The page of `ckselect bench`, while the sweep runs and once it is over.

use serde_json::json;

use crate::absolute;
use crate::browser::{browser, drive, look};
use crate::common::{Folder, kernels};

#[test]
fn the_page_of_a_sweep_says_how_far_it_came() {
    let folder = Folder::new();
    let problems = [64, 128, 256].map(|c| format!("N=4,C={c},K={c},Hi=28,Wi=28,Y=3,X=3\n"));
    folder.write("problems.txt", problems.concat());
    folder.good(
        "bench --pool configs/forward_bf16.txt --problems @problems.txt --simulate analytic --output \
         @sweep.csv --output @sweep.html",
    );
    let html = folder.path("sweep.html");
    let page = folder.read("sweep.html");
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
    let folder = Folder::inside();
    let names = kernels();
    let [first, second] = [&names[0], &names[1]];
    let log = format!(
        "kernel,problem_idx,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n\
         {first},0,4,64,64,28,28,3,3,0.5,50.0,-1,\n{second},0,4,64,64,28,28,3,3,0.6,40.0,-1,\n\
         {first},1,4,96,64,28,28,3,3,0.5,50.0,-1,\n"
    );
    folder.write("sweep.csv", log);
    let meta = json!({"plan": {"pairs": 30}, "sessions": [{"began": 1_700_000_000, "ended": null}]});
    folder.write("sweep.csv.meta.json", meta.to_string());
    folder.good("report sweep.csv --running --output page.html");
    let page = folder.read("page.html");
    assert!(page.contains("http-equiv=\"refresh\"") && page.contains("3 of 30"), "{page}");
    let Some(browser) = browser() else { return };
    look(browser, &folder.path("page.html"));
}

/// A page that cannot be written was told after the sweep.
#[test]
fn a_page_without_a_folder_is_an_error_before_anything_is_measured() {
    let folder = Folder::inside();
    folder.write("problems.txt", "N=4,C=64,K=64,Hi=28,Wi=28,Y=3,X=3\n");
    let pool = absolute("configs/forward_bf16.txt");
    folder.refuses(&format!(
        "bench --problems problems.txt --simulate analytic --output sweep.csv none/page.html --pool {pool}
            1: none/page.html"
    ));
    assert!(!folder.path("sweep.csv").exists());
}
