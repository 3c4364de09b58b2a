//! Loading models from a directory, from files or from memory, plain or gzip.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::json;

use crate::estimate::{Device, universal_columns};
use crate::vocab::Op;

use super::known::names_of;
use super::{FeatureSpec, Later, Model, ModelError, ModelKey, Target};
use crate::files;
use crate::forest::{Forest, ReadError, text_head};
use crate::inflate::{self, Limited, TooMuch, inflated_to};
use crate::sureness::Sureness;

/// Largest forest in bytes, after decompression; upstream's default forest of 2000 x 255 leaves is about 40
/// MB of text.
const MOST_FOREST_BYTES: u64 = 1 << 30;
/// Largest file of JSON in bytes.
const MOST_JSON_BYTES: u64 = 16 << 20;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
/// Packed forests of every version.
const PACKED: &[u8] = b"ck-select packed forest";

impl Model {
    /// Loads a model directory: `feature_spec.json`, and for each target [`Model::forest_file`]. No file is
    /// written.
    pub fn load(directory: impl AsRef<Path>) -> Result<Self, ModelError> {
        let directory = directory.as_ref();
        let (file, bytes) = spec_bytes(directory)?;
        // A directory may be called by another name than its own (`.`, a link).
        let spec = FeatureSpec::from_json_of(&names_of(directory), &file, &bytes)?;
        let model = Self::assemble(label(directory), spec, |target| {
            let Some(path) = Self::forest_file(directory, target)? else { return Ok(None) };
            Ok(Some((label(&path), Forest::load(path)?)))
        })?;
        let sureness = sureness(directory, model.spec.op())?;
        Ok(model.with_sureness(sureness))
    }

    /// The file of a directory that holds a target's forest: `model_<target>.lgbm`, or the same with `.gz` or
    /// `.packed` (see [`Forest::PACKED_MAGIC`]). Plain text takes precedence over gzip. A packed forest must
    /// be the only one, because it could be older than the text beside it without anyone noticing.
    pub fn forest_file(directory: &Path, target: Target) -> Result<Option<PathBuf>, ModelError> {
        let file = |extension| directory.join(target.file_name() + extension);
        let text = ["", ".gz"].map(file).into_iter().find(|path| path.exists());
        let packed = Some(file(".packed")).filter(|path| path.exists());
        if let (Some(text), Some(packed)) = (&text, &packed) {
            let reason = format!("the same forest may differ in {}; remove one of the two", label(text));
            return Err(ModelError::Invalid { file: label(packed), reason });
        }
        Ok(text.or(packed))
    }

    /// Loads one forest, plain or gzip, with a spec.
    pub fn load_forest(
        target: Target,
        forest_path: impl AsRef<Path>,
        mut spec: FeatureSpec,
    ) -> Result<Self, ModelError> {
        let path = forest_path.as_ref();
        // The only forest has to rank.
        spec.rank_by = target;
        Self::assemble(label(path), spec, |own| {
            if own == target { Ok(Some((label(path), Forest::load(path)?))) } else { Ok(None) }
        })
    }

    /// Loads a model from memory; forests may be plain or gzip. `name` is its name in errors.
    pub fn from_bytes(name: &str, spec: &[u8], forests: &[(Target, &[u8])]) -> Result<Self, ModelError> {
        let spec = FeatureSpec::from_json(&format!("{name}/{}", FeatureSpec::FILE), spec)?;
        Self::assemble(name.to_owned(), spec, |target| {
            let Some((_, bytes)) = forests.iter().find(|(own, _)| *own == target) else { return Ok(None) };
            let file = format!("{name}/{}", target.file_name());
            let forest = read_forest(&file, *bytes, bytes.len() as u64)?;
            Ok(Some((file, forest)))
        })
    }

    /// The estimate for a GPU as a model: a universal model without training, whose scores are logarithms of
    /// times.
    pub fn from_estimate(op: Op, device: Device) -> Result<Self, ModelError> {
        let spec = json!({ "op_type": op.as_str(), "ck_select": { "prior": 1, "rank_by": "relative" } });
        let spec = FeatureSpec::from_document("estimate", &spec)?;
        let names: Vec<&str> = universal_columns(op).iter().map(|column| column.name).collect();
        let tree =
            "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=0\nis_linear=0\nshrinkage=1\n\nend of trees\n";
        let text = text_head(&names) + tree;
        let model = Self::assemble("estimate".to_owned(), spec, |target| {
            let forest = || read_forest("estimate", text.as_bytes(), text.len() as u64);
            (target == Target::Relative).then(|| Ok(("estimate".to_owned(), forest()?))).transpose()
        })?;
        Ok(model.on_device(device, None).with_sureness(Sureness::estimate_anywhere(op).cloned()))
    }

    /// A model whose forests the build script packed. The one that ranks is read at once.
    pub(super) fn from_packed(
        name: &str,
        spec: FeatureSpec,
        forests: &[(Target, &'static [u8])],
        sureness: Option<&[u8]>,
    ) -> Result<Self, ModelError> {
        let mut later = [const { None }; Target::ALL.len()];
        let rank_by = spec.rank_by;
        let model = Self::assemble(name.to_owned(), spec, |target| {
            let Some(&(_, packed)) = forests.iter().find(|(own, _)| *own == target) else { return Ok(None) };
            if target != rank_by {
                later[target as usize] = Some(Later { packed, forest: OnceLock::new() });
                return Ok(None);
            }
            let file = format!("{name}/{}", target.file_name());
            match Forest::unpack(packed) {
                Ok(forest) => Ok(Some((file, forest))),
                Err(source) => Err(ModelError::Forest { file, source: Box::new(source) }),
            }
        })?;
        let file = || format!("{}/{}", model.name, Sureness::FILE);
        let op = model.spec.op();
        let sureness = sureness.map(|bytes| read_sureness(&file(), op, bytes)).transpose()?;
        Ok(Self { later, sureness, ..model })
    }

    /// A model of a spec and of what `read` finds for each target: a file and its forest.
    fn assemble(
        name: String,
        spec: FeatureSpec,
        mut read: impl FnMut(Target) -> Result<Option<(String, Forest)>, ModelError>,
    ) -> Result<Self, ModelError> {
        let mut forests = [const { None }; Target::ALL.len()];
        for &target in Target::ALL {
            if let Some((file, forest)) = read(target)? {
                check(&file, &forest, &spec)?;
                forests[target as usize] = Some(Arc::new(forest));
            }
        }
        let rank_by = spec.rank_by;
        if forests[rank_by as usize].is_none() {
            return Err(ModelError::NoForest { model: name, file: rank_by.file_name() });
        }
        let key = ModelKey::new(&spec);
        let constants = spec.own_hardware;
        Ok(Self {
            name,
            spec,
            key,
            forced: false,
            device: None,
            constants,
            forests,
            later: [const { None }; Target::ALL.len()],
            sureness: None,
        })
    }
}

/// The sureness that a directory records.
pub(crate) fn sureness(directory: &Path, op: Op) -> Result<Option<Arc<Sureness>>, ModelError> {
    let path = directory.join(Sureness::FILE);
    if !path.exists() {
        return Ok(None);
    }
    let (file, bytes) = small_file(&path)?;
    read_sureness(&file, op, &bytes).map(Some)
}

fn read_sureness(file: &str, op: Op, bytes: &[u8]) -> Result<Arc<Sureness>, ModelError> {
    Sureness::from_json(op, bytes).map(Arc::new).map_err(|reason| ModelError::invalid(file, reason))
}

/// A directory's spec: the file's name and its bytes.
pub(crate) fn spec_bytes(directory: &Path) -> Result<(String, Vec<u8>), ModelError> {
    small_file(&directory.join(FeatureSpec::FILE))
}

/// A file of JSON in a model directory: its name and its bytes.
fn small_file(path: &Path) -> Result<(String, Vec<u8>), ModelError> {
    let (file, mut bytes) = (label(path), Vec::new());
    let limit = TooMuch { limit: MOST_JSON_BYTES, inflated: false };
    match files::open(path).and_then(|text| Limited::new(text, limit).read_to_end(&mut bytes)) {
        Ok(_) => Ok((file, bytes)),
        Err(source) => Err(ModelError::Io { file, source }),
    }
}

impl Forest {
    /// Reads a LightGBM file, plain or gzip, or a packed one, of 1 GiB of text at most.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let name = label(path.as_ref());
        let io = |source| ModelError::Io { file: name.clone(), source };
        let file = files::open(path.as_ref()).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        read_forest(&name, BufReader::with_capacity(1 << 16, file), size)
    }
}

/// The text of a target's forest in a model directory, for continued training and for packing; `None` if the
/// model has none.
pub fn forest_text(directory: &Path, target: Target) -> Result<Option<String>, ModelError> {
    let Some(path) = Model::forest_file(directory, target)? else { return Ok(None) };
    let file = label(&path);
    let read = || {
        let bytes = files::read(&path)?;
        match path.extension().and_then(OsStr::to_str) {
            Some("packed") => Forest::packed_text(&bytes).map_err(ReadError::Text),
            Some("gz") => Ok(io::read_to_string(inflate::inflated(&*bytes))?),
            _ => Ok(String::from_utf8(bytes).map_err(io::Error::other)?),
        }
    };
    read().map(Some).map_err(|error| match error {
        ReadError::Text(source) => ModelError::Forest { file, source: Box::new(source) },
        ReadError::Io(source) => ModelError::Io { file, source },
    })
}

fn label(path: &Path) -> String {
    path.display().to_string()
}

/// Reads a forest of `size` bytes in one pass; compressed text is inflated while it is parsed.
fn read_forest(file: &str, mut bytes: impl BufRead + Send, size: u64) -> Result<Forest, ModelError> {
    let io = |source| ModelError::Io { file: file.to_owned(), source };
    let start = bytes.fill_buf().map_err(io)?;
    let (compressed, packed) = (start.starts_with(GZIP_MAGIC), start.starts_with(PACKED));
    let bytes = Limited::new(bytes, TooMuch { limit: MOST_FOREST_BYTES, inflated: false });
    let forest = if packed {
        Forest::read_packed(bytes)
    } else if compressed {
        let most = MOST_FOREST_BYTES.min(inflate::most(size));
        on_a_large_stack(|| Forest::read(BufReader::new(inflated_to(BufReader::new(bytes), most))))
    } else {
        Forest::read(BufReader::new(bytes))
    };
    forest.map_err(|error| match error {
        ReadError::Text(source) => ModelError::Forest { file: file.to_owned(), source: Box::new(source) },
        // The decoder's own message does not say what was being read.
        ReadError::Io(source) if compressed && !is_too_much(&source) => {
            io(io::Error::new(source.kind(), format!("not a whole gzip file: {source}")))
        }
        ReadError::Io(source) => io(source),
    })
}

fn is_too_much(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.downcast_ref::<TooMuch>().is_some())
}

/// Inflating needs more stack than the smallest threads have: it holds the decoder's tables for a moment.
fn on_a_large_stack<T: Send>(read: impl FnOnce() -> Result<T, ReadError> + Send) -> Result<T, ReadError> {
    const STACK: usize = 1 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("ck_select load".to_owned()).stack_size(STACK);
        let reading = thread.spawn_scoped(scope, read).map_err(ReadError::Io)?;
        reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Checks that a forest's columns match the spec.
fn check(file: &str, forest: &Forest, spec: &FeatureSpec) -> Result<(), ModelError> {
    let mismatch = |reason: String| Err(ModelError::invalid(file, reason));
    let names = spec.extractor.schema.names();
    if forest.num_features() != names.len() {
        let columns = forest.num_features();
        return mismatch(format!("{columns} features, but feature_spec.json names {}", names.len()));
    }
    for (column, (found, expected)) in forest.feature_names().iter().zip(&names).enumerate() {
        // Trained from a bare matrix, a forest calls its columns Column_0, Column_1, …
        let unnamed = found.strip_prefix("Column_").is_some_and(|number| number.parse() == Ok(column));
        if found != expected && !unnamed {
            return mismatch(format!(
                "column {column} is '{found}', but feature_spec.json says '{expected}'"
            ));
        }
    }
    Ok(())
}
