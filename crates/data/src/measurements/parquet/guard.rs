//! Calls into the parquet reader, which panics on some damaged files.

use ck_select_types::panics;
use parquet::errors::ParquetError;

/// Runs code of the reader. A panic in it becomes an error; what was being read must no longer be used.
pub(super) fn guarded<T>(body: impl FnOnce() -> T) -> Result<T, ParquetError> {
    panics::catch(body).map_err(|panicked| {
        let message = panicked.message.as_deref().unwrap_or("the reader gave up");
        ParquetError::General(format!("damaged: {message}"))
    })
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
    }
}
