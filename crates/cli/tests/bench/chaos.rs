//! Kills at random moments: nothing is lost but the row in flight, nothing is measured twice, no process is
//! left behind.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{kill, wait_for_lines};
use crate::fakes::{Fakes, OF_WORKERS, Rows, assert_same, found, succeeded};

/// Random enough to choose moments.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Rows of a log that may be torn, or not there yet.
fn whole_rows(fakes: &Fakes) -> Rows {
    let bytes = fs::read(fakes.path("sweep.csv")).unwrap_or_default();
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if end == 0 {
        return Rows::new();
    }
    let whole = fakes.path("whole.csv");
    fs::write(&whole, &bytes[..end]).unwrap();
    found(&whole)
}

#[test]
fn fifty_kills_and_as_many_resumes_give_the_undisturbed_log() {
    let fakes = Fakes::library(40, 25);
    let line = "--runner runner.json --output sweep.csv --resume --params batch=6 warmup=0 repeat=1 \
                --params timeout=20s";
    let mut random = Lcg(20);
    let mut before = Rows::new();
    let mut progressed = 0;
    for _ in 0..50 {
        let mut command = fakes.bench(line);
        // A millisecond a run, so that kills meet every moment of a sweep.
        command.env("FAKE_SLEEP_US", "1000").env("FAKE_FAULTS", "10");
        let mut sweep = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Some moments are before the first row, the others a little after a row that chance names.
        let rows = before.len() + random.next(20) as usize;
        wait_for_lines(&fakes.path("sweep.csv"), 1 + rows, &mut sweep);
        std::thread::sleep(Duration::from_micros(random.next(20_000)));
        sweep.kill().unwrap();
        let status = sweep.wait().unwrap();
        assert!(status.signal() == Some(9) || status.success(), "{status}");
        assert_eq!(fakes.orphans(), Vec::<String>::new());
        // Nothing that was in the log is lost or changed.
        let now = whole_rows(&fakes);
        assert!(before.iter().all(|(key, value)| now.get(key) == Some(value)), "a row was lost");
        progressed += usize::from(now.len() > before.len());
        before = now;
        // A power cut can tear the last row, too.
        let log = fakes.path("sweep.csv");
        if random.next(3) == 0 && before.len() > 1 {
            let length = fs::metadata(&log).unwrap().len() - 1 - random.next(20);
            fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(length).unwrap();
            before = whole_rows(&fakes);
        }
    }
    assert!(progressed > 25, "only {progressed} of the sweeps wrote a row before they were killed");
    succeeded(fakes.bench(line).env("FAKE_FAULTS", "10"));
    assert_same(&fakes.rows("sweep.csv"), &fakes.expected(10, &OF_WORKERS));
}

#[test]
fn no_pair_is_measured_twice_but_the_one_in_flight() {
    let fakes = Fakes::executables(20, 10);
    let line = "--runner bin --output sweep.csv --resume";
    let kills = 10;
    for _ in 0..kills {
        let mut command = fakes.bench(line);
        command.env("FAKE_STARTS", fakes.path("starts")).env("FAKE_SLEEP_MS", "2");
        let mut sweep = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(60));
        sweep.kill().unwrap();
        sweep.wait().unwrap();
        assert_eq!(fakes.orphans(), Vec::<String>::new());
    }
    succeeded(fakes.bench(line).env("FAKE_STARTS", fakes.path("starts")));
    let starts = fakes.read("starts").lines().count();
    let pairs = 200;
    assert!((pairs..=pairs + kills).contains(&starts), "{starts} starts for {pairs} pairs and {kills} kills");
}

#[test]
fn signals_end_a_sweep_cleanly() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let fakes = Fakes::executables(20, 20);
        let mut command = fakes.bench("--runner bin --output sweep.csv");
        command.env("FAKE_SLEEP_MS", "20").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut sweep = command.spawn().unwrap();
        wait_for_lines(&fakes.path("sweep.csv"), 4, &mut sweep);
        kill(&sweep, signal);
        let ended = sweep.wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains("rows remain: continue with --resume"), "{stderr}");
        assert_eq!(fakes.orphans(), Vec::<String>::new());
        let text = fakes.read("sweep.csv");
        assert!(text.ends_with('\n') && text.lines().count() < 401);
        let meta = fakes.meta("sweep.csv");
        assert_eq!(meta["sessions"][0]["rows"], text.lines().count() - 1);
        assert!(meta["sessions"][0]["end"].as_str().unwrap().starts_with("signal "));
    }
}
