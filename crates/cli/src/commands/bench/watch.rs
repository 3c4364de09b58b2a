//! A page for a running sweep. A separate process repeatedly builds it from the log alone, so that the sweep
//! waits for nothing. It is not a thread, because each worker start copies the memory tables of the process
//! that starts it, which would then include the page's data.

use std::collections::VecDeque;
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
/// How long a reader may take to send its request and to receive the page.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many readers are served at once; the one that has waited longest makes room for a new one.
const READERS: usize = 256;
/// The longest request.
const REQUEST: usize = 1 << 14;
/// How often the server looks for readers and for the end of the sweep, and how often it goes on with readers.
const TURN: Duration = Duration::from_millis(100);
const BUSY_TURN: Duration = Duration::from_millis(10);

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
            let ended = process.wait()?;
            return Err(CliError::failed(match said.trim_end() {
                "" => format!("the page of the sweep: its process ended before the first page, with {ended}"),
                said => said.to_owned(),
            }));
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
    #[command(flatten)]
    options: PageOptions,
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
    let threads = args.options.begin(args.log.clone(), args.op, args.planned);
    let said = match &threads {
        Ok(_) => READY,
        Err(CliError::Usage(message) | CliError::Failed(message) | CliError::Judged(message)) => message,
        Err(CliError::BrokenPipe | CliError::Said(_)) => "the page of the sweep: broken pipe",
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

/// Answers readers until the sweep is over.
fn serve(listener: &TcpListener, page: &Page, is_over: &Receiver<()>) {
    let mut readers = VecDeque::new();
    let mut turn = TURN;
    while is_over.recv_timeout(turn) == Err(RecvTimeoutError::Timeout) {
        take_turn(listener, &mut readers, page, Instant::now());
        turn = if readers.is_empty() { TURN } else { BUSY_TURN };
    }
}

/// Accepts the readers that have come, and does for each what can be done without waiting for it.
fn take_turn(listener: &TcpListener, readers: &mut VecDeque<Reader>, page: &Page, now: Instant) {
    let own = listener.local_addr().ok().filter(|own| own.ip().is_loopback());
    while let Ok((stream, _)) = listener.accept() {
        if stream.set_nonblocking(true).is_ok() {
            readers.truncate(READERS - 1);
            readers.push_front(Reader { stream, since: now, request: Vec::new(), answer: None });
        }
    }
    readers.retain_mut(|reader| {
        // It does not matter if a reader is gone.
        now - reader.since < PATIENCE && !reader.go_on(own, page).unwrap_or(true)
    });
}

/// Somebody who reads the page.
struct Reader {
    stream: TcpStream,
    since: Instant,
    request: Vec<u8>,
    answer: Option<io::Cursor<Vec<u8>>>,
}

impl Reader {
    /// Reads and writes what is possible now; true once everything is done.
    fn go_on(&mut self, own: Option<SocketAddr>, page: &Page) -> io::Result<bool> {
        match self.exchange(own, page) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn exchange(&mut self, own: Option<SocketAddr>, page: &Page) -> io::Result<()> {
        let mut part = [0; 1024];
        while self.answer.is_none() {
            let count = self.stream.read(&mut part)?;
            self.request.extend_from_slice(&part[..count]);
            let is_whole = self.request.windows(4).any(|end| end == b"\r\n\r\n");
            if is_whole || count == 0 || self.request.len() >= REQUEST {
                let page = Arc::clone(&page.lock().unwrap_or_else(PoisonError::into_inner));
                self.answer = Some(io::Cursor::new(answer(&self.request, own, &page)));
            }
        }
        let Some(answer) = &mut self.answer else { return Ok(()) };
        loop {
            let left = &answer.get_ref()[answer.position() as usize..];
            if left.is_empty() {
                return Ok(());
            }
            let count = self.stream.write(left)?;
            answer.set_position(answer.position() + count as u64);
        }
    }
}

/// The answer to a request. `own` is the address of a server for this machine only.
fn answer(request: &[u8], own: Option<SocketAddr>, page: &str) -> Vec<u8> {
    let mut lines = request.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut words = lines.next().unwrap_or_default().split(|byte| *byte == b' ');
    let host = lines.find_map(|line| {
        let (name, host) = line.split_at_checked(5)?;
        name.eq_ignore_ascii_case(b"host:").then(|| host.trim_ascii())
    });
    let (status, body) = match (words.next(), words.next()) {
        _ if own.is_some_and(|own| !is_own(host, own)) => {
            ("403 Forbidden", "Only 127.0.0.1, [::1] and localhost are served.")
        }
        (Some(b"GET"), Some(b"/")) => ("200 OK", page),
        (Some(b"GET"), _) => ("404 Not Found", "Only / exists."),
        _ => ("405 Method Not Allowed", "Only GET is answered."),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Whether a browser was told a name of this machine. Any other name may be a page's of elsewhere, which has
/// it point here to read what is served (DNS rebinding).
fn is_own(host: Option<&[u8]>, own: SocketAddr) -> bool {
    let Some(host) = host.and_then(|host| std::str::from_utf8(host).ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.eq_ignore_ascii_case("localhost")
        || ["127.0.0.1", "[::1]"].contains(&name)
        || name == own.ip().to_string()
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

    /// The message was empty.
    #[test]
    fn a_process_that_dies_before_its_first_page_is_an_error_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let options = PageOptions { html: Some(folder.path().join("page.html")), serve: None };
        let mut dies = Command::new("sh");
        dies.args(["-c", "exit 7"]);
        let Err(CliError::Failed(said)) = options.start(dies, Path::new("log.csv"), Op::GroupedConv, 30)
        else {
            panic!("it has no page")
        };
        assert!(said.ends_with("before the first page, with exit status: 7"), "{said}");
    }

    #[test]
    fn readers_get_the_page_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let at = listener.local_addr().unwrap();
        let page: Page = Arc::new(Mutex::new("<p>µ</p>".into()));
        let (over, is_over) = channel();
        let server = std::thread::spawn(move || serve(&listener, &page, &is_over));
        let get = |what: &str, host: &str| ask(at, &format!("GET {what} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let found = get("/", "localhost:8000");
        assert!(found.starts_with("HTTP/1.1 200 OK\r\n") && found.ends_with("\r\n\r\n<p>µ</p>"), "{found}");
        assert!(found.contains("Content-Length: 9\r\n"), "{found}");
        assert!(get("/../etc", "127.0.0.1").starts_with("HTTP/1.1 404 "));
        assert!(ask(at, "POST / HTTP/1.1\r\nhost:[::1]:80\r\n\r\n").starts_with("HTTP/1.1 405 "));
        // A page of another site, whose name was made to point here, must not read this one.
        for host in
            ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", ""]
        {
            assert!(get("/", host).starts_with("HTTP/1.1 403 "), "{host}");
        }
        assert!(ask(at, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));
        assert!(ask(at, &"x".repeat(REQUEST)).starts_with("HTTP/1.1 403 "));
        let open: SocketAddr = "127.0.0.1:1".parse().unwrap();
        assert!(
            answer(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", Some(open), "p")
                .starts_with(b"HTTP/1.1 403")
        );
        assert!(answer(b"GET / HTTP/1.1\r\nHost: host\r\n\r\n", None, "p").starts_with(b"HTTP/1.1 200"));
        drop(over);
        server.join().unwrap();
    }

    /// One after another was waited for, each for as long as it sent a byte now and then.
    #[test]
    fn readers_that_send_nothing_shut_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let at = listener.local_addr().unwrap();
        let (page, mut readers) = (Page::new(Mutex::new("page".into())), VecDeque::new());
        let connect = |text: &str| {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        };
        let began = Instant::now();
        let mut idle = Vec::new();
        for _ in 0..READERS + 9 {
            idle.push(connect("GET / HT"));
            take_turn(&listener, &mut readers, &page, began);
        }
        assert!(readers.len() <= READERS);
        let mut reader = connect("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        while readers.len() > READERS - 1 {
            take_turn(&listener, &mut readers, &page, began);
        }
        let mut found = String::new();
        reader.read_to_string(&mut found).unwrap();
        assert!(found.ends_with("page"), "{found}");
        take_turn(&listener, &mut readers, &page, began + PATIENCE / 2);
        assert_eq!(readers.len(), READERS - 1);
        take_turn(&listener, &mut readers, &page, began + PATIENCE);
        assert!(readers.is_empty());
    }
}
