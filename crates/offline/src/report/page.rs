//! The parts of an HTML page.

use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

/// A page in the making.
pub(super) struct Page {
    body: String,
}

impl Page {
    pub(super) fn new(title: &str) -> Self {
        let title = escape(title);
        let body = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        Self { body }
    }

    pub(super) fn section(&mut self, title: &str, fill: impl FnOnce(&mut Self)) {
        self.raw(&format!("<section>\n<h2>{}</h2>\n", escape(title)));
        fill(self);
        self.raw("</section>\n");
    }

    pub(super) fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        self.raw(&format!("<details>\n<summary>{summary}</summary>\n"));
        fill(self);
        self.raw("</details>\n");
    }

    pub(super) fn text(&mut self, text: &str) {
        self.raw(&format!("<p>{}</p>\n", escape(text)));
    }

    /// The figures that a reader looks for first; each has an id, so that programs find it, too.
    pub(super) fn figures(&mut self, figures: &[(&str, &str, String)]) {
        self.raw("<dl class=\"figures\">\n");
        for (id, label, value) in figures {
            self.raw(&format!("<div><dt>{}</dt><dd id=\"{id}\">{value}</dd></div>\n", escape(label)));
        }
        self.raw("</dl>\n");
    }

    /// Rows of HTML under a header of text, in a box of their own that scrolls where the page is too narrow.
    pub(super) fn table(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        self.raw("<div class=\"table\" tabindex=\"0\">\n<table>\n<thead><tr>");
        for cell in header {
            self.raw(&format!("<th>{}</th>", escape(cell)));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.raw("<tr>");
            for cell in row {
                self.raw(&format!("<td>{cell}</td>"));
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n</table>\n</div>\n");
    }

    /// HTML as it is.
    pub(super) fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    pub(super) fn finish(mut self) -> String {
        self.raw("</body>\n</html>\n");
        self.body
    }
}

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A share, such as `97.71 %`.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.2} %", share * 100.0) } else { "–".to_owned() }
}

/// A value with about five digits.
pub(super) fn number(value: f64) -> String {
    let mut text = String::new();
    let written = match value.abs() {
        _ if !value.is_finite() => write!(text, "–"),
        size if size != 0.0 && !(1e-3..1e7).contains(&size) => write!(text, "{value:.3e}"),
        _ if value.fract() == 0.0 => write!(text, "{value:.0}"),
        size if size >= 100.0 => write!(text, "{value:.1}"),
        _ => write!(text, "{value:.4}"),
    };
    // A String takes whatever is written.
    debug_assert!(written.is_ok());
    text
}

/// A whole number, thousands apart.
pub(super) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_out() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
        let mut page = Page::new("<script>");
        page.text("<b>");
        let html = page.finish();
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
    }

    #[test]
    fn numbers_are_short() {
        let found = [0.0, 12.0, 0.123_456, 1234.56, 1e-9, 3e12, f64::NAN].map(number);
        assert_eq!(found, ["0", "12", "0.1235", "1234.6", "1.000e-9", "3.000e12", "–"]);
        assert_eq!(percent(0.97712), "97.71 %");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
