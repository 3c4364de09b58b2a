//! Indexing that is checked in debug builds and unchecked in release builds.

/// The element at an index.
///
/// # Safety
///
/// The index is inside the slice.
#[inline(always)]
pub(super) unsafe fn get<T: Copy>(slice: &[T], index: usize) -> T {
    debug_assert!(index < slice.len(), "index {index} of {}", slice.len());
    // SAFETY: by contract, `index` is inside the slice.
    unsafe { *slice.get_unchecked(index) }
}

/// Sets the element at an index.
///
/// # Safety
///
/// The index is inside the slice.
#[inline(always)]
pub(super) unsafe fn set<T>(slice: &mut [T], index: usize, value: T) {
    debug_assert!(index < slice.len(), "index {index} of {}", slice.len());
    // SAFETY: by contract, `index` is inside the slice.
    unsafe { *slice.get_unchecked_mut(index) = value }
}
