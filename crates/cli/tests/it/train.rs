//! `ckselect train` as a user meets it: files, errors, exit codes, interruption.

use crate::common::{Folder, sweep};

const BASE: &str = "train --data sweep.csv --arch gfx950";

#[cfg(not(feature = "train"))]
#[test]
fn without_lightgbm_the_command_says_how_to_get_it() {
    let folder = Folder::inside();
    folder.write("sweep.csv", sweep(2, "forward", "bf16"));
    let message = folder.bad(&format!("{BASE} --output model"), 2);
    assert!(message.contains("make ckselect") && message.contains("--features train"), "{message}");
    assert!(!folder.path("model").exists());
}

#[cfg(feature = "train")]
mod trained {
    use std::collections::BTreeMap;
    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use ck_select::forest::Forest;
    use serde_json::Value;

    use super::*;
    use crate::common::{column, kill, root};

    const SMALL: &str =
        "--params n_estimators=12 num_leaves=7 min_child_samples=5 early_stopping=off --folds 3";

    fn folder(text: &str) -> Folder {
        let folder = Folder::inside();
        folder.write("sweep.csv", text);
        folder
    }

    fn contents(model: &Path) -> BTreeMap<String, Vec<u8>> {
        let file =
            |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        fs::read_dir(model).unwrap().map(|entry| file(entry.unwrap())).collect()
    }

    #[test]
    fn the_same_command_gives_the_same_bytes_on_any_number_of_threads() {
        let (one, two) = (folder(&sweep(24, "forward", "bf16")), folder(&sweep(24, "forward", "bf16")));
        let line = format!(
            "{BASE} --output model {SMALL} --params subsample=0.8 subsample_freq=1 --objective listwise"
        );
        let printed = one.good(&format!("{line} --params threads=1"));
        assert_eq!(printed, two.good(&format!("{line} --params threads=3")));
        let (one, two) = (contents(&one.path("model")), contents(&two.path("model")));
        let names: Vec<&str> = one.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "MODEL_CARD.md", "cv_metrics_relative.json", "cv_metrics_tflops.json",
                "feature_importances_relative.json", "feature_importances_tflops.json", "feature_spec.json",
                "model.html", "model_relative.lgbm.gz", "model_tflops.lgbm.gz", "oof_predictions.parquet",
                "train_manifest.json"
            ]
        );
        for (name, bytes) in &one {
            assert!(two[name] == *bytes, "{name}");
        }
        let manifest: Value = serde_json::from_slice(&one["train_manifest.json"]).unwrap();
        assert_eq!(manifest["timestamp"], "2023-11-14T22:13:20");
    }

    #[test]
    fn the_model_ranks_and_predicts() {
        let folder = folder(&sweep(24, "forward", "bf16"));
        let printed = folder.good(&format!("{BASE} --output model {SMALL} --format csv"));
        let header = printed.lines().next().unwrap();
        assert_eq!(header, "target,fold,problems,trees,rmse,r2,mean,median,p10,min,best_of_top3");
        assert_eq!(printed.lines().filter(|line| line.contains(",all,")).count(), 2);
        let problem = "N=4,C=64,K=128,Hi=14,Wi=14,Y=1,X=1";
        let rank = "rank --model model --pool sweep.csv --top 2 --format csv --problem";
        let ranked = folder.good(&format!("{rank} {problem}"));
        let mut lines = ranked.lines();
        assert_eq!(
            lines.next(),
            Some(
                "rank,kernel,time_us,slower,loss,score,tflops,tie,unmeasured,out_of_range,chance,\
                 sure_within_90,sure_within_99"
            )
        );
        assert!(lines.next().unwrap().starts_with("1,grouped_conv_forward_bf16_2d_"));
        let card = folder.read("model/MODEL_CARD.md");
        assert!(card.contains(&format!("$ ckselect {BASE} --output model {SMALL}\n")), "{card}");
    }

    /// A sweep of so many problems, each with filters of 1x1 and of 3x3.
    fn filters(problems: usize) -> String {
        let large = sweep(problems / 2, "forward", "bf16");
        let small = large.lines().skip(1).map(|line| {
            let (kernel, rest) = line.split_once(',').unwrap();
            let (number, rest) = rest.split_once(',').unwrap();
            let number = number.parse::<usize>().unwrap() + problems / 2;
            format!("{kernel},{number},{}\n", rest.replacen(",3,3,1,1,", ",1,1,0,0,", 1))
        });
        large.clone() + &small.collect::<String>()
    }

    /// The folds of a hundred problems teach how sure choices are; fewer teach nothing, and nothing is stated.
    #[test]
    fn a_model_says_what_its_choices_are_expected_to_lose() {
        let figures = |problems: usize| -> Value {
            let folder = folder(&filters(problems));
            folder.good(&format!("{BASE} --output model {SMALL}"));
            assert_eq!(folder.path("model/sureness.json").exists(), problems >= 100);
            let line = "evaluate --model model --data sweep.csv --format json";
            serde_json::from_str::<Value>(&folder.good(line)).unwrap()["global_metrics"].take()
        };
        assert_eq!(figures(24).get("expected_loss_mean"), None);
        // The key of a model of one architecture and type says for what it is valid, and a universal one records it.
        let folder = folder(&filters(120));
        let judged_on = |line: &str| {
            folder.good(&format!("{line} --output model --overwrite {SMALL}"));
            serde_json::from_str::<Value>(&folder.read("model/sureness.json")).unwrap()["judged_on"].take()
        };
        assert_eq!(judged_on(BASE), Value::Null);
        let expected = serde_json::json!({"grouped_conv": {"gfx950": ["bf16"]}});
        assert_eq!(judged_on(&format!("{BASE} --universal")), expected);
        let figures = figures(120);
        let figure = |name: &str| figures[name].as_f64().unwrap();
        // The model's choices lose nothing here, of which measurements cannot tell less than a thousandth.
        assert!((0.0005..0.01).contains(&figure("expected_loss_mean")), "{figures}");
        assert!((figure("loss_mean") + figure("efficiency_mean") - 1.0).abs() < 1e-9, "{figures}");
        assert_eq!(figures["loss_by_thirds"].as_array().unwrap().len(), 3);
        assert!(figure("sure_within_mean") >= 1.0, "{figures}");
    }

    /// `tune --simulate` needed --arch, and did not know --run-id (a5221839).
    #[test]
    fn the_rows_of_a_run_say_operation_and_architecture() {
        let rows = |arch: &str, run: &str| -> String {
            let text = sweep(24, "forward", "bf16");
            text.lines().skip(1).map(|line| format!("{line},{arch},{run}\n")).collect::<Vec<_>>().concat()
        };
        let header = sweep(0, "forward", "bf16").trim_end().to_owned() + ",arch,run_id\n";
        let folder = folder(&(header + &rows("gfx942", "7") + &rows("gfx950", "8")));
        for line in [
            "train --data sweep.csv --output model --overwrite --folds 1 --params n_estimators=2 \
             num_leaves=3",
            "tune --simulate sweep.csv --measure 12",
            "tune --simulate sweep.csv --counts 12 --params ways=tuned draws=1",
        ] {
            folder.refuses(&format!(
                "{line}
                    2: --arch is missing: sweep.csv has rows of gfx942 and of gfx950"
            ));
            folder.good(&format!("{line} --where run_id=8"));
            if line.starts_with("train") {
                let spec = folder.read("model/feature_spec.json");
                assert!(spec.contains("\"arch\": \"gfx950\""), "{spec}");
            }
        }
    }

    #[test]
    fn upstreams_way_trains_logarithms_by_its_engine_and_may_be_continued() {
        let folder = folder(&sweep(24, "forward", "bf16"));
        folder.good(&format!("{BASE} --output old --objective log1p --targets tflops,latency {SMALL}"));
        let old = folder.read_json("old/feature_spec.json");
        assert_eq!(old["feature_names"].as_array().unwrap().len(), 97);
        assert_eq!(
            (&old["log_targets"], &old["categorical_features"]),
            (&["tflops"].into(), &["pipeline"].into())
        );
        assert_eq!(old["targets"], serde_json::json!(["tflops", "latency"]));
        let line = format!(
            "{BASE} --output new --objective log1p --warm-start old --params early_stopping=off --folds 1"
        );
        folder.good(&format!("{line} --params n_estimators=5 num_leaves=7"));
        assert_eq!(folder.read_json("new/train_manifest.json")["total_n_estimators"], 17);
        assert_eq!(folder.read_json("new/feature_spec.json")["feature_names"], old["feature_names"]);
        // A packed forest goes on as the text from which it was packed.
        folder.good("dev pack --model old --output packed");
        let packed = line.replace("--output new", "--output again").replace("start old", "start packed");
        folder.good(&format!("{packed} --params n_estimators=5 num_leaves=7"));
        let forest = |model: &str| Forest::load(folder.path(model).join("model_tflops.lgbm.gz")).unwrap();
        assert!(forest("again") == forest("new"));
        let nowhere = line.replace("--warm-start old", "--warm-start nowhere --overwrite");
        folder.refuses(&format!(
            "{line} --features conv91 --overwrite
                1: Feature schema mismatch: added [], removed [
            {nowhere}
                1: nowhere: no such directory"
        ));
    }

    #[test]
    fn the_usual_objective_is_lambdarank_with_all_trees_and_a_continued_model_keeps_its_own() {
        let folder = folder(&sweep(24, "forward", "bf16"));
        let small = SMALL.replace(" --params early_stopping=off", "");
        let relative = |model: &str| {
            folder.read_json(&format!("{model}/train_manifest.json"))["ck_select"]["targets"]["relative"]
                .clone()
        };
        folder.good(&format!("{BASE} --output usual {small}"));
        let usual = relative("usual");
        assert_eq!((&usual["objective"], &usual["trees"]), (&"lambdarank".into(), &12.into()));
        folder.good(&format!("{BASE} --output old {small} --objective listwise"));
        let line = format!("{BASE} --output new --warm-start old --folds 1 --params n_estimators=3");
        folder.good(&line);
        assert_eq!(relative("new")["objective"], "listwise");
        folder.refuses(&format!(
            "{line} --overwrite --objective relative
                1: feature_spec.json: objective listwise, this training has relative"
        ));
    }

    #[test]
    fn the_estimate_takes_part_on_request() {
        let folder = folder(&sweep(40, "forward", "bf16"));
        let line = format!("{BASE} --output with --objective listwise --prior 5 {SMALL}");
        folder.good(&line);
        let spec = folder.read_json("with/feature_spec.json");
        assert_eq!((&spec["ck_select"]["prior"], &spec["arch"]), (&5.0.into(), &"gfx950".into()));
        let names: Vec<&str> =
            spec["feature_names"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
        assert!(names.contains(&"est_over_least") && names.contains(&"staged_ratio"), "{names:?}");
        assert!(!folder.path("with/model_tflops.lgbm.gz").exists());
        folder.good(&line.replace("--output with", "--output both --targets tflops"));
        let rows = "--pool sweep.csv --problem C=64,K=64,Hi=28,Wi=28,Y=3,X=3 --format csv";
        let ranked = folder.good(&format!("rank --model both {rows}"));
        assert!(column(&ranked, "tflops").iter().all(|cell| cell.parse::<f64>().unwrap() > 0.0), "{ranked}");
        // The model serves what it was trained for, as a model of one architecture.
        folder.good("evaluate --model with --data sweep.csv");
        let card = folder.read("with/MODEL_CARD.md");
        assert!(card.contains("For gfx950 only, with the estimate as prior."), "{card}");
        let relative = line.replace("listwise", "relative --overwrite");
        let negative = line.replace("--prior 5", "--prior -1 --overwrite");
        folder.refuses(&format!(
            "{relative}
                2: --prior: found --objective relative, expected listwise or
            {negative}
                2: unexpected argument '-1'"
        ));
    }

    #[test]
    fn gemm_models_predict_three_targets() {
        let mut text = String::from("kernel,m,n,k,latency_ms,tflops,bandwidth_gb_s\n");
        for index in 0..24 {
            let (m, n, k) = (16 << (index % 6), 128 << (index % 4), 256 << (index % 3));
            for (tile, speed) in [(64, 100.0), (128, 160.0), (256, 220.0)] {
                let tflops = speed * (f64::from(m) / f64::from(tile)).min(1.0);
                let work = 2.0 * f64::from(m * n * k);
                let _ = writeln!(
                    text,
                    "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_{tile}x128x64\
                     _2x2x1_32x32x16,{m},{n},{k},{:.6},{tflops:.3},{:.2}",
                    work / tflops / 1e9,
                    tflops * 7.0
                );
            }
        }
        let folder = folder(&text);
        let line = "train --data sweep.csv --where op=gemm_universal --arch gfx950 --output model \
                    --objective log1p --targets tflops,latency,bandwidth";
        folder.good(&format!("{line} {SMALL} --params learning_rate=0.4"));
        let rank = "rank --model model --pool sweep.csv --problem M=512,N=512,K=512 --top 1 --format csv";
        let ranked = folder.good(rank);
        assert!(
            ranked.starts_with("rank,kernel,time_us,slower,loss,score,latency_ms,bandwidth_gb_s,tie,"),
            "{ranked}"
        );
        assert!(ranked.contains("_256x128x64_"), "{ranked}");
    }

    #[test]
    fn incompatible_rows_are_refused() {
        let mixed = sweep(6, "forward", "bf16") + sweep(6, "forward", "fp16").split_once('\n').unwrap().1;
        let folder = folder(&mixed);
        folder.refuses(&format!("{BASE} --output model {SMALL}\n1: mixes element types"));
        folder.good(&format!("{BASE} --output model {SMALL} --where dtype=fp16"));
        let card = folder.read("model/MODEL_CARD.md");
        assert!(card.contains("grouped_conv forward, fp16, on gfx950"), "{card}");
    }

    #[test]
    fn mistakes_are_found_before_any_training_and_leave_nothing() {
        let folder = folder(&sweep(6, "forward", "bf16"));
        let train = format!("{BASE} --output model");
        folder.refuses(&format!(
            "{train} --objective mse
                2: --objective: unknown objective 'mse', expected one of: log1p, raw
            {train} --params boosting=dart
                2: --params: boosting: found no parameter, expected one of n_estimators
            {train} --params num_leaves=1
                2: num_leaves: found '1', expected a whole number from 2 to 131072
            {train} --params learning_rate=NaN
                2: learning_rate: found 'NaN', expected a number from 0.000001 to 1
            {train} --params n_estimators=6000
                2: n_estimators: found '6000', expected a whole number from 1 to 5000
            {train} --params subsample=0.5
                2: subsample: found 0.5, expected subsample_freq of at least 1
            {train} --params sharpness=3
                2: no forest of this training uses 'sharpness=3'
            {train} --features magic
                2: --features: no grouped_conv feature is named magic
            {train} --features gemm72
                2: --features: gemm72 is for gemm_universal
            {train} --targets relative --objective log1p
                2: --targets: relative needs an objective that ranks
            {train} --targets tflops,speed
                2: --targets: unknown target 'speed'
            {train} --targets latency,latency
                2: --targets: latency appears twice
            {train} --params n_estimators=3 num_iterations=4
                2: --params: 'n_estimators=3' and 'num_iterations=4' set one parameter
            {train} --warm-start embedded:universal
                2: a universal model is adapted by `ckselect tune`
            {train} --extra-data sweep.csv
                2: sweep.csv is given twice
            train --data sweep.csv --output model
                2: --arch is missing, and the rows do not record what was measured
            {train} --targets tflops,bandwidth
                1: target bandwidth: no valid row of the data has a value of it"
        ));
        assert!(!folder.path("model").exists());
        fs::create_dir(folder.path("model")).unwrap();
        folder.refuses(&format!("{train}\n1: model: already exists; --overwrite replaces it"));
    }

    #[cfg(unix)]
    #[test]
    fn ctrl_c_leaves_nothing() {
        let folder = folder(&sweep(60, "forward", "bf16"));
        // What a shell starts in the background begins with Ctrl-C ignored, and so would its children.
        let mut child = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_ckselect")])
            .current_dir(folder.path(""))
            .args(
                format!("{BASE} --output model --params early_stopping=off n_estimators=5000 num_leaves=255")
                    .split_whitespace(),
            )
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        kill(&child, "-INT");
        assert!(!child.wait().unwrap().success());
        let left: Vec<_> =
            fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["sweep.csv"]);
    }

    /// README's blocks of commands, which do what they say there.
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
        let (out, said) = Folder::new().both(line);
        assert_eq!(said + &out, printed);
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

        // The model chooses better than chance, and than always the same kernel, on unseen problems.
        folder.good("shapes --set holdout --count 20 --output holdout.csv");
        folder.good("bench --pool pool.txt --problems holdout.csv --simulate analytic --output judged.csv");
        for (log, rows) in [("sweep", 3000), ("judged", 600)] {
            let counts =
                folder.good(&format!("convert {log}.csv -o {log}.parquet --arch gfx950 --format csv"));
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
        let selected: Vec<&str> =
            shapes.iter().map(|shape| shape["selected_kernel"].as_str().unwrap()).collect();
        assert_eq!(column(&folder.good(rank), "kernel"), selected);
        // The table holds what was measured: a sweep that is answered from it is the same in every digit.
        folder.good(
            "bench --pool pool.txt --problems shapes.csv --simulate sweep.parquet --output replayed.csv",
        );
        assert!(folder.read("replayed.csv") == folder.read("sweep.csv"));
    }
}
