//! The files of a model directory.

use std::fs;

use ck_select::model::{Model, Target};
use ck_select_offline::measurements::Measurements;
use ck_select_offline::train::{CardInputs, Directory, Objective, Plan, Role, Trained, train};
use serde_json::Value;

use crate::sweep::{goal, measurements, plan};

pub(crate) fn inputs(measurements: &Measurements) -> CardInputs {
    CardInputs {
        name: "made_up".to_owned(),
        dtype: "bf16".to_owned(),
        direction: Some("forward".to_owned()),
        command: "ckselect train --data sweep.csv".to_owned(),
        timestamp: "2026-01-02T03:04:05".to_owned(),
        digests: measurements.sources().iter().map(|_| "0".repeat(64)).collect(),
    }
}

/// A model that ranks, with a forest of TFLOPS beside it.
pub(crate) fn made() -> (Measurements, Plan, Vec<Trained>) {
    let measurements = measurements(30);
    let goals = vec![
        goal(Target::Relative, Objective::Listwise, &[]),
        goal(Target::Tflops, Objective::Log1p, &[]),
        goal(Target::Latency, Objective::Raw, &[]),
    ];
    let mut plan = plan(goals);
    plan.roles = vec![Role::default()];
    let trained = train(&measurements, &plan, &()).unwrap();
    (measurements, plan, trained)
}

fn json(directory: &Directory, name: &str) -> Value {
    serde_json::from_slice(directory.file(name).unwrap_or_else(|| panic!("{name}"))).unwrap()
}

#[test]
fn all_files_are_there_and_say_what_was_trained() {
    let (measurements, plan, trained) = made();
    let directory = Directory::new(&measurements, &plan, &trained, &inputs(&measurements)).unwrap();
    let spec = json(&directory, "feature_spec.json");
    assert_eq!(spec["op_type"], "grouped_conv");
    assert_eq!(spec["variant"], "forward");
    assert_eq!(spec["targets"], serde_json::json!(["relative", "tflops", "latency"]));
    assert_eq!(spec["log_targets"], serde_json::json!(["tflops"]));
    assert_eq!(spec["params"]["n_estimators"], 20);
    assert_eq!(spec["hardware"]["lds_capacity"], 163_840);
    assert_eq!(spec["ck_select"]["rank_by"], "relative");
    assert_eq!(spec["ck_select"]["k_tile"], "gemm_k_per_block");
    assert_eq!(spec["ck_select"]["trained_range"]["N"], serde_json::json!([1.0, 4.0]));

    let manifest = json(&directory, "train_manifest.json");
    assert_eq!(manifest["warm_start_from"], Value::Null);
    for (key, value) in [
        ("prev_n_estimators", 0),
        ("new_n_estimators", 20),
        ("total_n_estimators", 20),
        ("data_rows", 360),
        ("valid_rows", 360),
    ] {
        assert_eq!(manifest[key], value, "{key}");
    }
    assert_eq!(manifest["unique_shapes"], trained[0].data.problems.len());
    assert_eq!(manifest["timestamp"], "2026-01-02T03:04:05");

    for target in ["relative", "tflops", "latency"] {
        let folds = json(&directory, &format!("cv_metrics_{target}.json"));
        let folds = folds.as_array().unwrap();
        assert_eq!(folds.len(), 3, "{target}");
        for (index, fold) in folds.iter().enumerate() {
            assert_eq!(fold["fold"], index);
            assert_eq!(fold["train_size"].as_u64().unwrap() + fold["val_size"].as_u64().unwrap(), 360);
            assert_eq!(fold["mean_efficiency"].is_null(), target == "latency", "{target}");
            assert_eq!(fold["rmse"].is_null(), target == "relative", "{target}");
        }
        let importances = json(&directory, &format!("feature_importances_{target}.json"));
        assert_eq!(importances.as_object().unwrap().len(), plan.extractor.schema.len());
        assert!(importances.as_object().unwrap().values().any(|splits| splits.as_u64().unwrap() > 0));
    }

    let card = String::from_utf8(directory.file("MODEL_CARD.md").unwrap().to_vec()).unwrap();
    for part in [
        "# made_up",
        "| sweep.csv | 360 |",
        "| relative | listwise | 20 |",
        "| N | 1 | 4 |",
        "$ ckselect train --data sweep.csv",
        "lds_capacity 163840",
    ] {
        assert!(card.contains(part), "{part}\n{card}");
    }
}

#[test]
fn the_directory_is_a_model_and_never_overwrites_by_itself() {
    let (measurements, plan, trained) = made();
    let directory = Directory::new(&measurements, &plan, &trained, &inputs(&measurements)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models/made_up");
    directory.write(&path, false).unwrap();
    let model = Model::load(&path).unwrap();
    assert_eq!(model.spec().rank_by, Target::Relative);
    assert_eq!(model.targets().count(), 3);

    let error = directory.write(&path, false).unwrap_err().to_string();
    assert!(error.ends_with("made_up: is there already; --overwrite replaces it"), "{error}");
    fs::write(path.join("note.txt"), "mine").unwrap();
    directory.write(&path, true).unwrap();
    assert!(!path.join("note.txt").exists(), "the old directory is replaced as a whole");
    assert_eq!(fs::read_dir(folder.path().join("models")).unwrap().count(), 1, "nothing is left beside it");

    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "years of work").unwrap();
    let error = directory.write(&other, true).unwrap_err().to_string();
    assert!(error.contains("not a model directory"), "{error}");
    assert!(other.join("thesis.tex").exists());
}
