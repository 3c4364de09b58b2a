//! The problems of `--problems`, one after the other, from a CSV or a list of any length.

use std::path::Path;

use ck_select::problem::{Problem, ProblemDefaults, ProblemReader};
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
    /// Opens a file. What it does not say of a problem is taken from `defaults`.
    pub(crate) fn open(path: &Path, op: Op, defaults: &ProblemDefaults) -> Result<Self, CliError> {
        let (name, source) = input::open(path)?;
        let reader = ProblemReader::new(&name, source, op, *defaults)?;
        Ok(Self { name, reader, place: 0 })
    }

    /// The next problem with its `problem_idx`, else with its place; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(String, Problem)>, CliError> {
        let Some(listed) = self.reader.next()? else { return Ok(None) };
        let label = listed.number.map_or_else(|| self.place.to_string(), |number| number.to_string());
        self.place += 1;
        Ok(Some((label, listed.problem)))
    }

    /// Says what was passed over.
    pub(crate) fn finish(self) {
        for note in self.reader.passed.notes() {
            say!("ckselect: warning: {}: {note}", self.name);
        }
    }
}

/// Problems of a file that could not be ranked. One of another direction or type must not cost the others their ranking.
#[derive(Default)]
pub(crate) struct LeftOut {
    ranked: u64,
    count: u64,
    first: Option<String>,
}

impl LeftOut {
    /// Takes the ranking of a problem, or counts it as left out.
    pub(crate) fn take<T>(
        &mut self,
        label: &str,
        ranked: Result<T, CliError>,
    ) -> Result<Option<T>, CliError> {
        match ranked {
            Ok(ranked) => {
                self.ranked += 1;
                Ok(Some(ranked))
            }
            Err(CliError::Failed(reason)) => {
                self.count += 1;
                self.first.get_or_insert_with(|| format!("problem {label}: {reason}"));
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// Says what was left out, and why the first one was. Without any ranking that is the failure.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let Self { ranked, count, first } = self;
        let Some(first) = first else { return Ok(()) };
        let all = ranked + count;
        let message =
            format!("{count} of {all} problems cannot be ranked and are left out, the first is {first}");
        if ranked == 0 {
            return Err(CliError::failed(message));
        }
        say!("ckselect: warning: {message}");
        Ok(())
    }
}
