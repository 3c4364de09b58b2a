//! Messages for humans, on standard error.

use std::fmt;
use std::io::{self, Write as _};

/// Writes a line to standard error. If that fails (it is closed, or its disk is full), the line is dropped:
/// no work is lost for a message.
macro_rules! say {
    ($($text:tt)*) => { $crate::message::line(format_args!($($text)*)) };
}

pub(crate) fn line(text: fmt::Arguments<'_>) {
    // A single write, so that lines from several threads and processes do not mix.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}
