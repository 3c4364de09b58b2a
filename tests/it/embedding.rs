//! The build script's table of embedded models, from directories that are models and from those that are not.

#[path = "../../build/embed.rs"]
mod embed;
#[path = "../../build/pack.rs"]
#[allow(unreachable_pub)] // the library shows it, too
mod pack;

use std::fs;
use std::io::Write as _;

#[test]
fn every_model_directory_is_in_the_table() {
    const FOREST: &str = "tree\nTree=0\nnum_leaves=1\nleaf_value=1\n\nend of trees\n";
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let table = || embed::table(folder.path(), out.path());
    assert_eq!(table().unwrap(), "&[\n]\n", "no models, an empty table");
    fs::write(folder.path().join("README.md"), "not a model").unwrap();
    for name in ["second", "first"] {
        let model = folder.path().join(name);
        fs::create_dir(&model).unwrap();
        assert!(table().unwrap_err().ends_with(": no feature_spec.json, so it is no model directory"));
        fs::write(model.join("feature_spec.json"), "{}").unwrap();
        assert!(table().unwrap_err().ends_with(": no forest, such as model_tflops.lgbm.gz"));
        let forest = model.join("model_tflops.lgbm.gz");
        fs::write(&forest, "forest").unwrap();
        assert!(table().unwrap_err().ends_with("model_tflops.lgbm.gz: no tree in the text"));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(FOREST.as_bytes()).unwrap();
        fs::write(forest, gzip.finish().unwrap()).unwrap();
        table().unwrap();
    }
    let first = folder.path().join("first");
    fs::write(first.join("model_latency.lgbm"), FOREST).unwrap();
    fs::write(first.join("model_latency.lgbm.gz"), "not read").unwrap();
    let source = table().unwrap();
    let names: Vec<_> = source.lines().filter(|line| line.contains("EmbeddedModel::new(")).collect();
    assert!(names[0].contains("(c\"first\", ") && names[1].contains("(c\"second\", "), "{source}");
    for folder in [&folder, &out] {
        assert!(
            !source.contains(folder.path().to_str().unwrap()),
            "a moved checkout has other folders: {source}"
        );
    }
    assert_eq!(fs::read(out.path().join("first.feature_spec.json")).unwrap(), b"{}");
    let forests: Vec<_> = source.lines().filter(|line| line.starts_with("(Target::")).collect();
    assert_eq!(forests.len(), 3, "a plain forest goes before a compressed one: {source}");
    fs::create_dir(folder.path().join("conv_bf16_sm90")).unwrap();
    assert_eq!(table().unwrap(), source, "models for NVIDIA's GPUs stay files");
    assert!(
        forests[1].starts_with("(Target::Latency, ")
            && forests[1].contains("\"first.model_latency.lgbm.packed\"")
    );

    fs::create_dir(folder.path().join("with blank")).unwrap();
    assert!(table().unwrap_err().contains("a model's name has only letters"));
    assert!(embed::table(&folder.path().join("nothing"), out.path()).unwrap_err().contains("No such file"));
}
