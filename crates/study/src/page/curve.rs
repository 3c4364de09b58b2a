//! A learning curve: its charts and its table.

use ck_select_train::CurvePoint;

use super::chart::{self, Axis, Mark, Series, Unit};
use super::html::Page;
use super::text::{count, percent};

/// The charts, each with its title.
pub(super) fn charts(points: &[CurvePoint]) -> [(&'static str, String); 2] {
    [
        ("Mean efficiency", (|point| point.mean) as fn(&CurvePoint) -> f64),
        ("What nine of ten problems reach", |point| point.p10),
    ]
    .map(|(title, of)| {
        let x = points.iter().map(|point| point.measured as f64);
        let x = Axis::of_counts("measured problems", x);
        let all = ways(points, of);
        let y = Axis::rounded("efficiency", Unit::Share, chart::values(&all));
        (title, chart::series("efficiency by measured problems", &x, &y, &all))
    })
}

/// All figures as a table.
pub(super) fn figures(page: &mut Page, points: &[CurvePoint]) {
    page.table(
        &["way", "measured", "draws", "judged", "mean", "median", "P10", "worst", "best of 3"],
        points.iter().map(|point| {
            let counts = [point.measured, point.draws, point.judged].map(count);
            let shares = [point.mean, point.median, point.p10, point.min, point.best_of_top3].map(percent);
            std::iter::once(point.way.to_owned()).chain(counts).chain(shares).collect()
        }),
    );
}

/// The points of each way, in their order.
fn ways(points: &[CurvePoint], of: fn(&CurvePoint) -> f64) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for point in points {
        let at = (point.measured as f64, of(point));
        match all.iter_mut().find(|known| known.name == point.way) {
            Some(known) => known.points.push(at),
            None => all.push(Series::new(point.way, Mark::Line, [at])),
        }
    }
    for one in &mut all {
        one.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}
