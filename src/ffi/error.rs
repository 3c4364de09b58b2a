//! Errors and panics at the boundary.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use super::CkStatus;
use crate::log::{self, Level};

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

    /// For results of library calls, in `map_err`.
    pub(super) fn of<E: Display>(status: CkStatus) -> impl FnOnce(E) -> Self {
        move |error| Self::new(status, error)
    }
}

static HOOK: Once = Once::new();

thread_local! {
    /// Whether the thread is inside an entry point, whose panics become statuses and are not printed.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a body and sends its panics to the log instead of standard error.
fn catch<T>(body: impl FnOnce() -> T) -> std::thread::Result<T> {
    // The hook is of this library's own copy of the runtime when a C program loads it; in a Rust program
    // other panics go on to the hook that was there.
    HOOK.call_once(|| {
        if !std::thread::panicking() {
            let other = take_hook();
            set_hook(Box::new(move |panic| {
                if INSIDE.try_with(Cell::get).unwrap_or(false) {
                    log::line(Level::Error, "panic", format_args!("{panic}"));
                } else {
                    other(panic);
                }
            }));
        }
    });
    let outer = INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(false);
    let result = catch_unwind(AssertUnwindSafe(body));
    let _ = INSIDE.try_with(|inside| inside.set(outer));
    result
}

/// Runs the body of an entry point: a failure or a panic becomes its status and the thread's last error.
pub(super) fn boundary(body: impl FnOnce() -> Result<(), Failure>) -> CkStatus {
    // A panic leaves nothing half-changed behind: registries publish whole states, and outputs are written
    // last.
    let failure = match catch(body) {
        Ok(Ok(())) => return CkStatus::Ok,
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let failure = Failure::new(CkStatus::Panic, panic_text(payload.as_ref()));
            discard(payload);
            failure
        }
    };
    remember(&failure.message);
    failure.status
}

/// The same for the few entry points that cannot fail: a panic becomes `fallback`.
pub(super) fn boundary_value<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch(body).unwrap_or_else(|payload| {
        discard(payload);
        fallback
    })
}

/// Drops a panic's payload, which may panic in turn. The second payload is leaked.
fn discard(payload: Box<dyn std::any::Any + Send>) {
    if let Err(again) = catch(|| drop(payload)) {
        std::mem::forget(again);
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("panic: {text}")
}

fn remember(message: &str) {
    // C strings end at a NUL; names in messages may contain one.
    let text = CString::new(message.replace('\0', "\u{fffd}")).unwrap_or_default();
    // When a thread ends, the slot may already be gone; then nobody can read it anyway.
    let _ = LAST_ERROR.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = text;
        }
    });
}

/// The message of the last failed call on this thread; empty if none failed. Never NULL.
///
/// The string is valid until another call fails on this thread, or the thread ends. Successful calls do not
/// change it.
#[unsafe(no_mangle)]
pub extern "C" fn ck_last_error() -> *const c_char {
    boundary_value(c"".as_ptr(), || {
        LAST_ERROR
            .try_with(|last| last.try_borrow().map_or(c"".as_ptr(), |last| last.as_ptr()))
            .unwrap_or(c"".as_ptr())
    })
}
