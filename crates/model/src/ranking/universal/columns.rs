//! What a universal model's forest sees of kernels on a GPU.

use std::sync::Arc;

use super::RankError;
use crate::column::Column;
use crate::estimate::{ClassIndex, Estimator, Place, UniversalPool};
use crate::features::{Extractor, KernelTerms, Schema, TermsError};
use crate::forest::Forest;
use crate::kernel::KernelKind;
use crate::problem::Problem;
use crate::scoring::{CallValues, MixedPool, PoolFeatures, PoolScorer, PoolTable, Rows};

/// The columns of some kernels on a GPU.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) pool: UniversalPool,
    own: Option<OwnFeatures>,
    /// What [`PoolTable`] has.
    scopes: Vec<Column>,
    pub(super) classes: Vec<ClassIndex>,
    /// The values of each column of kernels alone, by class.
    class_values: Vec<Vec<f64>>,
    /// The index of each column among those of its scope.
    places: Vec<usize>,
    /// The kernels of each class.
    pub(super) members: Vec<Vec<Place>>,
}

/// The features that follow the universal columns. With them, each kernel is a class of its own.
#[derive(Debug)]
struct OwnFeatures {
    extractor: Extractor,
    features: PoolFeatures,
    /// Which of the features' classes each kernel is in.
    class_of: Vec<u32>,
}

/// The values of a problem.
#[derive(Debug, Default)]
pub(in crate::ranking) struct Values {
    /// The values of the features that follow.
    pub(super) own: CallValues,
    /// The pair values of both, with a value for each class.
    pub(super) pair: Vec<f64>,
    /// The logarithm of each kernel's estimated microseconds; NaN if the kernel does not count.
    pub(in crate::ranking) log_times: Vec<f64>,
    /// The logarithms by class; for a shortlist, the microseconds themselves.
    pub(super) of_classes: Vec<f64>,
    /// Scores by class; NaN for those that are not among the best.
    pub(super) scores: Vec<f64>,
    /// A shortlist: estimated microseconds by class, classes that are scored together, and scores.
    pub(super) candidates: Vec<(f64, ClassIndex)>,
    pub(super) listed: Vec<ClassIndex>,
    pub(super) listed_logs: Vec<f64>,
    pub(super) scored: Vec<(f64, ClassIndex)>,
    pub(super) sums: Vec<f64>,
    pub(super) best: Vec<f64>,
    pub(super) bounds: Vec<f64>,
}

impl Columns {
    pub(super) fn new<'k>(
        estimator: Estimator,
        extractor: &Extractor,
        kernels: impl Iterator<Item = &'k KernelKind> + Clone,
        terms: &[KernelTerms],
    ) -> Result<Self, TermsError> {
        let columns = extractor.schema.universal_columns().unwrap_or_default();
        let own = extractor.for_own_features(&estimator.device().hardware);
        let own = own.map(|own| match PoolFeatures::new(&own, terms) {
            Ok(features) => Ok((features, own)),
            Err(MixedPool { kernel }) => {
                let found = kernels.clone().nth(kernel).map_or(own.schema.op(), KernelKind::op);
                Err(TermsError::Op { model: own.schema.op(), what: "kernel", found })
            }
        });
        let own = own.transpose()?;
        let none = PoolTable { columns: &[], classes: &[], kernel_values: &[] };
        let table = own.as_ref().map_or(none, |(features, _)| features.table());
        let is_alone = own.is_some();
        let pool = UniversalPool::new(estimator, kernels, |kernel| if is_alone { kernel as u32 } else { 0 });
        let scopes: Vec<Column> =
            columns.iter().map(|column| column.scope).chain(table.columns.iter().copied()).collect();
        let classes: Vec<ClassIndex> = pool.classes().collect();
        let members = pool.members();
        let of_classes = pool.of_classes(columns);
        let columns = of_classes.chunks_exact(pool.distinct().max(1));
        let width = table.kernel_values.len() / classes.len().max(1);
        let of_class = |members: &Vec<Place>, column: usize| {
            table.kernel_values[first_of(members).get() * width + column]
        };
        let own_column = |column| members.iter().map(|members| of_class(members, column)).collect();
        let class_values = columns.map(<[f64]>::to_vec).chain((0..width).map(own_column)).collect();
        let places = Column::places(&scopes);
        let class_of = table.classes.to_vec();
        let own = own.map(|(features, extractor)| OwnFeatures { extractor, features, class_of });
        Ok(Self { pool, own, scopes, classes, class_values, places, members })
    }

    /// Fills in what depends on the problem, for the kernels that `counts` accepts.
    pub(super) fn fill(
        &self,
        schema: &Schema,
        problem: &Problem,
        counts: impl Fn(Place) -> bool,
        values: &mut Values,
    ) -> Result<(), TermsError> {
        let Values { pair, log_times, of_classes, .. } = values;
        let columns = schema.universal_columns().unwrap_or_default();
        self.pool.fill(columns, problem, counts, pair, (log_times, of_classes));
        self.fill_own(problem, values)?;
        self.extend_by_own(&values.own, &self.members.iter(), &mut values.pair);
        Ok(())
    }

    /// Fills in the values of the features that follow the universal columns.
    pub(super) fn fill_own(&self, problem: &Problem, values: &mut Values) -> Result<(), TermsError> {
        match &self.own {
            Some(own) => own.features.fill(&own.extractor.problem_terms(problem)?, &mut values.own),
            None => values.own.uniform.clear(),
        }
        Ok(())
    }

    /// Adds the pair values of those features: for each, one for each of these classes, given by their members.
    pub(super) fn extend_by_own<'m>(
        &self,
        values: &CallValues,
        members: &(impl Iterator<Item = &'m Vec<Place>> + Clone),
        pair: &mut Vec<f64>,
    ) {
        let Some(OwnFeatures { features, class_of, .. }) = &self.own else { return };
        for column in values.pair.chunks_exact(features.classes().max(1)) {
            let value = |own: &Vec<Place>| column[class_of[first_of(own).get()] as usize];
            pair.extend(members.clone().map(value));
        }
    }

    /// A forest for these kernels, compiled when it is first needed.
    pub(super) fn compile(&self, forest: &Arc<Forest>) -> Result<PoolScorer, RankError> {
        let Self { scopes, classes, class_values, .. } = self;
        let classes = classes.iter().map(|class| class.get());
        let row = |class: usize| class_values.iter().map(move |column| column[class]);
        let kernel_values: Vec<f64> = classes.clone().flat_map(row).collect();
        let classes: Vec<u32> = classes.map(|class| class as u32).collect();
        let table = PoolTable { columns: scopes, classes: &classes, kernel_values: &kernel_values };
        Ok(PoolScorer::deferred(forest, &table)?)
    }

    /// All columns of a kernel.
    pub(super) fn row(&self, kernel: Place, values: &Values) -> Vec<f64> {
        let class = self.classes.get(kernel.get()).map_or(0, |class| class.get());
        let rows = Listed { columns: self, classes: None, values };
        let mut row = vec![f64::NAN; self.scopes.len()];
        for (feature, value) in row.iter_mut().enumerate() {
            rows.column(feature, class, std::slice::from_mut(value));
        }
        row
    }
}

/// The first kernel of a class.
fn first_of(members: &[Place]) -> Place {
    members.first().copied().unwrap_or(Place::new(0))
}

/// The rows of some classes, or of all.
pub(super) struct Listed<'a> {
    pub(super) columns: &'a Columns,
    pub(super) classes: Option<&'a [ClassIndex]>,
    pub(super) values: &'a Values,
}

impl Rows for Listed<'_> {
    fn len(&self) -> usize {
        self.classes.map_or(self.columns.pool.distinct(), <[ClassIndex]>::len)
    }

    fn column(&self, feature: usize, first: usize, values: &mut [f64]) {
        let Columns { scopes, places, class_values, .. } = self.columns;
        let column = places[feature];
        match scopes[feature] {
            Column::Uniform => values.fill(self.values.own.uniform[column]),
            Column::Pair => {
                values.copy_from_slice(&self.values.pair[column * self.len() + first..][..values.len()]);
            }
            Column::Kernel => match self.classes {
                Some(classes) => {
                    for (value, &class) in values.iter_mut().zip(&classes[first..]) {
                        *value = class_values[column][class.get()];
                    }
                }
                None => values.copy_from_slice(&class_values[column][first..][..values.len()]),
            },
        }
    }
}
