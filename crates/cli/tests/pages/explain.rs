//! The page of `ckselect explain`.

use serde_json::{Value, json};

use crate::browser::{browser, drive, look};
use crate::common::{Folder, MODEL_OF_GFX950 as MODEL, POOL, PROBLEM, kernels};
use crate::{absolute, check_alone};

/// The page of the shipped model on its pool, and the table that the command prints.
fn explained() -> (Folder, Value) {
    let folder = Folder::new();
    let asked = format!("--model {MODEL} --pool {POOL} --problem {PROBLEM}");
    let table = folder.json(&format!("explain {asked} --output @choice.html"));
    (folder, table)
}

#[test]
fn a_reader_sees_why_one_is_before_the_other() {
    let browser = browser();
    let (folder, table) = explained();
    check_alone(&folder.read("choice.html"));
    look(browser, &folder.path("choice.html"));
    let found = drive(
        browser,
        &folder.path("choice.html"),
        1000,
        r##"
        for (const details of page.querySelectorAll("details")) details.open = true;
        const cells = (table, column) => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
        const ranking = page.getElementById("ranking-table");
        const found = { ranks: cells(ranking, 1).map(Number), bold: ranking.querySelectorAll("b").length };
        ranking.tHead.rows[0].cells[1].querySelector("button").click();
        found.down = cells(ranking, 1).map(Number);
        const why = page.querySelectorAll("#why-the-first-scores-above-the-second table");
        found.features = [...why].flatMap((table) => cells(table, 0));
        found.estimate = [...page.querySelectorAll("#what-the-estimate-says td:nth-child(3)")].map((cell) => Number(cell.textContent));
        found.trained = page.querySelectorAll("#within-the-training-data table tbody tr").length;
        return found;
        "##,
    );
    assert_eq!(found["error"], Value::Null, "{found}");
    let all: Vec<usize> = (1..=30).collect();
    assert_eq!((&found["ranks"], &found["bold"]), (&json!(all), &json!(2)));
    assert_eq!(found["down"], json!(all.iter().rev().collect::<Vec<_>>()));
    // Every feature of the table, and the three sums.
    let mut features: Vec<&str> =
        found["features"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let mut expected: Vec<&str> = table
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["feature"].as_str().unwrap().trim_matches(['(', ')']))
        .collect();
    features.retain(|name| *name != "all: raw score");
    expected.retain(|name| *name != "raw score");
    features.sort_unstable();
    expected.sort_unstable();
    assert_eq!(features, expected);
    // The terms add up to their sum, as far as they are shown.
    let terms: Vec<f64> =
        found["estimate"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
    let (sum, terms) = terms.split_last().unwrap();
    assert!((terms.iter().sum::<f64>() / sum - 1.0).abs() < 1e-3, "{terms:?} {sum}");
    assert!(found["trained"].as_u64().unwrap() > 10, "{found}");
}

#[test]
fn the_estimate_explains_by_its_terms() {
    let folder = Folder::new();
    let asked = format!("--model estimate --arch gfx950 --pool {POOL} --problem {PROBLEM}");
    folder.good(&format!("explain {asked} --output @choice.html"));
    let page = folder.read("choice.html");
    check_alone(&page);
    assert!(page.contains("<h1>the estimate: why this kernel</h1>"), "{page}");
    assert!(page.contains("All 30 kernels that the estimate ranks") && page.contains("time, µs"), "{page}");
    assert!(page.contains("<td>fragments</td>") && !page.contains("training data"), "{page}");
    let browser = browser();
    look(browser, &folder.path("choice.html"));
}

/// The page once explained why a kernel is before its equal: a difference of 0 (00c34c59).
#[test]
fn equals_are_not_explained_but_named() {
    let folder = Folder::inside();
    // The model was trained on neither pipeline's difference.
    let names = kernels().into_iter().filter(|name| name.ends_with("_compv3"));
    let twins = names.map(|name| format!("{name}\n{}\n", name.replace("_compv3", "_basic_v1")));
    folder.write("twins.txt", twins.collect::<String>());
    let explain = |more: &str| {
        let asked = format!("--model {} --pool twins.txt --problem {PROBLEM}", absolute(MODEL));
        folder.good(&format!("explain {asked} --output choice.html {more}"));
        folder.read("choice.html").split_once("<script>").unwrap().0.to_owned()
    };
    let page = explain("");
    assert!(
        page.contains("2 kernels have the score of the first, so the model does not tell them apart."),
        "{page}"
    );
    assert!(page.contains("<h2>Why the first scores above the second</h2>"), "{page}");
    let tile = "grouped_conv_forward_bf16_2d_64x64x64";
    let [first, second] = ["compv3", "basic_v1"].map(|pipeline| format!("{tile}_{pipeline}"));
    let page = explain(&format!("--first {first} --second {second}"));
    assert!(page.contains("<h2>Why the first scores as high as the second</h2>"), "{page}");
    assert!(
        page.contains("nothing speaks for either") && !page.contains("The feature with the largest part")
    );
    let browser = browser();
    look(browser, &folder.path("choice.html"));
}
