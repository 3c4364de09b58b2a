//! The page that `ckselect train` writes beside a model's card.

use std::fs;

use serde_json::json;

use crate::browser::{browser, drive, look, open};
use crate::common::{Folder, sweep};

/// A model of problems on which other kernels win as they grow.
fn trained() -> Folder {
    let folder = Folder::inside();
    folder.write("sweep.csv", sweep(30, "forward", "bf16"));
    folder.good(
        "train --data sweep.csv --where op=grouped_conv --arch gfx950 --output model --objective relative \
         --folds 3 --params n_estimators=30 num_leaves=7",
    );
    folder
}

/// The figure of the universal model was of all problems, the others of those that were not measured: a gain was
/// drawn as a fall.
#[test]
fn each_line_of_a_tuned_models_page_judges_the_same_problems() {
    let folder = Folder::inside();
    folder.write("sweep.csv", sweep(30, "forward", "bf16"));
    folder.good("tune --simulate sweep.csv --arch gfx950 --measure 12 --output mine");
    let page = folder.read("mine/model.html");
    let (_, rows) = page.split_once("<th scope=\"col\">judged</th>").unwrap();
    let rows = rows.split_once("</table>").unwrap().0.split("<tr><td>").skip(1);
    let cells = rows.map(|row| row.split("</td><td>").take(4).collect::<Vec<_>>());
    let found: Vec<[&str; 3]> = cells.map(|row| [row[0], row[1], row[3]]).collect();
    let expected =
        [["expected", "0", "12"], ["found", "0", "18"], ["expected", "12", "12"], ["found", "12", "18"]];
    assert_eq!(found, expected);
}

#[test]
fn a_reader_sorts_the_importances_and_points_at_charts() {
    let browser = browser();
    let folder = trained();
    let card = folder.read("model/MODEL_CARD.md");
    let found = drive(
        browser,
        &folder.path("model/model.html"),
        1000,
        r##"
  const text = (id) => page.getElementById(id).textContent;
  const table = page.querySelector("#what-the-forests-split-on table");
  [...table.querySelectorAll("th button")].find((button) => button.textContent === "splits").click();
  const splits = [...table.tBodies[0].rows].map((row) => +row.cells[3].textContent);
  const sorted = splits.length > 2 && splits.every((many, at) => at === 0 || many <= splits[at - 1]);
  const joined = page.querySelectorAll("#folds svg .line").length;
  const fold = [joined, point(page.querySelectorAll("#folds svg .strip")[1], "pointermove")].join(" ");
  const trees = point(page.querySelectorAll("#trees svg .strip")[4], "pointermove").split("\n");
  const worst = page.querySelector("#worst-problems details");
  worst.querySelector("summary").click();
  const kernels = worst.open ? worst.querySelectorAll("tbody tr").length : 0;
  return [text("efficiency_mean"), text("num_shapes"), sorted, fold, trees[0], trees.length, kernels];
"##,
    );
    let found = found.as_array().unwrap_or_else(|| panic!("{found}"));
    let mean = found[0].as_str().unwrap().trim_end_matches(" %");
    assert!(card.contains(&format!("| relative | 30 | {mean} |")), "{mean}: {card}");
    assert_eq!(found[1..3], [json!("30"), json!(true)]);
    // Nothing lies between two folds, so no line joins them.
    assert!(found[3].as_str().unwrap().starts_with("0 fold 2\nmean "), "{found:?}");
    assert_eq!(found[4..6], [json!("trees 5"), json!(4)]);
    assert_eq!(found[6], 6, "{found:?}");
}

#[test]
fn the_training_page_fits_every_width_and_has_dark_charts() {
    let browser = browser();
    let folder = trained();
    let html = folder.path("model/model.html");
    look(browser, &html);

    let picture = |name: &str, more: &[&str]| {
        let file = folder.path(name);
        let shot = format!("--screenshot={}", file.display());
        open(browser, &html, &[&[shot.as_str()], more].concat());
        fs::read(file).unwrap()
    };
    let light = picture("light.png", &[]);
    let dark = picture("dark.png", &["--blink-settings=preferredColorScheme=0"]);
    assert!(light.len() > 60_000 && dark.len() > 60_000, "{} and {} bytes", light.len(), dark.len());
    assert_ne!(light, dark);
}
