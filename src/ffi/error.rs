//! Errors and panics at the boundary.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;

use super::CkStatus;
use crate::log::{self, Level};
use crate::terminal::printable;
use ck_select_types::panics::{self, Panicked};

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: CkStatus,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(status: CkStatus, message: impl Display) -> Self {
        Self { status, message: message.to_string() }
    }

    pub(super) fn null(what: &str) -> Self {
        Self::new(CkStatus::NullPointer, format_args!("{what} is NULL"))
    }

    /// Turns the error of a library call into a failure with this status, for `map_err`.
    pub(super) fn of<E: Display>(status: CkStatus) -> impl FnOnce(E) -> Self {
        move |error| Self::new(status, error)
    }
}

/// Runs a body and sends its panics to the log instead of standard error.
fn catch<T>(body: impl FnOnce() -> T) -> Result<T, Panicked> {
    panics::catch(body).inspect_err(|panicked| {
        // A log callback that panics must not unwind into C.
        let _ = panics::catch(|| log::line(Level::Error, "panic", format_args!("{}", panicked.report)));
    })
}

/// Runs the body of an entry point: a failure or a panic becomes its status and the thread's last error.
pub(super) fn boundary(body: impl FnOnce() -> Result<(), Failure>) -> CkStatus {
    // A panic leaves nothing half-changed behind: registries publish whole states, and outputs are written
    // last.
    let failure = match catch(body) {
        Ok(Ok(())) => return CkStatus::Ok,
        Ok(Err(failure)) => failure,
        Err(Panicked { message, .. }) => {
            let text = message.as_deref().unwrap_or("no message");
            Failure::new(CkStatus::Panic, format_args!("panic: {text}"))
        }
    };
    remember(&failure.message);
    failure.status
}

/// The boundary of the few entry points that cannot fail: a panic becomes `fallback`.
pub(super) fn boundary_value<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch(body).unwrap_or(fallback)
}

/// A text for C, where it ends at a NUL: names in it may contain one.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

fn remember(message: &str) {
    let text = c_text(&printable(message));
    // When a thread ends, the slot may already be gone; then nobody can read it anyway.
    let _ = LAST_ERROR.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = text;
        }
    });
}

/// The message of the last failed call on this thread; empty if none failed, never NULL. Control characters of
/// names in it are escaped as in JSON. The string is valid until another call fails on this thread, or the thread
/// ends.
#[unsafe(no_mangle)]
pub extern "C" fn ck_last_error() -> *const c_char {
    boundary_value(c"".as_ptr(), || {
        LAST_ERROR
            .try_with(|last| last.try_borrow().map_or(c"".as_ptr(), |last| last.as_ptr()))
            .unwrap_or(c"".as_ptr())
    })
}
