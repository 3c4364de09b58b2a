//! README's commands do what they say there.

use crate::common::{Folder, column, good, root};

fn blocks() -> Vec<String> {
    let readme = include_str!("../../../../README.md").replace("\\\n   ", "");
    readme
        .split("```console\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0.to_owned())
        .filter(|block| block.starts_with("$ ckselect"))
        .collect()
}

#[test]
fn the_first_command_prints_what_stands_below_it() {
    let block = &blocks()[0];
    let (line, printed) = block.strip_prefix("$ ckselect ").unwrap().split_once('\n').unwrap();
    assert_eq!(good(line), printed);
}

/// There is no GPU here: invented times stand for the runner's, and few trees for the default's.
#[test]
fn the_way_from_a_configuration_to_a_ranking_is_walked() {
    let folder = Folder::inside();
    std::os::unix::fs::symlink(root().join("configs"), folder.path("configs")).unwrap();
    let block = &blocks()[1];
    let lines: Vec<_> = block.lines().map(|line| line.strip_prefix("$ ckselect ").unwrap()).collect();
    assert_eq!(lines.len(), 5);
    for line in &lines {
        let line = line
            .replace("--runner runner.json --gpus 0,1 --cutoff 5x", "--simulate analytic")
            .replace("train ", "train --folds 2 --params n_estimators=20 ");
        let printed = folder.good(&line);
        assert!(!line.starts_with("rank ") || printed.contains("grouped_conv_forward"), "{printed}");
    }

    // The model chooses better than chance, and than always the same kernel, on problems that it has not seen.
    folder.good("shapes --set holdout --count 20 --output holdout.csv");
    folder.good("bench --pool pool.txt --problems holdout.csv --simulate analytic --output judged.csv");
    for (log, rows) in [("sweep", 3000), ("judged", 600)] {
        let counts = folder.good(&format!("convert {log}.csv -o {log}.parquet --arch gfx950 --format csv"));
        assert_eq!(counts, format!("file,rows,invalid,other,rejected\n{log}.csv,{rows},0,0,0\n"));
    }
    let metrics = folder.json("evaluate --model my_model --data judged.parquet");
    let (global, baselines) = (&metrics["global_metrics"], &metrics["baselines"]);
    assert_eq!((&global["num_shapes"], &global["num_valid_rows"]), (&20.into(), &600.into()));
    let [mean, random, fixed] =
        [&global["efficiency_mean"], &baselines["random_mean"], &baselines["fixed_kernel_mean"]]
            .map(|value| value.as_f64().unwrap());
    assert!(mean > random && mean > fixed && mean <= 1.0, "{mean}, random {random}, fixed {fixed}");
    // What was selected is what is ranked first.
    let rank = "rank --model my_model --pool pool.txt --problems holdout.csv --top 1 --format csv";
    let shapes = metrics["per_shape_efficiency"].as_array().unwrap();
    let selected: Vec<&str> = shapes.iter().map(|shape| shape["selected_kernel"].as_str().unwrap()).collect();
    assert_eq!(column(&folder.good(rank), "kernel"), selected);
    // The table holds what was measured: a sweep that is answered from it is the same in every digit.
    folder.good("bench --pool pool.txt --problems shapes.csv --simulate sweep.parquet --output replayed.csv");
    assert!(folder.read("replayed.csv") == folder.read("sweep.csv"));
}
