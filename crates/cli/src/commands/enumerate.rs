//! `ckselect enumerate`: lists the kernels of a configuration.

use std::path::{Path, PathBuf};

use ck_select::vocab::{Dtype, GemmLayout, Op, UnknownWord};
use ck_select_enumerate::config::{Config, Family};
use ck_select_enumerate::filter::{Filter, fields};
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::{EnumerateError, Enumeration, Request, enumerate, export};

use crate::error::CliError;
use crate::output::write_file;
use crate::table::{Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect enumerate configs/forward_2d.json --arch gfx950
  ckselect enumerate configs/forward_2d.json --valid-only --output pool.txt
  ckselect enumerate configs/bwd_data_2d.json --list \\
      --filter \"c.tile_n >= 128 and c.pipeline == 'mem' and not c.split_image\"
  ckselect enumerate configs/gemm_default.json --dtype fp8 --layout rcr --count-only
  ckselect enumerate --family a8w8_bpreshuffle --arch gfx942 --output pool.txt
  ckselect enumerate --list-fields --op grouped_conv

A filter is a Python expression over the fields of a kernel `c`: and, or, not, in, comparisons (also \
chained), + - * / // %, strings, numbers, lists and tuples, abs, len, max, min, startswith, endswith. \
ckselect parses it and never executes it as code. docs/enumeration.md describes the configurations and the \
number of kernels that they give.";

/// List the kernels of a configuration
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The configuration, upstream's JSON: traits of a convolution sweep, a list of convolution instances, or
    /// ranges of GEMM tiles
    #[arg(value_name = "CONFIG.json", required_unless_present_any = ["list_fields", "family"])]
    config: Option<PathBuf>,
    /// A family of AITER's GEMM kernels instead of a configuration (an unknown one lists them): writes its names, one
    /// per line, unless something else is asked for
    #[arg(long, value_name = "FAMILY", conflicts_with_all = ["config", "op", "ndim", "dtype", "layout"])]
    family: Option<String>,
    /// The architecture
    #[arg(long, default_value = "gfx950")]
    arch: String,
    /// The operation, if the configuration could be for several: gemm_universal, grouped_conv or fmha
    #[arg(long, value_parser = op)]
    op: Option<Op>,
    /// Spatial dimensions, instead of the configuration's (convolutions)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=3))]
    ndim: Option<u8>,
    /// Type of A and B (GEMMs; default fp8)
    #[arg(long, value_parser = dtype)]
    dtype: Option<Dtype>,
    /// Layouts of A, B, C (GEMMs; default rcr)
    #[arg(long, value_parser = layout)]
    layout: Option<GemmLayout>,
    /// Only kernels for which this expression is true
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
    /// A file with such an expression, which is applied before --filter
    #[arg(long, value_name = "FILE")]
    filter_file: Option<PathBuf>,
    /// Only kernels that can be built for the architecture
    #[arg(long)]
    valid_only: bool,
    /// Write the kernels' names with their indices
    #[arg(long, group = "shown")]
    list: bool,
    /// Write only the number of kernels
    #[arg(long, group = "shown")]
    count_only: bool,
    /// Write the fields that filters can use
    #[arg(long, group = "shown")]
    list_fields: bool,
    /// Write the kernels as JSON, for CK's tools and `--pool`; - is standard output
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Write the names, one per line, for `--pool`; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace rule files with those in this directory (arch.json, conv.json, gemm.json, …)
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Output format of lists and counts
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

fn op(word: &str) -> Result<Op, String> {
    word.parse().map_err(|error: UnknownWord| error.to_string())
}

fn dtype(word: &str) -> Result<Dtype, String> {
    word.parse().map_err(|error: UnknownWord| error.to_string())
}

fn layout(word: &str) -> Result<GemmLayout, String> {
    word.parse().map_err(|error: UnknownWord| error.to_string())
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if args.list_fields {
        return list_fields(args);
    }
    let rules = match &args.rules {
        Some(directory) => Rules::read(directory)?,
        None => Rules::built_in()?,
    };
    let (name, config) = match (&args.family, &args.config) {
        (Some(family), _) => (family.clone(), Config::Aiter(family.clone())),
        (None, Some(path)) => (path.display().to_string(), Config::read(path, args.op)?),
        (None, None) => return Err(CliError::usage("the configuration is missing")),
    };
    check_options(args, &config)?;
    let request = request(args, config.op())?;
    let found = enumerate(&rules, &config, &request).map_err(|error| match error {
        EnumerateError::Arch(unknown) => CliError::usage(format!("--arch: {unknown}")),
        error @ EnumerateError::FixedDimensions => CliError::usage(format!("--ndim: {error}")),
        EnumerateError::Aiter(error) => CliError::usage(format!("--family: {error}")),
        other => other.into(),
    })?;
    for warning in &found.warnings {
        say!("ckselect: warning: {warning}");
    }
    if found.kernels.is_empty() && found.others.is_empty() && !args.count_only {
        return Err(CliError::failed(format!("{name}: no kernel is left after all conditions")));
    }
    if args.export_json.is_some() || args.output.is_some() {
        check_pool(&found)?;
    }
    if let Some(file) = &args.export_json {
        let name = Path::new(&name).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        write_file(file, &export::to_json(&found.kernels, &name, &args.arch)?)?;
    }
    if let Some(file) = &args.output {
        write_file(file, &export::to_text(&found.kernels))?;
    }
    if args.list {
        return listed(&found).print(args.format);
    }
    if args.count_only {
        return write_file(Path::new("-"), &format!("{}\n", found.kernels.len() + found.others.len()));
    }
    if args.family.is_some() && args.export_json.is_none() && args.output.is_none() {
        return write_file(Path::new("-"), &export::to_text(&found.kernels));
    }
    // When a file goes to standard output, nothing else may follow it.
    let taken = [&args.export_json, &args.output].into_iter().flatten().any(|file| file == Path::new("-"));
    if taken { Ok(()) } else { summary(&found, args).print(args.format) }
}

/// A pool holds only what the library can describe; prints what it cannot hold.
fn check_pool(found: &Enumeration) -> Result<(), CliError> {
    let families = [Family::Direct, Family::Depthwise].map(|family| {
        let count = found.others.iter().filter(|other| other.family == family).count();
        (count > 0).then(|| format!("{count} {} convolutions", family.as_str()))
    });
    let left_out: Vec<String> = families.into_iter().flatten().collect();
    if left_out.is_empty() {
        return Ok(());
    }
    let message = format!("{} cannot be part of a pool: they are not implicit GEMMs", left_out.join(" and "));
    if found.kernels.is_empty() {
        return Err(CliError::failed(format!("{message}; there are no other kernels")));
    }
    say!("ckselect: {message}, and are left out");
    Ok(())
}

/// Refuses options that are for other operations.
fn check_options(args: &Args, config: &Config) -> Result<(), CliError> {
    let wrong = match config.op() {
        op if op != Op::Gemm && args.dtype.is_some() => {
            "--dtype is for GEMMs; other types are in the configuration"
        }
        op if op != Op::Gemm && args.layout.is_some() => "--layout is for GEMMs",
        op if op != Op::GroupedConv && args.ndim.is_some() => "--ndim is for convolutions",
        _ => return Ok(()),
    };
    Err(CliError::usage(wrong))
}

fn request(args: &Args, op: Op) -> Result<Request, CliError> {
    let mut request = Request::new(args.arch.as_str());
    request.ndim = args.ndim;
    request.dtype = args.dtype.unwrap_or(request.dtype);
    request.layout = args.layout.unwrap_or(request.layout);
    request.valid_only = args.valid_only;
    if let Some(path) = &args.filter_file {
        let name = path.display().to_string();
        let text = ck_select::files::read_to_string(path).map_err(|error| CliError::io(&name, &error))?;
        let filter = Filter::parse_file(op, &text).map_err(|e| CliError::failed(format!("{name}: {e}")))?;
        request.filters.push((name, filter));
    }
    if let Some(text) = &args.filter {
        let filter = Filter::parse(op, text).map_err(|e| CliError::usage(format!("--filter: {e}")))?;
        request.filters.push(("--filter".to_owned(), filter));
    }
    Ok(request)
}

/// How many kernels remain after each step, and why some cannot be built.
fn summary(found: &Enumeration, args: &Args) -> Table {
    let mut table = Table::new(["kernels", "of them"]);
    let mut row = |count: usize, what: &str| table.push(vec![count.into(), what.into()]);
    row(found.expanded, "expanded");
    if found.repeated > 0 {
        row(found.repeated, "repeat a name");
    }
    if args.valid_only {
        row(found.refused.values().sum(), "cannot be built");
    }
    for (reason, &count) in &found.refused {
        row(count, &format!("- {reason}"));
    }
    if args.filter.is_some() || args.filter_file.is_some() {
        row(found.filtered, "filtered out");
    }
    row(found.kernels.len() + found.others.len(), "kept");
    for family in [Family::Direct, Family::Depthwise] {
        let count = found.others.iter().filter(|other| other.family == family).count();
        if count > 0 {
            row(count, &format!("- {}, by name only", family.as_str()));
        }
    }
    table
}

fn listed(found: &Enumeration) -> Table {
    let mut table = Table::new(["index", "kernel"]);
    let names = found.kernels.iter().map(|kernel| kernel.name.as_str());
    for (index, name) in names.chain(found.others.iter().map(|other| other.name.as_str())).enumerate() {
        table.push(vec![index.into(), name.into()]);
    }
    table
}

fn list_fields(args: &Args) -> Result<(), CliError> {
    let mut table = Table::new(["op", "field", "meaning"]);
    for &op in Op::ALL.iter().filter(|op| args.op.is_none_or(|wanted| wanted == **op)) {
        for field in fields(op) {
            table.push(vec![op.as_str().into(), format!("c.{}", field.name).into(), field.doc.into()]);
        }
    }
    table.print(args.format)
}
