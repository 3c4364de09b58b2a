//! Where the winners of tuned tables stand in an order of their pool, as a page.

use ck_select_measurements::places::GpuFigures;

use super::html::Page;
use super::provenance::{self, Provenance};
use super::text::{count, escape, name, percent};

/// Writes the page: `judged` ranks, and `tables` are the files with their SHA-256.
pub fn winners(judged: &str, all: &[GpuFigures], tables: &[(String, String)], made: &Provenance) -> String {
    let mut page = Page::new(&format!("{judged}: places of winners"));
    provenance::line(&mut page, &made.at);
    page.text(
        "Shares of shapes whose winner is among the first kernels of the order; by pair, each pair of N and K \
         counts once. The efficiency is known where the first kernel was timed on the same shape, the share of \
         which is the last line.",
    );
    let header: Vec<&str> =
        std::iter::once("figure").chain(all.iter().map(|one| one.name.as_str())).collect();
    let row = |label: &str, values: Vec<String>| [vec![escape(&label.replace('_', " "))], values].concat();
    let columns = |of: &dyn Fn(&GpuFigures) -> String| all.iter().map(of).collect::<Vec<String>>();
    let mut rows = Vec::new();
    if let Some(first) = all.first() {
        let counts = first.counts.iter().enumerate();
        rows.extend(counts.map(|(at, (label, _))| row(label, columns(&|one| count(one.counts[at].1)))));
        let figures = first.figures.iter().enumerate();
        let figure = |one: &GpuFigures, at: usize| one.figures[at].1.map_or_else(String::new, percent);
        rows.extend(figures.map(|(at, (label, _))| row(label, columns(&|one| figure(one, at)))));
    }
    page.table(&header, rows);
    page.section("Data", |page| {
        let row = |(file, digest): &(String, String)| vec![name(file), provenance::hash(digest)];
        page.table(&["table", "SHA-256"], tables.iter().map(row));
    });
    if !made.model.is_empty() {
        page.section("Model", |page| made.model(page));
    }
    page.finish()
}
