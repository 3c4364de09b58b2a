//! Whether measurements lie inside of what a model saw in training.

use ck_select::forest::FeatureInfo;
use ck_select::model::Model;

use crate::candidates::Trial;
use crate::judge::Order;
use crate::measurements::Measurements;

/// One feature of the problem: what the model saw in training, and what it is asked now.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureCoverage {
    /// The feature.
    pub name: &'static str,
    /// Smallest and largest value in training.
    pub trained: [f64; 2],
    /// Smallest and largest value here.
    pub asked: [f64; 2],
    /// Problems whose value is outside of what was trained.
    pub outside: usize,
}

/// How much lies inside of what the model saw in training.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coverage {
    /// Problems with at least one feature outside.
    pub problems_outside: usize,
    /// Features of the problem that trees use, those with most problems outside first.
    pub features: Vec<FeatureCoverage>,
}

impl Coverage {
    pub(super) fn of(model: &Model, measurements: &Measurements, trials: &[Trial], orders: &[Order]) -> Self {
        let problems_outside = orders.iter().filter(|order| order.out_of_range).count();
        let (Some(forest), extractor) = (model.ranking_forest(), model.extractor()) else {
            return Self { problems_outside, features: Vec::new() };
        };
        let Some(kernel) = measurements.kernels().first() else { return Self::default() };
        let Ok(kernel) = extractor.kernel_side(&kernel.kind) else { return Self::default() };
        let (names, scopes) = (extractor.schema.names(), extractor.schema.scopes());
        let mut features: Vec<(usize, FeatureCoverage)> = forest
            .feature_infos()
            .iter()
            .enumerate()
            .filter(|(column, _)| scopes.get(*column) == Some(&"problem"))
            .filter_map(|(column, info)| match *info {
                FeatureInfo::Range { min, max } => Some((
                    column,
                    FeatureCoverage {
                        name: names[column],
                        trained: [min, max],
                        asked: [f64::INFINITY, f64::NEG_INFINITY],
                        outside: 0,
                    },
                )),
                _ => None,
            })
            .collect();
        let mut row = vec![0.0; extractor.schema.len()];
        for trial in trials {
            let Ok(problem) = extractor.problem_side(&measurements.problems()[trial.problem as usize]) else {
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
        Self { problems_outside, features }
    }
}
