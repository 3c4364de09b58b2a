//! The files of a model directory, all of them or none.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use ck_select_model::directory::{FeatureSpec, Model, Target, TrainedOn, TrainedRange};
use ck_select_model::sureness::Sureness;
use ck_select_types::hardware::Hardware;
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};

use ck_select_measurements::Measurements;
use ck_select_measurements::staged::Staged;

use super::card::CardInputs;
use super::error::TrainError;
use super::facts::{self, range, shapes, trained_on};
use super::goal::Goal;
use super::metrics::FoldMetrics;
use super::mode::Mode;
use super::objective::Objective;
use super::plan::Plan;
use super::trained::TrainedForest;
use super::warm::WarmStart;
use super::{card, out_of_fold, sureness};

/// A model directory in memory: names and contents of its files.
#[derive(Debug)]
pub struct Directory {
    files: BTreeMap<String, Vec<u8>>,
}

impl Directory {
    /// The files for trained forests. They are read back as a model before anything is written.
    pub fn new(
        measurements: &Measurements,
        plan: &Plan,
        trained: &[TrainedForest],
        inputs: &CardInputs,
    ) -> Result<Self, TrainError> {
        let card = card::text(measurements, plan, trained, inputs);
        let mut files = BTreeMap::from([
            (FeatureSpec::FILE.to_owned(), pretty(&spec(measurements, plan, trained, inputs))),
            ("train_manifest.json".to_owned(), pretty(&manifest(measurements, plan, trained, inputs))),
            ("oof_predictions.parquet".to_owned(), out_of_fold::parquet(measurements, trained)?),
            ("MODEL_CARD.md".to_owned(), card.into_bytes()),
        ]);
        for one in trained {
            let target = one.goal.target;
            let folds = one.validation.folds.iter().map(FoldMetrics::to_json).collect();
            files.insert(target.file_name() + ".gz", compressed(one.forest.text())?);
            files.insert(format!("cv_metrics_{target}.json"), pretty(&folds));
            files.insert(format!("feature_importances_{target}.json"), pretty(&importances(one)));
        }
        if let Some(learned) = sureness::from_folds(measurements, plan, trained)? {
            learned.read(plan.extractor.schema.op()).map_err(TrainError::refused)?;
            let learned = serde_json::to_value(learned).map_err(TrainError::refused)?;
            files.insert(Sureness::FILE.to_owned(), pretty(&learned));
        }
        let directory = Self { files };
        directory.check(trained)?;
        Ok(directory)
    }

    /// Adds a page about the training.
    pub fn add_page(&mut self, page: String) {
        self.files.insert("model.html".to_owned(), page.into_bytes());
    }

    /// The content of a file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// Checks that the files give the trained model.
    fn check(&self, trained: &[TrainedForest]) -> Result<(), TrainError> {
        let names: Vec<(Target, String)> =
            trained.iter().map(|one| (one.goal.target, one.goal.target.file_name() + ".gz")).collect();
        let forests: Vec<(Target, &[u8])> =
            names.iter().filter_map(|(target, name)| Some((*target, self.file(name)?))).collect();
        let spec = self.file(FeatureSpec::FILE).unwrap_or_default();
        let model = Model::from_bytes("the trained model", spec, &forests).map_err(TrainError::refused)?;
        for one in trained {
            let target = one.goal.target;
            if model.forest(target) != Some(one.forest.forest()) {
                return Err(TrainError::forest(target, "it does not read back as it was written"));
            }
        }
        Ok(())
    }

    /// Writes the files, all or none. An existing directory is an error, unless it should be replaced.
    pub fn write(&self, path: &Path, overwrite: bool) -> Result<(), TrainError> {
        let failed = |error| TrainError::about(path.display(), error);
        Self::check_free(path, overwrite)?;
        let staged = Staged::create(path).map_err(failed)?;
        for (name, bytes) in &self.files {
            staged.write(name, bytes).map_err(|error| TrainError::about(path.join(name).display(), error))?;
        }
        staged.commit(overwrite).map_err(failed)
    }

    /// Reserves the most space that a plan's model can take, for the time of its training: a full disk is an error
    /// before the training, and one that fills up meanwhile does no harm.
    pub fn reserve(path: &Path, overwrite: bool, plan: &Plan, rows: usize) -> Result<File, TrainError> {
        const LEAF: usize = 64;
        const ROW: usize = 128;
        const REST: usize = 1 << 20;
        let forest = |goal: &Goal| {
            let leaves = goal.params.get("num_leaves").map_or(rows, |leaves| leaves as usize).min(rows);
            let continued = plan
                .warm_start
                .as_ref()
                .and_then(|warm| warm.forest(goal.target))
                .map_or(0, |forest| forest.text().len());
            goal.params.trees().saturating_mul(leaves * LEAF).saturating_add(continued)
        };
        let bytes = plan.goals.iter().map(forest).fold(rows * ROW + REST, usize::saturating_add);
        Self::check_free(path, overwrite)?;
        Staged::reserve(path, bytes as u64).map_err(|error| {
            let (path, most) = (path.display(), bytes.div_ceil(1 << 20));
            TrainError::about(format!("{path}: {most} MiB, the most that this model may take"), error)
        })
    }

    /// Refuses a path that exists or cannot be written; also to be called before a long training.
    pub fn check_free(path: &Path, overwrite: bool) -> Result<(), TrainError> {
        if path.exists() && !overwrite {
            return Err(TrainError::about(path.display(), "already exists; --overwrite replaces it"));
        }
        // Only directories that look like a model are ever replaced.
        if path.exists() && !path.join(FeatureSpec::FILE).exists() {
            let message = "not a model directory (no feature_spec.json), so it is not replaced";
            return Err(TrainError::about(path.display(), message));
        }
        Staged::reserve(path, 0).map(drop).map_err(|error| TrainError::about(path.display(), error))
    }
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = format!("{value:#}");
    text.push('\n');
    text.into_bytes()
}

fn compressed(text: &str) -> Result<Vec<u8>, TrainError> {
    // No name and no time in the header, so that the same model gives the same file.
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    gzip.write_all(text.as_bytes())
        .and_then(|()| gzip.finish())
        .map_err(|error| TrainError::about("a compressed forest", error))
}

fn spec(measurements: &Measurements, plan: &Plan, trained: &[TrainedForest], inputs: &CardInputs) -> Value {
    let mut targets: Vec<&str> = trained.iter().map(|one| one.goal.target.as_str()).collect();
    let mut log_targets: Vec<&str> = trained
        .iter()
        .filter(|one| one.goal.objective == Objective::Log1p)
        .map(|one| one.goal.target.as_str())
        .collect();
    log_targets.sort_unstable();
    // Upstream's key has one set of parameters: that of the forest that ranks.
    let ranking = plan.ranking(trained);
    targets.sort_by_key(|&target| target != plan.rank_by().as_str());
    let mut spec = json!({
        "op_type": plan.extractor.schema.op().as_str(),
        "dtype": inputs.dtype,
        "arch": plan.extractor.arch.map(|arch| arch.to_string()),
        "feature_names": plan.extractor.schema.names(),
        "categorical_features": plan.categories,
        "targets": targets,
        "log_targets": log_targets,
        "params": ranking.map(|one| one.goal.params.to_json()),
        "hardware": stores_hardware(plan).then(|| hardware(&plan.extractor.hardware)),
        "ck_select": extension(measurements, plan, trained, &trained_on(measurements, plan, trained, &inputs.digests)),
    });
    if let (Some(variant), Some(object)) = (inputs.direction, spec.as_object_mut()) {
        object.insert("variant".to_owned(), json!(variant));
    }
    spec
}

/// Whether the constants of the GPU are part of the model. A universal model takes those of each problem's
/// GPU, and one of one architecture has its own if they are not those of the profile.
fn stores_hardware(plan: &Plan) -> bool {
    let profile = plan.extractor.arch.and_then(|arch| Hardware::for_arch(&arch)).unwrap_or_default();
    match plan.mode {
        Mode::Sweeps { prior: None } => true,
        Mode::Universal { .. } => false,
        Mode::Sweeps { prior: Some(_) } | Mode::Winners { .. } | Mode::Adapted { .. } => {
            plan.extractor.hardware != profile
        }
    }
}

fn hardware(hardware: &Hardware) -> Value {
    Hardware::NAMES.iter().map(|&name| (name.to_owned(), json!(hardware.get(name)))).collect()
}

/// Our own key: the rules of the features, the target that ranks, the ranges of the features, and what the
/// model was trained on.
fn extension(
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
    trained_on: &TrainedOn,
) -> Value {
    let mut extension = serde_json::to_value(plan.extractor.rules).unwrap_or_default();
    if let Some(object) = extension.as_object_mut() {
        object.insert("rank_by".to_owned(), json!(plan.rank_by().as_str()));
        if measurements.chooses_split() {
            object.insert("choose".to_owned(), json!("split_k"));
        }
        if let Some(library) = facts::library(measurements) {
            object.insert("library".to_owned(), json!(library.as_str()));
        }
        if let Some(prior) = trained.first().and_then(|one| one.prior) {
            object.insert("prior".to_owned(), json!(prior));
        }
        object.insert(TrainedRange::KEY.to_owned(), json!(range(trained)));
        object.insert(TrainedOn::KEY.to_owned(), json!(trained_on));
    }
    extension
}

fn manifest(
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
    inputs: &CardInputs,
) -> Value {
    let ranking = plan.ranking(trained);
    let new = ranking.map_or(0, |one| one.goal.params.trees() as u64);
    let warm = plan.warm_start.as_ref();
    // As in upstream: without an old manifest, the number of old trees counts as that of the new ones.
    let old = warm.map_or(0, |warm| warm.total_trees().unwrap_or(new));
    let total = warm.map_or(0, |warm| warm.total_trees().unwrap_or(0)) + new;
    let by_target = trained.iter().map(|one| {
        let figures = json!({
            "objective": one.goal.objective.as_str(),
            "params": one.goal.params.to_json(),
            "rows": one.data.rows.len(),
            "problems": one.data.problems.len(),
            "trees": one.forest.trees().len(),
            "continued_trees": one.continued,
            "cross_validation": one.validation.efficiency,
        });
        (one.goal.target.as_str().to_owned(), figures)
    });
    json!({
        "warm_start_from": warm.map(WarmStart::name),
        "prev_n_estimators": old,
        "new_n_estimators": new,
        "total_n_estimators": total,
        "data_rows": measurements.rows().len(),
        "valid_rows": measurements.valid_rows().count(),
        "unique_shapes": shapes(measurements),
        "timestamp": inputs.timestamp,
        "ck_select": {
            "version": env!("CARGO_PKG_VERSION"),
            "seed": plan.seed,
            "targets": by_target.collect::<Value>(),
        },
    })
}

fn importances(one: &TrainedForest) -> Value {
    let uses = one.forest.feature_uses();
    one.data.names.iter().zip(uses).map(|(name, used)| (name.clone(), json!(used.splits))).collect()
}
