//! Why a command did not do what it was asked.

use std::fmt::Display;
use std::io;

/// The two kinds of failure, by whose fault it is, and two that are none.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// The work could not be done: exit code 1.
    Failed(String),
    /// The work is done, and its result is that something is not good enough: exit code 3.
    Judged(String),
    /// Whoever read the output has stopped.
    BrokenPipe,
}

/// Any error whose text already names the file and what is wrong.
impl<E: std::error::Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

impl CliError {
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::Usage(message.to_string())
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// What ended a piece of work that writes its output itself.
    pub(crate) fn of_writer(error: &(impl std::error::Error + 'static)) -> Self {
        if is_broken_pipe(error) { Self::BrokenPipe } else { Self::failed(error) }
    }

    /// A failed read or write of a named file.
    pub(crate) fn io(name: impl Display, error: &io::Error) -> Self {
        if is_broken_pipe(error) {
            return Self::BrokenPipe;
        }
        Self::Failed(format!("{name}: {error}"))
    }
}

/// Whether somebody stopped reading, however deep that is wrapped: a CSV writer's error has the system's
/// inside.
fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io_error = error.downcast_ref::<io::Error>();
        if io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        // The source of an I/O error is not what it wraps, but that one's source; errors of `csv` have none.
        let inner = io_error.and_then(io::Error::get_ref).map(|inner| inner as _);
        let of_csv = error.downcast_ref::<csv::Error>().and_then(|error| match error.kind() {
            csv::ErrorKind::Io(error) => Some(error as _),
            _ => None,
        });
        cause = inner.or(of_csv).or_else(|| error.source());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_gone_is_found_inside_of_other_errors() {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let wrapped = io::Error::other(csv::Error::from(gone()));
        assert!(is_broken_pipe(&gone()) && is_broken_pipe(&wrapped));
        assert!(matches!(CliError::io("standard output", &wrapped), CliError::BrokenPipe));
        assert!(!is_broken_pipe(&io::Error::other("another")));
    }
}
