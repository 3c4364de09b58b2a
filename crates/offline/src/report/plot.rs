//! A plane with axes, as inline SVG.

use std::fmt::Write as _;

pub(super) const WIDTH: f64 = 720.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 34.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 24.0;

/// A plane with axes; x and y go from 0 to 1 of the plot's area.
pub(super) struct Plot {
    svg: String,
    height: f64,
}

impl Plot {
    /// A plot of the usual height; the label describes it for screen readers.
    pub(super) fn new(label: &str) -> Self {
        Self::of_height(label, 260.0)
    }

    pub(super) fn of_height(label: &str, height: f64) -> Self {
        let svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">\n\
             <path class=\"axis\" d=\"M{LEFT} {TOP}V{base}H{end}\"/>\n",
            base = height - BOTTOM,
            end = WIDTH - RIGHT
        );
        Self { svg, height }
    }

    pub(super) fn x(share: f64) -> f64 {
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    pub(super) fn y(&self, share: f64) -> f64 {
        self.height - BOTTOM - share * (self.height - BOTTOM - TOP)
    }

    pub(super) fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let written = self.svg.write_fmt(text);
        debug_assert!(written.is_ok());
    }

    pub(super) fn mark_x(&mut self, share: f64, text: &str) {
        let (x, y) = (Self::x(share), self.height - BOTTOM + 18.0);
        self.add(format_args!("<text class=\"x\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"));
    }

    pub(super) fn mark_y(&mut self, share: f64, text: &str) {
        let (x, y, end) = (LEFT - 8.0, self.y(share), WIDTH - RIGHT);
        self.add(format_args!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{end}\"/>\n"));
        self.add(format_args!("<text class=\"y\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>\n", y + 4.0));
    }

    /// A line through points of the area.
    pub(super) fn line(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        self.add(format_args!("<path class=\"{class}\" d=\""));
        for (place, (x, y)) in points.into_iter().enumerate() {
            let command = if place == 0 { 'M' } else { 'L' };
            let (x, y) = (Self::x(x), self.y(y));
            self.add(format_args!("{command}{x:.1} {y:.1}"));
        }
        self.add(format_args!("\"/>\n"));
    }

    /// A point with a tooltip; the text is HTML.
    pub(super) fn dot(&mut self, x: f64, y: f64, radius: f64, says: &str) {
        let (x, y) = (Self::x(x), self.y(y));
        self.add(format_args!(
            "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{says}</title>\
             </circle>\n"
        ));
    }

    /// A bar from the bottom, between two places, with a tooltip.
    pub(super) fn bar(&mut self, from: f64, to: f64, height: f64, says: &str) {
        let (from, to, top, ground) = (Self::x(from), Self::x(to), self.y(height), self.y(0.0));
        let (width, height) = ((to - from).max(0.5), (ground - top).max(0.0));
        self.add(format_args!(
            "<rect class=\"column\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"><title>{says}</title></rect>\n"
        ));
    }

    /// An invisible stretch with a tooltip.
    pub(super) fn ask(&mut self, from: f64, to: f64, says: &str) {
        let (from, to, height) = (Self::x(from), Self::x(to), self.height - BOTTOM - TOP);
        let width = to - from;
        self.add(format_args!(
            "<rect class=\"ask\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height:.1}\">\
             <title>{says}</title></rect>\n"
        ));
    }

    /// The name of a line, above its end.
    pub(super) fn name(&mut self, x: f64, y: f64, text: &str) {
        let (x, y) = (Self::x(x) - 4.0, (self.y(y) - 6.0).max(TOP));
        self.add(format_args!("<text class=\"y name\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"));
    }

    pub(super) fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}
