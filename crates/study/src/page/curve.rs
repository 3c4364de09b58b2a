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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_each_way_and_every_figure() {
        let point = |way, measured, mean| CurvePoint {
            way,
            measured,
            draws: 5,
            judged: 132,
            mean,
            median: 0.99,
            p10: 0.9,
            min: 0.5,
            best_of_top3: 0.995,
        };
        let page = curve(
            &[point("tuned", 0, 0.9625), point("tuned", 10, 0.97), point("alone", 10, 0.9)],
            "gfx950",
            "now",
        );
        for text in ["tuned", "alone", "96.25 %", "<path class=\"line", "132"] {
            assert!(page.contains(text), "{text}");
        }
        assert!(page.contains("<p>measured problems (logarithmic scale)</p>"), "{page}");
        let (shown, _) = page.split_once("<script>").unwrap();
        assert!(!shown.contains("NaN"));
    }
}
