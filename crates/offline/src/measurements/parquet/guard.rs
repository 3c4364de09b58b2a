//! Calls into the parquet reader, which panics on some damaged files.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use parquet::errors::ParquetError;

static HOOK: Once = Once::new();

thread_local! {
    /// Whether the thread is inside the reader, whose panics are errors of the file and not to be printed.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs code of the reader. A panic in it becomes an error; what was being read is not to be used any more.
pub(super) fn guarded<T>(body: impl FnOnce() -> T) -> Result<T, ParquetError> {
    // Panics of anybody else go on to the hook that was there.
    HOOK.call_once(|| {
        let other = take_hook();
        set_hook(Box::new(move |panic| {
            if !INSIDE.try_with(Cell::get).unwrap_or(false) {
                other(panic);
            }
        }));
    });
    let outer = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(outer);
    result.map_err(|panic| ParquetError::General(format!("damaged: {}", message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the reader gave up")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        assert_eq!(guarded(|| 7).unwrap(), 7);
        let missing: Option<u8> = None;
        let found = guarded(|| [1, 2][missing.map_or(5, usize::from)]).unwrap_err().to_string();
        assert!(found.contains("damaged: index out of bounds"), "{found}");
        assert!(!INSIDE.get());
    }
}
