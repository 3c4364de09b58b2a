//! From a configuration to a model that chooses well, without a GPU: enumerate, bench, convert, train,
//! evaluate, rank.

#![cfg(feature = "train")]

mod common;

use std::fs;

use common::{Folder, column, root};

const KERNELS: usize = 30;
const TRAINED: usize = 90;
const JUDGED: usize = 20;

#[test]
fn from_a_configuration_to_a_model_that_chooses_well() {
    let all = Folder::inside();
    fs::copy(root().join("configs/forward_bf16.json"), all.path("config.json")).unwrap();

    assert_eq!(all.good("enumerate config.json --arch gfx950 --count"), format!("{KERNELS}\n"));
    all.good("enumerate config.json --arch gfx950 --output kernels.json");
    assert_eq!(all.read_json("kernels.json")["metadata"]["count"], KERNELS);

    for (problems, count, log) in [("synthetic", TRAINED, "sweep"), ("holdout", JUDGED, "judged")] {
        all.good(&format!("shapes --set {problems} --count {count} --output {problems}.csv"));
        all.good(&format!(
            "bench --pool kernels.json --problems {problems}.csv --simulate analytic --output {log}.csv"
        ));
        let tflops = column(&all.read(&format!("{log}.csv")), "tflops");
        assert!(
            tflops.len() == count * KERNELS && tflops.iter().all(|speed| speed.parse::<f64>().unwrap() > 0.0)
        );
        let counts =
            all.good(&format!("convert {log}.csv --output {log}.parquet --arch gfx950 --format csv"));
        assert_eq!(
            counts,
            format!("file,rows,invalid,other,rejected\n{log}.csv,{},0,0,0\n", count * KERNELS)
        );
    }
    // The table holds what was measured: a sweep that is answered from it is the same in every digit.
    all.good(
        "bench --pool kernels.json --problems synthetic.csv --simulate sweep.parquet --output replayed.csv",
    );
    assert!(all.read("replayed.csv") == all.read("sweep.csv"));

    let trained = all.good(
        "train --data sweep.parquet --output model --where op=grouped_conv --arch gfx950 --folds 3 \
         --params early_stopping=off n_estimators=60 num_leaves=15 min_child_samples=10 --format csv",
    );
    assert!(trained.contains(&format!("\nrelative,all,{TRAINED},")), "{trained}");

    // Problems that the model has not seen.
    all.good("evaluate --model model --data judged.parquet --output metrics.json");
    let metrics = all.read_json("metrics.json");
    let (global, baselines) = (&metrics["global_metrics"], &metrics["baselines"]);
    assert_eq!(global["num_shapes"], JUDGED);
    assert_eq!(global["num_valid_rows"], JUDGED * KERNELS);
    let [mean, random, fixed] =
        [&global["efficiency_mean"], &baselines["random_mean"], &baselines["fixed_kernel_mean"]]
            .map(|value| value.as_f64().unwrap());
    assert!(mean > random && mean > fixed && mean <= 1.0, "{mean}, random {random}, fixed {fixed}");

    // What was selected is what is ranked first.
    let ranked =
        all.good("rank --model model --pool kernels.json --problems holdout.csv --top 1 --format csv");
    let shapes = metrics["per_shape_efficiency"].as_array().unwrap();
    let selected: Vec<&str> = shapes.iter().map(|shape| shape["selected_kernel"].as_str().unwrap()).collect();
    assert_eq!(column(&ranked, "kernel"), selected);
}
