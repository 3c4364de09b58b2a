//! `split_k=auto`: the commands choose the number of parts with the kernel.

#[cfg(feature = "train")]
use std::fmt::Write as _;

use crate::common::{Folder, column};

const POOL: &str = "tests/golden/models/gemm_small/pool.txt";
const GEMM: &str = "gemm_universal_fp16_rcr_compv3_default_intrawave_False_False_False_False";

/// Rows of two problems in several numbers of parts: the third pair is the fastest of the first problem.
fn measured() -> Folder {
    let row = |tile: &str, m: u32, parts: u32, tflops: f64| {
        let ms = 2.0 * f64::from(m) * 1024.0 * 8192.0 / tflops / 1e9;
        format!("{GEMM}_{tile}_2x2x1_16x16x16,{m},1024,8192,{parts},sm_90,{ms},{tflops}\n")
    };
    let header = "kernel,m,n,k,split_k,arch,latency_ms,tflops\n";
    let (small, large) = ("64x64x64", "128x128x64");
    let folder = Folder::new();
    let whole = [row(small, 64, 1, 40.0), row(large, 64, 1, 20.0), row(small, 4096, 1, 200.0)].concat();
    folder.write("whole.csv", header.to_owned() + &whole);
    folder.write("split.csv", [header, &row(small, 64, 4, 80.0), &row(small, 4096, 4, 150.0)].concat());
    folder
}

#[test]
fn evaluate_takes_rows_of_several_numbers_for_one_problem() {
    let folder = measured();
    let evaluate = "evaluate --model estimate --data @whole.csv @split.csv";
    let count = |value: &serde_json::Value| value["per_shape_efficiency"].as_array().unwrap().len();
    assert_eq!(count(&folder.json(evaluate)), 4);
    let chosen = folder.json(&format!("{evaluate} --choose split_k --output @outcomes.csv"));
    assert_eq!(count(&chosen), 2);
    let first = &chosen["per_shape_efficiency"][0];
    assert!(first["problem"].as_str().unwrap().contains("split_k=auto"), "{first}");
    assert_eq!((&first["oracle_split_k"], &first["num_kernels"]), (&4.into(), &3.into()), "{first}");
    assert_eq!((&first["selected_split_k"], &first["efficiency"]), (&4.into(), &1.0.into()), "{first}");
    let table = folder.read("outcomes.csv");
    assert!(table.lines().next().unwrap().ends_with(",selected_split_k,oracle_split_k"), "{table}");
    // A file of choices may split, too.
    let choice = |m: u32, parts: u32| format!("{GEMM}_64x64x64_2x2x1_16x16x16,{m},1024,8192,{parts},sm_90\n");
    let rows = choice(64, 4) + &choice(4096, 4);
    folder.write("choices.csv", format!("kernel,m,n,k,split_k,arch\n{rows}"));
    let judged = folder.json("evaluate --model @choices.csv --data @whole.csv @split.csv --choose split_k");
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
    let folder = Folder::new();
    let model = "--model tests/golden/models/gemm_small";
    let asked = format!("--pool {POOL} --problem M=16,N=1536,K=7168,split_k=auto");
    for by in [model, "--model estimate --arch gfx950"] {
        let table = folder.good(&format!("rank {by} {asked} --splits 2,8 --format csv"));
        let parts = column(&table, "split_k");
        // Kernels whose epilogue stores fp16 by single elements cannot add the results of parts.
        assert_eq!(parts.iter().filter(|parts| *parts == "2").count(), 16, "{by}");
        assert_eq!(parts.len(), 32);
    }
    let (_, said) = folder.both(&format!("explain {model} {asked}"));
    assert!(said.contains(" part\nsecond: "), "{said}");
}

/// A choice of the estimate was right less often than none.
#[test]
#[cfg(feature = "offline")]
fn aiters_kernels_stay_whole_unless_numbers_are_given() {
    let folder = Folder::new();
    for by in ["", "--model estimate"] {
        let rank = format!(
            "rank {by} --arch gfx942 --pool a8w8_blockscale --problem M=16,N=512,K=7168,split_k=auto --format csv"
        );
        let parts = |line: &str| column(&folder.good(line), "split_k");
        let (usual, given) = (parts(&rank), parts(&format!("{rank} --splits 1,2")));
        assert!(usual.iter().all(|parts| parts == "1") && usual.len() * 2 == given.len(), "{by}");
        assert!(given.contains(&"2".to_owned()), "{by}");
    }
}

#[test]
fn splits_that_leave_no_choice_are_refused() {
    let folder = measured();
    folder.write("list.txt", "M=16,N=64,K=64,split_k=auto\n");
    folder.write("auto.csv", folder.read("whole.csv").replace(",8192,1,", ",8192,auto,"));
    let rank = format!("rank --model estimate --arch gfx950 --pool {POOL}");
    let evaluate = "evaluate --model estimate --arch sm_90 --data";
    folder.refuses(&format!(
        "{rank} --problem M=1,N=1,K=1,split_k=auto --splits 1,2,1
            2: splits: found 1 twice, expected each number once
        {rank} --problems @list.txt
            1: split_k: found auto, expected the number of parts, or --splits for a choice
        {evaluate} @auto.csv
            1: split_k: found auto, expected the number of parts
        {evaluate} @whole.csv --choose k
            2: invalid value 'k' for '--choose <FIELD>'
        {evaluate} data/h100/attention.csv.gz --choose split_k
            2: --choose: found split_k, which fmha problems do not have"
    ));
}

/// A forest that learned from rows of several numbers together chooses; without a feature that sees the
/// number it cannot.
#[test]
#[cfg(feature = "train")]
fn train_takes_rows_of_several_numbers_for_one_problem() {
    let folder = Folder::new();
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
    folder.write("rows.csv", text);
    let train = "train --data @rows.csv --output @model --choose split_k --params n_estimators=60 \
                 min_child_samples=2 --folds 3";
    folder.refuses(&format!(
        "{train} --features M,tile_m
            2: --choose: none of the features is split_k"
    ));
    folder.good(train);
    let spec = folder.read("model/feature_spec.json");
    assert!(spec.contains("\"choose\": \"split_k\""), "{spec}");
    folder.good("evaluate --model @model --data @rows.csv --choose split_k --require mean=0.99");
}
