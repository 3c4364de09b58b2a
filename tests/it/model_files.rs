//! Model directories on disk: what is accepted, and what each refusal says.

#[path = "../../src/packed/embed.rs"]
mod embed;
#[path = "../../src/packed/mod.rs"]
#[allow(unreachable_pub)] // the library shows it, too
mod pack;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use ck_select::directory::{Model, Target};
use ck_select::forest::Forest;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::common::root;

fn small() -> PathBuf {
    root("tests/golden/models/conv_small").into()
}

fn unpacked() -> Vec<u8> {
    let mut text = Vec::new();
    let packed = fs::File::open(small().join("model_tflops.lgbm.gz")).unwrap();
    GzDecoder::new(packed).read_to_end(&mut text).unwrap();
    text
}

/// A copy of the small model with the forest in the given form.
fn copy(forest: Option<(&str, &[u8])>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(small().join("feature_spec.json"), folder.path().join("feature_spec.json")).unwrap();
    if let Some((name, bytes)) = forest {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn refusal(folder: &Path) -> String {
    Model::load(folder).unwrap_err().to_string()
}

#[test]
fn plain_and_packed_forests_are_the_same_model_and_nothing_is_written() {
    let text = unpacked();
    let plain = copy(Some(("model_tflops.lgbm", &text)));
    let from_plain = Model::load(plain.path()).unwrap();
    let from_packed = Model::load(small()).unwrap();
    assert_eq!(from_plain.forest(Target::Tflops), from_packed.forest(Target::Tflops));
    assert_eq!(fs::read_dir(plain.path()).unwrap().count(), 2);
    assert!(!small().join("model_tflops.lgbm").exists());

    let spec = fs::read(small().join("feature_spec.json")).unwrap();
    for bytes in [text.clone(), gzip(&text)] {
        let model = Model::from_bytes("memory", &spec, &[(Target::Tflops, &bytes)]).unwrap();
        assert_eq!(model.forest(Target::Tflops), from_plain.forest(Target::Tflops));
    }
    assert_eq!(
        Some(&Forest::load(small().join("model_tflops.lgbm.gz")).unwrap()),
        from_plain.forest(Target::Tflops).map(AsRef::as_ref)
    );
}

#[test]
fn a_plain_forest_wins_over_a_packed_one() {
    let folder = copy(Some(("model_tflops.lgbm.gz", b"not even gzip")));
    fs::write(folder.path().join("model_tflops.lgbm"), unpacked()).unwrap();
    assert!(Model::load(folder.path()).is_ok());
}

#[test]
fn missing_files_are_named() {
    let error = refusal(Path::new("no/such/model"));
    assert!(error.starts_with("no/such/model/feature_spec.json: "), "{error}");
    let error = refusal(copy(None).path());
    assert!(error.ends_with(": no model_tflops.lgbm and no model_tflops.lgbm.gz"), "{error}");
}

#[test]
fn broken_files_are_named_with_the_reason() {
    let text = unpacked();
    let packed = gzip(&text);
    let error = refusal(copy(Some(("model_tflops.lgbm.gz", &packed[..packed.len() / 2]))).path());
    assert!(error.contains("model_tflops.lgbm.gz: not a whole gzip file"), "{error}");
    let error = refusal(copy(Some(("model_tflops.lgbm", &text[..text.len() / 2]))).path());
    assert!(error.contains("model_tflops.lgbm: line "), "{error}");

    let folder = copy(Some(("model_tflops.lgbm", &text)));
    let spec = fs::read_to_string(folder.path().join("feature_spec.json")).unwrap();
    let fewer = spec.replace("    \"C\",\n", "");
    assert_ne!(fewer, spec);
    fs::write(folder.path().join("feature_spec.json"), fewer).unwrap();
    let error = refusal(folder.path());
    assert!(error.ends_with("model_tflops.lgbm: 97 features, but feature_spec.json names 96"), "{error}");

    let named = String::from_utf8(text).unwrap().replacen("Column_1 ", "K ", 1);
    let error = refusal(copy(Some(("model_tflops.lgbm", named.as_bytes()))).path());
    assert!(error.ends_with("column 1 is 'K', but feature_spec.json says 'C'"), "{error}");
}

#[test]
fn a_spec_that_is_too_long_is_refused() {
    let folder = copy(None);
    fs::write(folder.path().join("feature_spec.json"), vec![b' '; (16 << 20) + 1]).unwrap();
    let error = refusal(folder.path());
    assert!(error.ends_with("feature_spec.json: has more than 16777216 bytes"), "{error}");
}

/// The decoder's tables were made on the caller's stack, and its sizes were bounded by the largest forest
/// alone (79775fe4).
#[test]
fn a_compressed_forest_costs_no_more_than_its_size_allows() {
    let load = || Model::load(small()).map(drop).map_err(|error| error.to_string());
    // As small as threads of other runtimes are.
    let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(load).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(()));

    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let blanks = vec![b' '; 1 << 20];
    (0..160).for_each(|_| encoder.write_all(&blanks).unwrap());
    let bomb = encoder.finish().unwrap();
    let error = refusal(copy(Some(("model_tflops.lgbm.gz", &bomb))).path());
    let most = bomb.len() as u64 * 200 + (64 << 20);
    assert!(most < 160 << 20);
    let expected = format!("model_tflops.lgbm.gz: inflates to more than {most} bytes");
    assert!(error.ends_with(&expected), "{error}");
}

/// The build script's table of embedded models.
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
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
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
