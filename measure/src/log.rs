//! The log: a CSV that only grows.
//!
//! A row is one write. [`Log::sync`] waits until the disk has all rows; whoever measures calls it before it waits for
//! anything else. After a crash, of the process or of the machine, the file ends with a whole row or with a torn one, which
//! [`Log::resume`] cuts off. A lock keeps a second process away.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{MeasureError, at};
use crate::row::Logged;

/// An open log.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    len: u64,
    /// Whether there are rows that the disk may not have.
    dirty: bool,
}

impl Log {
    /// Begins a log. A file that is already there is an error.
    pub fn create(path: &Path, header: &[u8]) -> Result<Self, MeasureError> {
        let file =
            OpenOptions::new().read(true).append(true).create_new(true).open(path).map_err(at(path))?;
        let mut log = Self { file, path: path.to_owned(), len: 0, dirty: false };
        log.lock()?;
        log.append(header)?;
        log.sync()?;
        sync_folder(path)?;
        Ok(log)
    }

    /// Opens a log that is already there, cuts a torn end off, and reads its rows.
    pub fn resume(path: &Path, columns: &[&str]) -> Result<(Self, Vec<Logged>), MeasureError> {
        let file = OpenOptions::new().read(true).append(true).open(path).map_err(at(path))?;
        let mut log = Self { file, path: path.to_owned(), len: 0, dirty: false };
        log.lock()?;
        let mut bytes = Vec::new();
        log.file.read_to_end(&mut bytes).map_err(at(path))?;
        let whole = whole_lines(&bytes);
        let rows = read_rows(path, &bytes[..whole], columns)?;
        log.len = whole as u64;
        log.restore()?;
        if whole == 0 {
            let header = columns.join(",") + "\n";
            log.append(header.as_bytes())?;
        }
        Ok((log, rows))
    }

    /// Fails if another process has this log.
    fn lock(&self) -> Result<(), MeasureError> {
        match self.file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                Err(MeasureError::file(&self.path, "another process is writing it"))
            }
            Err(TryLockError::Error(error)) => Err(MeasureError::io(self.path.display(), error)),
        }
    }

    /// Adds a row, which from now on survives the process. One that cannot be written whole is taken back.
    pub fn append(&mut self, line: &[u8]) -> Result<(), MeasureError> {
        if let Err(error) = self.file.write_all(line) {
            self.restore()?;
            return Err(MeasureError::io(self.path.display(), error));
        }
        self.len += line.len() as u64;
        self.dirty = true;
        Ok(())
    }

    /// Waits until the disk has all rows, which from now on survive the machine.
    pub fn sync(&mut self) -> Result<(), MeasureError> {
        if self.dirty {
            self.file.sync_data().map_err(at(&self.path))?;
            self.dirty = false;
        }
        Ok(())
    }

    fn restore(&mut self) -> Result<(), MeasureError> {
        let restored = self.file.set_len(self.len).and_then(|()| self.file.seek(SeekFrom::End(0)));
        restored.map(drop).map_err(at(&self.path))
    }
}

/// Waits until the disk knows the file's name.
pub(crate) fn sync_folder(path: &Path) -> Result<(), MeasureError> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))
}

/// How many bytes are whole lines: up to the last line end before a NUL, which a power cut can leave where the disk
/// knew a file's length but not its contents.
pub(crate) fn whole_lines(bytes: &[u8]) -> usize {
    let sane = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes[..sane].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

/// Reads the rows of a whole log, which must have these columns.
fn read_rows(path: &Path, bytes: &[u8], columns: &[&str]) -> Result<Vec<Logged>, MeasureError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let malformed = |error: csv::Error| MeasureError::file(path, error);
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(malformed)?;
    if !header.iter().eq(columns.iter().copied()) {
        let found: Vec<&str> = header.iter().collect();
        let reason = format!("line 1: found columns {}, expected {}", found.join(","), columns.join(","));
        return Err(MeasureError::file(path, reason));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let line = record.position().map_or(0, csv::Position::line);
        let row = Logged::read(columns, &record);
        rows.push(row.map_err(|reason| MeasureError::file(path, format!("line {line}: {reason}")))?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [&str; 5] = ["kernel", "problem_idx", "latency_ms", "tflops", "error_msg"];
    const HEADER: &str = "kernel,problem_idx,latency_ms,tflops,error_msg\n";

    fn written(rows: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        std::fs::write(&path, format!("{HEADER}{rows}")).unwrap();
        (folder, path)
    }

    #[test]
    fn a_torn_end_is_cut_off_and_the_rest_goes_on() {
        for torn in ["b,1,0.", "b,1,0.25,4.0,\"cra", "\0\0\0\0", "b,1\0,1.0,1.0,\n"] {
            let (_folder, path) = written(&format!("a,1,0.25,4.0,\n{torn}"));
            let (mut log, rows) = Log::resume(&path, &COLUMNS).unwrap();
            assert_eq!(rows.len(), 1, "{torn:?}");
            log.append(b"c,1,N/A,0.0,crash\n").unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, format!("{HEADER}a,1,0.25,4.0,\nc,1,N/A,0.0,crash\n"));
        }
    }

    #[test]
    fn a_torn_header_is_written_again() {
        let (_folder, path) = written("");
        std::fs::write(&path, &HEADER[..9]).unwrap();
        let (_, rows) = Log::resume(&path, &COLUMNS).unwrap();
        assert_eq!((rows.len(), std::fs::read_to_string(&path).unwrap().as_str()), (0, HEADER));
    }

    #[test]
    fn what_is_no_log_of_ours_is_left_alone() {
        for (rows, message) in [
            ("a,x,0.25,4.0,\n", "line 2: problem_idx: found 'x', expected a whole number"),
            ("a,1,-1.0,4.0,\n", "line 2: latency_ms: found '-1.0', expected milliseconds or N/A"),
        ] {
            let (_folder, path) = written(rows);
            let error = Log::resume(&path, &COLUMNS).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}{rows}"));
        }
        let (_folder, path) = written("");
        let error = Log::resume(&path, &COLUMNS[..2]).unwrap_err().to_string();
        assert!(error.contains("line 1: found columns kernel,problem_idx,latency_ms"), "{error}");
        assert!(Log::create(&path, b"x\n").is_err(), "a file is never overwritten");
    }

    #[test]
    fn a_second_writer_is_refused() {
        let (_folder, path) = written("");
        let first = Log::resume(&path, &COLUMNS).unwrap();
        let error = Log::resume(&path, &COLUMNS).unwrap_err().to_string();
        assert!(error.ends_with("another process is writing it"), "{error}");
        drop(first);
        Log::resume(&path, &COLUMNS).unwrap();
    }

    proptest! {
        /// Wherever a crash tears the file, all whole rows are kept and nothing else.
        #[test]
        fn any_cut_keeps_the_whole_rows(rows in 0_usize..6, cut in 0_usize..400) {
            let lines: Vec<String> = (0..rows).map(|row| format!("k{row},{row},0.5,1.0,\"e, {row}\"\n")).collect();
            let text = lines.concat();
            let (_folder, path) = written(&text);
            let whole = std::fs::read(&path).unwrap();
            let kept = &whole[..cut.min(whole.len())];
            std::fs::write(&path, kept).unwrap();
            let (_, found) = Log::resume(&path, &COLUMNS).unwrap();
            let ends = kept.split(|&byte| byte == b'\n').count() - 1;
            prop_assert_eq!(found.len(), ends.saturating_sub(1));
        }
    }
}
