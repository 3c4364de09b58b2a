//! Charts as inline SVG.

use super::page::{count, escape, number, percent, short};
use super::plot::Plot;
#[cfg(test)]
use super::plot::WIDTH;
use crate::survey::Roofline;

/// Maximum number of places of a chart that show their value.
const SAYING: usize = 120;

/// Marks for five shares from `lowest` to `highest`.
fn shares(plot: &mut Plot, lowest: f64, highest: f64) {
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        plot.mark_y(share, &format!("{:.1} %", (lowest + share * (highest - lowest)) * 100.0));
    }
}

/// Regrets from the largest to the smallest, as steps over the share of problems.
pub(super) fn regret(sorted: &[f64]) -> String {
    let mut plot = Plot::new("regret by problem, largest first");
    let highest = sorted.first().copied().filter(|value| *value > 0.0).unwrap_or(0.01);
    shares(&mut plot, 0.0, highest);
    for (share, text) in [(0.0, "0"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")] {
        plot.mark_x(share, text);
    }
    let problems = sorted.len().max(1) as f64;
    let (left, right, ground) = (Plot::x(0.0), Plot::x(1.0), plot.y(0.0));
    plot.add(format_args!("<path class=\"area\" d=\"M{left:.1} {ground:.1}"));
    for (place, value) in sorted.iter().enumerate() {
        let (from, to) = (Plot::x(place as f64 / problems), Plot::x((place + 1) as f64 / problems));
        let y = plot.y(value / highest);
        plot.add(format_args!("L{from:.1} {y:.1}L{to:.1} {y:.1}"));
    }
    plot.add(format_args!("L{right:.1} {ground:.1}Z\"/>\n"));
    let each = sorted.len().div_ceil(SAYING).max(1);
    for (group, values) in sorted.chunks(each).enumerate() {
        let first = group * each;
        let (from, to) = (first as f64 / problems, (first + values.len()) as f64 / problems);
        let all = count(sorted.len());
        let says = format!("problem {} of {all}: regret {}", count(first + 1), percent(values[0]));
        plot.ask(from, to, &says);
    }
    plot.finish()
}

/// Mean efficiency of the best of the first k, for k from 1.
pub(super) fn top_k(means: &[f64]) -> String {
    let mut plot = Plot::new("best of the first k");
    let lowest = means.first().copied().filter(|value| *value < 1.0).unwrap_or(0.99);
    let height = |value: f64| (value - lowest) / (1.0 - lowest);
    shares(&mut plot, lowest, 1.0);
    let last = means.len().saturating_sub(1).max(1) as f64;
    let every = means.len().div_ceil(10).max(1);
    for place in (0..means.len()).step_by(every) {
        plot.mark_x(place as f64 / last, &(place + 1).to_string());
    }
    plot.line("line", means.iter().enumerate().map(|(place, value)| (place as f64 / last, height(*value))));
    for (place, value) in means.iter().enumerate().step_by(means.len().div_ceil(SAYING).max(1)) {
        plot.dot(
            place as f64 / last,
            height(*value),
            2.5,
            &format!("best of {}: {}", place + 1, percent(*value)),
        );
    }
    plot.finish()
}

/// Shares over a number, with a line per series; steps are wider for small numbers.
pub(super) fn curves(label: &str, unit: &str, series: &[(&str, Vec<(usize, f64)>)]) -> String {
    let mut plot = Plot::new(label);
    let points = || series.iter().flat_map(|(_, points)| points.iter().copied());
    let most = points().map(|(count, _)| count).max().unwrap_or(0);
    let lowest = points().map(|(_, share)| share).fold(0.99, f64::min);
    let along = |count: usize| ((count + 1) as f64).ln() / ((most + 2) as f64).ln();
    let height = |share: f64| ((share - lowest) / (1.0 - lowest)).clamp(0.0, 1.0);
    shares(&mut plot, lowest, 1.0);
    let mut counts: Vec<usize> = points().map(|(count, _)| count).collect();
    counts.sort_unstable();
    counts.dedup();
    // Marks that would touch the previous one are left out.
    let mut marked = f64::NEG_INFINITY;
    for count in counts {
        if along(count) - marked > 0.045 {
            marked = along(count);
            plot.mark_x(marked, &count.to_string());
        }
    }
    for (number, (name, points)) in series.iter().enumerate() {
        let class = format!("line line{number}");
        plot.line(&class, points.iter().map(|&(count, share)| (along(count), height(share))));
        for &(at, share) in points.iter().step_by(points.len().div_ceil(SAYING).max(1)) {
            let says = format!("{name} {} {unit}: {}", count(at), percent(share));
            plot.dot(along(at), height(share), 2.5, says.trim_start());
        }
        if let Some(&(count, share)) = points.last() {
            plot.name(along(count), height(share), name);
        }
    }
    plot.finish()
}

/// A histogram with columns of equal width from the lowest to the highest value.
pub(super) fn columns(label: &str, columns: &[(String, usize)]) -> String {
    let mut plot = Plot::new(label);
    let most = columns.iter().map(|column| column.1).max().unwrap_or(0).max(1);
    for step in 0..=4_usize {
        plot.mark_y(step as f64 / 4.0, &short(most as f64 * step as f64 / 4.0));
    }
    let all = columns.len().max(1) as f64;
    let every = columns.len().div_ceil(9).max(1);
    for (place, (name, value)) in columns.iter().enumerate() {
        let from = place as f64 / all;
        let name = escape(name);
        if place % every == 0 {
            plot.mark_x(from, &name);
        }
        let to = from + 0.9 / all;
        plot.bar(from, to, *value as f64 / most as f64, &format!("from {name}: {}", count(*value)));
    }
    plot.finish()
}

/// The fastest kernel of each problem below the device's limits. `shown` are the points, each with its text.
pub(super) fn roofline(roofline: &Roofline, shown: &[(usize, String)]) -> String {
    let label =
        "measured TFLOPS of each problem's fastest kernel by operations a byte, below the device's peaks";
    let mut plot = Plot::of_height(label, 380.0);
    let points = || shown.iter().map(|(place, _)| roofline.points[*place]);
    let peak = roofline.peak();
    let ridge = peak * 1e3 / roofline.memory_gb_s;
    // Whole powers of ten, and a little of the flat part of the roof.
    let (low, high) = points().fold((ridge / 4.0, ridge * 4.0), |(low, high), point| {
        (low.min(point.intensity), high.max(point.intensity))
    });
    let slowest = points().map(|point| point.tflops).fold(peak / 100.0, f64::min);
    let (x0, x1) = (low.log10().floor(), high.log10().ceil());
    let (y0, y1) = (slowest.log10().floor(), (peak * 1.2).log10());
    let x = |value: f64| (value.log10() - x0) / (x1 - x0);
    let y = |value: f64| (value.log10() - y0) / (y1 - y0);
    for power in x0 as i32..=x1 as i32 {
        plot.mark_x(x(10_f64.powi(power)), &short(10_f64.powi(power)));
    }
    for power in y0 as i32..=y1.floor() as i32 {
        plot.mark_y(y(10_f64.powi(power)), &short(10_f64.powi(power)));
    }
    for (class, gb_s) in [("roof cache", roofline.cache_gb_s), ("roof", roofline.memory_gb_s)] {
        // From the bottom or the left edge up the slope to the peak.
        let from = 10_f64.powf(x0).max(10_f64.powf(y0) * 1e3 / gb_s);
        plot.line(class, [(x(from), y(from * gb_s / 1e3)), (x(peak * 1e3 / gb_s), y(peak))]);
    }
    let left = roofline.roofs.iter().map(|roof| roof.tflops * 1e3 / roofline.memory_gb_s);
    for (roof, left) in roofline.roofs.iter().zip(left) {
        plot.line("roof", [(x(left), y(roof.tflops)), (1.0, y(roof.tflops))]);
        let text = format!("{} {} TFLOPS", roof.dtype, number(roof.tflops.round()));
        plot.name(1.0, y(roof.tflops), &text);
    }
    for (row, (place, says)) in shown.iter().enumerate() {
        let point = roofline.points[*place];
        let (x, y) = (Plot::x(x(point.intensity)), plot.y(y(point.tflops)));
        plot.add(format_args!(
            "<circle class=\"dot\" data-row=\"{row}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\">\
             <title>{says}</title></circle>\n"
        ));
    }
    plot.finish()
}

/// A share as a bar.
pub(super) fn bar(share: f64) -> String {
    let width = (share.clamp(0.0, 1.0) * 120.0).max(1.0);
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 120 10\" aria-hidden=\"true\"><path d=\"M0 0H{width:.1}V10H0Z\"/>\
         </svg>"
    )
}

/// A share from -1 to 1 as a bar to the left or to the right.
pub(super) fn diverging(share: f64) -> String {
    let end = 80.0 + share.clamp(-1.0, 1.0) * 80.0;
    let (from, width, side) = if end < 80.0 { (end, 80.0 - end, "less") } else { (80.0, end - 80.0, "more") };
    format!(
        "<svg class=\"bar diverging\" viewBox=\"0 0 160 10\" aria-hidden=\"true\">\
         <path class=\"{side}\" d=\"M{from:.1} 0h{width:.1}v10h-{width:.1}Z\"/>\
         <path class=\"middle\" d=\"M80 0V10\"/></svg>"
    )
}

/// A mark on a line from 0 to 1.
pub(super) fn place(share: f64) -> String {
    let x = 4.0 + share.clamp(0.0, 1.0) * 112.0;
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 120 10\" aria-hidden=\"true\">\
         <path class=\"scale\" d=\"M4 4.5H116V5.5H4Z\"/>\
         <circle class=\"dot\" cx=\"{x:.1}\" cy=\"5\" r=\"4\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_go_to_their_side() {
        assert!(diverging(-0.5).contains("class=\"less\" d=\"M40.0 0h40.0v10"));
        assert!(diverging(0.25).contains("class=\"more\" d=\"M80.0 0h20.0v10"));
        assert!(place(0.5).contains("cx=\"60.0\"") && place(7.0).contains("cx=\"116.0\""));
    }

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
