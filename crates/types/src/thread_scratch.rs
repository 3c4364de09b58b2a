//! Working memory of a thread, kept from call to call, so that calls after its first do not allocate.

use std::cell::Cell;
use std::thread::LocalKey;

/// Working memory of a thread: the type of a `thread_local!`.
///
/// ```
/// use ck_select_types::thread_scratch::ThreadScratch;
///
/// thread_local! {
///     static SQUARES: ThreadScratch<Vec<u64>> = const { ThreadScratch::new() };
/// }
///
/// let sum = |numbers: std::ops::Range<u64>| {
///     ThreadScratch::with(&SQUARES, |squares| {
///         squares.clear();
///         squares.extend(numbers.map(|number| number * number));
///         (squares.iter().sum::<u64>(), squares.capacity())
///     })
/// };
/// let (_, capacity) = sum(0..100);
/// assert_eq!(sum(0..4), (14, capacity));
/// ```
#[derive(Default)]
pub struct ThreadScratch<T>(Cell<Option<Box<T>>>);

impl<T: Default> ThreadScratch<T> {
    /// No memory yet.
    pub const fn new() -> Self {
        Self(Cell::new(None))
    }

    /// Lends this thread's memory to a function. It gets new memory on the first call, inside of another call,
    /// and while the thread ends.
    #[inline]
    pub fn with<R>(own: &'static LocalKey<Self>, function: impl FnOnce(&mut T) -> R) -> R {
        let mut memory = own.try_with(|own| own.0.take()).ok().flatten().unwrap_or_default();
        let done = function(&mut memory);
        let _ = own.try_with(|own| own.0.set(Some(memory)));
        done
    }
}
