//! Logging to a callback.

use std::ffi::{c_char, c_void};

use super::CkStatus;
use super::error::{boundary, c_text};
use super::input::{read_text, word};
use crate::log::{Level, external_line, set_sink};

/// How much is logged. A `ck_log_level` is passed as `int32_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkLogLevel {
    /// Nothing.
    Off = 0,
    /// Failures that leave a call without an answer.
    Error = 1,
    /// Failures after which a worse source answers.
    Warn = 2,
    /// Loading and measuring.
    Info = 3,
    /// Each decision.
    Debug = 4,
    /// Each decision with everything that led to it.
    Trace = 5,
}

/// The owner's pointer, which is passed to the callback.
struct Owner(*mut c_void);

// SAFETY: the pointer is only passed back; `ck_log_set_callback` documents that callbacks run on any thread.
unsafe impl Send for Owner {}
// SAFETY: as above.
unsafe impl Sync for Owner {}

impl Owner {
    const fn get(&self) -> *mut c_void {
        self.0
    }
}

/// Sends log lines of the whole process up to `level`, a `ck_log_level`, to a callback instead of to the
/// destination in `CK_SELECT_LOG`; it stays callable until the process ends. NULL turns logging off. Without
/// this call and without `CK_SELECT_LOG`, only three warnings are written, to standard error and once per
/// registry: that it chooses without a model, or with a built-in model although no architecture was given, or
/// that a kernel has a word that the library does not know.
/// `CK_SELECT_LOG=off` silences these, too.
///
/// The callback may be called by several threads at a time; its strings live as long as the call. It must not
/// call this function. A line in flight while it is replaced may still reach the old one.
///
/// # Safety
/// `callback` is NULL or stays callable with `user` until the process ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_log_set_callback(
    level: i32,
    callback: Option<
        unsafe extern "C" fn(level: i32, source: *const c_char, text: *const c_char, user: *mut c_void),
    >,
    user: *mut c_void,
) -> CkStatus {
    boundary(|| {
        let level = word("level", level, Level::ALL, Level::WORDS)?;
        let owner = Owner(user);
        set_sink(
            level,
            callback.map(|callback| -> Box<crate::log::Sink> {
                Box::new(move |level, source, text| {
                    let (source, text) = (c_text(source), c_text(text));
                    // SAFETY: `ck_log_set_callback` requires a callback that stays callable with `user`; the
                    // strings live for the call.
                    unsafe { callback(level as i32, source.as_ptr(), text.as_ptr(), owner.get()) };
                })
            }),
        );
        Ok(())
    })
}

/// Writes a line to the log, for code built on this library, such as the adapters of
/// `ck_select_dispatcher.hpp`. `source` names the origin of the line. As long as no destination is set, a
/// line at `CK_LOG_LEVEL_ERROR` goes to standard error, so log such a line only once.
///
/// # Safety
/// `source` and `text` are NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_log(level: i32, source: *const c_char, text: *const c_char) -> CkStatus {
    boundary(|| {
        let level = word("level", level, Level::ALL, Level::WORDS)?;
        // SAFETY: the caller gives NULL or a NUL-terminated text.
        let source = unsafe { read_text(source, "source") }?;
        // SAFETY: as for `source`.
        let text = unsafe { read_text(text, "text") }?;
        external_line(level, source, text);
        Ok(())
    })
}
