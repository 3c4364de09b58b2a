//! `ckselect enumerate`: lists the kernels of a configuration.

use std::path::{Path, PathBuf};

use ck_select::operation::Operation;
use ck_select::vocab::{Dtype, GemmLayout, Op, Product};
use ck_select_enumerate::config::{Config, Family};
use ck_select_enumerate::filter::{Filter, fields};
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::{EnumerateError, Enumeration, Request, enumerate, export};
use clap::builder::{StringValueParser, TypedValueParser as _};

use super::{Params, pools, whole, word};
use crate::error::CliError;
use crate::output::{file_name, suffix, write_file};
use crate::table::{Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect enumerate configs/forward_2d.json --arch gfx950
  ckselect enumerate configs/forward_2d.json --valid-only --output pool.txt
  ckselect enumerate configs/bwd_data_2d.json --list \\
      --filter \"c.tile_n >= 128 and c.pipeline == 'mem' and not c.split_image\"
  ckselect enumerate configs/gemm_default.json --params dtype=fp8 layout=rcr --count
  ckselect enumerate a8w8_bpreshuffle --arch gfx942 --output pool.txt
  ckselect enumerate moe --arch H200 --filter \"c.tile_m == 16\" --output pool.txt
  ckselect enumerate --fields --params op=grouped_conv

A filter is a Python expression over the fields of a kernel `c`: and, or, not, in, comparisons (also \
chained), + - * / // %, strings, numbers, lists and tuples, abs, len, max, min, startswith, endswith. \
ckselect parses it and never executes it as code. docs/enumeration.md describes the configurations and the \
number of kernels that they give.";

/// List the kernels of a configuration
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The configuration, upstream's JSON: traits of a convolution sweep, a list of convolution instances, or
    /// ranges of GEMM tiles; or `moe`, what tuners of mixtures of experts try, or a family of AITER's GEMM
    /// kernels (an unknown one lists them), whose names are written unless something else is asked for
    #[arg(value_name = "CONFIG.json|FAMILY", required_unless_present = "fields")]
    config: Option<PathBuf>,
    /// The architecture, or a product such as MI300X
    #[arg(long, default_value = "gfx950", value_parser = StringValueParser::new().map(target))]
    arch: String,
    /// What the configuration leaves open: op, if it could be for several (gemm_universal, grouped_conv,
    /// fmha); ndim=2 or 3 of convolutions; dtype=fp8 of A and B and layout=rcr of A, B and C of GEMMs
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    /// Only kernels for which this expression is true; @FILE has it in a file
    #[arg(long, value_name = "EXPR|@FILE")]
    filter: Vec<String>,
    /// Only kernels that can be built for the architecture
    #[arg(long)]
    valid_only: bool,
    /// Write the kernels' names with their indices
    #[arg(long, group = "shown")]
    list: bool,
    /// Write only the number of kernels
    #[arg(long, group = "shown")]
    count: bool,
    /// Write the fields that filters can use
    #[arg(long, group = "shown")]
    fields: bool,
    /// Write the names, one per line, for `--pool`; or if FILE ends in .json, the kernels as JSON, for CK's
    /// tools and `--pool`; - is standard output. May be given twice
    #[arg(long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Replace rule files with those in this directory (arch.json, conv.json, gemm.json, …)
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Output format of lists and counts; with csv or json, a family is a list
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// The target of a product; anything else as it is, for the rules to judge.
fn target(name: String) -> String {
    Product::find(&name).map_or(name, |product| product.arch.to_owned())
}

/// The values of `--params`, for what the configuration leaves open.
struct ConfigParams {
    op: Option<Op>,
    ndim: Option<u8>,
    dtype: Option<Dtype>,
    layout: Option<GemmLayout>,
}

impl ConfigParams {
    fn read(words: &[String]) -> Result<Self, CliError> {
        let params = Params::read(words, &["op", "ndim", "dtype", "layout"])?;
        Ok(Self {
            op: params.get("op", word)?,
            ndim: params.get("ndim", whole(2..=3))?,
            dtype: params.get("dtype", word)?,
            layout: params.get("layout", word)?,
        })
    }
}

impl Args {
    /// The family of AITER's kernels, if one is named in place of a configuration.
    fn family(&self) -> Option<&str> {
        self.config.as_deref().and_then(pools::family)
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let to_standard_output = args.output.iter().any(|file| file == Path::new("-"));
    if to_standard_output && (args.list || args.count) {
        refuse!("--output -: --list and --count write to standard output, too");
    }
    let open = ConfigParams::read(&args.params)?;
    if args.fields {
        return list_fields(open.op, args.format);
    }
    let rules = match &args.rules {
        Some(directory) => Rules::read(directory)?,
        None => Rules::built_in()?,
    };
    let (name, config) = match (args.family(), &args.config) {
        (Some(family), _) => (family.to_owned(), Config::family(family)),
        (None, Some(path)) => (path.display().to_string(), Config::read(path, open.op)?),
        (None, None) => refuse!("the configuration is missing"),
    };
    if args.family().is_some() && !args.params.is_empty() {
        refuse!("--params: a family leaves nothing open");
    }
    check_options(&open, config.op())?;
    let request = request(args, &open, config.op())?;
    let enumeration = enumerate(&rules, &config, &request).map_err(|error| match error {
        EnumerateError::Arch(unknown) => CliError::usage(format!("--arch: {unknown}")),
        error @ EnumerateError::FixedDimensions => CliError::usage(format!("--params ndim: {error}")),
        EnumerateError::Aiter(error) => CliError::usage(format!("{name}: no such file, and {error}")),
        other => other.into(),
    })?;
    for warning in &enumeration.warnings {
        say!("ckselect: warning: {warning}");
    }
    if enumeration.kernels.is_empty() && enumeration.others.is_empty() && !args.count {
        fail!("{name}: no kernel is left after all conditions");
    }
    if !args.output.is_empty() {
        check_pool(&enumeration)?;
    }
    for file in &args.output {
        let text = if suffix(file) == "json" {
            export::to_json(&enumeration.kernels, &file_name(Path::new(&name)), &args.arch)?
        } else {
            export::to_text(&enumeration.kernels)
        };
        write_file(file, &text)?;
    }
    let is_family = args.family().is_some() && args.output.is_empty();
    if args.list || is_family && !args.count && args.format != Format::Table {
        return listed(&enumeration).print(args.format);
    }
    if args.count {
        return write_file(
            Path::new("-"),
            &format!("{}\n", enumeration.kernels.len() + enumeration.others.len()),
        );
    }
    if is_family {
        return write_file(Path::new("-"), &export::to_text(&enumeration.kernels));
    }
    // When a file goes to standard output, nothing else may follow it.
    if to_standard_output { Ok(()) } else { summary(&enumeration, args).print(args.format) }
}

/// How many kernels there are of each family that the library knows by name only.
fn others(enumeration: &Enumeration) -> impl Iterator<Item = (Family, usize)> {
    let count = |family| enumeration.others.iter().filter(|other| other.family == family).count();
    [Family::Direct, Family::Depthwise].into_iter().map(move |one| (one, count(one))).filter(|one| one.1 > 0)
}

/// A pool holds only what the library can describe; prints what it cannot hold.
fn check_pool(enumeration: &Enumeration) -> Result<(), CliError> {
    let left_out =
        others(enumeration).map(|(family, count)| format!("{count} {} convolutions", family.as_str()));
    let left_out: Vec<String> = left_out.collect();
    if left_out.is_empty() {
        return Ok(());
    }
    let message = format!("{} cannot be part of a pool: they are not implicit GEMMs", left_out.join(" and "));
    if enumeration.kernels.is_empty() {
        fail!("{message}; there are no other kernels");
    }
    say!("ckselect: {message}, and are left out");
    Ok(())
}

/// Refuses options that are for other operations.
fn check_options(open: &ConfigParams, op: Op) -> Result<(), CliError> {
    let given =
        [("dtype", open.dtype.is_some()), ("layout", open.layout.is_some()), ("ndim", open.ndim.is_some())];
    let is_wrong = |name: &&str| !Config::params(op).contains(name);
    let Some(wrong) = given.iter().filter(|one| one.1).map(|one| one.0).find(is_wrong) else { return Ok(()) };
    let takes = |op: &&Op| Config::params(**op).contains(&wrong);
    let those: Vec<&str> = Op::ALL.iter().filter(takes).map(|op| Operation::get(*op).noun).collect();
    let noun = Operation::get(op).noun;
    refuse!("--params: {wrong} is for {}, found a configuration of {noun}", those.join(" and "))
}

fn request(args: &Args, open: &ConfigParams, op: Op) -> Result<Request, CliError> {
    let mut request = Request::new(args.arch.as_str());
    request.ndim = open.ndim;
    request.dtype = open.dtype;
    request.layout = open.layout;
    request.valid_only = args.valid_only;
    for text in &args.filter {
        let (name, filter) = if let Some(name) = text.strip_prefix('@') {
            let text = ck_select::files::read_to_string(name).map_err(CliError::io(name))?;
            let filter = Filter::parse_file(op, &text);
            (name, filter.map_err(|error| CliError::failed(format!("{name}: {error}")))?)
        } else {
            let filter = Filter::parse(op, text);
            ("--filter", filter.map_err(|error| CliError::usage(format!("--filter: {error}")))?)
        };
        request.filters.push((name.to_owned(), filter));
    }
    Ok(request)
}

/// How many kernels remain after each step, and why some cannot be built.
fn summary(enumeration: &Enumeration, args: &Args) -> ResultTable {
    let mut table = ResultTable::new(["kernels", "of them"]);
    let mut row = |count: usize, what: &str| table.push(vec![count.into(), what.into()]);
    row(enumeration.expanded, "expanded");
    if enumeration.repeated > 0 {
        row(enumeration.repeated, "repeat a name");
    }
    if args.valid_only {
        row(enumeration.refused.values().sum(), "cannot be built");
    }
    for (reason, &count) in &enumeration.refused {
        row(count, &format!("- {reason}"));
    }
    if !args.filter.is_empty() {
        row(enumeration.filtered, "filtered out");
    }
    row(enumeration.kernels.len() + enumeration.others.len(), "kept");
    for (family, count) in others(enumeration) {
        row(count, &format!("- {}, by name only", family.as_str()));
    }
    table
}

fn listed(enumeration: &Enumeration) -> ResultTable {
    let mut table = ResultTable::new(["index", "kernel"]);
    let names = enumeration.kernels.iter().map(|kernel| kernel.name.as_str());
    for (index, name) in names.chain(enumeration.others.iter().map(|other| other.name.as_str())).enumerate() {
        table.push(vec![index.into(), name.into()]);
    }
    table
}

fn list_fields(of: Option<Op>, format: Format) -> Result<(), CliError> {
    let mut table = ResultTable::new(["op", "field", "meaning"]);
    for &op in Op::ALL.iter().filter(|op| of.is_none_or(|wanted| wanted == **op)) {
        for field in fields(op) {
            table.push(vec![op.as_str().into(), format!("c.{}", field.name).into(), field.doc.into()]);
        }
    }
    table.print(format)
}
