//! `ckselect store`: manages the measured winners.

use std::io::Read as _;
use std::path::PathBuf;

use ck_select::tuning::store::{
    Filter, Location, Merged, Mode, PoolHash, Record, RecordFormat, Store, Winner, read_records,
    write_records,
};
use ck_select::vocab::{Arch, Op, UnknownWord};
use clap::{Subcommand, ValueEnum};

use crate::clash::{self, Named};
use crate::error::CliError;
use crate::output::Output;
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect store list --arch gfx950
  ckselect store export --output winners.jsonl
  ckselect store prune --older-than 90d --dry-run

The store is the file given by --store, else by CK_SELECT_STORE ('off' disables it), else \
$XDG_CACHE_HOME/ck-select/winners.db, else ~/.cache/ck-select/winners.db.";

/// Manage the store of measured winners
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    /// The store's file, or 'off'
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    List(ListArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Merge(MergeArgs),
    Prune(PruneArgs),
    Path(PathArgs),
}

/// List the winners
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store list
  ckselect store list --arch gfx950 --op grouped_conv --format csv
  ckselect store list --older-than 2w --format json | jq '.[].kernel'")]
struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Write winners to a file that `import` reads
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store export --output winners.jsonl
  ckselect store export --arch gfx950 --output winners.csv
  ckselect store export | ssh node7 ckselect store import -

The file is written completely or not at all.")]
struct ExportArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Output format; by default CSV for a file named *.csv, JSON lines otherwise
    #[arg(long, value_enum)]
    format: Option<ExportFormat>,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How winners are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// One JSON object per line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}

/// Import winners from files written by `export`, all or none
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store import winners.jsonl
  ckselect store import tuned-*.csv

Each line is checked; if one is invalid, the error names the first such line and nothing is imported. Of two \
winners for one problem and scope, the newer is kept. A file may leave out `driver` (then it is empty) and \
`source` (then it is `import`).")]
struct ImportArgs {
    /// Files of JSON lines or CSV; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output format of the counts
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Import the winners of other stores
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store merge node1.db node2.db
  ckselect store merge --store all.db node*.db --format json

For hosts that cannot share a file. Of two winners for one problem and scope, the newer is kept, or the \
faster if both are from the same second; `replaced` and `kept` count these conflicts. The order of merging \
does not matter.")]
struct MergeArgs {
    /// The other stores
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output format of the counts
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Remove winners that are no longer needed
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store prune --older-than 90d --dry-run
  ckselect store prune --arch gfx942 --not-pool a2614723f16bd69ba226a46b42cdb49a

Removes the winners that match all conditions; at least one condition is required.")]
struct PruneArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only count them; remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Output format of the count
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Print the store's location
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store path
  ckselect store path --check")]
struct PathArgs {
    /// Also check every page of the file
    #[arg(long)]
    check: bool,
}

/// Which winners are meant.
#[derive(clap::Args)]
struct FilterArgs {
    /// Only winners for this architecture
    #[arg(long)]
    arch: Option<Arch>,
    /// Only winners for this device
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Only winners of the pool with this hash
    #[arg(long, value_name = "HASH")]
    pool: Option<PoolHash>,
    /// Only winners of pools other than this
    #[arg(long, value_name = "HASH")]
    not_pool: Option<PoolHash>,
    /// Only winners of this library version
    #[arg(long, value_name = "VERSION")]
    library: Option<String>,
    /// Only winners of this driver
    #[arg(long, value_name = "VERSION")]
    driver: Option<String>,
    /// Only winners of this operation: gemm_universal, grouped_conv or fmha
    #[arg(long, value_parser = op)]
    op: Option<Op>,
    /// Only problems that this kernel won
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Only winners measured longer ago than this: a number with s, m, h, d or w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u64>,
}

fn op(word: &str) -> Result<Op, String> {
    word.parse().map_err(|error: UnknownWord| error.to_string())
}

/// The seconds of an age such as `90d`.
fn age(text: &str) -> Result<u64, String> {
    let unit = text.chars().next_back().unwrap_or_default();
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err("expected a number with s, m, h, d or w, such as 90d".to_owned()),
    };
    let digits = text.strip_suffix(unit).unwrap_or_default();
    // `parse` would also accept a sign.
    let number = if digits.starts_with('+') { None } else { digits.parse::<u64>().ok() };
    number
        .and_then(|number| number.checked_mul(seconds))
        .ok_or_else(|| format!("'{digits}' is not a whole number in range"))
}

impl FilterArgs {
    fn filter(&self) -> Filter {
        Filter {
            arch: self.arch,
            device: self.device.clone(),
            pool: self.pool,
            not_pool: self.not_pool,
            library: self.library.clone(),
            driver: self.driver.clone(),
            op: self.op,
            kernel: self.kernel.clone(),
            measured_before: self.older_than.map(|age| Winner::now().saturating_sub(age)),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let location = Location::from_environment(args.store.as_deref())?;
    match &args.action {
        Action::List(list) => run_list(list, &location),
        Action::Export(export) => run_export(export, &location),
        Action::Import(import) => run_import(import, &location),
        Action::Merge(merge) => run_merge(merge, &location),
        Action::Prune(prune) => run_prune(prune, &location),
        Action::Path(path) => run_path(path, &location),
    }
}

fn open(location: &Location, mode: Mode) -> Result<Store, CliError> {
    match location {
        Location::Off => {
            Err(CliError::failed("the store is switched off: give --store FILE or set CK_SELECT_STORE"))
        }
        Location::File(path) => {
            if mode == Mode::ReadOnly && !path.exists() {
                say!("ckselect: {}: no store yet", path.display());
            }
            Ok(Store::open(path, mode)?)
        }
    }
}

fn records(store: &Store, filter: &Filter) -> Result<Vec<Record>, CliError> {
    let (records, unreadable) = store.records(filter)?;
    if unreadable > 0 {
        say!("ckselect: warning: {unreadable} winners are skipped: another version of ckselect wrote them");
    }
    Ok(records)
}

fn run_list(args: &ListArgs, location: &Location) -> Result<(), CliError> {
    let records = records(&open(location, Mode::ReadOnly)?, &args.filter.filter())?;
    let mut table = Table::new([
        "kernel",
        "median_ms",
        "cv",
        "repeats",
        "candidates",
        "measured_at",
        "source",
        "arch",
        "device",
        "pool",
        "library",
        "driver",
        "op",
        "problem",
    ]);
    for Record { scope, problem, winner } in records {
        let measured_at = match args.format {
            Format::Table | Format::Markdown => Cell::Text(utc(winner.measured_at)),
            Format::Csv | Format::Json => Cell::Count(winner.measured_at),
        };
        table.push(vec![
            (&*winner.kernel).into(),
            winner.median_ms.into(),
            winner.cv.into(),
            Cell::Count(winner.repeats.into()),
            Cell::Count(winner.candidates.into()),
            measured_at,
            winner.source.as_str().into(),
            scope.arch.as_str().into(),
            scope.device.into(),
            scope.pool.to_string().into(),
            scope.library.into(),
            scope.driver.into(),
            problem.op().as_str().into(),
            problem.to_string().into(),
        ]);
    }
    write(&table, args.format)
}

/// Seconds since 1970 as readable date and time.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin on 1 March, so that the leap day is their last day; 400 years have 146,097 days.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month < 3);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

fn write(table: &Table, format: Format) -> Result<(), CliError> {
    let mut out = Output::report()?;
    table.write(format, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}

fn run_export(args: &ExportArgs, location: &Location) -> Result<(), CliError> {
    if let (Some(path), Location::File(store)) = (args.output.as_deref(), location) {
        // The check covers the store's journals, too, and a store that no option names.
        let files = ["", "-wal", "-shm", "-journal"].map(|end| {
            let mut file = store.clone().into_os_string();
            file.push(end);
            PathBuf::from(file)
        });
        let read = files.iter().map(|path| Named { option: "the store".to_owned(), path, is_written: false });
        let output = Named { option: "--output".to_owned(), path, is_written: true };
        clash::refuse(&read.chain([output]).collect::<Vec<_>>())?;
    }
    let records = records(&open(location, Mode::ReadOnly)?, &args.filter.filter())?;
    let named_csv =
        args.output.as_deref().is_some_and(|path| path.extension().is_some_and(|end| end == "csv"));
    let format = match args.format {
        Some(ExportFormat::Csv) => RecordFormat::Csv,
        None if named_csv => RecordFormat::Csv,
        Some(ExportFormat::Jsonl) | None => RecordFormat::JsonLines,
    };
    let mut out = Output::create(args.output.as_deref())?;
    write_records(format, &records, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}

fn run_import(args: &ImportArgs, location: &Location) -> Result<(), CliError> {
    let mut records = Vec::new();
    for path in &args.files {
        let (label, mut source) = crate::input::open(path)?;
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(|error| CliError::io(&label, &error))?;
        records.extend(read_records(&label, &bytes)?);
    }
    write_counts(open(location, Mode::ReadWrite)?.merge(&records)?, args.format)
}

fn run_merge(args: &MergeArgs, location: &Location) -> Result<(), CliError> {
    let mut all = Vec::new();
    for path in &args.files {
        if !path.exists() {
            return Err(CliError::failed(format!("{}: no such file", path.display())));
        }
        all.extend(records(&Store::open(path, Mode::ReadOnly)?, &Filter::default())?);
    }
    write_counts(open(location, Mode::ReadWrite)?.merge(&all)?, args.format)
}

fn write_counts(merged: Merged, format: Format) -> Result<(), CliError> {
    let mut table = Table::new(["added", "same", "replaced", "kept"]);
    table.push([merged.added, merged.same, merged.replaced, merged.kept].map(Cell::from).to_vec());
    write(&table, format)
}

fn run_prune(args: &PruneArgs, location: &Location) -> Result<(), CliError> {
    let filter = args.filter.filter();
    if filter == Filter::default() {
        return Err(CliError::usage("prune: give at least one condition, such as --older-than 90d"));
    }
    let (header, count) = if args.dry_run {
        ("would_remove", open(location, Mode::ReadOnly)?.count(&filter)?)
    } else {
        ("removed", open(location, Mode::ReadWrite)?.remove(&filter)?)
    };
    let mut table = Table::new([header]);
    table.push(vec![count.into()]);
    write(&table, args.format)
}

fn run_path(args: &PathArgs, location: &Location) -> Result<(), CliError> {
    use std::io::Write as _;
    let shown = match location {
        Location::Off => "off".to_owned(),
        Location::File(path) => path.display().to_string(),
    };
    let mut out = Output::report()?;
    writeln!(out, "{shown}").map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()?;
    if args.check {
        let store = open(location, Mode::ReadOnly)?;
        store.check()?;
        say!("ckselect: {shown}: sound, {} winners", store.count(&Filter::default())?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        assert_eq!(age("90d"), Ok(7_776_000));
        assert_eq!(age("0s"), Ok(0));
        assert_eq!(age("2w"), Ok(1_209_600));
        for bad in ["", "d", "90", "-1d", "+1d", "1.5h", "99999999999999999999w", "9y", "1ü"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_399, "2000-02-28 23:59:59Z"),
            (951_782_400, "2000-02-29 00:00:00Z"),
            (1_800_000_000, "2027-01-15 08:00:00Z"),
            (4_107_542_400, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
