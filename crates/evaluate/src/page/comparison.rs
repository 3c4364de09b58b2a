//! Two rankings side by side, as a page: whether the new one may replace the old one, and where they differ.

use super::chart;
use super::html::{Figure, Page};
use super::provenance::{self, Provenance};
use super::text::{brief, code, count, percent};
use crate::compare::{Change, Comparison};
use ck_select_measurements::Measurements;

/// Maximum number of problems that are listed.
const LISTED: usize = 1000;

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The name of the model, or of what else chooses.
    pub name: &'a str,
    /// The side's files.
    pub made: &'a Provenance,
}

/// Writes the page.
pub fn comparison(comparison: &Comparison, measurements: &Measurements, [old, new]: [Side<'_>; 2]) -> String {
    let mut page = Page::new(&format!("{} against {}", new.name, old.name));
    provenance::line(&mut page, &new.made.at);
    let verdict = if comparison.accepted() { "Accepted" } else { "Not accepted" };
    page.raw(&format!("<p class=\"lead\">{verdict}.</p>\n"));
    let mut figures = vec![
        Figure::new("problems", "problems compared", count(comparison.problems)),
        Figure::new("agreements", "same kernel chosen", count(comparison.agreements)),
        Figure::new("improved", "faster choice", count(comparison.improved)),
        Figure::new("same", "same speed", count(comparison.same)),
        Figure::new("degraded", "slower choice", count(comparison.degraded)),
    ];
    if comparison.lost > 0 {
        figures.push(Figure::new("lost", "without a choice", count(comparison.lost)));
    }
    page.figures(&figures);
    page.text("Efficiency is the measured speed of the chosen kernel over that of the fastest measured one.");
    page.section("Criteria", |page| criteria(page, comparison));
    page.section("Problems with another choice", |page| changes(page, &comparison.changes, measurements));
    page.section("Data", |page| new.made.data(page, measurements));
    for (title, side) in [("Old", old), ("New", new)] {
        if !side.made.model.is_empty() {
            page.section(&format!("{title}: {}", side.name), |page| side.made.model(page));
        }
    }
    page.finish()
}

fn criteria(page: &mut Page, comparison: &Comparison) {
    page.table(
        &["figure", "old", "new", "change", "allowed loss", "verdict"],
        comparison.criteria.iter().map(|one| {
            let shares = [one.old, one.new, one.delta(), one.limit].map(percent);
            let verdict = if one.holds() { "ok" } else { "<b>too low</b>" };
            std::iter::once(one.name.to_owned()).chain(shares).chain([verdict.to_owned()]).collect()
        }),
    );
}

fn changes(page: &mut Page, changes: &[Change], measurements: &Measurements) {
    if changes.is_empty() {
        page.text("Both choose the same kernel for every problem.");
        return;
    }
    page.text("The largest loss first; to the right is what gained.");
    let most = changes.iter().map(|one| (one.new - one.old).abs()).fold(0.0, f64::max);
    let name = |kernel: Option<u32>| {
        kernel.map_or_else(|| "none".to_owned(), |kernel| code(&measurements.kernels()[kernel as usize].name))
    };
    page.named_table(
        "changes",
        &["problem, old kernel → new one", "", "change", "old", "new"],
        changes.iter().take(LISTED).map(|one| {
            let change = one.new - one.old;
            let problem = &measurements.problems()[one.problem as usize];
            let kernels = [one.old_kernel, one.new_kernel].map(name).join(" → ");
            vec![
                format!("{}<br>{kernels}", code(&brief(&problem.to_string()))),
                chart::diverging(if most > 0.0 { change / most } else { 0.0 }),
                percent(change),
                percent(one.old),
                percent(one.new),
            ]
        }),
    );
    if changes.len() > LISTED {
        page.text(&format!("{} of {} are listed.", count(LISTED), count(changes.len())));
    }
}
