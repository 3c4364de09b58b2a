//! A mixture of experts as a plain value.

use std::fmt;

use crate::defaults::ProblemDefaults;
use crate::field::{self, InvalidField, fields};
use crate::given::Given;
use crate::routing::{Routing, TILES, tile_bounds};
use crate::valid::element;
use crate::vocab::{Arch, Dtype, MoeActivation, MoeQuant, MoeStage};

fields! {
    /// Products of the rows of some experts, each with the weights of its expert.
    ///
    /// ```
    /// use ck_select_types::problem::MoeProblem;
    /// use ck_select_types::vocab::MoeStage;
    ///
    /// let problem = MoeProblem::new(MoeStage::One, 512, [8, 2], [14336, 4096]);
    /// problem.validate()?;
    /// assert_eq!(problem.rows(), 1024);
    /// # Ok::<(), ck_select_types::problem::InvalidField>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    MoeProblem by moe_problem {
        stage: MoeStage = MoeStage::One, min: 0, names: ["stage"],
            "Which product: `1` by gate and up weights, `2` by down weights, `both` one after the other.";
        tokens: i64 = 1, min: 1, names: ["tokens" | "token" | "num_tokens"],
            "Rows before they are sent to experts.";
        experts: i64 = 1, min: 1, names: ["experts" | "expert" | "num_experts"], "Experts on this device.";
        topk: i64 = 1, min: 1, names: ["topk" | "top_k"], "Experts of a token.";
        n: i64 = 1, min: 1, names: ["n"],
            "Columns of a product: for stage 1 and both twice the intermediate size, for stage 2 the hidden size.";
        k: i64 = 1, min: 1, names: ["k"],
            "Depth of a product: for stage 1 and both the hidden size, for stage 2 the intermediate size.";
        dtype_a: Dtype = Dtype::Bf16, min: 0, names: ["dtype_a" | "dtype" | "q_dtype_a"],
            "Element type of rows.";
        dtype_b: Dtype = Dtype::Bf16, min: 0, names: ["dtype_b" | "q_dtype_w"], "Element type of weights.";
        quant: MoeQuant = MoeQuant::None, min: 0, names: ["quant" | "q_type"] omit, "What shares a scale.";
        block_n: u16 = 0, min: 0, names: ["block_n"] omit,
            "Columns of weights that share a scale; 0 for all or one.";
        block_k: u16 = 0, min: 0, names: ["block_k"] omit, "Elements of depth that share a scale; 0 for all.";
        activation: MoeActivation = MoeActivation::Silu, min: 0, names: ["activation" | "act_type"] omit,
            "The function between the two products.";
        weighted_first: bool = false, min: 0, names: ["weighted_first" | "doweight_stage1"] omit,
            "Stage 1 multiplies by the routing's weights, instead of stage 2.";
        active: i64 = 0, min: 0, names: ["active"] omit,
            "Experts that have rows; 0 when the routing is not known.";
        largest: i64 = 0, min: 0, names: ["largest"] omit, "Rows of the busiest expert; 0 when not known.";
        tiles: [i64; 5] = [0; 5], min: 0,
            names: ["tiles_16" : "Tiles of 16 rows of all experts; 0 when not known.",
             "tiles_32" : "Tiles of 32 rows of all experts; 0 when not known.",
             "tiles_64" : "Tiles of 64 rows of all experts; 0 when not known.",
             "tiles_128" : "Tiles of 128 rows of all experts; 0 when not known.",
             "tiles_256" : "Tiles of 256 rows of all experts; 0 when not known."] omit,
            "Tiles of 16, 32, 64, 128 and 256 rows of all experts; 0 when not known.";
    }
    nested {}
    beside { arch: Option<Arch> = None, "The architecture that will run it, when known."; }
}

impl MoeProblem {
    /// A bf16 product of so many tokens, `[experts, topk]` and `[n, k]`, whose routing is not known; set the
    /// other fields by struct update.
    pub const fn new(stage: MoeStage, tokens: i64, [experts, topk]: [i64; 2], [n, k]: [i64; 2]) -> Self {
        Self { stage, tokens, experts, topk, n, k, ..Self::USUAL }
    }

    /// The problem with its rows over experts.
    #[must_use]
    pub const fn routed(self, routing: Routing) -> Self {
        let Routing { active, largest, tiles, .. } = routing;
        Self { active, largest, tiles, ..self }
    }

    /// Whether the rows over experts are known.
    pub const fn has_routing(&self) -> bool {
        self.active > 0
    }

    /// The rows of all experts.
    pub const fn rows(&self) -> i64 {
        self.tokens.saturating_mul(self.topk)
    }

    /// The products that are computed one after the other, each as a problem of one stage.
    pub fn stages(&self) -> impl Iterator<Item = Self> + use<> {
        let both = [Some(Self { stage: MoeStage::One, ..*self }), Some(self.second())];
        let own = if self.stage == MoeStage::Both { both } else { [Some(*self), None] };
        own.into_iter().flatten()
    }

    /// Stage 2 of a problem of both.
    pub(super) const fn second(&self) -> Self {
        Self { stage: MoeStage::Two, n: self.k, k: self.n / 2, ..*self }
    }

    /// Multiplications and additions of the whole problem, as f64, without padding.
    pub fn flops(&self) -> f64 {
        let of = |one: Self| 2.0 * one.rows() as f64 * one.n as f64 * one.k as f64;
        self.stages().map(of).sum()
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        field::validate_numbers(self)?;
        element("dtype_a", self.dtype_a)?;
        element("dtype_b", self.dtype_b)?;
        if self.topk > self.experts {
            return Err(InvalidField::new("topk", self.topk, format!("at most experts, {}", self.experts)));
        }
        if self.rows() > field::MAX_EXTENT {
            let expected = format!("at most {} rows, tokens times topk", field::MAX_EXTENT);
            return Err(InvalidField::new("tokens", self.tokens, expected));
        }
        if self.stage == MoeStage::Both && self.n % 2 != 0 {
            return Err(InvalidField::new("n", self.n, "an even number: gate and up weights"));
        }
        self.validate_quant()?;
        self.validate_routing()
    }

    fn validate_quant(&self) -> Result<(), InvalidField> {
        let has_blocks = matches!(self.quant, MoeQuant::Block | MoeQuant::Mx);
        for (field, block) in [("block_n", self.block_n), ("block_k", self.block_k)] {
            if block > 0 && !has_blocks {
                return Err(InvalidField::new(field, block, "0 unless quant is block or mx"));
            }
        }
        if has_blocks && self.block_k == 0 {
            let expected = format!("1 to {} with quant={}", u16::MAX, self.quant);
            return Err(InvalidField::new("block_k", 0, expected));
        }
        Ok(())
    }

    /// Checks what is known of the routing: all of it or nothing, and no more than rows allow.
    fn validate_routing(&self) -> Result<(), InvalidField> {
        let numbers =
            [self.largest, self.tiles[0], self.tiles[1], self.tiles[2], self.tiles[3], self.tiles[4]];
        let names = ["largest", "tiles_16", "tiles_32", "tiles_64", "tiles_128", "tiles_256"];
        let whole = if self.has_routing() { "at least 1" } else { "0 as active" };
        if let Some(at) = numbers.iter().position(|&number| (number > 0) != self.has_routing()) {
            return Err(InvalidField::new(names[at], numbers[at], format!("{whole}, or a histogram")));
        }
        if !self.has_routing() {
            return Ok(());
        }
        let (rows, most) = (self.rows(), self.experts.min(self.rows()));
        if self.active > most {
            let expected = format!("at most {most}: experts, or tokens times topk");
            return Err(InvalidField::new("active", self.active, expected));
        }
        let least = (rows + self.active - 1) / self.active;
        if !(least..=self.tokens).contains(&self.largest) {
            let expected = format!("{least} to {}: an expert has a token once", self.tokens);
            return Err(InvalidField::new("largest", self.largest, expected));
        }
        for ((tile, count), name) in TILES.into_iter().zip(self.tiles).zip(&names[1..]) {
            let [least, most] = tile_bounds(rows, self.active, tile);
            if !(least..=most).contains(&count) {
                let expected = format!("{least} to {most}, for {rows} rows");
                return Err(InvalidField::new(*name, count, expected));
            }
        }
        Ok(())
    }

    /// The problem with the rows over experts of a histogram, which has to be this problem's.
    pub fn with_histogram(self, routing: &Routing) -> Result<Self, InvalidField> {
        self.check_histogram(routing).map(|()| self.routed(*routing))
    }

    fn check_histogram(&self, routing: &Routing) -> Result<(), InvalidField> {
        let fault = |found: i64, of: &str, expected: String| {
            Err(InvalidField::new("histogram", format_args!("{found} {of}"), expected))
        };
        if routing.rows != self.rows() {
            let expected = format!("{}: tokens times topk", self.rows());
            return fault(routing.rows, "rows of all experts", expected);
        }
        if routing.active > self.experts {
            return fault(routing.active, "experts with rows", format!("at most {}", self.experts));
        }
        if routing.largest > self.tokens {
            let expected = format!("at most {}: an expert has a token once", self.tokens);
            return fault(routing.largest, "rows of one expert", expected);
        }
        Ok(())
    }
}

/// The problem of which these fields are given. `stage`, `tokens`, `experts`, `topk`, `n` and `k` are required;
/// the routing is a histogram, a skew, or the numbers of one ([`Routing`]).
pub(crate) fn from_given(
    given: &Given<MoeProblem>,
    defaults: &ProblemDefaults,
) -> Result<MoeProblem, InvalidField> {
    given.need(&["stage", "tokens", "experts", "topk", "n", "k"])?;
    let dtype = given.value("dtype_a").unwrap_or(defaults.dtype);
    let [block_n, block_k] = match given.value("quant") {
        Some(MoeQuant::Block) => [128, 128],
        Some(MoeQuant::Mx) => [1, 32],
        _ => [0, 0],
    };
    let usual = MoeProblem { dtype_a: dtype, dtype_b: dtype, block_n, block_k, ..MoeProblem::USUAL };
    let problem = given.complete(&MoeProblem { arch: given.arch().or(defaults.arch), ..usual });
    let Some(routed) = routed(&problem, given)? else { return Ok(problem) };
    // Numbers of the routing beside a histogram have to be the histogram's.
    let both = given.complete(&routed);
    let [read, own] = [field::values(&both), field::values(&routed)];
    let differs = (0..).zip(read.iter().zip(&own)).find(|(_, (read, own))| read != own);
    match differs {
        Some((at, (&read, own))) => {
            let field: &field::Field = &<MoeProblem as field::Record>::FIELDS[at];
            Err(InvalidField::new(field.name, field.shown(read), format!("{own} as in the histogram")))
        }
        None => Ok(routed),
    }
}

/// The problem with the routing of its histogram or skew, if it has one of them.
fn routed(problem: &MoeProblem, given: &Given<MoeProblem>) -> Result<Option<MoeProblem>, InvalidField> {
    let MoeProblem { tokens, experts, topk, .. } = *problem;
    match (given.routing(), given.skew()) {
        (Some(_), Some(skew)) => Err(InvalidField::new("skew", skew, "nothing beside a histogram")),
        (Some(routing), None) => problem.with_histogram(&routing).map(Some),
        (None, Some(skew)) => {
            problem.validate()?;
            // Time and memory are in proportion to the experts.
            if experts > MOST_SKEWED {
                let expected = format!("at most {MOST_SKEWED} beside a skew");
                return Err(InvalidField::new("experts", experts, expected));
            }
            Ok(Some(problem.routed(Routing::skewed(tokens, experts, topk, skew))))
        }
        (None, None) => Ok(None),
    }
}

/// The most experts whose rows are computed from a skew.
const MOST_SKEWED: i64 = 65_536;

impl fmt::Display for MoeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        field::write_pairs(self, f)
    }
}
