//! From a configuration to a model that chooses well, without a GPU: enumerate, bench, convert, train,
//! evaluate, rank.

#![cfg(feature = "train")]

mod common;

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use common::{Folder, root};

const KERNELS: usize = 30;
const TRAINED: usize = 90;
const JUDGED: usize = 20;

fn json(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&folder.read(name)).unwrap()
}

/// Kernels and TFLOPS of a log, by problem.
fn speeds(folder: &Folder, name: &str) -> BTreeMap<u64, Vec<(String, f64)>> {
    let mut speeds: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for row in rows(&folder.read(name)) {
        let of_problem = speeds.entry(row["problem_idx"].parse().unwrap()).or_default();
        of_problem.push((row["kernel"].clone(), row["tflops"].parse().unwrap()));
    }
    speeds
}

fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn from_a_configuration_to_a_model_that_chooses_well() {
    let all = Folder::inside();
    fs::copy(root().join("configs/forward_bf16.json"), all.path("config.json")).unwrap();

    assert_eq!(all.good("enumerate config.json --arch gfx950 --count"), format!("{KERNELS}\n"));
    all.good("enumerate config.json --arch gfx950 --output kernels.json");
    assert_eq!(json(&all, "kernels.json")["metadata"]["count"], KERNELS);

    all.good(&format!("shapes --set synthetic --count {TRAINED} --output problems.csv"));
    all.good(&format!("shapes --set holdout --count {JUDGED} --output holdout.csv"));
    for (problems, log) in [("problems.csv", "sweep.csv"), ("holdout.csv", "judged.csv")] {
        all.good(&format!(
            "bench --pool kernels.json --problems {problems} --simulate analytic --output {log}"
        ));
    }
    let swept = speeds(&all, "sweep.csv");
    assert_eq!(swept.len(), TRAINED);
    assert!(swept.values().all(|of_problem| of_problem.len() == KERNELS));
    assert!(swept.values().flatten().all(|(_, tflops)| *tflops > 0.0));

    for (log, table) in [("sweep", "sweep.parquet"), ("judged", "judged.parquet")] {
        let counts = all.good(&format!("convert {log}.csv --output {table} --arch gfx950 --format csv"));
        let count = speeds(&all, &format!("{log}.csv")).len() * KERNELS;
        assert_eq!(counts, format!("file,rows,invalid,other,rejected\n{log}.csv,{count},0,0,0\n"));
    }
    // The table holds what was measured: a sweep that is answered from it is the same in every digit.
    all.good(
        "bench --pool kernels.json --problems problems.csv --simulate sweep.parquet --output replayed.csv",
    );
    assert!(fs::read(all.path("replayed.csv")).unwrap() == fs::read(all.path("sweep.csv")).unwrap());

    let trained = all.good(
        "train --data sweep.parquet --output model --where op=grouped_conv --arch gfx950 --folds 3 \
         --params early_stopping=off n_estimators=60 num_leaves=15 min_child_samples=10 --format csv",
    );
    let folds = rows(&trained);
    let judged = |row: &&BTreeMap<String, String>| row["target"] == "relative" && row["fold"] == "all";
    let cross_validated = folds.iter().find(judged).unwrap();
    assert_eq!(cross_validated["problems"], TRAINED.to_string());

    // Problems that the model has not seen.
    all.good("evaluate --model model --data judged.parquet --output metrics.json");
    let metrics = json(&all, "metrics.json");
    let (global, baselines) = (&metrics["global_metrics"], &metrics["baselines"]);
    assert_eq!(global["num_shapes"], JUDGED);
    assert_eq!(global["num_valid_rows"], JUDGED * KERNELS);
    let [mean, random, fixed] =
        [&global["efficiency_mean"], &baselines["random_mean"], &baselines["fixed_kernel_mean"]].map(number);
    assert!(mean > random && mean > fixed && mean <= 1.0, "{mean}, random {random}, fixed {fixed}");

    let ranked =
        all.good("rank --model model --pool kernels.json --problems holdout.csv --top 1 --format csv");
    let (ranked, per_shape) = (rows(&ranked), metrics["per_shape_efficiency"].as_array().unwrap());
    let measured = speeds(&all, "judged.csv");
    assert_eq!([ranked.len(), per_shape.len(), measured.len()], [JUDGED; 3]);
    let mut efficiencies = 0.0;
    for ((best, shape), speeds) in ranked.iter().zip(per_shape).zip(measured.values()) {
        // The oracle is the fastest of the log, what was selected is what is ranked first, and both have the
        // log's speeds.
        let oracle = speeds.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(shape["oracle_kernel"], oracle.0);
        assert_eq!(shape["oracle_best_tflops"], oracle.1);
        assert_eq!(shape["selected_kernel"], best["kernel"]);
        let selected = speeds.iter().find(|(kernel, _)| *kernel == best["kernel"]).unwrap();
        assert_eq!(shape["selected_tflops"], selected.1);
        assert_eq!(shape["efficiency"], selected.1 / oracle.1);
        efficiencies += selected.1 / oracle.1;
    }
    assert!((efficiencies / JUDGED as f64 - mean).abs() < 1e-12);
}
