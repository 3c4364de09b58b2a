//! The table of models that are embedded into the library, as Rust source.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::pack::pack;

const SPEC: &str = "feature_spec.json";
const SURENESS: &str = "sureness.json";
/// A forest's file, without `.gz`, and what it predicts.
const FORESTS: [(&str, &str); 4] = [
    ("model_tflops.lgbm", "Tflops"),
    ("model_latency.lgbm", "Latency"),
    ("model_bandwidth.lgbm", "Bandwidth"),
    ("model_relative.lgbm", "Relative"),
];

fn fault(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// The source of the table of all model directories inside `models`, by name, but for those of NVIDIA's GPUs,
/// which no user of the dispatcher has. Files beside them are passed over. Specs are copied and forests
/// packed into files inside `out`, where the source is to be, too: it names them without their folder, so
/// that a checkout may be moved together with what was built in it.
pub(crate) fn table(models: &Path, out: &Path) -> Result<String, String> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(models).map_err(|error| fault(models, &error))? {
        let path = entry.map_err(|error| fault(models, &error))?.path();
        if path.is_dir() && !is_for_nvidia(&path) {
            directories.push(path);
        }
    }
    directories.sort();
    let mut source = String::from("&[\n");
    for directory in directories {
        source += &model(&directory, &FORESTS, out)?;
    }
    source += "]\n";
    Ok(source)
}

/// The source of one model directory, with those of the forests that it has, and with its files inside `out`.
pub(crate) fn model(directory: &Path, forests: &[(&str, &str)], out: &Path) -> Result<String, String> {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(fault(directory, &"a model's name has only letters, digits, '_', '-' and '.'"));
    }
    let spec = directory.join(SPEC);
    if !spec.is_file() {
        return Err(fault(directory, &format!("no {SPEC}, so it is no model directory")));
    }
    let copy = format!("{name}.{SPEC}");
    fs::copy(&spec, out.join(&copy)).map_err(|error| fault(&spec, &error))?;
    let mut source = format!("EmbeddedModel::new(c{name:?}, {}, &[\n", bytes(&copy));
    let mut count = 0;
    for (file, target) in forests {
        // As in a directory that is loaded, a plain forest takes precedence over a compressed one.
        let files = [directory.join(file), directory.join(format!("{file}.gz"))];
        if let Some(path) = files.iter().find(|path| path.is_file()) {
            let packed = format!("{name}.{file}.packed");
            let contents = pack(&text(path)?).map_err(|error| fault(path, &error))?;
            let path = out.join(&packed);
            fs::write(&path, contents).map_err(|error| fault(&path, &error))?;
            // Writing to a string does not fail.
            let _ = writeln!(source, "(Target::{target}, {}),", bytes(&packed));
            count += 1;
        }
    }
    if count == 0 {
        return Err(fault(directory, &"no forest, such as model_tflops.lgbm.gz"));
    }
    source += "], ";
    let sureness = directory.join(SURENESS);
    if sureness.is_file() {
        let copy = format!("{name}.{SURENESS}");
        fs::copy(&sureness, out.join(&copy)).map_err(|error| fault(&sureness, &error))?;
        let _ = writeln!(source, "Some({})),", bytes(&copy));
    } else {
        source += "None),\n";
    }
    Ok(source)
}

/// A forest's text, inflated if need be.
fn text(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| fault(path, &error))?;
    let mut text = String::new();
    let read = if bytes.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text)
    } else {
        bytes.as_slice().read_to_string(&mut text)
    };
    read.map(|_| text).map_err(|error| fault(path, &error))
}

/// A model's name ends with its architecture; NVIDIA's are called `sm90` and so on.
fn is_for_nvidia(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.rsplit_once("_sm").map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
}

fn bytes(file: &str) -> String {
    format!("include_bytes!({file:?}).as_slice()")
}
