//! The parts of an HTML page.

use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
/// Sorts and filters tables, and shows values of charts. Without it, the page is still complete.
const SCRIPT: &str = include_str!("page.js");
/// Number of rows from which a table gets a scrolling box.
const LONG: usize = 40;
/// Number of sections from which a page begins with a list of them.
const MANY: usize = 4;

/// How a cell is shaded.
pub(super) enum Shade {
    /// Not at all.
    None,
    /// By a share.
    Share(f64),
    /// Hatched.
    Hole,
}

/// A page under construction.
pub(super) struct Page {
    head: String,
    body: String,
    sections: Vec<(String, String)>,
    scripts: Vec<&'static str>,
}

impl Page {
    pub(super) fn new(title: &str) -> Self {
        let title = escape(title);
        // This policy makes the browser block network access.
        let head = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'unsafe-inline'; script-src 'unsafe-inline'\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        Self { head, body: String::new(), sections: Vec::new(), scripts: vec![SCRIPT] }
    }

    /// Makes the browser reload the page after some seconds.
    pub(super) fn again(&mut self, seconds: u64) {
        let at = self.head.find("<title>").unwrap_or_default();
        self.head.insert_str(at, &format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">\n"));
    }

    pub(super) fn section(&mut self, title: &str, fill: impl FnOnce(&mut Self)) {
        let id: String = title
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        let id = id.trim_matches('-').to_owned();
        self.raw(&format!("<section id=\"{id}\">\n<h2>{}</h2>\n", escape(title)));
        self.sections.push((id, title.to_owned()));
        fill(self);
        self.raw("</section>\n");
    }

    /// A script in addition to that of all pages.
    pub(super) fn script(&mut self, script: &'static str) {
        self.scripts.push(script);
    }

    pub(super) fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        self.raw(&format!("<details>\n<summary>{summary}</summary>\n"));
        fill(self);
        self.raw("</details>\n");
    }

    pub(super) fn text(&mut self, text: &str) {
        self.raw(&format!("<p>{}</p>\n", escape(text)));
    }

    /// The key figures; each has an id, so that programs find it, too.
    pub(super) fn figures(&mut self, figures: &[(&str, &str, String)]) {
        self.raw("<dl class=\"figures\">\n");
        for (id, label, value) in figures {
            self.raw(&format!("<div><dt>{}</dt><dd id=\"{id}\">{value}</dd></div>\n", escape(label)));
        }
        self.raw("</dl>\n");
    }

    /// Rows of HTML under a header of text, in a box that scrolls if the page is too narrow.
    pub(super) fn table(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        let plain = |cell| (String::new(), cell);
        let rows = rows.into_iter().map(|row| row.into_iter().map(plain).collect());
        self.any_table("", header, rows);
    }

    /// The same with an id, by which the page's script finds it.
    pub(super) fn named_table(
        &mut self,
        id: &str,
        header: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) {
        let plain = |cell| (String::new(), cell);
        let rows = rows.into_iter().map(|row| row.into_iter().map(plain).collect());
        self.any_table(&format!(" id=\"{id}\""), header, rows);
    }

    /// A table whose cells are shaded.
    pub(super) fn grid(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<(Shade, String)>>) {
        let shaded = |(shade, cell)| match shade {
            Shade::None => (String::new(), cell),
            Shade::Share(share) => (format!(" style=\"--share: {share:.3}\""), cell),
            Shade::Hole => (" class=\"hole\"".to_owned(), cell),
        };
        let rows = rows.into_iter().map(|row| row.into_iter().map(shaded).collect());
        self.any_table(" class=\"grid\"", header, rows);
    }

    /// Cells consist of attributes and HTML.
    fn any_table(
        &mut self,
        attributes: &str,
        header: &[&str],
        rows: impl Iterator<Item = Vec<(String, String)>>,
    ) {
        let mut body = String::new();
        let mut count = 0;
        for row in rows {
            body.push_str("<tr>");
            for (attributes, cell) in row {
                body.extend(["<td", &attributes, ">", &cell, "</td>"]);
            }
            body.push_str("</tr>\n");
            count += 1;
        }
        let long = if count > LONG { " long" } else { "" };
        self.raw(&format!("<div class=\"table{long}\" tabindex=\"0\">\n<table{attributes}>\n<thead><tr>"));
        for cell in header {
            self.raw(&format!("<th scope=\"col\">{}</th>", escape(cell)));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        self.raw(&body);
        self.raw("</tbody>\n</table>\n</div>\n");
    }

    /// Counts with bars as long as their shares of the largest.
    pub(super) fn bars<'a>(&mut self, title: &str, counts: impl Iterator<Item = (&'a str, usize)> + Clone) {
        let most = counts.clone().map(|(_, count)| count).max().unwrap_or(0).max(1) as f64;
        self.raw(&format!("<div class=\"bars\"><h3>{}</h3>\n<dl>\n", escape(title)));
        for (name, value) in counts {
            let share = value as f64 / most * 100.0;
            self.raw(&format!(
                "<div><dt>{}</dt><dd><i style=\"width:{share:.1}%\"></i><b>{}</b></dd></div>\n",
                escape(name),
                count(value)
            ));
        }
        self.raw("</dl></div>\n");
    }

    /// Verbatim HTML.
    pub(super) fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    pub(super) fn finish(self) -> String {
        let Self { mut head, body, sections, scripts } = self;
        if sections.len() >= MANY {
            head.push_str("<nav aria-label=\"sections\">\n");
            for (id, title) in &sections {
                head.extend(["<a href=\"#", id, "\">", &escape(title), "</a>\n"]);
            }
            head.push_str("</nav>\n");
        }
        head.push_str(&body);
        for script in scripts {
            head.push_str("<script>\n");
            head.push_str(script);
            head.push_str("</script>\n");
        }
        head.push_str("</body>\n</html>\n");
        head
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
    // Writing to a `String` cannot fail.
    debug_assert!(written.is_ok());
    text
}

/// The same without zeros at the end, for axes.
pub(super) fn short(value: f64) -> String {
    let text = number(value);
    if text.contains('.') && !text.contains('e') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A whole number with separated thousands.
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
        let (_, body) = html.split_once("<body>").unwrap();
        let (body, _) = body.split_once("<script>\n").unwrap();
        assert!(!body.contains("<script>") && !body.contains("<b>"), "{html}");
    }

    #[test]
    fn numbers_are_short() {
        let found = [0.0, 12.0, 0.123_456, 1234.56, 1e-9, 3e12, f64::NAN].map(number);
        assert_eq!(found, ["0", "12", "0.1235", "1234.6", "1.000e-9", "3.000e12", "–"]);
        assert_eq!([0.25, 0.001, 10.0, 1e-9].map(short), ["0.25", "0.001", "10", "1.000e-9"]);
        assert_eq!(percent(0.97712), "97.71 %");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
