#![no_main]
//! What a sweep reads of others: any bytes as a line between sweep and worker, and as a log that a crash has
//! left. A line that reads prints as it reads; a log's torn end is cut off once, and then stays.

use std::fs;

use ck_select_measure::log::Log;
use ck_select_measure::protocol::{Answer, Request};
use libfuzzer_sys::fuzz_target;

const COLUMNS: [&str; 5] = ["kernel", "problem_idx", "latency_ms", "tflops", "error_msg"];

fn as_lines(bytes: &[u8]) {
    for line in bytes.split(|&byte| byte == b'\n') {
        if let Ok(request) = serde_json::from_slice::<Request>(line) {
            let text = serde_json::to_string(&request).expect("a request prints");
            assert_eq!(serde_json::from_str::<Request>(&text).expect("and reads"), request);
        }
        if let Ok(answer) = serde_json::from_slice::<Answer>(line) {
            let text = serde_json::to_string(&answer).expect("an answer prints");
            assert_eq!(serde_json::from_str::<Answer>(&text).expect("and reads"), answer);
        }
    }
}

fn as_log(bytes: &[u8], path: &std::path::Path) {
    fs::write(path, bytes).expect("a scratch file");
    let read = |path| {
        let log = Log::open(path).expect("a regular file").expect("nobody else has it");
        let rows = log.rows(&COLUMNS, |_| false).map(|read| read.expect("nor now").1.len());
        (rows, fs::read(path).expect("still there"))
    };
    let (first, cut) = read(path);
    match first {
        Err(error) => {
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
            assert_eq!(cut, bytes, "a refused log is not touched");
        }
        Ok(rows) => {
            let (again, same) = read(path);
            assert_eq!((again.expect("what was read before"), same), (rows, cut));
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    thread_local!(
        static FOLDER: tempfile::TempDir = tempfile::tempdir_in("/dev/shm").expect("a scratch folder")
    );
    as_lines(bytes);
    FOLDER.with(|folder| as_log(bytes, &folder.path().join("log.csv")));
});
