//! Rows of a file on their way to a sink: what is counted, rejected or left out, whatever the format.

use ck_select_types::kernel::Kernel;
use ck_select_types::problem::{InvalidField, Problem};

use super::DataError;
use super::names::Names;
use super::problems::{OwnedCells, problem_of};
use super::record::{Counts, Figures, Measured, Sink};

/// Why a place is no row.
pub(super) enum Fault {
    Row(String),
    Sink(DataError),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Row(reason)
    }
}

impl From<InvalidField> for Fault {
    fn from(error: InvalidField) -> Self {
        Self::Row(error.to_string())
    }
}

impl From<DataError> for Fault {
    fn from(error: DataError) -> Self {
        Self::Sink(error)
    }
}

/// The rows of a file.
pub(super) struct Rows<'a> {
    pub(super) file: &'a str,
    pub(super) names: &'a mut Names,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) counts: Counts,
}

impl<'a> Rows<'a> {
    pub(super) fn new(file: &'a str, names: &'a mut Names, sink: &'a mut dyn Sink) -> Self {
        Self { file, names, sink, counts: Counts::default() }
    }

    /// Counts a row: true if it was taken, false if it is none of those that were requested.
    pub(super) fn count(
        &mut self,
        taken: Result<bool, Fault>,
        place: impl FnOnce() -> String,
    ) -> Result<(), DataError> {
        match taken {
            Ok(true) => self.counts.rows += 1,
            Ok(false) => self.counts.other += 1,
            Err(Fault::Sink(error)) => return Err(error),
            Err(Fault::Row(reason)) => self.reject(place(), reason)?,
        }
        Ok(())
    }

    /// Reports a place that is no row.
    pub(super) fn reject(&mut self, place: String, reason: String) -> Result<(), DataError> {
        self.counts.rejected += 1;
        self.sink.reject(self.file, place, reason)
    }

    /// Whether a row is for another architecture than the requested one, which the sink is told.
    pub(super) fn is_elsewhere(&mut self, problem: &Problem) -> bool {
        let wanted = self.names.filter().arch;
        let is_elsewhere = wanted.is_some() && problem.arch() != wanted;
        if is_elsewhere {
            self.sink.other_arch(problem.arch());
        }
        is_elsewhere
    }

    /// Takes the row of an object: a kernel, the cells of its problem, and what reads its figures, with the
    /// reason why it has none.
    pub(super) fn object(
        &mut self,
        kernel: &Kernel,
        cells: &OwnedCells,
        read: impl FnOnce(&Problem) -> Result<(Figures, Option<String>), Fault>,
    ) -> Result<bool, Fault> {
        let problem = problem_of(kernel, cells, self.names.filter().unrecorded())?;
        if self.is_elsewhere(&problem) {
            return Ok(false);
        }
        let (figures, error) = read(&problem)?;
        let row = Measured {
            kernel,
            problem: &problem,
            figures,
            non_zero: None,
            problem_idx: None,
            run_id: None,
            error: error.as_deref(),
        };
        self.sink.row(&row)?;
        Ok(true)
    }
}
