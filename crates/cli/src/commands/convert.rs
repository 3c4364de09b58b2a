//! `ckselect convert`: converts measurements from any format into the canonical table.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ck_select::vocab::Arch;
use ck_select_measurements::SourceFile;
use ck_select_measurements::convert::{Options, Progress, Reject, convert, is_standard_output};
use indicatif::HumanCount;

use super::data::WhereOption;
use super::say_ignored;
use crate::error::CliError;
use crate::progress::Progress as Bar;
use crate::table::{Cell, Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect convert sweep.csv --output data/sweep.parquet --arch gfx950
  ckselect convert logs/*.log --output data/gemm.parquet --arch gfx950
  ckselect convert benchmark_results_fp16_rcr.json --output data/fp16.parquet --arch gfx950 --strict
  ckselect convert data/ --output all.csv --where op=grouped_conv,direction=forward

Inputs: benchmark CSVs of grouped convolutions (2D and 3D) and of GEMMs, streaming logs, benchmark_results \
JSON, parquet tables of upstream's converters or our own; text files may be compressed with gzip; a folder \
stands for the *.parquet files directly in it. The output is parquet, or a benchmark CSV if its name ends in \
.csv or is - (standard output). Rows that failed on the GPU are kept with is_valid false. Rows that cannot \
be read are listed, counted, and left out. What .meta.json files beside the inputs say of the GPUs goes into \
OUTPUT.meta.json.";

/// How many rejected rows are printed; --rejects lists all.
const SHOWN: u64 = 10;

/// Convert measurements to the table that training reads
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files and folders of measurements
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Output file; missing folders are created
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The architecture of rows that do not record it; rows of other architectures are left out
    #[arg(long, value_name = "GFX", value_parser = super::target)]
    arch: Option<Arch>,
    #[command(flatten)]
    rows: WhereOption,
    /// Value of the column run_id; an integer for convolutions. By default what the rows record, else a
    /// digest of the file's name for GEMMs and 0 for convolutions
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// List every rejected row in this CSV: file, location, reason
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Fail, and write no table, if a row is rejected
    #[arg(long)]
    strict: bool,
    /// Output format of the summary
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let rows = &args.rows.filter;
    if rows.run_id.is_some() {
        refuse!("--where run_id: rows get the run_id of --run-id; evaluate and train choose by it");
    }
    let options = Options {
        arch: args.arch,
        op: rows.op,
        direction: rows.direction,
        dtype: rows.dtype,
        run_id: args.run_id.clone(),
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order, the first signal stops the conversion, and the second one the process.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| CliError::failed(format!("cannot handle signals: {error}")))?;
    }
    let mut shown = RejectLog {
        bar: Bar::new("converting", 0, "rows"),
        count: 0,
        keep: args.rejects.is_some(),
        table: ResultTable::new(["file", "place", "reason"]),
        strict: args.strict.then(|| Arc::clone(&stop)),
    };
    let converted = convert(&args.inputs, &args.output, &options, &stop, &mut |step| shown.add(step));
    shown.bar.end();
    if let Some(path) = &args.rejects {
        shown.table.save(path)?;
    }
    if args.strict && shown.count > 0 {
        fail!("a row was rejected and --strict was given: {} is not written", args.output.display());
    }
    if shown.count > SHOWN && args.rejects.is_none() {
        let more = shown.count - SHOWN;
        say!("ckselect: and {} more rejected rows; --rejects FILE lists them", HumanCount(more));
    }
    let reports = converted.map_err(|error| CliError::from_writer(&error))?;
    // When the table goes to standard output, nothing else may follow it.
    if is_standard_output(&args.output) { Ok(()) } else { summary(&reports, args.format) }
}

fn summary(reports: &[SourceFile], format: Format) -> Result<(), CliError> {
    let mut table = ResultTable::new(["file", "rows", "invalid", "other", "rejected"]);
    for report in reports {
        say_ignored(report.path.display(), &report.unknown);
        table.push(vec![
            Cell::from(report.path.display().to_string()),
            report.rows.into(),
            report.invalid.into(),
            report.other.into(),
            report.rejected.into(),
        ]);
    }
    table.print(format)
}

/// Shows progress and rejected rows.
struct RejectLog {
    bar: Bar,
    count: u64,
    /// Whether to keep all of them for a file.
    keep: bool,
    table: ResultTable,
    /// Set when the first row is rejected.
    strict: Option<Arc<AtomicBool>>,
}

impl RejectLog {
    fn add(&mut self, progress: Progress) {
        let Reject { file, position, reason } = match progress {
            Progress::Rows(written) => return self.bar.set(written),
            Progress::Reject(reject) => reject,
        };
        self.count += 1;
        if self.count <= SHOWN {
            self.bar.suspend(|| say!("ckselect: {file}: {position}: {reason}"));
        }
        if self.keep {
            self.table.push(vec![file.into(), position.into(), reason.into()]);
        }
        if let Some(stop) = &self.strict {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
