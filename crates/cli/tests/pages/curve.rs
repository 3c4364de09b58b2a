//! The page of `ckselect tune --counts`.

use std::fs;

use ck_select_study::page::curve;
use ck_select_train::CurvePoint;
use tempfile::TempDir;

use crate::browser::{browser, drive, look};

#[test]
fn a_curve_names_its_axes_and_their_scale() {
    let Some(browser) = browser() else {
        eprintln!("skipped: there is no headless Chromium; `make browser` installs one");
        return;
    };
    let point = |way, measured: usize| CurvePoint {
        way,
        measured,
        draws: 5,
        judged: 132,
        mean: 1.0 - 0.05 / (1 + measured) as f64,
        median: 0.99,
        p10: 0.9,
        min: 0.5,
        best_of_top3: 0.995,
    };
    let counts = [0, 5, 10, 20, 40, 80, 141];
    let tuned = counts.map(|count| point("tuned", count));
    let alone = counts[1..].iter().map(|&count| point("alone", count));
    let points: Vec<CurvePoint> = tuned.into_iter().chain(alone).collect();
    let folder = TempDir::new().unwrap();
    let html = folder.path().join("curve.html");
    fs::write(&html, curve(&points, "gfx950", "2000-02-29T00:00:00")).unwrap();
    look(browser, &html);
    let found = drive(
        browser,
        &html,
        1000,
        r#"
  const chart = page.querySelector(".chart");
  const ticks = [...chart.querySelectorAll("text.x")].map((tick) => tick.textContent).join(" ");
  const keys = [...chart.querySelectorAll(".key")].map((key) => key.textContent).join(" ");
  const said = point(chart.querySelectorAll(".strip")[2], "pointermove").replaceAll("\n", ", ");
  press(chart.querySelector("svg"), "ArrowRight");
  return [chart.querySelector("p").textContent, ticks, keys, said, page.querySelector(".tip").textContent.split("\n")[0]];
"#,
    );
    let expected = serde_json::json!([
        "measured problems (logarithmic scale)",
        "0 1 5 10 20 50 141",
        "tuned alone",
        "measured problems 10, tuned 99.55 %, alone 99.55 %",
        "measured problems 0"
    ]);
    assert_eq!(found, expected);
}
