//! `--arch`: constants of the GPU by the caller, in every command that computes features.

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ck_select::hardware::Hardware;
use serde_json::{Map, Value};
use tempfile::TempDir;

use common::{good, root, run};

const MODEL: &str = "models/grouped_conv_forward_bf16_gfx950";
const PROBLEM: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";

/// The model as if it had been trained with other constants: what answers with `--arch` are held to.
fn trained_with(folder: &TempDir, change: impl Fn(&mut Map<String, Value>)) -> String {
    let copy = folder.path().join("model");
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(root().join(MODEL)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    let spec = copy.join("feature_spec.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&spec).unwrap()).unwrap();
    change(json["hardware"].as_object_mut().unwrap());
    fs::write(&spec, json.to_string()).unwrap();
    copy.to_str().unwrap().to_owned()
}

#[test]
fn every_command_asks_the_model_with_the_callers_constants() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("gpu.json");
    let file = file.to_str().unwrap();
    fs::write(file, r#"{"num_cus": 60, "lds_capacity": 32768}"#).unwrap();
    let by_file = trained_with(&folder, |hardware| {
        hardware.insert("num_cus".to_owned(), 60.into());
        hardware.insert("lds_capacity".to_owned(), 32_768.into());
    });
    let elsewhere = TempDir::new().unwrap();
    let profile = Hardware::for_arch(&"gfx942".parse().unwrap()).unwrap();
    let by_name = trained_with(&elsewhere, |hardware| {
        for name in Hardware::NAMES {
            hardware.insert(name.to_owned(), profile.get(name).unwrap().into());
        }
    });
    let pool = ["--pool", "configs/forward_bf16.txt", "--problem", PROBLEM, "--format", "csv"];
    let rows = folder.path().join("rows.csv");
    fs::write(
        &rows,
        "kernel,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,block_size,\
         gemm_m_per_block,gemm_n_per_block,gemm_k_per_block,pipeline\n\
         grouped_conv_forward_bf16_2d_64x64x64_compv3,16,256,128,1,28,28,3,3,1,1,1,1,1.0,50,256,64,64,64,\
         compv3\n\
         grouped_conv_forward_bf16_2d_16x64x64_compv4,16,256,128,1,28,28,3,3,1,1,1,1,1.0,70,256,16,64,64,\
         compv4\n",
    )
    .unwrap();
    let rows = rows.to_str().unwrap();
    for (command, arguments) in [
        ("rank", &pool[..]),
        ("explain", &pool[..]),
        ("dev features", &["--data", rows, "--allow", "words"]),
        ("evaluate", &["--data", rows, "--format", "csv"]),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let with =
            |model: &str, more: &[&str]| good(&[&words[..], &["--model", model], arguments, more].concat());
        for (asked, trained) in [(file, by_file.as_str()), ("gfx942", by_name.as_str())] {
            // Another architecture is not what the model was trained for.
            let allowed = ["--arch", asked, "--allow", "untrained"];
            let other = &allowed[..if asked == "gfx942" && command != "dev features" { 4 } else { 2 }];
            let found = with(MODEL, other);
            assert_eq!(found, with(trained, &[]), "{command} {asked}");
            if matches!(command, "rank" | "explain" | "dev features") {
                assert_ne!(found, with(MODEL, &[]), "{command} {asked}: the constants matter");
            }
        }
    }
    let (_, _, stderr) = run(&[&["rank", "--model", MODEL, "--arch", file], &pool[..]].concat());
    let expected = "not what the model was trained with: num_cus 60 instead of 256, \
                    lds_capacity 32768 instead of 163840";
    assert!(stderr.contains(expected), "{stderr}");
    let (_, _, stderr) = run(&[&["rank", "--model", MODEL, "--arch", "gfx950"], &pool[..]].concat());
    assert_eq!(stderr, "", "what the model was trained with is no news");
}

#[test]
fn features_of_a_schema_have_the_constants_in_them() {
    let folder = TempDir::new().unwrap();
    let [input, file] = ["rows.csv", "gpu.json"].map(|name| folder.path().join(name));
    fs::write(
        &input,
        "N,C,K,Hi,Wi,Y,X,block_size,gemm_m_per_block,gemm_n_per_block,gemm_k_per_block,\
         pipeline\n\
         1,64,64,8,8,1,1,256,64,64,64,compv3\n",
    )
    .unwrap();
    fs::write(&file, r#"{"num_xcd": 3}"#).unwrap();
    let features = |more: &[&str]| {
        let arguments = ["dev", "features", "--engine", "conv_superset", "--allow", "words", "--data"];
        let rows = good(&[&arguments[..], &[input.to_str().unwrap()], more].concat());
        let (names, row) = rows.trim_end().split_once('\n').unwrap();
        let cells: HashMap<_, _> = names.split(',').zip(row.split(',')).collect();
        ["f:hw_num_xcd", "f:hw_num_cus"].map(|name| cells[name].parse::<f64>().unwrap())
    };
    assert_eq!(features(&[])[0], 8.0);
    assert_eq!(features(&["--arch", file.to_str().unwrap()]), [3.0, 256.0]);
}

#[test]
fn what_is_no_hardware_is_refused_with_what_is() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("gpu.json");
    let rank = |hardware: &str| {
        run(&format!(
            "rank --model {MODEL} --pool configs/forward_bf16.txt --problem {PROBLEM} --arch {hardware}"
        ))
    };
    for (text, message) in [
        (r#"{"cus": 3}"#, "gpu.json: hardware: found cus, expected one of num_cus, simds_per_cu"),
        (r#"{"num_cus": 0}"#, "gpu.json: num_cus: found 0, expected at least 1"),
        (r#"{"num_cus": "many"}"#, "gpu.json: num_cus: found \"many\", expected a whole number"),
        ("{}", "gpu.json: found no constants, expected some of num_cus"),
        ("[]", "gpu.json: expected a JSON object"),
        (r#"{"num_cus": 4, "num_cus": 8}"#, "gpu.json: the key 'num_cus' appears twice"),
    ] {
        fs::write(&file, text).unwrap();
        let (code, stdout, stderr) = rank(file.to_str().unwrap());
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{text}");
        assert!(stderr.contains(message), "{message}\n{stderr}");
    }
    for (name, code, expected) in [
        ("gfx1030", 2, "--arch: found gfx1030, but the model is for gfx950; --allow untrained"),
        ("mi300x", 2, "found 'mi300x', which is neither an architecture nor a file"),
        ("gfx942:wave64", 2, "found 'gfx942:wave64', which is neither an architecture nor a file"),
        ("nope.json", 1, "nope.json: No such file"),
    ] {
        let (found, _, stderr) = rank(name);
        assert!(found == Some(code) && stderr.contains(expected), "{stderr}");
    }
    let (code, _, stderr) = run("evaluate --model nope.csv --data nope.csv --arch gfx942");
    assert!(code == Some(2) && stderr.contains("--pool, --arch and pages are for models"), "{stderr}");
}

/// A model of CK DSL, by its name, whose score says how many compute units it was asked with.
fn of_ck_dsl(folder: &Path, name: &str) -> PathBuf {
    let model = folder.join(name);
    fs::create_dir(&model).unwrap();
    let spec = r#"{"op_type": "grouped_conv", "dtype": "fp16", "arch": "gfx942",
                   "feature_names": ["N", "hw_num_cus"], "log_targets": []}"#;
    fs::write(model.join("feature_spec.json"), spec).unwrap();
    let tree = "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\nsplit_gain=1\nthreshold=240\n\
                decision_type=2\nleft_child=-1\nright_child=-2\nleaf_value=228 256\nleaf_weight=1 1\n\
                leaf_count=1 1\ninternal_value=0\ninternal_weight=2\ninternal_count=2\nis_linear=0\n\
                shrinkage=1\n\n\n";
    let forest = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n\
         objective=regression\nfeature_names=N hw_num_cus\nfeature_infos=[0:9] [0:999]\ntree_sizes={}\n\n\
         {tree}end of trees\n",
        tree.len()
    );
    fs::write(model.join("model_tflops.lgbm"), forest).unwrap();
    model
}

#[test]
fn a_known_model_is_known_by_every_path_and_another_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let model = of_ck_dsl(folder.path(), "grouped_conv_forward_fp16_gfx942");
    let pool = folder.path().join("pool.txt");
    fs::write(&pool, "grouped_conv_forward_fp16_2d_64x64x64_compv3_intrawave\n").unwrap();
    let rank = |place: &str, within: &Path, more: &[&str]| {
        let problem = "N=1,C=64,K=64,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1,dtype=fp16,arch=gfx942";
        let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
            .current_dir(within)
            .args(["rank", "--format", "csv", "--model", place, "--pool", pool.to_str().unwrap()])
            .args(["--problem", problem])
            .args(more)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&model, &link).unwrap();
    let packed = folder.path().join("packed");
    good(&format!("dev pack --model {} --output {}", model.display(), packed.display()));
    let (whole, errors) = rank(model.to_str().unwrap(), folder.path(), &[]);
    assert!(whole.contains(",228"), "{whole}{errors}");
    assert_eq!(rank(".", &model, &[]).0, whole);
    assert_eq!(rank("link", folder.path(), &[]).0, whole);
    assert_eq!(rank("packed", folder.path(), &[]).0, whole);

    let renamed = of_ck_dsl(folder.path(), "renamed");
    let (nothing, errors) = rank("renamed", folder.path(), &[]);
    let expected = "ckselect: renamed: hardware: found nothing, expected the constants of the GPU that the \
                    model was trained on (gfx942)";
    assert!(nothing.is_empty() && errors.starts_with(expected), "{nothing}{errors}");
    assert!(rank("renamed", folder.path(), &["--arch", "gfx942"]).0.contains(",228"));
    assert!(rank("renamed", folder.path(), &["--allow", "words"]).0.contains(",256"));
    let facts = good(&format!("inspect --model {}", renamed.display()));
    assert!(facts.contains("does not rank until --arch gives those"), "{facts}");
}
