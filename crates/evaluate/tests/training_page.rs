//! The page of a training.
#![cfg(feature = "train")]

#[allow(dead_code)]
#[path = "../../train/tests/train/sweep.rs"]
mod sweep;

use ck_select_evaluate::page::training;
use ck_select_train::{CardInputs, CurvePoint, Efficiency, Stop, train};

use sweep::{inputs, made};

/// The text between two others.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("{from}\n{text}"));
    rest.split_once(to).unwrap_or_else(|| panic!("{to}\n{text}")).0
}

#[test]
fn the_page_has_the_figures_of_the_cross_validation() {
    let (measurements, plan, trained) = made();
    let page = &training(&measurements, &plan, &trained, &inputs(&measurements));
    let efficiency = trained[0].validation.efficiency.as_ref().unwrap();
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    for (id, value) in [
        ("efficiency_mean", percent(efficiency.mean)),
        ("efficiency_p10", percent(efficiency.p10)),
        ("best_of_top3_mean", percent(efficiency.best_of_top3)),
        ("num_shapes", efficiency.problems.to_string()),
        ("num_rows", "360".to_owned()),
    ] {
        assert_eq!(between(page, &format!("<dd id=\"{id}\">"), "</dd>"), value, "{id}");
    }
    // The choices are judged once more from the predictions of rows, and come out the same.
    assert_eq!(between(page, "<td>this model</td><td>", "</td>"), percent(efficiency.mean));
    let worst = between(page, "<section id=\"worst-problems\">", "</section>");
    assert_eq!(between(worst, "<b>", "</b>"), percent(efficiency.min));
    let folds = between(page, "<section id=\"folds\">", "</section>");
    for one in &trained {
        for fold in &one.validation.folds {
            let row = format!("<tr><td>{}</td><td>{}</td>", fold.fold + 1, fold.val_groups);
            assert!(folds.contains(&row), "{row}");
            assert!(fold.efficiency.as_ref().is_none_or(|found| folds.contains(&percent(found.mean))));
        }
    }
    let asked = between(page, "<section id=\"what-the-forests-split-on\">", "</section>");
    let uses = trained[1].forest.feature_uses();
    let (name, most) =
        trained[1].data.names.iter().zip(uses).max_by(|a, b| a.1.gain.total_cmp(&b.1.gain)).unwrap();
    let tflops = between(asked, "Forest of tflops", "<details>");
    let first = between(tflops, "<tbody>", "</tr>");
    assert!(first.contains(name) && first.ends_with(&format!("<td>{}</td>", most.splits)), "{name}: {first}");
    let data = between(page, "<section id=\"data\">", "</section>");
    assert!(data.contains("<td>sweep.csv</td>") && data.contains(&"0".repeat(64)), "{data}");
    let shown = page.split_once("<script>").unwrap().0;
    assert!(!shown.contains("NaN") && !shown.contains("http:") && !shown.contains("https:"));
}

#[test]
fn the_page_draws_the_loss_where_it_was_watched_and_the_curve_of_a_tuning() {
    let (measurements, mut plan, _) = made();
    plan.goals.truncate(2);
    plan.stop = Stop::Inner;
    let trained = train(&measurements, &plan, &()).unwrap();
    let point = |method, measured, mean| {
        let efficiency =
            Efficiency { mean, median: 0.99, p10: 0.9, min: 0.5, best_of_top3: 0.995, problems: 20 };
        CurvePoint { method, measured, draws: 1, efficiency }
    };
    let curve = vec![point("expected", 0, 0.8125), point("expected", 10, 0.9375)];
    let inputs = CardInputs { curve, ..inputs(&measurements) };
    let page = &training(&measurements, &plan, &trained, &inputs);
    let trees = between(page, "<section id=\"trees\">", "</section>");
    for one in &trained {
        for (fold, rounds) in one.validation.rounds.iter().enumerate() {
            let rounds = rounds.as_ref().unwrap();
            assert_eq!(rounds.best, one.validation.folds[fold].best_iteration);
            let lowest = rounds.losses.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(rounds.losses.iter().position(|loss| *loss == lowest), Some(rounds.best - 1));
            let row =
                format!("<tr><td>{}</td><td>{}</td><td>{}</td>", fold + 1, rounds.best, rounds.losses.len());
            assert!(trees.contains(&row), "{row}: {trees}");
        }
    }
    assert!(trees.contains(", which is kept</title>") && trees.contains("root mean squared error"));
    let measured = between(page, "<section id=\"measured-problems\">", "</section>");
    for text in ["measured problems 0\nexpected 81.25 %", "<td>93.75 %</td>"] {
        assert!(measured.contains(text), "{text}: {measured}");
    }
}
