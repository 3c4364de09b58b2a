//! Writes at the limit of a file's size (`ulimit -f`): an error, as on a full disk. The kernel also sends the thread a
//! signal that ends the process by default, which is the host's, and not a library's to end.

use std::io;

/// Writes with that signal blocked on this thread, and takes back one that came.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn without_signal<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let _blocked = Blocked::new();
    write()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn without_signal<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    write()
}

/// The signal, blocked until this is dropped.
#[cfg(all(target_os = "linux", not(miri)))]
struct Blocked {
    signal: libc::sigset_t,
    /// The thread's mask before; `None` if it was blocked already, or cannot be.
    before: Option<libc::sigset_t>,
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Blocked {
    fn new() -> Self {
        use std::mem::MaybeUninit;
        let (mut signal, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `sigemptyset` fills the set before anything reads it; `pthread_sigmask` fills `before` if it
        // succeeds, and it is read only then.
        unsafe {
            libc::sigemptyset(signal.as_mut_ptr());
            libc::sigaddset(signal.as_mut_ptr(), libc::SIGXFSZ);
            let signal = signal.assume_init();
            let is_set = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signal, before.as_mut_ptr()) == 0;
            let before = is_set.then(|| before.assume_init());
            let before =
                before.filter(|before| libc::sigismember(std::ptr::from_ref(before), libc::SIGXFSZ) == 0);
            Self { signal, before }
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
impl Drop for Blocked {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the sets were filled by the calls of `new`; null pointers are for results that nobody reads.
        unsafe {
            libc::sigtimedwait(&raw const self.signal, std::ptr::null_mut(), &raw const at_once);
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::from_ref(before), std::ptr::null_mut());
        }
    }
}
