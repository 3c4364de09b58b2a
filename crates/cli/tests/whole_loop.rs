//! From a configuration to a model that chooses well, without a GPU: enumerate, bench, convert, train,
//! evaluate, rank.

#![cfg(feature = "train")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use common::good_in;

const KERNELS: usize = 30;
const TRAINED: usize = 90;
const JUDGED: usize = 20;

struct Loop {
    folder: tempfile::TempDir,
}

impl Loop {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, line: &str) -> String {
        good_in(self.folder.path(), line)
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// Kernels and TFLOPS of a log, by problem.
    fn speeds(&self, name: &str) -> BTreeMap<u64, Vec<(String, f64)>> {
        let mut speeds: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for row in rows(&fs::read_to_string(self.path(name)).unwrap()) {
            let of_problem = speeds.entry(row["problem_idx"].parse().unwrap()).or_default();
            of_problem.push((row["kernel"].clone(), row["tflops"].parse().unwrap()));
        }
        speeds
    }
}

fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn from_a_configuration_to_a_model_that_chooses_well() {
    let all = Loop { folder: tempfile::tempdir().unwrap() };
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    fs::copy(configs.join("forward_bf16.json"), all.path("config.json")).unwrap();

    assert_eq!(all.run("enumerate config.json --arch gfx950 --count"), format!("{KERNELS}\n"));
    all.run("enumerate config.json --arch gfx950 --output kernels.json");
    assert_eq!(all.json("kernels.json")["metadata"]["count"], KERNELS);

    all.run(&format!("shapes --set synthetic --count {TRAINED} --output problems.csv"));
    all.run(&format!("shapes --set holdout --count {JUDGED} --output holdout.csv"));
    for (problems, log) in [("problems.csv", "sweep.csv"), ("holdout.csv", "judged.csv")] {
        all.run(&format!(
            "bench --pool kernels.json --problems {problems} --simulate analytic --output {log}"
        ));
    }
    let speeds = all.speeds("sweep.csv");
    assert_eq!(speeds.len(), TRAINED);
    assert!(speeds.values().all(|of_problem| of_problem.len() == KERNELS));
    assert!(speeds.values().flatten().all(|(_, tflops)| *tflops > 0.0));

    for (log, table) in [("sweep", "sweep.parquet"), ("judged", "judged.parquet")] {
        let counts = all.run(&format!("convert {log}.csv --output {table} --arch gfx950 --format csv"));
        let count = all.speeds(&format!("{log}.csv")).len() * KERNELS;
        assert_eq!(counts, format!("file,rows,invalid,other,rejected\n{log}.csv,{count},0,0,0\n"));
    }
    // The table holds what was measured: a sweep that is answered from it is the same in every digit.
    all.run(
        "bench --pool kernels.json --problems problems.csv --simulate sweep.parquet --output replayed.csv",
    );
    assert!(fs::read(all.path("replayed.csv")).unwrap() == fs::read(all.path("sweep.csv")).unwrap());

    let trained = all.run(
        "train --data sweep.parquet --output model --where op=grouped_conv --arch gfx950 --folds 3 \
         --params early_stopping=off n_estimators=60 num_leaves=15 min_child_samples=10 --format csv",
    );
    let folds = rows(&trained);
    let judged = |row: &&BTreeMap<String, String>| row["target"] == "relative" && row["fold"] == "all";
    let cross_validated = folds.iter().find(judged).unwrap();
    assert_eq!(cross_validated["problems"], TRAINED.to_string());

    // Problems that the model has not seen.
    all.run("evaluate --model model --data judged.parquet --output metrics.json");
    let metrics = all.json("metrics.json");
    let (global, baselines) = (&metrics["global_metrics"], &metrics["baselines"]);
    assert_eq!(global["num_shapes"], JUDGED);
    assert_eq!(global["num_valid_rows"], JUDGED * KERNELS);
    let [mean, random, fixed] =
        [&global["efficiency_mean"], &baselines["random_mean"], &baselines["fixed_kernel_mean"]].map(number);
    assert!(mean > random && mean > fixed && mean <= 1.0, "{mean}, random {random}, fixed {fixed}");

    let ranked =
        all.run("rank --model model --pool kernels.json --problems holdout.csv --top 1 --format csv");
    let (ranked, per_shape) = (rows(&ranked), metrics["per_shape_efficiency"].as_array().unwrap());
    let measured = all.speeds("judged.csv");
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
