//! Files that `ckselect bench` keeps next to its log: its sessions (`.meta.json`), and details of each
//! measurement beyond its row (`.details.jsonl`). Tables that are kept in one folder may have all their
//! sessions in one file (`sidecars.json`).

mod details;
mod origin;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ck_select_types::files;
use ck_select_types::vocab::Arch;
use serde::Deserialize as _;
use serde_json::Value;

use crate::error::DataError;
use details::details;
pub use details::{Details, DetailsLine, UnsteadyRow, read_details};
pub(crate) use origin::Part;
use origin::credit;
pub use origin::{Device, Origin, Session};

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
        let origin = Origin::or_empty(Self::meta_beside(path)?);
        let path_of_details = Self::details_of(path);
        let details = path_of_details.is_file().then(|| files::open(&path_of_details).and_then(details));
        let details = details.transpose().map_err(|error| DataError::io(path_of_details.display(), error))?;
        let (details, times) = details.unzip();
        let is_one_log = origin.is_one_log();
        let mut sessions = origin.into_sessions();
        if let Some(times) = times.filter(|_| is_one_log) {
            credit(&mut sessions, &times);
        }
        Ok(Self { of: path.to_owned(), sessions, details })
    }

    /// Reads only the processes that wrote a file.
    pub(crate) fn sessions_beside(path: &Path) -> Result<Vec<Session>, DataError> {
        Ok(Origin::or_empty(Self::meta_beside(path)?).into_sessions())
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
        Origin::deserialize(&meta).map_err(|error| fault(error.into()))?;
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

fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
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
                 \"tflops\":1.0,\"cv\":{cv},\"samples\":3,\"timed\":{}}}}},\"unstable\":{unstable},\"gpu\":0,\"at\":1}}\n",
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
        let names: Vec<String> = Origin::or_empty(Some(meta))
            .into_sessions()
            .iter()
            .flat_map(|one| one.devices().map(|gpu| gpu.name().to_owned()))
            .collect();
        assert_eq!(names, ["X", "Y"]);
    }

    #[test]
    fn files_that_are_no_sidecars_are_refused() {
        let read =
            |text: &str| serde_json::from_str::<Origin>(text).map(|_| ()).map_err(|error| error.to_string());
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
