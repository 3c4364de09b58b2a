//! Which parts of a problem are outside a model's training range.

use super::segment::{CompiledModel, Values};
use super::{RankError, Ranker};
use crate::directory::{Model, TrainedFields};
use crate::forest::FeatureInfo;
use crate::problem::{FieldSet, Problem};
use crate::vocab::Arch;

/// A model's training range, prepared for comparisons on the select path.
#[derive(Debug)]
pub(super) struct Known {
    fields: TrainedFields,
    ranges: Vec<Range>,
}

/// The range of a feature of the problem in training.
#[derive(Debug, Clone, Copy)]
struct Range {
    feature: &'static str,
    /// The feature's index among the columns that are the same for all kernels.
    column: usize,
    /// The index of the field that it equals, or that of `features`.
    field: usize,
    min: f64,
    max: f64,
}

impl Range {
    /// The feature's value among those that are the same for all kernels, if it is outside. NaN never is.
    fn outside(&self, uniform: &[f64]) -> Option<f64> {
        uniform.get(self.column).copied().filter(|&value| value < self.min || value > self.max)
    }
}

impl Known {
    pub(super) fn new(model: &Model) -> Self {
        Self { fields: TrainedFields::new(model.spec()), ranges: ranges(model) }
    }

    /// The fields in which a problem is outside; `uniform` has its features.
    pub(super) fn outside(&self, problem: &Problem, arch: Option<Arch>, uniform: &[f64]) -> FieldSet {
        let fields = self.fields.outside(problem, arch);
        self.ranges
            .iter()
            .fold(fields, |fields, range| fields.with(range.field, range.outside(uniform).is_some()))
    }

    /// The fields in which a problem is outside, in words.
    pub(super) fn describe(&self, problem: &Problem, arch: Option<Arch>, uniform: &[f64]) -> Vec<OutOfRange> {
        let own = self.fields.outside(problem, arch);
        let names = FieldSet::fields(problem.op()).enumerate();
        let of_fields = names.filter(|(bit, _)| own.bits() >> bit & 1 == 1).map(|(bit, field)| {
            let (found, trained) = self.fields.describe(problem, arch, bit);
            OutOfRange { field, found, trained }
        });
        let of_features = self.ranges.iter().filter_map(|range| {
            let value = range.outside(uniform)?;
            // A field that is also a feature is reported once.
            (own.bits() >> range.field & 1 == 0).then(|| OutOfRange {
                field: range.feature,
                found: value.to_string(),
                trained: crate::directory::range_text(&range.min.to_string(), &range.max.to_string()),
            })
        });
        of_fields.chain(of_features).collect()
    }
}

/// The trained ranges of the features that depend on the problem alone: those that the spec records,
/// otherwise those that LightGBM recorded in the forest.
fn ranges(model: &Model) -> Vec<Range> {
    let Some(forest) = model.ranking_forest() else { return Vec::new() };
    let schema = &model.extractor().schema;
    let recorded = model.spec().trained_range.as_ref();
    let columns = schema.names().into_iter().zip(schema.scopes()).zip(forest.feature_infos());
    columns
        .filter(|((_, scope), _)| matches!(*scope, "problem" | "hardware"))
        .enumerate()
        .filter_map(|(column, ((feature, _), info))| {
            let [min, max] = match (recorded, info) {
                (Some(recorded), _) => recorded.get(feature)?,
                (None, &FeatureInfo::Range { min, max }) => [min, max],
                (None, _) => return None,
            };
            let field = FieldSet::fields(schema.op()).position(|field| field == feature);
            let field = field.unwrap_or(FieldSet::features(schema.op()));
            Some(Range { feature, column, field, min, max })
        })
        .collect()
}

impl Ranker {
    /// The parts of a problem that are outside the model's training range: its fields, then features of them.
    /// `arch` is for problems that name none.
    pub fn out_of_range(&self, problem: &Problem, arch: Option<Arch>) -> Result<Vec<OutOfRange>, RankError> {
        problem.validate()?;
        // Whatever number of parts is chosen, the rest is the same.
        let problem = if problem.chooses_split() { problem.with_split(1) } else { *problem };
        let mut values = [Values::default()];
        if let CompiledModel::Trained { features, .. } = &self.first_segment().compiled {
            features.fill(&self.problem_terms(&problem)?, &mut values[0].own);
        }
        Ok(self.known.describe(&problem, arch, self.uniform(&values)))
    }

    /// The features that have a training range. Those of a universal model are ratios and have none.
    pub(super) fn uniform<'v>(&self, values: &'v [Values]) -> &'v [f64] {
        match (&self.first_segment().compiled, values.first()) {
            (CompiledModel::Trained { .. }, Some(values)) => &values.own.uniform,
            (_, _) => &[],
        }
    }
}

/// A field of a problem, or a feature of its fields, that is outside a model's training range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfRange {
    /// The field's or the feature's name.
    pub field: &'static str,
    /// The problem's value.
    pub found: String,
    /// The values in training.
    pub trained: String,
}

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {}, trained on {}", self.field, self.found, self.trained)
    }
}
