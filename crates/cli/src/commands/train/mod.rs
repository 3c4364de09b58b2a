//! `ckselect train`: trains a model directory from measurements.

use std::path::PathBuf;

use super::data::{ChooseOption, WhereOption};
use super::gpu::Gpu;
#[cfg(not(feature = "train"))]
use crate::error::CliError;
use crate::table::Format;

#[cfg(feature = "train")]
mod columns;
#[cfg(feature = "train")]
mod params;
#[cfg(feature = "train")]
mod plan;
#[cfg(feature = "train")]
mod rows;
#[cfg(feature = "train")]
mod run;
#[cfg(feature = "train")]
mod training;
#[cfg(feature = "train")]
mod tuned;
#[cfg(feature = "train")]
use ck_select_train::Folds;
#[cfg(feature = "train")]
pub(super) use run::{card, run};

const EXAMPLES: &str = "Examples:
  ckselect train --data sweep.csv --output models/mine --arch gfx950
  ckselect train --data oracle.csv --extra-data sweep.csv --output models/mine --arch gfx950 \\
      --params num_leaves=31
  ckselect train --universal --data mi355x.csv --arch gfx950 --data data/h200 --folds device \\
      --output models/any
  ckselect train --winners a8w8_tuned_gemm.csv --pool a8w8_rowwise --arch gfx942 \\
      --output models/mine
  ckselect train --data parquet/ --output models/gemm --where op=gemm_universal,dtype=fp8 \\
      --arch gfx942 --objective log1p --targets tflops,latency,bandwidth

Objectives that only rank (lambdarank, listwise, relative) train model_relative.lgbm.gz, by which the model \
ranks, plus a forest for each of --targets. log1p and raw are upstream's: the forest of tflops ranks. \
Parameters have the names of LightGBM's scikit-learn interface or of LightGBM itself; TARGET.NAME=VALUE sets \
one for a single target.";

/// Train a model from measurements
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[cfg_attr(not(feature = "train"), allow(dead_code))]
pub(crate) struct Args {
    /// Measurements: benchmark CSVs, parquet, JSON, logs; a folder stands for its *.parquet files
    #[arg(long, value_name = "PATH", required_unless_present = "winners", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Instead of --data, tuned tables, AITER's, those of vLLM and SGLang or folders of them, or a CSV of
    /// problems and kernels: rows say which kernel of --pool won, on any GPUs of --arch. The estimate takes
    /// part, see --prior; pairs of N and K are held out, of other operations than GEMMs problems
    #[arg(
        long,
        value_name = "FILE|DIR",
        num_args = 1..,
        requires = "pool",
        conflicts_with_all = ["data", "extra_data", "universal", "warm_start"]
    )]
    winners: Vec<PathBuf>,
    /// The kernels among which winners won: one pool for all tables, or one for each, in their order:
    /// files, or families of AITER's kernels (`ckselect enumerate FAMILY`)
    #[arg(long, value_name = "FILE|FAMILY", num_args = 1.., requires = "winners")]
    pool: Vec<PathBuf>,
    /// Measurements only for training, never held out by cross-validation
    #[arg(long, value_name = "PATH", num_args = 1..)]
    extra_data: Vec<PathBuf>,
    #[command(flatten)]
    rows: WhereOption,
    #[command(flatten)]
    choose: ChooseOption,
    /// The model directory to write
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Replace an existing model directory
    #[arg(long)]
    overwrite: bool,
    /// The GPU that was measured: an architecture such as gfx950, a product such as MI300X, or a file of
    /// constants. With --universal, that of rows that record none; with --winners, num_cus is that of rows
    /// without cu_num [default: what the rows record]
    #[arg(long = "arch", value_name = "ARCH|FILE", default_value = "", hide_default_value = true)]
    gpu: Gpu,
    /// Train a universal model (docs/estimate.md): one forest on data of any devices, directions and types,
    /// each row for the GPU that it names, with the estimate as prior. It only ranks
    #[arg(long, conflicts_with_all = ["targets", "objective", "features"])]
    universal: bool,
    /// Let the estimate take part: its columns before the features, and its order, with this weight, as the
    /// prior of --objective listwise or lambdarank. The model is for one architecture (docs/training.md)
    /// [default with --winners: 1]
    #[arg(
        long,
        value_name = "WEIGHT",
        value_parser = prior_weight,
        conflicts_with_all = ["universal", "warm_start"]
    )]
    prior: Option<f64>,
    /// Values to predict: tflops, latency, bandwidth. The first ranks, unless the objective only ranks. With
    /// --winners, times of winners teach them [default: tflops; none with --prior or --winners]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    targets: Option<Vec<String>>,
    /// lambdarank, listwise, relative, log1p or raw; by default lambdarank, or that of --warm-start
    #[arg(long, value_name = "NAME")]
    objective: Option<String>,
    /// A feature engine (see `ckselect dev features --help`), or feature names separated by commas
    #[arg(long, value_name = "ENGINE|NAMES")]
    features: Option<String>,
    /// Parameters of LightGBM and of the training. Those of LightGBM default to the objective's; the
    /// training's are seed=42, fold_seed (shuffles groups of equal size among the folds), threads (folds at a
    /// time), early_stopping=inner, held-out or off (which problems decide when to stop), and group_by, what stays on one side of a fold: problem,
    /// sizes (whatever their direction, type and architecture), pair (GEMMs of the same N and K) or upstream
    /// (its keys, which pool strides and padding)
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    /// Folds of the cross-validation, 1 for none; or what is held out instead: each device, each direction,
    /// each type, each network (`model` in tables), or the problems of one file of --data
    #[arg(long, value_name = "COUNT|device|direction|dtype|model|FILE", default_value = "5")]
    folds: Folds,
    /// Add trees to this model: a directory or embedded:NAME, but not a universal one. --params n_estimators
    /// says how many (default 500)
    #[arg(long, value_name = "MODEL")]
    warm_start: Option<PathBuf>,
    /// Output format of the cross-validation's figures
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[cfg(not(feature = "train"))]
type Folds = String;

fn prior_weight(text: &str) -> Result<f64, String> {
    let weight = text.parse::<f64>().ok().filter(|weight| (0.0..=1000.0).contains(weight));
    weight.ok_or_else(|| "expected a number from 0 to 1000".to_owned())
}

/// Any command that trains.
#[cfg(not(feature = "train"))]
pub(crate) fn run<A>(_: &A) -> Result<(), CliError> {
    refuse!(
        "this ckselect was built without LightGBM, so it cannot train; build it with `make ckselect` or, \
         with CMake 3.28 and libclang, `cargo build --release -p ckselect --features train`"
    )
}
