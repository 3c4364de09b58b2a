//! The table and its JSON.

use std::time::Instant;

use serde_json::{Map, Value, json};

/// One line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pub(crate) case: String,
    pub(crate) ours_us: f64,
    pub(crate) lightgbm_us: Option<f64>,
    pub(crate) exact: Option<bool>,
    pub(crate) rows: usize,
    pub(crate) trees: usize,
    pub(crate) leaves: usize,
    /// Keys that only some cases have.
    pub(crate) more: Vec<(&'static str, Value)>,
}

/// All lines, printed as they come.
pub(crate) struct Report {
    lines: Vec<Value>,
}

impl Report {
    pub(crate) fn new() -> Report {
        println!("{:<66} {:>11} {:>13} {:>8}  exact", "case", "ours us", "LightGBM us", "ratio");
        Report { lines: Vec::new() }
    }

    pub(crate) fn add(&mut self, line: &Line) {
        let ratio = line.lightgbm_us.map(|theirs| theirs / line.ours_us);
        let number = |value: Option<f64>, digits| value.map_or("-".to_owned(), |v| format!("{v:.digits$}"));
        let exact = line.exact.map_or("-", |exact| if exact { "yes" } else { "NO" });
        let digits = if line.ours_us < 10.0 { 3 } else { 1 };
        println!(
            "{:<66} {:>11} {:>13} {:>8}  {exact}",
            line.case,
            number(Some(line.ours_us), digits),
            number(line.lightgbm_us, 1),
            number(ratio, 1),
        );
        for (key, value) in &line.more {
            println!("    {key}: {value}");
        }
        let mut object = Map::new();
        for (key, value) in [
            ("case", json!(line.case)),
            ("ours_us", json!(line.ours_us)),
            ("lightgbm_us", json!(line.lightgbm_us)),
            ("ratio", json!(ratio)),
            ("exact", json!(line.exact)),
            ("rows", json!(line.rows)),
            ("trees", json!(line.trees)),
            ("leaves", json!(line.leaves)),
        ] {
            object.insert(key.to_owned(), value);
        }
        object.extend(line.more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        self.lines.push(Value::Object(object));
    }

    pub(crate) fn write(&self, file: &str) {
        let text = serde_json::to_string_pretty(&self.lines).expect("numbers and words");
        std::fs::write(file, text + "\n").unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

/// Adds the microseconds that a call takes.
pub(crate) fn time<T>(times: &mut Vec<f64>, call: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = call();
    times.push(start.elapsed().as_secs_f64() * 1e6);
    result
}

pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
