//! The page of a running sweep: `ckselect report`, again and again, in a process of its own, so that the
//! sweep waits for nothing.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ck_select_evaluate::page;

use crate::error::CliError;
use crate::output;
use crate::timestamp::timestamp;

/// The shortest time between two pages.
const MIN_INTERVAL: Duration = Duration::from_secs(5);
/// Building pages takes at most this fraction (one in `SHARE`) of a core's time.
const SHARE: u32 = 50;

/// The thread that has pages made.
pub(super) struct Watch {
    over: Sender<()>,
    maker: JoinHandle<()>,
}

/// Starts it, for a log that need not exist yet. A page that cannot be written is an error before anything is
/// measured.
pub(super) fn start(page: Option<&Path>, log: &Path) -> Result<Option<Watch>, CliError> {
    let Some(page) = page else { return Ok(None) };
    let maker = PageMaker { log: log.to_owned(), page: page.to_owned() };
    maker.empty(true)?;
    let (over, is_over) = channel();
    Ok(Some(Watch { over, maker: std::thread::spawn(move || maker.run(&is_over)) }))
}

impl Watch {
    /// Has the last page made, once the sweep's files are complete.
    pub(super) fn finish(self) {
        drop(self.over);
        let _ = self.maker.join();
    }
}

struct PageMaker {
    log: PathBuf,
    page: PathBuf,
}

impl PageMaker {
    fn run(&self, is_over: &Receiver<()>) {
        let mut took = Duration::ZERO;
        while is_over.recv_timeout(MIN_INTERVAL.max(took * SHARE)) == Err(RecvTimeoutError::Timeout) {
            let began = Instant::now();
            // A row that is being written may look cut off; the next page has it.
            let _ = self.report(&["--running"]);
            took = began.elapsed();
        }
        let made = self.report(&[]);
        if !made.is_ok_and(|made| made.status.success())
            && let Err(CliError::Failed(error)) = self.empty(false)
        {
            say!("ckselect: the page of the sweep: {error}");
        }
    }

    fn report(&self, more: &[&str]) -> std::io::Result<Output> {
        let mut report = Command::new(std::env::current_exe()?);
        report.arg("report").arg(&self.log).arg("--output").arg(&self.page).args(more);
        // A group of its own: Ctrl-C is for the sweep, and the page then shows how it ended.
        report.process_group(0).stdin(Stdio::null()).output()
    }

    fn empty(&self, runs: bool) -> Result<(), CliError> {
        let log = output::file_name(&self.log);
        output::write_file(&self.page, &page::empty(&log, &timestamp(), runs))
    }
}
