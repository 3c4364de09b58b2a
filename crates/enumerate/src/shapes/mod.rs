//! Problems worth measuring: upstream's generators, synthetic sets, layers of real networks, attention of
//! real models, and lists from elsewhere. Sets are data (`rules/shapes.json`), except for drawn ones.

pub(crate) mod drawn;
mod product;
mod write;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ck_select_types::each_operation;
use ck_select_types::nearest::OneOf;
use ck_select_types::operation::Operation;
use ck_select_types::problem::{Problem, ProblemDefaults};
use ck_select_types::vocab::{Direction, Dtype, Op};
use serde::Deserialize;

pub use crate::lists::distinct;
use crate::rules::RulesError;
use drawn::{Draw, OperationShapes as _};

pub use write::{write_csv, write_json};

/// A set of problems that can be named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The name.
    pub name: String,
    /// The description.
    pub about: String,
    op: Op,
    #[serde(default)]
    products: Vec<String>,
    /// More products for a direction.
    #[serde(default)]
    bwd_data: Vec<String>,
    #[serde(default)]
    bwd_weight: Vec<String>,
    /// The products in three dimensions, instead of all others.
    #[serde(default)]
    three_d: Vec<String>,
    /// Depths in three dimensions, if the products are those of two.
    #[serde(default)]
    depths: String,
    /// The end of every product.
    #[serde(default)]
    with: String,
    /// Whether GEMMs are sorted by their extents.
    #[serde(default)]
    sorted: bool,
    /// Whether only problems are taken whose operands all kernels can address.
    #[serde(default)]
    small: bool,
    /// Names of the sets that it joins.
    #[serde(default)]
    of: Vec<String>,
    /// The problems that are drawn, if any are.
    #[serde(default)]
    drawn: Option<Draw>,
}

/// A set under one of upstream's names, which also says direction and dimensions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpstreamName {
    name: String,
    set: String,
    direction: Direction,
    ndim: u8,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    #[serde(rename = "about")]
    _about: String,
    /// The end of every product of an operation.
    every_line: BTreeMap<String, String>,
    /// The end of every product in three dimensions.
    three_d: String,
    sets: Vec<Set>,
    upstream: Vec<UpstreamName>,
}

const FILE: &str = "built-in shapes.json";

fn catalog() -> Result<&'static Catalog, RulesError> {
    static CATALOG: OnceLock<Result<Catalog, RulesError>> = OnceLock::new();
    let read = || {
        serde_json::from_str(include_str!("../../rules/shapes.json"))
            .map_err(|error| RulesError { file: FILE.to_owned(), reason: error.to_string() })
    };
    CATALOG.get_or_init(read).as_ref().map_err(Clone::clone)
}

/// All sets.
pub fn sets() -> Result<&'static [Set], RulesError> {
    Ok(&catalog()?.sets)
}

/// A set by one of its names: ours, or one of upstream's, which also says direction and dimensions.
/// Upstream's own problems are not included; the set has problems of the same kind.
#[derive(Debug, Clone, Copy)]
pub struct NamedSet {
    /// The name.
    pub name: &'static str,
    /// The set.
    pub set: &'static Set,
    /// Direction and dimensions, for one of upstream's names.
    pub upstream: Option<(Direction, u8)>,
}

/// The sets under all their names.
pub fn named() -> Result<Vec<NamedSet>, RulesError> {
    let catalog = catalog()?;
    let ours = catalog.sets.iter().map(|set| NamedSet { name: &set.name, set, upstream: None });
    let upstreams = catalog.upstream.iter().filter_map(|known| {
        let set = catalog.sets.iter().find(|set| set.name == known.set)?;
        Some(NamedSet { name: &known.name, set, upstream: Some((known.direction, known.ndim)) })
    });
    Ok(ours.chain(upstreams).collect())
}

impl std::str::FromStr for NamedSet {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = named().map_err(|error| error.to_string())?;
        all.iter().find(|named| named.name == word).copied().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|named| named.name).collect();
            format!("unknown set '{word}'{}", OneOf::new(word, &names))
        })
    }
}

/// Properties that the sets leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Direction of convolutions.
    pub direction: Direction,
    /// Element type of all operands.
    pub dtype: Dtype,
    /// Whether that type is only a default: sets with types of their own then keep all of them.
    pub any_dtype: bool,
    /// Spatial dimensions of convolutions outside of networks: 2 or 3.
    pub ndim: u8,
    /// Seed of drawn problems.
    pub seed: u64,
    /// Batches of a network's layers.
    pub batches: Vec<i64>,
}

impl Choice {
    /// Forward bf16 in two dimensions; networks with batches of 1, 8 and 32.
    pub fn new(dtype: Dtype) -> Self {
        Self {
            direction: Direction::Forward,
            dtype,
            any_dtype: false,
            ndim: 2,
            seed: 42,
            batches: vec![1, 8, 32],
        }
    }
}

impl Set {
    /// The operation of the set's problems.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// Whether the set's problems have the batch sizes that were chosen.
    pub fn has_batches(&self) -> bool {
        !self.of.is_empty() || self.products.iter().any(|line| line.contains("@batches"))
    }

    /// Whether there are problems in two and in three dimensions.
    pub fn has_dimensions(&self) -> bool {
        Operation::has_field(self.op, "ndim") && self.is_drawn()
            || !self.depths.is_empty()
            || !self.three_d.is_empty()
    }

    /// Whether the set's problems depend on a seed.
    pub const fn is_drawn(&self) -> bool {
        self.drawn.is_some()
    }

    /// The problems of the set, in its order, each once.
    pub fn problems(&self, choice: &Choice) -> Result<Vec<Problem>, RulesError> {
        let mut problems = Vec::new();
        for set in sets()?.iter().filter(|set| self.of.contains(&set.name)) {
            problems.extend(set.problems(choice)?);
        }
        if let Some(draw) = &self.drawn {
            problems.extend(draw.problems(self.op(), choice));
        }
        for line in self.lines(choice)? {
            self.product(&line, choice, &mut problems).map_err(|reason| RulesError {
                file: FILE.to_owned(),
                reason: format!("'{line}': {reason}"),
            })?;
        }
        if self.sorted {
            problems.sort_by_key(Problem::values);
        }
        Ok(distinct(problems))
    }

    /// Whole lines of the products.
    fn lines(&self, choice: &Choice) -> Result<Vec<String>, RulesError> {
        let catalog = catalog()?;
        let three_d = choice.ndim == 3 && self.has_dimensions();
        let more = match choice.direction {
            Direction::Forward => &[][..],
            Direction::BwdData => &self.bwd_data,
            Direction::BwdWeight => &self.bwd_weight,
        };
        let lines: Vec<&String> = if three_d && !self.three_d.is_empty() {
            self.three_d.iter().collect()
        } else {
            self.products.iter().chain(more).collect()
        };
        let every = catalog.every_line.get(self.op().as_str()).map_or("", String::as_str);
        let depth =
            if three_d && !self.depths.is_empty() { format!("Di={}", self.depths) } else { String::new() };
        let three_d = if three_d { catalog.three_d.as_str() } else { "" };
        Ok(lines.into_iter().map(|line| format!("{line} {depth} {} {every} {three_d}", self.with)).collect())
    }

    /// Adds the problems of a line.
    fn product(&self, line: &str, choice: &Choice, problems: &mut Vec<Problem>) -> Result<(), String> {
        let Choice { direction, dtype, .. } = *choice;
        let defaults = ProblemDefaults { direction, dtype, ..ProblemDefaults::new(self.op()) };
        let words: Vec<&str> = line.split_whitespace().collect();
        product::expand(&words, &choice.batches, &mut product::Values::default(), &mut |values| {
            let read = Problem::from_fields(self.op(), &values.named, &defaults);
            problems.extend(read.ok().filter(|problem| self.takes(problem, choice)));
        })
    }

    fn takes(&self, problem: &Problem, choice: &Choice) -> bool {
        let is_large = self.small && !each_operation!(problem, Problem(problem) => problem.is_small());
        (choice.any_dtype || problem.dtype() == choice.dtype) && !is_large
    }
}

/// `count` evenly spaced problems, as in upstream's sweep: the one at `floor(i * len / count)`.
pub fn evenly<T: Copy>(problems: &[T], count: usize) -> Vec<T> {
    if problems.len() <= count {
        return problems.to_vec();
    }
    let step = problems.len() as f64 / count as f64;
    (0..count).map(|index| problems[(index as f64 * step) as usize]).collect()
}

#[cfg(test)]
mod tests;
