//! `ckselect inspect`: the contents of a model.

use std::io::Write;
use std::path::{Path, PathBuf};

use ck_select::directory::{EmbeddedModel, FeatureSpec, Model, Substitute, Target};
use ck_select::embedded;
use ck_select::features::Engine;
use ck_select::forest::{FeatureInfo, Forest};
use ck_select::hardware::Hardware;
use ck_select::vocab::{Arch, Op};
use serde_json::{Map, Value, json};

use crate::error::CliError;
use crate::output::{Output, write_file};
use crate::table::{Cell, Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect inspect --model models/M
  ckselect inspect --model models/M --format json | jq .targets
  ckselect inspect --model fmha_fwd_gfx950 --write-spec fmha68 --arch gfx950

With --format csv, only the table of features is written.";

/// Show a model's contents: schema, targets, forests, importances, provenance
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model directory, or embedded:NAME; `embedded:` lists the built-in models
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Write the spec of a model directory that has none: its schema is fmha68, its GPU that of --arch
    #[arg(long, value_name = "SCHEMA", requires = "arch", value_parser = super::word::<Engine>)]
    write_spec: Option<Engine>,
    /// The architecture that a model without a spec was trained for
    #[arg(long, value_name = "ARCH", requires = "write_spec", value_parser = super::target)]
    arch: Option<Arch>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if args.model.as_os_str() == EmbeddedModel::PREFIX {
        return embedded_models()?.print(args.format);
    }
    if let (Some(engine), Some(arch)) = (args.write_spec, args.arch) {
        write_spec(&args.model, engine, arch)?;
    }
    let model = super::load_model(&args.model)?;
    let target = model.spec().rank_by;
    let forest = model
        .forest(target)
        .ok_or_else(|| CliError::failed(format!("{}: no forest for {target}", model.name())))?;
    let features = features(&model, forest);
    Output::report()?.filled(|out| match args.format {
        Format::Csv => features.write(Format::Csv, out),
        Format::Json => {
            let mut document = summary(&model, &args.model);
            document.insert("targets".into(), targets(&model, &args.model).to_json());
            document.insert("importances_of".into(), target.as_str().into());
            document.insert("features".into(), features.to_json());
            writeln!(out, "{:#}", Value::Object(document))
        }
        Format::Table => write_report(&model, &args.model, target, &features, out),
        Format::Markdown => {
            let mut facts = ResultTable::new(["property", "value"]);
            for (key, value) in summary(&model, &args.model) {
                facts.push(vec![key.into(), shown(value).into()]);
            }
            [facts, targets(&model, &args.model), features].iter().enumerate().try_for_each(|(at, table)| {
                if at > 0 {
                    writeln!(out)?;
                }
                table.write(Format::Markdown, out)
            })
        }
    })
}

/// The models that are built in.
fn embedded_models() -> Result<ResultTable, CliError> {
    let mut table = ResultTable::new(["model", "operation", "direction", "dtype", "arch", "library"]);
    for embedded in embedded::all() {
        let spec = embedded.spec()?;
        let cell = |word: Option<String>| Cell::from(word);
        table.push(vec![
            format!("{}{}", EmbeddedModel::PREFIX, embedded.name()).into(),
            spec.extractor.ops().map(Op::as_str).collect::<Vec<_>>().join(", ").into(),
            cell(spec.direction.map(|word| word.to_string())),
            cell(spec.dtype.map(|word| word.to_string())),
            cell(spec.arch.map(|word| word.to_string())),
            cell(spec.library.map(|word| word.to_string())),
        ]);
    }
    Ok(table)
}

/// Writes a spec beside its forest; an existing one is not replaced.
fn write_spec(directory: &Path, engine: Engine, arch: Arch) -> Result<(), CliError> {
    let spec = FeatureSpec::bare_document(engine, arch).ok_or_else(|| {
        CliError::usage(format!(
            "--write-spec {}: models of {} have a spec; only those of fmha68 come without",
            engine.as_str(),
            engine.op()
        ))
    })?;
    let path = directory.join(FeatureSpec::FILE);
    if !directory.is_dir() || path.exists() {
        let why =
            if path.exists() { "is there already" } else { "cannot be written: --model is not a directory" };
        fail!("{}: {why}", path.display());
    }
    Model::load_bare(directory, &spec)?;
    write_file(&path, &format!("{spec:#}\n"))
}

fn write_report(
    model: &Model,
    directory: &Path,
    target: Target,
    features: &ResultTable,
    out: &mut Output,
) -> std::io::Result<()> {
    for (key, value) in summary(model, directory) {
        writeln!(out, "{key:<22}{}", shown(value))?;
    }
    writeln!(out)?;
    targets(model, directory).write(Format::Table, out)?;
    writeln!(out, "\nfeatures, with the importances of {target}:")?;
    features.write(Format::Table, out)
}

/// A human-readable value.
fn shown(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map_or(item.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Everything that is not in a table.
fn summary(model: &Model, directory: &Path) -> Map<String, Value> {
    let spec = model.spec();
    let extractor = model.extractor();
    let hardware: Map<String, Value> =
        Hardware::NAMES.iter().map(|&name| (name.to_owned(), extractor.hardware.get(name).into())).collect();
    let mut summary = Map::new();
    let mut add = |key: &str, value: Value| summary.insert(key.to_owned(), value);
    add("model", model.name().into());
    let ops: Vec<Value> = extractor.ops().map(|op| op.as_str().into()).collect();
    add("operation", if let [op] = &ops[..] { op.clone() } else { ops.into() });
    add("direction", spec.direction.map(ck_select::vocab::Direction::as_str).into());
    add("dtype", spec.dtype.map(ck_select::vocab::Dtype::as_str).into());
    add("arch", spec.arch.map(|arch| arch.to_string()).into());
    add("library", spec.library.map(ck_select::vocab::GemmLibrary::as_str).into());
    add("feature_count", extractor.schema.len().into());
    add("categorical_features", json!(spec.categorical_features));
    add("rank_by", spec.rank_by.as_str().into());
    add("log_targets", json!(spec.log_targets.iter().map(|target| target.as_str()).collect::<Vec<_>>()));
    add("rules", serde_json::to_value(extractor.rules).unwrap_or(Value::Null));
    // A universal model ranks for any GPU.
    add("hardware", if model.is_universal() { Value::Null } else { Value::Object(hardware) });
    let filled =
        spec.filled.iter().map(|Substitute { field, value, reason }| format!("{field}: {value} ({reason})"));
    add("filled_in", filled.collect::<Vec<_>>().into());
    add("params", spec.params.clone());
    add("train_manifest", manifest(directory));
    summary
}

/// How the model was trained, if the trainer recorded it; an unreadable record is reported instead of hiding
/// the model.
fn manifest(directory: &Path) -> Value {
    match ck_select::files::read(directory.join("train_manifest.json")) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .unwrap_or_else(|error| Value::String(format!("unreadable: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Value::Null,
        Err(error) => Value::String(format!("unreadable: {error}")),
    }
}

fn targets(model: &Model, directory: &Path) -> ResultTable {
    let mut table = ResultTable::new([
        "target", "objective", "log", "trees", "leaves", "nodes", "max_depth", "max_thresholds", "version",
        "file_bytes", "compressed",
    ]);
    for target in model.targets() {
        let Some(forest) = model.forest(target) else { continue };
        let file = Model::forest_file(directory, target).ok().flatten();
        let size = file.as_ref().and_then(|path| std::fs::metadata(path).ok());
        let compressed = file.map(|path| yes_no(path.extension().is_some_and(|extension| extension == "gz")));
        let thresholds = forest.feature_uses().iter().map(|feature| feature.thresholds).max().unwrap_or(0);
        table.push(vec![
            target.as_str().into(),
            forest.objective().name().into(),
            yes_no(model.spec().log_targets.contains(&target)),
            forest.trees().len().into(),
            forest.leaf_count().into(),
            forest.node_count().into(),
            forest.max_depth().into(),
            thresholds.into(),
            forest.version().into(),
            size.map(|file| file.len()).into(),
            compressed.unwrap_or(Cell::Empty),
        ]);
    }
    table
}

fn yes_no(condition: bool) -> Cell {
    if condition { "yes".into() } else { "no".into() }
}

fn features(model: &Model, forest: &Forest) -> ResultTable {
    let schema = &model.extractor().schema;
    let mut table = ResultTable::new([
        "feature", "depends_on", "splits", "gain", "thresholds", "category_splits", "trained_range",
    ]);
    let uses = forest.feature_uses();
    let columns = schema.names().into_iter().zip(schema.scopes()).zip(uses).zip(forest.feature_infos());
    for (((name, scope), uses), info) in columns {
        table.push(vec![
            name.into(),
            scope.into(),
            uses.splits.into(),
            uses.gain.into(),
            uses.thresholds.into(),
            uses.categorical_splits.into(),
            range(info),
        ]);
    }
    table
}

fn range(info: &FeatureInfo) -> Cell {
    match info {
        FeatureInfo::Range { min, max } => format!("{min} to {max}").into(),
        FeatureInfo::Categories(categories) => format!("{} categories", categories.len()).into(),
        _ => Cell::Empty,
    }
}
