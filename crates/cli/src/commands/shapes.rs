//! `ckselect shapes`: problems that are worth measuring.

use std::path::PathBuf;
use std::str::FromStr as _;

use ck_select::operation::Operation;
use ck_select::problem::ProblemDefaults;
use ck_select::vocab::{Direction, Dtype, Op};
use ck_select_enumerate::shapes::{self, Choice, NamedSet, Set};

use super::{Params, whole, word};
use crate::error::CliError;
use crate::output::{Output, suffix};
use crate::table::{Cell, Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect shapes --list
  ckselect shapes --set wide --set edge --output gemm.csv
  ckselect shapes --set synthetic --set networks --direction bwd_data --output bwd_data.csv
  ckselect shapes --set holdout --params ndim=3 seed=7 --output unseen.csv
  ckselect shapes --set conv-wide --set synthetic --count 400 --output some.csv";

/// Generate the problems of a sweep
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A set of problems; several are concatenated in order, each problem once. Upstream's names, such as
    /// forward_2d, stand for sets of the same kind
    #[arg(long, value_name = "NAME", required_unless_present = "list", value_parser = NamedSet::from_str)]
    set: Vec<NamedSet>,
    /// List the sets with their sizes
    #[arg(long, conflicts_with = "set")]
    list: bool,
    /// What sets leave open: seed=42 of drawn ones (`holdout` and the like); ndim=2 of the sets of
    /// convolutions that are not networks' (with 3, every sixth of `holdout` has three); batches=1,8,32 of
    /// the networks' layers
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    /// Direction of convolutions [default: forward]
    #[arg(long, value_name = "DIRECTION", value_parser = word::<Direction>)]
    direction: Option<Direction>,
    /// Element type; by default upstream's: bf16 for convolutions, fp8 for GEMMs, as `enumerate` has it, fp16
    /// for attention. Upstream's sets of attention have types of their own; of these it takes those of this
    /// type
    #[arg(long, value_name = "TYPE", value_parser = word::<Dtype>)]
    dtype: Option<Dtype>,
    /// At most this many problems, evenly spaced
    #[arg(long, value_name = "COUNT", value_parser = whole(1..=usize::MAX))]
    count: Option<usize>,
    /// Output file: a CSV, one row per problem, or if it ends in .json, a list of objects [default: standard
    /// output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The options' values for what sets leave open.
struct SetOptions {
    direction: Option<Direction>,
    dtype: Option<Dtype>,
    seed: Option<u64>,
    ndim: Option<u8>,
    batches: Option<Vec<i64>>,
}

impl SetOptions {
    fn read(args: &Args) -> Result<Self, CliError> {
        let params = Params::read(&args.params, &["seed", "ndim", "batches"])?;
        let batches = |value: &str| value.split(',').map(whole(1..=65536)).collect();
        Ok(Self {
            direction: args.direction,
            dtype: args.dtype,
            seed: params.get("seed", whole(0..=u64::MAX))?,
            ndim: params.get("ndim", whole(2..=3))?,
            batches: params.get("batches", batches)?,
        })
    }

    fn choice(&self, op: Op) -> Choice {
        let usual = Choice::new(self.dtype.unwrap_or(ProblemDefaults::new(op).dtype));
        Choice {
            direction: self.direction.unwrap_or(usual.direction),
            any_dtype: self.dtype.is_none(),
            ndim: self.ndim.unwrap_or(usual.ndim),
            seed: self.seed.unwrap_or(usual.seed),
            batches: self.batches.clone().unwrap_or(usual.batches),
            ..usual
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let open = SetOptions::read(args)?;
    if args.list {
        return list(&open);
    }
    check(&open, &args.set)?;
    let mut problems = Vec::new();
    for named in &args.set {
        problems.extend(named.set.problems(&choice_of(&open, named)?)?);
    }
    let mut problems = shapes::distinct(problems);
    if problems.iter().any(|problem| problem.op() != problems[0].op()) {
        refuse!("the sets mix operations: one file has one");
    }
    let count = problems.len();
    if let Some(most) = args.count {
        if most > count {
            say!("ckselect: --count {most}: the sets have only {count} problems, all of which are taken");
        }
        problems = shapes::evenly(&problems, most);
    }
    if problems.is_empty() {
        fail!("no problem is left after all conditions");
    }
    let is_json = args.output.as_deref().is_some_and(|path| suffix(path) == "json");
    Output::create(args.output.as_deref())?.filled(|out| {
        if is_json { shapes::write_json(&problems, out) } else { shapes::write_csv(&problems, out) }
    })
}

/// Refuses options that change nothing of the requested sets: they are mistakes.
fn check(open: &SetOptions, sets: &[NamedSet]) -> Result<(), CliError> {
    let has = |of: fn(&Set) -> bool| sets.iter().any(|named| of(named.set));
    let rules = [
        (
            "--direction",
            open.direction.is_some(),
            has(|set| Operation::has_field(set.op(), "direction")),
            "sets of convolutions",
        ),
        (
            "--params ndim",
            open.ndim.is_some(),
            has(Set::has_dimensions),
            "sets of convolutions that are not networks'",
        ),
        ("--params batches", open.batches.is_some(), has(Set::has_batches), "sets of networks' layers"),
        ("--params seed", open.seed.is_some(), has(Set::is_drawn), "drawn sets, such as holdout"),
    ];
    match rules.into_iter().find(|(_, is_given, is_used, _)| *is_given && !is_used) {
        Some((option, _, _, what)) => refuse!("{option} is for {what}"),
        None => Ok(()),
    }
}

/// The values for what a set leaves open: those of the options, and direction and dimensions of upstream's name.
fn choice_of(open: &SetOptions, named: &NamedSet) -> Result<Choice, CliError> {
    let asked = open.choice(named.set.op());
    let Some((direction, ndim)) = named.upstream else { return Ok(asked) };
    let (name, set) = (named.name, named.set.name.as_str());
    if open.direction.is_some_and(|other| other != direction) || open.ndim.is_some_and(|other| other != ndim)
    {
        refuse!("--set {name} says direction and dimensions; --set {set} leaves them open");
    }
    say!(
        "ckselect: {name}: upstream's own problems are not included; these are of the same kind, of the set \
         {set}"
    );
    Ok(Choice { direction, ndim, ..asked })
}

fn list(open: &SetOptions) -> Result<(), CliError> {
    let mut table = ResultTable::new(["set", "problems", "meaning"]);
    for NamedSet { name, set, upstream } in shapes::named()? {
        let asked = open.choice(set.op());
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
