//! The shell of all pages, with one style sheet and one script, and the parts that pages consist of.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use ck_select_measurements::digest;

use super::text::{escape, name};

const STYLE: &str = include_str!("page.css");
/// Sorts and filters tables, says the values of charts and draws maps. Without it, all but a map is there.
const SCRIPT: &str = include_str!("page.js");
/// Number of rows from which a table gets a scrolling box.
const LONG: usize = 40;
/// Number of sections from which a page begins with a list of them.
const MANY: usize = 4;

/// A key figure of a page.
pub(super) struct Figure {
    /// The identifier by which programs find the figure.
    id: &'static str,
    label: &'static str,
    value: String,
}

impl Figure {
    pub(super) const fn new(id: &'static str, label: &'static str, value: String) -> Self {
        Self { id, label, value }
    }
}

/// A page under construction.
pub(super) struct Page {
    head: String,
    body: String,
    sections: Vec<(String, String)>,
}

impl Page {
    /// The title may contain names.
    pub(super) fn new(title: &str) -> Self {
        // This policy makes the browser block network access, and all scripts and styles but the page's own.
        let hash = |text: &str| BASE64_STANDARD.encode(digest::sha256(text.as_bytes()));
        let head = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'sha256-{}'; script-src 'sha256-{}'\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
            hash(STYLE),
            hash(SCRIPT),
            escape(title),
            name(title)
        );
        Self { head, body: String::new(), sections: Vec::new() }
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

    pub(super) fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        self.raw(&format!("<details>\n<summary>{summary}</summary>\n"));
        fill(self);
        self.raw("</details>\n");
    }

    pub(super) fn text(&mut self, text: &str) {
        self.raw(&format!("<p>{}</p>\n", escape(text)));
    }

    /// Writes a warning that a reader has to know before all figures.
    pub(super) fn warning(&mut self, text: &str) {
        self.raw(&format!("<p class=\"warning\" role=\"note\">{}</p>\n", name(text)));
    }

    /// The key figures.
    pub(super) fn figures(&mut self, figures: &[Figure]) {
        self.raw("<dl class=\"figures\">\n");
        for Figure { id, label, value } in figures {
            self.raw(&format!("<div><dt>{}</dt><dd id=\"{id}\">{value}</dd></div>\n", escape(label)));
        }
        self.raw("</dl>\n");
    }

    /// Rows of HTML under a header of text, in a box that scrolls if the page is too narrow.
    pub(super) fn table(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        self.named_table("", header, rows);
    }

    /// A table with an id, unless that is empty, by which the page's script finds it.
    pub(super) fn named_table(
        &mut self,
        id: &str,
        header: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) {
        let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
        let (header, rows) = without_empty_columns(header, rows.into_iter().collect());
        let class = match text_columns(&rows) {
            none if none.is_empty() => String::new(),
            classes => format!(" class=\"{}\"", classes.join(" ")),
        };
        let row = |cells: Vec<String>| format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
        let rows: Vec<String> = rows.into_iter().map(row).collect();
        let long = if rows.len() > LONG { " long" } else { "" };
        self.raw(&format!("<div class=\"table{long}\" tabindex=\"0\">\n<table{id}{class}>\n<thead><tr>"));
        for cell in header {
            self.raw(&format!("<th scope=\"col\">{}</th>", escape(cell)));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        self.raw(&rows.concat());
        self.raw("</tbody>\n</table>\n</div>\n");
    }

    /// Verbatim HTML.
    pub(super) fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    pub(super) fn finish(self) -> String {
        let Self { mut head, body, sections } = self;
        if sections.len() >= MANY {
            head.push_str("<nav aria-label=\"sections\">\n");
            for (id, title) in &sections {
                head.extend(["<a href=\"#", id, "\">", &escape(title), "</a>\n"]);
            }
            head.push_str("</nav>\n");
        }
        head.push_str(&body);
        head.extend(["<script>", SCRIPT, "</script>\n"]);
        head.push_str("</body>\n</html>\n");
        head
    }
}

/// The columns of which a row has something.
fn without_empty_columns<'h>(
    header: &[&'h str],
    mut rows: Vec<Vec<String>>,
) -> (Vec<&'h str>, Vec<Vec<String>>) {
    let has_any = |column: usize| rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty()));
    let kept: Vec<bool> = (0..header.len()).map(|column| rows.is_empty() || has_any(column)).collect();
    for row in &mut rows {
        let mut kept = kept.iter();
        row.retain(|_| kept.next().copied().unwrap_or(true));
    }
    (header.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(name, _)| *name).collect(), rows)
}

/// A class for each column behind the first that has words: they begin at its left, numbers end at its right.
fn text_columns(rows: &[Vec<String>]) -> Vec<String> {
    // A number may have a unit.
    let is_number = |cell: &&String| {
        let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
        cell.starts_with(|c: char| c.is_ascii_digit() || c == '-') && letters <= 4 || cell.starts_with("<svg")
    };
    let has_words = |&column: &usize| {
        let mut cells =
            rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty()).peekable();
        cells.peek().is_some() && !cells.any(|cell| is_number(&cell))
    };
    let columns = rows.first().map_or(0, Vec::len);
    (1..columns).filter(has_words).map(|column| format!("text{}", column + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words ended at the right of their column, and lines of a long message began anywhere.
    #[test]
    fn words_begin_at_the_left_and_empty_columns_are_left_out() {
        let mut page = Page::new("t");
        let row = |cells: [&str; 5]| cells.map(str::to_owned).to_vec();
        page.table(
            &["first", "second", "third", "fourth", ""],
            [row(["a", "12", "", "<code>x</code>", "<svg/>"]), row(["b", "unknown", "", "2 × one GPU", ""])],
        );
        let html = page.finish();
        assert!(html.contains("<table class=\"text3\">") && !html.contains("\">third"), "{html}");
        assert!(html.contains("<tr><td>a</td><td>12</td><td><code>x</code></td><td><svg/></td></tr>"));
    }

    #[test]
    fn texts_cannot_break_out() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
        let mut page = Page::new("<script>");
        page.text("<b>");
        let html = page.finish();
        let (_, body) = html.split_once("<body>").unwrap();
        let (body, _) = body.split_once("<script>\"use strict\";").unwrap();
        assert!(!body.contains("<script>") && !body.contains("<b>"), "{html}");
    }
}
