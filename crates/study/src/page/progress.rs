//! A running sweep as an HTML page.

use super::html::Page;
use super::made;
use super::sweep::results;
use super::text::{code, count, duration, escape, number, percent};
use crate::survey::Survey;
use ck_select_data::measurements::Measurements;

/// A GPU's current core clock in MHz, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// The GPU's index on its host.
    pub gpu: String,
    /// Its name.
    pub name: String,
    /// The current clock.
    pub now: Option<u32>,
    /// The highest clock.
    pub most: u32,
}

/// The progress of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The time of this state, as `YYYY-MM-DDThh:mm:ss` in UTC.
    pub at: String,
    /// The log.
    pub log: String,
    /// Rows of the plan.
    pub planned: usize,
    /// Rows of the log.
    pub rows: usize,
    /// Rows per second, once the log was read twice.
    pub rate: Option<f64>,
    /// The clocks of its GPUs, if their driver reports them.
    pub clocks: Vec<Clock>,
    /// How the sweep ended; `None` while it runs.
    pub ended: Option<String>,
    /// Seconds until the browser reloads the page, while the sweep runs.
    pub again: u64,
}

impl Progress {
    /// Milliseconds until the sweep is complete, at this rate.
    fn left_ms(&self) -> Option<f64> {
        let rate = self.rate.filter(|rate| *rate > 0.0 && self.ended.is_none())?;
        Some(self.planned.saturating_sub(self.rows) as f64 / rate * 1e3)
    }
}

/// Writes the page. `found` has the results so far, once a row has a time.
pub fn progress(progress: &Progress, found: Option<(&Survey, &Measurements)>) -> String {
    let mut page = Page::new(&format!("{}: a sweep", progress.log));
    if progress.ended.is_none() {
        page.again(progress.again);
    }
    made::line(&mut page, &progress.at);
    let share = progress.rows as f64 / progress.planned.max(1) as f64;
    let state = progress.ended.as_ref().map_or_else(
        || format!("Running. This page is updated every {} seconds.", progress.again),
        |how| format!("It ended: {how}."),
    );
    page.raw(&format!("<p class=\"lead\">{}</p>\n", escape(&state)));
    page.raw(&format!(
        "<progress id=\"progress\" max=\"{}\" value=\"{}\" aria-label=\"rows that are done\">{}</progress>\n",
        progress.planned.max(1),
        progress.rows.min(progress.planned),
        percent(share)
    ));
    let failed = found.map(|(survey, _)| survey.failures.iter().map(|class| class.rows).sum());
    page.figures(&[
        ("rows", "rows", format!("{} of {}", count(progress.rows), count(progress.planned))),
        ("share", "done", percent(share)),
        (
            "rate",
            "rows a minute",
            progress.rate.map_or_else(unknown, |rate| count((rate * 60.0).round() as usize)),
        ),
        ("left", "time left", progress.left_ms().map_or_else(unknown, duration)),
        ("failed", "rows without a time", failed.map_or_else(unknown, count)),
        ("best", "fastest so far", found.map_or_else(unknown, |(_, measurements)| fastest(measurements))),
    ]);
    if !progress.clocks.is_empty() {
        page.section("GPUs", |page| clocks(page, &progress.clocks));
    }
    let Some((survey, measurements)) = found else {
        page.text("No row has a time yet.");
        return page.finish();
    };
    results(&mut page, survey, measurements);
    page.finish()
}

fn clocks(page: &mut Page, clocks: &[Clock]) {
    let mhz = |mhz: u32| format!("{} MHz", count(mhz as usize));
    page.table(
        &["GPU", "name", "core clock now", "at most"],
        clocks.iter().map(|clock| {
            let (gpu, name) = (escape(&clock.gpu), escape(&clock.name));
            vec![gpu, name, clock.now.map_or_else(unknown, mhz), mhz(clock.most)]
        }),
    );
}

fn unknown() -> String {
    "–".to_owned()
}

/// The highest speed of all rows, and its kernel.
fn fastest(measurements: &Measurements) -> String {
    let valid = measurements.rows().iter().filter(|row| row.is_valid);
    valid.max_by(|a, b| a.tflops.total_cmp(&b.tflops)).map_or_else(unknown, |row| {
        let kernel = code(&measurements.kernels()[row.kernel as usize].name);
        format!("{} TFLOPS <small>{kernel}</small>", number(row.tflops))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_shown_where_they_are_known() {
        let clock = Clock { gpu: "3".to_owned(), name: "<X>".to_owned(), now: Some(1700), most: 2100 };
        let still = Progress {
            at: "2026-01-02T03:04:05".to_owned(),
            log: "sweep.csv".to_owned(),
            planned: 30,
            rows: 0,
            rate: None,
            clocks: vec![clock.clone(), Clock { now: None, ..clock }],
            ended: None,
            again: 5,
        };
        let page = progress(&still, None);
        for row in [
            "<td>3</td><td>&lt;X&gt;</td><td>1\u{202f}700 MHz</td><td>2\u{202f}100 MHz</td>",
            "<td>–</td><td>2\u{202f}100 MHz</td>",
        ] {
            assert!(page.contains(row), "{row}: {page}");
        }
        let unknown = progress(&Progress { clocks: Vec::new(), ..still }, None);
        assert!(!unknown.contains("core clock"));
    }
}
