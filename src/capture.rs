//! Records which problems a process asks for, so that its owner can tune for them.
//!
//! A captured problem is a line of a [`ProblemList`](crate::listing::ProblemList), appended by one write. A
//! known problem costs one lookup in a table that readers never wait for: no lock, no allocation, no system
//! call. A new one is queued; a caller that finds nobody writing writes the queue, and all others continue.
//! So callers never wait for each other, but some of them write to a file. The table also includes what the
//! file contained before and what other processes append, so that each problem is written once. Only two
//! processes that see a new problem at the same moment may both write it; readers drop the duplicate.
//!
//! Any failure ends the capture, never a selection.

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};

use crossbeam_queue::SegQueue;

use crate::files;
use crate::listing::{ProblemLine, problem_line};
use crate::log::{self, Level};
use crate::problem::{Checked, Problem, WORDS};
use crate::size_limit::without_signal;

/// Maximum number of problems in a file.
pub(crate) const MAX_PROBLEMS: usize = 1 << 16;
/// Size of the table, which is never more than half full.
const PLACES: usize = 2 * MAX_PROBLEMS;
/// Maximum size of a file that is read and appended to: enough for that many problems, and for comments.
const MAX_BYTES: u64 = 64 << 20;

/// Captures of this process by file, so that registries with the same file share one.
static OPEN: Mutex<Vec<(PathBuf, Weak<Capture>)>> = Mutex::new(Vec::new());

/// A file that collects problems.
pub(crate) struct Capture {
    path: PathBuf,
    known: Known,
    /// Nothing is written anymore.
    ended: AtomicBool,
    /// Problems to be written by the thread that has `writer` or takes it next.
    queue: SegQueue<Problem>,
    writer: Mutex<Writer>,
}

struct Writer {
    file: File,
    /// The end of the file's lines that are in the table.
    read_to: u64,
}

impl Capture {
    /// The capture into a file, which is created if it does not exist. Its problems are known from the start.
    pub(crate) fn open(path: &Path) -> io::Result<Arc<Self>> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, capture)| capture.strong_count() > 0);
        let known = open.iter().find(|(known, _)| known == path).and_then(|(_, capture)| capture.upgrade());
        if let Some(capture) = known {
            return Ok(capture);
        }
        let file = files::open_with(OpenOptions::new().read(true).append(true).create(true), path)?;
        let capture = Arc::new(Self {
            path: path.to_owned(),
            known: Known::new(),
            ended: AtomicBool::new(false),
            queue: SegQueue::new(),
            writer: Mutex::new(Writer { file, read_to: 0 }),
        });
        if let Ok(mut writer) = capture.writer.lock() {
            capture.settle(writer.learn(&capture.known).map(|_| ()));
        }
        open.push((path.to_owned(), Arc::downgrade(&capture)));
        Ok(capture)
    }

    /// Records a problem unless it is known, without waiting for other writers.
    pub(crate) fn note(&self, problem: Checked<'_>) {
        let words = words_of(&problem);
        if self.known.contains(&words) || self.ended.load(Ordering::Relaxed) {
            return;
        }
        // If so many wait that they fill the file, this one is not needed.
        if self.queue.len() < MAX_PROBLEMS {
            self.queue.push(*problem);
        }
        loop {
            // Either the current writer sees what was pushed before this fence, or this thread sees that it
            // is done.
            fence(Ordering::SeqCst);
            let mut writer = match self.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            while let Some(problem) = self.queue.pop() {
                if !self.ended.load(Ordering::Relaxed) {
                    self.settle(writer.append(&self.known, &problem, &words_of(&problem)));
                }
            }
            drop(writer);
            fence(Ordering::SeqCst);
            if self.queue.is_empty() {
                return;
            }
        }
    }

    /// Ends the capture after an error.
    fn settle(&self, result: Result<(), Fault>) {
        if let Err(reason) = result {
            self.ended.store(true, Ordering::Relaxed);
            let path = self.path.display();
            log::line(
                Level::Warn,
                "capture",
                format_args!("{path}: no more problems are captured: {reason}"),
            );
        }
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Why a capture ended.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it holds {MAX_PROBLEMS} problems")]
    Full,
    #[error("it is longer than {} MiB", MAX_BYTES >> 20)]
    TooLong,
    #[error("it holds something other than captured problems; it is left as it is")]
    Foreign,
}

impl Writer {
    /// Reads what was appended since the last time. Returns whether the file ends within a line.
    fn learn(&mut self, known: &Known) -> Result<bool, Fault> {
        let length = self.file.metadata()?.len();
        if length > MAX_BYTES {
            return Err(Fault::TooLong);
        }
        // A shorter file was truncated by somebody; what it lost stays known.
        self.read_to = self.read_to.min(length);
        let mut bytes = vec![0; (length - self.read_to) as usize];
        self.file.read_exact_at(&mut bytes, self.read_to)?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let (is_first, mut problems, mut others) = (self.read_to == 0, 0, 0);
        for line in bytes[..whole].split(|&byte| byte == b'\n') {
            match std::str::from_utf8(line).map(ProblemLine::parse) {
                Ok(Ok(ProblemLine::Problem(problem) | ProblemLine::Behind(problem))) => {
                    problems += 1;
                    if !known.insert(&words_of(&problem)) {
                        return Err(Fault::Full);
                    }
                }
                Ok(Ok(ProblemLine::Nothing)) => {}
                _ => others += 1,
            }
        }
        // A crash cuts off a line among others, and leaves pairs in it. Anything else is somebody's file.
        let is_torn = bytes.get(whole..).is_some_and(|rest| rest.is_empty() || rest.contains(&b'='));
        if is_first && problems == 0 && (others > 0 || !is_torn) {
            return Err(Fault::Foreign);
        }
        self.read_to += whole as u64;
        Ok(whole < bytes.len())
    }

    fn append(&mut self, known: &Known, problem: &Problem, words: &[u64; WORDS]) -> Result<(), Fault> {
        // Another process that holds the lock may write the same problem now, which is better than waiting
        // for it.
        let locked = self.file.try_lock().is_ok();
        let written = self.append_line(known, problem, words);
        if locked {
            // A lock that cannot be released ends with the process.
            let _ = self.file.unlock();
        }
        written
    }

    fn append_line(&mut self, known: &Known, problem: &Problem, words: &[u64; WORDS]) -> Result<(), Fault> {
        let torn = self.learn(known)?;
        if known.contains(words) {
            return Ok(());
        }
        // A line that was torn by a crash ends here, and readers skip it.
        let line = format!("{}{}\n", if torn { "\n" } else { "" }, problem_line(problem));
        let written = without_signal(|| self.file.write(line.as_bytes()))?;
        if written < line.len() {
            return Err(io::Error::from(io::ErrorKind::WriteZero).into());
        }
        if known.insert(words) { Ok(()) } else { Err(Fault::Full) }
    }
}

/// A problem as words; a list of GEMMs, which has none, as 128 bits of hashes.
fn words_of(problem: &Problem) -> [u64; WORDS] {
    problem.words().unwrap_or_else(|| {
        let hash = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, problem).hash(&mut hasher);
            hasher.finish()
        };
        let mut words = [u64::MAX; WORDS];
        words[..2].copy_from_slice(&[hash(0), hash(1)]);
        words
    })
}

/// A growing set of problems that readers search without waiting: an open hash table of the numbers of
/// entries, which never move. Only one thread at a time inserts.
struct Known {
    /// The number of an entry plus 1; 0 is free.
    places: Box<[AtomicU32]>,
    entries: boxcar::Vec<[u64; WORDS]>,
}

impl Known {
    fn new() -> Self {
        Self {
            places: std::iter::repeat_with(|| AtomicU32::new(0)).take(PLACES).collect(),
            entries: boxcar::Vec::new(),
        }
    }

    fn contains(&self, words: &[u64; WORDS]) -> bool {
        self.find(words).is_none()
    }

    /// The free slot for a problem; `None` if the problem is already there.
    fn find(&self, words: &[u64; WORDS]) -> Option<&AtomicU32> {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        let start = hasher.finish() as usize % PLACES;
        // At least half of the slots are free, so one is found soon.
        let probes = self.places[start..].iter().chain(&self.places[..start]);
        for slot in probes {
            match slot.load(Ordering::Acquire) {
                0 => return Some(slot),
                number if self.entries.get(number as usize - 1) == Some(words) => return None,
                _ => {}
            }
        }
        None
    }

    /// Adds a problem; false if the table is full.
    fn insert(&self, words: &[u64; WORDS]) -> bool {
        let Some(slot) = self.find(words) else { return true };
        if self.entries.count() == MAX_PROBLEMS {
            return false;
        }
        let number = self.entries.push(*words) as u32 + 1;
        slot.store(number, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::{ProblemList, Skipped};
    use crate::problem::{GemmProblem, ProblemDefaults};
    use crate::vocab::Op;

    fn gemm(m: i64) -> Problem {
        GemmProblem::new(m, 64, 64).into()
    }

    fn note(capture: &Capture, m: i64) {
        capture.note(gemm(m).checked().unwrap());
    }

    fn read(path: &Path) -> (Vec<Problem>, Skipped) {
        let text = std::fs::read(path).unwrap();
        let list = ProblemList::parse("capture", &text, Op::Gemm, &ProblemDefaults::new(Op::Gemm)).unwrap();
        (list.problems.iter().map(|listed| listed.problem).collect(), list.passed)
    }

    /// A capture into a file that is not there yet.
    fn opened() -> (tempfile::TempDir, PathBuf, Arc<Capture>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let capture = Capture::open(&path).unwrap();
        (folder, path, capture)
    }

    #[test]
    fn lists_of_gemms_are_captured() {
        let (_folder, path, capture) = opened();
        let list = |groups: &str| Problem::from(GemmProblem::new(1, 1, 1).grouped(groups.parse().unwrap()));
        for groups in ["128x64x32*2", "128x64x32*3", "128x64x32*2"] {
            capture.note(list(groups).checked().unwrap());
        }
        assert_eq!(read(&path).0, [list("128x64x32*2"), list("128x64x32*3")]);
    }

    /// Another writer may take as long as it likes.
    #[test]
    fn callers_do_not_wait_for_the_writer() {
        let (_folder, path, capture) = opened();
        let writer = capture.writer.lock().unwrap();
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                note(&capture, 1);
                done.send(()).unwrap();
            });
            let came = is_done.recv_timeout(std::time::Duration::from_secs(20));
            drop(writer);
            came.expect("a selection does not wait");
        });
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        note(&capture, 2);
        assert_eq!(read(&path).0, [gemm(1), gemm(2)]);
    }

    #[test]
    fn many_threads_lose_nothing_and_write_nothing_twice() {
        let (_folder, path, capture) = opened();
        std::thread::scope(|threads| {
            for thread in 0..4 {
                let capture = &capture;
                threads.spawn(move || (0..400).for_each(|n| note(capture, 1 + (n + 100 * thread) % 500)));
            }
        });
        assert!(Arc::ptr_eq(&capture, &Capture::open(&path).unwrap()), "one capture for a file");
        let mut problems = read(&path).0;
        assert_eq!(problems.len(), std::fs::read_to_string(&path).unwrap().lines().count());
        problems.sort_by_key(|problem| if let Problem::Gemm(gemm) = problem { gemm.m } else { 0 });
        assert_eq!(problems, (1..=500).map(gemm).collect::<Vec<_>>());
    }

    #[test]
    fn captured_problems_are_recognised_and_a_torn_line_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        std::fs::write(&path, format!("# mine\n{}\nM=5,N=64,K", problem_line(&gemm(1)))).unwrap();
        let capture = Capture::open(&path).unwrap();
        note(&capture, 1);
        note(&capture, 2);
        // Another process appends meanwhile.
        let mut other = OpenOptions::new().append(true).open(&path).unwrap();
        writeln!(other, "{}", problem_line(&gemm(3))).unwrap();
        for m in [3, 4] {
            note(&capture, m);
        }
        let (problems, passed) = read(&path);
        assert_eq!((problems, passed.torn, passed.first_torn), ([1, 2, 3, 4].map(gemm).to_vec(), 1, 3));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 6);
    }

    #[test]
    fn a_full_capture_ends() {
        let known = Known::new();
        let words = |n: usize| {
            let mut words = [0; WORDS];
            words[WORDS - 1] = n as u64;
            words
        };
        for n in 0..MAX_PROBLEMS {
            assert!(known.insert(&words(n)));
        }
        assert!(known.insert(&words(7)) && !known.insert(&words(MAX_PROBLEMS)));
        assert!(
            (0..MAX_PROBLEMS).all(|n| known.contains(&words(n))) && !known.contains(&words(MAX_PROBLEMS))
        );
    }

    #[test]
    fn only_regular_files_are_captured_to() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Capture::open(folder.path()).is_err());
        assert!(Capture::open(&folder.path().join("none/seen")).is_err());
        #[cfg(target_os = "linux")]
        assert_eq!(
            Capture::open(Path::new("/dev/null")).unwrap_err().to_string(),
            "found a device, expected a regular file"
        );
    }

    /// A file above the limit ends the capture; the registry continues.
    #[test]
    fn a_long_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let capture = Capture::open(&path).unwrap();
        note(&capture, 1);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), MAX_BYTES + 1);
    }
}
