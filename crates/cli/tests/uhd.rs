//! `ckselect uhd` as its users meet it.

mod common;

use std::fs;
use std::path::Path;

use common::{Ran, command_in, root};
use serde_json::{Value, json};

fn ckselect(folder: &Path, args: &[&str]) -> Ran {
    command_in(folder, args).output().unwrap().into()
}

fn done(folder: &Path, args: &[&str]) -> String {
    let ran = ckselect(folder, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    ran.stdout
}

fn refused(folder: &Path, args: &[&str]) -> String {
    let ran = ckselect(folder, args);
    assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stdout);
    ran.stderr
}

fn golden(model: &str) -> String {
    root().join("tests/golden/models").join(model).display().to_string()
}

/// A model that went to hipDNN's files and back gives every kernel the score that it had.
#[test]
fn an_exported_model_checks_clean_and_comes_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (model, problem) in [
        ("gemm_small", "M=512,N=768,K=1024"),
        ("fmha_small", "seqlen_q=2048,seqlen_k=2048,nhead_q=32,hdim_q=128,hdim_v=128"),
    ] {
        done(folder, &["uhd", "export", "--model", &golden(model), "--output", "m"]);
        let report: Value =
            serde_json::from_str(&done(folder, &["uhd", "check", "m.uhd.json", "--format", "json"])).unwrap();
        assert_eq!(
            (&report[0]["generation"], &report[0]["trees"], &report[0]["lightgbm"]),
            (&json!("C"), &json!(120), &json!("yes"))
        );
        done(folder, &["uhd", "import", "m.uhd.json", "--output", model]);
        let pool = golden(model) + "/pool.txt";
        let rank = |model: &str| {
            let rank = ["rank", "--model", model, "--pool", &pool, "--problem", problem, "--format", "csv"];
            let rows = done(folder, &rank);
            // Rank, kernel and score: other targets are not exported.
            rows.lines().map(|row| row.split(',').take(3).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
        };
        let (own, back) = (rank(&golden(model)), rank(model));
        assert!(own.len() > 5 && own == back, "{own:?}\n{back:?}");
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["uhd", "export", "--model", &golden("gemm_small"), "--output", "m.uhd.json"]);
    let path = folder.join("m.uhd.json");
    let document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let with = |place: &str, value: Value| {
        let mut changed = document.clone();
        *changed.pointer_mut(place).unwrap() = value;
        fs::write(&path, changed.to_string()).unwrap();
        refused(folder, &["uhd", "check", "m.uhd.json"])
    };
    fs::create_dir(folder.join("inner")).unwrap();
    std::os::unix::fs::symlink(golden("gemm_small"), folder.join("inner/away")).unwrap();
    let error = with("/tree_data/artifact", json!("inner/away/feature_spec.json"));
    assert!(error.contains("expected a file in the descriptor's folder"), "{error}");
    let error = with("/tree_data/hash", json!("0".repeat(64)));
    assert!(error.starts_with("ckselect: m.uhd.json: artifact: found SHA-256 "), "{error}");
    let error = with("/features_signature/0", json!("$other"));
    assert!(error.starts_with("ckselect: m.uhd.json: features_hash: found"), "{error}");

    let text = document.to_string();
    let keys = json!({"features_signature": ["$graph.flops"]});
    fs::write(folder.join("keys.json"), keys.to_string()).unwrap();
    let export = ["uhd", "export", "--model", &golden("gemm_small"), "--output", "n", "--keys", "keys.json"];
    let error = refused(folder, &export);
    assert!(error.contains("artifact: num_features: found 72, expected 1, the entries"), "{error}");
    assert!(!folder.join("n.bin").exists() && !folder.join("n.uhd.json").exists());
    let universal = root().join("models/universal").display().to_string();
    let error = refused(folder, &["uhd", "export", "--model", &universal, "--output", "n"]);
    assert!(error.contains("a universal model ranks relative to a pool"), "{error}");

    // Without our own notes, it is somebody else's: a forest, whose features nobody here knows.
    let mut foreign: Value = serde_json::from_str(&text).unwrap();
    foreign.as_object_mut().unwrap().remove("provenance");
    foreign["score"]["transform"] = "identity".into();
    fs::write(&path, foreign.to_string()).unwrap();
    let ran = ckselect(folder, &["uhd", "import", "m.uhd.json", "--output", "foreign"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("only a forest"), "{}", ran.stderr);
    let names = fs::read_to_string(folder.join("foreign/model_tflops.lgbm")).unwrap();
    assert!(names.contains("feature_names=ck.") && names.contains(" kernel.tile_m "), "{}", &names[..400]);
    let error = refused(folder, &["uhd", "import", "m.uhd.json", "--output", "foreign"]);
    assert!(error.contains("already exists"), "{error}");
}
