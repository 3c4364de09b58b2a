//! What a model is not for, and what it was not trained on, is said.

use serde_json::Value;

use crate::common::{Folder, MODEL as CONV, MODEL_OF_GFX950 as GFX950, POOL, PROBLEM};

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

    for (more, fields) in [
        ("G=32", "G"),
        ("dilation_h=4,dilation_w=4", "dilation_h dilation_w"),
        ("split_k=8", "split_k"),
        ("N=2147483647", "N"),
        ("layout=ngchw", "layout"),
    ] {
        let problem = match more.split_once('=') {
            Some(("N", _)) => PROBLEM.replace("N=16", more),
            _ => format!("{PROBLEM},{more}"),
        };
        let (rows, said) =
            rank(&folder, &format!("--model {GFX950} --pool {POOL} --problem {problem} --top 2"));
        let shown = rows[0]["out_of_range"].as_str().unwrap_or_default();
        assert!(shown.starts_with(fields), "{more}: {shown}");
        let first = fields.split(' ').next().unwrap();
        assert!(said.contains(&format!("outside the model's training range: {first} is ")), "{said}");
    }
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
