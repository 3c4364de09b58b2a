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
    /// The run for rows of the current file that record none.
    file_run: String,
    file: String,
    chunk: Option<Box<Chunk>>,
    /// Indices in the chunk of the current file's kernels, as far as known.
    kernels: Vec<Option<u32>>,
    /// Indices in the chunk of the current file's problems, by the reader's serial.
    problems: HashMap<u64, u32>,
    /// The same for the previous row.
    last_problem: Option<(u64, u32)>,
    /// The hardware recorded in all files so far, which must be the same.
    hardware: Vec<(&'static str, i64)>,
    /// The hardware recorded in the current file.
    of_file_hardware: Vec<(&'static str, i64)>,
    hardware_changed: bool,
    invalid: usize,
    archs: FileArchs,
    op: Option<Op>,
}

impl Sender {
    pub(super) fn new(channel: SyncSender<Message>, options: &Options) -> Self {
        Self {
            channel,
            run_id: options.run_id.clone(),
            file_run: String::new(),
            file: String::new(),
            chunk: None,
            kernels: Vec::new(),
            problems: HashMap::new(),
            last_problem: None,
            hardware: Vec::new(),
            of_file_hardware: Vec::new(),
            hardware_changed: false,
            invalid: 0,
            archs: FileArchs::default(),
            op: options.op,
        }
    }

    /// Begins the rows of a file.
    pub(super) fn begin(&mut self, path: &Path) {
        self.file = path.display().to_string();
        self.file_run = run_of(path);
        self.forget_places();
        self.invalid = 0;
        self.archs = FileArchs::default();
        self.of_file_hardware.clear();
        self.hardware_changed = true;
    }

    /// Number of invalid rows of the current file.
    pub(super) const fn invalid(&self) -> usize {
        self.invalid
    }

    /// The architectures of the current file.
    pub(super) const fn archs(&self) -> &FileArchs {
        &self.archs
    }

    /// Sends what is left.
    pub(super) fn finish(mut self) -> Result<(), DataError> {
        self.send()
    }

    fn send(&mut self) -> Result<(), DataError> {
        let Some(chunk) = self.chunk.take() else { return Ok(()) };
        self.forget_places();
        // The writer is gone: it failed, and reports why.
        self.channel.send(Message::Rows(chunk)).map_err(|_| DataError::Stopped)
    }

    fn forget_places(&mut self) {
        self.kernels.clear();
        self.problems.clear();
        self.last_problem = None;
    }

    /// Ensures that there is a chunk for the row.
    fn open_chunk(&mut self, op: Op) -> Result<(), DataError> {
        if std::mem::take(&mut self.hardware_changed)
            && self.chunk.as_ref().is_some_and(|chunk| chunk.hardware != self.of_file_hardware)
        {
            self.send()?;
        }
        self.chunk.get_or_insert_with(|| Box::new(Chunk::new(op, self.of_file_hardware.clone())));
        Ok(())
    }
}

impl Sink for Sender {
    fn row(&mut self, row: &Measured<'_>) -> Result<(), DataError> {
        let op = row.problem.op();
        if *self.op.get_or_insert(op) != op {
            return Err(DataError::Mixed {
                what: "operations",
                found: {
                    let mut found = [self.op.unwrap_or(op), op];
                    found.sort_unstable();
                    found.map(|op| op.to_string()).to_vec()
                },
                advice: "choose one with --where op=".to_owned(),
            });
        }
        let Some(arch) = row.problem.arch() else {
            return Err(DataError::format(
                &self.file,
                "the rows do not record the architecture that they were measured on; give it with --arch",
            ));
        };
        if self.hardware_changed || self.chunk.is_none() {
            self.open_chunk(op)?;
        }
        let Self { chunk: Some(chunk), kernels, problems, last_problem, archs, .. } = self else {
            return Ok(());
        };
        let place = row.kernel as usize;
        if kernels.len() <= place {
            kernels.resize(row.kernels.len().max(place + 1), None);
        }
        let kernel = *kernels[place].get_or_insert_with(|| {
            chunk.kernels.push(row.kernels[place].clone());
            chunk.kernels.len() as u32 - 1
        });
        let problem = match *last_problem {
            Some((serial, place)) if serial == row.serial => place,
            _ => *problems.entry(row.serial).or_insert_with(|| {
                archs.taken.insert(arch);
                chunk.problems.push(*row.problem);
                chunk.problems.len() as u32 - 1
            }),
        };
        *last_problem = Some((row.serial, problem));
        let run = match (self.run_id.as_deref().or(row.run_id), op) {
            (None, Op::Conv) => "0",
            (None, _) => &self.file_run,
            (Some(run), _) => run,
        };
        if chunk.runs.last().map(String::as_str) != Some(run) {
            if op == Op::Conv && run.parse::<i64>().is_err() {
                return Err(DataError::format(
                    &self.file,
                    format_args!(
                        "run_id: found '{run}', expected a whole number, \
                         as the table of convolutions has it; --run-id gives another"
                    ),
                ));
            }
            chunk.runs.push(run.to_owned());
        }
        self.invalid += usize::from(!row.figures.is_valid);
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
        self.archs.left_out.extend(arch);
    }

    fn reject(&mut self, file: &str, place: String, reason: String) -> Result<(), DataError> {
        let reject = Reject { file: file.to_owned(), place, reason };
        self.channel.send(Message::Reject(reject)).map_err(|_| DataError::Stopped)
    }

    fn hardware(&mut self, file: &str, constants: &[(&'static str, i64)]) -> Result<(), DataError> {
        note(&mut self.hardware, file, constants)?;
        self.of_file_hardware.extend_from_slice(constants);
        self.hardware_changed = true;
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
