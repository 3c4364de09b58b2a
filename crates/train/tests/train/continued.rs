//! Models that are continued: which may be, and what comes out.

use std::fs;
use std::path::Path;

use ck_select_model::directory::Target;
use ck_select_train::{
    CardInputs, Directory, Folds, Objective, Plan, TrainError, TrainedForest, WarmStart, train,
};
use ck_select_types::vocab::Dtype;

use crate::sweep::inputs;
use crate::sweep::{goal, measurements, plan};

/// A small model of TFLOPS on 300 rows, in a directory.
fn base(folder: &Path, trees: &str) -> (Plan, Vec<TrainedForest>) {
    let measurements = measurements(25);
    let mut plan = plan(vec![goal(Target::Tflops, Objective::Log1p, &[("n_estimators", trees)])]);
    plan.categories = Vec::new();
    plan.folds = Folds::Count(1);
    let trained = train(&measurements, &plan, &()).unwrap();
    let inputs: CardInputs = inputs(&measurements);
    Directory::new(&measurements, &plan, &trained, &inputs)
        .unwrap()
        .write(&folder.join("base"), false)
        .unwrap();
    (plan, trained)
}

fn rmse(one: &TrainedForest) -> f64 {
    let squares = (0..one.data.rows.len()).map(|row| {
        let predicted = one.forest.predict(one.data.row(row)).unwrap().exp_m1();
        (predicted - one.data.measured[row]).powi(2)
    });
    (squares.sum::<f64>() / one.data.rows.len() as f64).sqrt()
}

#[test]
fn a_continued_forest_has_old_and_new_trees_and_is_no_worse() {
    let folder = tempfile::tempdir().unwrap();
    let (mut plan, old) = base(folder.path(), "20");
    let warm = WarmStart::load(&folder.path().join("base")).unwrap();
    assert_eq!(warm.total_trees(), Some(20));
    plan.goals[0].params.set("n_estimators", "15").unwrap();
    plan.warm_start = Some(warm);
    plan.check_warm_start(Some(Dtype::Bf16)).unwrap();
    let measurements = measurements(25);
    let new = train(&measurements, &plan, &()).unwrap();
    assert_eq!((new[0].forest.trees().len(), new[0].continued), (35, 20));
    assert_eq!(new[0].forest.trees()[..20], *old[0].forest.trees());
    assert!(rmse(&new[0]) <= 1.1 * rmse(&old[0]), "{} and {}", rmse(&new[0]), rmse(&old[0]));
    let directory = Directory::new(&measurements, &plan, &new, &inputs(&measurements)).unwrap();
    let manifest: serde_json::Value =
        serde_json::from_slice(directory.file("train_manifest.json").unwrap()).unwrap();
    assert_eq!(manifest["prev_n_estimators"], 20);
    assert_eq!((&manifest["new_n_estimators"], &manifest["total_n_estimators"]), (&15.into(), &35.into()));
    assert!(manifest["warm_start_from"].as_str().unwrap().ends_with("base"));
}

#[test]
fn a_forest_is_found_compressed_or_plain_and_only_for_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let (_, old) = base(folder.path(), "3");
    let model = folder.path().join("base");
    let warm = WarmStart::load(&model).unwrap();
    let text = |warm: &WarmStart| warm.forest(Target::Tflops).map(|forest| forest.text().to_owned());
    assert_eq!(text(&warm).as_deref(), Some(old[0].forest.text()));
    assert!(warm.forest(Target::Latency).is_none());
    fs::remove_file(model.join("model_tflops.lgbm.gz")).unwrap();
    assert_eq!(text(&WarmStart::load(&model).unwrap()), None);
    // Taken for none, it would be trained from nothing.
    let packed = model.join("model_tflops.lgbm.packed");
    fs::write(&packed, "").unwrap();
    let refused = WarmStart::load(&model).unwrap_err().to_string();
    assert!(refused.contains("model_tflops.lgbm.packed: line 1: the text ends"), "{refused}");
    fs::remove_file(packed).unwrap();
    fs::write(model.join("model_tflops.lgbm"), old[0].forest.text()).unwrap();
    assert_eq!(text(&WarmStart::load(&model).unwrap()).as_deref(), Some(old[0].forest.text()));
}

/// The spec of the base with some keys changed, checked against the plan that trained it.
fn check(change: impl Fn(&mut serde_json::Value)) -> Result<(), TrainError> {
    let folder = tempfile::tempdir().unwrap();
    let (plan, _) = base(folder.path(), "2");
    let path = folder.path().join("base/feature_spec.json");
    let mut spec = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut spec);
    fs::write(&path, spec.to_string()).unwrap();
    let warm_start = Some(WarmStart::load(&folder.path().join("base"))?);
    Plan { warm_start, ..plan }.check_warm_start(Some(Dtype::Bf16))
}

fn complaint(change: impl Fn(&mut serde_json::Value)) -> String {
    check(change).unwrap_err().to_string()
}

#[test]
fn equal_specs_are_compatible_and_every_difference_is_named() {
    check(|_| ()).unwrap();
    let names = |edit: fn(&mut Vec<serde_json::Value>)| {
        move |spec: &mut serde_json::Value| {
            // The ranges are of the names that the change removes.
            spec["ck_select"].as_object_mut().unwrap().remove("trained_range");
            edit(spec["feature_names"].as_array_mut().unwrap());
        }
    };
    assert_eq!(
        complaint(names(|names| names.retain(|name| name != "K"))),
        "Feature schema mismatch: added [\"K\"], removed []"
    );
    assert_eq!(
        complaint(names(|names| names.push("G".into()))),
        "Feature schema mismatch: added [], removed [\"G\"]"
    );
    assert_eq!(
        complaint(names(|names| names.swap(0, 1))),
        "Feature schema mismatch: the features are the same, but their order changed"
    );
    assert!(
        complaint(|spec| spec["categorical_features"] = serde_json::json!(["N"]))
            .starts_with("Categorical feature mismatch: the model to continue has [\"N\"], this training []")
    );
    for (key, value, message) in [
        ("dtype", serde_json::json!("fp16"), "dtype fp16, this training has bf16"),
        ("arch", serde_json::json!("gfx942"), "arch gfx942, this training has gfx950"),
        ("log_targets", serde_json::json!([]), "log_targets raw, this training has log1p"),
    ] {
        assert!(complaint(|spec| spec[key] = value.clone()).ends_with(message), "{key}");
    }
    assert!(complaint(|spec| spec["hardware"]["num_cus"] = 100.into()).contains("hardware Hardware {"));
    assert!(
        complaint(|spec| spec["ck_select"]["kernel_mapping"] = "name_order".into())
            .contains("feature rules Rules {")
    );
}

#[test]
fn missing_forests_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = WarmStart::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("feature_spec.json: No such file"), "{error}");
}
