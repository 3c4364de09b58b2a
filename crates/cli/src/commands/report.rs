//! `ckselect report`: the contents of a sweep.

use std::path::{Path, PathBuf};

use ck_select::vocab::Arch;
use ck_select_evaluate::page;
use ck_select_evaluate::survey::{Keep, Survey};
use ck_select_measurements::sidecar::Sidecar;
use ck_select_measurements::{Measurements, files_of};

use super::data::{WhereOption, say_left_out};
use crate::error::CliError;
use crate::output;
use crate::table::{Cell, Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect report sweep.csv
  ckselect report sweep.csv --arch gfx942 --output sweep.html
  ckselect report data/*.parquet --output all.html --format markdown
  ckselect report sweep.csv --output pool.txt --keep 8

Inputs are what `ckselect evaluate` reads. The files that `ckselect bench` writes beside its log, \
FILE.details.jsonl and FILE.meta.json, are used if they exist: for the spread of samples, devices and time \
spent. A file named …details.jsonl stands for its log.

The greedy pool takes kernels one after the other, each time the one that adds most to those before it. A \
share is the mean over all problems of the fastest kept kernel's speed relative to that of the fastest of \
all kernels.";

/// The default of --keep.
const SHARE: f64 = 0.99;

/// Summarise a sweep: coverage, winners, what fewer kernels cost, noise, failures
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Measurements: logs of `ckselect bench`, benchmark CSVs, the output of `ckselect convert`; folders of
    /// parquet
    #[arg(value_name = "SWEEP", required = true)]
    sweeps: Vec<PathBuf>,
    #[command(flatten)]
    rows: WhereOption,
    /// The architecture of rows that do not record it; rows of other architectures are left out
    #[arg(long, value_name = "ARCH", value_parser = super::target)]
    arch: Option<Arch>,
    /// Also write a file: FILE.html, a page that needs no network, or FILE.txt, the kernels that are worth
    /// keeping, one per line, the one that adds most first. May be given twice
    #[arg(long, value_name = "FILE", value_parser = output::with_suffix(&["html", "txt"]))]
    output: Vec<PathBuf>,
    /// How many kernels FILE.txt keeps, such as 8, or what share of the fastest kernels' speed [default: 99%]
    #[arg(long, value_name = "COUNT|PERCENT%", requires = "output", value_parser = keep)]
    keep: Option<Keep>,
    /// Output format of the figures
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

fn keep(text: &str) -> Result<Keep, String> {
    let keep = match text.strip_suffix('%') {
        None => text.parse().ok().filter(|count| *count > 0).map(Keep::Kernels),
        Some(percent) => {
            let share = percent.parse::<f64>().ok().map(|percent| percent / 100.0);
            share.filter(|share| *share > 0.0 && *share <= 1.0).map(Keep::Share)
        }
    };
    keep.ok_or_else(|| {
        "expected a number of kernels, such as 8, or a share of the speed, such as 99%".to_owned()
    })
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let files: Vec<PathBuf> = args.sweeps.iter().map(|file| Sidecar::measurements(file)).collect();
    let measurements = read(args, &files)?;
    let survey = survey(&measurements, &files)?;
    for path in &args.output {
        if output::suffix(path) == "txt" {
            prune(args, path, &survey, &measurements)?;
            continue;
        }
        let made = super::provenance(None, &measurements)?;
        output::write_file(path, &page::sweep(&survey, &measurements, &made))?;
    }
    figures(&survey, &measurements).print(args.format)
}

fn read(args: &Args, files: &[PathBuf]) -> Result<Measurements, CliError> {
    let filter = &args.rows.filter;
    let scope = filter.scope(filter.op_of(files)?, args.arch)?;
    let mut measurements = Measurements::with(scope, filter.options());
    measurements.add_all(files)?;
    say_left_out(&measurements);
    Ok(measurements)
}

fn survey(measurements: &Measurements, files: &[PathBuf]) -> Result<Survey, CliError> {
    let mut sidecars = Vec::new();
    for file in files {
        for file in files_of(file)? {
            sidecars.push(Sidecar::beside(&file)?);
        }
    }
    Survey::new(measurements, sidecars).ok_or_else(|| {
        let rows = measurements.rows().len();
        CliError::failed(format!("nothing to report: none of {rows} rows has a time"))
    })
}

/// Writes the pool that is worth keeping.
fn prune(args: &Args, path: &Path, survey: &Survey, measurements: &Measurements) -> Result<(), CliError> {
    let steps = survey.pool.kept(args.keep.unwrap_or(Keep::Share(SHARE)));
    let Some(last) = steps.last() else { return Ok(()) };
    let text = format!(
        "{} of {} kernels keep {:.2} % of the fastest ones' speed on {} problems",
        steps.len(),
        measurements.kernels().len(),
        last.share * 100.0,
        measurements.problems().len()
    );
    let names = steps.iter().map(|step| measurements.kernels()[step.kernel as usize].name.as_str());
    output::write_file(path, &format!("# {text}\n{}\n", names.collect::<Vec<_>>().join("\n")))?;
    say!("ckselect: {}: {text}", path.display());
    if last.without > 0 {
        say!("ckselect: {}: {} problems have no kept kernel that ran on them", path.display(), last.without);
    }
    Ok(())
}

/// All figures, section by section: a value and its share of the whole.
fn figures(survey: &Survey, measurements: &Measurements) -> ResultTable {
    let mut table = ResultTable::new(["section", "name", "value", "share"]);
    let mut push = |section: &str, name: String, value: Cell, share: Option<f64>| {
        table.push(vec![section.into(), name.into(), value, share.into()]);
    };
    let coverage = &survey.coverage;
    let kernels = measurements.kernels();
    push("coverage", "problems".into(), measurements.problems().len().into(), None);
    push("coverage", "runs of problems".into(), survey.trials.len().into(), None);
    push("coverage", "kernels".into(), kernels.len().into(), None);
    push("coverage", "rows".into(), coverage.rows.into(), None);
    let measured = coverage.measured as f64 / coverage.possible as f64;
    push("coverage", "pairs measured".into(), coverage.measured.into(), Some(measured));
    let winners = survey.winners();
    push("winners", "kernels that win".into(), winners.into(), Some(winners as f64 / kernels.len() as f64));
    for (size, step) in survey.pool.sizes() {
        let name =
            if size == 1 { kernels[step.kernel as usize].name.clone() } else { format!("{size} kernels") };
        push("pool", name, size.into(), Some(step.share));
    }
    push("pool", "a random kernel".into(), 1_usize.into(), Some(survey.random()));
    match &survey.roofline {
        Ok(roofline) => {
            push("roofline", "median share of the roof".into(), Cell::Empty, Some(roofline.share(0.5)));
            for roof in &roofline.roofs {
                push("roofline", format!("peak of {} in TFLOPS", roof.dtype), roof.tflops.into(), None);
            }
            push("roofline", "memory in GB/s".into(), roofline.memory_gb_s.into(), None);
        }
        Err(reason) => push("roofline", format!("none: {reason}"), Cell::Empty, None),
    }
    let noise = &survey.noise;
    push("noise", "pairs measured more than once".into(), noise.repeated.into(), None);
    if noise.repeated > 0 {
        push("noise", "slowest over fastest time, median".into(), noise.median.into(), None);
        push("noise", "slowest over fastest time, P90".into(), noise.p90.into(), None);
    }
    for details in survey.sidecars.iter().filter_map(|sidecar| sidecar.details.as_ref()) {
        push("noise", "coefficient of variation, median".into(), details.median.into(), None);
        let share = details.unsteady as f64 / details.rows as f64;
        push("noise", "unsteady rows".into(), details.unsteady.into(), Some(share));
        push("noise", "rows measured again as unsteady".into(), details.remeasured.into(), None);
        push("noise", "rows written again".into(), details.again.into(), None);
    }
    for one in &survey.failures {
        push("failures", one.class.clone(), one.rows.into(), Some(one.rows as f64 / coverage.rows as f64));
    }
    push("time", "one run of each row in s".into(), (survey.run_ms / 1e3).into(), None);
    push("time", "slowest tenth of the rows".into(), Cell::Empty, Some(survey.slowest_tenth));
    for session in survey.sidecars.iter().flat_map(|sidecar| &sidecar.sessions) {
        if let Some(seconds) = session.seconds() {
            push("time", format!("session of {} rows in s", session.rows), (seconds as f64).into(), None);
        }
    }
    table
}
