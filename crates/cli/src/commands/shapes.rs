//! `ckselect shapes`: problems that are worth measuring.

use std::path::{Path, PathBuf};

use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::{Direction, Dtype, Op};
use ck_select_enumerate::shapes::{self, Choice, Draw, Named, Set, driver};

use super::{Params, whole, word};
use crate::error::CliError;
use crate::output::{Output, suffix};
use crate::problems::Problems;
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect shapes --list
  ckselect shapes --set wide --set edge --output gemm.csv
  ckselect shapes --set synthetic --set networks --direction bwd_data --output bwd_data.csv
  ckselect shapes --driver driver_lines.txt --output miopen.csv
  ckselect shapes --validation 300 --params ndim=3 --apart-from miopen.csv --output unseen.csv
  ckselect shapes --set conv-wide --set synthetic --count 400 --output some.csv";

/// How many rejected driver lines are printed.
const SHOWN: usize = 10;

/// Generate the problems of a sweep
#[derive(Clone, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("source").required(true).multiple(true))]
pub(crate) struct Args {
    /// A set of problems; several are concatenated in order, each problem once. Upstream's names, such as
    /// forward_2d, stand for sets of the same kind
    #[arg(long, value_name = "NAME", group = "source", value_parser = set)]
    set: Vec<Named>,
    /// A file of MIOpenDriver command lines. A line of several directions (no -F, -F 0, or a sum of 1, 2 and
    /// 4) is taken for the one of --direction, and left out if it lacks that; a line of one direction keeps
    /// it. Lines with unknown flags are named and left out
    #[arg(long, value_name = "FILE", group = "source")]
    driver: Option<PathBuf>,
    /// Draw this many problems for the evaluation of a model
    #[arg(
        long,
        value_name = "COUNT",
        group = "source",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    validation: Option<u64>,
    /// List the sets with their sizes
    #[arg(long, group = "source", conflicts_with_all = ["set", "driver", "validation"])]
    list: bool,
    /// How problems are drawn: op=grouped_conv of --validation; any_channels=1 there, including odd numbers;
    /// most_gflop=GFLOP of each there, to bound the sweep's time; seed=42 of --validation and the set
    /// `holdout`; ndim=2 of the sets `synthetic`, `holdout`, `conv-wide` and `conv-edge` (with 3, every sixth
    /// convolution of --validation has three); batches=1,8,32 of the networks' layers
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    #[arg(skip)]
    op: Option<Op>,
    #[arg(skip)]
    any_channels: bool,
    #[arg(skip)]
    most_gflop: Option<f64>,
    #[arg(skip)]
    seed: Option<u64>,
    #[arg(skip)]
    ndim: Option<u8>,
    #[arg(skip)]
    batches: Vec<i64>,
    /// Files of problems that --validation must avoid: as `rank --problems` reads them, or benchmark CSVs
    #[arg(long, value_name = "FILE", requires = "validation", num_args = 1..)]
    apart_from: Vec<PathBuf>,
    /// Direction of convolutions [default: forward]
    #[arg(long, value_name = "DIRECTION", value_parser = word::<Direction>)]
    direction: Option<Direction>,
    /// Element type; by default upstream's: bf16 for convolutions, fp8 for GEMMs, as `enumerate` has it, fp16
    /// for attention. Upstream's sets of attention have types of their own; of these it takes those of this
    /// type
    #[arg(long, value_name = "TYPE", value_parser = word::<Dtype>)]
    dtype: Option<Dtype>,
    /// At most this many problems, evenly spaced
    #[arg(long, value_name = "COUNT", value_parser = count)]
    count: Option<usize>,
    /// Output file: a CSV, one row per problem, or if it ends in .json, a list of objects [default: standard
    /// output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Args {
    /// The command line with what `--params` says.
    fn with_params(&self) -> Result<Self, CliError> {
        let mut all = self.clone();
        let known = ["op", "any_channels", "most_gflop", "seed", "ndim", "batches"];
        let params = Params::read(&self.params, &known)?;
        params.set("op", |value| word(value).map(Some), &mut all.op)?;
        params.set("any_channels", |value| Ok(whole(0..=1)(value)? == 1), &mut all.any_channels)?;
        let gflop = |value: &str| value.parse().map(Some).map_err(|_| "expected a number".to_owned());
        params.set("most_gflop", gflop, &mut all.most_gflop)?;
        params.set("seed", |value| whole(0..=u64::MAX)(value).map(Some), &mut all.seed)?;
        params.set("ndim", |value| whole(2..=3)(value).map(Some), &mut all.ndim)?;
        let batches = |value: &str| value.split(',').map(whole(1..=65536)).collect();
        params.set("batches", batches, &mut all.batches)?;
        let of_validation = ["op", "any_channels", "most_gflop"].into_iter().find(|name| params.has(name));
        match of_validation.filter(|_| all.validation.is_none()) {
            Some(name) => Err(CliError::usage(format!("--params: {name} is for --validation"))),
            None => Ok(all),
        }
    }
}

fn count(text: &str) -> Result<usize, String> {
    whole(1..=usize::MAX)(text)
}

fn set(word: &str) -> Result<Named, String> {
    word.parse()
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let args = &args.with_params()?;
    if args.list {
        return list(args);
    }
    check(args)?;
    let mut problems = Vec::new();
    for named in &args.set {
        problems.extend(named.set.problems(&choice_of(args, named)?)?);
    }
    if let Some(path) = &args.driver {
        problems.extend(imported(path, args)?);
    }
    if let Some(count) = args.validation {
        problems.extend(validation(count, args)?);
    }
    let mut problems = shapes::distinct(problems);
    if problems.iter().any(|problem| problem.op() != problems[0].op()) {
        return Err(CliError::usage("the sources mix operations: one file has one"));
    }
    let found = problems.len();
    if let Some(most) = args.count {
        if most > found {
            say!("ckselect: --count {most}: the sources have only {found} problems, all of which are taken");
        }
        problems = shapes::evenly(&problems, most);
    }
    if problems.is_empty() {
        return Err(CliError::failed("no problem is left after all conditions"));
    }
    let is_json = args.output.as_deref().is_some_and(|path| suffix(path) == "json");
    Output::create(args.output.as_deref())?.filled(|out| {
        if is_json { shapes::write_json(&problems, out) } else { shapes::write_csv(&problems, out) }
    })
}

/// Options that change nothing of what is asked for are mistakes.
fn check(args: &Args) -> Result<(), CliError> {
    let sets = || args.set.iter().map(|named| named.set);
    let drawn = args.validation.map(|_| args.op.unwrap_or(Op::Conv));
    let convs = args.driver.is_some() || drawn == Some(Op::Conv) || sets().any(|set| set.op() == Op::Conv);
    // Lines of the driver have types of their own.
    let typed = !args.set.is_empty() || args.validation.is_some() || !args.apart_from.is_empty();
    let batches = sets().any(Set::has_batches);
    let rules = [
        ("--direction", args.direction.is_some(), convs, "convolutions from --set, --driver or --validation"),
        ("--dtype", args.dtype.is_some(), typed, "--set, --validation and --apart-from"),
        (
            "--params ndim",
            args.ndim.is_some(),
            sets().any(Set::has_dimensions) || drawn == Some(Op::Conv),
            "the sets synthetic, holdout, conv-wide and conv-edge, and --validation of convolutions",
        ),
        ("--params batches", !args.batches.is_empty(), batches, "sets of networks' layers"),
        (
            "--params seed",
            args.seed.is_some(),
            args.validation.is_some() || sets().any(Set::is_drawn),
            "--validation and the set holdout",
        ),
        ("--params any_channels", args.any_channels, drawn == Some(Op::Conv), "--validation of convolutions"),
    ];
    match rules.into_iter().find(|(_, is_given, is_used, _)| *is_given && !is_used) {
        Some((option, _, _, what)) => Err(CliError::usage(format!("{option} is for {what}"))),
        None => Ok(()),
    }
}

fn choice(args: &Args, op: Op) -> Choice {
    let usual = Choice::new(args.dtype.unwrap_or(ProblemDefaults::of(op).dtype));
    Choice {
        direction: args.direction.unwrap_or(usual.direction),
        any_dtype: args.dtype.is_none(),
        ndim: args.ndim.unwrap_or(usual.ndim),
        seed: args.seed.unwrap_or(usual.seed),
        batches: if args.batches.is_empty() { usual.batches } else { args.batches.clone() },
        ..usual
    }
}

/// What a set leaves open, of which upstream's names say a part.
fn choice_of(args: &Args, named: &Named) -> Result<Choice, CliError> {
    let asked = choice(args, named.set.op());
    let Some((direction, ndim)) = named.upstream else { return Ok(asked) };
    let (name, set) = (named.name, named.set.name.as_str());
    if args.direction.is_some_and(|other| other != direction) || args.ndim.is_some_and(|other| other != ndim)
    {
        let message = format!("--set {name} says direction and dimensions; --set {set} leaves them open");
        return Err(CliError::usage(message));
    }
    say!(
        "ckselect: {name}: upstream's own problems are not included; these are of the same kind, of the set {set}"
    );
    Ok(Choice { direction, ndim, ..asked })
}

fn list(args: &Args) -> Result<(), CliError> {
    let mut table = Table::new(["set", "problems", "meaning"]);
    for Named { name, set, upstream } in shapes::named()? {
        let asked = choice(args, set.op());
        let (choice, meaning) = match upstream {
            Some((direction, ndim)) => {
                let meaning = format!("upstream's name: {} {direction}, --params ndim={ndim}", set.name);
                (Choice { direction, ndim, ..asked }, meaning)
            }
            None => (asked, set.about.clone()),
        };
        table.push(vec![name.into(), Cell::from(set.problems(&choice)?.len()), meaning.into()]);
    }
    table.print(Format::Table)
}

fn imported(path: &Path, args: &Args) -> Result<Vec<Problem>, CliError> {
    let text =
        ck_select::files::read_to_string(path).map_err(|error| CliError::io(path.display(), &error))?;
    let (problems, skipped) = driver::import(&text, args.direction.unwrap_or(Direction::Forward));
    for skip in skipped.iter().take(SHOWN) {
        say!("ckselect: {}: line {}: {}", path.display(), skip.line, skip.reason);
    }
    if !skipped.is_empty() {
        say!("ckselect: {}: {} lines are not convolutions and are left out", path.display(), skipped.len());
    }
    if problems.is_empty() {
        return Err(CliError::failed(format!("{}: no convolution found", path.display())));
    }
    Ok(problems)
}

fn validation(count: u64, args: &Args) -> Result<Vec<Problem>, CliError> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let op = args.op.unwrap_or(Op::Conv);
    let known = known(args, op)?;
    let draw = Draw {
        count,
        seed: choice(args, op).seed,
        three_d: args.ndim == Some(3),
        any_channels: args.any_channels,
        most_gflop: args.most_gflop,
    };
    let problems = shapes::validation(op, &choice(args, op), &draw, &known);
    if problems.len() < count {
        return Err(CliError::failed(format!("only {} of {count} problems could be drawn", problems.len())));
    }
    Ok(problems)
}

/// The problems of --apart-from.
fn known(args: &Args, op: Op) -> Result<Vec<Problem>, CliError> {
    let choice = choice(args, op);
    let mut known = Vec::new();
    for path in &args.apart_from {
        let usual = ProblemDefaults::of(op);
        let defaults = ProblemDefaults { direction: choice.direction, dtype: choice.dtype, ..usual };
        let mut problems = Problems::open(path, op, &defaults, None)?;
        while let Some((_, problem)) = problems.next()? {
            if known.last() != Some(&problem) {
                known.push(problem);
            }
        }
        problems.finish();
    }
    Ok(known)
}
