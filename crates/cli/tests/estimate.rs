//! `rank` and `evaluate` without a model: the estimate, for devices of profiles and of files.

mod common;

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use common::{good, run};

const PROBLEM: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";
const POOL: &str = "configs/forward_bf16.txt";

fn rank(device: &[&str]) -> String {
    good(&[&["rank", "--pool", POOL, "--problem", PROBLEM, "--format", "csv"], device].concat())
}

#[test]
fn rows_are_in_order_and_terms_add_up() {
    let table = rank(&["--model", "estimate", "--arch", "gfx942"]);
    assert_eq!(table, rank(&["--model", "estimate", "--arch", "gfx942"]));
    let mut rows = table.lines();
    let header: Vec<&str> = rows.next().unwrap().split(',').collect();
    assert_eq!(header[..4], ["rank", "kernel", "time_us", "launch"]);
    assert_eq!(header[header.len() - 2..], ["second_stage", "tie"]);
    let mut before = 0.0;
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        let numbers: Vec<f64> = cells[2..cells.len() - 1].iter().map(|cell| cell.parse().unwrap()).collect();
        let sum: f64 = numbers[1..].iter().sum();
        assert!((sum / numbers[0] - 1.0).abs() < 1e-6, "{row}");
        assert!(numbers[0] >= before, "{row}");
        before = numbers[0];
        count += 1;
    }
    assert_eq!(count, 30);
    assert_ne!(table, rank(&["--model", "estimate", "--arch", "sm_90"]));
}

#[test]
fn devices_are_files_too_and_faults_are_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("gpu.json");
    let path = file.to_str().unwrap();
    fs::write(&file, r#"{"num_cus": 304}"#).unwrap();
    let larger = rank(&["--model", "estimate", "--arch", &format!("gfx942:{path}")]);
    fs::write(&file, r#"{"based_on": "gfx942", "num_cus": 304}"#).unwrap();
    assert_eq!(larger, rank(&["--model", "estimate", "--arch", path]));
    assert_ne!(larger, rank(&["--model", "estimate", "--arch", "gfx942"]));

    let refused = |device: &[&str], code: i32, message: &str| {
        let words = [&["rank", "--pool", POOL, "--problem", PROBLEM, "--model", "estimate"], device].concat();
        let (found, stdout, stderr) = run(&words);
        assert_eq!((found, stdout.as_str()), (Some(code), ""), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    };
    refused(&[], 2, "the estimate needs a GPU: give --arch");
    refused(&["--arch", "gfx900"], 2, "no profile of gfx900, only of gfx90a, ");
    refused(&["--arch", "gfx942", "--allow", "words"], 2, "--allow is for models, not for the estimate");
    fs::write(&file, r#"{"based_on": "gfx942", "num_cus": 0}"#).unwrap();
    refused(&["--arch", path], 1, "num_cus: found 0, expected at least 1");
    fs::write(&file, r#"{"num_cus": 304}"#).unwrap();
    refused(&["--arch", path], 1, "nothing names the GPU's architecture: give it (`arch`)");
    refused(&["--arch", &format!("gfx1100:{path}")], 1, "simds_per_cu: found nothing");
    let (code, _, stderr) = run("evaluate --data data/h200/forward.unseen11.parquet");
    assert_eq!(code, Some(2), "{stderr}");
    let wrong = [
        "evaluate", "--model", "estimate", "--arch", "gfx942", "--data", "data/h200/forward.unseen11.parquet",
    ];
    let (code, _, stderr) = run(&wrong);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("rows are of sm_90, not of gfx942"), "{stderr}");
}

/// A GPU in a file is of an architecture, which problems, rows and kernels must not contradict.
#[test]
fn a_described_gpu_is_of_one_architecture() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let refused = |words: &[&str], message: &str| {
        let (code, stdout, stderr) = run(words);
        assert!(matches!(code, Some(1 | 2)) && stdout.is_empty(), "{words:?}: {code:?}\n{stdout}");
        assert!(stderr.contains(message), "{words:?}\n{stderr}");
    };
    let mi300x = place("mi300x.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    let data = "data/h200/forward.unseen11.parquet";
    for more in [
        &["evaluate", "--model", "estimate"][..],
        &["evaluate", "--model", "estimate", "--pool", POOL],
        &["evaluate", "--against", "estimate", "--model", "estimate"],
    ] {
        let words = [more, &["--where", "direction=forward", "--arch", &mi300x, "--data", data]].concat();
        refused(&words, "rows are of sm_90, not of gfx942");
    }
    let universal = ["evaluate", "--model", "embedded:universal", "--arch", &mi300x, "--data", data];
    refused(&universal, "rows are of sm_90, not of gfx942");
    let other = format!("{PROBLEM},arch=gfx950");
    for command in
        [&["rank", "--model", "estimate"][..], &["rank"], &["explain", "--model", "embedded:universal"]]
    {
        let words = [command, &["--pool", POOL, "--arch", &mi300x, "--problem", &other]].concat();
        refused(&words, "gfx950");
    }
    let problems = place("problems.csv", "N,C,K,Hi,Wi,Y,X,arch\n1,64,64,8,8,3,3,gfx950\n");
    let bench =
        ["bench", "--pool", POOL, "--problems", &problems, "--simulate", "analytic", "--output", "none.csv"];
    let bench = [&bench[..], &["--order", "estimate:1.35x", "--arch", "sm_90"]].concat();
    refused(&bench, "the problem's arch is gfx950, but the GPU of --arch is sm_90");

    // What is recorded of the GPU belongs to the architecture, too.
    let header = "kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops,arch";
    let row = "grouped_conv_forward_bf16_2d_16x64x64_compv3,64,64,8,8,3,3,0.5,10,gfx950";
    let evaluate = |path: &str| {
        ["evaluate", "--model", "estimate", "--arch", "gfx950", "--data", path].map(str::to_owned)
    };
    for (column, value, message) in [
        ("hw_gfx_name", "gfx942", "hw_gfx_name: found gfx942, expected gfx950 as in arch"),
        ("hw_gfx_name", "MI300X", "hw_gfx_name: unknown arch 'MI300X'"),
        ("hw_lds_capacity", "160", "hw_lds_capacity: found 160, expected a number from 1024 to"),
        ("hw_max_clock_mhz", "2", "hw_max_clock_mhz: found 2, expected a number from 100 to"),
    ] {
        let path = place("rows.csv", &format!("{header},{column}\n{row},{value}\n"));
        refused(&evaluate(&path).each_ref().map(String::as_str), message);
    }
    let path = place("rows.csv", &format!("{header},hw_gfx_name\n{row},gfx950:sramecc+:xnack-\n"));
    good(&evaluate(&path).each_ref().map(String::as_str));
    // It is the architecture of rows that have no other.
    let (header, row) = (header.replace(",arch", ""), row.replace(",gfx950", ""));
    let path = place("rows.csv", &format!("{header},hw_gfx_name\n{row},gfx942\n"));
    refused(&evaluate(&path).each_ref().map(String::as_str), "rows are of gfx942, not of gfx950");
}

/// Without options, the GPU is that of the problem, else of all kernels.
#[test]
fn problem_and_kernels_name_the_gpu() {
    let folder = TempDir::new().unwrap();
    let pool = folder.path().join("pool.json");
    let pool = pool.to_str().unwrap();
    good(&format!("enumerate configs/forward_bf16.json --arch gfx942 --output {pool}"));
    let named = |words: &[&str]| good(&[&["rank", "--model", "estimate", "--format", "csv"], words].concat());
    let asked = named(&["--pool", pool, "--problem", PROBLEM, "--arch", "gfx942"]);
    assert_eq!(asked, named(&["--pool", pool, "--problem", PROBLEM]));
    let problem = format!("{PROBLEM},arch=gfx942");
    assert_eq!(
        rank(&["--model", "estimate", "--arch", "gfx942"]),
        named(&["--pool", POOL, "--problem", &problem])
    );
}

#[test]
fn it_is_judged_with_all_outputs() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (json, html, problems) = (place("a.json"), place("a.html"), place("a.csv"));
    // The floors of the direction's mean.
    for (direction, file, least) in [
        ("forward", "forward.unseen11", 0.93),
        ("bwd_data", "bwd_data.unseen11", 0.93),
        ("bwd_weight", "bwd_weight.unseen11", 0.90),
        // GEMMs, for which no constant was fitted.
        ("forward", "gemm/gemm31", 0.93),
    ] {
        let data = format!("data/h200/{file}.parquet");
        let direction = format!("direction={direction}");
        let words =
            ["evaluate", "--model", "estimate", "--arch", "sm_90", "--where", &direction, "--data", &data];
        let outputs = ["--output", &json, "--output", &html, "--output", &problems, "--format", "json"];
        let printed = good(&[&words[..], &outputs].concat());
        let of_file: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), of_file);
        let figures = &of_file["global_metrics"];
        let mean = figures["efficiency_mean"].as_f64().unwrap();
        assert!(mean > least && mean < 1.0, "{file}: {mean}");
        let count = figures["num_shapes"].as_u64().unwrap() as usize;
        assert_eq!(fs::read_to_string(&problems).unwrap().lines().count(), count + 1);
        let page = fs::read_to_string(&html).unwrap();
        assert!(page.contains("estimate: evaluation") && page.contains("the estimate"), "{direction}");
        assert!(!page.contains("ranking forest"), "{direction}");
    }
}

/// A kernel computes its own types and layout, on the architecture that is asked for, whoever ranks it.
#[test]
fn problems_of_other_types_layouts_and_architectures_are_refused() {
    let folder = TempDir::new().unwrap();
    let list = folder.path().join("problems.csv");
    let list = list.to_str().unwrap();
    let rows = ["bf16,nhwgc,", "fp32,nhwgc,", "bf16,nchw,", "bf16,nhwgc,gfx942", "bf16,nhwgc,gfx950"];
    let rows = rows.map(|row| format!("16,256,128,28,28,3,3,{row}\n")).concat();
    fs::write(list, format!("N,C,K,Hi,Wi,Y,X,dtype,layout,arch\n{rows}")).unwrap();
    for more in [&["--arch", "gfx942"][..], &["--arch", "gfx942", "--model", "estimate"]] {
        let refused = |problem: &str, message: &str| {
            let problem = format!("{PROBLEM},{problem}");
            let (code, stdout, stderr) =
                run(&[&["rank", "--pool", POOL, "--problem", &problem], more].concat());
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{problem} {more:?}\n{stderr}");
            assert!(stderr.contains(message), "{stderr}");
        };
        refused("dtype=fp32", "of the 30 kernels");
        refused("dtype_out=fp32", "of the 30 kernels");
        refused("layout=nchw", "of the 30 kernels");
        refused("arch=gfx950", "gfx950");
        let words = ["rank", "--pool", POOL, "--problems", list, "--top", "1", "--format", "csv"];
        let (code, stdout, stderr) = run(&[&words[..], more].concat());
        let ranked: Vec<&str> = stdout.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
        assert_eq!((code, ranked), (Some(0), vec!["0", "3"]), "{stderr}");
        assert!(stderr.contains("left out") || stderr.contains("skipped"), "{stderr}");
    }
    // What is not said is what all kernels have.
    let pool = folder.path().join("pool.txt");
    fs::write(
        &pool,
        "gemm_universal_fp16_rrr_compv3_cshuffle_intrawave_True_True_True_False_128x128x64_2x2x1_32x32x16\n",
    )
    .unwrap();
    let words =
        ["rank", "--pool", pool.to_str().unwrap(), "--model", "estimate", "--arch", "gfx942", "--problem"];
    good(&[&words[..], &["M=128,N=1536,K=7168"]].concat());
    let (code, ..) = run(&[&words[..], &["M=128,N=1536,K=7168,layout=rcr"]].concat());
    assert_eq!(code, Some(1));
}

/// A kernel that is not in the table is counted, with the reason.
#[test]
fn kernels_that_do_not_compute_the_problem_are_counted() {
    let folder = TempDir::new().unwrap();
    let pool = folder.path().join("pool.txt");
    let body = "compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16";
    let names = ["", "_streamk", "_streamk_tree", "_batched"].map(|end| format!("gemm_fp8_rcr_{body}{end}"));
    fs::write(&pool, names.join("\n")).unwrap();
    let words = [
        "rank",
        "--pool",
        pool.to_str().unwrap(),
        "--arch",
        "gfx950",
        "--problem",
        "M=64,N=64,K=64,dtype=fp8",
    ];
    for more in [&[][..], &["--model", "estimate"], &["--top", "1"]] {
        let (code, _, said) = run(&[&words, more].concat());
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("3 of 4 kernels are not ranked for the problem: 1 (it is a Stream-K kernel"),
            "{said}"
        );
        assert!(said.contains("1 (it is for a batch (batch))"), "{said}");
    }
    let asked = words
        .map(|word| if word.starts_with("M=") { "M=64,N=64,K=64,dtype=fp8,stream_k=atomic" } else { word });
    assert!(run(&asked).2.contains("1 (it is not a Stream-K kernel (stream_k))"));
}

/// Kernels that compute zeros on a GPU are not ranked for it, whoever names the GPU.
#[test]
fn kernels_of_other_instructions_are_left_out() {
    let folder = TempDir::new().unwrap();
    let pool = folder.path().join("pool.txt");
    let name = |instruction: &str| {
        format!(
            "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_2x2x1_{instruction}"
        )
    };
    fs::write(&pool, format!("{}\n{}\n", name("16x16x128"), name("32x32x16"))).unwrap();
    let pool = pool.to_str().unwrap();
    let rank = |more: &[&str]| {
        let words = ["rank", "--pool", pool, "--problem", "M=512,N=512,K=512,dtype=fp8", "--format", "csv"];
        let (code, table, said) = run(&[&words[..], more].concat());
        assert_eq!(code, Some(0), "{said}");
        (table.lines().count() - 1, said)
    };
    for on in ["--arch"] {
        for more in [&[on, "gfx942"][..], &["--model", "estimate", on, "gfx942"]] {
            let (count, said) = rank(more);
            assert_eq!(count, 1, "{more:?}");
            assert!(said.contains("1 (it does not run on the architecture)"), "{said}");
        }
        assert_eq!(rank(&[on, "gfx950"]).0, 2);
    }
}
