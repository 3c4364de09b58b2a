//! Why a command failed.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Returns an error in the command line, as [`CliError::usage`], with a formatted text.
macro_rules! refuse {
    ($($text:tt)*) => { return Err($crate::error::CliError::Usage(format!($($text)*))) };
}

/// Returns a failure of the work, as [`CliError::failed`], with a formatted text.
macro_rules! fail {
    ($($text:tt)*) => { return Err($crate::error::CliError::Failed(format!($($text)*))) };
}

/// Two kinds of failure, by who has to fix them, and other ways in which a command ends.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// The work could not be done: exit code 1.
    Failed(String),
    /// The work is done, but the result does not meet a requirement: exit code 3.
    Judged(String),
    /// The reader of the output has stopped reading.
    BrokenPipe,
    /// The message is printed already; this is the exit code.
    Reported(u8),
}

/// Any error whose text already names the file and the problem.
impl<E: std::error::Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

impl CliError {
    /// Prints the message, and gives the exit code.
    pub(crate) fn exit(self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (message, 2),
            Self::Failed(message) => (message, 1),
            Self::Judged(message) => (message, 3),
            Self::Reported(code) => return ExitCode::from(code),
            // A reader that has seen enough (`| head`) is not a failure.
            Self::BrokenPipe => return ExitCode::SUCCESS,
        };
        say!("ckselect: {message}");
        ExitCode::from(code)
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::Usage(message.to_string())
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The error of a function that writes its output itself.
    pub(crate) fn from_writer(error: &(impl std::error::Error + 'static)) -> Self {
        if is_broken_pipe(error) { Self::BrokenPipe } else { Self::failed(error) }
    }

    /// Turns a failure to read or write the named file into our error.
    pub(crate) fn io(name: impl Display) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            if is_broken_pipe(&error) {
                return Self::BrokenPipe;
            }
            Self::Failed(format!("{name}: {error}"))
        }
    }
}

/// Whether the reader has stopped reading, at any depth of wrapped errors: a CSV writer's error contains the
/// system's.
fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io_error = error.downcast_ref::<io::Error>();
        if io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        // `source` of an I/O error skips the error that it wraps; errors of `csv` have no `source`.
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
        assert!(matches!(CliError::io("standard output")(wrapped), CliError::BrokenPipe));
        assert!(!is_broken_pipe(&io::Error::other("another")));
    }
}
