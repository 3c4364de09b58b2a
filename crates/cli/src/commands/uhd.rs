//! `ckselect uhd`: models as hipDNN's heuristic descriptors, and back.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use ck_select::directory::{FeatureSpec, Model, Target, forest_text};
use ck_select::files;
use ck_select::forest::{Forest, Transform};
use ck_select::json;
use ck_select::uhd;
use ck_select_measurements::staged::Staged;
use ck_select_uhd::{Descriptor, Hgbm, features_hash, sha256};
use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::model_directory;
use crate::error::CliError;
use crate::output;
use crate::table::{Cell, Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect uhd export --model models/M --output heuristics/conv
  ckselect uhd check heuristics/conv.uhd.json
  ckselect uhd import heuristics/conv.uhd.json --output models/back

docs/uhd.md says what is proved of these files, and what is not.";

/// Exchange models with hipDNN's heuristic descriptors (experimental)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Export(ExportArgs),
    Check(CheckArgs),
    Import(ImportArgs),
}

/// Write a model's ranking forest with its descriptor, exactly, or refuse it
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect uhd export --model models/M --output heuristics/conv
  ckselect uhd export --model models/M --keys engine.json --output heuristics/conv

  ckselect uhd export --model models/M --library /usr/lib/libck_select.so --output heuristics/conv

Writes NAME.uhd.json and NAME.bin, or with --library NAME.so. Features of a kernel are called $kernel.NAME, \
others $ck.NAME, for an engine that publishes them so; --keys says what they are for another engine.")]
struct ExportArgs {
    /// Model directory
    #[arg(long, value_name = "DIR", value_parser = model_directory)]
    model: PathBuf,
    /// The files' name without .uhd.json
    #[arg(long, value_name = "NAME")]
    output: PathBuf,
    /// Make a scorer of the adapter custom_library instead: a copy of this libck_select.so that carries the
    /// forest
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// A JSON object whose keys replace the descriptor's, such as features_signature and trained_against
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
}

/// Check descriptors with their artifacts, as hipDNN does and more strictly
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect uhd check heuristics/*/*.uhd.json
  ckselect uhd check conv.uhd.json --format json

Prints what LightGBM's trees do not have (nodes with several parents, `<`, groups), and whether `import` can \
express it.")]
struct CheckArgs {
    /// Descriptors
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Write a model directory with the forest of a descriptor
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ckselect uhd import heuristics/conv.uhd.json --output models/conv

A descriptor of `export` gives back the model with its spec. Of another, only the forest is written: its \
rows can be scored, but ck-select does not know its features.")]
struct ImportArgs {
    /// The descriptor, of trees
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The model, a directory that does not exist yet
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.action {
        Action::Export(export) => run_export(export),
        Action::Check(check) => run_check(check),
        Action::Import(import) => run_import(import),
    }
}

/// The targets for whose scores descriptors have a word.
const METRICS: [(Target, &str); 2] = [(Target::Tflops, "tflops"), (Target::Latency, "time")];

/// An error in a file.
fn of_file<E: Display>(path: &Path) -> impl Fn(E) -> CliError {
    move |error| CliError::failed(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    files::read(path).map_err(CliError::io(path.display()))
}

fn object(path: &Path) -> Result<Map<String, Value>, CliError> {
    json::object(&read(path)?).map_err(of_file(path))
}

fn run_export(args: &ExportArgs) -> Result<(), CliError> {
    let model = Model::load(&args.model)?;
    let Some(forest) = model.ranking_forest().filter(|_| model.spec().prior.is_none()) else {
        let model = args.model.display();
        fail!("{model}: its scores contain the estimate's, for which descriptors have no words");
    };
    let name = args.output.to_string_lossy();
    let stem = name.strip_suffix(".uhd.json").unwrap_or(&name);
    let descriptor = PathBuf::from(format!("{stem}.uhd.json"));
    let artifact = PathBuf::from(format!("{stem}.{}", if args.library.is_some() { "so" } else { "bin" }));
    let mut keys = keys(args, &model, forest)?;
    let hash = features_hash(&keys["features_signature"], keys.get("categorical_encoding"));
    let bytes = if let Some(path) = &args.library {
        let text = forest_text(&args.model, model.spec().rank_by)?.unwrap_or_default();
        let library = read(path)?;
        if !uhd::is_library(&library) {
            fail!("{}: not a libck_select.so of this version", path.display());
        }
        uhd::carrying(&library, &text).map_err(of_file(&args.model))?
    } else {
        let training_arches = model.spec().arch.iter().map(ToString::to_string).collect();
        let written = Hgbm::from_forest(forest)
            .and_then(|trees| Hgbm { features_hash: hash.clone(), training_arches, ..trees }.write());
        written.map_err(of_file(&args.model))?
    };
    let (digest, file) = (sha256(&bytes), output::file_name(&artifact));
    keys.entry("features_hash").or_insert_with(|| hash.clone().into());
    keys.entry("trained_against").or_insert_with(
        || json!({ "selector_revision": format!("ck-select/{hash}"), "feature_semantics_revision": 1 }),
    );
    keys.entry("id").or_insert_with(|| uuid(&sha256(format!("{hash}{digest}").as_bytes())).into());
    let (adapter, body) = match args.library {
        Some(_) => ("custom_library", json!({ "library": file, "hash": digest, "symbol": uhd::SYMBOL })),
        None => ("tree_data", json!({ "artifact": file, "hash": digest })),
    };
    keys.insert("adapter".to_owned(), adapter.into());
    keys.insert(adapter.to_owned(), body);
    let checked = Descriptor::new(keys).map_err(of_file(&descriptor))?;
    checked.open(&bytes).map_err(of_file(&descriptor))?;
    files::write(&artifact, &bytes).map_err(CliError::io(artifact.display()))?;
    output::write_json(&descriptor, checked.document())
}

/// The keys of a descriptor that follow from the model; keys given as options replace them.
fn keys(args: &ExportArgs, model: &Model, forest: &Forest) -> Result<Map<String, Value>, CliError> {
    let (spec, target) = (model.spec(), model.spec().rank_by);
    if forest.objective().transform() != Transform::Identity {
        let model = args.model.display();
        fail!("{model}: its objective transforms scores, for which descriptors have no words");
    }
    let schema = &spec.extractor.schema;
    let columns: Vec<_> = schema.names().into_iter().zip(schema.scopes()).collect();
    let both: Vec<_> = columns.iter().filter(|(_, scope)| *scope == "pair").map(|(name, _)| *name).collect();
    if args.keys.is_none() && !both.is_empty() {
        let both = both.join(", ");
        say!(
            "ckselect: hipDNN computes these by expressions only, so give features_signature by --keys: {both}"
        );
    }
    let name =
        |(name, scope): &(_, _)| format!("${}.{name}", if *scope == "kernel" { "kernel" } else { "ck" });
    let mut own = object(&args.model.join(FeatureSpec::FILE))?;
    // What is filled in by a model's name must not depend on what a copy is called.
    own.extend(spec.known_as().map(|known| ("model_name".to_owned(), known.into())));
    let transform = if spec.log_targets.contains(&target) { "log1p" } else { "identity" };
    let mut score = json!({ "calibrated": false, "transform": transform });
    if let Some((_, metric)) = METRICS.iter().find(|(known, _)| *known == target) {
        score["metric"] = (*metric).into();
    }
    let document = [
        ("version", "1.0".into()),
        ("name", format!("ck-select {} {target}", spec.op()).into()),
        ("features_signature", columns.iter().map(name).collect()),
        ("objective", if target == Target::Latency { "min" } else { "max" }.into()),
        ("score", score),
        ("provenance", json!({ "ck_select": { "target": target.as_str(), "feature_spec": own } })),
    ];
    let mut keys = Map::from_iter(document.map(|(key, value)| (key.to_owned(), value)));
    if let Some(path) = &args.keys {
        keys.extend(object(path)?);
    }
    Ok(keys)
}

/// An identity that follows from contents: a UUID of version 8.
fn uuid(digest: &str) -> String {
    let part = |range: std::ops::Range<usize>| &digest[range];
    format!("{}-{}-8{}-a{}-{}", part(0..8), part(8..12), part(12..15), part(15..18), part(18..30))
}

/// A descriptor, with the trees of its artifact.
fn opened(path: &Path) -> Result<(Descriptor, Option<Hgbm>), CliError> {
    let descriptor = Descriptor::parse(&read(path)?).map_err(of_file(path))?;
    let trees = match descriptor.artifact(path).map_err(of_file(path))? {
        Some(artifact) => descriptor.open(&read(&artifact)?).map_err(of_file(path))?,
        None => None,
    };
    Ok((descriptor, trees))
}

/// The names of LightGBM's columns: bare names stay, expressions have none.
fn names(descriptor: &Descriptor) -> Vec<String> {
    let name = |(column, entry): (usize, &Value)| match entry.as_str() {
        Some(name) if !name.contains(|byte: char| byte.is_whitespace() || ",:\"{}".contains(byte)) => {
            name[1..].to_owned()
        }
        _ => format!("Column_{column}"),
    };
    descriptor.signature().iter().enumerate().map(name).collect()
}

fn run_check(args: &CheckArgs) -> Result<(), CliError> {
    let header = "file adapter generation features trees nodes shared less groups lightgbm".split(' ');
    let (mut table, mut result) = (ResultTable::new(header), Ok(()));
    for path in &args.files {
        match opened(path) {
            Ok((descriptor, trees)) => table.push(check_row(path, &descriptor, trees.as_ref())),
            Err(error) => {
                error.exit();
                result = Err(CliError::Reported(1));
            }
        }
    }
    table.print(args.format)?;
    result
}

fn check_row(path: &Path, descriptor: &Descriptor, trees: Option<&Hgbm>) -> Vec<Cell> {
    let generation = match descriptor.old().join(", ") {
        old if old.is_empty() => "C".to_owned(),
        old => format!("B: {old}, which newer hipDNN refuses"),
    };
    let (file, features) = (path.display().to_string(), descriptor.signature().len());
    let mut row = vec![file.into(), descriptor.adapter().into(), generation.into(), features.into()];
    match trees {
        Some(trees) => {
            let shape = trees.shape();
            let counts = [trees.trees.len(), shape.nodes, shape.shared, shape.less, trees.groups];
            row.extend(counts.map(Cell::from));
            let text = trees.to_text(&names(descriptor));
            row.push(text.map_or_else(|error| error.to_string(), |_| "yes".to_owned()).into());
        }
        None => row.resize(10, Cell::Empty),
    }
    row
}

fn run_import(args: &ImportArgs) -> Result<(), CliError> {
    let (descriptor, trees) = opened(&args.file)?;
    let file = args.file.display();
    let Some(trees) = trees else {
        fail!("{file}: adapter: found {}, expected tree_data", descriptor.adapter());
    };
    let (score, ours) = (&descriptor.document()["score"], &descriptor.document()["provenance"]["ck_select"]);
    let spec = ours.get("feature_spec").filter(|spec| spec.is_object());
    let transform = score["transform"].as_str().unwrap_or("identity");
    if spec.is_some() && !["identity", "log1p"].contains(&transform) {
        fail!("{file}: score.transform: found '{transform}', expected identity or log1p");
    }
    let metric = METRICS.iter().find(|(_, metric)| score["metric"] == *metric);
    let target = match ours["target"].as_str() {
        Some(word) => word.parse()?,
        None => metric.map_or(Target::Relative, |(target, _)| *target),
    };
    let columns = match spec.and_then(|spec| spec.get("feature_names")?.as_array()) {
        Some(names) => names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect(),
        None => names(&descriptor),
    };
    let text = trees.to_text(&columns).map_err(of_file(&args.file))?;
    let io = |error| CliError::io(args.output.display())(error);
    let staged = Staged::create(&args.output).map_err(io)?;
    staged.write(&target.file_name(), text.as_bytes()).map_err(io)?;
    if let Some(spec) = spec {
        staged.write(FeatureSpec::FILE, format!("{spec:#}\n").as_bytes()).map_err(io)?;
        Model::load(staged.path())?;
    } else {
        Forest::load(staged.path().join(target.file_name()))?;
        say!(
            "ckselect: {}: only a forest, without {}: ck-select does not know these features (transform of its \
             scores: {transform})",
            args.output.display(),
            FeatureSpec::FILE
        );
    }
    staged.commit(false).map_err(io)
}
