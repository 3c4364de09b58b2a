//! How far a sweep is that still runs, as the head of its page.

use super::html::{Figure, Page};
use super::provenance;
use super::text::{code, count, duration, escape, number, short};
use ck_select_measurements::Measurements;

/// Seconds until the browser reloads the page of a running sweep.
const AGAIN: u64 = 5;

/// The progress of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Rows of the plan.
    pub planned: usize,
    /// Rows a second since its process began.
    pub rate: Option<f64>,
}

/// The page of a sweep without a row that has a time: of one that runs, or of one that has ended.
pub fn empty(log: &str, at: &str, runs: bool) -> String {
    let mut page = Page::new(&format!("{log}: a sweep"));
    provenance::line(&mut page, at);
    if runs {
        page.again(AGAIN);
    }
    page.text(if runs { "Running. No row has a time yet." } else { "No row has a time." });
    page.finish()
}

pub(super) fn write(page: &mut Page, progress: Progress, measurements: &Measurements) {
    let (rows, planned) = (measurements.rows().len(), progress.planned);
    let share = format!("{:.0} %", (rows as f64 / planned.max(1) as f64 * 100.0).floor());
    let rate = progress.rate.filter(|rate| *rate > 0.0);
    let left = rate.map(|rate| duration(planned.saturating_sub(rows) as f64 / rate * 1e3));
    let a_minute = rate.map(|rate| short((rate * 60.0 * 10.0).round() / 10.0));
    page.again(AGAIN);
    page.raw(&format!("<p class=\"lead\">Running. This page is updated every {AGAIN} seconds.</p>\n"));
    page.raw(&format!(
        "<progress id=\"progress\" max=\"{}\" value=\"{}\" aria-label=\"rows that are done\">{}</progress>\n",
        planned.max(1),
        rows.min(planned),
        escape(&share)
    ));
    let mut figures = vec![
        Figure::new("rows", "rows", format!("{} of {}", count(rows), count(planned))),
        Figure::new("share", "done", share),
    ];
    // What is not known yet has no figure.
    let later = [
        ("rate", "rows a minute", a_minute),
        ("left", "time left", left),
        ("best", "fastest so far", fastest(measurements)),
    ];
    figures.extend(later.into_iter().filter_map(|(id, label, value)| Some(Figure::new(id, label, value?))));
    page.figures(&figures);
}

/// The highest speed of all rows, and its kernel.
fn fastest(measurements: &Measurements) -> Option<String> {
    let row = measurements.valid_rows().max_by(|a, b| a.tflops.total_cmp(&b.tflops))?;
    let kernel = code(&measurements.kernels()[row.kernel as usize].name);
    Some(format!("{} TFLOPS <small>{kernel}</small>", number(row.tflops)))
}
