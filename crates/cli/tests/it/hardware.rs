//! Commands say what a model is not for and what it was not trained on; with `--arch`, every command that
//! computes features takes the caller's constants of the GPU.

use std::fs;

use ck_select::hardware::Hardware;
use serde_json::{Map, Value};

use crate::common::{Folder, MODEL as CONV, MODEL_OF_GFX950 as GFX950, POOL, PROBLEM, column, root};

/// The model as if it had been trained with other constants: answers with `--arch` must equal its answers.
fn train_with(folder: &Folder, name: &str, change: impl Fn(&mut Map<String, Value>)) {
    fs::create_dir(folder.path(name)).unwrap();
    for entry in fs::read_dir(root().join(GFX950)).unwrap() {
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
    let pool =
        format!("--pool configs/forward_bf16.txt --allow unbuildable --problem {PROBLEM} --format csv");
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
            let found = with(&format!("{GFX950} --arch {asked} {allowed}"));
            assert_eq!(found, with(&format!("{trained} {allowed}")), "{command} {asked}");
            if command != "evaluate" {
                assert_ne!(found, with(GFX950), "{command} {asked}: the constants matter");
            }
        }
    }
    let of_schema = |more: &str| {
        let line = "dev features --engine conv_superset --data @rows.csv --allow words";
        column(&folder.good(&format!("{line} {more}")), "f:hw_num_cus")
    };
    assert_eq!((&*of_schema("")[0], &*of_schema("--arch @gpu.json")[0]), ("256.0", "60.0"));
    let said = |arch: &str| folder.both(&format!("rank --model {GFX950} --arch {arch} {pool}")).1;
    let expected = "not what the model was trained with: num_cus 60 instead of 256, \
                    lds_capacity 32768 instead of 163840";
    assert!(said("@gpu.json").contains(expected), "{}", said("@gpu.json"));
    assert!(!said("gfx950").contains("trained with"), "what the model was trained with is no news");
}

#[test]
fn unknown_hardware_is_refused_with_what_is_known() {
    let folder = Folder::new();
    let rank = format!("rank --model {GFX950} --pool configs/forward_bf16.txt --problem {PROBLEM}");
    for (text, message) in [
        (r#"{"cus": 3}"#, "gpu.json: hardware: found cus, expected one of num_cus, simds_per_cu"),
        ("{}", "gpu.json: found no constants, expected some of num_cus"),
        ("[]", "gpu.json: expected a JSON object"),
    ] {
        folder.write("gpu.json", text);
        folder.refuses(&format!("{rank} --arch @gpu.json\n1: {message}"));
    }
    folder.refuses(&format!(
        "{rank} --arch gfx1030
            2: --arch: found gfx1030, but the model is for gfx950; --allow untrained
        {rank} --arch mi300x
            2: --arch: found gfx942, but the model is for gfx950; --allow untrained
        {rank} --arch mi300
            2: found 'mi300', which is neither an architecture, nor a product such as MI300X, nor a file
        {rank} --arch gfx942:wave64
            2: found 'gfx942:wave64', which is neither an architecture, nor a product such as MI300X
        {rank} --arch nope.json
            1: nope.json: No such file
        evaluate --model nope.csv --data nope.csv --arch gfx942
            2: --pool, --arch and pages are for models"
    ));
}

/// Names of products were no architectures.
#[test]
fn a_product_is_its_target_with_its_compute_units() {
    let folder = Folder::new();
    folder.write("gpu.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    let large = PROBLEM.replace("N=16", "N=256");
    let rank = |arch: &str| {
        folder.good(&format!(
            "rank --model estimate --pool {POOL} --problem {large} --arch {arch} --format csv"
        ))
    };
    let (mi300x, file) = (rank("mi300x"), rank("@gpu.json"));
    assert_eq!(mi300x, file);
    assert_eq!((rank("MI300A"), rank("MI355X")), (rank("gfx942"), rank("gfx950")));
    assert!(mi300x != rank("gfx942") && mi300x != rank("MI308X"));
    let family = |arch: &str| folder.good(&format!("enumerate a8w8_rowwise --arch {arch}"));
    assert_eq!(family("MI308X"), family("gfx942"));
    assert_eq!(family("gfx942 --format csv").lines().count(), family("gfx942").lines().count() + 1);
    assert!(family("gfx942 --format csv").starts_with("index,kernel\n0,a8w8_rowwise_"));
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
fn a_packed_model_is_recognised_and_another_gpu_is_asked_for() {
    let folder = Folder::new();
    let name = "grouped_conv_forward_fp16_gfx942";
    write_ck_dsl(&folder, name);
    folder.write("pool.txt", "grouped_conv_forward_fp16_2d_64x64x64_compv3_intrawave\n");
    let rank = |model: &str| {
        let problem = "N=1,C=64,K=64,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1,dtype=fp16,arch=gfx942";
        format!("rank --format csv --pool @pool.txt --problem {problem} --model @{model}")
    };
    folder.good(&format!("dev pack --model @{name} --output @packed"));
    let whole = folder.good(&rank(name));
    assert!(whole.contains(",228"), "{whole}");
    assert_eq!(folder.good(&rank("packed")), whole);

    write_ck_dsl(&folder, "renamed");
    let nothing = "renamed: hardware: found nothing, expected the constants of the GPU that the model was \
                   trained on (gfx942)";
    folder.refuses(&format!("{}\n1: {nothing}", rank("renamed")));
    assert!(folder.good(&rank("renamed --arch gfx942")).contains(",228"));
    assert!(folder.good(&rank("renamed --allow words")).contains(",256"));
    let facts = folder.good("inspect --model @renamed");
    assert!(facts.contains("does not rank until --arch gives those"), "{facts}");
}

const SM90: &str = "models/grouped_conv_forward_bf16_sm90";

/// The rows of a ranking, and what is said beside.
fn rank(folder: &Folder, words: &str) -> (Vec<Value>, String) {
    let (out, said) = folder.both(&format!("rank {words} --format json"));
    (serde_json::from_str(&out).unwrap(), said)
}

#[test]
fn a_model_refuses_problems_that_it_is_not_for_unless_it_is_forced() {
    let folder = Folder::new();
    for (more, field, reason) in [
        ("dtype=fp16", "dtype_in", "dtype is fp16, the model is for bf16"),
        ("arch=gfx942", "arch", "arch is gfx942, the model is for gfx950"),
    ] {
        let asked = format!("--model {CONV} --pool {POOL} --problem {PROBLEM},{more}");
        for command in ["rank", "explain"] {
            let said = folder.bad(&format!("{command} {asked}"), 1);
            for words in [reason, "the universal model or the estimate", "--allow", "untrained"] {
                assert!(said.contains(words), "{said}");
            }
        }
        let (rows, said) = rank(&folder, &format!("{asked} --allow untrained"));
        assert_eq!(rows.len(), 30, "{said}");
        assert!(rows.iter().all(|row| row["out_of_range"] == field), "{rows:?}");
        assert!(said.contains("outside the model's training range: "), "{said}");
    }
}

#[test]
fn kernels_that_the_model_cannot_rank_are_left_out_and_counted() {
    let folder = Folder::new();
    let names = ["bf16_2d_64x64x64_compv3", "fp32_2d_64x64x64_compv3", "bf16_2d_64x64x64_wavelet"];
    let names = names.map(|tail| format!("grouped_conv_forward_{tail}"));
    folder.write("pool.txt", names.join("\n"));
    let asked = format!("--model {CONV} --pool @pool.txt --problem {PROBLEM}");
    let (rows, said) = rank(&folder, &asked);
    assert_eq!(rows.len(), 1, "{said}");
    for words in
        ["2 of 3 kernels are left out: ", "1 (dtype is fp32, the model is for bf16)", "found 'wavelet'"]
    {
        assert!(said.contains(words), "{said}");
    }
    folder.write("pool.txt", &names[1]);
    folder.refuses(&format!("rank {asked}\n1: the model can rank none of the 1 kernels"));
}

#[test]
fn ties_unmeasured_kernels_and_fields_out_of_range_are_shown() {
    let folder = Folder::new();
    let tails = ["compv3_intrawave", "compv3_intrawave_si", "compv6_intrawave_gm2"];
    let names = tails.map(|tail| format!("grouped_conv_forward_bf16_2d_64x64x64_{tail}"));
    folder.write("pool.txt", names.join("\n"));
    let asked = format!("--model {GFX950} --pool @pool.txt --problem {PROBLEM}");
    let (rows, said) = rank(&folder, &asked);
    let row = |name: &str| rows.iter().find(|row| row["kernel"] == *name).unwrap();
    assert_eq!((&row(&names[0])["tie"], &row(&names[1])["tie"]), (&"=".into(), &"=".into()), "{rows:?}");
    assert_eq!((&row(&names[0])["unmeasured"], &row(&names[1])["unmeasured"]), (&Value::Null, &"si".into()));
    assert!(row(&names[0])["out_of_range"].is_null() && !said.contains("out of range"), "{said}");
    // The tie of the last one that is shown is not.
    let (top, _) = rank(&folder, &format!("{asked} --top 1"));
    assert_eq!((top.len(), &top[0]["tie"]), (1, &rows[0]["tie"]));

    let problem = format!("{PROBLEM},dilation_h=4,dilation_w=4");
    let (rows, said) = rank(&folder, &format!("--model {GFX950} --pool {POOL} --problem {problem} --top 2"));
    assert!(rows[0]["out_of_range"].as_str().unwrap().starts_with("dilation_h dilation_w"), "{rows:?}");
    assert!(said.contains("outside the model's training range: dilation_h is "), "{said}");
}

#[test]
fn problems_of_a_file_that_the_model_is_not_for_are_passed_over_and_counted() {
    let folder = Folder::new();
    let line = |more: &str| format!("op=grouped_conv,{PROBLEM},{more}\n");
    folder.write("list.txt", ["direction=forward", "direction=bwd_data", "G=32"].map(line).concat());
    let line = format!("rank --model {GFX950} --pool {POOL} --top 1 --format csv --problems @list.txt");
    let (out, said) = folder.both(&line);
    assert_eq!(out.lines().count(), 3, "{said}");
    assert!(said.contains("1 problems are skipped: ") && said.contains("direction is bwd_data"), "{said}");
    assert!(said.contains("1 of 2 problems are outside the model's training range, in G (1)"), "{said}");
}

#[test]
fn evaluate_names_the_architecture_and_the_files_of_the_training() {
    let folder = Folder::new();
    let data = "data/h200/forward.odd10.parquet";
    let said = folder.bad(&format!("evaluate --model {GFX950} --data {data}"), 1);
    assert!(said.contains("1800 rows are of sm_90, not of gfx950") && !said.contains("failed"), "{said}");

    let (out, said) = folder.both(&format!("evaluate --model {SM90} --data {data} --format json"));
    assert!(said.contains("the model was trained on this file"), "{said}");
    let metrics: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(metrics["trained_on"], serde_json::json!([data]));
    assert_eq!(metrics["out_of_range"]["problems"], 0);

    let unseen = "data/h200/forward.unseen11.parquet";
    let (_, said) = folder.both(&format!("evaluate --model {SM90} --data {unseen}"));
    assert!(!said.contains("trained on"), "{said}");
}
