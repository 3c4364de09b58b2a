//! Messages for people, on standard error.

use std::fmt;
use std::io::{self, Write as _};

/// Writes a line for people. When nobody can read it (standard error is closed, or its disk full) it is
/// dropped: no work is lost for a message.
macro_rules! say {
    ($($text:tt)*) => { $crate::message::line(format_args!($($text)*)) };
}

pub(crate) fn line(text: fmt::Arguments<'_>) {
    // One write, so that lines of several threads and processes do not mix.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}
