//! Rows on their way from the reader to the writer.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use ck_select::vocab::Op;
use md5::{Digest, Md5};

use super::{Options, Reject};
use crate::measurements::{DataError, Figures, Measured, Sink};

/// Rows of a chunk, which become a row group.
const ROWS: usize = 1 << 16;

pub(super) enum Message {
    Rows(Chunk),
    Reject(Reject),
}

/// A row, with indices instead of values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compact {
    /// Among all kernels of the conversion.
    pub(super) kernel: u32,
    /// Among the chunk's problems.
    pub(super) problem: u32,
    /// Among the chunk's runs.
    pub(super) run: u32,
    pub(super) figures: Figures,
    pub(super) non_zero: Option<i64>,
    pub(super) problem_idx: Option<i64>,
}

/// Some rows, and what they name.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) op: Op,
    pub(super) rows: Vec<Compact>,
    pub(super) problems: Vec<Problem>,
    pub(super) runs: Vec<String>,
    /// Kernels that no chunk before named: their indices follow those of the chunks before.
    pub(super) new_kernels: Vec<Kernel>,
    /// Hardware constants that the rows' files record.
    pub(super) hardware: Vec<(&'static str, i64)>,
}

impl Chunk {
    fn new(op: Op, hardware: Vec<(&'static str, i64)>) -> Self {
        let (rows, problems, runs, new_kernels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { op, rows, problems, runs, new_kernels, hardware }
    }
}

/// Gathers rows and sends them chunk by chunk.
pub(super) struct Sender {
    channel: SyncSender<Message>,
    run_id: Option<String>,
    /// The run of rows of the current file that record none.
    file_run: String,
    file: String,
    chunk: Option<Chunk>,
    sent: bool,
    kernels: HashMap<String, u32>,
    /// Indices of the current file's kernels, as far as they are known.
    of_file: Vec<Option<u32>>,
    /// The problem of the row before, by the reader's serial.
    last_problem: Option<(u64, u32)>,
    /// What the files so far record, which must be the same.
    hardware: Vec<(&'static str, i64)>,
    /// What the current file records.
    of_file_hardware: Vec<(&'static str, i64)>,
    hardware_changed: bool,
    invalid: usize,
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
            sent: false,
            kernels: HashMap::new(),
            of_file: Vec::new(),
            last_problem: None,
            hardware: Vec::new(),
            of_file_hardware: Vec::new(),
            hardware_changed: false,
            invalid: 0,
            op: options.op,
        }
    }

    /// The next rows are of this file.
    pub(super) fn begin(&mut self, path: &Path) {
        self.file = path.display().to_string();
        self.file_run = run_of(path);
        self.of_file.clear();
        self.last_problem = None;
        self.invalid = 0;
        self.of_file_hardware.clear();
        self.hardware_changed = true;
    }

    /// Rows of the current file that are not valid.
    pub(super) const fn invalid(&self) -> usize {
        self.invalid
    }

    /// Sends what is left. A table without rows has columns, too: those of `op`.
    pub(super) fn finish(mut self, op: Op) -> Result<(), DataError> {
        if self.chunk.is_none() && !self.sent {
            self.chunk = Some(Chunk::new(self.op.unwrap_or(op), Vec::new()));
        }
        self.send()
    }

    fn send(&mut self) -> Result<(), DataError> {
        let Some(chunk) = self.chunk.take() else { return Ok(()) };
        self.sent = true;
        self.last_problem = None;
        // The writer has gone: it failed, and says why.
        self.channel.send(Message::Rows(chunk)).map_err(|_| DataError::Stopped)
    }

    fn kernel(&mut self, row: &Measured<'_>) -> u32 {
        let place = row.kernel as usize;
        if self.of_file.len() <= place {
            self.of_file.resize(row.kernels.len().max(place + 1), None);
        }
        if let Some(index) = self.of_file[place] {
            return index;
        }
        let kernel = &row.kernels[place];
        let index = if let Some(&index) = self.kernels.get(&kernel.name) {
            index
        } else {
            let index = self.kernels.len() as u32;
            self.kernels.insert(kernel.name.clone(), index);
            if let Some(chunk) = &mut self.chunk {
                chunk.new_kernels.push(kernel.clone());
            }
            index
        };
        self.of_file[place] = Some(index);
        index
    }
}

impl Sink for Sender {
    fn row(&mut self, row: &Measured<'_>) -> Result<(), DataError> {
        let op = row.problem.op();
        if *self.op.get_or_insert(op) != op {
            return Err(DataError::Mixed {
                what: "operations",
                found: vec![Op::Gemm.to_string(), Op::GroupedConv.to_string()],
                advice: "choose one with --op".to_owned(),
            });
        }
        if row.problem.arch().is_none() {
            return Err(DataError::format(
                &self.file,
                "the rows do not record the architecture that they were measured on; say it with --arch",
            ));
        }
        if std::mem::take(&mut self.hardware_changed)
            && self.chunk.as_ref().is_some_and(|chunk| chunk.hardware != self.of_file_hardware)
        {
            self.send()?;
        }
        self.chunk.get_or_insert_with(|| Chunk::new(op, self.of_file_hardware.clone()));
        let kernel = self.kernel(row);
        let Some(chunk) = &mut self.chunk else { return Ok(()) };
        let problem = match self.last_problem {
            Some((serial, index)) if serial == row.serial => index,
            _ => {
                chunk.problems.push(*row.problem);
                chunk.problems.len() as u32 - 1
            }
        };
        self.last_problem = Some((row.serial, problem));
        let run = match (self.run_id.as_deref().or(row.run_id), op) {
            (None, Op::Gemm) => &self.file_run,
            (None, Op::GroupedConv) => "0",
            (Some(run), Op::GroupedConv) if run.parse::<i64>().is_err() => {
                return Err(DataError::format(
                    &self.file,
                    format_args!(
                        "run_id: found '{run}', expected a whole number, as the table of convolutions has it; \
                         --run-id gives another"
                    ),
                ));
            }
            (Some(run), _) => run,
        };
        if chunk.runs.last().map(String::as_str) != Some(run) {
            chunk.runs.push(run.to_owned());
        }
        self.invalid += usize::from(!row.figures.is_valid);
        chunk.rows.push(Compact {
            kernel,
            problem,
            run: chunk.runs.len() as u32 - 1,
            figures: row.figures,
            non_zero: row.non_zero,
            problem_idx: row.problem_idx,
        });
        if chunk.rows.len() >= ROWS {
            self.send()?;
        }
        Ok(())
    }

    fn reject(&mut self, file: &str, place: String, reason: String) -> Result<(), DataError> {
        let reject = Reject { file: file.to_owned(), place, reason };
        self.channel.send(Message::Reject(reject)).map_err(|_| DataError::Stopped)
    }

    fn hardware(&mut self, file: &str, constants: &[(&'static str, i64)]) -> Result<(), DataError> {
        for &(name, found) in constants {
            match self.hardware.iter().find(|(known, _)| *known == name) {
                None => self.hardware.push((name, found)),
                Some(&(_, expected)) if expected != found => {
                    return Err(DataError::Hardware { file: file.to_owned(), name, found, expected });
                }
                Some(_) => {}
            }
        }
        self.of_file_hardware.extend_from_slice(constants);
        self.hardware_changed = true;
        Ok(())
    }
}

/// What upstream calls the run of a log: the beginning of the MD5 of its file's name.
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
