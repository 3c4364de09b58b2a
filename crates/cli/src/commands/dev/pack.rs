//! `ckselect dev pack`: writes a model directory that loads several times faster.

use std::path::PathBuf;

use ck_select::directory::{FeatureSpec, Model, Target, forest_text};
use ck_select::files;
use ck_select::forest::Forest;
use ck_select::packed;
use ck_select::sureness::Sureness;
use ck_select_measurements::staged::Staged;
use serde_json::{Map, Value};

use super::super::model_directory;
use crate::error::CliError;

const EXAMPLES: &str = "Examples:
  ckselect dev pack --model models/M --output /opt/models/M

The copy gives the same scores, bit for bit, and can be used wherever a model directory can. LightGBM cannot \
read it, so keep the original.";

/// Files that are copied with a model if they exist.
const PAPERS: [&str; 3] = ["train_manifest.json", "MODEL_CARD.md", Sureness::FILE];

/// Copy a model into the packed format of embedded models, which loads several times faster
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model directory
    #[arg(long, value_name = "DIR", value_parser = model_directory)]
    model: PathBuf,
    /// The copy, a directory that does not exist yet
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let model = Model::load(&args.model)?;
    if args.output.symlink_metadata().is_ok() {
        fail!("{}: already exists", args.output.display());
    }
    let staged = Staged::create(&args.output).map_err(CliError::io(args.output.display()))?;
    forests(args, &model, &staged)?;
    papers(args, &model, &staged)?;
    staged.commit(false).map_err(CliError::io(args.output.display()))
}

fn forests(args: &Args, model: &Model, staged: &Staged) -> Result<(), CliError> {
    for &target in Target::ALL {
        let Some(text) = forest_text(&args.model, target)? else { continue };
        let failed = |error| CliError::failed(format!("{}: {target}: {error}", args.model.display()));
        let packed = packed::pack(&text).map_err(failed)?;
        let name = target.file_name() + ".packed";
        staged.write(&name, &packed).map_err(CliError::io(args.output.join(&name).display()))?;
        let written = Forest::load(staged.path().join(name))?;
        if model.forest(target).is_none_or(|forest| **forest != written) {
            return Err(failed("the packed forest differs".to_owned()));
        }
    }
    Ok(())
}

fn papers(args: &Args, model: &Model, staged: &Staged) -> Result<(), CliError> {
    let there = PAPERS.into_iter().filter(|name| args.model.join(name).exists());
    for name in there.chain([FeatureSpec::FILE]) {
        let from = args.model.join(name);
        let mut bytes = files::read(&from).map_err(CliError::io(from.display()))?;
        if name == FeatureSpec::FILE
            && let Some(known) = model.spec().known_as()
        {
            bytes = named(&bytes, known).map_err(|error| CliError::io(from.display())(error.into()))?;
        }
        staged.write(name, &bytes).map_err(CliError::io(args.output.join(name).display()))?;
    }
    Ok(())
}

/// The spec with the name by which the model is known: what is filled in by that name must not depend on what
/// the copy is called.
fn named(spec: &[u8], name: &str) -> serde_json::Result<Vec<u8>> {
    let mut keys: Map<String, Value> = serde_json::from_slice(files::without_bom(spec))?;
    keys.insert("model_name".to_owned(), name.into());
    let mut bytes = serde_json::to_vec_pretty(&keys)?;
    bytes.push(b'\n');
    Ok(bytes)
}
