//! Measured rows with their features, grouped by run.

use std::ops::Range;
use std::sync::Arc;

use ck_select_model::directory::Target;
use ck_select_model::estimate::Estimator;
use ck_select_model::features::Extractor;
use ck_select_model::ranking::universal_rows;

use ck_select_types::index;
use ck_select_types::vocab::Arch;

use ck_select_measurements::features;
use ck_select_measurements::{Measurements, Row, Run};

use super::error::TrainError;

/// Features of rows: one matrix for all targets.
#[derive(Debug, Default)]
struct Features {
    /// Row after row.
    values: Vec<f64>,
    /// The logarithm of each row's estimated microseconds, for a universal model; otherwise empty.
    log_times: Vec<f64>,
}

/// Rows of one target: a view of the features.
#[derive(Debug, Default)]
pub struct TrainingData {
    /// Columns.
    pub names: Vec<String>,
    features: Arc<Features>,
    /// The index of each row among the features.
    places: Vec<u32>,
    /// Index into [`Measurements::rows`], by row.
    pub rows: Vec<u32>,
    /// The measured target, by row.
    pub measured: Vec<f64>,
    /// Measured TFLOPS, by row.
    pub tflops: Vec<f64>,
    /// The speed as a share of the fastest kernel that was measured together with it, by row.
    pub efficiency: Vec<f64>,
    /// The problems, in the order of their first rows; a problem that was measured twice occurs twice.
    pub problems: Vec<Item>,
}

index! {
    /// The index of an [`Item`] in [`TrainingData::problems`].
    pub ItemIndex
}

/// A problem of the training data, with the rows of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// The architecture on which it was measured, if the problem or the training names one.
    pub arch: Option<Arch>,
    /// The file of the problem's first row, counted from 0.
    pub file: usize,
    /// The problem's rows.
    pub span: Range<usize>,
    /// Whether the problem is only trained on, never held out.
    pub only_trains: bool,
}

impl TrainingData {
    /// The usable rows for a target: valid, and with a positive value of it. `only_trains` says of each file
    /// whether its problems are only trained on, never held out.
    pub fn new(
        measurements: &Measurements,
        extractor: &Extractor,
        target: Target,
        only_trains: &[bool],
    ) -> Result<Self, TrainError> {
        let targets = [target].into_iter();
        Ok(Self::for_targets(measurements, extractor, targets, only_trains)?.swap_remove(0))
    }

    /// The data for several targets, with one matrix of the rows that are usable for any of them.
    pub fn for_targets(
        measurements: &Measurements,
        extractor: &Extractor,
        targets: impl Iterator<Item = Target>,
        only_trains: &[bool],
    ) -> Result<Vec<Self>, TrainError> {
        let each = targets.map(|target| Self::without_features(measurements, extractor, target, only_trains));
        let mut all = each.collect::<Result<Vec<_>, _>>()?;
        Self::fill(&mut all, measurements, extractor)?;
        Ok(all)
    }

    fn without_features(
        measurements: &Measurements,
        extractor: &Extractor,
        target: Target,
        only_trains: &[bool],
    ) -> Result<Self, TrainError> {
        let value = |row: &Row| match target {
            Target::Latency => row.latency_ms,
            Target::Bandwidth => row.bandwidth_gb_s,
            Target::Tflops | Target::Relative => row.tflops,
        };
        let mut data = Self {
            names: extractor.schema.names().into_iter().map(str::to_owned).collect(),
            ..Self::default()
        };
        let is_usable = |row: &Row| {
            // A kernel without a time in a tuned table has only lost: its speed is assumed.
            let is_assumed = row.share.is_some() && row.latency_ms.is_nan();
            (!is_assumed || target == Target::Relative) && value(row) > 0.0 && value(row).is_finite()
        };
        let only_trains = |&row: &u32| only_trains.get(measurements.file_of(row)).is_some_and(|only| *only);
        for Run { problem, mut rows, .. } in measurements.runs() {
            let start = data.rows.len();
            rows.retain(|&row| is_usable(&measurements.rows()[row as usize]));
            let only_trains = rows.iter().all(only_trains);
            for one in measurements.configurations(rows) {
                data.rows.push(one.rows[0]);
                data.measured.push(measurements.median(&one, value));
                data.tflops.push(measurements.median(&one, |row| row.tflops));
            }
            let span = start..data.rows.len();
            if !span.is_empty() {
                let best = data.tflops[span.clone()].iter().copied().fold(0.0, f64::max);
                let efficiency = |row_index: usize| {
                    let share = measurements.rows()[data.rows[row_index] as usize].share;
                    share.map_or(data.tflops[row_index] / best, f64::from)
                };
                data.efficiency.extend(span.clone().map(efficiency).collect::<Vec<_>>());
                let arch = measurements.problems()[problem as usize].arch().or(extractor.arch);
                let file = measurements.file_of(data.rows[start]);
                data.problems.push(Item { problem, arch, file, span, only_trains });
            }
        }
        if data.rows.is_empty() {
            let message = format_args!("target {target}: no valid row of the data has a value of it");
            return Err(TrainError::refused(message));
        }
        Ok(data)
    }

    fn fill(all: &mut [Self], measurements: &Measurements, extractor: &Extractor) -> Result<(), TrainError> {
        if extractor.schema.universal_columns().is_some() {
            for data in all {
                data.features = Arc::new(data.universal(measurements, extractor)?);
                data.places = (0..data.rows.len() as u32).collect();
            }
            return Ok(());
        }
        let mut rows = Vec::new();
        let mut place_of = vec![u32::MAX; measurements.rows().len()];
        for &row in all.iter().flat_map(|data| &data.rows) {
            let slot = &mut place_of[row as usize];
            if *slot == u32::MAX {
                *slot = rows.len() as u32;
                rows.push(row);
            }
        }
        let values = features::rows(measurements, extractor, &rows).map_err(TrainError::refused)?;
        let features = Arc::new(Features { values, log_times: Vec::new() });
        for data in all {
            data.features = Arc::clone(&features);
            data.places = data.rows.iter().map(|&row| place_of[row as usize]).collect();
        }
        Ok(())
    }

    /// Each run is a pool, on its problem's GPU.
    fn universal(&self, measurements: &Measurements, extractor: &Extractor) -> Result<Features, TrainError> {
        let mut features = Features::default();
        for item in &self.problems {
            let problem = &measurements.problems()[item.problem as usize];
            let arch = item.arch.ok_or_else(|| {
                let why = "its rows name no architecture; --arch says what such rows were measured on";
                TrainError::about(problem, why)
            })?;
            let estimator = Estimator::new(measurements.device_of_file(item.file, arch)?);
            let row = |row: &u32| &measurements.rows()[*row as usize];
            for rows in self.rows[item.span.clone()].chunk_by(|a, b| row(a).split_k == row(b).split_k) {
                let problem = &measurements.problem_of(row(&rows[0]));
                let kernels = rows.iter().map(|index| &measurements.kernels()[row(index).kernel as usize]);
                let kinds = kernels.clone().map(|one| &one.kind);
                let (values, log_times) = universal_rows(extractor, estimator, problem, kinds)
                    .map_err(|fault| TrainError::about(problem, fault))?;
                if let Some((kernel, _)) = kernels.zip(&log_times).find(|(_, time)| time.is_nan()) {
                    let why = estimator.shape(&kernel.kind).err().map_or_else(String::new, |e| e.to_string());
                    let why = format_args!("it was measured on {arch}, but {why}");
                    return Err(TrainError::about(&kernel.name, why));
                }
                features.values.extend(values);
                features.log_times.extend(log_times);
            }
        }
        Ok(features)
    }

    /// The problems with only some of their rows, by the index of the measurement. Speeds become relative to
    /// the fastest that is kept.
    pub(super) fn keeping(&self, keep: impl Fn(u32) -> bool) -> Self {
        let (names, features) = (self.names.clone(), Arc::clone(&self.features));
        let mut part = Self { names, features, ..Self::default() };
        for item in &self.problems {
            let start = part.rows.len();
            for row in item.span.clone().filter(|&row| keep(self.rows[row])) {
                part.places.push(self.places[row]);
                part.rows.push(self.rows[row]);
                part.measured.push(self.measured[row]);
                part.tflops.push(self.tflops[row]);
            }
            let span = start..part.rows.len();
            let best = part.tflops[span.clone()].iter().copied().fold(0.0, f64::max);
            part.efficiency.extend(part.tflops[span.clone()].iter().map(|tflops| tflops / best));
            part.problems.push(Item { span, ..item.clone() });
        }
        part
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// The values of one row.
    pub fn row(&self, row: usize) -> &[f64] {
        let candidate = self.places[row] as usize;
        &self.features.values[candidate * self.width()..(candidate + 1) * self.width()]
    }

    /// The indices of all problems.
    pub(super) fn items(&self) -> impl Iterator<Item = ItemIndex> + use<> {
        (0..self.problems.len()).map(ItemIndex::new)
    }

    /// A problem, with its rows.
    pub(super) fn item(&self, index: ItemIndex) -> &Item {
        &self.problems[index.get()]
    }

    /// The values of the rows of some problems, in as few contiguous pieces as possible.
    pub(super) fn blocks(&self, problems: &[ItemIndex]) -> impl Iterator<Item = &[f64]> {
        let places: Vec<usize> = self.rows_of(problems).map(|row| self.places[row] as usize).collect();
        let blocks = places.chunk_by(|one, next| one + 1 == *next);
        let ranges: Vec<Range<usize>> = blocks.map(|block| block[0]..block[0] + block.len()).collect();
        let width = self.width();
        ranges.into_iter().map(move |rows| &self.features.values[rows.start * width..rows.end * width])
    }

    /// The logarithm of a row's estimated microseconds, for a universal model.
    pub fn log_time(&self, row: usize) -> f64 {
        self.features.log_times[self.places[row] as usize]
    }

    /// The rows of some problems, one problem after the other.
    pub(super) fn rows_of<'a>(&'a self, problems: &'a [ItemIndex]) -> impl Iterator<Item = usize> + 'a {
        problems.iter().flat_map(|&problem| self.item(problem).span.clone())
    }

    /// The ranges of the rows of some problems if they are put one after the other.
    pub(super) fn spans_of(&self, problems: &[ItemIndex]) -> Vec<Range<usize>> {
        let mut end = 0;
        let span = |&problem: &ItemIndex| {
            let start = end;
            end += self.item(problem).span.len();
            start..end
        };
        problems.iter().map(span).collect()
    }
}
