//! `ckselect uhd` as its users meet it.

use serde_json::{Value, json};

use crate::common::{Folder, column, root};

const EXPORT: &str = "uhd export --model tests/golden/models/gemm_small --output";

/// A model that went to hipDNN's files and back gives every kernel the score that it had.
#[test]
fn an_exported_model_checks_clean_and_comes_back_the_same() {
    let folder = Folder::new();
    for (model, problem) in [
        ("gemm_small", "M=512,N=768,K=1024"),
        ("fmha_small", "seqlen_q=2048,seqlen_k=2048,nhead_q=32,hdim_q=128,hdim_v=128"),
    ] {
        let golden = format!("tests/golden/models/{model}");
        folder.good(&format!("uhd export --model {golden} --output @m"));
        let report = folder.json("uhd check @m.uhd.json");
        assert_eq!(
            ["generation", "trees", "lightgbm"].map(|key| &report[0][key]),
            [&json!("C"), &json!(120), &json!("yes")]
        );
        folder.good(&format!("uhd import @m.uhd.json --output @{model}"));
        let rank = |model: &str| {
            let asked = format!("--pool {golden}/pool.txt --problem {problem} --format csv");
            let rows = folder.good(&format!("rank --model {model} {asked}"));
            // Other targets, by which times are predicted, are not exported.
            ["rank", "kernel", "score"].map(|name| column(&rows, name))
        };
        let (own, back) = (rank(&golden), rank(&format!("@{model}")));
        assert!(own[0].len() > 5 && own == back, "{own:?}\n{back:?}");
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused_by_name() {
    let folder = Folder::new();
    folder.good(&format!("{EXPORT} @m.uhd.json"));
    let document = folder.read_json("m.uhd.json");
    let changed = |place: &str, value: Value| {
        let mut document = document.clone();
        *document.pointer_mut(place).unwrap() = value;
        folder.write("m.uhd.json", document.to_string());
    };
    std::os::unix::fs::symlink(root().join("tests"), folder.path("away")).unwrap();
    for (place, value, message) in [
        ("/tree_data/artifact", json!("away/common/mod.rs"), "expected a file in the descriptor's folder"),
        ("/tree_data/hash", json!("0".repeat(64)), "m.uhd.json: artifact: found SHA-256 "),
        ("/features_signature/0", json!("$other"), "m.uhd.json: features_hash: found"),
    ] {
        changed(place, value);
        let ran = folder.run("uhd check @m.uhd.json");
        assert!(ran.code == Some(1) && ran.stderr.contains(message), "{}", ran.stderr);
    }
    changed("/score/transform", "sqrt".into());
    folder.write("keys.json", json!({"features_signature": ["$graph.flops"]}).to_string());
    folder.refuses(&format!(
        "uhd import @m.uhd.json --output @n
            1: score.transform: found 'sqrt', expected identity or log1p
        {EXPORT} @n --keys @keys.json
            1: artifact: num_features: found 72, expected 1, the entries
        uhd export --model models/universal --output @n
            1: its scores contain the estimate's"
    ));
    assert!(!folder.path("n.bin").exists() && !folder.path("n.uhd.json").exists());

    // Without our own notes, it is somebody else's: a forest, whose features nobody here knows.
    changed("/provenance", json!({}));
    let (_, said) = folder.both("uhd import @m.uhd.json --output @foreign");
    assert!(said.contains("only a forest"), "{said}");
    let names = folder.read("foreign/model_tflops.lgbm");
    assert!(names.contains("feature_names=ck.") && names.contains(" kernel.tile_m "), "{}", &names[..400]);
    folder.refuses("uhd import @m.uhd.json --output @foreign\n1: already exists");
}
