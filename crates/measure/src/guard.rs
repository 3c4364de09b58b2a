//! A process that outlives us briefly, to kill what we started.
//!
//! Every process that is started here leads its own session and process group, and writes its number into the
//! guard's pipe before it becomes another program. When our end of the pipe closes, for whatever reason we
//! ended, the guard kills the groups that it knows and exits. So not even `kill -9` leaves a kernel behind on
//! the GPU. The kernel's own mechanism (a signal when the parent dies) is used too, but alone it would miss
//! grandchildren.
//!
//! Grandchildren may leave their group (`setsid`). This process adopts them when their parents end (it is a
//! subreaper), so that a child of ours in another session than ours either leads a group that was started here,
//! or is a stray; strays are killed whenever a leader is reaped. Only those that outlive a `kill -9` of this
//! process itself go to init.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use crate::error::MeasureError;

/// How long a killed process may take to exit. One that waits inside a driver may never exit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The leaders that were started by any guard of this process and are not reaped. Locked while one is started:
/// whoever looks for strays knows it.
static LEADERS: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

fn leaders() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Our end of the guard.
#[derive(Debug)]
pub struct Guard {
    process: Mutex<Child>,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard: a command that calls [`serve`] with its standard input. From now on, this process
    /// adopts the orphans among its descendants.
    pub fn start(mut command: Command) -> Result<Self, MeasureError> {
        let name = command.get_program().display().to_string();
        // A group of its own, so that Ctrl-C does not reach it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(|error| MeasureError::about(&name, error))?;
        let pipe = process.stdin.take();
        let ours = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(ours))
            .map_err(|error| MeasureError::about(&name, error))?;
        Ok(Self { process: Mutex::new(process), pipe })
    }

    /// Fails if the guard is gone: then nothing may be started.
    pub(crate) fn check(&self) -> std::io::Result<()> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        match process.try_wait()? {
            None => Ok(()),
            Some(status) => Err(std::io::Error::other(format!("the guard process has ended: {status}"))),
        }
    }

    /// Starts a command as the leader of a group that the guard knows. It consumes the command: started
    /// again, it would enroll through a descriptor that may belong to another file by then.
    pub(crate) fn spawn(&self, mut command: Command) -> std::io::Result<Child> {
        self.check()?;
        self.enroll(&mut command);
        let mut leaders = leaders();
        let child = command.spawn()?;
        leaders.get_or_insert_default().insert(Pid::from_child(&child));
        Ok(child)
    }

    /// Reaps an ended or killed leader, and kills what has left its group.
    pub(crate) fn reap(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        let leader = Pid::from_child(child);
        self.forget(leader);
        let status = child.wait();
        leaders().get_or_insert_default().remove(&leader);
        end_strays();
        status
    }

    fn enroll(&self, command: &mut Command) {
        let Some(pipe) = &self.pipe else { return };
        let pipe = pipe.as_fd();
        // SAFETY: the descriptor stays open until the command is started, and is not used after that: only
        // `spawn` calls this, which borrows `self` and drops the command.
        let pipe: BorrowedFd<'static> =
            unsafe { BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&pipe)) };
        let parent = rustix::process::getpid();
        let hook = move || {
            rustix::process::setsid()?;
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
            rustix::io::write(pipe, &message(b'+', rustix::process::getpid())).map(drop).map_err(Into::into)
        };
        // SAFETY: between fork and exec the hook makes system calls only: it neither allocates nor locks.
        unsafe { command.pre_exec(hook) };
    }

    /// Tells the guard that a group is gone, before its leader is reaped, while its number cannot be reused.
    fn forget(&self, leader: Pid) {
        if let Some(mut pipe) = self.pipe.as_ref() {
            // One write, since children of other threads write, too. If the guard is gone, there is nothing
            // to forget.
            let _ = pipe.write_all(&message(b'-', leader));
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = process.wait();
    }
}

/// Kills the descendants that have left the group of an ended leader, until there are none. Each that ends may
/// leave children, which are then adopted here.
fn end_strays() {
    let deadline = Instant::now() + PATIENCE;
    while end_present_strays() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether there were strays.
fn end_present_strays() -> bool {
    let mut leaders = leaders();
    let leaders = leaders.get_or_insert_default();
    let ours = session(rustix::process::getpid());
    let is_stray = |child: &Pid| !leaders.contains(child) && session(*child) != ours;
    let strays: Vec<Pid> = children().into_iter().filter(is_stray).collect();
    for &stray in &strays {
        // The stray may have ended by itself. Nobody else reaps it, so the number still means the same process.
        let _ = rustix::process::kill_process(stray, Signal::KILL);
        let _ = rustix::process::waitpid(Some(stray), WaitOptions::NOHANG);
    }
    !strays.is_empty()
}

/// The session of a process, as the kernel's own text has it: 0 where the session began outside of this
/// container, which rustix's `getsid` takes for a process number.
fn session(process: Pid) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    session_in(&stat)
}

/// The sixth field of a process's `stat`, whose second one, the command's name, may have spaces and brackets.
fn session_in(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(3)?.parse().ok()
}

/// The children of all threads of this process; none where the kernel lists none.
fn children() -> Vec<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let numbers =
        |list: String| -> Vec<i32> { list.split_whitespace().filter_map(|word| word.parse().ok()).collect() };
    lists.flat_map(numbers).filter_map(Pid::from_raw).collect()
}

/// The message that a group is there (`+`) or gone (`-`), made without heap memory.
fn message(sign: u8, leader: Pid) -> [u8; 5] {
    let [a, b, c, d] = leader.as_raw_nonzero().get().to_le_bytes();
    [sign, a, b, c, d]
}

/// The guard's main loop: keeps track of the groups that messages announce, and kills the remaining ones when
/// the input ends.
pub fn serve(mut input: impl Read) {
    let mut groups: Vec<Pid> = Vec::new();
    let mut message = [0; 5];
    while input.read_exact(&mut message).is_ok() {
        let [sign, number @ ..] = message;
        let Some(leader) = Pid::from_raw(i32::from_le_bytes(number).max(0)) else { continue };
        groups.retain(|&group| group != leader);
        if sign == b'+' {
            groups.push(leader);
        }
    }
    for group in groups {
        // The group may have ended by itself.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docker exec` and `unshare --pid` start processes whose session is outside of their container.
    #[test]
    fn a_session_may_have_begun_outside_of_the_container() {
        assert_eq!(session_in("31740 (a b) c) S 1 31740 0 0 -1 4194304 99"), Some(0));
        let ours = rustix::process::getpid();
        assert!(session(ours).is_some());
        assert_eq!(session_in("31740 (cut"), None);
    }

    #[test]
    fn groups_that_are_left_at_the_end_are_killed() {
        let start = || Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let (mut left, mut forgotten) = (start(), start());
        let of = |sign, child: &Child| message(sign, Pid::from_child(child));
        let none = [b'+', 0xff, 0xff, 0xff, 0xff];
        serve([of(b'+', &left), of(b'+', &forgotten), none, of(b'-', &forgotten)].as_flattened());
        let status = left.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        assert!(forgotten.try_wait().unwrap().is_none());
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
    }
}
