//! The reader's side: collects rows and sends them chunk by chunk.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use ck_select_types::vocab::{Arch, Op};
use md5::{Digest, Md5};

use super::chunk::{Chunk, ROWS};
use super::origin::FileArchs;
use super::{Options, Reject};
use crate::measurements::{DataError, Measured, Sink, note};

pub(super) enum Message {
    Rows(Box<Chunk>),
    Reject(Reject),
}

/// Collects rows and sends them chunk by chunk.
pub(super) struct Sender {
    channel: SyncSender<Message>,
    run_id: Option<String>,
    op: Option<Op>,
    chunk: Option<Box<Chunk>>,
    /// The hardware recorded in all files so far, which must be the same.
    hardware: Vec<(&'static str, i64)>,
    pub(super) of_file: OfFile,
}

/// The current file.
#[derive(Default)]
pub(super) struct OfFile {
    name: String,
    /// The run for rows that record none.
    run: String,
    /// Number of invalid rows.
    pub(super) invalid: usize,
    /// The architectures of its rows.
    pub(super) archs: FileArchs,
    /// The hardware that it records, and whether the chunk may have another's.
    hardware: Vec<(&'static str, i64)>,
    hardware_changed: bool,
    places: Places,
}

/// Indices in the chunk of a file's kernels, as far as known, and of its problems, by the reader's serial.
#[derive(Default)]
struct Places {
    kernels: Vec<Option<u32>>,
    problems: HashMap<u64, u32>,
}

impl Sender {
    pub(super) fn new(channel: SyncSender<Message>, options: &Options) -> Self {
        let Options { run_id, op, .. } = options.clone();
        Self { channel, run_id, op, chunk: None, hardware: Vec::new(), of_file: OfFile::default() }
    }

    /// Begins the rows of a file.
    pub(super) fn begin(&mut self, path: &Path) {
        let (name, run) = (path.display().to_string(), run_of(path));
        self.of_file = OfFile { name, run, hardware_changed: true, ..OfFile::default() };
    }

    /// Sends what is left.
    pub(super) fn finish(mut self) -> Result<(), DataError> {
        self.send()
    }

    fn send(&mut self) -> Result<(), DataError> {
        let Some(chunk) = self.chunk.take() else { return Ok(()) };
        self.of_file.places = Places::default();
        // The writer is gone: it failed, and reports why.
        self.channel.send(Message::Rows(chunk)).map_err(|_| DataError::Stopped)
    }

    /// Ensures that there is a chunk for the row.
    fn open_chunk(&mut self, op: Op) -> Result<(), DataError> {
        let is_other = |chunk: &Chunk| chunk.hardware != self.of_file.hardware;
        let has_other = self.chunk.as_deref().is_some_and(is_other);
        if std::mem::take(&mut self.of_file.hardware_changed) && has_other {
            self.send()?;
        }
        self.chunk.get_or_insert_with(|| Box::new(Chunk::new(op, self.of_file.hardware.clone())));
        Ok(())
    }
}

impl Sink for Sender {
    fn row(&mut self, row: &Measured<'_>) -> Result<(), DataError> {
        let op = row.problem.op();
        if *self.op.get_or_insert(op) != op {
            let mut found = [self.op.unwrap_or(op), op];
            found.sort_unstable();
            let (found, advice) =
                (found.map(|op| op.to_string()).to_vec(), "choose one with --where op=".to_owned());
            return Err(DataError::Mixed { what: "operations", found, advice });
        }
        let Some(arch) = row.problem.arch() else {
            return Err(DataError::format(
                &self.of_file.name,
                "the rows do not record the architecture that they were measured on; give it with --arch",
            ));
        };
        if self.of_file.hardware_changed || self.chunk.is_none() {
            self.open_chunk(op)?;
        }
        let Self { chunk: Some(chunk), of_file, .. } = self else { return Ok(()) };
        let Places { kernels, problems } = &mut of_file.places;
        kernels.resize(row.kernels.len(), None);
        let place = row.kernel as usize;
        let kernel = *kernels[place].get_or_insert_with(|| {
            chunk.kernels.push(row.kernels[place].clone());
            chunk.kernels.len() as u32 - 1
        });
        let problem = *problems.entry(row.serial).or_insert_with(|| {
            of_file.archs.taken.insert(arch);
            chunk.problems.push(*row.problem);
            chunk.problems.len() as u32 - 1
        });
        let run = match (self.run_id.as_deref().or(row.run_id), op) {
            (None, Op::Conv) => "0",
            (None, _) => &of_file.run,
            (Some(run), _) => run,
        };
        if chunk.runs.last().map(String::as_str) != Some(run) {
            if op == Op::Conv && run.parse::<i64>().is_err() {
                let reason = format!(
                    "run_id: found '{run}', expected a whole number, as the table of convolutions has it; \
                     --run-id gives another"
                );
                return Err(DataError::format(&of_file.name, reason));
            }
            chunk.runs.push(run.to_owned());
        }
        of_file.invalid += usize::from(!row.figures.is_valid);
        chunk.kernel.push(kernel);
        chunk.problem.push(problem);
        chunk.run.push(chunk.runs.len() as u32 - 1);
        chunk.figures.push(row.figures);
        chunk.non_zero.push(row.non_zero);
        chunk.problem_idx.push(row.problem_idx);
        if chunk.len() >= ROWS {
            self.send()?;
        }
        Ok(())
    }

    fn other_arch(&mut self, arch: Option<Arch>) {
        self.of_file.archs.left_out.extend(arch);
    }

    fn reject(&mut self, file: &str, place: String, reason: String) -> Result<(), DataError> {
        let reject = Reject { file: file.to_owned(), place, reason };
        self.channel.send(Message::Reject(reject)).map_err(|_| DataError::Stopped)
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
