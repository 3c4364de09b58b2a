//! `ckselect shapes`: problems that are worth measuring.

use std::path::PathBuf;

use ck_select::problem::ProblemDefaults;
use ck_select::vocab::{Direction, Dtype, Op};
use ck_select_enumerate::shapes::{self, Choice, Named, Set};

use super::{Params, whole, word};
use crate::error::CliError;
use crate::output::{Output, suffix};
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect shapes --list
  ckselect shapes --set wide --set edge --output gemm.csv
  ckselect shapes --set synthetic --set networks --direction bwd_data --output bwd_data.csv
  ckselect shapes --set holdout --params ndim=3 seed=7 --output unseen.csv
  ckselect shapes --set conv-wide --set synthetic --count 400 --output some.csv";

/// Generate the problems of a sweep
#[derive(Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A set of problems; several are concatenated in order, each problem once. Upstream's names, such as
    /// forward_2d, stand for sets of the same kind
    #[arg(long, value_name = "NAME", required_unless_present = "list", value_parser = set)]
    set: Vec<Named>,
    /// List the sets with their sizes
    #[arg(long, conflicts_with = "set")]
    list: bool,
    /// What sets leave open: seed=42 of drawn ones (`holdout` and the like); ndim=2 of the sets of
    /// convolutions that are not networks' (with 3, every sixth of `holdout` has three); batches=1,8,32 of
    /// the networks' layers
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    #[arg(skip)]
    seed: Option<u64>,
    #[arg(skip)]
    ndim: Option<u8>,
    #[arg(skip)]
    batches: Vec<i64>,
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
        let params = Params::read(&self.params, &["seed", "ndim", "batches"])?;
        params.set("seed", |value| whole(0..=u64::MAX)(value).map(Some), &mut all.seed)?;
        params.set("ndim", |value| whole(2..=3)(value).map(Some), &mut all.ndim)?;
        let batches = |value: &str| value.split(',').map(whole(1..=65536)).collect();
        params.set("batches", batches, &mut all.batches)?;
        Ok(all)
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
    let mut problems = shapes::distinct(problems);
    if problems.iter().any(|problem| problem.op() != problems[0].op()) {
        return Err(CliError::usage("the sets mix operations: one file has one"));
    }
    let found = problems.len();
    if let Some(most) = args.count {
        if most > found {
            say!("ckselect: --count {most}: the sets have only {found} problems, all of which are taken");
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
    let has = |of: fn(&Set) -> bool| args.set.iter().any(|named| of(named.set));
    let rules = [
        ("--direction", args.direction.is_some(), has(|set| set.op() == Op::Conv), "sets of convolutions"),
        (
            "--params ndim",
            args.ndim.is_some(),
            has(Set::has_dimensions),
            "sets of convolutions that are not networks'",
        ),
        ("--params batches", !args.batches.is_empty(), has(Set::has_batches), "sets of networks' layers"),
        ("--params seed", args.seed.is_some(), has(Set::is_drawn), "drawn sets, such as holdout"),
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
        "ckselect: {name}: upstream's own problems are not included; these are of the same kind, of the set \
         {set}"
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
