//! What commands read once from beginning to end: files and pipes, and the problems of `--problems` in them.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ck_select::files;
use ck_select::hardware::Hardware;
use ck_select::listing::ProblemReader;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;

use crate::error::CliError;

/// Opens a file or a pipe, and returns its name for error messages. `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<(String, Box<dyn BufRead>), CliError> {
    if path == Path::new("-") {
        return Ok(("standard input".to_owned(), Box::new(io::stdin().lock())));
    }
    let name = path.display().to_string();
    match files::open_stream(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            fail!("{name}: {error}, a pipe, or - for standard input")
        }
        opened => Ok((name.clone(), Box::new(BufReader::new(opened.map_err(CliError::io(name))?)))),
    }
}

/// A file of problems being read, one after another, from a CSV or a list of any length.
pub(crate) struct Problems {
    name: String,
    reader: ProblemReader<'static>,
    index: usize,
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
        let (name, source) = open(path)?;
        let reader = ProblemReader::new(&name, source, op, *defaults)?.by_kernels().on(hardware);
        Ok(Self { name, reader, index: 0 })
    }

    /// The next problem with its `problem_idx`, else its index; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(String, Problem)>, CliError> {
        let Some(listed) = self.reader.next()? else { return Ok(None) };
        let label = listed.number.map_or_else(|| self.index.to_string(), |number| number.to_string());
        self.index += 1;
        Ok(Some((label, listed.problem)))
    }

    /// Prints what was skipped.
    pub(crate) fn finish(self) {
        for note in self.reader.passed.notes() {
            say!("ckselect: warning: {}: {note}", self.name);
        }
    }
}
