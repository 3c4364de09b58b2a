//! Charts as inline SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 34.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 24.0;

/// A plane with axes; x and y go from 0 to 1 of the plot's area.
struct Plot {
    svg: String,
}

impl Plot {
    fn new(label: &str) -> Self {
        let svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\">\n\
             <path class=\"axis\" d=\"M{LEFT} {TOP}V{base}H{end}\"/>\n",
            base = HEIGHT - BOTTOM,
            end = WIDTH - RIGHT
        );
        Self { svg }
    }

    fn x(share: f64) -> f64 {
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(share: f64) -> f64 {
        HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
    }

    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // A String takes whatever is written.
        let written = self.svg.write_fmt(text);
        debug_assert!(written.is_ok());
    }

    fn mark_x(&mut self, share: f64, text: &str) {
        let (x, y) = (Self::x(share), HEIGHT - BOTTOM + 18.0);
        self.add(format_args!("<text class=\"x\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"));
    }

    fn mark_y(&mut self, share: f64, text: &str) {
        let (x, y, end) = (LEFT - 8.0, Self::y(share), WIDTH - RIGHT);
        self.add(format_args!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{end}\"/>\n"));
        self.add(format_args!("<text class=\"y\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>\n", y + 4.0));
    }

    fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

/// Regrets from the largest to the smallest, as steps over the share of problems.
pub(super) fn regret(sorted: &[f64]) -> String {
    let mut plot = Plot::new("regret by problem, largest first");
    let highest = sorted.first().copied().filter(|value| *value > 0.0).unwrap_or(0.01);
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        plot.mark_y(share, &format!("{:.1} %", share * highest * 100.0));
    }
    for (share, text) in [(0.0, "0"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")] {
        plot.mark_x(share, text);
    }
    let count = sorted.len().max(1) as f64;
    plot.add(format_args!("<path class=\"area\" d=\"M{:.1} {:.1}", Plot::x(0.0), Plot::y(0.0)));
    for (place, value) in sorted.iter().enumerate() {
        let (from, to) = (Plot::x(place as f64 / count), Plot::x((place + 1) as f64 / count));
        let y = Plot::y(value / highest);
        plot.add(format_args!("L{from:.1} {y:.1}L{to:.1} {y:.1}"));
    }
    plot.add(format_args!("L{:.1} {:.1}Z\"/>\n", Plot::x(1.0), Plot::y(0.0)));
    plot.finish()
}

/// Mean efficiency of the best of the first k, for k from 1.
pub(super) fn top_k(means: &[f64]) -> String {
    let mut plot = Plot::new("best of the first k");
    let lowest = means.first().copied().filter(|value| *value < 1.0).unwrap_or(0.99);
    let height = |value: f64| (value - lowest) / (1.0 - lowest);
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        plot.mark_y(share, &format!("{:.1} %", (lowest + share * (1.0 - lowest)) * 100.0));
    }
    let last = means.len().saturating_sub(1).max(1) as f64;
    let every = means.len().div_ceil(10).max(1);
    for place in (0..means.len()).step_by(every) {
        plot.mark_x(place as f64 / last, &(place + 1).to_string());
    }
    plot.add(format_args!("<path class=\"line\" d=\""));
    for (place, value) in means.iter().enumerate() {
        let command = if place == 0 { 'M' } else { 'L' };
        let (x, y) = (Plot::x(place as f64 / last), Plot::y(height(*value)));
        plot.add(format_args!("{command}{x:.1} {y:.1}"));
    }
    plot.add(format_args!("\"/>\n"));
    plot.finish()
}

/// Shares by a number, a line a series; the number's steps are wider where it is small.
pub(super) fn curves(series: &[(&str, Vec<(usize, f64)>)]) -> String {
    let mut plot = Plot::new("efficiency by measured problems");
    let points = || series.iter().flat_map(|(_, points)| points.iter().copied());
    let most = points().map(|(count, _)| count).max().unwrap_or(0);
    let lowest = points().map(|(_, share)| share).fold(0.99, f64::min);
    let along = |count: usize| ((count + 1) as f64).ln() / ((most + 2) as f64).ln();
    let height = |share: f64| ((share - lowest) / (1.0 - lowest)).clamp(0.0, 1.0);
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        plot.mark_y(share, &format!("{:.1} %", (lowest + share * (1.0 - lowest)) * 100.0));
    }
    let mut counts: Vec<usize> = points().map(|(count, _)| count).collect();
    counts.sort_unstable();
    counts.dedup();
    for count in counts {
        plot.mark_x(along(count), &count.to_string());
    }
    for (number, (name, points)) in series.iter().enumerate() {
        plot.add(format_args!("<path class=\"line line{number}\" d=\""));
        for (place, &(count, share)) in points.iter().enumerate() {
            let command = if place == 0 { 'M' } else { 'L' };
            plot.add(format_args!("{command}{:.1} {:.1}", Plot::x(along(count)), Plot::y(height(share))));
        }
        plot.add(format_args!("\"/>\n"));
        if let Some(&(count, share)) = points.last() {
            let (x, y) = (Plot::x(along(count)) - 4.0, Plot::y(height(share)) - 6.0);
            plot.add(format_args!("<text class=\"y\" x=\"{x:.1}\" y=\"{:.1}\">{name}</text>\n", y.max(TOP)));
        }
    }
    plot.finish()
}

/// A share as a bar.
pub(super) fn bar(share: f64) -> String {
    let width = (share.clamp(0.0, 1.0) * 120.0).max(1.0);
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 120 10\" aria-hidden=\"true\"><path d=\"M0 0H{width:.1}V10H0Z\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_stay_inside_of_their_frame_and_have_numbers() {
        for svg in [regret(&[0.4, 0.1, 0.0]), regret(&[0.0]), regret(&[]), top_k(&[0.9, 1.0]), top_k(&[1.0])]
        {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            let path = svg.rsplit("d=\"").next().unwrap();
            let path = path.split('"').next().unwrap();
            let numbers: Vec<f64> = path
                .split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
                .filter(|word| !word.is_empty())
                .map(|word| word.parse().unwrap())
                .collect();
            assert!(numbers.iter().all(|&number| (0.0..=WIDTH).contains(&number)), "{path}");
        }
    }
}
