//! `ckselect uhd` as its users meet it.

use serde_json::{Value, json};

use crate::common::{Folder, root};

fn golden(model: &str) -> String {
    root().join("tests/golden/models").join(model).display().to_string()
}

/// A model that went to hipDNN's files and back gives every kernel the score that it had.
#[test]
fn an_exported_model_checks_clean_and_comes_back_the_same() {
    let folder = Folder::inside();
    for (model, problem) in [
        ("gemm_small", "M=512,N=768,K=1024"),
        ("fmha_small", "seqlen_q=2048,seqlen_k=2048,nhead_q=32,hdim_q=128,hdim_v=128"),
    ] {
        folder.good(&format!("uhd export --model {} --output m", golden(model)));
        let report = folder.json("uhd check m.uhd.json");
        assert_eq!(
            (&report[0]["generation"], &report[0]["trees"], &report[0]["lightgbm"]),
            (&json!("C"), &json!(120), &json!("yes"))
        );
        folder.good(&format!("uhd import m.uhd.json --output {model}"));
        let pool = golden(model) + "/pool.txt";
        let rank = |model: &str| {
            let asked = format!("--pool {pool} --problem {problem} --format csv");
            let rows = folder.good(&format!("rank --model {model} {asked}"));
            // Rank, kernel and score: other targets are not exported.
            rows.lines().map(|row| row.split(',').take(3).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
        };
        let (own, back) = (rank(&golden(model)), rank(model));
        assert!(own.len() > 5 && own == back, "{own:?}\n{back:?}");
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused_by_name() {
    let folder = Folder::inside();
    let export = format!("uhd export --model {} --output", golden("gemm_small"));
    folder.good(&format!("{export} m.uhd.json"));
    let document: Value = serde_json::from_str(&folder.read("m.uhd.json")).unwrap();
    std::fs::create_dir(folder.path("inner")).unwrap();
    std::os::unix::fs::symlink(golden("gemm_small"), folder.path("inner/away")).unwrap();
    for (place, value, message) in [
        (
            "/tree_data/artifact",
            json!("inner/away/feature_spec.json"),
            "expected a file in the descriptor's folder",
        ),
        ("/tree_data/hash", json!("0".repeat(64)), "ckselect: m.uhd.json: artifact: found SHA-256 "),
        ("/features_signature/0", json!("$other"), "ckselect: m.uhd.json: features_hash: found"),
    ] {
        let mut changed = document.clone();
        *changed.pointer_mut(place).unwrap() = value;
        folder.write("m.uhd.json", changed.to_string());
        let ran = folder.run("uhd check m.uhd.json");
        assert!(ran.code == Some(1) && ran.stderr.contains(message), "{}", ran.stderr);
    }

    folder.write("keys.json", json!({"features_signature": ["$graph.flops"]}).to_string());
    let universal = root().join("models/universal");
    folder.refuses(&format!(
        "{export} n --keys keys.json
            1: artifact: num_features: found 72, expected 1, the entries
        uhd export --model {} --output n
            1: a universal model ranks relative to a pool",
        universal.display()
    ));
    assert!(!folder.path("n.bin").exists() && !folder.path("n.uhd.json").exists());

    let mut transformed = document.clone();
    transformed["score"]["transform"] = "sqrt".into();
    folder.write("m.uhd.json", transformed.to_string());
    folder.refuses(
        "uhd import m.uhd.json --output n\n1: score.transform: found 'sqrt', expected identity or log1p",
    );

    // Without our own notes, it is somebody else's: a forest, whose features nobody here knows.
    let mut foreign = document;
    foreign.as_object_mut().unwrap().remove("provenance");
    foreign["score"]["transform"] = "identity".into();
    folder.write("m.uhd.json", foreign.to_string());
    let (_, said) = folder.both("uhd import m.uhd.json --output foreign");
    assert!(said.contains("only a forest"), "{said}");
    let names = folder.read("foreign/model_tflops.lgbm");
    assert!(names.contains("feature_names=ck.") && names.contains(" kernel.tile_m "), "{}", &names[..400]);
    folder.refuses("uhd import m.uhd.json --output foreign\n1: already exists");
}
