//! The log: an append-only CSV.
//!
//! A row is one write. [`Log::sync`] waits until all rows are on disk; callers use it before they wait for
//! anything else. After a crash of the process or the machine, the file ends with a whole row or with a torn
//! one, which [`Log::rows`] cuts off. A lock keeps other processes out.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ck_select::files;
use ck_select_types::sheet::csv::{CsvFault, CsvRows};

use crate::error::{MeasureError, at};
use crate::row::LogRow;

/// An open log.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    len: u64,
    /// Whether there are rows that may not be on disk yet.
    dirty: bool,
}

impl Log {
    /// Opens a log, or creates an empty one. `None` if another process has it.
    pub fn open(path: &Path) -> Result<Option<Self>, MeasureError> {
        loop {
            let mut options = OpenOptions::new();
            let file =
                files::open_with(options.read(true).append(true).create(true), path).map_err(at(path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(MeasureError::file(path, error)),
            }
            let opened = file.metadata().map_err(at(path))?;
            // Between opening and locking, the holder of the lock may have replaced the file.
            if std::fs::metadata(path)
                .is_ok_and(|there| (there.dev(), there.ino()) == (opened.dev(), opened.ino()))
            {
                return Ok(Some(Self { file, path: path.to_owned(), len: opened.len(), dirty: false }));
            }
        }
    }

    /// Whether the log is empty, without even a header.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Cuts off everything after this many bytes.
    pub fn cut(&mut self, len: usize) -> Result<(), MeasureError> {
        self.len = len as u64;
        self.restore()
    }

    /// Writes the header of an empty log.
    pub fn begin(&mut self, header: &[u8]) -> Result<(), MeasureError> {
        self.append(header)?;
        self.sync()?;
        files::sync_folder(files::folder_of(&self.path)).map_err(at(&self.path))
    }

    /// Cuts off a torn end and reads the rows, which must have these columns. If some are unwanted, the file
    /// is replaced by one without them, as a whole or not at all; `None` if another process has that.
    pub fn rows(
        mut self,
        columns: &[&str],
        unwanted: impl Fn(&LogRow) -> bool,
    ) -> Result<Option<(Self, Vec<LogRow>)>, MeasureError> {
        let mut bytes = self.whole()?;
        let rows = read_rows(&self.path, &mut bytes, columns)?;
        self.cut(bytes.len())?;
        if bytes.is_empty() {
            let header = columns.join(",") + "\n";
            self.append(header.as_bytes())?;
        }
        let starts = rows.iter().map(|(start, _)| *start);
        let mut kept = bytes[..starts.clone().next().unwrap_or(bytes.len())].to_vec();
        let ends = starts.skip(1).chain([bytes.len()]);
        for ((start, row), end) in rows.iter().zip(ends) {
            if !unwanted(row) {
                kept.extend_from_slice(&bytes[*start..end]);
            }
        }
        if kept.len() < bytes.len() {
            files::write(&self.path, &kept).map_err(at(&self.path))?;
            // The old file stays locked until here: a process that opened it finds that it is no longer the
            // log.
            let Some(replaced) = Self::open(&self.path)? else { return Ok(None) };
            self = replaced;
        }
        let rows = rows.into_iter().map(|(_, row)| row).filter(|row| !unwanted(row));
        Ok(Some((self, rows.collect())))
    }

    /// The whole lines.
    pub(crate) fn whole(&mut self) -> Result<Vec<u8>, MeasureError> {
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut bytes));
        read.map_err(at(&self.path))?;
        bytes.truncate(whole_lines(&bytes));
        Ok(bytes)
    }

    /// Adds a row, which from now on survives a crash of the process. A row that cannot be written whole is
    /// removed again.
    pub fn append(&mut self, line: &[u8]) -> Result<(), MeasureError> {
        if let Err(error) = self.file.write_all(line) {
            self.restore()?;
            return Err(MeasureError::file(&self.path, error));
        }
        self.len += line.len() as u64;
        self.dirty = true;
        Ok(())
    }

    /// Waits until all rows are on disk; from then on they survive a crash of the machine. Fails if the file
    /// was removed or replaced, because nobody would ever see the rows.
    pub fn sync(&mut self) -> Result<(), MeasureError> {
        if self.dirty {
            let ours = self.file.metadata().map_err(at(&self.path))?;
            let is_there = |there: std::fs::Metadata| (there.dev(), there.ino()) == (ours.dev(), ours.ino());
            // Devices and pipes have no folder of ours.
            if ours.is_file() && !std::fs::metadata(&self.path).is_ok_and(is_there) {
                return Err(MeasureError::file(&self.path, "was removed or replaced while it was written"));
            }
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

/// How many bytes are whole lines: up to the last line end before a NUL, which a power cut can leave where
/// the disk had a file's length but not its contents.
fn whole_lines(bytes: &[u8]) -> usize {
    let sane = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes[..sane].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

/// Reads the rows of a log, which must have these columns, and where each begins. Whole lines may still end
/// with a torn row, of which a message spans several: it is taken off.
fn read_rows(
    path: &Path,
    bytes: &mut Vec<u8>,
    columns: &[&str],
) -> Result<Vec<(usize, LogRow)>, MeasureError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let malformed = |fault: CsvFault| MeasureError::file(path, fault);
    let mut csv = CsvRows::new(&**bytes);
    csv.read_header().map_err(malformed)?;
    if csv.header() != columns {
        let reason =
            format!("line 1: found columns {}, expected {}", csv.header().join(","), columns.join(","));
        return Err(MeasureError::file(path, reason));
    }
    let mut rows = Vec::new();
    loop {
        match csv.next() {
            Ok(true) => {}
            Ok(false) => break,
            Err(CsvFault::Unclosed(_)) if is_message(&bytes[csv.start() as usize..], columns) => {
                let torn = csv.start() as usize;
                bytes.truncate(torn);
                break;
            }
            Err(fault) => return Err(malformed(fault)),
        }
        let row = LogRow::read(&csv);
        let row = row.map_err(|reason| MeasureError::file(path, format!("line {}: {reason}", csv.line())))?;
        rows.push((csv.start() as usize, row));
    }
    Ok(rows)
}

/// Whether all lines behind the first can be a message: none has the cells of a row.
fn is_message(torn: &[u8], columns: &[&str]) -> bool {
    let has_cells = |line: &[u8]| line.split(|&byte| byte == b',').count() >= columns.len();
    !torn.split(|&byte| byte == b'\n').skip(1).any(has_cells)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resume(path: &Path, columns: &[&str]) -> Result<(Log, Vec<LogRow>), MeasureError> {
        without(path, columns, |_| false)
    }

    fn without(
        path: &Path,
        columns: &[&str],
        unwanted: impl Fn(&LogRow) -> bool,
    ) -> Result<(Log, Vec<LogRow>), MeasureError> {
        let log = Log::open(path)?.expect("a log that nobody else has");
        Ok(log.rows(columns, unwanted)?.expect("a log that nobody else has"))
    }

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
        let in_message = "b,1,N/A,0.0,\"load: x\ny\n";
        for torn in ["b,1,0.", "b,1,0.25,4.0,\"cra", in_message, "\0\0\0\0", "b,1\0,1.0,1.0,\n"] {
            let (_folder, path) = written(&format!("a,1,0.25,4.0,\n{torn}"));
            let (mut log, rows) = resume(&path, &COLUMNS).unwrap();
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
        let (_, rows) = resume(&path, &COLUMNS).unwrap();
        assert_eq!((rows.len(), std::fs::read_to_string(&path).unwrap().as_str()), (0, HEADER));
    }

    #[test]
    fn foreign_files_are_not_overwritten() {
        for (rows, message) in [
            ("a,x,0.25,4.0,\n", "line 2: problem_idx: found 'x', expected a whole number"),
            ("a,1,-1.0,4.0,\n", "line 2: latency_ms: found '-1.0', expected milliseconds or N/A"),
            (
                "a,1,N/A,0.0,\"x\nb,1,0.25,4.0,\n",
                "line 2: found a quoted cell without an end, expected '\"' behind it",
            ),
        ] {
            let (_folder, path) = written(rows);
            let error = resume(&path, &COLUMNS).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}{rows}"));
        }
        let (_folder, path) = written("");
        let error = resume(&path, &COLUMNS[..2]).unwrap_err().to_string();
        assert!(error.contains("line 1: found columns kernel,problem_idx,latency_ms"), "{error}");
    }

    #[test]
    fn rows_are_taken_out_and_the_lock_stays() {
        let (_folder, path) =
            written("a,1,0.25,4.0,\nb,1,N/A,0.0,\"load: x\n, y\"\nc,1,0.5,2.0,\nd,1,N/A,0.0,load\ntorn");
        let (mut log, rows) = without(&path, &COLUMNS, |row| row.latency_ms.is_none()).unwrap();
        assert_eq!(rows.iter().map(|row| row.kernel.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert!(Log::open(&path).unwrap().is_none());
        log.append(b"d,1,0.125,8.0,\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{HEADER}a,1,0.25,4.0,\nc,1,0.5,2.0,\nd,1,0.125,8.0,\n"));
    }

    proptest! {
        /// Wherever a crash tears the file, all whole rows are kept and nothing else.
        #[test]
        fn any_cut_keeps_the_whole_rows(rows in 0_usize..6, cut in 0_usize..400) {
            let lines: Vec<String> =
                (0..rows).map(|row| format!("k{row},{row},0.5,1.0,\"e, {row}\"\n")).collect();
            let text = lines.concat();
            let (_folder, path) = written(&text);
            let whole = std::fs::read(&path).unwrap();
            let kept = &whole[..cut.min(whole.len())];
            std::fs::write(&path, kept).unwrap();
            let (_, rows) = resume(&path, &COLUMNS).unwrap();
            let ends = kept.split(|&byte| byte == b'\n').count() - 1;
            prop_assert_eq!(rows.len(), ends.saturating_sub(1));
        }
    }
}
