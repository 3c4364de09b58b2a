//! `ckselect dev predict`: a forest's predictions for raw feature rows.

use std::path::PathBuf;
use std::sync::Arc;

use ck_select::directory::{Model, Target};
use ck_select::embedded;
use ck_select::features::Schema;
use ck_select::forest::Forest;
use ck_select::sheet::{Opened, Sheet};
use ck_select::vocab::Op;
use csv::StringRecord;

use super::super::is_embedded;
use crate::error::CliError;
use crate::input;
use crate::output::Output;
use crate::table::{Format, StreamedTable};

const EXAMPLES: &str = "Examples:
  ckselect dev predict --model models/M --data rows.csv --output predictions.csv
  ckselect dev predict --model model_tflops.lgbm.gz --data rows.csv

Output columns: `raw` is the forest's prediction, LightGBM's predict() bit for bit; `value` is `raw` after \
the inverse transform of the spec (expm1 for log targets, otherwise clamped at 0). A LightGBM file without a \
spec has no transform, so both are equal.

Rows contain the constants of their GPU; `ckselect dev features --arch` computes rows for another GPU. \
`ckselect rank` predicts for kernels and problems by their names and fields.";

/// Predict from raw feature rows
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model directory, embedded:NAME, or one LightGBM file (.lgbm, .txt or .gz)
    #[arg(long, value_name = "DIR|FILE")]
    model: PathBuf,
    /// The target whose forest predicts; by default the one that ranks
    #[arg(long, value_name = "TARGET", value_parser = super::super::word::<Target>)]
    target: Option<Target>,
    /// CSV of feature rows; an empty cell is NaN. With a header of feature names (with or without f:) the
    /// columns are found by name, otherwise they are in the model's order
    #[arg(long, value_name = "IN.csv")]
    data: PathBuf,
    /// Output file for the columns raw and value [default: standard output]
    #[arg(long, value_name = "OUT.csv")]
    output: Option<PathBuf>,
}

/// A forest, and if it has one, its model with the target that it predicts.
struct Source {
    forest: Arc<Forest>,
    model: Option<(Model, Target)>,
}

impl Source {
    fn load(args: &Args) -> Result<Self, CliError> {
        if args.model.is_dir() || is_embedded(&args.model) {
            let model = embedded::open(&args.model)?;
            let target = args.target.unwrap_or(model.spec().rank_by);
            let none = || CliError::failed(format!("{}: no forest for {target}", model.name()));
            let forest = model.forest(target).cloned().ok_or_else(none)?;
            return Ok(Self { forest, model: Some((model, target)) });
        }
        if args.target.is_some() {
            refuse!("--target: a single LightGBM file has one forest");
        }
        Ok(Self { forest: Arc::new(Forest::load(&args.model)?), model: None })
    }

    fn value(&self, raw: f64) -> f64 {
        self.model.as_ref().map_or(raw, |(model, target)| model.value(*target, raw))
    }

    /// The feature names, from the model if there is one: a forest that was trained from a bare matrix does
    /// not know them.
    fn names(&self) -> Vec<String> {
        match &self.model {
            Some((model, _)) => model.extractor().schema.names().into_iter().map(str::to_owned).collect(),
            None => self.forest.feature_names().to_vec(),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let source = Source::load(args)?;
    let forest = &source.forest;
    let (name, stream) = input::open(&args.data)?;
    let mut sheet = Sheet::new(Opened::new(&name, stream)?);
    let mut rows = StreamedTable::new(Format::Csv, Output::create(args.output.as_deref())?, ["raw", "value"]);
    let mut row = vec![0.0; forest.num_features()];
    let mut order: Option<Vec<usize>> = None;
    while sheet.next()? {
        let record = sheet.rows.record();
        let order = match &order {
            Some(order) => order,
            None if is_header(record) => {
                order = Some(columns(record, &source.names()).map_err(|error| sheet.fault(error))?);
                continue;
            }
            None if record.len() == row.len() => order.insert((0..row.len()).collect()),
            None => {
                let message = format!("{} cells, the forest has {} features", record.len(), row.len());
                return Err(sheet.fault(message).into());
            }
        };
        read_row(&sheet, order, &mut row)?;
        let raw = forest.predict(&row)?;
        rows.push(vec![raw.into(), source.value(raw).into()])?;
    }
    rows.finish()
}

/// Whether the first row is a header, which has names and no number.
fn is_header(record: &StringRecord) -> bool {
    let mut cells = record.iter().filter(|cell| !cell.is_empty()).peekable();
    cells.peek().is_some() && cells.all(|cell| cell.parse::<f64>().is_err())
}

/// The column of each feature.
fn columns(header: &StringRecord, names: &[String]) -> Result<Vec<usize>, String> {
    let plain: Vec<&str> = header.iter().map(|cell| cell.strip_prefix("f:").unwrap_or(cell)).collect();
    let found: Vec<Option<usize>> =
        names.iter().map(|name| plain.iter().position(|column| column == name)).collect();
    let is_repeated = |name: &&&str| plain.iter().filter(|other| other == name).count() > 1;
    if let Some(name) = plain.iter().filter(|name| !name.is_empty()).find(is_repeated) {
        return Err(format!("column '{name}' appears twice"));
    }
    let is_feature = |name: &&str| Op::ALL.iter().any(|&op| Schema::by_names(op, &[name]).is_ok());
    if found.iter().all(Option::is_none) && plain.len() == names.len() && !plain.iter().any(is_feature) {
        // Names of some other kind: the order has to be the model's.
        return Ok((0..names.len()).collect());
    }
    let missing: Vec<&str> = names
        .iter()
        .zip(&found)
        .filter(|(_, place)| place.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    Err(format!("no column for {}", missing.join(", ")))
}

/// Fills a feature row from its columns.
fn read_row(sheet: &Sheet<'_>, order: &[usize], row: &mut [f64]) -> Result<(), CliError> {
    for (value, &column) in row.iter_mut().zip(order) {
        let cell = sheet.rows.text(column);
        let wrong = |_| sheet.fault(format!("column {}: found '{cell}', expected a number", column + 1));
        *value = if cell.is_empty() { f64::NAN } else { cell.parse().map_err(wrong)? };
    }
    Ok(())
}
