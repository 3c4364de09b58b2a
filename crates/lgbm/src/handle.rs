//! Handles: addresses of the slots where models are kept, so that a wrong handle is seen without touching it.
//!
//! A handle that was a model's own address could be checked only by reading what it points to, which for a wrong or
//! freed one is undefined. The slots are a table that is always there: whether a handle is one of them takes no more
//! than arithmetic, and an empty slot is a model that was freed.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use ck_select_model::forest::Forest;
use ck_select_model::scoring::RowScorer;

use crate::error::Error;

/// Models at once. The table takes no memory where it is not used.
const MOST: usize = 1 << 16;

static PLACES: [AtomicPtr<RowScorer>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];

/// The first slot to try for a new handle: behind the last one that was taken, so that a handle that was freed comes
/// back as another model's as late as possible.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Keeps a model, until [`take`].
pub(crate) fn put(forest: Forest) -> Result<*mut c_void, Error> {
    let scorer = Box::into_raw(Box::new(RowScorer::new(Arc::new(forest))));
    for _ in 0..MOST {
        let slot = &PLACES[NEXT.fetch_add(1, Ordering::Relaxed) % MOST];
        if slot.compare_exchange(ptr::null_mut(), scorer, Ordering::Release, Ordering::Relaxed).is_ok() {
            return Ok(ptr::from_ref(slot).cast_mut().cast());
        }
    }
    // SAFETY: from a box above, and no place has it.
    drop(unsafe { Box::from_raw(scorer) });
    Err(Error::TooManyModels { most: MOST })
}

/// The model of a handle.
///
/// # Safety
///
/// The handle is not freed as long as the model is used.
pub(crate) unsafe fn get<'a>(handle: *mut c_void) -> Result<&'a RowScorer, Error> {
    let scorer = slot(handle)?.load(Ordering::Acquire);
    // SAFETY: what is in a place comes from a box and stays until the handle is freed, which the caller
    // excludes.
    unsafe { scorer.as_ref() }.ok_or(Error::Freed)
}

/// Takes a model out, and so makes its handle invalid.
pub(crate) fn take(handle: *mut c_void) -> Result<Box<RowScorer>, Error> {
    let scorer = slot(handle)?.swap(ptr::null_mut(), Ordering::AcqRel);
    if scorer.is_null() {
        return Err(Error::Freed);
    }
    // SAFETY: what is in a place comes from a box, and whoever takes it out is the only one to have it.
    Ok(unsafe { Box::from_raw(scorer) })
}

fn slot(handle: *mut c_void) -> Result<&'static AtomicPtr<RowScorer>, Error> {
    if handle.is_null() {
        return Err(Error::Null("the handle"));
    }
    let offset = handle.addr().wrapping_sub(PLACES.as_ptr().addr());
    let size = size_of::<AtomicPtr<RowScorer>>();
    if !offset.is_multiple_of(size) {
        return Err(Error::NotAHandle);
    }
    PLACES.get(offset / size).ok_or(Error::NotAHandle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] =
        b"tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nfeature_names=x\nfeature_infos=none\n\
        end of trees\n";

    fn forest() -> Forest {
        Forest::parse(TEXT).unwrap()
    }

    /// # Safety
    ///
    /// As for [`get`].
    unsafe fn error(handle: *mut c_void) -> String {
        // SAFETY: passed on.
        unsafe { get(handle) }.unwrap_err().to_string()
    }

    #[test]
    fn wrong_handles_are_seen() {
        let handle = put(forest()).unwrap();
        // SAFETY: not freed yet.
        assert_eq!(**unsafe { get(handle) }.unwrap().forest(), forest());
        let mut word = 0usize;
        let wrong = [
            ptr::from_mut(&mut word).cast(),
            ptr::without_provenance_mut(1),
            ptr::without_provenance_mut(usize::MAX - 7),
            handle.wrapping_byte_add(1),
            PLACES.as_ptr().cast_mut().wrapping_add(MOST).cast(),
            PLACES.as_ptr().cast_mut().wrapping_sub(1).cast(),
        ];
        for handle in wrong {
            // SAFETY: there is nothing to free.
            assert_eq!(unsafe { error(handle) }, "the handle is not one of this library's");
            assert!(take(handle).is_err());
        }
        // SAFETY: there is nothing to free.
        assert_eq!(unsafe { error(ptr::null_mut()) }, "the handle is NULL");
        assert_eq!(**take(handle).unwrap().forest(), forest());
        // SAFETY: freed before, not while it is used.
        assert_eq!(unsafe { error(handle) }, "the handle was already freed");
        assert_eq!(take(handle).unwrap_err().to_string(), "the handle was already freed");
    }

    #[test]
    fn a_freed_handle_does_not_come_back_at_once() {
        let first = put(forest()).unwrap();
        take(first).unwrap();
        let second = put(forest()).unwrap();
        assert_ne!(first, second);
        take(second).unwrap();
    }
}
