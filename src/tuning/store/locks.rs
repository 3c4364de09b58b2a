//! Locks that belong to this copy of the library, not to its process.
//!
//! SQLite uses POSIX locks, which belong to a whole process: two copies of SQLite in one process, for example
//! in a program and a plugin that both contain this library, do not see each other's locks, and closing a
//! file in one releases those of the other. Both then write at once and damage the store. On Linux a lock can
//! belong to an open file description instead. So SQLite's calls of `fcntl` are redirected to one open file
//! for each locked file, the *holder*, which the connections of this copy share as they would share their
//! process.
//!
//! If that is not possible (no `/proc`, a read-only file), the locks belong to the process.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use linux::install;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) const fn install() {}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use std::ffi::{c_int, c_short};
    use std::fs::{File, OpenOptions};
    use std::mem::{ManuallyDrop, transmute};
    use std::os::fd::{AsRawFd as _, FromRawFd as _, RawFd};
    use std::os::unix::fs::MetadataExt as _;
    use std::sync::{Mutex, MutexGuard, Once, PoisonError};

    use rusqlite::ffi;

    const F_GETLK: c_int = 5;
    const F_SETLK: c_int = 6;
    const F_OFD_GETLK: c_int = 36;
    const F_OFD_SETLK: c_int = 37;

    /// C's `struct flock`.
    #[repr(C)]
    struct Range {
        kind: c_short,
        whence: c_short,
        start: i64,
        length: i64,
        process: c_int,
    }

    type Control = unsafe extern "C" fn(c_int, c_int, *mut Range) -> c_int;
    type Close = unsafe extern "C" fn(c_int) -> c_int;
    type Call = unsafe extern "C" fn();

    unsafe extern "C" {
        fn fcntl(file: c_int, command: c_int, ...) -> c_int;
        fn close(file: c_int) -> c_int;
    }

    /// A file that SQLite locks.
    struct Locked {
        device: u64,
        inode: u64,
        holder: Option<File>,
        /// SQLite's descriptors for it.
        users: Vec<RawFd>,
    }

    struct Files {
        process: u32,
        locked: Vec<Locked>,
    }

    static FILES: Mutex<Files> = Mutex::new(Files { process: 0, locked: Vec::new() });

    fn files() -> MutexGuard<'static, Files> {
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if files.process != process {
            // A forked child would share its parent's locks.
            *files = Files { process, locked: Vec::new() };
        }
        files
    }

    impl Files {
        /// The descriptor that holds the locks of an SQLite file; `None` to use the file's own.
        fn holder(&mut self, file: RawFd) -> Option<RawFd> {
            let known = self.locked.iter().position(|one| one.users.contains(&file));
            let at = known.or_else(|| self.enter(file))?;
            self.locked[at].holder.as_ref().map(File::as_raw_fd)
        }

        fn enter(&mut self, file: RawFd) -> Option<usize> {
            // SAFETY: SQLite has the file open during the call, and it is not closed here.
            let found = ManuallyDrop::new(unsafe { File::from_raw_fd(file) }).metadata().ok()?;
            let (device, inode) = (found.dev(), found.ino());
            let same = self.locked.iter().position(|one| (one.device, one.inode) == (device, inode));
            if let Some(at) = same {
                self.locked[at].users.push(file);
            } else {
                self.locked.push(Locked { device, inode, holder: hold(file), users: vec![file] });
            }
            same.or_else(|| self.locked.len().checked_sub(1))
        }

        fn leave(&mut self, file: RawFd) {
            for one in &mut self.locked {
                one.users.retain(|&user| user != file);
            }
            self.locked.retain(|one| !one.users.is_empty());
        }
    }

    /// Opens a file once more, if it supports such locks.
    fn hold(file: RawFd) -> Option<File> {
        let holder = OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{file}")).ok()?;
        let mut range = Range { kind: 0, whence: 0, start: 0, length: 1, process: 0 };
        // SAFETY: the file is open, and the command takes a range.
        let possible = unsafe { fcntl(holder.as_raw_fd(), F_OFD_GETLK, &raw mut range) } == 0;
        possible.then_some(holder)
    }

    /// Replaces `fcntl`. For commands without locks, the argument is a number.
    unsafe extern "C" fn control(file: c_int, command: c_int, argument: *mut Range) -> c_int {
        let own = match command {
            F_GETLK => Some(F_OFD_GETLK),
            F_SETLK => Some(F_OFD_SETLK),
            _ => None,
        };
        // The holder stays open while SQLite uses the file.
        let led = own.and_then(|own| Some((files().holder(file)?, own)));
        // SAFETY: the caller's arguments, which for these commands are a range.
        unsafe {
            match led {
                Some((holder, own)) => {
                    (*argument).process = 0;
                    fcntl(holder, own, argument)
                }
                None => fcntl(file, command, argument),
            }
        }
    }

    /// Replaces `close`.
    unsafe extern "C" fn end(file: c_int) -> c_int {
        files().leave(file);
        // SAFETY: the caller's argument.
        unsafe { close(file) }
    }

    /// Redirects SQLite's locks to holders, from the first connection on.
    pub(in super::super) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the functions match SQLite's way of calling: on these processors a variadic function
            // receives its arguments in the same places as one with three parameters. No file is open yet.
            unsafe {
                let system = ffi::sqlite3_vfs_find(c"unix".as_ptr());
                let Some(set) = system.as_ref().and_then(|system| system.xSetSystemCall) else { return };
                set(system, c"close".as_ptr(), Some(transmute::<Close, Call>(end)));
                set(system, c"fcntl".as_ptr(), Some(transmute::<Control, Call>(control)));
            }
        });
    }
}
