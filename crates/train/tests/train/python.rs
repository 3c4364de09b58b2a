//! Python's LightGBM and pandas read what we write.

use std::fs;
use std::process::Command;

use ck_select_train::Directory;

use crate::sweep::{inputs, made};

/// Reads a model directory and rows, and prints what LightGBM and pandas make of them.
const SCRIPT: &str = r#"
import gzip, sys
import lightgbm, numpy, pandas
folder = sys.argv[1]
rows = numpy.fromfile(folder + "/rows.f64", dtype="<f8")
for target in ["relative", "tflops", "latency"]:
    text = gzip.open(f"{folder}/model/model_{target}.lgbm.gz", "rt").read()
    booster = lightgbm.Booster(model_str=text)
    scores = booster.predict(rows.reshape(-1, booster.num_feature()))
    print(target, booster.num_trees(), scores.astype("<f8").tobytes().hex())
table = pandas.read_parquet(folder + "/model/oof_predictions.parquet")
print("table", len(table), ",".join(table.columns))
print("held", int(table["oof_pred_tflops"].notna().sum()), int(table["fold"].max()))
"#;

#[test]
fn python_reads_our_models_and_predicts_the_same_bits() {
    let (measurements, plan, trained) = made();
    let directory = Directory::new(&measurements, &plan, &trained, &inputs(&measurements)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    directory.write(&folder.path().join("model"), false).unwrap();
    let data = &trained[0].data;
    let values = (0..data.rows.len()).flat_map(|row| data.row(row));
    let rows: Vec<u8> = values.flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.path().join("rows.f64"), rows).unwrap();
    let ran =
        Command::new(ck_select_testing::python()).args(["-c", SCRIPT]).arg(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).unwrap();
    let mut lines = printed.lines();
    for one in &trained {
        let scores: String = (0..one.data.rows.len())
            .map(|row| one.forest.predict(one.data.row(row)).unwrap().to_le_bytes())
            .map(|bytes| bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
            .collect();
        let expected = format!("{} {} {scores}", one.goal.target, one.forest.trees().len());
        assert!(lines.next() == Some(&expected), "{}", one.goal.target);
    }
    let table = lines.next().unwrap();
    assert!(table.starts_with("table 360 kernel_name,N,C,K,G,Di,Hi,Wi,Z,Y,X,"), "{table}");
    assert!(
        table.ends_with("tflops,latency_ms,is_valid,fold,oof_pred_relative,oof_pred_tflops,oof_pred_latency"),
        "{table}"
    );
    assert_eq!(lines.next(), Some("held 360 2"));
}
