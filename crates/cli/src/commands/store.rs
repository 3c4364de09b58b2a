//! `ckselect store`: manages the measured winners.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use ck_select::problem::InvalidField;
use ck_select::tuning::store::{
    Location, Merged, Mode, PoolHash, Record, Store, Winner, json_lines, read_records,
};
use ck_select::vocab::{Arch, Op};
use clap::Subcommand;

use super::clash::{self, PathArgument};
use super::{duration, list_of_pairs, unknown_name, word};
#[cfg(feature = "offline")]
use super::{pools, reasons::Reasons, tuned_table::TunedTable};
use crate::error::CliError;
use crate::output::Output;
use crate::table::{Cell, Format, ResultTable};
use crate::timestamp;

const EXAMPLES: &str = "Examples:
  ckselect store list --where arch=gfx950
  ckselect store export --output winners.jsonl
  ckselect store prune --where older_than=90d --dry-run

The store is the file that CK_SELECT_STORE names ('off' disables it), else \
$XDG_CACHE_HOME/ck-select/winners.jsonl, else ~/.cache/ck-select/winners.jsonl.";

/// Manage the store of measured winners
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
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
  ckselect store list --where arch=gfx950,op=grouped_conv --format csv
  ckselect store list --where older_than=2w --format json | jq '.[].kernel'")]
struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Write winners as JSON lines, which `import` reads and which are a store themselves
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store export --output winners.jsonl
  ckselect store export --where arch=gfx950 | ssh node7 ckselect store import -
  ckselect store export --where arch=gfx950 --family a8w8_rowwise --num-cus 256 \\
      --output a8w8_tuned_gemm.csv

The file is written completely or not at all. `store list --format csv` gives a table.")]
struct ExportArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Write a tuned table of AITER's instead, with the winners that are of this family (docs/aiter.md)
    #[cfg(feature = "offline")]
    #[arg(long, value_name = "FAMILY", requires_all = ["filter", "num_cus"])]
    family: Option<String>,
    /// The compute units of the GPU, for the rows of such a table
    #[cfg(feature = "offline")]
    #[arg(long, value_name = "COUNT", requires = "family")]
    num_cus: Option<u32>,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Import winners from files written by `export`, all or none
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store import winners.jsonl
  ckselect store import tuned-*.jsonl

Each line is checked; if one is invalid, the error names the first such line and nothing is imported. Of two \
winners for one problem and scope, the newer is kept. A file may leave out `driver` (then it is empty) and \
`source` (then it is `import`).")]
struct ImportArgs {
    /// Files of JSON lines; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Import the winners of other stores
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store merge node1.jsonl node2.jsonl
  CK_SELECT_STORE=all.jsonl ckselect store merge node*.jsonl

For hosts that cannot share a file. Of two winners for one problem and scope, the newer is kept, or the \
faster if both are from the same second; `replaced` and `kept` count these conflicts. The order of merging \
does not matter.")]
struct MergeArgs {
    /// The other stores
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Remove winners that are no longer needed
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store prune --where older_than=90d --dry-run
  ckselect store prune --where 'arch=gfx942,pool!=a2614723f16bd69ba226a46b42cdb49a'

Removes the winners that match all conditions; at least one condition is required.")]
struct PruneArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only count them; remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Print the store's location
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect store path
  ckselect store path --check")]
struct PathArgs {
    /// Also check every line of the file
    #[arg(long)]
    check: bool,
}

/// Which winners are meant.
#[derive(clap::Args)]
struct FilterArgs {
    /// Only winners with these values of arch, device, pool (its hash), library, driver, op and kernel;
    /// `pool!=HASH` means other pools, and `older_than=AGE` winners measured longer ago: a number with s, m,
    /// h, d or w
    #[arg(long = "where", value_name = "FIELD=VALUE,…", value_parser = Filter::from_text)]
    filter: Option<Filter>,
}

/// Conditions on winners, all of which hold for a selected winner.
#[derive(Clone)]
struct Filter(Vec<Condition>);

/// A condition on one field of a winner.
#[derive(Clone)]
enum Condition {
    Arch(Arch),
    Device(String),
    Pool(PoolHash),
    OtherPool(PoolHash),
    Library(String),
    Driver(String),
    Op(Op),
    Kernel(String),
    /// Measured before this second since 1970.
    OlderThan(u64),
}

/// Reads an age such as `90d`; without a unit it is refused, since pruning by mistake loses winners.
fn age(text: &str) -> Result<u64, String> {
    let age = if text.ends_with(|c: char| c.is_ascii_digit()) { None } else { duration(text).ok() };
    age.map(|age| age.as_secs()).ok_or_else(|| {
        format!("older_than: found '{text}', expected a number with s, m, h, d or w, such as 90d")
    })
}

fn pool_hash(text: &str) -> Result<PoolHash, String> {
    text.parse().map_err(|error: InvalidField| error.to_string())
}

/// Reads the value of a condition.
type ConditionReader = fn(&str) -> Result<Condition, String>;

impl Condition {
    /// The names of conditions; one with `!` is the opposite of a condition.
    const READERS: [(&str, ConditionReader); 9] = [
        ("arch", |value| word(value).map(Self::Arch)),
        ("device", |value| Ok(Self::Device(value.to_owned()))),
        ("pool", |value| pool_hash(value).map(Self::Pool)),
        ("pool!", |value| pool_hash(value).map(Self::OtherPool)),
        ("library", |value| Ok(Self::Library(value.to_owned()))),
        ("driver", |value| Ok(Self::Driver(value.to_owned()))),
        ("op", |value| word(value).map(Self::Op)),
        ("kernel", |value| Ok(Self::Kernel(value.to_owned()))),
        ("older_than", |value| Ok(Self::OlderThan(Winner::now().saturating_sub(age(value)?)))),
    ];

    fn read(name: &str, value: &str) -> Result<Self, String> {
        let Some((_, reader)) = Self::READERS.iter().find(|(known, _)| *known == name) else {
            let fields: Vec<_> =
                Self::READERS.iter().map(|(known, _)| *known).filter(|known| !known.ends_with('!')).collect();
            return Err(unknown_name(name, &fields));
        };
        reader(value)
    }

    fn matches(&self, Record { scope, problem, winner }: &Record) -> bool {
        match self {
            Self::Arch(arch) => scope.arch == *arch,
            Self::Device(device) => scope.device == *device,
            Self::Pool(pool) => scope.pool == *pool,
            Self::OtherPool(pool) => scope.pool != *pool,
            Self::Library(library) => scope.library == *library,
            Self::Driver(driver) => scope.driver == *driver,
            Self::Op(op) => problem.op() == *op,
            Self::Kernel(kernel) => *winner.kernel == **kernel,
            Self::OlderThan(second) => winner.measured_at < *second,
        }
    }
}

impl Filter {
    fn from_text(text: &str) -> Result<Self, String> {
        let conditions = list_of_pairs(text)?.into_iter().map(|(name, value)| Condition::read(name, value));
        conditions.collect::<Result<_, _>>().map(Self)
    }

    fn matches(&self, record: &Record) -> bool {
        self.0.iter().all(|condition| condition.matches(record))
    }

    /// The architecture, if only winners of one are meant.
    #[cfg(feature = "offline")]
    fn arch(&self) -> Option<Arch> {
        self.0.iter().find_map(|condition| match condition {
            Condition::Arch(arch) => Some(*arch),
            _ => None,
        })
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let location = Location::from_environment(None)?;
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
        Location::Off => fail!("the store is switched off: set CK_SELECT_STORE to its file"),
        Location::File(path) => {
            if mode == Mode::ReadOnly && !path.exists() {
                say!("ckselect: {}: no store yet", path.display());
            }
            Ok(Store::open(path, mode)?)
        }
    }
}

fn records(store: &Store, filter: Option<&Filter>) -> Result<Vec<Record>, CliError> {
    let (mut records, unreadable) = store.records()?;
    if unreadable > 0 {
        let advice = "`ckselect store path --check` names the first";
        say!("ckselect: warning: {unreadable} lines of the store cannot be read and are skipped; {advice}");
    }
    records.retain(|record| filter.is_none_or(|filter| filter.matches(record)));
    Ok(records)
}

fn run_list(args: &ListArgs, location: &Location) -> Result<(), CliError> {
    let records = records(&open(location, Mode::ReadOnly)?, args.filter.filter.as_ref())?;
    let mut table = ResultTable::new([
        "kernel", "median_ms", "cv", "repeats", "candidates", "measured_at", "source", "arch", "device",
        "pool", "library", "driver", "op", "problem",
    ]);
    for Record { scope, problem, winner } in records {
        let measured_at = match args.format {
            Format::Table | Format::Markdown => {
                Cell::Text(timestamp::format(winner.measured_at).replace('T', " ") + "Z")
            }
            Format::Csv | Format::Json => Cell::Count(winner.measured_at),
        };
        table.push(vec![
            (&*winner.kernel).into(),
            winner.median_ms.into(),
            winner.cv.into(),
            winner.repeats.into(),
            winner.candidates.into(),
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
    table.print(args.format)
}

fn run_export(args: &ExportArgs, location: &Location) -> Result<(), CliError> {
    if let (Some(path), Location::File(store)) = (args.output.as_deref(), location) {
        // The check covers a store that no option names.
        let store = PathArgument { option: "the store".to_owned(), path: store, is_written: false };
        clash::refuse(&[store, PathArgument { option: "--output".to_owned(), path, is_written: true }])?;
    }
    let records = records(&open(location, Mode::ReadOnly)?, args.filter.filter.as_ref())?;
    #[cfg(feature = "offline")]
    if let (Some(family), Some(num_cus)) = (&args.family, args.num_cus) {
        let arch = args.filter.filter.as_ref().and_then(Filter::arch);
        let arch = arch.ok_or_else(|| CliError::usage("--family needs --where arch=ARCH"))?;
        return export_table(
            records,
            family,
            (arch, num_cus.into()),
            Output::create(args.output.as_deref())?,
        );
    }
    Output::create(args.output.as_deref())?.filled(|out| out.write_all(&json_lines(&records)))
}

/// Writes the winners of a family as a tuned table.
#[cfg(feature = "offline")]
fn export_table(
    mut records: Vec<Record>,
    family: &str,
    device: (Arch, i64),
    output: Output,
) -> Result<(), CliError> {
    let kernels = pools::of_family(family, device.0)?;
    let mut table = TunedTable::new(family, &kernels, device, output)?;
    let of_family = records.iter().filter(|record| table.names(&record.winner.kernel));
    let devices: std::collections::BTreeSet<&str> =
        of_family.map(|record| record.scope.device.as_str()).collect();
    if devices.len() > 1 && ck_select::hardware::Hardware::units_of(&device.0).len() > 1 {
        let devices = devices.into_iter().collect::<Vec<_>>().join(", ");
        refuse!("--num-cus: the winners are of {devices}: choose one with --where device=NAME");
    }
    // Of winners in different pools or under different drivers, the fastest counts.
    records.sort_by(|one, other| one.winner.median_ms.total_cmp(&other.winner.median_ms));
    let mut left_out = Reasons::default();
    for Record { problem, winner, .. } in &records {
        if let Some(reason) = table.push(problem, &winner.kernel, winner.median_ms * 1e3)? {
            left_out.count(reason);
        }
    }
    if let Some((count, reasons)) = left_out.list() {
        say!("ckselect: {count} winners are left out: {reasons}");
    }
    table.finish()
}

fn run_import(args: &ImportArgs, location: &Location) -> Result<(), CliError> {
    let mut records = Vec::new();
    for path in &args.files {
        let (label, mut source) = crate::input::open(path)?;
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(CliError::io(&label))?;
        records.extend(read_records(&label, &bytes)?);
    }
    write_counts(open(location, Mode::ReadWrite)?.merge(&records)?)
}

fn run_merge(args: &MergeArgs, location: &Location) -> Result<(), CliError> {
    let mut all = Vec::new();
    for path in &args.files {
        if !path.exists() {
            fail!("{}: no such file", path.display());
        }
        all.extend(records(&Store::open(path, Mode::ReadOnly)?, None)?);
    }
    write_counts(open(location, Mode::ReadWrite)?.merge(&all)?)
}

fn write_counts(merged: Merged) -> Result<(), CliError> {
    let mut table = ResultTable::new(["added", "same", "replaced", "kept"]);
    table.push([merged.added, merged.same, merged.replaced, merged.kept].map(Cell::from).to_vec());
    table.print(Format::Table)
}

fn run_prune(args: &PruneArgs, location: &Location) -> Result<(), CliError> {
    let Some(filter) = &args.filter.filter else {
        refuse!("prune: give at least one condition, such as --where older_than=90d");
    };
    let (header, count) = if args.dry_run {
        ("would_remove", records(&open(location, Mode::ReadOnly)?, Some(filter))?.len())
    } else {
        ("removed", open(location, Mode::ReadWrite)?.remove(|record| filter.matches(record))?)
    };
    let mut table = ResultTable::new([header]);
    table.push(vec![count.into()]);
    table.print(Format::Table)
}

fn run_path(args: &PathArgs, location: &Location) -> Result<(), CliError> {
    let shown = match location {
        Location::Off => "off".to_owned(),
        Location::File(path) => path.display().to_string(),
    };
    Output::report()?.filled(|out| writeln!(out, "{shown}"))?;
    if args.check {
        let store = open(location, Mode::ReadOnly)?;
        store.check()?;
        say!("ckselect: {shown}: sound, {} winners", store.count()?);
    }
    Ok(())
}
