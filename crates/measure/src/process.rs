//! Processes that always end: each in its own session, with a deadline and limited output, and reaped.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ck_select_measurements::outcome::{Failure, FailureClass};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::guard::{Guard, PATIENCE};
use crate::stop::{Stop, StopReason};

/// How many bytes of each stream are kept.
const KEPT: usize = 1 << 20;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The process ended by itself.
    Exited(ExitStatus),
    /// Killed at its deadline.
    TimedOut,
    /// Killed for printing too much.
    Flooded,
    /// Killed because the sweep stops.
    Stopped(StopReason),
    /// Killed, but it does not exit: it waits inside a driver.
    Stuck(u32),
}

/// An ended process and the last part of its output.
#[derive(Debug)]
pub struct ProcessOutput {
    /// How the process ended.
    pub ended: ProcessEnd,
    /// The end of the process's standard output.
    pub stdout: Vec<u8>,
    /// The end of the process's standard error.
    pub stderr: Vec<u8>,
}

/// Runs a command to its end.
pub fn run(
    command: Command,
    timeout: Duration,
    flood: u64,
    guard: &Guard,
    stop: &Stop,
) -> io::Result<ProcessOutput> {
    let mut process = Process::start(command, guard)?;
    process.send(&[]);
    let deadline = Instant::now() + timeout;
    let killed = loop {
        match process.wait(deadline, stop)? {
            Wake::Output if process.stdout.total > flood => break Some(ProcessEnd::Flooded),
            Wake::Output => {}
            Wake::Exited => break None,
            Wake::Deadline => break Some(ProcessEnd::TimedOut),
            Wake::Stopped(reason) => break Some(ProcessEnd::Stopped(reason)),
        }
    };
    let ended = process.end()?;
    let ended = match (ended, killed) {
        (ProcessEnd::Exited(_), Some(killed)) => killed,
        (ended, _) => ended,
    };
    let (stdout, stderr) = (std::mem::take(&mut process.stdout.bytes), process.stderr_tail());
    Ok(ProcessOutput { ended, stdout, stderr })
}

/// Why a wait returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// There is new standard output.
    Output,
    /// The process has ended, and all its output is here.
    Exited,
    /// The time is up.
    Deadline,
    /// The sweep stops.
    Stopped(StopReason),
}

/// The end of a stream.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    /// How many of the bytes were taken as lines.
    taken: usize,
    /// How many bytes were received in total.
    total: u64,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * KEPT {
            let gone = self.bytes.len() - KEPT;
            self.bytes.drain(..gone);
            self.taken = self.taken.saturating_sub(gone);
        }
    }
}

/// A running process. Dropping it kills its group and reaps it.
pub(crate) struct Process<'g> {
    child: Child,
    pid: Pid,
    /// Becomes readable when the process ends.
    pidfd: OwnedFd,
    stdin: Option<ChildStdin>,
    to_send: Vec<u8>,
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    stdout: Tail,
    stderr: Tail,
    guard: &'g Guard,
    ended: bool,
}

impl<'g> Process<'g> {
    pub(crate) fn start(mut command: Command, guard: &'g Guard) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = guard.spawn(command)?;
        let pid = Pid::from_child(&child);
        let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let prepare = || -> rustix::io::Result<OwnedFd> {
            let output = [out.as_ref().map(AsFd::as_fd), err.as_ref().map(AsFd::as_fd)];
            for stream in output.into_iter().flatten().chain(stdin.as_ref().map(AsFd::as_fd)) {
                rustix::fs::fcntl_setfl(stream, OFlags::NONBLOCK)?;
            }
            rustix::process::pidfd_open(pid, PidfdFlags::empty())
        };
        match prepare() {
            Ok(pidfd) => Ok(Self {
                child,
                pid,
                pidfd,
                stdin,
                to_send: Vec::new(),
                out,
                err,
                stdout: Tail::default(),
                stderr: Tail::default(),
                guard,
                ended: false,
            }),
            Err(error) => {
                let _ = rustix::process::kill_process_group(pid, Signal::KILL);
                let _ = guard.reap(&mut child);
                Err(error.into())
            }
        }
    }

    /// Sends a text as the process reads it, and then closes its input.
    pub(crate) fn send(&mut self, text: &[u8]) {
        self.to_send = text.to_vec();
        self.push_input();
    }

    /// Takes the next whole line of standard output, without its line end.
    pub(crate) fn take_line(&mut self) -> Option<Vec<u8>> {
        let Tail { bytes, taken, .. } = &mut self.stdout;
        let rest = bytes.get(*taken..)?;
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            bytes.drain(..*taken);
            *taken = 0;
            return None;
        };
        let line = rest[..end].to_vec();
        *taken += end + 1;
        Some(line)
    }

    /// The end of standard error so far.
    pub(crate) fn stderr_tail(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.stderr.bytes)
    }

    /// Waits for output, exit, the deadline or a reason to stop, whichever comes first.
    pub(crate) fn wait(&mut self, deadline: Instant, stop: &Stop) -> io::Result<Wake> {
        loop {
            if let Some(reason) = stop.reason() {
                return Ok(Wake::Stopped(reason));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Wake::Deadline);
            }
            let exited = self.poll(left.min(Stop::INTERVAL))?;
            self.push_input();
            let before = self.stdout.total;
            self.pull()?;
            if self.stdout.total > before {
                return Ok(Wake::Output);
            }
            if exited {
                return Ok(Wake::Exited);
            }
        }
    }

    /// Waits until there is something to do; returns whether the process has ended.
    fn poll(&self, time: Duration) -> io::Result<bool> {
        let mut watched = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
        watched.extend(self.out.iter().map(|stream| PollFd::new(stream, PollFlags::IN)));
        watched.extend(self.err.iter().map(|stream| PollFd::new(stream, PollFlags::IN)));
        let waiting = self.stdin.iter().filter(|_| !self.to_send.is_empty());
        watched.extend(waiting.map(|stream| PollFd::new(stream, PollFlags::OUT)));
        let time = Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos().into() };
        match rustix::event::poll(&mut watched, Some(&time)) {
            Ok(_) => Ok(watched.first().is_some_and(|pidfd| !pidfd.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn push_input(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            while !self.to_send.is_empty() {
                match stdin.write(&self.to_send) {
                    Ok(written) => drop(self.to_send.drain(..written)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // The process does not read its input; how it ends will tell why.
                    Err(_) => self.to_send.clear(),
                }
            }
        }
        self.stdin = None;
    }

    /// Reads what both streams have, at most as much at a time as is kept.
    fn pull(&mut self) -> io::Result<()> {
        if read_some(self.out.as_mut(), &mut self.stdout)? {
            self.out = None;
        }
        if read_some(self.err.as_mut(), &mut self.stderr)? {
            self.err = None;
        }
        Ok(())
    }

    /// Kills the process if it still runs, and in any case its group, and reaps it.
    pub(crate) fn end(&mut self) -> io::Result<ProcessEnd> {
        if self.ended {
            return Ok(ProcessEnd::Exited(self.child.wait()?));
        }
        let exited = self.poll(Duration::ZERO)?;
        // A leader that has ended keeps its number until it is reaped, so the number still means the same
        // group.
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        let deadline = Instant::now() + PATIENCE;
        while !exited && !self.poll(Stop::INTERVAL)? {
            // The remaining output of a dying process would keep the streams readable.
            self.pull()?;
            if Instant::now() >= deadline {
                self.ended = true;
                return Ok(ProcessEnd::Stuck(self.child.id()));
            }
        }
        self.pull()?;
        self.ended = true;
        Ok(ProcessEnd::Exited(self.guard.reap(&mut self.child)?))
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // There is nobody to report an error to.
            let _ = self.end();
        }
    }
}

/// Whether the stream has ended.
fn read_some(stream: Option<&mut impl Read>, tail: &mut Tail) -> io::Result<bool> {
    let Some(stream) = stream else { return Ok(false) };
    let mut room = [0; 16 << 10];
    for _ in 0..KEPT / room.len() {
        match stream.read(&mut room) {
            Ok(0) => return Ok(true),
            Ok(count) => tail.push(&room[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The failure of a process that ended by itself, with its output `said`.
pub(crate) fn failure(status: ExitStatus, said: &str) -> Failure {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Failure::new(FailureClass::Crash, format!("{} {said}", signal_name(signal))),
        (None, code) => Failure::new(FailureClass::Exit, format!("code {} {said}", code.unwrap_or_default())),
    }
}

/// The name of a signal, for messages.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal}, {name}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A guard that only reads.
    pub(crate) fn guard() -> Guard {
        let mut command = Command::new("cat");
        command.arg("-");
        Guard::start(command).unwrap()
    }

    fn shell(script: &str, timeout: Duration) -> ProcessOutput {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, timeout, 1 << 20, &guard(), &Stop::default()).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn both_streams_and_the_status_come_back() {
        let finished = shell("echo out; echo err >&2; cat; exit 3", LONG);
        assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(finished.ended, ProcessEnd::Exited(ExitStatus::from_raw(3 << 8)));
    }

    #[test]
    fn a_group_ends_with_its_leader_or_its_time() {
        for (script, timeout) in [("sleep 1000 & echo $!", LONG), ("sleep 1000 & echo $!; wait", SHORT)] {
            let began = Instant::now();
            let finished = shell(script, timeout);
            assert!(began.elapsed() < LONG);
            assert_eq!(matches!(finished.ended, ProcessEnd::TimedOut), timeout == SHORT);
            let child: i32 = String::from_utf8(finished.stdout).unwrap().trim().parse().unwrap();
            let gone = |_| {
                std::thread::sleep(Duration::from_millis(5));
                std::fs::read_to_string(format!("/proc/{child}/stat"))
                    .map_or(true, |stat| stat.contains(") Z "))
            };
            assert!((0..2000).any(gone), "process {child} is left");
        }
    }

    /// Grandchildren that left the group outlived the sweep.
    #[test]
    fn grandchildren_in_their_own_session_end_with_their_leader() {
        let daemon = "(setsid sh -c 'echo $$; exec >&- 2>&-; setsid sleep 1001 & sleep 1000' &)";
        let finished = shell(&format!("{daemon}; setsid sleep 1000 >&- 2>&- & echo $!; sleep 0.3"), LONG);
        let numbers = String::from_utf8(finished.stdout).unwrap();
        assert_eq!(numbers.lines().count(), 2, "{numbers}");
        for number in numbers.lines() {
            assert!(!std::path::Path::new("/proc").join(number).exists(), "process {number} is left");
        }
        let commands = std::fs::read_dir("/proc").unwrap().flatten();
        let commands = commands.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        assert!(!commands.into_iter().any(|command| command == b"sleep\x001001\0"));
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let finished = shell("yes | head -c 500000; yes | head -c 100 >&2; echo end", LONG);
        assert!(finished.stdout.ends_with(b"y\nend\n"));
        let flood = shell("yes", LONG);
        assert_eq!(flood.ended, ProcessEnd::Flooded);
        assert!(flood.stdout.len() <= 2 * KEPT);
    }

    #[test]
    fn stops_on_signal_or_budget() {
        let signal = Stop::new(Arc::new(AtomicUsize::new(15)), None);
        let budget = Stop::new(Arc::default(), Some(SHORT));
        for (stop, reason) in [(signal, StopReason::Signal(15)), (budget, StopReason::Budget)] {
            let mut command = Command::new("sleep");
            command.arg("1000");
            let finished = run(command, LONG, 1, &guard(), &stop).unwrap();
            assert_eq!(finished.ended, ProcessEnd::Stopped(reason));
        }
    }

    #[test]
    fn a_long_input_is_sent_while_output_is_read() {
        let guard = guard();
        let mut process = Process::start(Command::new("cat"), &guard).unwrap();
        process.send(&b"0123456789abcde\n".repeat(40_000));
        let mut lines = 0;
        let deadline = Instant::now() + LONG;
        while process.wait(deadline, &Stop::default()).unwrap() == Wake::Output {
            while let Some(line) = process.take_line() {
                assert_eq!(line, b"0123456789abcde");
                lines += 1;
            }
        }
        assert_eq!(lines, 40_000);
        assert_eq!(process.end().unwrap(), ProcessEnd::Exited(ExitStatus::from_raw(0)));
    }
}
