//! A page for a running sweep. A separate process repeatedly builds it from the log alone, so that the sweep
//! waits for nothing. It is not a thread, because each worker start copies the memory tables of the process
//! that starts it, which would then include the page's data.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ck_select::vocab::Op;
use ck_select_measure::host;
use ck_select_offline::measurements::{Measurements, Wanted};
use ck_select_offline::page::{self, Clock, Progress};
use ck_select_offline::survey::{Device, Session, Sidecar, Survey};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::super::word;
use crate::error::CliError;
use crate::output;
use crate::timestamp::timestamp;

/// The shortest time between two pages.
const LEAST: Duration = Duration::from_secs(5);
/// Building pages takes at most this fraction (one in `SHARE`) of a core's time.
const SHARE: u32 = 50;
/// How long a reader may take to send its request or to receive the page.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the server checks whether the sweep is over.
const TURN: Duration = Duration::from_millis(100);

/// What is watched, and how it is shown.
#[derive(clap::Args)]
pub(super) struct PageOptions {
    /// Write a page of the running sweep and keep it up to date: progress, time left, failures, the best so
    /// far
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Serve that page at http://ADDRESS while the sweep runs: PORT for this machine only, or ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    serve: Option<SocketAddr>,
}

/// A port alone means loopback; an address is needed to let other machines read.
fn address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from(([127, 0, 0, 1], port))),
        Err(_) => text
            .parse()
            .map_err(|_| "expected a port, or an address with one, such as 127.0.0.1:8000".to_owned()),
    }
}

impl PageOptions {
    pub(super) const fn is_asked(&self) -> bool {
        self.html.is_some() || self.serve.is_some()
    }

    /// Starts the process that watches a log with this many planned rows. The log need not exist yet.
    /// `command` must call [`run`].
    pub(super) fn start(
        &self,
        mut command: Command,
        log: &Path,
        op: Op,
        planned: usize,
    ) -> Result<Option<Watch>, CliError> {
        if !self.is_asked() {
            return Ok(None);
        }
        command.arg("--log").arg(log).args(["--op", op.as_str(), "--planned", &planned.to_string()]);
        if let Some(html) = &self.html {
            command.arg("--html").arg(html);
        }
        if let Some(address) = self.serve {
            command.args(["--serve", &address.to_string()]);
        }
        // A group of its own: Ctrl-C is for the sweep, and the page then shows how the sweep ended.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let over = process.stdin.take();
        let mut said = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut said)?;
        }
        if said.trim_end() != READY {
            process.wait()?;
            return Err(CliError::failed(said.trim_end()));
        }
        Ok(Some(Watch { process, over }))
    }

    fn begin(&self, log: PathBuf, op: Op, planned: usize) -> Result<Threads, CliError> {
        let mut maker =
            Maker { log, op, planned, html: self.html.clone(), first: None, page: Arc::default() };
        // If the file cannot be written, this is reported before anything is measured.
        maker.make(None)?;
        let server = match self.serve {
            None => None,
            Some(address) => {
                let listener = TcpListener::bind(address)
                    .map_err(|error| CliError::io(format!("--serve {address}"), &error))?;
                listener.set_nonblocking(true)?;
                say!("ckselect: the sweep is shown at http://{}/", listener.local_addr()?);
                let page = Arc::clone(&maker.page);
                let (over, is_over) = channel();
                Some((over, std::thread::spawn(move || serve(&listener, &page, &is_over))))
            }
        };
        let (over, is_over) = channel();
        Ok(Threads { over, maker: std::thread::spawn(move || maker.run(&is_over)), server })
    }
}

/// The process that builds and serves a page.
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

/// What the process is told.
#[derive(clap::Args)]
pub(crate) struct PageArgs {
    /// The log
    #[arg(long)]
    log: PathBuf,
    /// Its operation
    #[arg(long, value_parser = word::<Op>)]
    op: Op,
    /// Rows of the plan
    #[arg(long)]
    planned: usize,
    #[command(flatten)]
    options: PageOptions,
}

/// `ckselect bench-page`: shows a log until standard input ends. The input says how the sweep ended; if it is
/// empty, the sweep was killed, and there is no last page.
pub(crate) fn run(args: &PageArgs) -> Result<(), CliError> {
    // Batch systems signal every process of a job; this one must not end before the sweep.
    for number in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(number, Arc::default())?;
    }
    // Measuring has priority.
    let _ = rustix::process::nice(10);
    let threads = args.options.begin(args.log.clone(), args.op, args.planned);
    let said = match &threads {
        Ok(_) => READY,
        Err(CliError::Usage(message) | CliError::Failed(message) | CliError::Judged(message)) => message,
        Err(CliError::BrokenPipe) => "the page of the sweep: broken pipe",
    };
    writeln!(io::stdout(), "{said}")?;
    let Ok(threads) = threads else { return Ok(()) };
    let mut how = String::new();
    io::stdin().read_to_string(&mut how)?;
    if !how.is_empty() {
        threads.finish(how);
    }
    Ok(())
}

/// The threads that build and serve a page.
struct Threads {
    over: Sender<String>,
    maker: JoinHandle<()>,
    server: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Threads {
    /// Builds the last page, which says how the sweep ended.
    fn finish(self, how: String) {
        let _ = self.over.send(how);
        let _ = self.maker.join();
        if let Some((over, server)) = self.server {
            drop(over);
            let _ = server.join();
        }
    }
}

type Page = Arc<Mutex<Arc<str>>>;

/// Builds pages.
struct Maker {
    log: PathBuf,
    op: Op,
    planned: usize,
    html: Option<PathBuf>,
    /// When the log was first read, and how many rows it had then.
    first: Option<(Instant, usize)>,
    page: Page,
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
        if let Some(path) = &self.html {
            output::write_file(path, &page)?;
        }
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page.into();
        Ok(())
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

/// Answers one reader after another until the sweep is over.
fn serve(listener: &TcpListener, page: &Page, is_over: &Receiver<()>) {
    while is_over.recv_timeout(TURN) == Err(RecvTimeoutError::Timeout) {
        while let Ok((reader, _)) = listener.accept() {
            let page = Arc::clone(&page.lock().unwrap_or_else(PoisonError::into_inner));
            // It does not matter if the reader is gone.
            let _ = answer(reader, &page);
        }
    }
}

fn answer(mut reader: TcpStream, page: &str) -> io::Result<()> {
    reader.set_nonblocking(false)?;
    reader.set_read_timeout(Some(PATIENCE))?;
    reader.set_write_timeout(Some(PATIENCE))?;
    let mut asked = Vec::new();
    let mut part = [0; 1024];
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") && asked.len() < 1 << 14 {
        match reader.read(&mut part)? {
            0 => break,
            count => asked.extend_from_slice(&part[..count]),
        }
    }
    let line = asked.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some(b"GET"), Some(b"/")) => ("200 OK", page),
        (Some(b"GET"), _) => ("404 Not Found", "Only / exists."),
        _ => ("405 Method Not Allowed", "Only GET is answered."),
    };
    write!(
        reader,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(at: SocketAddr, text: &str) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn ports_are_on_loopback_and_addresses_as_they_are() {
        assert_eq!(address("8000").unwrap().to_string(), "127.0.0.1:8000");
        assert_eq!(address("0.0.0.0:80").unwrap().to_string(), "0.0.0.0:80");
        assert_eq!(address("[::1]:80").unwrap().to_string(), "[::1]:80");
        for text in ["", "70000", "localhost", "1.2.3.4", "host:80"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_page_is_there_before_the_log_and_the_last_says_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let html = folder.path().join("page.html");
        let options = PageOptions { html: Some(html.clone()), serve: address("0").ok() };
        let watch = options.begin(folder.path().join("log.csv"), Op::GroupedConv, 30).unwrap();
        let page = || std::fs::read_to_string(&html).unwrap();
        assert!(page().contains("http-equiv=\"refresh\"") && page().contains("0 of 30"), "{}", page());
        watch.finish("the budget is spent, 30 rows remain".to_owned());
        assert!(page().contains("It ended: the budget is spent, 30 rows remain."), "{}", page());
        assert!(!page().contains("http-equiv=\"refresh\""));

        let nowhere = PageOptions { html: Some(folder.path().join("none/page.html")), serve: None };
        assert!(nowhere.begin(folder.path().join("log.csv"), Op::GroupedConv, 30).is_err());
    }

    #[test]
    fn readers_get_the_page_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let at = listener.local_addr().unwrap();
        let page: Page = Arc::new(Mutex::new("<p>µ</p>".into()));
        let (over, is_over) = channel();
        let server = std::thread::spawn(move || serve(&listener, &page, &is_over));
        let found = ask(at, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(found.starts_with("HTTP/1.1 200 OK\r\n") && found.ends_with("\r\n\r\n<p>µ</p>"), "{found}");
        assert!(found.contains("Content-Length: 9\r\n"), "{found}");
        assert!(ask(at, "GET /../etc HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(at, "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(ask(at, &"x".repeat(1 << 14)).starts_with("HTTP/1.1 405 "));
        drop(over);
        server.join().unwrap();
    }
}
