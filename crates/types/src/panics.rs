//! Turns panics into values: at a boundary that they must not cross, and around third-party code that panics
//! on bad input.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// A panic that was caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panicked {
    /// The payload, if it was text.
    pub message: Option<String>,
    /// The report that would have been printed: the position in the source and the message.
    pub report: String,
}

thread_local! {
    /// Whether the thread is in [`catch`], so that nothing is printed.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static REPORT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a body. A panic in it is returned and not printed.
///
/// The caller is responsible for what a panic leaves half-changed.
///
/// ```
/// use ck_select_types::panics::catch;
///
/// assert_eq!(catch(|| 7), Ok(7));
/// let panicked = catch(|| [1, 2][std::hint::black_box(5)]).unwrap_err();
/// assert!(panicked.message.unwrap().contains("index out of bounds"));
/// ```
#[inline]
pub fn catch<T>(body: impl FnOnce() -> T) -> Result<T, Panicked> {
    install_hook();
    // A thread that is ending no longer has this flag. Then the hook prints, which does no harm.
    let outer = INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(true);
    let result = catch_unwind(AssertUnwindSafe(body)).map_err(panicked);
    let _ = INSIDE.try_with(|inside| inside.set(outer));
    result
}

#[cold]
fn panicked(payload: Box<dyn Any + Send>) -> Panicked {
    let report =
        REPORT.try_with(|report| report.try_borrow_mut().map(|mut report| std::mem::take(&mut *report)));
    let text = payload.downcast_ref::<&str>().copied();
    let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).map(str::to_owned);
    // Dropping the payload may panic, too. That second payload is leaked.
    std::mem::forget(catch_unwind(AssertUnwindSafe(|| drop(payload))));
    Panicked { message, report: report.ok().and_then(Result::ok).unwrap_or_default() }
}

/// Panics outside of [`catch`] go to the previous hook.
#[inline]
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A panicking thread cannot set a hook. Then only the report is missing.
        if std::thread::panicking() {
            return;
        }
        let other = take_hook();
        set_hook(Box::new(move |panic| {
            if INSIDE.try_with(Cell::get).unwrap_or(false) {
                let _ = REPORT.try_with(|report| {
                    if let Ok(mut report) = report.try_borrow_mut() {
                        *report = panic.to_string();
                    }
                });
            } else {
                other(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_panics_when_dropped_is_caught() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                std::panic::panic_any(());
            }
        }
        let caught = catch(|| std::panic::panic_any(Bomb)).unwrap_err();
        assert_eq!(caught.message, None);
        assert!(caught.report.contains("panics.rs:"), "{caught:?}");
        assert!(!INSIDE.get());
    }

    #[test]
    fn guards_nest() {
        let caught = catch::<()>(|| {
            catch::<()>(|| panic!("the inner one")).unwrap_err();
            assert!(INSIDE.get());
            panic!("the {} one", "outer")
        });
        let caught = caught.unwrap_err();
        assert_eq!(caught.message.as_deref(), Some("the outer one"));
        assert!(caught.report.contains("the outer one") && !caught.report.contains("inner"), "{caught:?}");
    }
}
