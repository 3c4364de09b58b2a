//! The evaluation of a model, or of the estimate, as a page.

use ck_select_model::directory::Model;
use ck_select_model::forest::Forest;

use super::chart::{self, Axis, Mark, Series, Unit};
use super::html::{Figure, Page};
use super::provenance::{self, Provenance};
use super::text::{Rounding, brief, code, count, escape, number, percent};
use crate::candidates::counted_as;
use crate::evaluation::{Evaluation, Expected, Losses, Refined, SliceGroup};
use ck_select_measurements::Measurements;
use ck_select_measurements::figures::Spread;

/// Number of problems that are shown with their kernels.
const WORST: usize = 20;
/// Number of kernels that are shown for each.
const KERNELS: usize = 10;
/// Number of features whose importance is shown.
const FEATURES: usize = 30;

/// Writes the report on a model, or on the estimate.
pub fn evaluation(
    evaluation: &Evaluation,
    measurements: &Measurements,
    model: Option<&Model>,
    made: &Provenance,
) -> String {
    let mut page = Page::new(&format!("{}: evaluation", model.map_or("estimate", last_name)));
    provenance::line(&mut page, &made.at);
    in_sample(&mut page, evaluation, measurements);
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
        let points = (1..).map(f64::from).zip(evaluation.top_k.iter().copied());
        let all = [Series::new("", Mark::Line, points)];
        let x = Axis::new("k, kernels that are measured", Unit::Count, [1.0, evaluation.top_k.len() as f64]);
        let y = ("mean efficiency", Unit::Share);
        page.raw(&chart::series("mean efficiency of the best of the first k", &x, y, &all));
        let shown: Vec<usize> =
            [1, 2, 3, 5, 10, 20].into_iter().filter(|&k| k <= evaluation.top_k.len()).collect();
        page.table(
            &["k", "mean efficiency"],
            shown.into_iter().map(|k| vec![count(k), percent(evaluation.top_k[k - 1])]),
        );
    });
    let unknown = evaluation.unknown_losses();
    if evaluation.expected.is_some() || unknown > 0 {
        page.section("How sure it is", |page| {
            evaluation.expected.iter().for_each(|expected| sureness(page, expected));
            if unknown > 0 {
                page.text(&format!(
                    "The expected loss of {unknown} choices is unknown: nothing was learned about such ones."
                ));
            }
        });
    }
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

/// The last part of a model's path: a page names no folder.
pub(super) fn last_name(model: &Model) -> &str {
    model.name().trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Figures on data of the training flatter, which must not be overlooked.
fn in_sample(page: &mut Page, evaluation: &Evaluation, measurements: &Measurements) {
    let sources = measurements.sources().iter().zip(&evaluation.trained_files);
    let files: Vec<String> = sources
        .filter(|(_, trained)| **trained)
        .map(|(source, _)| source.path.display().to_string())
        .collect();
    if !files.is_empty() {
        page.warning(&format!(
            "The model was trained on {}. Every model looks good on its training data: these figures say \
             little about other problems.",
            files.join(", ")
        ));
    }
}

fn headline(
    page: &mut Page,
    evaluation: &Evaluation,
    measurements: &Measurements,
    made: &Provenance,
    judged: &str,
) {
    let Spread { count: problems, mean, p50, p10, min } = evaluation.efficiency;
    let mut figures = efficiencies([mean, p50, p10, min, evaluation.best_of_top(3)]);
    figures.extend([
        Figure::new("ndcg_at_1", "oracle chosen", percent(evaluation.hit_rate(1))),
        Figure::new("num_shapes", counted_as(&evaluation.trials), count(problems)),
        Figure::new("num_rows", "measurements", count(evaluation.rows)),
    ]);
    page.figures(&figures);
    page.text("Efficiency is the measured speed of the chosen kernel over that of the fastest measured one.");
    choices(page, evaluation, measurements, judged);
    if let Some(errors) = evaluation.errors {
        page.table(
            &["predicted TFLOPS", ""],
            [
                vec!["R²".into(), number(errors.r2)],
                vec!["RMSE".into(), number(errors.rmse)],
                vec!["mean absolute error".into(), number(errors.mae)],
            ],
        );
    }
    made.data(page, measurements);
    if evaluation.invalid_rows + evaluation.problems_without_rows > 0 {
        page.text(&format!(
            "{} rows are not valid and are ignored; {} problems have no valid row.",
            evaluation.invalid_rows, evaluation.problems_without_rows
        ));
    }
}

/// Key figures of efficiency, in the order of `Efficiency::shares`.
pub(super) fn efficiencies(shares: [f64; 5]) -> Vec<Figure> {
    let names = [
        ("efficiency_mean", "mean efficiency"),
        ("efficiency_p50", "median"),
        ("efficiency_p10", "P10"),
        ("efficiency_min", "worst"),
        ("best_of_top3_mean", "best of 3"),
    ];
    names.into_iter().zip(shares).map(|((id, label), share)| Figure::new(id, label, percent(share))).collect()
}

/// Writes the judged choices beside choices without a model.
pub(super) fn choices(page: &mut Page, evaluation: &Evaluation, measurements: &Measurements, judged: &str) {
    let baselines = &evaluation.baselines;
    let fixed = code(&measurements.named(baselines.fixed_kernel, baselines.fixed_split_k));
    let three = evaluation.top_k.get(2).map(|&three| ("its first three, measured".to_owned(), three));
    let own = std::iter::once((judged.to_owned(), evaluation.efficiency.mean)).chain(three);
    let rows = own.chain([
        (format!("best single kernel, {fixed}"), baselines.fixed_mean),
        ("a random kernel".to_owned(), baselines.random_mean),
    ]);
    page.table(&["choice", "mean efficiency"], rows.map(|(choice, mean)| vec![choice, percent(mean)]));
}

pub(super) fn regret(page: &mut Page, evaluation: &Evaluation) {
    page.text("Problems from the worst choice to the best. The area is the mean regret.");
    let mut regrets: Vec<f64> = evaluation.outcomes.iter().map(|one| 1.0 - one.efficiency).collect();
    regrets.sort_by(|a, b| b.total_cmp(a));
    let all = [Series::new("", Mark::Steps, (1..).map(f64::from).zip(regrets))];
    let problems = evaluation.outcomes.len() as f64;
    let x = Axis::new("problem, from the worst choice to the best", Unit::Count, [0.5, problems + 0.5]);
    page.raw(&chart::series("regret by problem, largest first", &x, ("regret", Unit::Share), &all));
}

/// Expected beside observed losses.
fn sureness(page: &mut Page, expected: &Expected) {
    page.text(
        "Choices in tenths, from the surest to the least sure, by the loss that was expected of them when they were \
         made. Where both lines agree, the expectation can be trusted.",
    );
    let line = |name: &str, loss: fn(&Losses) -> f64| {
        Series::new(name, Mark::Line, (1..).map(f64::from).zip(expected.tenths.iter().map(loss)))
    };
    let all = [line("expected", |tenth| tenth.expected), line("observed", |tenth| tenth.observed)];
    let x = Axis::new("tenth of the choices", Unit::Count, [1.0, expected.tenths.len() as f64]);
    page.raw(&chart::series(
        "expected and observed loss by tenths of sureness",
        &x,
        ("loss", Unit::Share),
        &all,
    ));
    page.table(
        &["choices", "number", "expected loss", "observed loss", "expected within 2 %", "within 2 %"],
        expected.parts().map(|(name, part)| {
            let shares = [part.expected, part.observed, part.chance, part.within].map(percent);
            [name.to_owned(), count(part.choices)].into_iter().chain(shares).collect::<Vec<_>>()
        }),
    );
    let Refined { measured, loss, fixed } = expected.refined;
    page.text(&format!(
        "Measuring as many of the first kernels as each choice asks for (refine=auto) takes {} measurements a \
         problem and leaves a loss of {}; the same number for each problem would have to be {}.",
        number(measured),
        percent(loss),
        number(fixed)
    ));
}

pub(super) fn slices(page: &mut Page, slices: &[SliceGroup]) {
    for group in slices {
        page.table(
            &[group.title, "problems", "mean", "median", "P10", "worst"],
            group.slices.iter().map(|slice| {
                let Spread { count: problems, mean, p50, p10, min } = slice.efficiency;
                let name = escape(&slice.name);
                vec![name, count(problems), percent(mean), percent(p50), percent(p10), percent(min)]
            }),
        );
    }
}

pub(super) fn worst(page: &mut Page, evaluation: &Evaluation, measurements: &Measurements) {
    let mut places: Vec<usize> = (0..evaluation.outcomes.len()).collect();
    places.sort_by(|&a, &b| evaluation.outcomes[a].efficiency.total_cmp(&evaluation.outcomes[b].efficiency));
    for position in places.into_iter().take(WORST) {
        let (trial, order) = (&evaluation.trials[position], &evaluation.orders[position]);
        let outcome = &evaluation.outcomes[position];
        let problem = &measurements.problems()[outcome.problem as usize];
        let rank = outcome.oracle_rank.map_or_else(|| "none".to_owned(), |rank| (rank + 1).to_string());
        page.details(
            &format!(
                "<b>{}</b> {}, the fastest kernel ranks {rank} of {}",
                percent(outcome.efficiency),
                code(&brief(&problem.to_string())),
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
                let speeds = Rounding::new(trial.candidates.iter().map(|candidate| candidate.tflops));
                page.table(
                    &["kernel", "rank", "TFLOPS", "efficiency"],
                    shown.into_iter().map(|index| {
                        let candidate = trial.candidates[index];
                        let name = &measurements.kernels()[candidate.kernel as usize].name;
                        let name = code(&problem.named(name, candidate.split_k));
                        let rank = order.places.iter().position(|&ranked| ranked == index);
                        let name =
                            if chosen == Some(index) { format!("<b>{name}</b>, chosen") } else { name };
                        vec![
                            name,
                            rank.map_or_else(|| "not ranked".to_owned(), |rank| count(rank + 1)),
                            speeds.say(candidate.tflops),
                            percent(trial.efficiency(index)),
                        ]
                    }),
                );
            },
        );
    }
}

pub(super) fn importances(page: &mut Page, names: &[&str], forest: &Forest, most: usize) {
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
            vec![escape(name), percent(share), chart::bar(share), feature.splits.to_string()]
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
}
