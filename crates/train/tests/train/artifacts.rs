//! The files of a model directory.

use std::fmt::Write as _;
use std::fs;

use ck_select_model::directory::{FeatureSpec, Model, Target};
use ck_select_model::features::{Engine, Extractor, MemPads, Rules};
use ck_select_train::{Directory, Objective, train};
use ck_select_types::kernel::Kernel;
use ck_select_types::pool::Pool;
use ck_select_types::vocab::Op;
use serde_json::Value;

use crate::sweep::{goal, inputs, made, plan, read};

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
    let trained_on = &spec["ck_select"]["trained_on"];
    assert_eq!(trained_on["numbers"]["N"], serde_json::json!([1, 4]));
    assert_eq!(trained_on["numbers"]["G"], serde_json::json!([1, 1]), "a field that is no feature");
    assert_eq!(trained_on["words"]["dtype_in"], serde_json::json!(["bf16"]));
    assert!(trained_on["pipelines"].as_array().unwrap().contains(&"compv3".into()));
    assert_eq!(trained_on["files"].as_array().map(Vec::len), Some(inputs(&measurements).digests.len()));

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
        "# made_up", "| sweep.csv | 360 |", "| relative | listwise | 20 |",
        "- varied: N 1 to 4, C 64 to 256,", ", G 1, Di 1,", ", dtype_in bf16, dtype_wei bf16,",
        "$ ckselect train --data sweep.csv",
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
    assert!(error.ends_with("made_up: already exists; --overwrite replaces it"), "{error}");
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

/// A kernel has the features at selection, where it comes from a pool, that it had in training, where it came
/// from rows: kernels of pipeline `mem` too, whose names deny the padding that they have.
#[test]
fn features_of_mem_kernels_are_those_of_the_training() {
    let tail = "intrawave_False_False_False_False_64x64x64_1x4x1_16x16x32";
    let kernels = [
        format!("gemm_universal_fp8_rcr_mem_default_{tail}"),
        format!("gemm_universal_fp8_rcr_compv3_default_{tail}"),
    ];
    let mut text = "kernel,m,n,k,latency_ms,tflops\n".to_owned();
    for index in 0..24 {
        for (place, kernel) in kernels.iter().enumerate() {
            let tflops = 10 + (index * 7 + place * 5) % 11;
            writeln!(
                text,
                "{kernel},{},{},{},0.1,{tflops}",
                100 + index,
                64 * (1 + index % 3),
                200 + 8 * index
            )
            .unwrap();
        }
    }
    let measurements = read(Op::Gemm, &[("gemm.csv", &text)]);
    let trained_with = |mem_pads: MemPads| {
        let mut plan = plan(vec![goal(Target::Tflops, Objective::Log1p, &[])]);
        let engine = Extractor::for_engine(Engine::Gemm72);
        plan.extractor = Extractor { rules: Rules { mem_pads, ..engine.rules }, ..engine };
        let trained = train(&measurements, &plan, &()).unwrap();
        let directory = Directory::new(&measurements, &plan, &trained, &inputs(&measurements)).unwrap();
        (trained, directory)
    };
    for (mem_pads, word, padded) in [(MemPads::All, "all", 1.0), (MemPads::Name, "name", 0.0)] {
        let (trained, directory) = trained_with(mem_pads);
        let spec = directory.file("feature_spec.json").unwrap();
        assert_eq!(json(&directory, "feature_spec.json")["ck_select"]["mem_pads"], word);
        let extractor = FeatureSpec::from_json("feature_spec.json", spec).unwrap().extractor;
        let pool = Pool::new(kernels.iter().map(|name| Kernel::from_name(name).unwrap()).collect()).unwrap();
        let data = &trained[0].data;
        for (row, &index) in data.rows.iter().enumerate() {
            let measured = &measurements.rows()[index as usize];
            let name = &measurements.kernels()[measured.kernel as usize].name;
            let kernel = pool.iter().find(|kernel| kernel.name == *name).unwrap();
            let problem = &measurements.problems()[measured.problem as usize];
            let found = extractor.row(problem, &kernel.kind).unwrap();
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(data.row(row)), bits(&found), "{name}");
            let pad_m = data.names.iter().position(|name| name == "pad_m").unwrap();
            assert_eq!(found[pad_m], if name.contains("_mem_") { padded } else { 0.0 });
        }
    }
}
