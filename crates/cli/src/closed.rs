//! A standard output that was closed before the program started (`>&-`), so that what is written to it is
//! not lost without a word.

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::BorrowedFd;

    use rustix::fs::{Mode, OFlags};

    /// Runs before `main`: later Rust's runtime has put `/dev/null` in place of what is closed, which takes
    /// everything.
    // SAFETY: the loader calls every pointer of this section once, with arguments that a C function without
    // parameters ignores, and `keep` needs nothing that is set up later.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEFORE_MAIN: extern "C" fn() = keep;

    /// Puts a file there that cannot be written to.
    extern "C" fn keep() {
        // SAFETY: only asked whether it is open; nothing else runs that could close it.
        let output = unsafe { BorrowedFd::borrow_raw(1) };
        if rustix::io::fcntl_getfd(output).is_ok() {
            return;
        }
        let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()) else { return };
        if std::os::fd::AsRawFd::as_raw_fd(&null) == 1 {
            // It took the place itself, and keeps it.
            std::mem::forget(null);
        } else {
            // If this fails, the output is lost as it was before.
            let _ = rustix::stdio::dup2_stdout(&null);
        }
    }
}
