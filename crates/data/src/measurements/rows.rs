//! Rows of a file on their way to a sink: what is counted, rejected or left out, whatever the format.

use std::collections::HashMap;
use std::rc::Rc;

use ck_select_types::cells::Fields;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::vocab::{Arch, Direction, Dtype, Op};

use super::DataError;
use super::problems::{OwnedCells, problem_of};
use super::record::{Counts, Figures, Measured, Sink};

/// What to take; `None` accepts any value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) op: Option<Op>,
    pub(crate) direction: Option<Direction>,
    pub(crate) dtype: Option<Dtype>,
    /// Also used for rows that do not record an architecture.
    pub(crate) arch: Option<Arch>,
    /// Used for those rows if any architecture is accepted.
    pub(crate) assumed: Option<Arch>,
}

impl Filter {
    fn takes(&self, kernel: &KernelKind) -> bool {
        self.op.is_none_or(|op| op == kernel.op())
            && self.dtype.is_none_or(|dtype| dtype == kernel.dtype())
            && (self.direction.is_none() || kernel.direction().is_none_or(|own| Some(own) == self.direction))
    }
}

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
    pub(super) filter: Filter,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) counts: Counts,
    /// The kernel of each name; `None` if it was not requested.
    kernels: HashMap<Box<str>, Option<Rc<Kernel>>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(file: &'a str, filter: Filter, sink: &'a mut dyn Sink) -> Self {
        Self { file, filter, sink, counts: Counts::default(), kernels: HashMap::new() }
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

    /// The problem of a row; `None` if it is for another architecture than the requested one, which the sink is
    /// told.
    pub(super) fn problem(&mut self, kernel: &Kernel, cells: &dyn Fields) -> Result<Option<Problem>, String> {
        let Filter { arch: wanted, assumed, .. } = self.filter;
        let problem = problem_of(kernel, cells, wanted.or(assumed))?;
        let is_elsewhere = wanted.is_some() && problem.arch() != wanted;
        if is_elsewhere {
            self.sink.other_arch(problem.arch());
        }
        Ok(Some(problem).filter(|_| !is_elsewhere))
    }

    /// Takes the row of an object: a kernel, the cells of its problem, and what reads its figures, with the
    /// reason why it has none.
    pub(super) fn object(
        &mut self,
        kernel: &Kernel,
        cells: &OwnedCells,
        read: impl FnOnce(&Problem) -> Result<(Figures, Option<String>), Fault>,
    ) -> Result<bool, Fault> {
        let Some(problem) = self.problem(kernel, cells)? else { return Ok(false) };
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
