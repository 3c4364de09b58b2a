//! Whether measurements are inside a model's training range.

use ck_select_model::forest::FeatureInfo;
use ck_select_model::select::Ranker;

use crate::candidates::Trial;
use crate::judge::Order;
use ck_select_data::measurements::Measurements;

/// One feature of the problem: its range in training, and its range here.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureCoverage {
    /// The feature.
    pub name: &'static str,
    /// Smallest and largest value in training.
    pub trained: [f64; 2],
    /// Smallest and largest value here.
    pub asked: [f64; 2],
    /// Number of problems whose value is outside the training range.
    pub outside: usize,
}

/// A field in which problems are outside the training range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldCoverage {
    /// The field, or the feature of several fields.
    pub name: &'static str,
    /// Its values in training.
    pub trained: String,
    /// Number of problems that are outside.
    pub outside: usize,
}

/// How much is inside the model's training range.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coverage {
    /// Number of problems with at least one field outside.
    pub problems_outside: usize,
    /// Their fields, the one with the most problems first.
    pub fields: Vec<FieldCoverage>,
    /// Number of kernels that the model does not rank, because it cannot describe them or does not serve
    /// them.
    pub left_out_kernels: usize,
    /// Number of kernels with a pipeline or a suffix that no kernel measured for the model had.
    pub unmeasured_kernels: usize,
    /// Features of the problem that trees use, those with the most problems outside first.
    pub features: Vec<FeatureCoverage>,
}

impl Coverage {
    pub(super) fn new(
        ranker: &Ranker,
        measurements: &Measurements,
        trials: &[Trial],
        orders: &[Order],
    ) -> Self {
        let kernels = 0..ranker.pool().len();
        let mut coverage = Self {
            problems_outside: orders.iter().filter(|order| !order.outside.is_empty()).count(),
            fields: fields(ranker, measurements, trials, orders),
            left_out_kernels: ranker.left_out().len(),
            unmeasured_kernels: kernels.filter(|&kernel| !ranker.unmeasured(kernel).is_empty()).count(),
            features: Vec::new(),
        };
        let (Some(forest), extractor) = (ranker.model().ranking_forest(), ranker.model().extractor()) else {
            return coverage;
        };
        let mut sides =
            measurements.kernels().iter().filter_map(|kernel| extractor.kernel_side(&kernel.kind).ok());
        let Some(kernel) = sides.next() else { return coverage };
        let recorded = ranker.model().spec().trained_range.as_ref();
        let (names, scopes) = (extractor.schema.names(), extractor.schema.scopes());
        let mut features: Vec<(usize, FeatureCoverage)> = forest
            .feature_infos()
            .iter()
            .enumerate()
            .filter(|(column, _)| scopes.get(*column) == Some(&"problem"))
            .filter_map(|(column, info)| {
                let trained = match (recorded, info) {
                    (Some(recorded), _) => recorded.get(names[column])?,
                    (None, &FeatureInfo::Range { min, max }) => [min, max],
                    (None, _) => return None,
                };
                let asked = [f64::INFINITY, f64::NEG_INFINITY];
                Some((column, FeatureCoverage { name: names[column], trained, asked, outside: 0 }))
            })
            .collect();
        let mut row = vec![0.0; extractor.schema.len()];
        for trial in trials {
            let problem = measurements.problems()[trial.problem as usize];
            let problem = if problem.chooses_split() { problem.with_split(1) } else { problem };
            let Ok(problem) = extractor.problem_side(&problem) else {
                continue;
            };
            extractor.fill(&problem, &kernel, &mut row);
            for (column, feature) in &mut features {
                let value = row[*column];
                feature.asked = [feature.asked[0].min(value), feature.asked[1].max(value)];
                feature.outside += usize::from(value < feature.trained[0] || value > feature.trained[1]);
            }
        }
        let mut features: Vec<FeatureCoverage> = features.into_iter().map(|(_, feature)| feature).collect();
        features.sort_by_key(|feature| std::cmp::Reverse(feature.outside));
        coverage.features = features;
        coverage
    }
}

/// The fields in which problems are outside.
fn fields(
    ranker: &Ranker,
    measurements: &Measurements,
    trials: &[Trial],
    orders: &[Order],
) -> Vec<FieldCoverage> {
    let mut fields: Vec<FieldCoverage> = Vec::new();
    for (trial, _) in trials.iter().zip(orders).filter(|(_, order)| !order.outside.is_empty()) {
        let problem = &measurements.problems()[trial.problem as usize];
        for one in ranker.out_of_range(problem).unwrap_or_default() {
            match fields.iter_mut().find(|field| field.name == one.field) {
                Some(field) => field.outside += 1,
                None => fields.push(FieldCoverage { name: one.field, trained: one.trained, outside: 1 }),
            }
        }
    }
    fields.sort_by_key(|field| std::cmp::Reverse(field.outside));
    fields
}
