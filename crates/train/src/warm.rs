//! The model that a training continues.
//!
//! A universal model is adapted to a user's own GPU by trees that are added to its forest: it keeps what it
//! learned elsewhere, so that a few dozen measured problems are enough. Continuing needs more than the
//! forest: columns, rules and hardware have to be those of its training, and a new sweep must not be a file
//! that the model already saw ([`WarmStart::were_trained_on`]), or folds would be judged by what they were
//! trained on. All of it comes from the model's own spec; the caller gives only the directory, or
//! `embedded:NAME`.

use std::collections::BTreeSet;
use std::path::Path;

use ck_select_model::directory::{EmbeddedModel, FeatureSpec, Target, TrainedOn};
use ck_select_model::features::{Engine, Extractor, Schema};
use ck_select_model::forest::Forest;
use ck_select_types::files;
use ck_select_types::vocab::{Arch, Dtype, Op};
use serde_json::Value;

use super::error::TrainError;
use super::goal::Goal;
use super::mode::Mode;
use super::objective::Objective;
use super::text_forest::TextForest;
use ck_select_measurements::trained;
use ck_select_measurements::{DataError, Measurements};
use ck_select_model::directory::forest_text;

/// A model whose forests are continued.
#[derive(Debug, Clone)]
pub struct WarmStart {
    name: String,
    /// The path of the model's spec, for messages.
    spec_file: String,
    spec: FeatureSpec,
    forests: Vec<(Target, TextForest)>,
    manifest: Option<Value>,
}

impl WarmStart {
    /// Reads a model directory. Nothing is written there.
    pub fn load(directory: &Path) -> Result<Self, TrainError> {
        if !directory.is_dir() {
            return Err(TrainError::about(directory.display(), "no such directory"));
        }
        let path = directory.join(FeatureSpec::FILE);
        let spec_file = path.display().to_string();
        let bytes = files::read(&path).map_err(|error| TrainError::about(&spec_file, error))?;
        let spec = FeatureSpec::from_json(&spec_file, &bytes).map_err(TrainError::refused)?;
        let mut forests = Vec::new();
        for &target in Target::ALL {
            if let Some(text) = forest_text(directory, target).map_err(TrainError::refused)? {
                // A model that cannot be read cannot be served either.
                let forest = TextForest::parse(text);
                forests
                    .push((target, forest.map_err(|fault| TrainError::about(directory.display(), fault))?));
            }
        }
        let manifest = files::read(directory.join("train_manifest.json")).ok();
        let manifest = manifest.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Self { name: directory.display().to_string(), spec_file, spec, forests, manifest })
    }

    /// Reads an embedded model.
    pub fn embedded(model: &EmbeddedModel) -> Result<Self, TrainError> {
        let name = format!("{}{}", EmbeddedModel::PREFIX, model.name());
        let forest = |&(target, packed): &(Target, &[u8])| {
            let forest = Forest::packed_text(packed).and_then(TextForest::parse);
            forest.map(|forest| (target, forest)).map_err(|fault| TrainError::about(&name, fault))
        };
        let forests = model.forests().iter().map(forest).collect::<Result<_, _>>()?;
        let spec = model.spec().map_err(TrainError::refused)?;
        Ok(Self { spec_file: format!("{name}: {}", FeatureSpec::FILE), name, spec, forests, manifest: None })
    }

    /// The model's directory, or `embedded:NAME`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Columns, rules and hardware that its forests were trained with.
    pub const fn extractor(&self) -> &Extractor {
        &self.spec.extractor
    }

    /// The architectures of the model's measurements; none if its spec does not record them.
    pub fn archs(&self) -> impl Iterator<Item = Arch> {
        self.spec.trained_on.iter().flat_map(TrainedOn::archs)
    }

    /// Whether the model was trained on each file of the measurements.
    pub fn were_trained_on(&self, measurements: &Measurements) -> Result<Vec<bool>, DataError> {
        trained::were_trained_on(&self.spec, measurements.paths())
    }

    /// The weight of the estimate, for a universal model.
    pub const fn prior(&self) -> Option<f64> {
        self.spec.prior
    }

    /// A target's forest; `None` if the model has none, so that the target starts from scratch.
    pub fn forest(&self, target: Target) -> Option<&TextForest> {
        self.forests.iter().find(|forest| forest.0 == target).map(|forest| &forest.1)
    }

    /// The universal model for another operation that the estimate sees alike: a GEMM is a 1x1 convolution.
    pub fn for_op(mut self, op: Op) -> Result<Self, TrainError> {
        let own = self.spec.op();
        if op != own {
            let schema = self.spec.extractor.schema.for_op(op);
            self.spec.extractor.schema = schema.ok_or_else(|| {
                let why = format!("found a model for {own}, expected one that ranks kernels of {op}");
                TrainError::about(&self.name, why)
            })?;
        }
        Ok(self)
    }

    /// A universal model to be adapted to one GPU: its columns are followed by the features of models for one
    /// GPU, which its own trees do not use.
    pub fn to_adapt(mut self) -> Result<Self, TrainError> {
        // An adapted model is for one architecture.
        if self.prior().is_none() || self.spec.arch.is_some() {
            return Err(TrainError::not_universal(&self.name));
        }
        let before = self.extractor().schema.clone();
        let schema = before.clone().followed_by(Schema::for_engine(Engine::default_for(before.op())));
        let names = schema.names();
        for (_, forest) in &mut self.forests {
            *forest = TextForest::parse(widened(forest.text(), &names, before.len()))
                .map_err(|fault| TrainError::about(&self.name, fault))?;
        }
        self.spec.extractor.schema = schema;
        Ok(self)
    }

    /// The total number of trees in the old model's manifest, if it has one.
    pub fn total_trees(&self) -> Option<u64> {
        self.manifest.as_ref()?.get("total_n_estimators")?.as_u64()
    }

    /// The objective of the forest that ranks; `None` if there is no such forest, or nothing records its objective.
    pub fn objective(&self) -> Option<Objective> {
        self.forest(Target::Relative)?;
        let word = self.manifest.as_ref()?.pointer("/ck_select/targets/relative/objective")?;
        word.as_str()?.parse().ok()
    }

    /// How a training adapts this model, which has to be universal.
    pub fn adapted(&self) -> Result<Mode, TrainError> {
        let adapted = self.prior().map(|prior| Mode::Adapted { prior });
        adapted.ok_or_else(|| TrainError::not_universal(&self.name))
    }

    /// Checks that columns, categories and goals of a training mean what they mean in the old forests.
    pub(super) fn check(
        &self,
        extractor: &Extractor,
        categories: &[String],
        goals: &[Goal],
        dtype: Option<Dtype>,
    ) -> Result<(), TrainError> {
        let old = self.spec.extractor.schema.names();
        let new = extractor.schema.names();
        if old != new {
            return Err(TrainError::about("Feature schema mismatch", difference(&old, &new)));
        }
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        let (old, new) = (sorted(&self.spec.categorical_features), sorted(categories));
        if old != new {
            let list = |names: &BTreeSet<String>| format!("{:?}", names.iter().collect::<Vec<_>>());
            let (old, new) = (list(&old), list(&new));
            let why = format_args!("the model to continue has {old}, this training {new}");
            return Err(TrainError::about("Categorical feature mismatch", why));
        }
        let file = &self.spec_file;
        let differs = |field: &'static str, old: String, new: String| {
            if old == new {
                return Ok(());
            }
            Err(TrainError::about(file, format_args!("{field} {old}, this training has {new}")))
        };
        let (was, is) = (&self.spec.extractor, extractor);
        differs("op_type", self.spec.op().to_string(), is.schema.op().to_string())?;
        if let Some(old) = self.spec.dtype {
            differs("dtype", old.to_string(), dtype.map_or("any type", Dtype::as_str).to_owned())?;
        }
        if let (Some(old), Some(new)) = (was.arch, is.arch) {
            differs("arch", old.to_string(), new.to_string())?;
        }
        differs("feature rules", format!("{:?}", was.rules), format!("{:?}", is.rules))?;
        differs("hardware", format!("{:?}", was.hardware), format!("{:?}", is.hardware))?;
        for goal in goals {
            if let (Target::Relative, Some(old)) = (goal.target, self.objective()) {
                differs("objective", old.to_string(), goal.objective.to_string())?;
            }
            if self.forest(goal.target).is_some() && goal.target != Target::Relative {
                let log = |log: bool| if log { "log1p".to_owned() } else { "raw".to_owned() };
                let was = log(self.spec.log_targets.contains(&goal.target));
                differs("log_targets", was, goal.objective.to_string())?;
            }
        }
        Ok(())
    }
}

/// The forest with more columns after its own.
fn widened(text: &str, names: &[&str], before: usize) -> String {
    let (head, trees) = text.split_once("\nTree=").unwrap_or((text, ""));
    let head = head.lines().map(|line| match line.split_once('=') {
        Some(("max_feature_idx", _)) => format!("max_feature_idx={}", names.len() - 1),
        Some(("feature_names", _)) => format!("feature_names={}", names.join(" ")),
        Some(("feature_infos", infos)) => {
            format!("feature_infos={infos}{}", " none".repeat(names.len() - before))
        }
        _ => line.to_owned(),
    });
    format!("{}\nTree={trees}", head.collect::<Vec<_>>().join("\n"))
}

fn difference(old: &[&str], new: &[&str]) -> String {
    let missing = |from: &[&str], of: &[&str]| {
        let names: BTreeSet<String> =
            from.iter().filter(|name| !of.contains(name)).map(|name| (*name).to_owned()).collect();
        format!("{:?}", names.into_iter().collect::<Vec<_>>())
    };
    let (added, removed) = (missing(new, old), missing(old, new));
    if (added.as_str(), removed.as_str()) == ("[]", "[]") {
        return "the features are the same, but their order changed".to_owned();
    }
    format!("added {added}, removed {removed}")
}
