//! `MODEL_CARD.md`: what a model was trained on, how well it chooses, and its limits.

use std::fmt::Write;

use ck_select_model::directory::{Target, TrainedOn};
use ck_select_types::vocab::{Direction, Dtype};

use ck_select_measurements::Measurements;
use ck_select_measurements::places::GpuFigures;
use ck_select_measurements::trained;

use super::facts;
use super::metrics::Efficiency;
use super::mode::Mode;
use super::plan::{Plan, Stop};
use super::trained::TrainedForest;

/// Contents of a model's files that are not in the data.
#[derive(Debug, Clone)]
pub struct CardInputs {
    /// The model's name.
    pub name: String,
    /// Element type of the data, if it has one.
    pub dtype: Option<Dtype>,
    /// Direction of the convolutions.
    pub direction: Option<Direction>,
    /// The command that trains the same model again.
    pub command: String,
    /// When the model was trained, as `YYYY-MM-DDThh:mm:ss`.
    pub timestamp: String,
    /// The SHA-256 of each file of the data, in order.
    pub digests: Vec<String>,
    /// How choices improved as problems were measured, for a tuned model.
    pub curve: Vec<CurvePoint>,
    /// The ranks of the winners of held-out problems, for a model of winners.
    pub places: Vec<GpuFigures>,
}

/// The quality of choices with this many measured problems: medians of some draws.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// How the model learned.
    pub method: &'static str,
    /// Measured problems.
    pub measured: usize,
    /// Draws of them.
    pub draws: usize,
    /// The efficiency of choices for the problems that were judged.
    pub efficiency: Efficiency,
}

pub(super) fn text(
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
    inputs: &CardInputs,
) -> String {
    let mut card = String::new();
    let out = &mut card;
    let _ = write!(
        out,
        "# {}\n\n{}{} Ranks by `{}`.\nWritten by `ckselect train` {}.\n",
        inputs.name,
        purpose(plan, inputs),
        facts::library(measurements).map_or_else(String::new, |own| format!(" Only kernels of {own}.")),
        plan.rank_by(),
        env!("CARGO_PKG_VERSION"),
    );
    data(out, measurements, plan, inputs);
    forests(out, trained);
    validation(out, plan, trained);
    places(out, &inputs.places);
    limits(out, plan, trained, &facts::trained_on(measurements, plan, trained, &inputs.digests));
    let _ = write!(out, "\n## Train it again\n\n```console\n$ {}\n```\n", inputs.command);
    let _ = writeln!(out, "\nThe same data, version and command give the same forests, byte for byte.");
    card
}

/// The problems and GPUs that the model is for, in words.
pub fn purpose(plan: &Plan, inputs: &CardInputs) -> String {
    let extractor = &plan.extractor;
    let arch = arch_text(plan);
    let direction = inputs.direction.map_or_else(String::new, |direction| format!(" {direction}"));
    let dtype = inputs.dtype.map_or("any type", Dtype::as_str);
    let ops: Vec<String> = extractor.ops().map(|op| op.to_string()).collect();
    format!("Chooses kernels for {}{direction}, {dtype}, on {arch}.", ops.join(" and "))
}

fn arch_text(plan: &Plan) -> String {
    plan.extractor.arch.map_or_else(|| "any architecture".to_owned(), |arch| arch.to_string())
}

/// The use of a data file, in words.
pub const fn part(only_trains: bool) -> &'static str {
    if only_trains { "training only" } else { "cross-validated" }
}

/// What was held out and how often, in words.
pub fn held_out_text(trained: &[TrainedForest]) -> String {
    let folds = || trained.iter().map(|one| &one.validation.folds);
    let Some(most) = folds().max_by_key(|folds| folds.len()) else { return String::new() };
    let left_out: Vec<&str> = most.iter().filter_map(|fold| fold.left_out.as_deref()).collect();
    match left_out.as_slice() {
        [] => format!("{} folds", most.len()),
        [one] => format!("Trained without {one}, and judged on it"),
        several => format!("Trained without each of {}, and judged on it", several.join(", ")),
    }
}

/// How the number of trees was chosen.
pub const fn stopping(stop: Stop) -> &'static str {
    match stop {
        Stop::Never => "The number of trees was fixed beforehand.",
        Stop::Inner => "The number of trees was chosen on a part of the problems that are trained on.",
        Stop::HeldOut => {
            "The number of trees was chosen on the fold that is reported, so the figures flatter."
        }
    }
}

fn data(out: &mut String, measurements: &Measurements, plan: &Plan, inputs: &CardInputs) {
    out.push_str("\n## Data\n\n");
    let rows = measurements.sources().iter().enumerate().map(|(number, source)| {
        let digest = inputs.digests.get(number).map_or("", String::as_str);
        vec![
            source.file_name(),
            source.rows.to_string(),
            format!("`{digest}`"),
            part(plan.only_trains(number)).to_owned(),
        ]
    });
    table(out, &["file", "rows", "SHA-256", "part"], rows);
    let valid = measurements.valid_rows().count();
    let _ = writeln!(
        out,
        "\n{} rows, {valid} valid; {} problems, {} kernels.",
        measurements.rows().len(),
        facts::shapes(measurements),
        measurements.kernels().len()
    );
}

fn forests(out: &mut String, trained: &[TrainedForest]) {
    out.push_str("\n## Forests\n\n");
    let rows = trained.iter().map(|one| {
        let params = one.goal.params.to_json();
        let pairs: Vec<String> =
            params.as_object().into_iter().flatten().map(|(name, value)| format!("{name}={value}")).collect();
        let counts = [one.forest.trees().len(), one.forest.leaf_count()].map(|count| count.to_string());
        let goal = [one.goal.target.to_string(), one.goal.objective.to_string()];
        goal.into_iter().chain(counts).chain([pairs.join(", ")]).collect()
    });
    table(out, &["target", "objective", "trees", "leaves", "parameters"], rows);
    for one in trained.iter().filter(|one| one.continued > 0) {
        let _ =
            writeln!(out, "\nThe forest of {} continues one of {} trees.", one.goal.target, one.continued);
    }
}

fn validation(out: &mut String, plan: &Plan, trained: &[TrainedForest]) {
    out.push_str("\n## Cross-validation\n\n");
    if trained.iter().all(|one| one.validation.folds.is_empty()) {
        out.push_str("None: there were too few problems, or it was not asked for.\n");
        return;
    }
    let (what, stop, apart) = (held_out_text(trained), stopping(plan.stop), plan.promise());
    let _ = writeln!(
        out,
        "{what}; {apart}. {stop}\n\
         Efficiency is the chosen kernel's TFLOPS as a share of the fastest measured kernel's, by problem, \
         in percent.\n"
    );
    let rows = trained.iter().filter_map(|one| {
        let efficiency = one.validation.efficiency.as_ref()?;
        let shares = efficiency.shares().map(|share| format!("{:.2}", share * 100.0));
        Some(
            [one.goal.target.to_string(), efficiency.problems.to_string()]
                .into_iter()
                .chain(shares)
                .collect(),
        )
    });
    table(out, &["target", "problems", "mean", "median", "P10", "min", "best of top 3"], rows);
}

/// Writes what winners teach, and their ranks.
fn places(out: &mut String, places: &[GpuFigures]) {
    let Some(first) = places.first() else { return };
    out.push_str(
        "\n## Winners\n\nA row of these tables says which kernel of a pool won, not how fast the others are. \
         So the model knows who wins how often, not by how much, and nothing of kernels that joined a pool \
         after its tables were tuned. The same configuration, timed again, moves by some percent, so that a \
         winner is often one of several equals. The efficiencies above take all but the timed kernels for \
         slow, and say nothing; below, by shape and by pair of N and K, is how often the held-out winner is \
         among the first 1, 3, 5 and tenth of its pool, and how fast the first kernel is where it was timed, \
         in percent.\n\n",
    );
    // Figures of pools of thousands are for `evaluate`.
    let is_shown = |name: &str| !name.contains("hundredth") && !name.contains("twentieth");
    let figures = first.figures.iter().map(|(name, _)| *name).filter(|name| is_shown(name));
    let counts = first.counts.iter().map(|(name, _)| *name);
    let names: Vec<&str> = ["table"].into_iter().chain(counts).chain(figures).collect();
    let rows = places.iter().map(|one| {
        let counts = one.counts.iter().map(|(_, count)| count.to_string());
        let percent = |value: f64| format!("{:.1}", value * 100.0);
        let figures = one.figures.iter().filter(|(name, _)| is_shown(name));
        let figures = figures.map(|(_, value)| value.map_or_else(String::new, percent));
        [one.name.clone()].into_iter().chain(counts).chain(figures).collect()
    });
    table(out, &names, rows);
}

fn table(out: &mut String, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let _ = writeln!(out, "| {} |\n|{}", header.join(" | "), "---|".repeat(header.len()));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}

fn limits(out: &mut String, plan: &Plan, trained: &[TrainedForest], trained_on: &TrainedOn) {
    if let Some(prior) = trained.first().and_then(|one| one.prior) {
        let archs = trained_on.archs().map(|arch| arch.to_string()).collect::<Vec<_>>().join(", ");
        let arch = arch_text(plan);
        let (answers, elsewhere) = match plan.mode {
            Mode::Sweeps { .. } | Mode::Winners { .. } => (
                format!("For {arch} only, with the estimate as prior."),
                format!("It was trained on {archs}."),
            ),
            Mode::Adapted { .. } => (
                format!("A universal model, adapted to {arch}, and only for it."),
                format!("Its own and the continued measurements are of {archs}."),
            ),
            Mode::Universal { .. } => (
                "A universal model: it answers for every GPU that the estimate knows, whatever it was \
                 trained on, and selections by it are flagged as universal."
                    .to_owned(),
                format!("It was trained on {archs}; elsewhere the estimate counts twice."),
            ),
        };
        let _ = writeln!(
            out,
            "\n## Limits\n\n{answers} A score is the forest's less {prior} times the logarithm of the \
             estimated microseconds, so that scores order the kernels of one problem, and say nothing else. \
             {elsewhere}"
        );
        return;
    }
    out.push_str(&trained::limits(plan.extractor.schema.op(), trained_on));
    if plan.rank_by() == Target::Relative {
        out.push_str("\nScores of `relative` only order the kernels of one problem; they are no TFLOPS.\n");
    }
}
