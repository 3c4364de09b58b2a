//! The build script's table of embedded models, from directories that are models and from those that are not.

#[path = "../build/embed.rs"]
mod embed;

use std::fs;

#[test]
fn every_model_directory_is_in_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = || embed::table(folder.path());
    assert_eq!(table().unwrap(), "&[\n]\n", "no models, an empty table");
    fs::write(folder.path().join("README.md"), "not a model").unwrap();
    for name in ["second", "first"] {
        let model = folder.path().join(name);
        fs::create_dir(&model).unwrap();
        assert!(table().unwrap_err().ends_with(": no feature_spec.json, so it is no model directory"));
        fs::write(model.join("feature_spec.json"), "{}").unwrap();
        assert!(table().unwrap_err().ends_with(": no forest, such as model_tflops.lgbm.gz"));
        fs::write(model.join("model_tflops.lgbm.gz"), "forest").unwrap();
        table().unwrap();
    }
    let first = folder.path().join("first");
    fs::write(first.join("model_latency.lgbm"), "forest").unwrap();
    fs::write(first.join("model_latency.lgbm.gz"), "forest").unwrap();
    let source = table().unwrap();
    let names: Vec<_> = source.lines().filter(|line| line.contains("name:")).collect();
    assert!(names[0].contains("name: c\"first\"") && names[1].contains("name: c\"second\""), "{source}");
    let forests: Vec<_> = source.lines().filter(|line| line.starts_with("(Target::")).collect();
    assert_eq!(forests.len(), 3, "a plain forest goes before a compressed one: {source}");
    fs::create_dir(folder.path().join("conv_bf16_sm90")).unwrap();
    assert_eq!(table().unwrap(), source, "models for NVIDIA's GPUs stay files");
    assert!(forests[1].starts_with("(Target::Latency, ") && forests[1].contains("model_latency.lgbm\""));

    fs::create_dir(folder.path().join("with blank")).unwrap();
    assert!(table().unwrap_err().contains("a model's name has only letters"));
    assert!(embed::table(&folder.path().join("nothing")).unwrap_err().contains("No such file"));
}
