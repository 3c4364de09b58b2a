//! Charts as inline SVG: axes with their names and ticks, lines, dots and bars, and small bars for cells of tables.
//! Every position is a share of the chart's area, so that a chart stretches to the width of its page while its text
//! stays as large as the page's.

use std::fmt::Write as _;

use super::text::{count, escape, number, percent, short};
use crate::survey::Roofline;

/// Maximum number of positions of a chart that say their values.
const MAX_LABELLED_PLACES: usize = 120;
/// About how many ticks an axis has; more would touch each other on a phone.
const TICKS: f64 = 5.0;
/// Minimum distance between ticks that are not evenly spaced.
const MIN_TICK_GAP: f64 = 0.11;
/// Up to this many points of a line are drawn as dots as well.
const DOTS: usize = 20;
/// Colours of series.
const COLOURS: usize = 5;
/// About how many letters a horizontal axis has room for on a phone.
#[cfg(feature = "train")]
const LETTERS: usize = 46;
/// The side of the square in which lines are drawn before they are stretched.
const SIDE: f64 = 1000.0;

/// The kind of values on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Parts of a whole.
    Share,
    /// Whole numbers, which have no ticks between them.
    Count,
    /// Other numbers.
    Number,
}

impl Unit {
    fn say(self, value: f64) -> String {
        match self {
            Self::Share => percent(value),
            Self::Count => count(value.max(0.0) as usize),
            Self::Number => number(value),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spacing {
    Even,
    /// Distances by the logarithm of the value.
    Logarithmic,
    /// Distances by the logarithm of one more than the value, which begins at 0.
    OneMore,
}

impl Spacing {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Even => value,
            Self::Logarithmic => value.log10(),
            Self::OneMore => value.ln_1p(),
        }
    }
}

/// An axis with its name and ticks.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    name: String,
    unit: Unit,
    spacing: Spacing,
    range: [f64; 2],
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis from the lowest to the highest of some values; those that are not finite are ignored.
    pub(super) fn new(name: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let range = range(values, unit);
        let mut ticks = Ticks::new(range, unit).within(range);
        // Counts often begin at 1, which is no multiple of anything.
        let near =
            ticks.first().is_some_and(|first| first.0 - range[0] < (range[1] - range[0]) * MIN_TICK_GAP);
        if unit == Unit::Count && range[0].fract() == 0.0 && !near {
            ticks.insert(0, (range[0], unit.say(range[0])));
        }
        Self { name: name.to_owned(), unit, spacing: Spacing::Even, range, ticks }
    }

    /// An axis whose ends are ticks.
    fn rounded(name: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let ticks = Ticks::new(range(values, unit), unit);
        let range = ticks.around();
        Self { name: name.to_owned(), unit, spacing: Spacing::Even, range, ticks: ticks.within(range) }
    }

    /// A logarithmic axis with the powers of a base as its ticks.
    pub(super) fn logarithmic(name: &str, range: [f64; 2], base: f64) -> Self {
        let name = format!("{name} (logarithmic scale)");
        let [low, high] = range.map(|end| end.log(base));
        let powers = (low - 1e-9).ceil() as i32..=(high + 1e-9).floor() as i32;
        let ticks = powers.map(|power| base.powi(power)).map(|value| (value, short(value))).collect();
        Self { name, unit: Unit::Number, spacing: Spacing::Logarithmic, range, ticks }
    }

    /// Whole numbers, of which the small ones are far apart.
    pub(super) fn of_counts(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let range = range(values, Unit::Count);
        let spacing = if range[0] < 1.0 { Spacing::OneMore } else { Spacing::Logarithmic };
        let axis = Self {
            name: format!("{name} (logarithmic scale)"),
            unit: Unit::Count,
            spacing,
            range,
            ticks: Vec::new(),
        };
        let [low, high] = range;
        let mut ticks = vec![(low, Unit::Count.say(low))];
        // The ends are ticks, and so is what is not too near to them and to each other.
        let round = (0..16).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
        for value in round.filter(|value| low < *value && *value < high) {
            let before = ticks.last().map_or(low, |last| last.0);
            if axis.at(value) - axis.at(before) > MIN_TICK_GAP && 1.0 - axis.at(value) > MIN_TICK_GAP {
                ticks.push((value, Unit::Count.say(value)));
            }
        }
        ticks.push((high, Unit::Count.say(high)));
        Self { ticks, ..axis }
    }

    /// Things without an order, side by side.
    #[cfg(feature = "train")]
    pub(super) fn of_names(name: &str, names: &[String]) -> Self {
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let each = names.len().div_ceil((LETTERS / (longest + 2)).max(1)).max(1);
        let ticks = names.iter().enumerate().step_by(each);
        let ticks = ticks.map(|(tick, name)| (tick as f64, name.clone())).collect();
        let range = [-0.5, names.len() as f64 - 0.5];
        Self { name: name.to_owned(), unit: Unit::Count, spacing: Spacing::Even, range, ticks }
    }

    /// The position of the middle between two values.
    fn between(&self, a: f64, b: f64) -> f64 {
        f64::midpoint(self.at(a), self.at(b))
    }

    /// The position of a value: 0 at the low end, 1 at the high one.
    fn at(&self, value: f64) -> f64 {
        let [low, high] = self.range.map(|end| self.spacing.of(end));
        (self.spacing.of(value) - low) / (high - low)
    }

    fn say(&self, value: f64) -> String {
        self.unit.say(value)
    }

    /// A position with the noun of what the axis counts, which is how the axis's name begins.
    fn say_place(&self, value: f64) -> String {
        let what = self.name.split([',', '(']).next().unwrap_or_default().trim_end();
        let named = self.ticks.iter().find(|tick| tick.0 == value);
        format!("{what} {}", named.map_or_else(|| self.say(value), |tick| tick.1.clone()))
    }
}

/// The range of some values, which is not empty.
fn range(values: impl IntoIterator<Item = f64>, unit: Unit) -> [f64; 2] {
    let finite = values.into_iter().filter(|value| value.is_finite());
    let [low, high] =
        finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], one| [low.min(one), high.max(one)]);
    match unit {
        _ if low < high => [low, high],
        Unit::Count if low <= high => [low, low + 1.0],
        // What is best is at the top.
        Unit::Share if low <= high => [low - 0.01, low],
        _ if low <= high => [low - low.abs().max(1.0) / 2.0, low],
        _ => [0.0, 1.0],
    }
}

/// Multiples of a round step.
struct Ticks {
    step: f64,
    places: [i64; 2],
    unit: Unit,
}

impl Ticks {
    fn new([low, high]: [f64; 2], unit: Unit) -> Self {
        let about = ((high - low) / TICKS).max(f64::MIN_POSITIVE);
        let power = 10_f64.powf(about.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter();
        let mut step = step.into_iter().find(|step| *step >= about * 0.999).unwrap_or(power);
        if unit == Unit::Count {
            step = step.max(1.0);
        }
        // A hair's breadth, so that a range that begins or ends at a multiple has no tick beyond it.
        let places = [(low / step + 1e-9).floor() as i64, (high / step - 1e-9).ceil() as i64];
        Self { step, places, unit }
    }

    /// The range from the first multiple to the last.
    fn around(&self) -> [f64; 2] {
        self.places.map(|step| step as f64 * self.step)
    }

    /// The multiples in a range, with as many digits as tell them apart.
    fn within(&self, [low, high]: [f64; 2]) -> Vec<(f64, String)> {
        let edge = self.step * 1e-6;
        let values = (self.places[0]..=self.places[1]).map(|step| step as f64 * self.step);
        let values = values.filter(|value| (low - edge..=high + edge).contains(value));
        values.map(|value| (value, self.say(value))).collect()
    }

    fn say(&self, value: f64) -> String {
        let (value, step, end) = match self.unit {
            Unit::Count => return Unit::Count.say(value),
            Unit::Share => (value * 100.0, self.step * 100.0, " %"),
            Unit::Number => (value, self.step, ""),
        };
        let digits = |size: f64| (size.log10() + 1e-9).floor();
        let most = self.around().map(f64::abs).into_iter().fold(0.0, f64::max);
        if self.unit == Unit::Number && value != 0.0 && !(1e-3..1e6).contains(&most) {
            let decimals = (digits(value.abs()) - digits(step)).max(0.0) as usize;
            return format!("{value:.decimals$e}");
        }
        let decimals = (-digits(step)).max(0.0) as usize;
        format!("{value:.decimals$}{end}")
    }
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Values joined by a line.
    Line,
    /// Values as single dots.
    Dots,
    /// Values as steps above the ground.
    Steps,
}

/// Values of one kind, at rising positions.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// The series' name; empty if it is the only one.
    pub(super) name: String,
    /// Positions and finite values.
    pub(super) points: Vec<(f64, f64)>,
    /// How the series is drawn.
    pub(super) mark: Mark,
    /// The point that is kept of all, if one is.
    pub(super) kept: Option<usize>,
}

impl Series {
    pub(super) fn new(name: &str, mark: Mark, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().filter(|point| point.1.is_finite()).collect();
        Self { name: name.to_owned(), points, mark, kept: None }
    }

    fn value_at(&self, x: f64) -> Option<f64> {
        let at = self.points.partition_point(|point| point.0 < x);
        self.points.get(at).filter(|point| point.0 == x).map(|point| point.1)
    }
}

/// A chart of some series; `y` is the kind of their values. At each position the chart says the values of all series,
/// up to some number of positions.
pub(super) fn series(label: &str, x: &Axis, y: (&str, Unit), all: &[Series]) -> String {
    let values = all.iter().flat_map(|one| one.points.iter().map(|point| point.1));
    // Steps stand on the ground, and never lie flat on it.
    let ground = all.iter().any(|one| one.mark == Mark::Steps).then_some([0.0, 0.001]);
    let y = &Axis::rounded(y.0, y.1, values.chain(ground.into_iter().flatten()));
    let mut chart = Chart::new(label, x, y);
    for (number, one) in all.iter().enumerate() {
        chart.series(number, one, x, y);
    }
    let mut places: Vec<f64> = all.iter().flat_map(|one| one.points.iter().map(|point| point.0)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let each = places.len().div_ceil(MAX_LABELLED_PLACES).max(1);
    let shown: Vec<f64> = places.into_iter().step_by(each).collect();
    for (index, &at) in shown.iter().enumerate() {
        let border = |other: Option<&f64>, end| other.map_or(end, |&other| x.between(other, at));
        let from = border(index.checked_sub(1).and_then(|before| shown.get(before)), 0.0);
        let to = border(shown.get(index + 1), 1.0);
        let values = all.iter().filter_map(|one| Some(said(&one.name, &y.say(one.value_at(at)?))));
        let values: Vec<String> = values.collect();
        chart.strip(from, to, &format!("{}\n{}", x.say_place(at), values.join("\n")));
    }
    for (number, one) in all.iter().enumerate() {
        if let Some(&(kept_x, value)) = one.kept.and_then(|kept| one.points.get(kept)) {
            let says = format!("{}, {}: {}, which is kept", one.name, x.say_place(kept_x), y.say(value));
            chart.dot(&format!("kept series{}", number % COLOURS), None, [x.at(kept_x), y.at(value)], &says);
        }
    }
    chart.finish()
}

/// A value after its name, if it has one.
fn said(name: &str, value: &str) -> String {
    format!("{name} {value}").trim_start().to_owned()
}

/// The fastest kernel of each problem below the device's limits. `shown` are the points, each with its text.
pub(super) fn roofline(roofline: &Roofline, shown: &[(usize, String)]) -> String {
    let points = || shown.iter().map(|(index, _)| roofline.points[*index]);
    let peak = roofline.peak();
    let ridge = peak * 1e3 / roofline.memory_gb_s;
    // Whole powers of ten, and a little of the flat part of the roof.
    let (low, high) = points().fold((ridge / 4.0, ridge * 4.0), |(low, high), point| {
        (low.min(point.intensity), high.max(point.intensity))
    });
    let slowest = points().map(|point| point.tflops).fold(peak / 100.0, f64::min);
    let power = |value: f64| 10_f64.powf(value);
    let x_range = [power(low.log10().floor()), power(high.log10().ceil())];
    let y_range = [power(slowest.log10().floor()), peak * 1.2];
    let x = Axis::logarithmic("operations a byte", x_range, 10.0);
    let y = Axis::logarithmic("TFLOPS", y_range, 10.0);
    let mut chart = Chart::new("measured TFLOPS by operations a byte, below the device's peaks", &x, &y);
    for (class, gb_s) in [("roof cache", roofline.cache_gb_s), ("roof", roofline.memory_gb_s)] {
        // From the bottom or the left edge up the slope to the peak.
        let from = x_range[0].max(y_range[0] * 1e3 / gb_s);
        let slope = [from, peak * 1e3 / gb_s].map(|at| (x.at(at), y.at(at * gb_s / 1e3)));
        chart.path(class, slope, false);
    }
    for roof in &roofline.roofs {
        let left = roof.tflops * 1e3 / roofline.memory_gb_s;
        chart.path("roof", [(x.at(left), y.at(roof.tflops)), (1.0, y.at(roof.tflops))], false);
        chart.note(y.at(roof.tflops), &format!("{} {} TFLOPS", roof.dtype, number(roof.tflops.round())));
    }
    for (row, (index, says)) in shown.iter().enumerate() {
        let point = roofline.points[*index];
        chart.dot("dot", Some(row), [x.at(point.intensity), y.at(point.tflops)], says);
    }
    chart.finish()
}

/// A plane between two axes; positions go from 0 to 1. Writing to its texts cannot fail.
struct Chart {
    caption: String,
    ticks: String,
    paths: String,
    marks: String,
    below: String,
}

impl Chart {
    /// The label describes it for screen readers.
    fn new(label: &str, x: &Axis, y: &Axis) -> Self {
        let mut ticks = format!(
            "<svg role=\"img\" tabindex=\"0\" aria-label=\"{}\">\n\
             <line class=\"frame\" y2=\"100%\"/>\
             <line class=\"frame\" x2=\"100%\" y1=\"100%\" y2=\"100%\"/>\n",
            escape(label)
        );
        for (value, text) in &y.ticks {
            let (at, text) = (below_top(y.at(*value)), escape(text));
            let _ = write!(ticks, "<line class=\"grid\" x2=\"100%\" y1=\"{at}\" y2=\"{at}\"/>");
            let _ = writeln!(ticks, "<text class=\"y\" x=\"-8\" y=\"{at}\" dy=\".35em\">{text}</text>");
        }
        for (value, text) in &x.ticks {
            let (at, text) = (share(x.at(*value)), escape(text));
            let _ = writeln!(ticks, "<text class=\"x\" x=\"{at}\" y=\"100%\" dy=\"1.5em\">{text}</text>");
        }
        let caption = format!("<span>{}</span>", escape(&y.name));
        Self { caption, ticks, paths: String::new(), marks: String::new(), below: escape(&x.name) }
    }

    fn series(&mut self, number: usize, one: &Series, x: &Axis, y: &Axis) {
        let class = format!("series{}", number % COLOURS);
        if !one.name.is_empty() {
            let _ = write!(self.caption, "<span class=\"key {class}\">{}</span>", escape(&one.name));
        }
        let points: Vec<(f64, f64)> =
            one.points.iter().map(|&(x_value, value)| (x.at(x_value), y.at(value))).collect();
        match one.mark {
            Mark::Steps => return self.path("area", steps(&points), true),
            Mark::Line => self.path(&format!("line {class}"), points.iter().copied(), false),
            Mark::Dots => {}
        }
        if one.mark == Mark::Dots || points.len() <= DOTS {
            for &(x, y) in &points {
                self.dot(&format!("dot {class}"), None, [x, y], "");
            }
        }
    }

    /// A line through points, or the area that it encloses.
    fn path(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>, closed: bool) {
        let _ = write!(self.paths, "<path class=\"{class}\" d=\"");
        for (index, (x, y)) in points.into_iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let _ = write!(self.paths, "{command}{:.1} {:.1}", x * SIDE, (1.0 - y) * SIDE);
        }
        self.paths.push_str(if closed { "Z\"/>\n" } else { "\"/>\n" });
    }

    /// A point, with the row of the table that it stands for.
    fn dot(&mut self, class: &str, row: Option<usize>, [x, y]: [f64; 2], says: &str) {
        let row = row.map_or_else(String::new, |row| format!(" data-row=\"{row}\""));
        let (x, y, says) = (share(x), below_top(y), title(says));
        let _ = writeln!(self.marks, "<circle class=\"{class}\"{row} cx=\"{x}\" cy=\"{y}\">{says}</circle>");
    }

    /// An invisible stretch that says something.
    fn strip(&mut self, from: f64, to: f64, says: &str) {
        let (x, width, says) = (share(from), share(to - from), title(says));
        let _ = writeln!(
            self.marks,
            "<rect class=\"strip\" x=\"{x}\" width=\"{width}\" height=\"100%\">{says}</rect>"
        );
    }

    /// Text at the right end of a height.
    fn note(&mut self, height: f64, text: &str) {
        let (y, text) = (below_top(height), escape(text));
        let _ = writeln!(self.marks, "<text class=\"note\" x=\"100%\" y=\"{y}\" dy=\"-.5em\">{text}</text>");
    }

    fn finish(self) -> String {
        let Self { caption, ticks, paths, marks, below } = self;
        format!(
            "<figure class=\"chart\">\n<figcaption>{caption}</figcaption>\n{ticks}\
             <svg viewBox=\"0 0 {SIDE} {SIDE}\" preserveAspectRatio=\"none\">\n{paths}</svg>\n\
             {marks}</svg>\n<p>{below}</p>\n</figure>\n"
        )
    }
}

/// Points as steps, each around its point, from the ground to the ground.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = vec![(0.0, 0.0)];
    for (index, &(x, y)) in points.iter().enumerate() {
        let to = points.get(index + 1).map_or(1.0, |next| f64::midpoint(x, next.0));
        corners.extend([(corners[corners.len() - 1].0, y), (to, y)]);
    }
    corners.push((1.0, 0.0));
    corners
}

/// A share of the chart's extent.
fn share(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A height from below as a distance from the top.
fn below_top(height: f64) -> String {
    share(1.0 - height)
}

/// The tooltip of a part of a chart; nothing for an empty text.
fn title(says: &str) -> String {
    if says.is_empty() { String::new() } else { format!("<title>{}</title>", escape(says)) }
}

/// A small picture for a cell of a table.
fn small(class: &str, parts: &str) -> String {
    format!("<svg class=\"bar {class}\" aria-hidden=\"true\">{parts}</svg>")
}

/// A share as a bar.
pub(super) fn bar(length: f64) -> String {
    let width = share(length.clamp(0.005, 1.0));
    small("", &format!("<rect width=\"{width}\" height=\"100%\"/>"))
}

/// A share from -1 to 1 as a bar to the left or to the right.
pub(super) fn diverging(length: f64) -> String {
    let half = length.clamp(-1.0, 1.0) / 2.0;
    let (x, width) = (share(0.5 + half.min(0.0)), share(half.abs()));
    let side = if half < 0.0 { "less" } else { "more" };
    let middle = "<line x1=\"50%\" x2=\"50%\" y2=\"100%\"/>";
    small(
        "diverging",
        &format!("<rect class=\"{side}\" x=\"{x}\" width=\"{width}\" height=\"100%\"/>{middle}"),
    )
}

/// A position on a scale from 0 to 1.
pub(super) fn position(value: f64) -> String {
    let x = share(value.clamp(0.0, 1.0));
    small(
        "position",
        &format!("<line x2=\"100%\" y1=\"50%\" y2=\"50%\"/><circle cx=\"{x}\" cy=\"50%\" r=\"4\"/>"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.1.as_str()).collect()
    }

    /// Efficiencies of 99.87 % and more once had the ticks 99.9, 99.9, 99.8 and 99.8, and histograms a third
    /// of a row (00c34c59).
    #[test]
    fn no_two_ticks_are_the_same_and_counts_are_whole() {
        for unit in [Unit::Share, Unit::Count, Unit::Number] {
            for low in [0.0, 0.001_5, 0.9987, 1.0, 17.3, 12_345.0, 3e8] {
                for size in [0.0, 1e-6, 1e-4, 0.0013, 0.2, 1.0, 3.0, 977.0, 1e9] {
                    for axis in
                        [Axis::new("", unit, [low, low + size]), Axis::rounded("", unit, [low, low + size])]
                    {
                        let (labels, mut distinct) = (texts(&axis), texts(&axis));
                        distinct.sort_unstable();
                        distinct.dedup();
                        assert_eq!(distinct.len(), labels.len(), "{unit:?} {low} {size}: {labels:?}");
                        assert!(labels.len() <= 8, "{unit:?} {low} {size}: {labels:?}");
                        let whole = axis.ticks.iter().all(|tick| tick.0.fract() == 0.0);
                        assert!(whole || unit != Unit::Count, "{low} {size}: {labels:?}");
                    }
                }
            }
        }
        let axis = Axis::rounded("", Unit::Share, [0.9987, 1.0]);
        assert_eq!(texts(&axis), ["99.85 %", "99.90 %", "99.95 %", "100.00 %"]);
        assert_eq!(texts(&Axis::rounded("", Unit::Count, [0.0, 1.0])), ["0", "1"]);
        assert_eq!(texts(&Axis::new("", Unit::Count, [1.0, 30.0])), ["1", "10", "20", "30"]);
        assert_eq!(texts(&Axis::rounded("", Unit::Number, [-0.5, 0.6])), ["-0.5", "0.0", "0.5", "1.0"]);
    }

    /// An axis once had no name and no note that it is uneven (00c34c59).
    #[test]
    fn an_uneven_axis_says_so() {
        let axis = Axis::of_counts("measured problems", [0.0, 5.0, 80.0, 141.0]);
        assert_eq!(axis.name, "measured problems (logarithmic scale)");
        assert_eq!(texts(&axis), ["0", "1", "5", "10", "20", "50", "141"]);
        assert_eq!((axis.at(0.0), axis.at(141.0)), (0.0, 1.0));
        assert_eq!(texts(&Axis::of_counts("kernels", [1.0, 30.0])), ["1", "2", "5", "10", "20", "30"]);
        let alone = Axis::of_counts("kernels", [1.0]);
        assert!(alone.at(1.0).is_finite());
        assert_eq!(texts(&Axis::logarithmic("", [0.01, 300.0], 10.0)), ["0.01", "0.1", "1", "10", "100"]);
    }

    #[test]
    fn a_chart_says_every_value_and_what_is_kept() {
        let mut first = Series::new("fold <1>", Mark::Line, [(1.0, 0.5), (2.0, 0.25), (3.0, 0.75)]);
        first.kept = Some(1);
        let all = [first, Series::new("fold 2", Mark::Line, [(1.0, 1.0), (2.0, 0.5), (3.0, f64::NAN)])];
        let x = Axis::new("trees, of all", Unit::Count, [1.0, 3.0]);
        let svg = series("loss", &x, ("loss", Unit::Share), &all);
        assert!(svg.contains("<title>trees 2\nfold &lt;1&gt; 25.00 %\nfold 2 50.00 %</title>"), "{svg}");
        assert!(svg.contains("<title>trees 3\nfold &lt;1&gt; 75.00 %</title>"), "{svg}");
        assert!(svg.contains("<title>fold &lt;1&gt;, trees 2: 25.00 %, which is kept</title>"), "{svg}");
        assert_eq!(svg.matches("class=\"strip\"").count(), 3);
        assert!(svg.contains("class=\"line series0\" d=\"M0.0 625.0L500.0 937.5L1000.0 312.5\""), "{svg}");
    }

    /// Folds have no order, so nothing lies between two of them.
    #[cfg(feature = "train")]
    #[test]
    fn dots_are_not_joined() {
        let all = [Series::new("mean", Mark::Dots, [(0.0, 0.9), (1.0, 0.8)])];
        let x = Axis::of_names("fold", &["1".to_owned(), "sm_90".to_owned()]);
        let svg = series("efficiency", &x, ("efficiency", Unit::Share), &all);
        let long: Vec<String> = (0..8).map(|index| format!("gfx942 num_cus={index}")).collect();
        assert_eq!(Axis::of_names("fold", &long).ticks.len(), 2);
        assert!(!svg.contains("<path class=\"line") && svg.matches("<circle").count() == 2, "{svg}");
        assert!(svg.contains("<title>fold sm_90\nmean 80.00 %</title>"), "{svg}");
    }

    #[test]
    fn charts_stay_inside_of_their_frame_and_have_numbers() {
        for points in [&[][..], &[0.5], &[0.0, 0.0], &[0.4, 0.1, 0.0], &[f64::NAN, 1.0]] {
            for mark in [Mark::Line, Mark::Dots, Mark::Steps] {
                let all = [Series::new("", mark, (1..).map(f64::from).zip(points.iter().copied()))];
                let x = Axis::new("problem", Unit::Count, [0.5, points.len() as f64 + 0.5]);
                let svg = series("", &x, ("", Unit::Share), &all);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                let paths = svg.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next());
                let numbers =
                    paths.flat_map(|path| path.split(['M', 'L', 'Z', ' '])).filter(|word| !word.is_empty());
                let numbers: Vec<f64> = numbers.map(|word| word.parse().unwrap()).collect();
                assert!(numbers.iter().all(|number| (0.0..=SIDE).contains(number)), "{svg}");
            }
        }
    }

    #[test]
    fn bars_go_to_their_side() {
        assert!(diverging(-0.5).contains("class=\"less\" x=\"25.00%\" width=\"25.00%\""));
        assert!(diverging(0.25).contains("class=\"more\" x=\"50.00%\" width=\"12.50%\""));
        assert!(position(0.5).contains("cx=\"50.00%\"") && position(7.0).contains("cx=\"100.00%\""));
    }
}
