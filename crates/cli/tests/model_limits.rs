//! What a model is not for, and what it was not trained on, is said.

mod common;

use serde_json::Value;
use tempfile::TempDir;

use common::run;

const CONV: &str = "tests/golden/models/conv_small";
const GFX950: &str = "models/grouped_conv_forward_bf16_gfx950";
const SM90: &str = "models/grouped_conv_forward_bf16_sm90";
const POOL: &str = "configs/forward_bf16.txt";
const PROBLEM: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";

fn rank<'a>(
    model: &'a str,
    pool: &'a str,
    problem: &'a str,
    more: &[&'a str],
) -> (Option<i32>, String, String) {
    let words = ["rank", "--model", model, "--pool", pool, "--problem", problem, "--format", "json"];
    run(&[&words, more].concat())
}

fn rows(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_model_refuses_problems_that_it_is_not_for_unless_it_is_forced() {
    for (more, reason) in [
        ("dtype=fp16", "dtype is fp16, the model is for bf16"),
        ("arch=gfx942", "arch is gfx942, the model is for gfx950"),
    ] {
        let problem = format!("{PROBLEM},{more}");
        for command in ["rank", "explain"] {
            let (code, out, said) =
                run(&format!("{command} --model {CONV} --pool {POOL} --problem {problem}"));
            assert_eq!((code, out.as_str()), (Some(1), ""), "{said}");
            for words in [reason, "the universal model or the estimate", "--allow", "untrained"] {
                assert!(said.contains(words), "{said}");
            }
        }
        let (code, out, said) = rank(CONV, POOL, &problem, &["--allow", "untrained"]);
        assert_eq!((code, rows(&out).len()), (Some(0), 30), "{said}");
        let field = if more.starts_with("dtype") { "dtype_in" } else { "arch" };
        assert!(rows(&out).iter().all(|row| row["out_of_range"] == field), "{out}");
        assert!(said.contains("outside the model's training range: "), "{said}");
    }
}

#[test]
fn kernels_that_the_model_cannot_rank_are_left_out_and_counted() {
    let folder = TempDir::new().unwrap();
    let pool = folder.path().join("pool.txt");
    let names = ["bf16_2d_64x64x64_compv3", "fp32_2d_64x64x64_compv3", "bf16_2d_64x64x64_wavelet"];
    let names = names.map(|tail| format!("grouped_conv_forward_{tail}"));
    std::fs::write(&pool, names.join("\n")).unwrap();
    let (code, out, said) = rank(CONV, pool.to_str().unwrap(), PROBLEM, &[]);
    assert_eq!((code, rows(&out).len()), (Some(0), 1), "{said}");
    assert!(said.contains("2 of 3 kernels are left out: "), "{said}");
    assert!(said.contains("1 (dtype is fp32, the model is for bf16)"), "{said}");
    assert!(said.contains("found 'wavelet'"), "{said}");

    std::fs::write(&pool, &names[1]).unwrap();
    let (code, _, said) = rank(CONV, pool.to_str().unwrap(), PROBLEM, &[]);
    assert!(code == Some(1) && said.contains("the model can rank none of the 1 kernels"), "{said}");
}

#[test]
fn ties_unmeasured_kernels_and_fields_out_of_range_are_shown() {
    let folder = TempDir::new().unwrap();
    let pool = folder.path().join("pool.txt");
    let tails = ["compv3_intrawave", "compv3_intrawave_si", "compv6_intrawave_gm2"];
    let names = tails.map(|tail| format!("grouped_conv_forward_bf16_2d_64x64x64_{tail}"));
    std::fs::write(&pool, names.join("\n")).unwrap();
    let pool = pool.to_str().unwrap();
    let (code, out, said) = rank(GFX950, pool, PROBLEM, &[]);
    assert_eq!(code, Some(0), "{said}");
    let row = |name: &str| rows(&out).into_iter().find(|row| row["kernel"] == *name).unwrap();
    assert_eq!((&row(&names[0])["tie"], &row(&names[1])["tie"]), (&"=".into(), &"=".into()), "{out}");
    assert_eq!((&row(&names[0])["unmeasured"], &row(&names[1])["unmeasured"]), (&Value::Null, &"si".into()));
    assert!(row(&names[0])["out_of_range"].is_null() && !said.contains("out of range"), "{said}");
    // The tie of the last one that is shown is not.
    let (_, top, _) = rank(GFX950, pool, PROBLEM, &["--top", "1"]);
    let first = &rows(&out)[0];
    assert_eq!((rows(&top).len(), &rows(&top)[0]["tie"]), (1, &first["tie"]));

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
        let (code, out, said) = rank(GFX950, POOL, &problem, &["--top", "2"]);
        assert_eq!(code, Some(0), "{said}");
        let shown = rows(&out)[0]["out_of_range"].as_str().unwrap_or_default().to_owned();
        assert!(shown.starts_with(fields), "{more}: {shown}");
        let first = fields.split(' ').next().unwrap();
        assert!(said.contains(&format!("outside the model's training range: {first} is ")), "{said}");
    }
}

#[test]
fn problems_of_a_file_that_the_model_is_not_for_are_passed_over_and_counted() {
    let folder = TempDir::new().unwrap();
    let list = folder.path().join("list.txt");
    let line = |more: &str| format!("op=grouped_conv,{PROBLEM},{more}\n");
    let lines = [line("direction=forward"), line("direction=bwd_data"), line("G=32")].concat();
    std::fs::write(&list, lines).unwrap();
    let words = ["rank", "--model", GFX950, "--pool", POOL, "--top", "1", "--format", "csv", "--problems"];
    let (code, out, said) = run(&[&words[..], &[list.to_str().unwrap()]].concat());
    assert_eq!((code, out.lines().count()), (Some(0), 3), "{said}");
    assert!(said.contains("1 problems are skipped: ") && said.contains("direction is bwd_data"), "{said}");
    assert!(said.contains("1 of 2 problems are outside the model's training range, in G (1)"), "{said}");
}

#[test]
fn evaluate_names_the_architecture_and_the_files_of_the_training() {
    let data = "data/h200/forward.odd10.parquet";
    let (code, _, said) = run(&format!("evaluate --model {GFX950} --data {data}"));
    assert_eq!(code, Some(1));
    assert!(said.contains("1800 rows are of sm_90, not of gfx950") && !said.contains("failed"), "{said}");

    let (code, out, said) = run(&format!("evaluate --model {SM90} --data {data} --format json"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the model was trained on this file"), "{said}");
    let metrics: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(metrics["trained_on"], serde_json::json!([data]));
    assert_eq!(metrics["out_of_range"]["problems"], 0);

    let unseen = "data/h200/forward.unseen11.parquet";
    let (code, _, said) = run(&format!("evaluate --model {SM90} --data {unseen}"));
    assert!(code == Some(0) && !said.contains("trained on"), "{said}");
}
