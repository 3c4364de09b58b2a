//! One forest with the features that upstream's predictor would compute for it.

use std::io;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use serde_json::{Map, Value, json};

use super::entrance::Entrance;
use super::{NAME_COLUMNS, Object, RowsError, with_room};
use crate::cells::Fields;
use crate::directory::{FeatureSpec, Model, ModelError, SpecFile, Target, names_of, spec_bytes, sureness};
use crate::features::{Engine, Extractor, Schema, Uncoded};
use crate::forest::Forest;
use crate::hardware::Hardware;
use crate::inputs;
use crate::listing::check_names;
use crate::problem::InvalidField;
use crate::scoring::{RowMajor, RowScorer, Rows};
use crate::table::Table;
use crate::vocab::Op;

/// Which features are computed for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineChoice {
    /// The features of the spec: class, operation and names.
    Spec,
    /// A class of engines, given by its newest member. The spec may omit what it is for, but must not
    /// contradict.
    Class(Engine),
    /// An engine that the caller names, as for upstream's predictor. If the spec lists columns, those are
    /// used nevertheless.
    Named(Engine),
}

/// Rows whose features are in memory at once.
const AT_ONCE: usize = 1024;
/// Rows that are worth a thread.
const A_THREAD: usize = 1024;

/// How to load a [`RowModel`].
#[derive(Debug, Clone)]
pub struct RowModelOptions {
    /// The forest to load.
    pub target: Target,
    /// The forest's features.
    pub engine: EngineChoice,
    /// The treatment of absent cells and of words without a number; `None` to follow the spec.
    pub uncoded: Option<Uncoded>,
    /// Whether a missing `feature_spec.json` is treated as an empty one, as in upstream.
    pub tolerate_no_spec: bool,
    /// Constants of the GPU that override the spec's.
    pub hardware: Map<String, Value>,
    /// Whether to use the model for everything of its operation, whatever its spec says.
    pub force: bool,
    /// Threads for a table of thousands of rows; they end with the call. 0 counts as 1.
    pub threads: usize,
}

impl Default for RowModelOptions {
    /// Options that follow the spec, with one thread.
    fn default() -> Self {
        Self {
            target: Target::Tflops,
            engine: EngineChoice::Spec,
            uncoded: None,
            tolerate_no_spec: false,
            hardware: Map::new(),
            force: false,
            threads: 1,
        }
    }
}

/// Why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowModelError {
    /// One of its files.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An engine of another operation.
    #[error(
        "{file}: the model is for {model}, the feature engine {engine} is for {op}",
        engine = .engine.as_str(), op = .engine.op()
    )]
    Engine {
        /// The spec's file.
        file: String,
        /// The spec's operation.
        model: Op,
        /// The requested engine.
        engine: Engine,
    },
    /// A constant of the GPU.
    #[error("hardware: {0}")]
    Hardware(InvalidField),
    /// A universal model, which cannot score single rows.
    #[error(
        "{0}: a universal model ranks the kernels of a pool, relative to its best; \
         rows alone have no features; use it with a registry or `ckselect rank`"
    )]
    Universal(String),
}

/// One forest of a model directory, and how rows become its features.
#[derive(Debug)]
pub struct RowModel {
    model: Arc<Model>,
    entrance: Entrance,
    forest: Arc<Forest>,
    scorer: RowScorer,
    target: Target,
    threads: usize,
    /// The directory, by which rankings name the model.
    label: String,
}

impl RowModel {
    /// Loads one forest of a directory. No file is written.
    pub fn load(directory: impl AsRef<Path>, options: &RowModelOptions) -> Result<Self, RowModelError> {
        let directory = directory.as_ref();
        let spec = read_spec(directory, options)?;
        if spec.prior.is_some() {
            return Err(RowModelError::Universal(directory.display().to_string()));
        }
        let missing = || ModelError::NoForest {
            model: directory.display().to_string(),
            file: options.target.file_name(),
        };
        let path = Model::forest_file(directory, options.target)?.ok_or_else(missing)?;
        let ranks = spec.rank_by == options.target && matches!(options.engine, EngineChoice::Spec);
        let learned = if ranks { sureness(directory, spec.op())? } else { None };
        let model = Model::load_forest(options.target, path, spec)?.with_sureness(learned);
        let model = if options.force { model.forced() } else { model };
        let forest = Arc::clone(model.forest(options.target).ok_or_else(missing)?);
        let scorer = RowScorer::new(Arc::clone(&forest));
        let RowModelOptions { target, threads, .. } = *options;
        let entrance = Entrance::new(model.extractor());
        let label = directory.display().to_string();
        Ok(Self { model: Arc::new(model), entrance, forest, scorer, target, threads, label })
    }

    /// The model: this forest alone, with its spec.
    pub const fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The directory, as it was given.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) const fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    pub(super) const fn forest(&self) -> &Arc<Forest> {
        &self.forest
    }

    /// The target that the forest predicts.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// The prediction for one row: problem and kernel together.
    pub fn predict(&self, row: &dyn Fields) -> Result<f64, RowsError> {
        let op = self.model.extractor().schema.op();
        let mut value = [0.0];
        self.score(&mut value, &mut Vec::new(), |_, features| {
            self.fill_served(row, features).map_err(|error| RowsError::from_field(op, error))
        })?;
        Ok(self.model.value(self.target, value[0]))
    }

    /// Predicts as many rows as there are scores. `fill` computes the features of some rows, with `features` as
    /// working memory.
    pub(super) fn score(
        &self,
        scores: &mut [f64],
        features: &mut Vec<f64>,
        mut fill: impl FnMut(Range<usize>, &mut [f64]) -> Result<(), RowsError>,
    ) -> Result<(), RowsError> {
        let width = self.forest.num_features();
        for (first, scores) in (0..).step_by(AT_ONCE).zip(scores.chunks_mut(AT_ONCE)) {
            features.resize(width * scores.len(), 0.0);
            fill(first..first + scores.len(), features)?;
            self.score_rows(&RowMajor { values: features, width }, scores);
        }
        Ok(())
    }

    /// Predicts rows of features.
    pub(super) fn score_rows(&self, rows: &impl Rows, scores: &mut [f64]) {
        self.scorer.score(rows, 0..self.forest.trees().len(), scores);
        for score in scores {
            *score = self.forest.finish(*score);
        }
    }

    /// The prediction for each row of a table.
    pub fn predict_table(&self, table: &Table<'_>) -> Result<Vec<f64>, RowsError> {
        self.check_columns(table)?;
        let mut values = with_room(table.len(), 1)?;
        values.resize(table.len(), 0.0);
        let share = self.share(table.len());
        in_threads((0..).step_by(share).zip(values.chunks_mut(share)), |(first, values)| {
            self.score(values, &mut Vec::new(), |rows, features| {
                self.fill_rows(table, first + rows.start, features, Self::fill_served)
            })?;
            for value in &mut *values {
                *value = self.model.value(self.target, *value);
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// The rows of each thread's part of so many.
    pub(super) fn share(&self, rows: usize) -> usize {
        rows.div_ceil(self.threads.clamp(1, rows.div_ceil(A_THREAD).max(1))).max(1)
    }

    /// Refuses a row with a cell that is most likely misspelt, if absent cells are errors.
    pub fn check_names(&self, row: &Object) -> Result<(), RowsError> {
        if row.is_empty() { Ok(()) } else { self.check_each(row.names()) }
    }

    /// Refuses a table with such a column.
    pub(super) fn check_columns(&self, table: &Table<'_>) -> Result<(), RowsError> {
        self.check_each(table.columns().iter().map(|column| column.name).collect())
    }

    fn check_each(&self, mut names: Vec<&str>) -> Result<(), RowsError> {
        let extractor = self.model.extractor();
        // Where nothing is, nothing is misspelt: what is absent is reported by row.
        if extractor.rules.uncoded != Uncoded::Error || names.is_empty() {
            return Ok(());
        }
        // In files, whose columns people wrote, an unknown name among known ones is refused; here it is not.
        let known = problem_inputs(extractor);
        names.sort_by_key(|name| !known.contains(name));
        let op = extractor.schema.op();
        check_names(op, &names, inputs::of_kernel(op)).map(drop).map_err(RowsError::Names)
    }

    /// The features of each row of a table, row after row.
    pub fn features(&self, table: &Table<'_>) -> Result<Vec<f64>, RowsError> {
        self.check_columns(table)?;
        let width = self.model.extractor().schema.len();
        let mut features = with_room(table.len(), width)?;
        features.resize(table.len() * width, 0.0);
        let share = self.share(table.len());
        let parts = (0..).step_by(share).zip(features.chunks_mut(share * width.max(1)));
        let fill = |model: &Self, row: &dyn Fields, part: &mut [f64]| {
            model.entrance.fill_for(row, &model.model.extractor().hardware, |_| Ok(()), part)
        };
        in_threads(parts, |(first, part)| self.fill_rows(table, first, part, fill))?;
        Ok(features)
    }

    /// The features of rows of a table, from one on.
    fn fill_rows(
        &self,
        table: &Table<'_>,
        first: usize,
        features: &mut [f64],
        fill: impl Fn(&Self, &dyn Fields, &mut [f64]) -> Result<(), InvalidField>,
    ) -> Result<(), RowsError> {
        let width = self.model.extractor().schema.len().max(1);
        (first..).zip(features.chunks_exact_mut(width)).try_for_each(|(row, features)| {
            fill(self, &table.row(row), features).map_err(|source| RowsError::Row { row, source })
        })
    }

    /// The features of a row, unless its cells or its kernel's name say that the model does not apply.
    fn fill_served(&self, row: &dyn Fields, features: &mut [f64]) -> Result<(), InvalidField> {
        self.entrance.refuse_hardware(row)?;
        let key = self.model.key();
        let judge = |given: &_| self.entrance.refuse_others(given, &key);
        self.entrance.fill_for(row, &self.model.extractor().hardware, judge, features)
    }
}

/// Lets threads do the parts of a job, and gives the results in the order of the parts.
pub(super) fn in_threads<P: Send, R: Send>(
    mut parts: impl Iterator<Item = P>,
    work: impl Fn(P) -> Result<R, RowsError> + Sync,
) -> Result<Vec<R>, RowsError> {
    let Some(own) = parts.next() else { return Ok(Vec::new()) };
    thread::scope(|scope| {
        let work = &work;
        let begin = |part| {
            thread::Builder::new()
                .name("ck_select rows".to_owned())
                .spawn_scoped(scope, move || work(part))
                .map_err(|_| RowsError::Threads)
        };
        let others: Vec<_> = parts.map(begin).collect();
        // The error of the first row counts.
        let first = work(own);
        let others =
            others.into_iter().map(|other| other?.join().unwrap_or_else(|panic| resume_unwind(panic)));
        [first].into_iter().chain(others).collect()
    })
}

/// A description of a model directory, for programs that use it. Reads only the spec, not the forests.
pub fn describe_spec(directory: impl AsRef<Path>, options: &RowModelOptions) -> Result<Value, RowModelError> {
    Ok(describe(&read_spec(directory.as_ref(), options)?))
}

/// A description of a spec, for programs that use it.
pub(super) fn describe(spec: &FeatureSpec) -> Value {
    let (extractor, op) = (&spec.extractor, spec.op());
    let constant = |name: &&str| Some(((*name).to_owned(), extractor.hardware.get(name)?.into()));
    let hardware: Map<String, Value> = Hardware::NAMES.iter().filter_map(constant).collect();
    json!({
        "op": op.to_string(),
        "rank_by": spec.rank_by.as_str(),
        "log_targets": spec.log_targets.iter().map(|target| target.as_str()).collect::<Vec<_>>(),
        "feature_names": extractor.schema.names(),
        "categorical_features": spec.categorical_features,
        "problem_inputs": problem_inputs(extractor),
        "kernel_inputs": inputs::of_kernel(op),
        "shared_inputs": inputs::of_both(op),
        "name_inputs": NAME_COLUMNS.iter().chain(BESIDE_NAMES).collect::<Vec<_>>(),
        "word_inputs": NAME_COLUMNS.iter().chain(WORD_INPUTS).collect::<Vec<_>>(),
        "needs_vector": extractor.schema.needs_vector(),
        "hardware": hardware,
        "dtype": spec.dtype.map(|dtype| dtype.to_string()),
        "arch": spec.arch.map(|arch| arch.to_string()),
        "direction": spec.direction.map(|direction| direction.to_string()),
    })
}

/// The names of the cells that are read for a problem.
pub(super) fn problem_inputs(extractor: &Extractor) -> Vec<&'static str> {
    let op = extractor.schema.op();
    let mut inputs = inputs::of_problem(op);
    if extractor.rules.uncoded == Uncoded::Error {
        inputs.extend(inputs::beside_problem(op));
        inputs.extend(Hardware::COLUMNS);
    }
    inputs
}

/// Cells that features do not read, but with which a name must agree.
const BESIDE_NAMES: &[&str] = &["variant", "ndim_spatial"];

/// Inputs with words, apart from names; the others have numbers.
const WORD_INPUTS: &[&str] = &[
    "variant", "op_type", "direction", "dtype", "dtype_in", "dtype_wei", "dtype_out", "dtype_a", "dtype_b",
    "dtype_c", "stream_k", "groups", "quant", "group_a", "group_b", "layout", "arch", "pipeline",
    "wave_mode", "scheduler", "epilogue",
];

fn read_spec(directory: &Path, options: &RowModelOptions) -> Result<FeatureSpec, RowModelError> {
    let (file, bytes) = match spec_bytes(directory) {
        Err(ModelError::Io { file, source })
            if options.tolerate_no_spec && source.kind() == io::ErrorKind::NotFound =>
        {
            (file, b"{}".to_vec())
        }
        read => read?,
    };
    make_spec(file, &bytes, options)
}

/// A spec with the caller's engine, rules and constants.
pub(super) fn make_spec(
    file: String,
    bytes: &[u8],
    options: &RowModelOptions,
) -> Result<FeatureSpec, RowModelError> {
    let invalid = |error| ModelError::invalid(&file, error);
    let mut keys = SpecFile::parse(bytes).map_err(invalid)?;
    let engine = match options.engine {
        EngineChoice::Spec => None,
        EngineChoice::Class(engine) | EngineChoice::Named(engine) => Some(engine),
    };
    if let Some(engine) = engine {
        keys.assume(engine);
    }
    let (names_columns, has_rules) = (keys.names_columns(), keys.has_rules());
    if !has_rules {
        keys.drop_unknown_arch();
    }
    let called = Path::new(&file).parent().map(names_of).unwrap_or_default();
    let mut spec = keys.spec(&called).map_err(invalid)?;
    if let Some(engine) = engine.filter(|engine| engine.op() != spec.op()) {
        return Err(RowModelError::Engine { file, model: spec.op(), engine });
    }
    if let EngineChoice::Named(engine) = options.engine {
        if !names_columns {
            spec.extractor.schema = Schema::for_engine(engine);
        }
        if !has_rules {
            spec.extractor.rules = engine.rules();
            spec.extractor.is_ours = engine.is_ours();
        }
    }
    if let Some(uncoded) = options.uncoded {
        spec.extractor.rules.uncoded = uncoded;
    }
    spec.extractor.hardware =
        spec.extractor.hardware.overridden_by(&options.hardware).map_err(RowModelError::Hardware)?;
    spec.asks_hardware &= options.hardware.is_empty();
    spec.check_hardware().map_err(|error| ModelError::invalid(&file, error))?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte order mark hid a spec's columns from the caller's engine, and blanks inside of `{}` hid the
    /// engine from the spec.
    #[test]
    fn marks_and_blanks_of_a_spec_do_not_change_its_columns() {
        let options =
            RowModelOptions { engine: EngineChoice::Named(Engine::Conv91), ..RowModelOptions::default() };
        let width = |text: &str| {
            make_spec("spec".to_owned(), text.as_bytes(), &options).map(|spec| spec.extractor.schema.len())
        };
        let named = r#"{"op_type": "grouped_conv", "feature_names": ["N"]}"#;
        assert_eq!((width(named).unwrap(), width(&format!("\u{feff}{named}")).unwrap()), (1, 1));
        assert_eq!((width("{}").unwrap(), width("{ }\n").unwrap()), (91, 91));
    }
}
