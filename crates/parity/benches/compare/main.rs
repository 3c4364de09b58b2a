//! Ours against LightGBM's own C API: in one run, on the same inputs, in turn.
//!
//! `make bench`, or
//! `cargo bench -p ck-select-parity --bench compare -- [--json FILE] [--quick] [--case WORD]`. The models are
//! trained the first time, which takes some minutes, and kept in the target directory.
//!
//! One table for people, and the same as a list of JSON objects: `case`, `ours_us`, `lightgbm_us`, `ratio`,
//! `exact` (all compared scores were equal in bits), `rows`, `trees`, `leaves`; `null` where LightGBM has no
//! part. Further keys say what only some cases have. Times are medians in microseconds.
//!
//! - `scores`: cases of scoring and ranking
//! - `calls`: what the C interface costs besides ranking, and the library file itself
//! - `load`: reading a model, with the memory that it takes, each side in a process of its own
//!
//! `--quick` takes 3 rounds of fewer problems: to see that everything runs, not for figures.

mod calls;
mod load;
mod machine;
mod models;
mod report;
mod scores;

use report::Report;

/// What the command line says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    json: Option<String>,
    quick: bool,
    only: String,
}

impl Options {
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 3 } else { 30 }
    }

    /// Whether a case is wanted.
    pub(crate) fn wants(&self, case: &str) -> bool {
        case.contains(&self.only)
    }
}

fn main() {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value after the option");
        match argument.as_str() {
            "--json" => options.json = Some(value()),
            "--case" => options.only = value(),
            "--quick" => options.quick = true,
            // A process of its own for one load, see `load`.
            "--load" => return load::child(&value(), &value()),
            // What cargo itself passes to benches.
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    let mut report = Report::new();
    // First, while nothing else has used the memory.
    load::run(&options, &mut report);
    calls::run(&options, &mut report);
    scores::run(&options, &mut report);
    if let Some(file) = &options.json {
        report.write(file);
    }
}
