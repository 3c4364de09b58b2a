//! What stands around every function: errors become a status and a message, and so do panics.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use ck_select_types::panics;

use crate::error::Error;

/// Declares a function for C. Its body gives a `Result<(), Error>`, which becomes the status; or, with a
/// return type, the value itself, and after `or` what to return instead of panicking.
macro_rules! entry {
    ($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        entry! {
            $(#[$meta])*
            fn $name($($argument: $type),*) -> ::std::ffi::c_int, or(-1) {
                $crate::guard::status(move || $body)
            }
        }
    };
    (
        $(#[$meta:meta])*
        fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty, or($panicked:expr) $body:block
    ) => {
        $(#[$meta])*
        ///
        /// # Safety
        ///
        /// Pointers are NULL, or point to what LightGBM's function of this name asks for as long as the call
        /// lasts.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the name is LightGBM's")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            $crate::guard::guarded($panicked, move || $body)
        }
    };
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(NO_ERROR.into());
}

/// LightGBM's own words, until there is an error.
const NO_ERROR: &CStr = c"Everything is fine";

entry! {
    /// The message of this thread's last failed call.
    ///
    /// Never NULL. The text is this library's, valid until a call fails on the same thread or the thread
    /// ends.
    fn LGBM_GetLastError() -> *const c_char, or(NO_ERROR.as_ptr()) {
        LAST_ERROR
            .try_with(|last| last.try_borrow().map(|text| text.as_ptr()))
            .map_or(NO_ERROR.as_ptr(), |text| text.unwrap_or(NO_ERROR.as_ptr()))
    }
}

/// Runs a function's body; gives `panicked` instead, should it panic.
pub(crate) fn guarded<T>(panicked: T, body: impl FnOnce() -> T) -> T {
    // Nothing of this library is changed half-way when it panics: a forest never changes after it is parsed.
    panics::catch(body).unwrap_or_else(|caught| {
        set_last_error(&format!("internal error, please report it: {}", caught.report));
        panicked
    })
}

/// The status for a body's result, keeping the message.
pub(crate) fn status(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    match body() {
        Ok(()) => 0,
        Err(error) => {
            set_last_error(&error.to_string());
            -1
        }
    }
}

fn set_last_error(message: &str) {
    // C reads up to the first NUL, and a file's name in the middle may have brought one.
    let text = CString::new(message.replace('\0', "")).unwrap_or_default();
    let _ = LAST_ERROR.try_with(|last| last.try_borrow_mut().map(|mut last| *last = text));
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "the macro makes functions for C")]
mod tests {
    use super::*;

    entry! {
        /// Panics with what is not even text, and which panics again when it is dropped.
        fn LGBM_TestThrow() {
            struct Bomb;
            impl Drop for Bomb {
                fn drop(&mut self) {
                    std::panic::panic_any(());
                }
            }
            std::panic::panic_any(Bomb)
        }
    }

    entry! {
        /// Does what a bug would do.
        fn LGBM_TestIndex(index: usize) {
            let _ = std::hint::black_box([1, 2, 3])[index];
            Ok(())
        }
    }

    entry! {
        /// An ordinary error.
        fn LGBM_TestError() {
            Err(Error::Parameter { name: "name", value: "with\0NUL".into(), expected: "none" })
        }
    }

    fn last_error() -> String {
        // SAFETY: the text lives until the next error of this thread.
        unsafe { CStr::from_ptr(LGBM_GetLastError()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_a_status_with_its_message_and_place() {
        // SAFETY: no pointers.
        assert_eq!(unsafe { LGBM_TestIndex(2) }, 0);
        assert_eq!(last_error(), "Everything is fine");
        // SAFETY: no pointers.
        assert_eq!(unsafe { LGBM_TestIndex(7) }, -1);
        let message = last_error();
        assert!(message.starts_with("internal error, please report it: panicked at "), "{message}");
        assert!(message.contains("guard.rs:"), "{message}");
        assert!(message.contains("the len is 3 but the index is 7"), "{message}");
        // SAFETY: no pointers.
        assert_eq!(unsafe { LGBM_TestThrow() }, -1);
        assert_ne!(last_error(), message);
    }

    #[test]
    fn each_thread_has_its_own_message_without_nul() {
        // SAFETY: no pointers.
        assert_eq!(unsafe { LGBM_TestError() }, -1);
        assert_eq!(last_error(), "name=withNUL: none");
        std::thread::spawn(|| assert_eq!(last_error(), "Everything is fine")).join().unwrap();
    }
}
