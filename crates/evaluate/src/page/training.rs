//! A trained model as an HTML page, beside its card: how it was cross-validated, what its forests use, and
//! where it errs.

use crate::evaluation::Evaluation;
use ck_select_measurements::Measurements;
use ck_select_train::{
    CardInputs, CurvePoint, Efficiency, FoldMetrics, Plan, TrainedForest, held_out_text, part, purpose,
    stopping,
};

use super::chart::{self, Axis, Mark, Series, Unit};
use super::evaluation::{choices, efficiencies, importances, regret, slices, worst};
use super::held_out::evaluation;
use super::html::{Figure, Page};
use super::provenance;
use super::text::{count, escape, number, percent};

/// Writes the page.
pub fn training(
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
    inputs: &CardInputs,
) -> String {
    let mut page = Page::new(&format!("{}: training", inputs.name));
    provenance::line(&mut page, &inputs.timestamp);
    page.raw(&format!("<p class=\"lead\">{}</p>\n", escape(&purpose(plan, inputs))));
    let evaluation = evaluation(measurements, plan, trained);
    headline(&mut page, measurements, plan, trained, inputs, evaluation.as_ref());
    if !inputs.curve.is_empty() {
        page.section("Measured problems", |page| measured(page, inputs));
    }
    if trained.iter().any(|one| !one.validation.folds.is_empty()) {
        page.section("Folds", |page| folds(page, plan, trained));
        page.section("Trees", |page| trees(page, plan, trained));
    }
    if let Some(evaluation) = &evaluation {
        page.section("Regret by problem", |page| regret(page, evaluation));
        page.section("Kinds of problems", |page| {
            page.text("How good the choices on held-out problems are.");
            slices(page, &evaluation.slices);
        });
        page.section("Worst problems", |page| worst(page, evaluation, measurements));
    }
    page.section("What the forests split on", |page| forests(page, trained));
    page.section("Data", |page| data(page, measurements, plan, inputs));
    page.finish()
}

fn headline(
    page: &mut Page,
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
    inputs: &CardInputs,
    evaluation: Option<&Evaluation>,
) {
    let ranking = plan.ranking(trained);
    let mut figures = Vec::new();
    if let (Some(one), Some(evaluation)) =
        (ranking.and_then(|one| one.validation.efficiency.as_ref()), evaluation)
    {
        figures = efficiencies(one.shares());
        figures.extend([
            Figure::new("ndcg_at_1", "oracle chosen", percent(evaluation.hit_rate(1))),
            Figure::new("num_shapes", "problems held out", count(one.problems)),
        ]);
    }
    let learned = inputs.curve.iter().rev().find(|point| point.measured > 0);
    if let (Some(point), true) = (learned, figures.is_empty()) {
        figures = efficiencies(point.efficiency.shares());
        figures.push(Figure::new("num_measured", "measured problems", count(point.measured)));
    }
    let judged = !figures.is_empty();
    let rows = measurements.valid_rows().count();
    figures.push(Figure::new("num_rows", "valid measurements", count(rows)));
    page.figures(&figures);
    if !judged {
        page.text(
            "No choice was evaluated on held-out problems, \
             so nothing here says how good choices on other problems are.",
        );
        return;
    }
    let Some(evaluation) = evaluation else {
        return page.text(
            "Of problems that were not measured. Efficiency is the measured speed of the chosen kernel over \
             that of the fastest measured one.",
        );
    };
    page.text(
        "By cross-validation: each problem is judged by a forest that had not seen it. Efficiency is the \
         measured speed of the chosen kernel over that of the fastest measured one.",
    );
    choices(page, evaluation, measurements, "this model");
}

/// How a tuned model improved.
fn measured(page: &mut Page, inputs: &CardInputs) {
    page.text(
        "Efficiency by the number of problems that were measured. What is expected comes from the measured \
         problems, each held out or measured later, among the kernels that were measured; what was found \
         comes from recorded problems that were not measured, among all kernels. Each line judges the same \
         problems everywhere. At 0 the universal model chose alone.",
    );
    for (title, of) in [
        ("Mean efficiency", (|point| point.efficiency.mean) as fn(&CurvePoint) -> f64),
        ("What nine of ten problems reach", |point| point.efficiency.p10),
    ] {
        let x = inputs.curve.iter().map(|point| point.measured as f64);
        let x = Axis::of_counts("measured problems", x);
        let all = by_method(&inputs.curve, of);
        let picture = chart::series("efficiency by measured problems", &x, ("efficiency", Unit::Share), &all);
        page.raw(&format!("<h3>{title}</h3>\n{picture}"));
    }
    page.table(
        &["way", "measured", "draws", "judged", "mean", "median", "P10", "worst", "best of 3"],
        inputs.curve.iter().map(|CurvePoint { method, measured, draws, efficiency }| {
            let counts = [*measured, *draws, efficiency.problems].map(count);
            let shares = efficiency.shares().map(percent);
            std::iter::once((*method).to_owned()).chain(counts).chain(shares).collect()
        }),
    );
}

/// A figure of the points of each method, in their order.
fn by_method(points: &[CurvePoint], of: fn(&CurvePoint) -> f64) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for point in points {
        let at = (point.measured as f64, of(point));
        match all.iter_mut().find(|known| known.name == point.method) {
            Some(known) => known.points.push(at),
            None => all.push(Series::new(point.method, Mark::Line, [at])),
        }
    }
    for one in &mut all {
        one.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

fn forest_title(page: &mut Page, one: &TrainedForest) {
    page.raw(&format!("<h3>Forest of {}, objective {}</h3>\n", one.goal.target, one.goal.objective));
}

fn folds(page: &mut Page, plan: &Plan, trained: &[TrainedForest]) {
    let apart = plan.promise();
    page.text(&format!("{}; {apart}. {}", held_out_text(trained), stopping(plan.stop)));
    for one in trained.iter().filter(|one| !one.validation.folds.is_empty()) {
        forest_title(page, one);
        let folds = &one.validation.folds;
        let names: Vec<String> = folds.iter().map(FoldMetrics::name).collect();
        let dots = |name: &str, of: fn(&Efficiency) -> f64| {
            let point =
                |(index, fold): (usize, &FoldMetrics)| Some((index as f64, of(fold.efficiency.as_ref()?)));
            Series::new(name, Mark::Dots, folds.iter().enumerate().filter_map(point))
        };
        let mut all = vec![dots("mean", |fold| fold.mean), dots("P10", |fold| fold.p10)];
        all.retain(|one| !one.points.is_empty());
        if !all.is_empty() {
            let x = Axis::of_names("fold", &names);
            page.raw(&chart::series("efficiency by fold", &x, ("efficiency", Unit::Share), &all));
        }
        // A column that no fold has is left out.
        let share = |value: Option<f64>| value.map_or_else(String::new, percent);
        let error = |value: Option<f64>| value.map_or_else(String::new, number);
        page.table(
            &[
                "fold", "problems", "rows held out", "rows trained on", "trees", "mean", "median", "P10",
                "worst", "best of 3", "RMSE", "R²",
            ],
            folds.iter().zip(&names).map(|(fold, name)| {
                let counts = [fold.val_groups, fold.val_size, fold.train_size, fold.best_iteration];
                let shares = Efficiency::shares_of(fold.efficiency.as_ref());
                let errors = [fold.rmse, fold.r2].map(error);
                let figures = counts.map(count).into_iter().chain(shares.map(share)).chain(errors);
                std::iter::once(escape(name)).chain(figures).collect()
            }),
        );
    }
}

/// How the number of trees was chosen.
fn trees(page: &mut Page, plan: &Plan, trained: &[TrainedForest]) {
    if trained.iter().all(|one| one.validation.rounds.iter().all(Option::is_none)) {
        page.text(stopping(plan.stop));
    }
    for one in trained {
        let watched: Vec<_> = one
            .validation
            .rounds
            .iter()
            .enumerate()
            .filter_map(|(fold, rounds)| Some((fold, rounds.as_ref()?)))
            .collect();
        let Some((_, first)) = watched.first() else { continue };
        forest_title(page, one);
        page.text(&format!(
            "The {} on problems that are not trained on, by number of trees; the dot is where each training \
             ends. The final forest has {} trees.",
            first.loss,
            count(one.forest.trees().len())
        ));
        let folds = &one.validation.folds;
        let named = |fold: usize| folds.get(fold).map_or_else(|| count(fold + 1), FoldMetrics::name);
        let all: Vec<Series> = watched
            .iter()
            .map(|(fold, rounds)| {
                let losses = (1..).map(f64::from).zip(rounds.losses.iter().copied());
                let kept = Some(rounds.best.saturating_sub(1));
                Series { kept, ..Series::new(&format!("fold {}", named(*fold)), Mark::Line, losses) }
            })
            .collect();
        let most = watched.iter().map(|(_, rounds)| rounds.losses.len()).max().unwrap_or(1);
        let x = Axis::new("trees", Unit::Count, [1.0, most as f64]);
        page.raw(&chart::series(&format!("{} by trees", first.loss), &x, (first.loss, Unit::Number), &all));
        page.table(
            &["fold", "trees kept", "trees tried", "at one tree", "lowest", "loss"],
            watched.iter().map(|(fold, rounds)| {
                let at = |index: usize| rounds.losses.get(index).copied().unwrap_or(f64::NAN);
                let counts = [rounds.best, rounds.losses.len()].map(count);
                let losses = [at(0), at(rounds.best.saturating_sub(1))].map(number);
                let name = std::iter::once(escape(&named(*fold)));
                name.chain(counts).chain(losses).chain([rounds.loss.to_owned()]).collect()
            }),
        );
    }
    page.raw(
        "<p>How good choices become as more problems are measured is another question, for which \
         <code>ckselect tune --counts</code> trains again and again.</p>\n",
    );
}

fn forests(page: &mut Page, trained: &[TrainedForest]) {
    for one in trained {
        forest_title(page, one);
        let names: Vec<&str> = one.data.names.iter().map(String::as_str).collect();
        importances(page, &names, &one.forest, usize::MAX);
        let params = one.goal.params.to_json();
        page.details("parameters", |page| {
            let pairs = params.as_object().into_iter().flatten();
            page.table(
                &["parameter", "value"],
                pairs.map(|(name, value)| vec![escape(name), escape(&value.to_string())]),
            );
        });
    }
}

fn data(page: &mut Page, measurements: &Measurements, plan: &Plan, inputs: &CardInputs) {
    page.table(
        &["file", "rows", "SHA-256", "part"],
        measurements.sources().iter().zip(&inputs.digests).enumerate().map(|(index, (source, digest))| {
            vec![
                escape(&source.file_name()),
                count(source.rows),
                provenance::hash(digest),
                part(plan.only_trains(index)).to_owned(),
            ]
        }),
    );
    page.text("The command that trains the same model again:");
    page.raw(&format!("<p><code>{}</code></p>\n", escape(&inputs.command)));
}
