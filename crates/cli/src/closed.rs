//! Handles a standard output that was closed before the program started (`>&-`), so that output is not lost
//! silently.

use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};

/// Runs before `main`: Rust's runtime later replaces closed streams with `/dev/null`, which accepts
/// everything.
// SAFETY: the loader calls every pointer in this section once, with arguments that a C function without
// parameters ignores, and `keep` needs nothing that is initialised later.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = keep;

/// Opens a file there that cannot be written to.
extern "C" fn keep() {
    // SAFETY: the descriptor is only tested for being open; nothing else runs that could close it.
    let output = unsafe { BorrowedFd::borrow_raw(1) };
    if rustix::io::fcntl_getfd(output).is_ok() {
        return;
    }
    let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()) else { return };
    if std::os::fd::AsRawFd::as_raw_fd(&null) == 1 {
        // `/dev/null` was opened as descriptor 1 and must stay open.
        std::mem::forget(null);
    } else {
        // If this fails, the output is lost as it would be without it.
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
