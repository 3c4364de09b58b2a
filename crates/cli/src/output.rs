//! Where results go: standard output, or a file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ck_select::files::Pending;

use crate::error::CliError;

/// Standard output, or a file that [`Output::finish`] gives its name.
pub(crate) struct Output {
    writer: BufWriter<Pending>,
    name: String,
}

impl Output {
    /// `None` and `-` are standard output.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, CliError> {
        let (begun, name) = match path.filter(|path| *path != Path::new("-")) {
            Some(path) => (Pending::create(path), path.display().to_string()),
            None => (Pending::standard_output(), "standard output".to_owned()),
        };
        match begun {
            Ok(pending) => Ok(Self { writer: BufWriter::new(pending), name }),
            Err(error) => Err(CliError::io(name, &error)),
        }
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes what is buffered; a file gets its name only now, after its bytes are on the disk.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let written = self.writer.into_inner().map_err(io::IntoInnerError::into_error);
        written.and_then(Pending::commit).map_err(|error| CliError::io(self.name, &error))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
