//! Rows of a file on their way to a sink: what is counted, rejected or left out, whatever the format.

use std::collections::HashMap;
use std::rc::Rc;

use ck_select_types::cells::Fields;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::vocab::{Arch, Direction, Dtype, Op};

use super::DataError;
use super::problems::problem_of;
use super::record::{MeasuredRow, Sink, SourceFile};

/// The rows to take; `None` accepts any value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Filter<'a> {
    pub(crate) op: Option<Op>,
    pub(crate) direction: Option<Direction>,
    pub(crate) dtype: Option<Dtype>,
    /// Also used for rows that do not record an architecture.
    pub(crate) arch: Option<Arch>,
    /// Used for those rows if any architecture is accepted.
    pub(crate) assumed: Option<Arch>,
    /// The `run_id`.
    pub(crate) run: Option<&'a str>,
}

impl Filter<'_> {
    fn takes(&self, kernel: &KernelKind) -> bool {
        self.op.is_none_or(|op| op == kernel.op())
            && self.dtype.is_none_or(|dtype| dtype == kernel.dtype())
            && (self.direction.is_none() || kernel.direction().is_none_or(|own| Some(own) == self.direction))
    }
}

/// Why a position holds no row.
pub(crate) enum Fault {
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

/// Whether a row was taken, or why not.
pub(crate) enum RowOutcome {
    Row,
    /// The row is not one of those requested.
    Other,
    OtherRun,
}

/// The rows of a file.
pub(super) struct FileRows<'a> {
    pub(super) file: &'a str,
    pub(super) filter: Filter<'a>,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) counts: SourceFile,
    /// The kernel of each name; `None` if it was not requested.
    kernels: HashMap<Box<str>, Option<Rc<Kernel>>>,
}

impl<'a> FileRows<'a> {
    pub(super) fn new(file: &'a str, filter: Filter<'a>, sink: &'a mut dyn Sink) -> Self {
        Self { file, filter, sink, counts: SourceFile::default(), kernels: HashMap::new() }
    }

    /// The kernel of a name, parsed or looked up; `None` if it was not requested.
    pub(super) fn kernel(&mut self, name: &str) -> Result<Option<Rc<Kernel>>, String> {
        if let Some(known) = self.kernels.get(name) {
            return Ok(known.clone());
        }
        if name.is_empty() {
            return Err("kernel name: found nothing".to_owned());
        }
        let kernel = Kernel::from_name(name).map_err(|error| error.to_string())?;
        let kernel = self.filter.takes(&kernel.kind).then(|| Rc::new(kernel));
        self.kernels.insert(name.into(), kernel.clone());
        Ok(kernel)
    }

    /// Whether a row is of the requested run, if there is one.
    pub(super) fn is_of_run(&self, run: Option<&str>) -> bool {
        self.filter.run.is_none() || self.filter.run == run
    }

    /// Counts a row.
    pub(super) fn count(
        &mut self,
        taken: Result<RowOutcome, Fault>,
        position: impl FnOnce() -> String,
    ) -> Result<(), DataError> {
        match taken {
            Ok(RowOutcome::Row) => self.counts.rows += 1,
            Ok(RowOutcome::Other) => self.counts.other += 1,
            Ok(RowOutcome::OtherRun) => self.counts.other_runs += 1,
            Err(Fault::Sink(error)) => return Err(error),
            Err(Fault::Row(reason)) => self.reject(position(), reason)?,
        }
        Ok(())
    }

    /// Reports a position that holds no row.
    pub(super) fn reject(&mut self, position: String, reason: String) -> Result<(), DataError> {
        self.counts.rejected += 1;
        self.sink.reject(self.file, position, reason)
    }

    /// The problem of a row; `None` if it is for another architecture than the requested one.
    pub(super) fn problem(&mut self, kernel: &Kernel, cells: &dyn Fields) -> Result<Option<Problem>, String> {
        let Filter { arch: wanted, assumed, .. } = self.filter;
        let problem = problem_of(kernel, cells, wanted.or(assumed))?;
        let is_elsewhere = wanted.is_some() && problem.arch() != wanted;
        if let Some(other) = problem.arch().filter(|_| is_elsewhere) {
            *self.counts.other_arches.entry(other).or_default() += 1;
        }
        Ok(Some(problem).filter(|_| !is_elsewhere))
    }

    /// Takes a row.
    pub(super) fn take(&mut self, row: &MeasuredRow<'_>) -> Result<RowOutcome, Fault> {
        self.sink.row(row)?;
        self.counts.invalid += usize::from(!row.figures.is_valid);
        self.counts.arches.insert(row.problem.arch());
        Ok(RowOutcome::Row)
    }
}
