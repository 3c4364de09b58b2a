//! Mixtures of experts: tables as sweeps write them, and choices by the rows of each expert.

use crate::common::Folder;

/// 18 problems of nine language models x 43 kernels, cut from a sweep of an H200.
const DATA: &str = "tests/golden/moe/h200.csv.gz";

const COLUMNS: &str =
    "kernel,model,stage,experts,topk,n,k,tokens,histogram,dtype,arch,latency_ms,rough,registers,spills\n";
const KERNEL: &str = "triton_moe_bf16_64x128x64_group1_4warps_3stages";

#[test]
fn a_sweep_is_read_as_it_lies_and_the_estimate_chooses_well() {
    let folder = Folder::new();
    let line = format!("evaluate --model estimate --arch sm_90 --data {DATA} --format csv");
    let table = folder.good(&format!("{line} --require mean=0.95,p10=0.85"));
    assert!(table.contains("efficiency,18,"), "{table}");
    assert!(table.contains("always triton_moe_bf16_"), "{table}");
}

#[test]
fn a_wrong_histogram_names_its_line() {
    let folder = Folder::new();
    let row = |histogram: &str| format!("{KERNEL},x,1,8,2,512,256,24,{histogram},bf16,sm_90,0.01,0,66,0\n");
    for (histogram, reason) in [
        ("24 20 3", "histogram: found 47 rows of all experts, expected 48: tokens times topk"),
        ("25 20 3", "histogram: found 25 rows of one expert, expected at most 24"),
        ("6 6 6 6 6 6 6 3 3", "histogram: found 9 experts with rows, expected at most 8"),
    ] {
        let table = COLUMNS.to_owned() + &row(histogram) + &row("24 20 4");
        folder.write("wrong.csv", &table);
        let error = folder.bad("evaluate --model estimate --arch sm_90 --data @wrong.csv", 1);
        assert!(error.contains("line 2") && error.contains(reason), "{error}");
        folder.write("pool.txt", KERNEL);
        let rank = "rank --model estimate --arch sm_90 --pool @pool.txt";
        let problem = format!(
            "stage=1,tokens=24,experts=8,topk=2,n=512,k=256,histogram={}",
            histogram.replace(' ', "+")
        );
        folder.refuses(&format!("{rank} --problem op=moe,{problem}\n2: --problem: {reason}"));
        folder.write(
            "wrong.csv",
            format!("stage,tokens,experts,topk,n,k,histogram\n1,24,8,2,512,256,{histogram}\n"),
        );
        folder.refuses(&format!("{rank} --problems @wrong.csv\n1: wrong.csv: line 2: {reason}"));
    }
}

#[test]
fn configurations_are_enumerated_and_ranked_by_the_routing() {
    let folder = Folder::new();
    let said = folder.good("enumerate configs/triton_moe.json --arch sm_90 --output @pool.txt");
    assert!(folder.read("pool.txt").lines().count() > 1_000, "{said}");
    let rank = |routing: &str| {
        let problem = format!("op=moe,stage=1,tokens=512,experts=64,topk=8,n=2816,k=2048{routing}");
        folder.good(&format!(
            "rank --arch sm_90 --model estimate --pool @pool.txt --top 1 --problem {problem} --format csv"
        ))
    };
    let [even, busy] = [rank(""), rank(",histogram=512*8")];
    assert_ne!(even.lines().nth(1), busy.lines().nth(1));
    folder.refuses(
        "
        enumerate configs/triton_moe.json --arch sm_70 --output @other.txt
        1: the rules know no architecture sm_70, expected one of
    ",
    );
}

/// Kernels compute one stage: whoever has both to compute learns which two problems they are.
#[test]
fn a_problem_of_both_stages_says_which_two_to_choose_for() {
    let folder = Folder::new();
    folder.write("pool.txt", KERNEL);
    folder.refuses(
        "
        rank --arch sm_90 --pool @pool.txt --problem op=moe,stage=both,tokens=512,experts=64,topk=8,n=2816,k=2048
            1: does not: it computes one stage: choose for stage=1, and for stage=2 with n=2048 and k=1408
    ",
    );
}

/// The word that `--pool` takes is the word of `enumerate`.
#[test]
fn the_pool_of_tuners_is_listed() {
    let folder = Folder::new();
    let names = folder.good("enumerate moe --arch H200");
    assert_eq!(names.lines().count(), 8_272);
    assert!(names.lines().any(|name| name == KERNEL), "{names}");
    let narrow = "c.tile_m==16 and c.num_warps==4 and c.dtype_b=='fp8'";
    folder.write("filter.txt", narrow);
    folder.good("enumerate moe --arch gfx942 --filter @@filter.txt --output @pool.txt");
    let pool = folder.read("pool.txt");
    let is_narrow = |name: &str| name.contains("fp8_16x") && name.contains("_4warps");
    assert!(pool.lines().count() > 100 && pool.lines().all(is_narrow), "{pool}");
    folder.refuses(
        "
        enumerate moe --arch sm_70
            1: the rules know no architecture sm_70, expected one of
        enumerate moe --arch sm_90 --params dtype=fp8
            2: --params: a family leaves nothing open
    ",
    );
}

/// Whoever does not say how rows are routed gets an answer for even routing, and is told.
#[test]
fn an_unknown_routing_is_said_by_the_estimate_too() {
    let folder = Folder::new();
    folder.write("pool.txt", KERNEL);
    let rank = |routing: &str| {
        let problem = format!("op=moe,stage=1,tokens=512,experts=64,topk=8,n=2816,k=2048{routing}");
        folder.both(&format!(
            "rank --arch sm_90 --model estimate --pool @pool.txt --problem {problem} --format json"
        ))
    };
    let ([unknown, said], [known, nothing]) = (rank("").into(), rank(",skew=1").into());
    assert!(unknown.contains(r#""out_of_range": "active""#), "{unknown}");
    assert!(said.contains("active is not known, trained on problems of which it is"), "{said}");
    assert!(!known.contains(r#""active""#) && !nothing.contains("active"), "{known} {nothing}");
}
