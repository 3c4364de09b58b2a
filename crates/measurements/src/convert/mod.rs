//! Converts any file of measurements to upstream's canonical tables.
//!
//! Rows are collected in chunks, and each chunk is written as a row group before the next begins, so the
//! inputs may be larger than the memory.

mod columns;
mod csv;
mod origin;
mod rows;
mod schema;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ck_select_types::files::{self, Pending};
use ck_select_types::vocab::{Arch, Direction, Dtype, Op};

use crate::read::{DataError, Filter, SourceFile, files_of, read_file};
use crate::sidecar::Sidecar;
use origin::Origins;
use rows::{Chunk, ChunkWriter};
use schema::InputColumns;
pub use schema::speed_column;

/// The rows and columns to write.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The architecture of rows that do not record one, by default that of the file's sidecar; rows for another
    /// one are left out. Files whose sidecars say that such rows were measured on another one are refused.
    pub arch: Option<Arch>,
    /// Only rows of this operation.
    pub op: Option<Op>,
    /// Only rows of this direction.
    pub direction: Option<Direction>,
    /// Only rows of this element type.
    pub dtype: Option<Dtype>,
    /// The run of all rows, instead of the recorded one or the one from the file's name.
    pub run_id: Option<String>,
}

/// A position in a file that should be a row, but is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// The file.
    pub file: String,
    /// The position in the file.
    pub position: String,
    /// Why the row is rejected.
    pub reason: String,
}

/// The progress of a conversion.
#[derive(Debug)]
pub enum Progress {
    /// This many rows have been written.
    Rows(u64),
    /// A position was rejected.
    Reject(Reject),
}

/// Whether the table goes to standard output: `-`.
pub fn is_standard_output(output: &Path) -> bool {
    output == Path::new("-")
}

/// Converts files and folders into one table: a CSV when the output's name ends in `.csv` or is `-`, standard
/// output, otherwise parquet. A file is written completely or not at all, and gets a sidecar with those of
/// the inputs, if they have any.
pub fn convert(
    inputs: &[PathBuf],
    output: &Path,
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<SourceFile>, DataError> {
    let mut files = Vec::new();
    for input in inputs {
        files.extend(files_of(input)?);
    }
    let origins = Origins::read(&files)?;
    let columns = InputColumns::read(&files)?;
    let target = Target { output, inputs: &columns, writer: None };
    let mut rows = ChunkWriter::new(options, target, stop, progress);
    let reports = read(&files, options, &mut rows)?;
    let target = rows.finish()?;
    let sidecar = origins.write(&reports, output)?;
    target.commit()?;
    sidecar
        .map_or(Ok(()), Pending::commit)
        .map_err(|error| DataError::io(Sidecar::meta_of(output).display(), error))?;
    Ok(reports)
}

fn read(
    files: &[PathBuf],
    options: &Options,
    rows: &mut ChunkWriter<'_>,
) -> Result<Vec<SourceFile>, DataError> {
    let Options { arch, op, direction, dtype, .. } = *options;
    let filter = Filter { op, direction, dtype, arch, ..Filter::default() };
    let mut reports = Vec::new();
    for path in files {
        rows.begin(path)?;
        let counts = read_file(path, filter, rows)?;
        reports.push(SourceFile { path: path.clone(), ..counts });
    }
    if reports.iter().all(|report| report.rows == 0) {
        let nothing = reports.iter().map(nothing).collect::<Vec<_>>().join("; ");
        return Err(DataError::NoRows { found: nothing });
    }
    Ok(reports)
}

/// The contents of a file without usable rows, for its error.
fn nothing(SourceFile { path, other, rejected, .. }: &SourceFile) -> String {
    let mut parts = Vec::new();
    if *other > 0 {
        parts.push(format!("{other} rows of another operation, direction, type or architecture"));
    }
    if *rejected > 0 {
        parts.push(format!("{rejected} rejected places"));
    }
    if parts.is_empty() {
        parts.push("no measurement".to_owned());
    }
    format!("{}: found {}", path.display(), parts.join(" and "))
}

/// Creates the output, and missing folders.
fn create(output: &Path) -> Result<Pending, DataError> {
    if is_standard_output(output) {
        return Pending::standard_output().map_err(|error| DataError::io("standard output", error));
    }
    let begun = std::fs::create_dir_all(files::folder_of(output)).and_then(|()| Pending::create(output));
    begun.map_err(|error| DataError::io(output.display(), error))
}

/// A table in one of the formats.
trait Writer {
    /// Adds rows.
    fn write(&mut self, chunk: &Chunk) -> Result<(), DataError>;

    /// Gives the file its name.
    fn commit(self: Box<Self>) -> Result<(), DataError>;
}

/// The output of the rows: created with the first ones, whose operation decides its columns.
struct Target<'a> {
    output: &'a Path,
    inputs: &'a InputColumns,
    writer: Option<Box<dyn Writer>>,
}

impl Target<'_> {
    fn create(&self, op: Op) -> Result<Box<dyn Writer>, DataError> {
        let Self { output, inputs, .. } = *self;
        let is_csv = is_standard_output(output)
            || output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if is_csv {
            Ok(Box::new(csv::Writer::create(output, op, inputs)?))
        } else {
            Ok(Box::new(table::Writer::create(output, schema::columns(op, inputs))?))
        }
    }

    fn write(&mut self, op: Op, chunk: &Chunk) -> Result<(), DataError> {
        if self.writer.is_none() {
            self.writer = Some(self.create(op)?);
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(chunk))
    }

    fn commit(self) -> Result<(), DataError> {
        self.writer.map_or(Ok(()), Writer::commit)
    }
}
