//! Opens what commands read once from beginning to end.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ck_select::files;

use crate::error::CliError;

/// Opens a file or a pipe, and returns its name for error messages. `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<(String, Box<dyn BufRead>), CliError> {
    if path == Path::new("-") {
        return Ok(("standard input".to_owned(), Box::new(io::stdin().lock())));
    }
    let name = path.display().to_string();
    match files::open_stream(path) {
        Ok(file) => Ok((name, Box::new(BufReader::new(file)))),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(CliError::failed(format!("{name}: {error}, a pipe, or - for standard input")))
        }
        Err(error) => Err(CliError::io(name, &error)),
    }
}
