//! Self-contained pages: one HTML file each, no network, and a small script that they do not depend on.

mod change;
mod charts;
mod curve;
mod explained;
#[cfg(feature = "lightgbm")]
mod lines;
mod made;
mod map;
mod page;
mod plot;
mod running;
mod sweep;
#[cfg(feature = "lightgbm")]
mod training;

use ck_select_model::forest::Forest;
use ck_select_model::model::Model;

use crate::evaluate::{Evaluation, Slices};
use crate::figures::Spread;
use crate::measurements::Measurements;
pub use curve::{CurvePoint, curve};
pub use explained::{Explained, explained};
pub use made::{Made, ModelPlace};
use page::{Page, count, escape, number, percent};
pub use running::{Clock, Running, running};
pub use sweep::{Against, pools, sweep};
#[cfg(feature = "lightgbm")]
pub(crate) use training::training;

/// Number of problems that are shown with their kernels.
const WORST: usize = 20;
/// Number of kernels that are shown for each.
const KERNELS: usize = 10;
/// Number of features whose importance is shown.
const FEATURES: usize = 30;

/// Writes the report on a model, or on the estimate.
pub fn html(
    evaluation: &Evaluation,
    measurements: &Measurements,
    model: Option<&Model>,
    made: &Made,
) -> String {
    let name = model.map_or("estimate", Model::name);
    let mut page = Page::new(&format!("{name}: evaluation"));
    made.line(&mut page);
    let judged = if model.is_some() { "this model" } else { "the estimate" };
    headline(&mut page, evaluation, measurements, made, judged);
    if model.is_some() {
        made.model(&mut page);
    }
    page.section("Regret by problem", |page| regret(page, evaluation));
    page.section("Best of the first k", |page| {
        page.text(
            "Mean efficiency when the first k kernels of the ranking are measured and the fastest is kept.",
        );
        page.raw(&charts::top_k(&evaluation.top_k));
        let shown: Vec<usize> =
            [1, 2, 3, 5, 10, 20].into_iter().filter(|&k| k <= evaluation.top_k.len()).collect();
        page.table(
            &["k", "mean efficiency"],
            shown.into_iter().map(|k| vec![count(k), percent(evaluation.top_k[k - 1])]),
        );
    });
    page.section("Kinds of problems", |page| slices(page, &evaluation.slices));
    page.section("Worst problems", |page| worst(page, evaluation, measurements));
    if let Some(model) = model {
        page.section("What the ranking forest splits on", |page| {
            if let Some(forest) = model.ranking_forest() {
                importances(page, &model.extractor().schema.names(), forest, FEATURES);
            }
        });
        page.section("Within the training data?", |page| coverage(page, evaluation));
    }
    page.finish()
}

fn headline(
    page: &mut Page,
    evaluation: &Evaluation,
    measurements: &Measurements,
    made: &Made,
    judged: &str,
) {
    let summary = &evaluation.summary;
    let Spread { count: problems, mean, p50, p10, min } = summary.efficiency;
    page.figures(&[
        ("efficiency_mean", "mean efficiency", percent(mean)),
        ("efficiency_p50", "median", percent(p50)),
        ("efficiency_p10", "P10", percent(p10)),
        ("efficiency_min", "worst", percent(min)),
        ("best_of_top3_mean", "best of 3", percent(summary.best_of_top3_mean)),
        ("ndcg_at_1", "oracle chosen", percent(summary.top1)),
        ("num_shapes", "problems", count(problems)),
        ("num_rows", "measurements", count(summary.rows)),
    ]);
    page.text("Efficiency is the measured speed of the chosen kernel over that of the fastest measured one.");
    let baselines = &evaluation.baselines;
    let fixed = &measurements.kernels()[baselines.fixed_kernel as usize].name;
    let mut rows = vec![
        vec![judged.into(), percent(mean)],
        vec![format!("best single kernel, <code>{}</code>", escape(fixed)), percent(baselines.fixed_mean)],
        vec!["a random kernel".into(), percent(baselines.random_mean)],
    ];
    if let Some(&three) = evaluation.top_k.get(2) {
        rows.insert(1, vec!["its first three, measured".into(), percent(three)]);
    }
    page.table(&["choice", "mean efficiency"], rows);
    if let Some(errors) = summary.errors {
        page.table(
            &["predicted TFLOPS", ""],
            [
                vec!["R²".into(), number(errors.r2)],
                vec!["RMSE".into(), number(errors.rmse)],
                vec!["mean absolute error".into(), number(errors.mae)],
            ],
        );
    }
    let notes = evaluation.trained_files.iter();
    let notes = notes.map(|&trained| if trained { "<b>the model was trained on this file</b>" } else { "" });
    made.noted_data(page, measurements, notes);
    if evaluation.trained_files.contains(&true) {
        page.text(
            "Every model looks good on its training data: these figures say little about other problems.",
        );
    }
    if evaluation.invalid_rows + evaluation.problems_without_rows > 0 {
        page.text(&format!(
            "{} rows are not valid and are ignored; {} problems have no valid row.",
            evaluation.invalid_rows, evaluation.problems_without_rows
        ));
    }
}

fn regret(page: &mut Page, evaluation: &Evaluation) {
    page.text("Problems from the worst choice to the best. The area is the mean regret.");
    let mut regrets: Vec<f64> = evaluation.outcomes.iter().map(|one| 1.0 - one.efficiency).collect();
    regrets.sort_by(|a, b| b.total_cmp(a));
    page.raw(&charts::regret(&regrets));
}

fn slices(page: &mut Page, slices: &Slices) {
    for (title, list) in [
        ("rows of the GEMM", &slices.shape_family),
        ("depth of the GEMM", &slices.k_regime),
        ("filter", &slices.filter),
        ("groups", &slices.group_kind),
        ("pipeline, among its own kernels", &slices.pipeline),
    ] {
        if list.is_empty() {
            continue;
        }
        page.table(
            &[title, "problems", "mean", "median", "P10", "worst"],
            list.iter().map(|slice| {
                let Spread { count: problems, mean, p50, p10, min } = slice.efficiency;
                let name = escape(&slice.name);
                vec![name, count(problems), percent(mean), percent(p50), percent(p10), percent(min)]
            }),
        );
    }
}

fn worst(page: &mut Page, evaluation: &Evaluation, measurements: &Measurements) {
    let mut places: Vec<usize> = (0..evaluation.outcomes.len()).collect();
    places.sort_by(|&a, &b| evaluation.outcomes[a].efficiency.total_cmp(&evaluation.outcomes[b].efficiency));
    for place in places.into_iter().take(WORST) {
        let (trial, order) = (&evaluation.trials[place], &evaluation.orders[place]);
        let outcome = &evaluation.outcomes[place];
        let problem = &measurements.problems()[outcome.problem as usize];
        let rank = outcome.oracle_rank.map_or_else(|| "none".to_owned(), |rank| (rank + 1).to_string());
        page.details(
            &format!(
                "<b>{}</b> <code>{}</code>, the fastest kernel ranks {rank} of {}",
                percent(outcome.efficiency),
                escape(&brief(&problem.to_string())),
                outcome.candidates
            ),
            |page| {
                let mut by_speed: Vec<usize> = (0..trial.candidates.len()).collect();
                by_speed.sort_by(|&a, &b| trial.efficiency(b).total_cmp(&trial.efficiency(a)));
                let chosen = order.places.first().copied();
                let last_shown = by_speed.len().min(KERNELS);
                let mut shown: Vec<usize> = by_speed[..last_shown].to_vec();
                if let Some(chosen) = chosen.filter(|chosen| !shown.contains(chosen)) {
                    shown.push(chosen);
                }
                page.table(
                    &["kernel", "rank", "TFLOPS", "efficiency"],
                    shown.into_iter().map(|place| {
                        let candidate = trial.candidates[place];
                        let name = escape(&measurements.kernels()[candidate.kernel as usize].name);
                        let rank = order.places.iter().position(|&ranked| ranked == place);
                        let name =
                            if chosen == Some(place) { format!("<b>{name}</b>, chosen") } else { name };
                        vec![
                            name,
                            rank.map_or_else(String::new, |rank| count(rank + 1)),
                            number(candidate.tflops),
                            percent(trial.efficiency(place)),
                        ]
                    }),
                );
            },
        );
    }
}

/// A problem's text without common defaults; values that are the same along all axes appear once.
fn brief(text: &str) -> String {
    let neutral = |key: &str, value: &str| match key {
        "G" | "Di" | "Z" | "split_k" => value == "1",
        "direction" | "ndim" | "layout" | "arch" => true,
        key if key.starts_with("stride") || key.starts_with("dilation") => value == "1",
        key if key.starts_with("pad") => value == "0",
        key => key.starts_with("dtype"),
    };
    let volume = text.contains("ndim=3");
    let mut pairs: Vec<(&str, &str)> =
        text.split(',').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    for (short, long) in [
        ("stride", &["stride_d", "stride_h", "stride_w"][..]),
        ("dilation", &["dilation_d", "dilation_h", "dilation_w"]),
        ("pad", &["pad_d_left", "pad_h_left", "pad_w_left", "pad_d_right", "pad_h_right", "pad_w_right"]),
    ] {
        let long = long.iter().filter(|key| volume || !key.contains("_d"));
        let values: Vec<&str> =
            long.clone().filter_map(|key| Some(pairs.iter().find(|pair| pair.0 == *key)?.1)).collect();
        if values.len() == long.clone().count() && values.windows(2).all(|two| two[0] == two[1]) {
            let first = pairs.iter().position(|pair| long.clone().any(|key| *key == pair.0));
            pairs[first.unwrap_or(0)].0 = short;
            pairs.retain(|pair| !long.clone().any(|key| *key == pair.0));
        }
    }
    let words = pairs.into_iter().filter(|(key, value)| value.is_empty() || !neutral(key, value));
    words
        .map(|(key, value)| if value.is_empty() { key.to_owned() } else { format!("{key}={value}") })
        .collect::<Vec<_>>()
        .join(" ")
}

fn importances(page: &mut Page, names: &[&str], forest: &Forest, most: usize) {
    let mut uses: Vec<_> = names.iter().zip(forest.feature_uses()).collect();
    uses.sort_by(|a, b| b.1.gain.total_cmp(&a.1.gain));
    let total: f64 = uses.iter().map(|(_, feature)| feature.gain).sum();
    page.text(&format!(
        "{} trees, {} leaves in all. Features by their share of the gain.",
        forest.trees().len(),
        forest.leaf_count()
    ));
    page.table(
        &["feature", "share of gain", "", "splits"],
        uses.iter().filter(|(_, feature)| feature.splits > 0).take(most).map(|(name, feature)| {
            let share = if total > 0.0 { feature.gain / total } else { 0.0 };
            vec![escape(name), percent(share), charts::bar(share), feature.splits.to_string()]
        }),
    );
}

fn coverage(page: &mut Page, evaluation: &Evaluation) {
    let coverage = &evaluation.coverage;
    page.text(&format!(
        "{} of {} problems are outside the model's training range.",
        coverage.problems_outside,
        evaluation.outcomes.len()
    ));
    if coverage.unmeasured_kernels > 0 {
        page.text(&format!(
            "{} kernels have a pipeline or a suffix that was never measured for the model.",
            coverage.unmeasured_kernels
        ));
    }
    if coverage.left_out_kernels > 0 {
        page.text(&format!("{} kernels are not ranked by the model.", coverage.left_out_kernels));
    }
    if !coverage.fields.is_empty() {
        page.table(
            &["field", "trained on", "problems outside"],
            coverage
                .fields
                .iter()
                .map(|field| vec![escape(field.name), escape(&field.trained), count(field.outside)]),
        );
    }
    page.table(
        &["feature", "trained from", "to", "asked from", "to", "problems outside"],
        coverage.features.iter().map(|feature| {
            vec![
                escape(feature.name),
                number(feature.trained[0]),
                number(feature.trained[1]),
                number(feature.asked[0]),
                number(feature.asked[1]),
                count(feature.outside),
            ]
        }),
    );
}

#[cfg(test)]
mod tests {
    use ck_select_types::problem::{ConvProblem, GemmProblem, Problem};

    #[test]
    fn a_brief_problem_keeps_what_is_special() {
        let conv =
            ConvProblem { n: 16, c: 64, k: 128, ..ConvProblem::new_2d([28, 28], [3, 1]) }.padded([1, 0]);
        let brief = super::brief(&Problem::from(conv).to_string());
        assert_eq!(brief, "N=16 C=64 K=128 Hi=28 Wi=28 Y=3 X=1 pad_h_left=1 pad_h_right=1");
        let same = ConvProblem { stride: [1, 2, 2], ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
        assert_eq!(
            super::brief(&Problem::from(same).to_string()),
            "N=1 C=1 K=1 Hi=28 Wi=28 Y=3 X=3 stride=2 pad=1"
        );
        let gemm = super::brief(&Problem::from(GemmProblem::new(8, 16, 32)).to_string());
        assert_eq!(gemm, "M=8 N=16 K=32");
    }
}
