//! A page for a running sweep. A separate process repeatedly builds it from the log alone, so that the sweep
//! waits for nothing. It is not a thread, because each worker start copies the memory tables of the process
//! that starts it, which would then include the page's data.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ck_select::vocab::Op;
use ck_select_data::measurements::{Measurements, Wanted};
use ck_select_data::sidecar::{Device, Session, Sidecar};
use ck_select_measure::host;
use ck_select_study::page::{self, Clock, Progress};
use ck_select_study::survey::Survey;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::super::word;
use crate::error::CliError;
use crate::output;
use crate::timestamp::timestamp;

/// The shortest time between two pages.
const LEAST: Duration = Duration::from_secs(5);
/// Building pages takes at most this fraction (one in `SHARE`) of a core's time.
const SHARE: u32 = 50;

/// Starts the process that watches a log with this many planned rows. The log need not exist yet.
/// `command` must call [`run`].
pub(super) fn start(
    page: Option<&Path>,
    mut command: Command,
    log: &Path,
    op: Op,
    planned: usize,
) -> Result<Option<Watch>, CliError> {
    let Some(page) = page else { return Ok(None) };
    command.arg("--log").arg(log).args(["--op", op.as_str(), "--planned", &planned.to_string()]);
    command.arg("--output").arg(page);
    // A group of its own: Ctrl-C is for the sweep, and the page then shows how the sweep ended.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn()?;
    let over = process.stdin.take();
    let mut said = String::new();
    if let Some(stdout) = process.stdout.take() {
        BufReader::new(stdout).read_line(&mut said)?;
    }
    if said.trim_end() != READY {
        let ended = process.wait()?;
        return Err(CliError::failed(match said.trim_end() {
            "" => format!("the page of the sweep: its process ended before the first page, with {ended}"),
            said => said.to_owned(),
        }));
    }
    Ok(Some(Watch { process, over }))
}

/// The process that makes pages.
pub(super) struct Watch {
    process: Child,
    over: Option<ChildStdin>,
}

impl Watch {
    /// Lets the process build the last page, which says how the sweep ended.
    pub(super) fn finish(mut self, how: &str) {
        if let Some(mut over) = self.over.take() {
            // If the process is gone, there is no last page.
            let _ = over.write_all(how.as_bytes());
        }
        let _ = self.process.wait();
    }
}

/// What the process prints when its first page is ready; anything else is an error message.
const READY: &str = "ready";

/// Started by a sweep to show how far it is
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The log
    #[arg(long)]
    log: PathBuf,
    /// Its operation
    #[arg(long, value_parser = word::<Op>)]
    op: Op,
    /// Rows of the plan
    #[arg(long)]
    planned: usize,
    /// The page
    #[arg(long)]
    output: PathBuf,
}

/// `ckselect bench-page`: shows a log until standard input ends. The input says how the sweep ended; if it is
/// empty, the sweep was killed, and there is no last page.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    // Batch systems signal every process of a job; this one must not end before the sweep.
    for number in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(number, Arc::default())?;
    }
    // Measuring has priority.
    let _ = rustix::process::nice(10);
    let pages = begin(args);
    let said = match &pages {
        Ok(_) => READY,
        Err(CliError::Usage(message) | CliError::Failed(message) | CliError::Judged(message)) => message,
        Err(CliError::BrokenPipe | CliError::Reported(_)) => "the page of the sweep: broken pipe",
    };
    writeln!(io::stdout(), "{said}")?;
    let Ok(pages) = pages else { return Ok(()) };
    let mut how = String::new();
    io::stdin().read_to_string(&mut how)?;
    if !how.is_empty() {
        pages.finish(how);
    }
    Ok(())
}

/// Starts the thread that makes pages until it is told how the sweep ended.
fn begin(args: &Args) -> Result<Pages, CliError> {
    let Args { log, op, planned, output } = args;
    let mut maker = Maker { log: log.clone(), op: *op, planned: *planned, html: output.clone(), first: None };
    // If the file cannot be written, this is reported before anything is measured.
    maker.make(None)?;
    let (over, is_over) = channel();
    Ok(Pages { over, maker: std::thread::spawn(move || maker.run(&is_over)) })
}

/// The thread that makes pages.
struct Pages {
    over: Sender<String>,
    maker: JoinHandle<()>,
}

impl Pages {
    /// Makes the last page, which says how the sweep ended.
    fn finish(self, how: String) {
        let _ = self.over.send(how);
        let _ = self.maker.join();
    }
}

/// Builds pages.
struct Maker {
    log: PathBuf,
    op: Op,
    planned: usize,
    html: PathBuf,
    /// When the log was first read, and how many rows it had then.
    first: Option<(Instant, usize)>,
}

impl Maker {
    fn run(mut self, is_over: &Receiver<String>) {
        let mut took = Duration::ZERO;
        loop {
            let ended = match is_over.recv_timeout(LEAST.max(took * SHARE)) {
                Ok(how) => Some(how),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let (is_last, began) = (ended.is_some(), Instant::now());
            let made = self.make(ended);
            // A row that is being written may look cut off; the next read sees all of it.
            if let (true, Err(CliError::Failed(error))) = (is_last, made) {
                say!("ckselect: the page of the sweep: {error}");
            }
            if is_last {
                return;
            }
            took = began.elapsed();
        }
    }

    fn make(&mut self, ended: Option<String>) -> Result<(), CliError> {
        let there = self.log.exists();
        let measurements =
            there.then(|| Measurements::read(&[&self.log], Wanted::all(self.op))).transpose()?;
        let rows = measurements.as_ref().map_or(0, |measurements| measurements.rows().len());
        // If the log is overwritten, counting starts again.
        let seen = self.first.filter(|(_, before)| *before <= rows);
        let (since, before) = *self.first.insert(seen.unwrap_or_else(|| (Instant::now(), rows)));
        let seconds = since.elapsed().as_secs_f64();
        let mut sidecars: Vec<Sidecar> = Sidecar::beside(&self.log).into_iter().collect();
        let sessions = sidecars.iter_mut().flat_map(|sidecar| &mut sidecar.sessions);
        // For a running sweep, the sidecar has no row count and no end.
        let mut earlier = 0;
        let current = sessions.inspect(|session| earlier += session.rows).last();
        let current = current.filter(|session| ended.is_none() && session.seconds.is_none());
        let clocks = current.as_deref().map_or_else(Vec::new, clocks);
        if let Some(session) = current {
            session.rows = (rows as u64).saturating_sub(earlier);
            "it runs".clone_into(&mut session.end);
        }
        let progress = Progress {
            at: timestamp(),
            log: self.log.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            planned: self.planned,
            rows,
            rate: (rows > before && seconds > 0.0).then(|| rows.saturating_sub(before) as f64 / seconds),
            clocks,
            ended,
            again: LEAST.as_secs(),
        };
        let survey = measurements.as_ref().and_then(|measurements| Survey::of(measurements, sidecars));
        let page = page::progress(&progress, survey.as_ref().zip(measurements.as_ref()));
        output::write_file(&self.html, &page)
    }
}

/// The current clocks of a sweep's GPUs, as far as their driver reports them. They are not in any file of the
/// sweep.
fn clocks(session: &Session) -> Vec<Clock> {
    let of_device = |device: &Device| {
        let host::CoreClock { now, most } = host::core_clock(device.bus.as_deref()?)?;
        Some(Clock { gpu: device.gpu.clone(), name: device.name.clone(), now, most })
    };
    session.devices.iter().filter_map(of_device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_is_there_before_the_log_and_the_last_says_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let html = folder.path().join("page.html");
        let args =
            |output: PathBuf| Args { log: folder.path().join("log.csv"), op: Op::Conv, planned: 30, output };
        let watch = begin(&args(html.clone())).unwrap();
        let page = || std::fs::read_to_string(&html).unwrap();
        assert!(page().contains("http-equiv=\"refresh\"") && page().contains("0 of 30"), "{}", page());
        watch.finish("the budget is spent, 30 rows remain".to_owned());
        assert!(page().contains("It ended: the budget is spent, 30 rows remain."), "{}", page());
        assert!(!page().contains("http-equiv=\"refresh\""));

        assert!(begin(&args(folder.path().join("none/page.html"))).is_err());
    }

    /// The message was empty.
    #[test]
    fn a_process_that_dies_before_its_first_page_is_an_error_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        let mut dies = Command::new("sh");
        dies.args(["-c", "exit 7"]);
        let Err(CliError::Failed(said)) = start(Some(&page), dies, Path::new("log.csv"), Op::Conv, 30) else {
            panic!("it has no page")
        };
        assert!(said.ends_with("before the first page, with exit status: 7"), "{said}");
    }
}
