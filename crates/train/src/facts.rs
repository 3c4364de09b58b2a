//! Facts about the data for the files of a model directory: what was measured, and the ranges of the
//! features.

use std::collections::HashSet;

use ck_select_model::directory::{TrainedOn, TrainedRange};
use ck_select_types::operation::Operation;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::GemmLibrary;

use ck_select_measurements::Measurements;
use ck_select_measurements::trained;

use super::plan::Plan;
use super::trained::TrainedForest;
use super::warm::WarmStart;

/// The problems, kernels, architectures and files of the rows of all targets. A forest that was continued
/// has also seen the architectures of its own training.
pub(super) fn trained_on(
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
    digests: &[String],
) -> TrainedOn {
    let rows = trained.iter().flat_map(|one| one.data.rows.iter().copied());
    let archs = trained.iter().flat_map(|one| one.data.problems.iter().filter_map(|item| item.arch));
    let before = plan.warm_start.iter().flat_map(WarmStart::archs);
    trained::trained_on(measurements, rows, digests).on(archs.chain(before))
}

/// The ranges of the features over the rows of all targets.
pub(super) fn range(trained: &[TrainedForest]) -> TrainedRange {
    let Some(first) = trained.first() else { return TrainedRange::default() };
    let rows = trained.iter().flat_map(|one| (0..one.data.rows.len()).map(|row| one.data.row(row)));
    TrainedRange::from_rows(&first.data.names, rows)
}

/// Number of problems with a valid row.
pub(super) fn shapes(measurements: &Measurements) -> usize {
    measurements.valid_rows().map(|row| row.problem).collect::<HashSet<_>>().len()
}

/// Whose GEMM kernels were measured, if all have names of one library, which say it.
pub(super) fn library(measurements: &Measurements) -> Option<GemmLibrary> {
    let mut all = measurements.kernels().iter().map(|kernel| kernel.kind.library());
    let first = all.next()?.filter(|first| *first == GemmLibrary::Aiter)?;
    all.all(|other| other == Some(first)).then_some(first)
}

/// The dimensions of a problem, as columns of upstream's tables.
pub(super) fn dimensions(problem: &Problem) -> Vec<(&'static str, i64)> {
    let number = |name: &&'static str| {
        problem.value(name).filter(|(field, _)| field.is_number()).map(|(_, value)| (*name, value))
    };
    Operation::get(problem.op()).columns.iter().filter_map(number).collect()
}
