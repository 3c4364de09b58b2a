//! Columns by name: which features a model reads, and how a problem and a kernel fill them.

use std::sync::OnceLock;

use super::engine::{Needs, OperationEngines};
use super::rules::coded_word;
use super::{
    Engine, FeatureOf, KernelTerms, OperationTerms, PairWith as _, ProblemTerms, Rules, Value, hardware,
};
use crate::estimate::{UniversalColumn, ops_like, universal_columns};
use crate::hardware::Hardware;
use crate::kernel::Mnk;
use crate::problem::InvalidField;
use crate::vocab::{Arch, Direction, Op};
use ck_select_types::operation::OperationValue;
use ck_select_types::{each_operation, operation_enum};

/// Why names cannot be the columns of a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Names that no feature of the operation has.
    #[error(
        "no {op} feature is named {}; the {known} names are listed by `ckselect dev features --list`",
        names.join(", ")
    )]
    Unknown {
        /// The operation.
        op: Op,
        /// The unknown names.
        names: Vec<String>,
        /// How many features the operation has.
        known: usize,
    },
    /// A feature of problem and kernel where a universal model has its columns.
    #[error("found {0}, expected the columns of a universal model before other features")]
    Order(String),
    /// Duplicate names.
    #[error("duplicate feature names: {}", .0.join(", "))]
    Repeated(Vec<String>),
    /// No names at all.
    #[error("the list of feature names is empty")]
    Empty,
}

/// Why a model's features cannot describe a problem or a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// A field with a value that the features do not know.
    #[error(transparent)]
    Field(#[from] InvalidField),
    /// A problem or kernel of another operation.
    #[error("the model is for {model}, the {what} is for {found}")]
    Op {
        /// The model's operation.
        model: Op,
        /// `problem` or `kernel`.
        what: &'static str,
        /// The other operation.
        found: Op,
    },
    /// A single kernel, for which a universal model has no columns.
    #[error(
        "the columns of a universal model are relative to the kernels of a pool, \
         so that a kernel alone has none"
    )]
    Universal,
}

/// The columns of a model: features picked and ordered by name.
#[derive(Clone)]
pub struct Schema {
    columns: Columns,
    pub(super) needs: Needs,
}

/// Features of an operation, as columns.
#[derive(Clone)]
pub(crate) struct Features<P: OperationTerms>(Vec<&'static FeatureOf<P>>);

operation_enum! {
    /// Features of problem and kernel.
    #[derive(Clone)]
    pub(crate) enum Picked(Features);
}

#[derive(Clone)]
enum Columns {
    Picked(Picked),
    /// The columns of a universal model, which are relative to a pool; then, if the model was adapted to a
    /// user's own GPU, features of problem and kernel.
    Universal(Op, Vec<&'static UniversalColumn>, Option<Box<Schema>>),
}

impl Schema {
    /// The columns with these names, in this order.
    pub fn by_names<S: AsRef<str>>(op: Op, names: &[S]) -> Result<Self, SchemaError> {
        check_names(names)?;
        let columns = each_operation!(op, Own => Picked::from(pick::<Own, S>(op, names)?));
        let needs = |name: &str| names.iter().any(|have| have.as_ref() == name);
        let needs = Needs {
            dtype: needs("dtype"),
            pipeline: needs("pipeline"),
            scheduler: needs("scheduler"),
            epilogue: needs("epilogue"),
            layout: needs("layout"),
            ..each_operation!(op, Own => <Own as OperationEngines>::needs(needs))
        };
        Ok(Self { columns: Columns::Picked(columns), needs })
    }

    /// Columns of a universal model; all of them without names. Names of features may follow.
    pub fn universal<S: AsRef<str>>(op: Op, names: Option<&[S]>) -> Result<Self, SchemaError> {
        let all = universal_columns(op);
        let Some(names) = names else {
            return Ok(Self {
                columns: Columns::Universal(op, all.iter().collect(), None),
                needs: Needs::default(),
            });
        };
        check_names(names)?;
        let named = |name: &str| all.iter().find(|column| column.name == name);
        let columns: Vec<_> = names.iter().map_while(|name| named(name.as_ref())).collect();
        let own = match &names[columns.len()..] {
            [] => None,
            own => Some(Box::new(Self::by_names(op, own).map_err(|error| match error {
                SchemaError::Unknown { op, names, known } => {
                    let names: Vec<_> = names.into_iter().filter(|name| named(name).is_none()).collect();
                    match names.as_slice() {
                        [] => SchemaError::Order(own[0].as_ref().to_owned()),
                        _ => SchemaError::Unknown { op, names, known: known + all.len() },
                    }
                }
                error => error,
            })?)),
        };
        if columns.is_empty() {
            return Err(SchemaError::Order(names[0].as_ref().to_owned()));
        }
        Ok(Self { columns: Columns::Universal(op, columns, own), needs: Needs::default() })
    }

    /// The columns of a universal model, followed by features of problem and kernel. Other schemas are left
    /// unchanged, as are those that have such features already.
    pub fn followed_by(self, features: Self) -> Self {
        match self.columns {
            Columns::Universal(op, columns, None) if features.op() == op => Self {
                columns: Columns::Universal(op, columns, Some(Box::new(features))),
                needs: Needs::default(),
            },
            columns => Self { columns, ..self },
        }
    }

    /// The columns of a universal model; `None` for features of a problem and a kernel.
    pub fn universal_columns(&self) -> Option<&[&'static UniversalColumn]> {
        match &self.columns {
            Columns::Universal(_, columns, _) => Some(columns),
            Columns::Picked(_) => None,
        }
    }

    /// The features that follow the columns of a universal model.
    pub fn own_features(&self) -> Option<&Self> {
        match &self.columns {
            Columns::Universal(_, _, own) => own.as_deref(),
            Columns::Picked(_) => None,
        }
    }

    /// The columns for another operation, if the estimate sees both operations alike. `None` for features of
    /// problem and kernel.
    pub fn for_op(&self, op: Op) -> Option<Self> {
        let Columns::Universal(own, columns, None) = &self.columns else { return None };
        ops_like(*own).find(|&other| other == op).map(|op| Self {
            columns: Columns::Universal(op, columns.clone(), None),
            needs: Needs::default(),
        })
    }

    /// The columns of an upstream engine.
    pub fn for_engine(engine: Engine) -> Self {
        // Looking up all names takes longer than the features of a row.
        static MADE: [OnceLock<Schema>; Engine::ALL.len()] = [const { OnceLock::new() }; Engine::ALL.len()];
        let make = || match Self::by_names(engine.op(), &engine.feature_names()) {
            Ok(schema) => schema,
            // Engines only name features of the tables, which their tests check.
            Err(error) => unreachable!("{error}"),
        };
        MADE.get(engine as usize).map_or_else(make, |made| made.get_or_init(make).clone())
    }

    /// The operation.
    pub const fn op(&self) -> Op {
        match &self.columns {
            Columns::Picked(picked) => picked.op(),
            Columns::Universal(op, ..) => *op,
        }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        match &self.columns {
            Columns::Picked(picked) => each_operation!(picked, Picked(features) => features.0.len()),
            Columns::Universal(_, columns, own) => columns.len() + own.as_ref().map_or(0, |own| own.len()),
        }
    }

    /// Never: a schema has at least one column.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of each column, what it depends on, and what it means.
    fn described(&self) -> Vec<[&'static str; 3]> {
        match &self.columns {
            Columns::Picked(picked) => each_operation!(picked, Picked(features) => {
                features.0.iter().map(|feature| [feature.name, feature.value.scope(), feature.doc]).collect()
            }),
            Columns::Universal(_, columns, own) => {
                let own = own.iter().flat_map(|own| own.described());
                columns.iter().map(|column| [column.name, "pool", column.doc]).chain(own).collect()
            }
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&'static str> {
        self.described().iter().map(|[name, ..]| *name).collect()
    }

    /// The scope of each column: `problem`, `kernel`, `hardware`, `pair` or `pool`.
    pub fn scopes(&self) -> Vec<&'static str> {
        self.described().iter().map(|[_, scope, _]| *scope).collect()
    }

    /// Whether a value may depend on the hardware.
    pub(crate) fn reads_hardware(&self) -> bool {
        self.described().iter().any(|[name, scope, _]| hardware::is_read_by(name, scope))
    }

    /// Whether there are vector widths among the columns, which need more of a kernel and a problem.
    pub const fn needs_vector(&self) -> bool {
        self.needs.vector
    }

    /// Whether there is what only a GEMM kernel's name says, and no cells.
    pub(crate) const fn needs_build(&self) -> bool {
        self.needs.build
    }

    /// Whether there are features of our own among the columns, which need more of a pair.
    pub(crate) const fn needs_own(&self) -> bool {
        self.needs.own
    }

    /// The features of problem and kernel among the columns; none of another operation.
    pub(crate) fn features<P: OperationTerms + 'static>(&self) -> &[&'static FeatureOf<P>]
    where
        Features<P>: OperationValue<Picked>,
    {
        match &self.columns {
            Columns::Picked(picked) => Features::held_by(picked).map_or(&[], |features| &features.0),
            Columns::Universal(_, _, own) => own.as_ref().map_or(&[], |own| own.features()),
        }
    }

    /// What each column means.
    pub fn docs(&self) -> Vec<&'static str> {
        self.described().iter().map(|[.., doc]| *doc).collect()
    }

    /// Fills one row.
    ///
    /// The caller guarantees that the parts are of this schema's operation and that the row is as long as the
    /// schema. A row of another operation is left unchanged.
    pub fn fill(&self, problem: &ProblemTerms, kernel: &KernelTerms, hardware: &Hardware, row: &mut [f64]) {
        let Columns::Picked(columns) = &self.columns else { return };
        each_operation!(
            (columns, problem, kernel),
            (Picked(features), ProblemTerms(problem), KernelTerms(kernel)) => {
                features.fill(problem, kernel, hardware, self.needs.own, row);
            },
            debug_assert!(false, "terms of another operation")
        );
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("op", &self.op()).field("names", &self.names()).finish()
    }
}

/// Refuses names that are none or that appear twice.
fn check_names<S: AsRef<str>>(names: &[S]) -> Result<(), SchemaError> {
    if names.is_empty() {
        return Err(SchemaError::Empty);
    }
    let mut seen = std::collections::HashSet::new();
    let repeated: Vec<_> =
        names.iter().map(AsRef::as_ref).filter(|name| !seen.insert(*name)).map(str::to_owned).collect();
    if repeated.is_empty() { Ok(()) } else { Err(SchemaError::Repeated(repeated)) }
}

fn pick<P: OperationTerms, S: AsRef<str>>(op: Op, names: &[S]) -> Result<Features<P>, SchemaError> {
    let table: Vec<_> = P::features().collect();
    let mut unknown = Vec::new();
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        match table.iter().copied().find(|feature| feature.name == name.as_ref()) {
            Some(feature) => columns.push(feature),
            None => unknown.push(name.as_ref().to_owned()),
        }
    }
    if unknown.is_empty() {
        Ok(Features(columns))
    } else {
        Err(SchemaError::Unknown { op, names: unknown, known: table.len() })
    }
}

impl<P: OperationTerms> Features<P> {
    /// Fills a row.
    pub(super) fn fill(
        &self,
        problem: &P::Terms,
        kernel: &P::KernelTerms,
        hardware: &Hardware,
        own: bool,
        row: &mut [f64],
    ) {
        let pair = problem.pair_with(kernel, hardware, own);
        for (cell, feature) in row.iter_mut().zip(&self.0) {
            *cell = match feature.value {
                Value::Problem(value) => value(problem),
                Value::Kernel(value) => value(kernel),
                Value::Hardware(value) => value(hardware),
                Value::Pair(value) => value.one(problem, kernel, hardware, &pair),
            };
        }
    }
}

/// A schema with everything else that determines a feature's value: one code path for training and selection.
///
/// ```
/// use ck_select_model::features::{Engine, Extractor};
/// use ck_select_types::kernel::Kernel;
/// use ck_select_types::problem::ConvProblem;
///
/// let extractor = Extractor::for_engine(Engine::Conv97);
/// let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
/// let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv3_intrawave")?;
/// let row = extractor.row(&problem.into(), &kernel.kind)?;
/// assert_eq!((row.len(), row[0], row[1]), (97, 16.0, 256.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Extractor {
    /// The columns.
    pub schema: Schema,
    /// The choices between upstream's versions.
    pub rules: Rules,
    /// The constants of the GPU that the model was trained with.
    pub hardware: Hardware,
    /// The architecture to assume when neither problem nor kernel names one.
    pub arch: Option<Arch>,
    /// The direction for rows of cells without one, like upstream's. Problems have their own.
    pub direction: Direction,
    /// Whether the model or its schema is ours: only upstream's own models are evaluated on whatever cells
    /// hold, as upstream does.
    pub is_ours: bool,
}

impl Extractor {
    /// The operations whose kernels are ranked: its own, and without an architecture those that the estimate
    /// sees alike, if the columns are the estimate's.
    pub fn ops(&self) -> impl Iterator<Item = Op> {
        let own = self.schema.op();
        let is_alike = move |op: Op| self.arch.is_none() && self.schema.for_op(op).is_some();
        std::iter::once(own).chain(Op::ALL.iter().copied().filter(move |&op| op != own && is_alike(op)))
    }

    /// An upstream engine with its rules and default hardware.
    pub fn for_engine(engine: Engine) -> Self {
        Self {
            schema: Schema::for_engine(engine),
            rules: engine.rules(),
            hardware: engine.hardware(),
            arch: None,
            direction: Direction::Forward,
            is_ours: engine.is_ours(),
        }
    }

    /// The extractor of a universal model's own features on a GPU, if it has such features.
    pub fn for_own_features(&self, hardware: &Hardware) -> Option<Self> {
        let schema = self.schema.own_features()?.clone();
        Some(Self { schema, hardware: *hardware, ..self.clone() })
    }

    /// Fills one row; see [`Schema::fill`].
    pub fn fill(&self, problem: &ProblemTerms, kernel: &KernelTerms, row: &mut [f64]) {
        self.schema.fill(problem, kernel, &self.hardware, row);
    }

    /// The threads of a workgroup with this many waves along each axis.
    pub(crate) fn threads(&self, wave: Mnk, arch: Option<Arch>) -> i64 {
        let waves = [wave.m, wave.n, wave.k]
            .iter()
            .fold(1i64, |product, &count| product.saturating_mul(count.into()));
        waves.saturating_mul(self.wave_size(arch))
    }

    /// The threads of a wave.
    pub(crate) fn wave_size(&self, arch: Option<Arch>) -> i64 {
        arch.or(self.arch).map_or(64, |arch| arch.wave_size())
    }

    /// Number of a pipeline, if the features have it.
    pub(super) fn pipeline_code(&self, word: &str) -> Result<f64, InvalidField> {
        let code = || coded_word("pipeline", word, self.rules.pipeline_codes.words(), self.rules.uncoded);
        self.schema.needs.pipeline.then(code).unwrap_or(Ok(0.0))
    }
}

/// Schedulers in the order of their numbers.
pub(super) const SCHEDULERS: &[&str] = &["intrawave", "interwave"];
#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, GemmProblem};

    #[test]
    fn unknown_names_are_listed() {
        let error = Schema::by_names(Op::Conv, &["N", "magic", "C", "tile_m"]).unwrap_err().to_string();
        assert!(
            error.starts_with("no grouped_conv feature is named magic, tile_m; the 150 names"),
            "{error}"
        );
        assert!(matches!(Schema::by_names(Op::Gemm, &["M", "M"]), Err(SchemaError::Repeated(_))));
        assert!(matches!(Schema::by_names::<&str>(Op::Gemm, &[]), Err(SchemaError::Empty)));
    }

    #[test]
    fn order_is_the_models() {
        let schema = Schema::by_names(Op::Gemm, &["K", "M"]).unwrap();
        assert_eq!((schema.names(), schema.scopes()), (vec!["K", "M"], vec!["problem", "problem"]));
        let extractor = Extractor { schema, ..Extractor::for_engine(Engine::Gemm72) };
        let terms = extractor.problem_terms(&GemmProblem::new(1, 2, 3).into()).unwrap();
        assert!(matches!(terms, ProblemTerms::Gemm(_)));
        let conv = ConvProblem::new_2d([8, 8], [1, 1]);
        let error = extractor.problem_terms(&conv.into()).unwrap_err();
        assert_eq!(error.to_string(), "the model is for gemm_universal, the problem is for grouped_conv");
    }

    #[test]
    fn features_may_follow_the_columns_of_a_universal_model() {
        let of = |names: &[&str]| Schema::universal(Op::Conv, Some(names));
        let own = Schema::by_names(Op::Conv, &["C", "tile_mn"]).unwrap();
        let both = of(&["est_over_least"]).unwrap().followed_by(own.clone());
        assert_eq!(both.names(), ["est_over_least", "C", "tile_mn"]);
        assert_eq!(both.scopes(), ["pool", "problem", "kernel"]);
        assert_eq!((both.len(), both.docs().len()), (3, 3));
        assert_eq!(of(&["est_over_least", "C", "tile_mn"]).unwrap().names(), both.names());
        // Features are appended once, and nothing is appended to plain features.
        assert_eq!(both.clone().followed_by(own.clone()).names(), both.names());
        assert_eq!(own.clone().followed_by(own.clone()).names(), own.names());
        let gemm = Schema::by_names(Op::Gemm, &["M"]).unwrap();
        assert_eq!(of(&["est_over_least"]).unwrap().followed_by(gemm).names(), ["est_over_least"]);
        // All that followed an unknown column was called unknown.
        for (names, message) in [
            (&["C", "est_over_least"][..], "found C, expected the columns of a universal model before"),
            (&["C"], "found C, expected the columns of a universal model before"),
            (
                &["est_over_least", "C", "est_rounds"],
                "found C, expected the columns of a universal model before",
            ),
            (&["est_over_least", "magic"], "no grouped_conv feature is named magic; the "),
            (&["est_slower", "est_rounds", "C"], "no grouped_conv feature is named est_slower; the "),
        ] {
            let error = of(names).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        assert!(matches!(of(&["est_over_least", "est_over_least"]), Err(SchemaError::Repeated(_))));
    }

    #[test]
    fn words_without_a_number_matter_only_to_models_that_ask() {
        let fp64 = GemmProblem::new(8, 8, 8).with_dtype(crate::vocab::Dtype::Fp64);
        let extractor = Extractor::for_engine(Engine::Gemm72);
        let error = extractor.problem_terms(&fp64.into()).unwrap_err().to_string();
        let expected = "dtype: found 'fp64', expected one of fp32, fp16, bf16, fp8, bf8, int8, int4, pk_fp4";
        assert_eq!(error, expected);
        let odd = GemmProblem { layout: "rcc".parse().unwrap(), ..GemmProblem::new(8, 8, 8) };
        assert!(extractor.problem_terms(&odd.into()).is_err());
        let narrow = Extractor { schema: Schema::by_names(Op::Gemm, &["M"]).unwrap(), ..extractor };
        assert!(narrow.problem_terms(&odd.into()).is_ok());
    }
}
