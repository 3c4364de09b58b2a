//! `split_k=auto`: the commands choose the number of parts with the kernel.

mod common;

use common::run;
use std::fmt::Write as _;

const POOL: &str = "tests/golden/models/gemm_small/pool.txt";
const GEMM: &str = "gemm_universal_fp16_rcr_compv3_default_intrawave_False_False_False_False";

/// Rows of two problems in several numbers of parts: the third pair is the fastest of the first problem.
fn rows(folder: &std::path::Path) -> [String; 2] {
    let row = |tile: &str, m: u32, parts: u32, tflops: f64| {
        let ms = 2.0 * f64::from(m) * 1024.0 * 8192.0 / tflops / 1e9;
        format!("{GEMM}_{tile}_2x2x1_16x16x16,{m},1024,8192,{parts},sm_90,{ms},{tflops}\n")
    };
    let header = "kernel,m,n,k,split_k,arch,latency_ms,tflops\n";
    let (small, large) = ("64x64x64", "128x128x64");
    let whole = [row(small, 64, 1, 40.0), row(large, 64, 1, 20.0), row(small, 4096, 1, 200.0)].concat();
    let split = [row(small, 64, 4, 80.0), row(small, 4096, 4, 150.0)].concat();
    [("whole.csv", whole), ("split.csv", split)].map(|(name, rows)| {
        let path = folder.join(name);
        std::fs::write(&path, format!("{header}{rows}")).unwrap();
        path.display().to_string()
    })
}

#[test]
fn evaluate_takes_rows_of_several_numbers_for_one_problem() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, split] = rows(folder.path());
    let outcomes = folder.path().join("outcomes.csv").display().to_string();
    let evaluate = |more: &[&str]| {
        let (code, stdout, stderr) =
            run(&[&["evaluate", "--model", "estimate", "--data", &whole, &split, "--format", "json"], more]
                .concat());
        assert_eq!(code, Some(0), "{stderr}");
        serde_json::from_str::<serde_json::Value>(&stdout).unwrap()
    };
    let count = |value: &serde_json::Value| value["per_shape_efficiency"].as_array().unwrap().len();
    assert_eq!(count(&evaluate(&[])), 4);
    let chosen = evaluate(&["--choose", "split_k", "--output", &outcomes]);
    assert_eq!(count(&chosen), 2);
    let first = &chosen["per_shape_efficiency"][0];
    assert!(first["problem"].as_str().unwrap().contains("split_k=auto"), "{first}");
    assert_eq!((&first["oracle_split_k"], &first["num_kernels"]), (&4.into(), &3.into()), "{first}");
    assert_eq!((&first["selected_split_k"], &first["efficiency"]), (&4.into(), &1.0.into()), "{first}");
    let table = std::fs::read_to_string(&outcomes).unwrap();
    assert!(table.lines().next().unwrap().ends_with(",selected_split_k,oracle_split_k"), "{table}");
    // A file of choices may split, too.
    let choices = folder.path().join("choices.csv").display().to_string();
    let choice = |m: u32, parts: u32| format!("{GEMM}_64x64x64_2x2x1_16x16x16,{m},1024,8192,{parts},sm_90\n");
    let text = format!("kernel,m,n,k,split_k,arch\n{}{}", choice(64, 4), choice(4096, 4));
    std::fs::write(&choices, text).unwrap();
    let command = ["evaluate", "--model", &choices, "--data", &whole, &split, "--choose", "split_k"];
    let (code, stdout, stderr) = run(&[&command[..], &["--format", "json"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let judged: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let efficiencies: Vec<f64> = judged["per_shape_efficiency"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["efficiency"].as_f64().unwrap())
        .collect();
    assert_eq!(efficiencies, [1.0, 0.75]);
}

#[test]
fn rank_search_and_explain_name_the_number() {
    let problem = "M=16,N=1536,K=7168,split_k=auto";
    let table = |command: &[&str]| {
        let (code, stdout, stderr) = run(command);
        assert_eq!(code, Some(0), "{command:?}: {stderr}");
        let rows: Vec<Vec<String>> =
            stdout.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
        (rows, stderr)
    };
    let model = ["--model", "tests/golden/models/gemm_small"];
    let estimate = ["--model", "estimate", "--arch", "gfx950"];
    for by in [&model[..], &estimate] {
        let common = ["--pool", POOL, "--problem", problem, "--splits", "2,8", "--format", "csv"];
        let (ranked, _) = table(&[&["rank"], by, &common].concat());
        let of = |rows: &[Vec<String>], name: &str| {
            let column = rows[0].iter().position(|column| column == name).unwrap();
            rows[1..].iter().map(|row| row[column].clone()).collect::<Vec<_>>()
        };
        let parts = of(&ranked, "split_k");
        assert_eq!(parts.iter().filter(|parts| *parts == "2").count(), 32, "{by:?}");
        assert_eq!(parts.len(), 64);
    }
    let (code, _, stderr) =
        run(&[&["explain"], &model[..], &["--pool", POOL, "--problem", problem]].concat());
    assert!(code == Some(0) && stderr.contains(" part\nsecond: "), "{stderr}");
}

#[test]
fn what_leaves_no_choice_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, _] = rows(folder.path());
    let list = folder.path().join("list.txt").display().to_string();
    std::fs::write(&list, "M=16,N=64,K=64,split_k=auto\n").unwrap();
    let auto = folder.path().join("auto.csv").display().to_string();
    std::fs::write(&auto, std::fs::read_to_string(&whole).unwrap().replace(",8192,1,", ",8192,auto,"))
        .unwrap();
    let rank = ["rank", "--model", "estimate", "--arch", "gfx950", "--pool", POOL];
    for (command, expected) in [
        (
            [&rank[..], &["--problem", "M=1,N=1,K=1,split_k=auto", "--splits", "1,2,1"]].concat(),
            "splits: found 1 twice, expected each number once",
        ),
        (
            [&rank[..], &["--problem", "M=1,N=1,K=1,split_k=auto", "--splits", "0"]].concat(),
            "splits: found 0, expected numbers from 1 to 2147483647",
        ),
        (
            [&rank[..], &["--problems", &list]].concat(),
            "split_k: found auto, expected the number of parts, or --splits for a choice",
        ),
        (
            vec!["evaluate", "--model", "estimate", "--arch", "sm_90", "--data", &auto],
            "split_k: found auto, expected the number of parts",
        ),
        (
            vec!["evaluate", "--model", "estimate", "--arch", "sm_90", "--data", &whole, "--choose", "k"],
            "invalid value 'k' for '--choose <FIELD>'",
        ),
        (
            vec![
                "evaluate", "--model", "estimate", "--arch", "sm_90", "--data", "data/h100/attention.csv.gz",
                "--choose", "split_k",
            ],
            "--choose: found split_k, which fmha problems do not have",
        ),
    ] {
        let (code, _, stderr) = run(&command);
        assert!(code != Some(0) && stderr.contains(expected), "{command:?}: {stderr}");
    }
}

/// A forest that learned from rows of several numbers together chooses; without a feature that sees the
/// number it cannot.
#[test]
#[cfg(feature = "train")]
fn train_takes_rows_of_several_numbers_for_one_problem() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut text = "kernel,m,n,k,split_k,arch,latency_ms,tflops\n".to_owned();
    for m in (1..40).map(|step| 64 * step) {
        for (tile, factor) in [("64x64x64", 1.0), ("128x128x64", 1.1)] {
            // Four parts are faster below half of the rows.
            for (parts, gain) in [(1, 1.0), (4, if m < 1280 { 2.0 } else { 0.5 })] {
                let tflops = 50.0 * factor * gain;
                let ms = 2.0 * f64::from(m) * 1024.0 * 8192.0 / tflops / 1e9;
                writeln!(text, "{GEMM}_{tile}_2x2x1_16x16x16,{m},1024,8192,{parts},sm_90,{ms},{tflops}")
                    .unwrap();
            }
        }
    }
    std::fs::write(path("rows.csv"), text).unwrap();
    let train = |more: &[&str]| {
        let common =
            ["train", "--data", &path("rows.csv"), "--output", &path("model"), "--choose", "split_k"];
        run(&[&common[..], &["--params", "n_estimators=60", "min_child_samples=2", "--folds", "3"], more]
            .concat())
    };
    let (code, _, stderr) = train(&["--features", "M,tile_m"]);
    assert!(code != Some(0) && stderr.contains("--choose: none of the features is split_k"), "{stderr}");
    let (code, _, stderr) = train(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    let spec = std::fs::read_to_string(folder.path().join("model/feature_spec.json")).unwrap();
    assert!(spec.contains("\"choose\": \"split_k\""), "{spec}");
    let judged = ["evaluate", "--model", &path("model"), "--data", &path("rows.csv"), "--choose", "split_k"];
    let (code, _, stderr) = run(&[&judged[..], &["--require", "mean=0.99"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
}
