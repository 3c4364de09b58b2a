//! Messages for humans, on standard error.

use std::fmt;
use std::io::{self, Write as _};

use ck_select::terminal::printable;

/// Writes a line to standard error. If that fails (it is closed, or its disk is full), the line is dropped:
/// no work is lost for a message.
macro_rules! say {
    ($($text:tt)*) => { $crate::message::line(format_args!($($text)*)) };
}

pub(crate) fn line(text: fmt::Arguments<'_>) {
    // A single write, so that lines from several threads and processes do not mix. Names and contents of
    // files are in it.
    let _ = io::stderr().write_all(printable(&format!("{text}\n")).as_bytes());
}
