//! The feature row of one kernel, and what is predicted for it.

use super::ranking::Query;
use super::segment::{Form, Segment, Values};
use super::{LeftOut, RankError, Ranker};
use crate::estimate::Place;
use crate::features::ProblemTerms;
use crate::model::Predictions;
use crate::problem::{Checked, Problem};

impl Ranker {
    /// Refuses an invalid problem, and one that the model is not for.
    pub(super) fn check<'p>(&self, problem: &'p Problem) -> Result<Checked<'p>, RankError> {
        let checked = problem.checked()?;
        self.check_key(problem, None).map(|()| checked)
    }

    pub(super) fn problem_side(&self, problem: &Problem) -> Result<ProblemTerms, RankError> {
        self.model.extractor().problem_side(problem).map_err(RankError::ProblemTerms)
    }

    /// Every target's prediction for one kernel of the pool.
    pub fn predict(&self, problem: Checked<'_>, index: usize) -> Result<Predictions, RankError> {
        let row = self.features(problem, index)?;
        Ok(self.model.predict_row(&row)?)
    }

    /// The feature row of one kernel of the pool.
    pub fn features(&self, problem: Checked<'_>, index: usize) -> Result<Vec<f64>, RankError> {
        self.check_key(&problem, None)?;
        problem.check_split()?;
        match &self.first_segment().form {
            Form::Universal(_) => Ok(self.universal_row(problem, index)?.0),
            Form::Trained { .. } => self.row(&self.problem_side(&problem)?, index),
        }
    }

    /// The columns of one kernel among those of the pool, and what the estimate adds to its score.
    pub(super) fn universal_row(
        &self,
        problem: Checked<'_>,
        index: usize,
    ) -> Result<(Vec<f64>, f64), RankError> {
        let (segment, place) = self.segment_of(index).ok_or_else(|| self.not_ranked(index))?;
        let mut values = Values::default();
        self.fill(segment, Query { problem, arch: None }, &mut values)?;
        let values = &values.universal;
        let time = values.log_times.get(place.get()).filter(|time| !time.is_nan());
        let (Some(_), Form::Universal(universal)) = (time, &segment.form) else {
            return Err(self.no_kernel(&problem));
        };
        let device = universal.on(&problem, None)?;
        Ok(device.row(place, values))
    }

    pub(super) fn row(&self, problem: &ProblemTerms, index: usize) -> Result<Vec<f64>, RankError> {
        let side = self.segment_of(index).and_then(|(segment, place)| match &segment.form {
            Form::Trained { sides, .. } => sides.get(place.get()),
            Form::Universal(_) => None,
        });
        let kernel = side.ok_or_else(|| self.not_ranked(index))?;
        let mut row = vec![0.0; self.model.extractor().schema.len()];
        self.model.extractor().fill(problem, kernel, &mut row);
        Ok(row)
    }

    /// The segment of a kernel of the pool, and the kernel's place in it.
    fn segment_of(&self, index: usize) -> Option<(&Segment, Place)> {
        let number = self.segments.partition_point(|segment| segment.indices.end <= index);
        let segment = self.segments.get(number)?;
        Some((segment, segment.place(index)?))
    }

    /// Why a kernel has no row.
    fn not_ranked(&self, index: usize) -> RankError {
        match self.left_out.iter().find(|left_out| left_out.index == index) {
            Some(LeftOut { reason, .. }) => {
                RankError::LeftOut { kernel: self.name(index).to_owned(), reason: Box::new(reason.clone()) }
            }
            None => RankError::Index { kernels: self.pool.len(), index },
        }
    }
}
