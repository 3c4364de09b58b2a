//! Line charts over a whole number, with the values of each line.

use super::page::{escape, short};
use super::plot::Plot;

/// Maximum number of stretches that show their values.
const SAYING: usize = 120;
/// Maximum number of lines that are named at their ends.
const NAMED: usize = 3;
/// Maximum number of points that are drawn.
const DOTS: usize = 20;
/// Minimum distance between names.
const APART: f64 = 0.075;

/// A line.
pub(super) struct Line {
    /// Its name.
    pub(super) name: String,
    /// Its values, from the first place on.
    pub(super) values: Vec<f64>,
    /// The place that matters, which is marked.
    pub(super) marked: Option<usize>,
}

/// Draws lines. `first` is the number of the first place and `along` what the number counts; `say` formats
/// values.
pub(super) fn lines(
    label: &str,
    along: &str,
    first: usize,
    say: fn(f64) -> String,
    lines: &[Line],
) -> String {
    let mut plot = Plot::new(&escape(label));
    let places = lines.iter().map(|line| line.values.len()).max().unwrap_or(0);
    let values =
        || lines.iter().flat_map(|line| line.values.iter().copied()).filter(|value| value.is_finite());
    let (low, high) = values()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if places == 0 || low > high {
        return plot.finish();
    }
    // A flat line is at the top.
    let size = if high > low { high - low } else { high.abs().max(1.0) };
    let low = high - size;
    let x = |place: usize| if places > 1 { place as f64 / (places - 1) as f64 } else { 0.5 };
    let y = |value: f64| (value - low) / size;
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        plot.mark_y(share, &escape(&say(low + share * size)));
    }
    for place in marks(first, places) {
        plot.mark_x(x(place), &short((first + place) as f64));
    }
    let dot = |plot: &mut Plot, line: &Line, place: usize, radius: f64, more: &str| {
        let Some(value) = line.values.get(place).filter(|value| value.is_finite()) else { return };
        let says = format!("{}, {along} {}: {}{more}", line.name, first + place, say(*value));
        plot.dot(x(place), y(*value), radius, &escape(&says));
    };
    for (number, line) in lines.iter().enumerate() {
        let there = line.values.iter().enumerate().filter(|(_, value)| value.is_finite());
        plot.line(&format!("line line{}", number % 5), there.map(|(place, value)| (x(place), y(*value))));
    }
    let each = places.div_ceil(SAYING).max(1);
    for group in (0..places).step_by(each) {
        let says =
            lines.iter().filter_map(|line| Some(format!("{} {}", line.name, say(*line.values.get(group)?))));
        let says = format!("{along} {}\n{}", first + group, says.collect::<Vec<_>>().join("\n"));
        let half = 0.5 / (places.max(2) - 1) as f64;
        let to = x(group) + half + (each - 1) as f64 * 2.0 * half;
        plot.ask((x(group) - half).max(0.0), to.min(1.0), &escape(&says));
    }
    for line in lines {
        for place in (0..line.values.len()).filter(|_| places <= DOTS) {
            dot(&mut plot, line, place, 2.5, "");
        }
        if let Some(place) = line.marked {
            dot(&mut plot, line, place, 4.0, ", which is kept");
        }
    }
    if lines.len() <= NAMED {
        let mut ends: Vec<(f64, &str)> =
            lines.iter().filter_map(|line| Some((y(*line.values.last()?), line.name.as_str()))).collect();
        ends.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut above = f64::INFINITY;
        for (at, name) in ends {
            above = at.min(above - APART);
            plot.name(x(places - 1), above, &escape(name));
        }
    }
    plot.finish()
}

/// Places of round numbers, about ten of them.
fn marks(first: usize, places: usize) -> impl Iterator<Item = usize> {
    let about = places.div_ceil(10).max(1);
    let power = 10_usize.pow(about.ilog10());
    let step =
        [1, 2, 5, 10].into_iter().map(|digit| digit * power).find(|step| *step >= about).unwrap_or(about);
    (0..places).filter(move |place| (first + place).is_multiple_of(step))
}

#[cfg(test)]
mod tests {
    use super::super::page::percent;
    use super::*;

    fn line(name: &str, values: &[f64], marked: Option<usize>) -> Line {
        Line { name: name.to_owned(), values: values.to_vec(), marked }
    }

    #[test]
    fn a_chart_says_every_value_and_what_is_kept() {
        let of = [line("fold <1>", &[0.5, 0.25, 0.75], Some(1)), line("fold 2", &[1.0, 0.5], None)];
        let svg = lines("loss", "trees", 1, percent, &of);
        assert!(svg.contains("<title>trees 2\nfold &lt;1&gt; 25.00 %\nfold 2 50.00 %</title>"), "{svg}");
        assert!(svg.contains("<title>trees 3\nfold &lt;1&gt; 75.00 %</title>"), "{svg}");
        assert!(svg.contains("<title>fold &lt;1&gt;, trees 2: 25.00 %, which is kept</title>"), "{svg}");
        assert_eq!(svg.matches("class=\"ask\"").count(), 3);
        assert!(svg.contains("class=\"line line0\" d=\"M56.0 154.7L376.0 226.0"), "{svg}");
    }

    #[test]
    fn one_value_and_none_are_drawn_without_a_fraction_of_nothing() {
        for values in [&[][..], &[0.5], &[0.0, 0.0], &[f64::NAN, 1.0]] {
            let svg = lines("loss", "trees", 1, percent, &[line("one", values, Some(0))]);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert_eq!(marks(1, 5).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(marks(1, 800).take(3).collect::<Vec<_>>(), [99, 199, 299]);
        assert_eq!(marks(1, 12).collect::<Vec<_>>(), [1, 3, 5, 7, 9, 11]);
    }
}
