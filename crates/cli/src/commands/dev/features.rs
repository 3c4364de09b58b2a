//! `ckselect dev features`: the feature rows that a model would see.

use std::path::PathBuf;

use ck_select::features::{Engine, Extractor, Uncoded};
use ck_select::inputs;
use ck_select::operation::Operation;
use ck_select::rows::Entrance;
use ck_select::sheet::{Columns, Opened, Sheet};
use ck_select::vocab::Op;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use super::super::gpu::Gpu;
use super::super::{AllowOption, Allowance, load_model, say_ignored};
use crate::error::CliError;
use crate::input;
use crate::output::Output;
use crate::table::{Cell, Format, ResultTable, StreamedTable};

const EXAMPLES: &str = "Examples:
  ckselect dev features --engine conv97 --data rows.csv --output features.csv
  ckselect dev features --model models/M --data rows.csv --output features.csv
  ckselect dev features --engine gemm72 --list
";

const ABOUT_COLUMNS: &str = "
A kernel's name under kernel_name or kernel replaces the kernel's columns; those that are present must agree \
with it. Columns hw_<name> override the hardware, even --arch. Where absent cells are errors, problems \
are validated, too: pad_h/w/d_right count, and variant, ndim_spatial, dtype_in and op_type must agree. \
Columns close to one of these names are refused as misspelt; other unknown columns are named and ignored.";

/// Examples, the columns that each operation reads, and what is special about them.
fn help() -> String {
    let columns = Op::ALL.iter().map(|&op| {
        let cells = [&inputs::of_problem(op)[..], inputs::of_kernel(op)].concat().join(", ");
        format!("\nInput columns of {}: {cells}.\n", Operation::get(op).noun)
    });
    std::iter::once(EXAMPLES.to_owned()).chain(columns).collect::<String>() + ABOUT_COLUMNS
}

/// Compute feature rows from a CSV of problems and kernels
#[derive(clap::Args)]
#[command(after_help = help(), group = clap::ArgGroup::new("schema").required(true))]
pub(crate) struct Args {
    /// Schema
    #[arg(
        long,
        value_name = "NAME",
        group = "schema",
        value_parser = PossibleValuesParser::new(Engine::WORDS).try_map(|word| word.parse::<Engine>())
    )]
    engine: Option<Engine>,
    /// Take columns, rules and hardware from this model directory instead
    #[arg(long, value_name = "DIR", group = "schema")]
    model: Option<PathBuf>,
    /// CSV with the input columns; - is standard input
    #[arg(long, value_name = "IN.csv", required_unless_present = "list")]
    data: Option<PathBuf>,
    /// Output file for the columns f:<name> [default: standard output]
    #[arg(long, value_name = "OUT.csv")]
    output: Option<PathBuf>,
    #[command(flatten)]
    allow: AllowOption,
    /// GPU constants to use instead of the model's or the schema's: an architecture, a product or a file of
    /// single constants
    #[arg(long, value_name = "ARCH|FILE", default_value = "", hide_default_value = true)]
    arch: Gpu,
    /// List the features with their dependencies and meanings; reads no input
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let extractor = extractor(args)?;
    if args.list {
        return list(&extractor, args);
    }
    let Some(input) = &args.data else { refuse!("--data is missing") };
    let (name, source) = input::open(input)?;
    let mut sheet = Sheet::with_header(Opened::new(&name, source)?)?;
    let op = extractor.schema.op();
    let mut columns = Columns::new(&name, sheet.rows.header());
    for cell in [&inputs::of_problem(op)[..], inputs::of_kernel(op), &["kernel", "kernel_name"]].concat() {
        columns.find(cell);
    }
    say_ignored(&name, &columns.finish(Some(op))?);
    let names = extractor.schema.names();
    let out = Output::create(args.output.as_deref())?;
    let header = names.iter().map(|name| format!("f:{name}"));
    let mut rows = StreamedTable::new(Format::Csv, out, header);
    let (entrance, mut row) = (Entrance::new(&extractor), vec![0.0; names.len()]);
    let mut any = false;
    while sheet.next()? {
        entrance.fill(&sheet.rows.cells(), &mut row).map_err(|error| sheet.fault(error))?;
        rows.push(row.iter().copied().map(Cell::Real).collect())?;
        any = true;
    }
    if !any {
        fail!("{name}: found no row, expected at least one");
    }
    rows.finish()
}

fn extractor(args: &Args) -> Result<Extractor, CliError> {
    let mut extractor = match (&args.model, args.engine) {
        (Some(directory), _) => {
            args.arch.with_constants(args.allow.apply(load_model(directory)?))?.extractor().clone()
        }
        (None, Some(engine)) => {
            let extractor = Extractor::for_engine(engine);
            Extractor { hardware: args.arch.hardware_over(extractor.hardware)?, ..extractor }
        }
        (None, None) => refuse!("give --engine or --model"),
    };
    if args.allow.has(Allowance::Words) {
        extractor.rules.uncoded = Uncoded::Upstream;
    }
    Ok(extractor)
}

fn list(extractor: &Extractor, args: &Args) -> Result<(), CliError> {
    let mut table = ResultTable::new(["feature", "depends_on", "meaning"]);
    let schema = &extractor.schema;
    for ((name, scope), doc) in schema.names().into_iter().zip(schema.scopes()).zip(schema.docs()) {
        table.push(vec![name.into(), scope.into(), doc.into()]);
    }
    let format = if args.output.is_some() { Format::Csv } else { Format::Table };
    Output::create(args.output.as_deref())?.filled(|out| table.write(format, out))
}
