//! Rows of all files on their way into the table, chunk by chunk.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ck_select_types::kernel::Kernel;
use ck_select_types::operation::Operation;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;
use md5::{Digest, Md5};

use super::{Options, Progress, Reject, Target};
use crate::distinct::Distinct;
use crate::operation::numbers_runs;
use crate::read::{DataError, Figures, MeasuredRow, Sink, note};

/// Rows of a chunk, which become a row group.
const ROWS: usize = 1 << 16;

/// Some rows, and what they refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    /// Every row's index in `kernels`.
    pub(super) kernel: Vec<u32>,
    pub(super) kernels: Distinct<String, Kernel>,
    /// Every row's index in `problems`.
    pub(super) problem: Vec<u32>,
    pub(super) problems: Distinct<Problem, Problem>,
    /// Every row's index in `runs`.
    pub(super) run: Vec<u32>,
    pub(super) runs: Vec<String>,
    pub(super) problem_idx: Vec<Option<i64>>,
    pub(super) non_zero: Vec<Option<i64>>,
    pub(super) figures: Vec<Figures>,
    /// Hardware constants that the rows' files record.
    pub(super) hardware: Vec<(&'static str, i64)>,
}

impl Chunk {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.kernel.len()
    }
}

/// Collects rows and writes them chunk by chunk.
pub(super) struct ChunkWriter<'a> {
    options: &'a Options,
    target: Target<'a>,
    stop: &'a AtomicBool,
    progress: &'a mut dyn FnMut(Progress),
    written: u64,
    op: Option<Op>,
    chunk: Chunk,
    /// The hardware recorded in all files so far, which must be the same.
    hardware: Vec<(&'static str, i64)>,
    of_file: CurrentFile,
}

/// The current file.
#[derive(Default)]
struct CurrentFile {
    name: String,
    /// The run for rows that record none.
    run: String,
    /// The hardware that the file records, and whether the chunk may have another's.
    hardware: Vec<(&'static str, i64)>,
    hardware_changed: bool,
}

impl<'a> ChunkWriter<'a> {
    pub(super) fn new(
        options: &'a Options,
        target: Target<'a>,
        stop: &'a AtomicBool,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let (chunk, hardware, of_file) = (Chunk::default(), Vec::new(), CurrentFile::default());
        Self { options, target, stop, progress, written: 0, op: options.op, chunk, hardware, of_file }
    }

    /// Begins the rows of a file.
    pub(super) fn begin(&mut self, path: &Path) -> Result<(), DataError> {
        let (name, run) = (path.display().to_string(), run_of(path));
        self.of_file = CurrentFile { name, run, hardware_changed: true, ..CurrentFile::default() };
        self.check_stop()
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<Target<'a>, DataError> {
        self.write()?;
        self.check_stop()?;
        Ok(self.target)
    }

    fn check_stop(&self) -> Result<(), DataError> {
        if self.stop.load(Ordering::Relaxed) { Err(DataError::Stopped) } else { Ok(()) }
    }

    /// Writes the chunk and begins another with the hardware of the current file.
    fn write(&mut self) -> Result<(), DataError> {
        let next = Chunk { hardware: self.of_file.hardware.clone(), ..Chunk::default() };
        let chunk = std::mem::replace(&mut self.chunk, next);
        let Some(op) = self.op.filter(|_| chunk.len() > 0) else { return Ok(()) };
        self.check_stop()?;
        self.target.write(op, &chunk)?;
        self.written += chunk.len() as u64;
        (self.progress)(Progress::Rows(self.written));
        Ok(())
    }
}

impl Sink for ChunkWriter<'_> {
    fn row(&mut self, row: &MeasuredRow<'_>) -> Result<(), DataError> {
        let op = row.problem.op();
        if *self.op.get_or_insert(op) != op {
            let mut ops = [self.op.unwrap_or(op), op];
            ops.sort_unstable();
            let (ops, advice) =
                (ops.map(|op| op.to_string()).to_vec(), "choose one with --where op=".to_owned());
            return Err(DataError::Mixed { what: "operations", found: ops, advice });
        }
        if row.problem.arch().is_none() {
            return Err(DataError::format(
                &self.of_file.name,
                "the rows do not record the architecture that they were measured on; give it with --arch",
            ));
        }
        let has_changed = std::mem::take(&mut self.of_file.hardware_changed);
        if has_changed && self.chunk.hardware != self.of_file.hardware {
            self.write()?;
        }
        let Self { chunk, of_file, options, .. } = self;
        let kernel = chunk.kernels.index_of(row.kernel.name.as_str(), || row.kernel.clone());
        let problem = chunk.problems.index_of(row.problem, || *row.problem);
        let own = if numbers_runs(op) { "0" } else { &of_file.run };
        let run = options.run_id.as_deref().or(row.run_id).unwrap_or(own);
        if chunk.runs.last().map(String::as_str) != Some(run) {
            if numbers_runs(op) && run.parse::<i64>().is_err() {
                let reason = format!(
                    "run_id: found '{run}', expected a whole number, as the table of {} has it; --run-id gives \
                     another",
                    Operation::get(op).noun
                );
                return Err(DataError::format(&of_file.name, reason));
            }
            chunk.runs.push(run.to_owned());
        }
        chunk.kernel.push(kernel);
        chunk.problem.push(problem);
        chunk.run.push(chunk.runs.len() as u32 - 1);
        chunk.figures.push(row.figures);
        chunk.non_zero.push(row.non_zero);
        chunk.problem_idx.push(row.problem_idx);
        if chunk.len() >= ROWS {
            self.write()?;
        }
        Ok(())
    }

    fn reject(&mut self, file: &str, position: String, reason: String) -> Result<(), DataError> {
        (self.progress)(Progress::Reject(Reject { file: file.to_owned(), position, reason }));
        self.check_stop()
    }

    fn hardware(&mut self, file: &str, name: &'static str, value: i64) -> Result<(), DataError> {
        note(&mut self.hardware, file, name, value)?;
        self.of_file.hardware_changed |= note(&mut self.of_file.hardware, file, name, value)?;
        Ok(())
    }
}

/// The run of a log as upstream names it: the beginning of the MD5 of the file's name.
fn run_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let digest = Md5::digest(name.as_bytes());
    let first = digest.iter().take(6).fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    format!("{first:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_the_file() {
        // printf wide_coverage_batch_001.log | md5sum
        assert_eq!(run_of(Path::new("data/wide_coverage_batch_001.log")), "5b7a92a43c23");
    }
}
