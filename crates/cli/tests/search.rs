//! ckselect search, by upstream's promises about it.

mod common;

use std::path::Path;
use std::process::Command;

use ck_select::kernel::{Kernel, KernelKind};
use ck_select::vocab::Pipeline;
use ck_select_enumerate::config::LdsLimit;
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::valid::GemmValidator;
use serde_json::Value;

use common::run;

const SEARCH: &[&str] =
    &["search", "--model", "tests/golden/models/gemm_small", "--format", "json", "--problem"];

fn search(problem: &str, more: &[&str]) -> (Option<i32>, String, String) {
    run(&[SEARCH, &[problem], more].concat())
}

fn found(problem: &str, more: &[&str]) -> Vec<(String, f64)> {
    let (code, stdout, stderr) = search(problem, more);
    assert_eq!(code, Some(0), "{more:?}: {stderr}");
    let rows: Value = serde_json::from_str(&stdout).unwrap();
    let row = |row: &Value| (row["kernel"].as_str().unwrap().to_owned(), row["score"].as_f64().unwrap());
    rows.as_array().unwrap().iter().map(row).collect()
}

const SHAPE: &str = "M=128,N=1536,K=7168";

#[test]
fn both_strategies_give_finite_scores_best_first() {
    for strategy in ["random", "de"] {
        for problem in [SHAPE, "M=1,N=512,K=256", "M=20480,N=7168,K=256"] {
            let found = found(problem, &["--strategy", strategy, "--params", "budget=120", "--top", "7"]);
            assert!(!found.is_empty() && found.len() <= 7);
            assert!(found.iter().all(|(_, score)| score.is_finite()));
            assert!(found.is_sorted_by(|a, b| a.1 >= b.1), "{found:?}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_kernels_again() {
    for strategy in ["random", "de"] {
        let with = |seed: &str| {
            found(SHAPE, &["--strategy", strategy, "--params", "budget=60", &format!("seed={seed}")])
        };
        assert_eq!(with("3"), with("3"));
        assert_ne!(with("3"), with("4"));
    }
}

#[test]
fn evolution_is_at_least_nearly_as_good_as_chance() {
    let best = |strategy: &str| found(SHAPE, &["--strategy", strategy, "--params", "budget=500"])[0].1;
    assert!(best("de") >= 0.9 * best("random"));
}

#[test]
fn small_budgets() {
    for option in [["--params", "budget=0"], ["--top", "0"]] {
        let (code, _, error) = search(SHAPE, &option);
        assert!(code == Some(2) && error.contains("expected a whole number"), "{error}");
    }
    assert!(!found(SHAPE, &["--strategy", "de", "--params", "budget=30"]).is_empty());
    assert!(found(SHAPE, &["--strategy", "de", "--params", "budget=5"]).len() <= 5);
}

#[test]
fn only_kernels_that_can_be_built_are_found_unless_others_are_asked_for() {
    let rules = Rules::built_in().unwrap();
    let gfx950 = |name: &str| {
        let KernelKind::Gemm(kernel) = Kernel::from_name(name).unwrap().kind else { panic!("{name}") };
        let limit = LdsLimit::Hardware;
        let validator = GemmValidator::new(&rules, "gfx950", kernel.dtype_a, kernel.layout, limit).unwrap();
        let refusal = validator.refusal(kernel.tile, kernel.wave, kernel.warp_tile, kernel.pipeline);
        let implemented = matches!(kernel.pipeline, Pipeline::Mem | Pipeline::CompV3 | Pipeline::CompV4);
        let allowed = rules.gemm.allows(kernel.pipeline, kernel.epilogue, kernel.scheduler);
        refusal.is_none() && implemented && allowed
    };
    // Evolution ends with a population of 20.
    for (strategy, count) in [("random", 50), ("de", 20)] {
        let with = |more: &[&str]| found(SHAPE, &[&["--strategy", strategy, "--top", "50"], more].concat());
        let usual = with(&[]);
        assert_eq!(usual.len(), count, "{strategy}: the budget is spent on points that count");
        assert!(usual.iter().all(|(name, _)| gfx950(name)), "{usual:?}");
        assert_eq!(usual, with(&["--params", "constraints=buildable"]));
        assert!(with(&["--params", "constraints=memory"]).iter().any(|(name, _)| !gfx950(name)));
    }
}

#[test]
fn nothing_beats_the_exhaustive_search() {
    // fp16 on gfx942 leaves few points that can be built.
    let problem = "M=128,N=1536,K=7168,dtype=fp16,arch=gfx942";
    let best = found(problem, &["--allow", "untrained", "--strategy", "exhaustive", "--top", "3"]);
    assert_eq!(best.len(), 3);
    let drawn = found(problem, &["--allow", "untrained", "--params", "budget=2000", "--top", "1"]);
    assert!(drawn.iter().all(|(_, score)| *score <= best[0].1));
}

#[test]
fn what_cannot_be_searched_is_said() {
    let (code, _, stderr) = search(SHAPE, &["--strategy", "magic"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("expected one of random, de, exhaustive"), "{stderr}");
    let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args([
            "search", "--model", "tests/golden/models/conv_small", "--problem", "C=64,K=64,Hi=8,Wi=8,Y=1,X=1",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("give a pool"));
}

/// All kernels of the pool, as `rank` has them, for convolutions, too.
#[test]
fn a_pool_is_searched_whole() {
    let problem = "N=16,C=64,K=64,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";
    let lines = |command: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .args([
                command, "--model", "tests/golden/models/conv_small", "--pool", "configs/forward_bf16.txt",
            ])
            .args(["--problem", problem, "--top", "4", "--format", "json"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        let row = |row: &Value| [&row["rank"], &row["kernel"], &row["score"]].map(Clone::clone);
        rows.as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let found = lines("search");
    assert_eq!(found.len(), 4);
    assert_eq!(found, lines("rank"));
    let (code, _, stderr) = search(SHAPE, &["--pool", "configs/forward_bf16.txt", "--params", "seed=1"]);
    assert_eq!(code, Some(2), "{stderr}");
    let (code, _, stderr) = search(SHAPE, &["--pool", "configs/forward_bf16.txt"]);
    assert_eq!(code, Some(1), "kernels of convolutions cannot be ranked by a model of GEMMs: {stderr}");
}

#[test]
fn a_problem_that_no_kernel_of_the_space_computes_is_an_error() {
    for more in ["dtype_c=fp32", "batch=4", "stream_k=tree"] {
        let (code, out, error) = search(&format!("{SHAPE},{more}"), &["--params", "budget=100"]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{more}: {error}");
        let said =
            ["the space has plain GEMMs with the usual types", "kernels computes a GEMM of fp8 in rcr"];
        assert!(said.iter().any(|words| error.contains(words)), "{more}: {error}");
    }
}

#[test]
fn a_gpu_without_instructions_for_the_type_is_said() {
    for strategy in ["random", "de", "exhaustive"] {
        let (code, stdout, stderr) = {
            let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
                .args(["search", "--model", "estimate", "--arch", "gfx90a", "--strategy", strategy])
                .args(["--problem", "M=128,N=1536,K=7168,dtype=fp8"])
                .output()
                .unwrap();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (output.status.code(), text(output.stdout), text(output.stderr))
        };
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{strategy}: {stderr}");
        assert!(stderr.contains("the estimate has no time for any point of the space: "), "{stderr}");
    }
}

/// Without a pool and without a model: the times are those of `rank --model estimate`.
#[test]
fn the_estimate_searches_the_space() {
    let problem = "M=128,N=1536,K=7168,dtype=fp16";
    let run = |command: &str, more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .args([
                command, "--model", "estimate", "--arch", "gfx942", "--format", "json", "--problem", problem,
            ])
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        let row =
            |row: &Value| (row["kernel"].as_str().unwrap().to_owned(), row["time_us"].as_f64().unwrap());
        rows.as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let best = run("search", &["--strategy", "exhaustive", "--top", "30"]);
    assert!(best.len() == 30 && best.is_sorted_by(|a, b| a.1 <= b.1), "{best:?}");
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool.txt");
    let pool = pool.to_str().unwrap();
    for (strategy, count) in [("random", 50), ("de", 19)] {
        let drawn = run("search", &["--strategy", strategy, "--top", "50"]);
        assert_eq!(drawn.len(), count, "{strategy}");
        assert!(drawn.iter().all(|(_, time)| *time >= best[0].1), "nothing beats the exhaustive search");
        let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
        std::fs::write(pool, names.join("\n")).unwrap();
        let mut ranked = run("rank", &["--pool", pool]);
        let mut again = run("search", &["--pool", pool, "--top", "100"]);
        let mut once = drawn;
        for list in [&mut once, &mut again, &mut ranked] {
            list.sort_by(|a, b| a.0.cmp(&b.0));
            list.dedup();
        }
        assert_eq!(once, ranked, "{strategy}");
        assert_eq!(again, ranked, "{strategy}");
    }
    // Evolution comes upon points again; each is listed once.
    for seed in ["1", "2", "3", "4"] {
        let found = run(
            "search",
            &["--strategy", "de", "--params", "budget=2000", &format!("seed={seed}"), "--top", "20"],
        );
        let names: std::collections::BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), found.len());
    }
    let refused = |more: &[&str], expected: &str| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_ckselect")).args(["search"]).args(more).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(expected), "{more:?}: {said}");
    };
    let conv = "C=64,K=64,Hi=8,Wi=8,Y=1,X=1";
    refused(&["--model", "estimate", "--arch", "gfx942", "--problem", conv], "give a pool");
    refused(&["--model", "embedded:universal", "--arch", "gfx942", "--problem", problem], "give a pool");
    refused(&["--model", "estimate", "--problem", problem], "the estimate needs a GPU: give --arch");
    refused(&["--problem", problem], "--model <DIR>");
    refused(&["--model", "estimate", "--problem", problem, "--allow", "words"], "--allow is for models");
    refused(
        &["--model", "estimate", "--arch", "gfx942", "--problem", problem, "--params", "budget=99999999999"],
        "expected a whole number from 1 to",
    );
    let other = "M=1,N=512,K=256,arch=gfx950";
    refused(&["--model", "estimate", "--arch", "gfx942", "--problem", other], "the problem's arch is gfx950");
}
