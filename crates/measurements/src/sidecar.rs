//! Files that `ckselect bench` keeps next to its log: its sessions (`.meta.json`), and details of each
//! measurement beyond its row (`.details.jsonl`). Tables that are kept in one folder may have all their
//! sessions in one file (`sidecars.json`).

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use ck_select_types::files;
use ck_select_types::vocab::Arch;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::DataError;
use crate::figures::quantile;

/// Maximum number of rows that are listed.
const LISTED: usize = 50;

/// The sidecar files of a file of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Sidecar {
    /// The file of measurements.
    pub of: PathBuf,
    /// The processes that wrote it.
    pub sessions: Vec<Session>,
    /// Details beyond its rows.
    pub details: Option<Details>,
}

/// A process that wrote rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Its process ID on its host.
    pub process: Option<u32>,
    /// When it began, in seconds since 1970.
    pub began: Option<u64>,
    /// When it ended; `None` if it was killed, or still runs.
    pub ended: Option<u64>,
    /// Why it ended: `completed`, `budget`, `signal <number>`, `failed`.
    pub end: Option<String>,
    /// Rows that it wrote.
    pub rows: u64,
    /// When it wrote the last row, if it did not record its end.
    #[serde(skip)]
    pub last_row: Option<u64>,
    /// The version of ck-select.
    pub ckselect: Option<String>,
    /// Host name, kernel and driver.
    pub host: Value,
    /// What the runtime reports about each GPU, by the host's name for it.
    #[serde(deserialize_with = "devices")]
    pub gpus: Option<Map<String, Value>>,
}

/// What is read of a device has to be text: rows are compared with its architecture.
fn devices<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Map<String, Value>>, D::Error> {
    let devices = Option::<Map<String, Value>>::deserialize(from)?;
    let is_text = |value: &Value| value.is_null() || value.is_string();
    let is_device =
        |device: &Value| device.is_object() && is_text(&device["name"]) && is_text(&device["target"]);
    match devices.iter().flat_map(Map::values).find(|device| !is_device(device)) {
        Some(found) => Err(D::Error::custom(format!(
            "gpus: found {found}, expected an object in which name and target are text"
        ))),
        None => Ok(devices),
    }
}

/// A device of a process.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a>(&'a Value);

impl Session {
    /// How long it ran, if it was killed until its last row; `None` if that is not known.
    pub fn seconds(&self) -> Option<u64> {
        self.ended.or(self.last_row).zip(self.began).and_then(|(ended, began)| ended.checked_sub(began))
    }

    /// Its devices.
    pub fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        self.gpus.iter().flat_map(Map::values).map(Device)
    }
}

impl<'a> Device<'a> {
    /// Its name in the runtime.
    pub fn name(self) -> &'a str {
        self.0["name"].as_str().unwrap_or("unnamed")
    }

    /// Its architecture, if it is recorded, such as in `gfx942:sramecc+:xnack-`.
    fn arch(self) -> Option<Arch> {
        self.0["target"].as_str()?.split(':').next()?.parse().ok()
    }
}

/// A row with a large spread of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsteadyRow {
    /// The kernel.
    pub kernel: String,
    /// The problem's number in the log.
    pub problem: u64,
    /// Coefficient of variation of the samples.
    pub cv: f64,
}

/// Details beyond rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Rows.
    pub rows: usize,
    /// Those that were timed again because their samples varied too much.
    pub remeasured: usize,
    /// Those that were written again: after `--resume=failed`, or after a crash.
    pub again: usize,
    /// Those with a coefficient of variation.
    pub with_cv: usize,
    /// Its median; NaN without any.
    pub median: f64,
    /// Its ninetieth percentile.
    pub p90: f64,
    /// Rows that stayed unstable.
    pub unsteady: usize,
    /// The worst of them.
    pub worst: Vec<UnsteadyRow>,
}

const DETAILS: &str = ".details.jsonl";
const SHARED: &str = "sidecars.json";

impl Sidecar {
    /// The file of measurements for a path: for the details of a log, the log.
    pub fn measurements(path: &Path) -> PathBuf {
        let name = path.to_string_lossy();
        name.strip_suffix(DETAILS).map_or_else(|| path.to_owned(), PathBuf::from)
    }

    /// Reads the sidecar files of a file; empty if there are none.
    pub fn beside(path: &Path) -> Result<Self, DataError> {
        let meta = Meta::or_empty(Self::meta_beside(path)?);
        let path_of_details = Self::details_of(path);
        let details = path_of_details.is_file().then(|| files::open(&path_of_details).and_then(details));
        let details = details.transpose().map_err(|error| DataError::io(path_of_details.display(), error))?;
        let (details, times) = details.unzip();
        let is_one_log = meta.parts.is_empty();
        let mut sessions = meta.sessions();
        if let Some(times) = times.filter(|_| is_one_log) {
            credit(&mut sessions, &times);
        }
        Ok(Self { of: path.to_owned(), sessions, details })
    }

    /// Reads only the processes that wrote a file.
    pub(crate) fn sessions_beside(path: &Path) -> Result<Vec<Session>, DataError> {
        Ok(Meta::or_empty(Self::meta_beside(path)?).sessions())
    }

    /// The sidecar of a file as it is; `None` without one.
    pub(crate) fn meta_beside(path: &Path) -> Result<Option<Value>, DataError> {
        // A table that was converted by hand has its sidecar under its own stem; tables of a folder may share
        // one file, which has them by their names.
        let shared = path.with_file_name(SHARED);
        let metas = [Self::meta_of(path), path.with_extension("meta.json"), shared.clone()];
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(path) = metas.into_iter().find(|path| path.is_file()) else { return Ok(None) };
        let fault = |error| DataError::io(path.display(), error);
        let text = files::read_to_string(&path).map_err(fault)?;
        let mut meta: Value = serde_json::from_str(&text).map_err(|error| fault(error.into()))?;
        if path == shared {
            let Some(own) = meta.get_mut(&name) else { return Ok(None) };
            meta = own.take();
        }
        Meta::deserialize(&meta).map_err(|error| fault(error.into()))?;
        Ok(Some(meta))
    }

    /// The path of a file's sidecar.
    pub fn meta_of(path: &Path) -> PathBuf {
        with(path, ".meta.json")
    }

    /// The path of the details of a log.
    pub fn details_of(path: &Path) -> PathBuf {
        with(path, DETAILS)
    }
}

/// Gives the processes of a log that did not record their end, because they were killed or still run, the rows
/// that were written, at these times, before the next process began.
fn credit(sessions: &mut [Session], times: &[u64]) {
    let begins: Vec<Option<u64>> = sessions.iter().map(|session| session.began).collect();
    for (index, session) in sessions.iter_mut().enumerate().filter(|(_, session)| session.ended.is_none()) {
        let Some(from) = session.began else { continue };
        let to = begins[index + 1..].iter().copied().flatten().next().unwrap_or(u64::MAX);
        let own = || times.iter().copied().filter(|time| (from..to).contains(time));
        session.rows = session.rows.max(own().count() as u64);
        session.last_row = own().max();
    }
}

fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A sidecar: of a log, or of all logs that were merged or converted into one file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta {
    sessions: Vec<Session>,
    parts: Vec<Part>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    rows: Option<u64>,
    meta: Option<Meta>,
}

impl Meta {
    /// A sidecar, whose types were checked when it was read; empty without one.
    fn or_empty(meta: Option<Value>) -> Self {
        meta.and_then(|meta| serde_json::from_value(meta).ok()).unwrap_or_default()
    }

    fn sessions(self) -> Vec<Session> {
        let parts = self.parts.into_iter().filter(|part| part.rows != Some(0)).filter_map(|part| part.meta);
        self.sessions.into_iter().chain(parts.flat_map(Self::sessions)).collect()
    }
}

/// A line of the details; other fields are ignored.
#[derive(Debug, Deserialize)]
pub struct DetailsLine {
    /// The problem's number in the log.
    pub problem_idx: u64,
    /// The kernel.
    pub kernel: String,
    /// Whether its samples vary too much.
    #[serde(default)]
    pub unstable: bool,
    /// When it was written, in seconds since 1970.
    #[serde(default)]
    at: u64,
    outcome: Outcome,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    measured: Option<SampleSpread>,
}

#[derive(Debug, Deserialize)]
struct SampleSpread {
    cv: Option<f64>,
    /// Older logs do not say it.
    #[serde(default)]
    timed: u32,
}

/// Takes the lines of the details, of which the last one of a row counts. A torn last line is ignored.
pub fn read_details(mut reader: impl BufRead, mut take: impl FnMut(DetailsLine)) -> io::Result<()> {
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        if let Ok(line) = serde_json::from_slice(&bytes) {
            take(line);
        }
        bytes.clear();
    }
    Ok(())
}

/// The architectures on which a file was measured, according to its sidecar.
pub(crate) fn archs_beside(path: &Path) -> Result<BTreeSet<Arch>, DataError> {
    let sessions = Sidecar::sessions_beside(path)?;
    Ok(sessions.iter().flat_map(Session::devices).filter_map(Device::arch).collect())
}

/// Refuses rows that are taken for those of another architecture than the sidecar names, and rows of a file
/// that was measured on several without saying on which. `left_out` are the architectures of other rows.
pub(crate) fn check_archs(
    file: &str,
    sidecar: &BTreeSet<Arch>,
    taken: &BTreeSet<Arch>,
    left_out: impl Iterator<Item = Arch>,
) -> Result<(), DataError> {
    let list =
        |archs: &mut dyn Iterator<Item = &Arch>| archs.map(Arch::to_string).collect::<Vec<_>>().join(", ");
    let archs: BTreeSet<Arch> = taken.iter().copied().chain(left_out).collect();
    let has_other = taken.iter().any(|arch| !sidecar.contains(arch));
    let is_unsaid = !taken.is_empty() && sidecar.iter().any(|arch| !archs.contains(arch));
    if sidecar.is_empty() || !(has_other || is_unsaid) {
        return Ok(());
    }
    let message = format!(
        "measured on {}, according to its .meta.json, but its rows are taken for measurements of {}",
        list(&mut sidecar.iter()),
        list(&mut taken.iter())
    );
    Err(DataError::format(file, message))
}

/// The details of a log, and the times at which their lines were written.
fn details(file: File) -> io::Result<(Details, Vec<u64>)> {
    let mut kernels: HashMap<String, u32> = HashMap::new();
    let mut last: HashMap<(u32, u64), (f64, bool, bool)> = HashMap::new();
    let (mut again, mut times) = (0, Vec::new());
    read_details(BufReader::new(file), |line| {
        let next = kernels.len() as u32;
        let kernel = *kernels.entry(line.kernel).or_insert(next);
        let measured = line.outcome.measured;
        let cv = measured.as_ref().and_then(|measured| measured.cv).unwrap_or(f64::NAN);
        let remeasured = measured.is_some_and(|measured| measured.timed > 1);
        let before = last.insert((kernel, line.problem_idx), (cv, line.unstable, remeasured));
        again += usize::from(before.is_some());
        times.push(line.at);
    })?;
    let mut names: Vec<(String, u32)> = kernels.into_iter().collect();
    names.sort_unstable_by_key(|name| name.1);
    let mut spreads: Vec<f64> = last.values().map(|one| one.0).filter(|cv| !cv.is_nan()).collect();
    spreads.sort_by(f64::total_cmp);
    let mut unsteady: Vec<(f64, u64, u32)> = last
        .iter()
        .filter(|(_, one)| one.1)
        .map(|(&(kernel, problem), one)| (one.0, problem, kernel))
        .collect();
    unsteady.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let details = Details {
        rows: last.len(),
        remeasured: last.values().filter(|one| one.2).count(),
        again,
        with_cv: spreads.len(),
        median: quantile(&spreads, 0.5),
        p90: quantile(&spreads, 0.9),
        unsteady: unsteady.len(),
        worst: unsteady
            .into_iter()
            .take(LISTED)
            .map(|(cv, problem, kernel)| UnsteadyRow {
                kernel: names[kernel as usize].0.clone(),
                problem,
                cv,
            })
            .collect(),
    };
    Ok((details, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_pair_counts() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("sweep.csv");
        let line = |kernel: &str, cv: f64, unstable: bool| {
            format!(
                "{{\"problem_idx\":3,\"kernel\":\"{kernel}\",\"outcome\":{{\"measured\":{{\"latency_ms\":1.0,\
                 \"cv\":{cv},\"timed\":{}}}}},\"unstable\":{unstable},\"gpu\":0,\"at\":1}}\n",
                1 + u32::from(unstable)
            )
        };
        let failed = "{\"problem_idx\":3,\"kernel\":\"c\",\"outcome\":{\"failed\":{\"class\":\"crash\",\
                      \"message\":\"\"}},\"unstable\":false,\"gpu\":1,\"at\":1}\n";
        let text =
            [line("a", 0.5, true), line("b", 0.3, true), line("a", 0.1, false), failed.to_owned()].concat();
        std::fs::write(folder.path().join("sweep.csv.details.jsonl"), text + "{\"problem_idx\":3,\"ker")
            .unwrap();
        let sidecar = Sidecar::beside(&log).unwrap();
        assert_eq!(sidecar.sessions, []);
        let details = sidecar.details.unwrap();
        // Only a row that was timed twice was measured again; one that is written twice was tried again.
        assert_eq!((details.rows, details.remeasured, details.again), (3, 1, 1));
        assert_eq!((details.with_cv, details.unsteady), (2, 1));
        assert_eq!((details.median, details.worst[0].kernel.as_str()), (0.2, "b"));
        assert_eq!(Sidecar::measurements(&folder.path().join("sweep.csv.details.jsonl")), log);
    }

    /// A process that is killed cannot write how many rows it wrote, and counted for nothing.
    #[test]
    fn a_killed_process_has_the_rows_of_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("sweep.csv");
        let line = |at: u64| {
            format!(
                "{{\"problem_idx\":{at},\"kernel\":\"a\",\"outcome\":{{\"failed\":{{\"class\":\"crash\",\
                 \"message\":\"\"}}}},\"unstable\":false,\"gpu\":0,\"at\":{at}}}\n"
            )
        };
        let times = [110, 120, 170, 210, 310, 320];
        std::fs::write(Sidecar::details_of(&log), times.map(line).concat()).unwrap();
        let meta = r#"{"sessions": [{"began": 100, "ended": null, "rows": 0},
            {"began": 200, "ended": 220, "end": "completed", "rows": 1}, {"began": 300}]}"#;
        std::fs::write(Sidecar::meta_of(&log), meta).unwrap();
        let sessions = Sidecar::beside(&log).unwrap().sessions;
        let spans: Vec<_> = sessions.iter().map(|one| (one.rows, one.seconds())).collect();
        assert_eq!(spans, [(3, Some(70)), (1, Some(20)), (2, Some(20))]);
        assert_eq!(sessions[0].ended, None);
    }

    #[test]
    fn a_merged_file_has_the_sessions_of_its_parts() {
        let one = |name: &str| serde_json::json!({"sessions": [{"rows": 1, "gpus": {"0": {"name": name}}}]});
        let inner = serde_json::json!({"format": "ck-select-merge", "parts": [{"meta": one("X")}]});
        let none = serde_json::json!({"rows": 0, "meta": one("Z")});
        let meta =
            serde_json::json!({"parts": [{"meta": inner}, {"meta": null}, {}, {"meta": one("Y")}, none]});
        let names: Vec<String> = Meta::or_empty(Some(meta))
            .sessions()
            .iter()
            .flat_map(|one| one.devices().map(|gpu| gpu.name().to_owned()))
            .collect();
        assert_eq!(names, ["X", "Y"]);
    }

    #[test]
    fn files_that_are_no_sidecars_are_refused() {
        let read =
            |text: &str| serde_json::from_str::<Meta>(text).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(read(r#"{"sessions": [{"gpus": null}, {}], "parts": [{"meta": null}]}"#), Ok(()));
        for (text, message) in [
            ("[1]", "invalid type: integer `1`, expected"),
            (r#"{"sessions": 3}"#, "invalid type: integer `3`, expected a sequence"),
            (r#"{"sessions": [3]}"#, "invalid type: integer `3`, expected struct Session"),
            (r#"{"sessions": [{"gpus": [1]}]}"#, "invalid type: sequence, expected a map"),
            (r#"{"sessions": [{"gpus": {"0": "X"}}]}"#, "gpus: found \"X\", expected an object"),
            (r#"{"sessions": [{"gpus": {"0": {"name": 5}}}]}"#, "gpus: found {\"name\":5}, expected"),
            (r#"{"sessions": [{"gpus": {"0": {"target": []}}}]}"#, "gpus: found {\"target\":[]}, expected"),
            (r#"{"parts": [{"meta": {"sessions": {}}}]}"#, "invalid type: map, expected a sequence"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn sessions_say_how_long_and_on_what() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("sweep.parquet");
        let text = r#"{"sessions": [{"began": 10, "ended": 70, "end": "completed", "rows": 5,
            "gpus": {"0": {"name": "X", "pci_bus_id": "0000:c1:00.0"}, "1": {"name": null}}},
            {"began": 80, "ended": null, "end": null, "rows": 1}]}"#;
        std::fs::write(folder.path().join("sweep.meta.json"), text).unwrap();
        let sessions = Sidecar::beside(&table).unwrap().sessions;
        assert_eq!((sessions[0].seconds(), sessions[0].rows), (Some(60), 5));
        let names: Vec<&str> = sessions[0].devices().map(Device::name).collect();
        assert_eq!((names, sessions[0].end.as_deref()), (vec!["X", "unnamed"], Some("completed")));
        assert_eq!((sessions[1].seconds(), &sessions[1].end), (None, &None));
        std::fs::write(folder.path().join("sweep.meta.json"), "{").unwrap();
        assert!(Sidecar::beside(&table).unwrap_err().to_string().contains("sweep.meta.json: "));
        std::fs::remove_file(folder.path().join("sweep.meta.json")).unwrap();
        std::fs::write(folder.path().join(SHARED), format!(r#"{{"sweep.parquet": {text}, "b.csv": 3}}"#))
            .unwrap();
        let of = |name: &str| Sidecar::beside(&folder.path().join(name)).map(|sidecar| sidecar.sessions);
        assert_eq!((of("sweep.parquet").unwrap(), of("a.csv").unwrap()), (sessions, vec![]));
        assert!(of("b.csv").unwrap_err().to_string().contains("sidecars.json: "));
    }
}
