//! The system's allocator, counting what each thread takes: the test harness allocates on threads of its own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// How often this thread allocated.
    pub static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Bytes that it has, less those that it freed for others.
    pub static BYTES: Cell<isize> = const { Cell::new(0) };
    /// The most of these since it was last set.
    pub static PEAK: Cell<isize> = const { Cell::new(0) };
    /// Bytes of all that it ever allocated.
    pub static EVER: Cell<usize> = const { Cell::new(0) };
}

/// The allocator, for a program that counts: `#[global_allocator] static COUNTING: Counting = Counting;`.
#[derive(Debug)]
pub struct Counting;

// SAFETY: memory is the system's allocator's; the counters cannot allocate. A block that grows is a new one,
// which the trait makes by `alloc`, so that it is counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        let now = BYTES.try_with(|bytes| {
            bytes.set(bytes.get() + layout.size() as isize);
            bytes.get()
        });
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.unwrap_or(0))));
        let _ = EVER.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() - layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}
