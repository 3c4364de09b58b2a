//! The problems of `--problems`, one after another, from a CSV or a list of any length.

use std::path::Path;

use ck_select::hardware::Hardware;
use ck_select::listing::ProblemReader;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;

use crate::error::CliError;
use crate::input;

/// A file of problems being read.
pub(crate) struct Problems {
    name: String,
    reader: ProblemReader<'static>,
    place: usize,
}

impl Problems {
    /// Opens a file. `defaults` supplies what it does not specify; rows that name other constants than
    /// those of `hardware` are errors.
    pub(crate) fn open(
        path: &Path,
        op: Op,
        defaults: &ProblemDefaults,
        hardware: Hardware,
    ) -> Result<Self, CliError> {
        let (name, source) = input::open(path)?;
        let reader = ProblemReader::new(&name, source, op, *defaults)?.by_kernels().on(hardware);
        Ok(Self { name, reader, place: 0 })
    }

    /// The next problem with its `problem_idx`, else its index; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(String, Problem)>, CliError> {
        let Some(listed) = self.reader.next()? else { return Ok(None) };
        let label = listed.number.map_or_else(|| self.place.to_string(), |number| number.to_string());
        self.place += 1;
        Ok(Some((label, listed.problem)))
    }

    /// Prints what was skipped.
    pub(crate) fn finish(self) {
        for note in self.reader.passed.notes() {
            say!("ckselect: warning: {}: {note}", self.name);
        }
    }
}
