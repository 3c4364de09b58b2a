//! `--arch`: constants of the GPU by the caller, in every command that computes features.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ck_select::hardware::Hardware;
use serde_json::{Map, Value};

use crate::common::{Folder, MODEL_OF_GFX950 as MODEL, PROBLEM, root, run_in};

/// The model as if it had been trained with other constants: what answers with `--arch` are held to.
fn train_with(folder: &Folder, name: &str, change: impl Fn(&mut Map<String, Value>)) {
    fs::create_dir(folder.path(name)).unwrap();
    for entry in fs::read_dir(root().join(MODEL)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path(name).join(path.file_name().unwrap())).unwrap();
    }
    let spec = format!("{name}/feature_spec.json");
    let mut json = folder.read_json(&spec);
    change(json["hardware"].as_object_mut().unwrap());
    folder.write(&spec, json.to_string());
}

#[test]
fn every_command_asks_the_model_with_the_callers_constants() {
    let folder = Folder::new();
    folder.write("gpu.json", r#"{"num_cus": 60, "lds_capacity": 32768}"#);
    train_with(&folder, "by_file", |hardware| {
        hardware.insert("num_cus".to_owned(), 60.into());
        hardware.insert("lds_capacity".to_owned(), 32_768.into());
    });
    let profile = Hardware::for_arch(&"gfx942".parse().unwrap()).unwrap();
    train_with(&folder, "by_name", |hardware| {
        for name in Hardware::NAMES {
            hardware.insert(name.to_owned(), profile.get(name).unwrap().into());
        }
    });
    folder.write(
        "rows.csv",
        "kernel,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,block_size,\
         gemm_m_per_block,gemm_n_per_block,gemm_k_per_block,pipeline\n\
         grouped_conv_forward_bf16_2d_64x64x64_compv3,16,256,128,1,28,28,3,3,1,1,1,1,1.0,50,256,64,64,64,\
         compv3\n\
         grouped_conv_forward_bf16_2d_16x64x64_compv4,16,256,128,1,28,28,3,3,1,1,1,1,1.0,70,256,16,64,64,\
         compv4\n",
    );
    let pool = format!("--pool configs/forward_bf16.txt --problem {PROBLEM} --format csv");
    for (command, arguments) in [
        ("rank", pool.as_str()),
        ("explain", &pool),
        ("dev features", "--data @rows.csv --allow words"),
        ("evaluate", "--data @rows.csv --format csv"),
    ] {
        let with = |model: &str| folder.good(&format!("{command} {arguments} --model {model}"));
        for (asked, trained) in [("@gpu.json", "@by_file"), ("gfx942", "@by_name")] {
            // Another architecture is not what the model was trained for.
            let is_other = asked == "gfx942" && command != "dev features";
            let allowed = if is_other { "--allow untrained" } else { "" };
            let found = with(&format!("{MODEL} --arch {asked} {allowed}"));
            assert_eq!(found, with(trained), "{command} {asked}");
            if command != "evaluate" {
                assert_ne!(found, with(MODEL), "{command} {asked}: the constants matter");
            }
        }
    }
    let said = |arch: &str| folder.both(&format!("rank --model {MODEL} --arch {arch} {pool}")).1;
    let expected = "not what the model was trained with: num_cus 60 instead of 256, \
                    lds_capacity 32768 instead of 163840";
    assert!(said("@gpu.json").contains(expected), "{}", said("@gpu.json"));
    assert_eq!(said("gfx950"), "", "what the model was trained with is no news");
}

#[test]
fn features_of_a_schema_have_the_constants_in_them() {
    let folder = Folder::new();
    folder.write(
        "rows.csv",
        "N,C,K,Hi,Wi,Y,X,block_size,gemm_m_per_block,gemm_n_per_block,gemm_k_per_block,\
         pipeline\n\
         1,64,64,8,8,1,1,256,64,64,64,compv3\n",
    );
    folder.write("gpu.json", r#"{"num_xcd": 3}"#);
    let features = |more: &str| {
        let line = "dev features --engine conv_superset --allow words --data @rows.csv";
        let rows = folder.good(&format!("{line} {more}"));
        let (names, row) = rows.trim_end().split_once('\n').unwrap();
        let cells: HashMap<_, _> = names.split(',').zip(row.split(',')).collect();
        ["f:hw_num_xcd", "f:hw_num_cus"].map(|name| cells[name].parse::<f64>().unwrap())
    };
    assert_eq!(features("")[0], 8.0);
    assert_eq!(features("--arch @gpu.json"), [3.0, 256.0]);
}

#[test]
fn what_is_no_hardware_is_refused_with_what_is() {
    let folder = Folder::new();
    let rank = format!("rank --model {MODEL} --pool configs/forward_bf16.txt --problem {PROBLEM}");
    for (text, message) in [
        (r#"{"cus": 3}"#, "gpu.json: hardware: found cus, expected one of num_cus, simds_per_cu"),
        (r#"{"num_cus": "many"}"#, "gpu.json: num_cus: found \"many\", expected a whole number"),
        ("{}", "gpu.json: found no constants, expected some of num_cus"),
        ("[]", "gpu.json: expected a JSON object"),
        (r#"{"num_cus": 4, "num_cus": 8}"#, "gpu.json: the key 'num_cus' appears twice"),
    ] {
        folder.write("gpu.json", text);
        folder.refuses(&format!("{rank} --arch @gpu.json\n1: {message}"));
    }
    folder.refuses(&format!(
        "{rank} --arch gfx1030
            2: --arch: found gfx1030, but the model is for gfx950; --allow untrained
        {rank} --arch mi300x
            2: found 'mi300x', which is neither an architecture nor a file
        {rank} --arch gfx942:wave64
            2: found 'gfx942:wave64', which is neither an architecture nor a file
        {rank} --arch nope.json
            1: nope.json: No such file
        evaluate --model nope.csv --data nope.csv --arch gfx942
            2: --pool, --arch and pages are for models"
    ));
}

/// A model of CK DSL, by its name, whose score says how many compute units it was asked with.
fn write_ck_dsl(folder: &Folder, name: &str) {
    fs::create_dir(folder.path(name)).unwrap();
    let spec = r#"{"op_type": "grouped_conv", "dtype": "fp16", "arch": "gfx942",
                   "feature_names": ["N", "hw_num_cus"], "log_targets": []}"#;
    folder.write(&format!("{name}/feature_spec.json"), spec);
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
    folder.write(&format!("{name}/model_tflops.lgbm"), forest);
}

#[test]
fn a_known_model_is_known_by_every_path_and_another_is_asked_for() {
    let folder = Folder::new();
    let name = "grouped_conv_forward_fp16_gfx942";
    write_ck_dsl(&folder, name);
    folder.write("pool.txt", "grouped_conv_forward_fp16_2d_64x64x64_compv3_intrawave\n");
    let rank = |place: &str, within: &Path, more: &str| {
        let problem = "N=1,C=64,K=64,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1,dtype=fp16,arch=gfx942";
        let line = format!("rank --format csv --model {place} --pool @pool.txt --problem {problem} {more}");
        run_in(within, &folder.located(&line))
    };
    std::os::unix::fs::symlink(name, folder.path("link")).unwrap();
    folder.good(&format!("dev pack --model @{name} --output @packed"));
    let here = folder.path("");
    let whole = rank(&format!("@{name}"), &here, "").stdout;
    assert!(whole.contains(",228"), "{whole}");
    assert_eq!(rank(".", &folder.path(name), "").stdout, whole);
    assert_eq!(rank("link", &here, "").stdout, whole);
    assert_eq!(rank("packed", &here, "").stdout, whole);

    write_ck_dsl(&folder, "renamed");
    let nothing = rank("renamed", &here, "");
    let expected = "ckselect: renamed: hardware: found nothing, expected the constants of the GPU that the \
                    model was trained on (gfx942)";
    assert!(nothing.stdout.is_empty() && nothing.stderr.starts_with(expected), "{nothing:?}");
    assert!(rank("renamed", &here, "--arch gfx942").stdout.contains(",228"));
    assert!(rank("renamed", &here, "--allow words").stdout.contains(",256"));
    let facts = folder.good("inspect --model @renamed");
    assert!(facts.contains("does not rank until --arch gives those"), "{facts}");
}
