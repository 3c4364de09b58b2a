//! Columns by name: which features a model reads, and how a problem and a kernel fill them.

use std::sync::OnceLock;

use super::conv::{ConvInputs, ConvKernelTerms, ConvTerms, PipelineFlags};
use super::fmha::{FmhaKernelTerms, FmhaTerms};
use super::gemm::vector::{ACCESS_DTYPES, VectorProblem, VectorWidths};
use super::gemm::{BUILD, GemmBuild, GemmInputs, GemmKernelTerms, GemmTerms, VECTOR};
use super::rules::{coded_element_bytes, coded_word};
use super::{
    Engine, Feature, KTile, KernelMapping, PairWith, Rules, Value, conv, conv_work, fmha, gemm, hardware,
};
use crate::estimate::{UniversalColumn, universal_columns};
use crate::hardware::Hardware;
use crate::kernel::{ConvKernel, GemmKernel, KernelKind, Mnk};
use crate::problem::{ConvProblem, GemmProblem, InvalidField, Problem};
use crate::vocab::{Arch, Direction, Dtype, Epilogue, Op, Scheduler};

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
    /// Duplicate names.
    #[error("duplicate feature names: {}", .0.join(", "))]
    Repeated(Vec<String>),
    /// No names at all.
    #[error("the list of feature names is empty")]
    Empty,
}

/// Why a model's features cannot describe a problem or a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
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
    needs: Needs,
}

#[derive(Clone)]
enum Columns {
    Conv(Vec<&'static Feature<ConvTerms, ConvKernelTerms>>),
    Gemm(Vec<&'static Feature<GemmTerms, GemmKernelTerms>>),
    Fmha(Vec<&'static Feature<FmhaTerms, FmhaKernelTerms>>),
    /// Those of a universal model, which are relative to a pool; then, if the model was adapted to a user's
    /// own GPU, features of problem and kernel.
    Universal(Op, Vec<&'static UniversalColumn>, Option<Box<Schema>>),
}

/// Does the same with the features of any operation.
macro_rules! of_any {
    ($columns:expr, $features:ident => $what:expr, $universal:ident, $own:ident => $else:expr) => {
        match $columns {
            Columns::Conv($features) => $what,
            Columns::Gemm($features) => $what,
            Columns::Fmha($features) => $what,
            Columns::Universal(_, $universal, $own) => $else,
        }
    };
}

/// Encodings that the columns use. A word without a number is an error only for a model that uses the number.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    dtype: bool,
    pipeline: bool,
    scheduler: bool,
    epilogue: bool,
    layout: bool,
    vector: bool,
    build: bool,
    own: bool,
}

impl Schema {
    /// The columns with these names, in this order.
    pub fn by_names<S: AsRef<str>>(op: Op, names: &[S]) -> Result<Self, SchemaError> {
        if names.is_empty() {
            return Err(SchemaError::Empty);
        }
        let mut seen = std::collections::HashSet::new();
        let repeated: Vec<_> =
            names.iter().map(AsRef::as_ref).filter(|name| !seen.insert(*name)).map(str::to_owned).collect();
        if !repeated.is_empty() {
            return Err(SchemaError::Repeated(repeated));
        }
        let columns = match op {
            Op::Conv => Columns::Conv(pick(op, conv::all(), names)?),
            Op::Gemm => Columns::Gemm(pick(op, gemm::FEATURES.iter(), names)?),
            Op::Fmha => Columns::Fmha(pick(op, fmha::FEATURES.iter(), names)?),
        };
        let needs = |name: &str| names.iter().any(|have| have.as_ref() == name);
        let needs = Needs {
            dtype: needs("dtype"),
            pipeline: needs("pipeline"),
            scheduler: needs("scheduler"),
            epilogue: needs("epilogue"),
            layout: needs("layout"),
            vector: VECTOR.iter().any(|name| needs(name)),
            build: BUILD.iter().any(|name| needs(name)),
            own: op == Op::Conv && conv_work::FEATURES.iter().any(|feature| needs(feature.name)),
        };
        Ok(Self { columns, needs })
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
        if names.is_empty() {
            return Err(SchemaError::Empty);
        }
        let named = |name: &S| all.iter().find(|column| column.name == name.as_ref());
        let columns: Vec<_> = names.iter().map_while(named).collect();
        let unknown = || SchemaError::Unknown {
            op,
            names: names
                .iter()
                .filter(|name| named(name).is_none())
                .map(|name| name.as_ref().to_owned())
                .collect(),
            known: all.len(),
        };
        if columns.is_empty() {
            return Err(unknown());
        }
        let repeated = columns.iter().enumerate();
        let repeated =
            repeated.filter(|(at, column)| columns[..*at].iter().any(|own| own.name == column.name));
        let repeated: Vec<String> = repeated.map(|(_, column)| column.name.to_owned()).collect();
        if !repeated.is_empty() {
            return Err(SchemaError::Repeated(repeated));
        }
        let own = match &names[columns.len()..] {
            [] => None,
            own => Some(Box::new(Self::by_names(op, own).map_err(|error| match error {
                SchemaError::Unknown { .. } => unknown(),
                error => error,
            })?)),
        };
        Ok(Self { columns: Columns::Universal(op, columns, own), needs: Needs::default() })
    }

    /// The same columns of a universal model, followed by features of problem and kernel. Other schemas are
    /// left unchanged, as are those that have such features already.
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
            _ => None,
        }
    }

    /// The features that follow the columns of a universal model.
    pub fn own_features(&self) -> Option<&Self> {
        match &self.columns {
            Columns::Universal(_, _, own) => own.as_deref(),
            _ => None,
        }
    }

    /// The same columns for another operation, if the estimate sees both alike. `None` for features of
    /// problem and kernel.
    pub fn for_op(&self, op: Op) -> Option<Self> {
        let Columns::Universal(own, columns, None) = &self.columns else { return None };
        let names = |op| universal_columns(op).iter().map(|column| column.name);
        names(*own)
            .eq(names(op))
            .then(|| Self { columns: Columns::Universal(op, columns.clone(), None), needs: Needs::default() })
    }

    /// The columns of an upstream engine.
    pub fn of_engine(engine: Engine) -> Self {
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
        match self.columns {
            Columns::Conv(_) => Op::Conv,
            Columns::Gemm(_) => Op::Gemm,
            Columns::Fmha(_) => Op::Fmha,
            Columns::Universal(op, ..) => op,
        }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        of_any!(
            &self.columns, features => features.len(),
            columns, own => columns.len() + own.as_ref().map_or(0, |own| own.len())
        )
    }

    /// Never: a schema has at least one column.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&'static str> {
        of_any!(
            &self.columns,
            features => features.iter().map(|feature| feature.name).collect(),
            columns, own => {
                let own = own.iter().flat_map(|own| own.names());
                columns.iter().map(|column| column.name).chain(own).collect()
            }
        )
    }

    /// What each column depends on: `problem`, `kernel`, `hardware`, `pair` or `pool`.
    pub fn scopes(&self) -> Vec<&'static str> {
        of_any!(
            &self.columns,
            features => features.iter().map(|feature| feature.value.scope()).collect(),
            columns, own => {
                let own = own.iter().flat_map(|own| own.scopes());
                columns.iter().map(|_| "pool").chain(own).collect()
            }
        )
    }

    /// Whether a value may depend on the hardware.
    pub(crate) fn reads_hardware(&self) -> bool {
        self.names().iter().zip(self.scopes()).any(|(name, scope)| hardware::is_read_by(name, scope))
    }

    /// Whether a column is of a GEMM kernel's description, which cells do not have.
    pub const fn needs_build(&self) -> bool {
        self.needs.build
    }

    /// Whether there are vector widths among the columns, which need more of a kernel and a problem.
    pub const fn needs_vector(&self) -> bool {
        self.needs.vector
    }

    /// Whether there are features of our own among the columns, which need more of a pair.
    pub(crate) const fn needs_own(&self) -> bool {
        self.needs.own
    }

    /// What each column means.
    pub fn docs(&self) -> Vec<&'static str> {
        of_any!(
            &self.columns,
            features => features.iter().map(|feature| feature.doc).collect(),
            columns, own => {
                let own = own.iter().flat_map(|own| own.docs());
                columns.iter().map(|column| column.doc).chain(own).collect()
            }
        )
    }

    /// Whether the columns hold the number of the element type.
    pub(super) const fn needs_dtype(&self) -> bool {
        self.needs.dtype
    }

    /// Whether the columns hold the number of the pipeline.
    pub(super) const fn needs_pipeline(&self) -> bool {
        self.needs.pipeline
    }

    /// Fills one row.
    ///
    /// The caller guarantees that the parts are of this schema's operation and that the row is as long as the
    /// schema. A row of another operation is left unchanged.
    pub fn fill(&self, problem: &ProblemTerms, kernel: &KernelTerms, hardware: &Hardware, row: &mut [f64]) {
        match (&self.columns, problem, kernel) {
            (Columns::Conv(features), ProblemTerms::Conv(p), KernelTerms::Conv(k)) => {
                fill(features, p, k, hardware, self.needs.own, row);
            }
            (Columns::Gemm(features), ProblemTerms::Gemm(p), KernelTerms::Gemm(k)) => {
                fill(features, p, k, hardware, self.needs.own, row);
            }
            (Columns::Fmha(features), ProblemTerms::Fmha(p), KernelTerms::Fmha(k)) => {
                fill(features, p, k, hardware, self.needs.own, row);
            }
            _ => debug_assert!(false, "sides of another operation"),
        }
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("op", &self.op()).field("names", &self.names()).finish()
    }
}

fn pick<P: PairWith<K>, K, S: AsRef<str>>(
    op: Op,
    table: impl Iterator<Item = &'static Feature<P, K>>,
    names: &[S],
) -> Result<Vec<&'static Feature<P, K>>, SchemaError> {
    let table: Vec<_> = table.collect();
    let mut unknown = Vec::new();
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        match table.iter().copied().find(|feature| feature.name == name.as_ref()) {
            Some(feature) => columns.push(feature),
            None => unknown.push(name.as_ref().to_owned()),
        }
    }
    if unknown.is_empty() {
        Ok(columns)
    } else {
        Err(SchemaError::Unknown { op, names: unknown, known: table.len() })
    }
}

fn fill<P: PairWith<K>, K>(
    features: &[&Feature<P, K>],
    problem: &P,
    kernel: &K,
    hardware: &Hardware,
    own: bool,
    row: &mut [f64],
) {
    let pair = problem.pair_with(kernel, hardware, own);
    for (cell, feature) in row.iter_mut().zip(features) {
        *cell = match feature.value {
            Value::Problem(value) => value(problem),
            Value::Kernel(value) => value(kernel),
            Value::Hardware(value) => value(hardware),
            Value::Pair(value) => value.one(problem, kernel, hardware, &pair),
        };
    }
}

/// What features know about a problem.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // lives on the stack of one call
pub enum ProblemTerms {
    /// Of a grouped convolution.
    Conv(ConvTerms),
    /// Of a GEMM.
    Gemm(GemmTerms),
    /// Of attention.
    Fmha(FmhaTerms),
}

/// What features know about a kernel.
#[derive(Debug, Clone, PartialEq)]
pub enum KernelTerms {
    /// Of a grouped convolution.
    Conv(ConvKernelTerms),
    /// Of a GEMM.
    Gemm(GemmKernelTerms),
    /// Of attention.
    Fmha(FmhaKernelTerms),
}

/// A schema with everything else that determines a feature's value: one code path for training and selection.
///
/// ```
/// use ck_select_model::features::{Engine, Extractor};
/// use ck_select_types::kernel::Kernel;
/// use ck_select_types::problem::ConvProblem;
///
/// let extractor = Extractor::of_engine(Engine::Conv97);
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
    /// Whether the model or its schema is ours: only what is upstream's is asked with whatever cells hold, as
    /// upstream asks it.
    pub is_ours: bool,
}

impl Extractor {
    /// An upstream engine with its rules and default hardware.
    pub fn of_engine(engine: Engine) -> Self {
        Self {
            schema: Schema::of_engine(engine),
            rules: engine.rules(),
            hardware: engine.hardware(),
            arch: None,
            direction: Direction::Forward,
            is_ours: engine.is_ours(),
        }
    }

    /// The extractor of a universal model's own features on a GPU, if it has such features.
    pub fn of_own_features(&self, hardware: &Hardware) -> Option<Self> {
        let schema = self.schema.own_features()?.clone();
        Some(Self { schema, hardware: *hardware, ..self.clone() })
    }

    /// The feature row of one problem and one kernel.
    pub fn row(&self, problem: &Problem, kernel: &KernelKind) -> Result<Vec<f64>, SideError> {
        let (problem, kernel) = (self.problem_side(problem)?, self.kernel_side(kernel)?);
        let mut row = vec![0.0; self.schema.len()];
        self.fill(&problem, &kernel, &mut row);
        Ok(row)
    }

    /// Fills one row; see [`Schema::fill`].
    pub fn fill(&self, problem: &ProblemTerms, kernel: &KernelTerms, row: &mut [f64]) {
        self.schema.fill(problem, kernel, &self.hardware, row);
    }

    /// What the features know about a problem. Nothing is validated beyond what they need.
    pub fn problem_side(&self, problem: &Problem) -> Result<ProblemTerms, SideError> {
        if self.schema.universal_columns().is_some() {
            return Err(SideError::Universal);
        }
        problem.check_split()?;
        match (self.schema.op(), problem) {
            (Op::Conv, Problem::Conv(problem)) => Ok(ProblemTerms::Conv(self.conv_problem(problem)?)),
            (Op::Gemm, Problem::Gemm(problem)) => Ok(ProblemTerms::Gemm(self.gemm_problem(problem)?)),
            (Op::Fmha, Problem::Fmha(problem)) => Ok(ProblemTerms::Fmha(self.fmha_problem(problem)?)),
            (model, problem) => Err(SideError::Op { model, what: "problem", found: problem.op() }),
        }
    }

    /// What the features know about a kernel.
    pub fn kernel_side(&self, kernel: &KernelKind) -> Result<KernelTerms, SideError> {
        if self.schema.universal_columns().is_some() {
            return Err(SideError::Universal);
        }
        match (self.schema.op(), kernel) {
            (Op::Conv, KernelKind::Conv(kernel)) => Ok(KernelTerms::Conv(self.conv_kernel(kernel)?)),
            (Op::Gemm, KernelKind::Gemm(kernel)) => Ok(KernelTerms::Gemm(self.gemm_kernel(kernel)?)),
            (Op::Fmha, KernelKind::Fmha(kernel)) => Ok(KernelTerms::Fmha(self.fmha_kernel(kernel)?)),
            (model, kernel) => Err(SideError::Op { model, what: "kernel", found: kernel.op() }),
        }
    }

    fn conv_problem(&self, problem: &ConvProblem) -> Result<ConvTerms, InvalidField> {
        if let Some(axis) = problem.stride.iter().position(|&stride| stride < 1) {
            let field = ["stride_d", "stride_h", "stride_w"][axis];
            return Err(InvalidField::new(field, problem.stride[axis], "at least 1"));
        }
        let element_bytes = coded_element_bytes(Op::Conv, problem.dtype_in.as_str(), self.rules)?;
        Ok(ConvTerms::new(&ConvInputs {
            direction: problem.direction,
            n: problem.n,
            c: problem.c,
            k: problem.k,
            g: problem.g,
            input: problem.input,
            filter: problem.filter,
            stride: problem.stride,
            dilation: problem.dilation,
            pad: problem.pad_left,
            pad_both: std::array::from_fn(|axis| {
                problem.pad_left[axis].saturating_add(problem.pad_right[axis])
            }),
            element_bytes,
        }))
    }

    fn conv_kernel(&self, kernel: &ConvKernel) -> Result<ConvKernelTerms, InvalidField> {
        let [block_size, gemm_m_per_block, gemm_n_per_block, gemm_k_per_block] =
            self.blocks(kernel, self.rules.kernel_mapping);
        Ok(ConvKernelTerms {
            block_size,
            gemm_m_per_block,
            gemm_n_per_block,
            gemm_k_per_block,
            k_tile: match self.rules.k_tile {
                KTile::BlockSize => block_size,
                KTile::GemmKPerBlock => gemm_k_per_block,
            },
            pipeline_code: self.pipeline_code(kernel.pipeline.as_str())?,
            pipeline: PipelineFlags::of(kernel.pipeline.as_str()),
            intrawave: kernel.scheduler == Scheduler::Intrawave,
            has_dsb: kernel.double_smem_buffer.into(),
            has_si: kernel.split_image.into(),
            two_stage: kernel.two_stage,
        })
    }

    /// `block_size`, `gemm_m_per_block`, `gemm_n_per_block` and `gemm_k_per_block` of a kernel.
    pub(super) fn blocks(&self, kernel: &ConvKernel, mapping: KernelMapping) -> [i64; 4] {
        let [m, n, k] = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(i64::from);
        match mapping {
            // The name's first number is both the block size and, if a model uses it, the depth of a step.
            KernelMapping::NameOrder => [m, n, k, m],
            KernelMapping::Tile => [self.threads(kernel.wave, kernel.arch), m, n, k],
        }
    }

    /// The threads of a workgroup with this many waves along each axis.
    pub(super) fn threads(&self, wave: Mnk, arch: Option<Arch>) -> i64 {
        let waves = [wave.m, wave.n, wave.k]
            .iter()
            .fold(1i64, |product, &count| product.saturating_mul(count.into()));
        waves.saturating_mul(self.wave_size(arch))
    }

    /// The threads of a wave.
    pub(super) fn wave_size(&self, arch: Option<Arch>) -> i64 {
        arch.or(self.arch).map_or(64, |arch| arch.wave_size())
    }

    fn gemm_problem(&self, problem: &GemmProblem) -> Result<GemmTerms, InvalidField> {
        let layout_code = if self.schema.needs.layout {
            let letters = problem.layout.letters();
            let word = std::str::from_utf8(&letters).unwrap_or_default();
            coded_word("layout", word, crate::vocab::GemmLayout::TRAINED, self.rules.uncoded)?
        } else {
            0.0
        };
        Ok(GemmTerms::new(&GemmInputs {
            m: problem.m,
            n: problem.n,
            k: problem.k,
            split_k: problem.split_k.into(),
            element_bytes: coded_element_bytes(Op::Gemm, problem.dtype_a.as_str(), self.rules)?,
            layout_code,
            integers: problem.dtype_a == Dtype::Int8,
            vector: if self.schema.needs.vector { Some(self.vector_problem(problem)?) } else { None },
            batch: problem.request.batch,
            groups: problem.request.groups,
        }))
    }

    fn vector_problem(&self, problem: &GemmProblem) -> Result<VectorProblem, InvalidField> {
        let arch = problem.arch.or(self.arch).ok_or_else(|| {
            InvalidField::new("arch", "none", "an architecture such as gfx950, for the vector widths")
        })?;
        problem.validate()?;
        let extents = [problem.m, problem.n, problem.k];
        VectorProblem::new(extents, problem.layout, problem.dtype_a, arch.wave_size()).ok_or_else(|| {
            InvalidField::new("dtype", problem.dtype_a, format!("one of {}", ACCESS_DTYPES.join(", ")))
        })
    }

    fn gemm_kernel(&self, kernel: &GemmKernel) -> Result<GemmKernelTerms, InvalidField> {
        let triple = |mnk: crate::kernel::Mnk| [mnk.m, mnk.n, mnk.k].map(i64::from);
        let vector = self
            .schema
            .needs
            .vector
            .then(|| VectorWidths { widths: kernel.vector.map(i64::from), epilogue: kernel.epilogue });
        Ok(GemmKernelTerms {
            tile: triple(kernel.tile),
            wave: triple(kernel.wave),
            warp_tile: triple(kernel.warp_tile),
            pipeline_code: self.pipeline_code(kernel.pipeline.as_str())?,
            half_lds: PipelineFlags::of(kernel.pipeline.as_str()).half_lds,
            scheduler_code: if self.schema.needs.scheduler {
                coded_word("scheduler", kernel.scheduler.as_str(), SCHEDULERS, self.rules.uncoded)?
            } else {
                0.0
            },
            epilogue_code: self.epilogue_code(kernel.epilogue)?,
            pad: self.rules.mem_pads.of(kernel.pipeline.as_str(), kernel.pad),
            persistent: kernel.persistent,
            vector,
            build: GemmBuild::of(kernel),
        })
    }

    /// Number of a pipeline, if the features have it.
    pub(super) fn pipeline_code(&self, word: &str) -> Result<f64, InvalidField> {
        if !self.schema.needs.pipeline {
            return Ok(0.0);
        }
        coded_word("pipeline", word, self.rules.pipeline_codes.words(), self.rules.uncoded)
    }

    fn epilogue_code(&self, epilogue: Epilogue) -> Result<f64, InvalidField> {
        // The engine with vector widths knows `tdm` and numbers it as `default`.
        if !self.schema.needs.epilogue || (self.schema.needs.vector && epilogue == Epilogue::Tdm) {
            return Ok(0.0);
        }
        coded_word("epilogue", epilogue.as_str(), EPILOGUES, self.rules.uncoded)
    }
}

/// Schedulers in the order of their numbers.
pub(super) const SCHEDULERS: &[&str] = &["intrawave", "interwave"];
/// Epilogues in the order of their numbers.
pub(super) const EPILOGUES: &[&str] = &["default", "cshuffle"];

#[cfg(test)]
mod tests {
    use super::*;

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
        let extractor = Extractor { schema, ..Extractor::of_engine(Engine::Gemm72) };
        let side = extractor.problem_side(&GemmProblem::new(1, 2, 3).into()).unwrap();
        assert!(matches!(side, ProblemTerms::Gemm(_)));
        let conv = ConvProblem::new_2d([8, 8], [1, 1]);
        let error = extractor.problem_side(&conv.into()).unwrap_err();
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
        // They are appended once, and nothing is appended to plain features.
        assert_eq!(both.clone().followed_by(own.clone()).names(), both.names());
        assert_eq!(own.clone().followed_by(own.clone()).names(), own.names());
        let gemm = Schema::by_names(Op::Gemm, &["M"]).unwrap();
        assert_eq!(of(&["est_over_least"]).unwrap().followed_by(gemm).names(), ["est_over_least"]);
        for (names, unknown) in [
            (&["C", "est_over_least"][..], "C"),
            (&["est_over_least", "magic"], "magic"),
            (&["est_over_least", "C", "est_rounds"], "C"),
        ] {
            let error = of(names).unwrap_err().to_string();
            assert!(error.contains(unknown), "{error}");
        }
        assert!(matches!(of(&["est_over_least", "est_over_least"]), Err(SchemaError::Repeated(_))));
    }

    #[test]
    fn words_without_a_number_matter_only_to_models_that_ask() {
        let fp64 = GemmProblem::new(8, 8, 8).of(crate::vocab::Dtype::Fp64);
        let extractor = Extractor::of_engine(Engine::Gemm72);
        let error = extractor.problem_side(&fp64.into()).unwrap_err().to_string();
        assert_eq!(error, "dtype: found 'fp64', expected one of fp32, fp16, bf16, fp8, bf8, int8, int4");
        let odd = GemmProblem { layout: "rcc".parse().unwrap(), ..GemmProblem::new(8, 8, 8) };
        assert!(extractor.problem_side(&odd.into()).is_err());
        let narrow = Extractor { schema: Schema::by_names(Op::Gemm, &["M"]).unwrap(), ..extractor };
        assert!(narrow.problem_side(&odd.into()).is_ok());
    }
}
