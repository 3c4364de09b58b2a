//! Schemas by name, upstream's and our own: which features, in which order, under which rules.

use super::Rules;
use crate::hardware::Hardware;
use crate::vocab::{Direction, Op};
use ck_select_types::{each_operation, vocabulary};

vocabulary! {
    /// A schema of upstream's tools, or our own.
    Engine, "feature engine" {
        /// The first GEMM engine.
        Gemm55 = "gemm55",
        /// The current GEMM engine.
        Gemm72 = "gemm72",
        /// The current GEMM engine with vector widths.
        Gemm78Vec = "gemm78vec",
        /// The first convolution engine.
        Conv74 = "conv74",
        /// The convolution engine with groups and compv5.
        Conv83 = "conv83",
        /// The convolution engine with depth and dilation.
        Conv91 = "conv91",
        /// The convolution engine with wave mode, buffers and the newer pipelines.
        Conv97 = "conv97",
        /// The convolution engine with `gemm_k_per_block` and the log and wave features: 113 features.
        ConvSuperset = "conv_superset",
        /// The superset's selection for gfx90a and gfx942: 104 features.
        ConvGfx942 = "conv_gfx942",
        /// The superset's selection for gfx950: 72 features.
        ConvGfx950 = "conv_gfx950",
        /// Our own, for choosing: upstream's best features about sizes, and those of [`super::conv_work`].
        ConvSelect = "conv_select",
        /// [`Self::ConvSelect`], with the direction's own GEMM and what distinguishes `mem` and two-stage
        /// kernels.
        ConvWork = "conv_work",
        /// Attention as upstream's C++ header encodes it.
        Fmha68 = "fmha68",
        /// Attention as the header's Python twin encodes it, with which upstream's forest was trained.
        Fmha68Python = "fmha68_python",
        /// Our own, for mixtures of experts.
        Experts = "moe",
    }
}

/// An engine that a spec names, by its operation or by its class.
pub(crate) struct NamedEngine {
    pub(crate) op_type: &'static str,
    pub(crate) class: &'static str,
    pub(crate) engine: Engine,
    pub(crate) encoding_version: i64,
}

impl NamedEngine {
    pub(super) const fn new(
        op_type: &'static str,
        class: &'static str,
        engine: Engine,
        version: i64,
    ) -> Self {
        Self { op_type, class, engine, encoding_version: version }
    }
}

/// The engines of an operation.
pub(crate) struct Engines {
    /// The default for models of a user's own GPU.
    pub(super) own: Engine,
    /// The default for choosing forward kernels.
    pub(super) forward: Engine,
    /// The engine of upstream's newest trainer.
    pub(super) upstream: Engine,
    /// The columns that upstream's trainers treat as categorical.
    pub(super) categories: &'static [&'static str],
    /// The constants of the GPU that upstream's tools assume.
    pub(super) hardware: Hardware,
    /// The least that upstream's tools take for one: some assume a profile of zeros.
    pub(super) least_constant: i64,
    /// The key of `ck_select` and its word for forests that upstream's trainers write without a spec; `None`
    /// if they write none.
    pub(super) bare: Option<[&'static str; 2]>,
    /// Telltale columns, by which the rules of a model that records none are recognized.
    pub(super) telltales: &'static [Telltale],
    /// The engines that a spec names.
    pub(super) named: &'static [NamedEngine],
    /// All engines of the operation.
    pub(super) all: &'static [EngineRecord],
}

/// Columns that only an engine with other rules than [`Rules::CONV97`] has.
pub(super) struct Telltale {
    /// Names of which a model has at least one.
    pub(super) names: &'static [&'static str],
    /// The number of the model's columns, if not any.
    pub(super) columns: Option<usize>,
    pub(super) rules: Rules,
}

/// An engine; the rules of the upstream version that it comes from, our own following the newest; and its
/// features, in upstream's order if the schema is upstream's.
pub(super) type EngineRecord = (Engine, Rules, fn() -> Vec<&'static str>);

/// The inputs that columns need. A word without a number is an error only for a model that uses the number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Needs {
    pub(super) dtype: bool,
    pub(super) pipeline: bool,
    pub(super) scheduler: bool,
    pub(super) epilogue: bool,
    pub(super) layout: bool,
    pub(super) vector: bool,
    /// The fields that only a GEMM kernel's name has, and no cells.
    pub(super) build: bool,
    /// The values that our own features of pairs start from.
    pub(super) own: bool,
}

/// Problems of an operation, for which there are engines.
pub(super) trait OperationEngines {
    /// The operation's feature engines.
    const ENGINES: Engines;
    /// The features for pools of which only winners were measured, without those of the estimate; `None` for those of
    /// the engine for choosing.
    const WINNERS: Option<&'static [&'static str]> = None;

    /// The rules with which models are trained, by those of an engine.
    fn rules_for_training(rules: Rules) -> Rules {
        rules
    }

    /// The inputs that only columns of this operation need; `has` says which columns there are.
    fn needs(_has: impl Fn(&str) -> bool) -> Needs {
        Needs::default()
    }
}

impl Engines {
    pub(super) fn get(op: Op) -> &'static Self {
        each_operation!(op, Own => &<Own as OperationEngines>::ENGINES)
    }
}

/// The engines that specs name; a spec that names none is for the first.
pub(crate) fn named() -> impl Iterator<Item = &'static NamedEngine> {
    Op::ALL.iter().flat_map(|op| Engines::get(*op).named)
}

impl Rules {
    /// The rules as models of an operation are trained with them.
    pub fn for_training(self, op: Op) -> Self {
        each_operation!(op, Own => <Own as OperationEngines>::rules_for_training(self))
    }

    /// The rules of a model that records none, from its feature names.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Self {
        let tells = |one: &&Telltale| {
            one.columns.is_none_or(|columns| columns == names.len())
                && names.iter().any(|name| one.names.contains(&name.as_ref()))
        };
        let mut telltales = Op::ALL.iter().rev().flat_map(|op| Engines::get(*op).telltales);
        telltales.find(tells).map_or(Self::CONV97, |one| one.rules)
    }
}

impl Engine {
    fn record(self) -> (Op, &'static EngineRecord) {
        let of_op = |op| Engines::get(op).all.iter().map(move |record| (op, record));
        let mut all = Op::ALL.iter().copied().flat_map(of_op);
        match all.find(|(_, record)| record.0 == self) {
            Some(kernel) => kernel,
            // Every engine is one of an operation, which the tests check.
            None => unreachable!("an engine of no operation"),
        }
    }

    /// The newest engine of an upstream class. What a class computes depends on its version, which only a
    /// spec's names reveal.
    pub fn from_class(name: &str) -> Option<Self> {
        named().find(|one| one.class == name).map(|one| one.engine)
    }

    /// The operation.
    pub fn op(self) -> Op {
        self.record().0
    }

    /// The default for models of a user's own GPU: everything that distinguishes kernels.
    pub fn default_for(op: Op) -> Self {
        Engines::get(op).own
    }

    /// The default for choosing among kernels of a direction.
    pub fn ranking_for(op: Op, direction: Direction) -> Self {
        let Engines { own, forward, .. } = Engines::get(op);
        if direction == Direction::Forward { *forward } else { *own }
    }

    /// The engine of upstream's newest trainer.
    pub fn upstream_for(op: Op) -> Self {
        Engines::get(op).upstream
    }

    /// The features for pools of which only winners were measured; `None` for those of [`Engine::ranking_for`].
    pub fn winner_features(op: Op) -> Option<&'static [&'static str]> {
        each_operation!(op, Own => <Own as OperationEngines>::WINNERS)
    }

    /// The columns that upstream's trainers treat as categorical.
    pub fn categories(op: Op) -> &'static [&'static str] {
        Engines::get(op).categories
    }

    /// The least that upstream's tools take for a constant of a GPU.
    pub(crate) fn least_constant(op: Op) -> i64 {
        Engines::get(op).least_constant
    }

    /// Whether upstream has no such engine.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::ConvSelect | Self::ConvWork | Self::Experts)
    }

    /// The rules of the upstream version that this schema comes from; our own schemas follow the newest.
    pub fn rules(self) -> Rules {
        self.record().1.1
    }

    /// The constants of the GPU that upstream's tools assume with it.
    pub fn hardware(self) -> Hardware {
        Engines::get(self.op()).hardware
    }

    /// The key of `ck_select` and its word for a forest without a spec; `None` if upstream writes no such
    /// forests.
    pub(crate) fn bare(self) -> Option<[&'static str; 2]> {
        Engines::get(self.op()).bare
    }

    /// The features, in upstream's order if the schema is upstream's.
    pub fn feature_names(self) -> Vec<&'static str> {
        (self.record().1.2)()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::OperationTerms as _;
    use super::super::gemm::VECTOR;
    use super::*;

    #[test]
    fn names_of_features_are_unique() {
        let counts = [(Op::Gemm, 99), (Op::Conv, 150), (Op::Fmha, 68), (Op::Moe, 51)];
        assert_eq!(counts.len(), Op::ALL.len());
        for (op, count) in counts {
            let names: Vec<_> = each_operation!(op, Own => Own::features().map(|one| one.name).collect());
            assert_eq!(names.len(), count, "{op}");
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), count, "{op}");
        }
    }

    /// A list of dropped features with a name that none has would leave too many.
    #[test]
    fn engines_have_the_sizes_that_their_models_have() {
        let sizes = Engine::ALL.iter().map(|engine| engine.feature_names().len()).collect::<Vec<_>>();
        assert_eq!(sizes, [55, 72, 78, 74, 83, 91, 97, 113, 104, 72, 62, 68, 68, 68, 51]);
        for &engine in Engine::ALL {
            assert_eq!(engine.as_str().parse(), Ok(engine));
        }
    }

    #[test]
    fn rules_follow_from_names_as_from_engines() {
        // Names do not tell the two encodings of attention apart.
        for &engine in Engine::ALL.iter().filter(|engine| **engine != Engine::Fmha68) {
            assert_eq!(Rules::from_names(&engine.feature_names()), engine.rules(), "{}", engine.as_str());
        }
    }

    #[test]
    fn orders_are_upstreams() {
        assert_eq!(
            &Engine::Conv74.feature_names()[28..33],
            &["aspect_ratio_hw", "aspect_ratio_filter", "block_size", "gemm_m_per_block", "gemm_n_per_block"]
        );
        let gfx950 = Engine::ConvGfx950.feature_names();
        assert_eq!((gfx950[21], gfx950[36], gfx950[71]), ("log2_output", "K_per_C", "is_subwave"));
        assert!(Engine::Gemm78Vec.feature_names()[72..].iter().eq(VECTOR.iter().map(|one| &one.name)));
    }
}
