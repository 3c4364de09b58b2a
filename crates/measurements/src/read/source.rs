//! Which reader a file needs: by its contents, not only by its name.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use ck_select_model::inflate::inflated;
use ck_select_types::files;
use ck_select_types::vocab::{Arch, Dtype, Op};

use super::record::{Counts, MeasuredRow, Sink};
use super::rows::{FileRows, Filter};
use super::{DataError, csv, json, log, parquet};
use crate::sidecar::{archs_beside, check_archs};

const BUFFER: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// A benchmark CSV.
    Csv,
    /// A table in Apache Parquet.
    Parquet,
    /// Results of `generate_benchmark_data` or of `fmha_benchmark`.
    Json,
    /// A streaming log.
    Log,
}

/// Reads the rows of a file, in any format; text may be compressed with gzip. The file's sidecar says on which
/// architecture rows were measured that do not record it; rows that are taken for those of another one are an
/// error.
pub(crate) fn read(path: &Path, filter: Filter<'_>, sink: &mut dyn Sink) -> Result<Counts, DataError> {
    let name = path.display().to_string();
    let archs = archs_beside(path)?;
    let only = archs.first().copied().filter(|_| archs.len() == 1);
    let rows = FileRows::new(&name, Filter { assumed: only.or(filter.assumed), ..filter }, sink);
    let (opened, format) = open(path)?;
    let counts = match opened {
        OpenFile::Binary(file) => parquet::read(file, rows)?,
        OpenFile::Text(mut text) => read_as(format, &mut *text, rows)?,
    };
    let taken = counts.arches.iter().copied().flatten().collect();
    check_archs(&name, &archs, &taken, counts.other_arches.keys().copied())?;
    Ok(counts)
}

/// Reads the rows of a text in memory; `name` is its name in errors.
pub(crate) fn read_text(
    name: &str,
    mut text: &[u8],
    filter: Filter<'_>,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let format = text_format(Path::new(name), text);
    read_as(format, &mut text, FileRows::new(name, filter, sink))
}

fn read_as(format: Format, text: &mut dyn BufRead, rows: FileRows<'_>) -> Result<Counts, DataError> {
    match format {
        Format::Csv => csv::read(text, rows),
        Format::Json => json::read(text, rows),
        Format::Log => log::read(text, rows),
        Format::Parquet => {
            Err(DataError::format(rows.file, "named .parquet, but it does not begin with PAR1"))
        }
    }
}

/// The operation and the recorded architecture of a file's first row, for an operation, an element type and a
/// run if they are given; `None` for a file without such rows.
pub fn first_row(
    path: &Path,
    op: Option<Op>,
    dtype: Option<Dtype>,
    run: Option<&str>,
) -> Result<Option<(Op, Option<Arch>)>, DataError> {
    let mut first = First(None);
    match read(path, Filter { op, dtype, run, ..Filter::default() }, &mut first) {
        // The first row is enough.
        Err(_) if first.0.is_some() => Ok(first.0),
        other => other.map(|_| first.0),
    }
}

/// Takes one row.
struct First(Option<(Op, Option<Arch>)>);

impl Sink for First {
    fn row(&mut self, row: &MeasuredRow<'_>) -> Result<(), DataError> {
        self.0 = Some((row.problem.op(), row.problem.arch()));
        Err(DataError::Stopped)
    }

    fn hardware(&mut self, _: &str, _: &'static str, _: i64) -> Result<(), DataError> {
        Ok(())
    }
}

/// The names of a table's columns; of a file that is none, those columns of problems that stand in quotes.
pub(crate) fn columns_of(path: &Path) -> Result<Vec<String>, DataError> {
    let name = path.display().to_string();
    let (opened, format) = open(path)?;
    match (opened, format) {
        (OpenFile::Binary(file), _) => parquet::columns(&name, file),
        (OpenFile::Text(mut text), Format::Csv) => Ok(csv::open(&name, &mut *text)?.header().to_vec()),
        (OpenFile::Text(mut text), _) => quoted(&mut *text).map_err(|error| DataError::io(&name, error)),
    }
}

/// The columns of problems that stand in quotes, as keys of JSON do.
fn quoted(text: &mut dyn BufRead) -> std::io::Result<Vec<String>> {
    let known: HashSet<&str> = super::problems::columns().collect();
    let longest = known.iter().map(|name| name.len()).max().unwrap_or_default();
    let (mut found, mut word) = (BTreeSet::new(), Vec::new());
    loop {
        let read = text.fill_buf()?;
        if read.is_empty() {
            return Ok(found.into_iter().collect());
        }
        let end = read.iter().position(|&byte| byte == b'"');
        let part = &read[..end.unwrap_or(read.len())];
        // A longer one is none of them.
        word.extend_from_slice(&part[..part.len().min(longest + 1)]);
        if end.is_some() {
            let name = std::str::from_utf8(&word).ok().filter(|name| known.contains(name));
            found.extend(name.map(str::to_owned));
            word.clear();
        } else {
            word.truncate(longest + 1);
        }
        let consumed = end.map_or(read.len(), |end| end + 1);
        text.consume(consumed);
    }
}

/// A text, which may be compressed with gzip.
pub(crate) fn text_of(path: &Path) -> Result<Box<dyn BufRead>, DataError> {
    match open(path)?.0 {
        OpenFile::Text(text) => Ok(text),
        OpenFile::Binary(_) => {
            Err(DataError::format(&path.display().to_string(), "found parquet, expected a CSV"))
        }
    }
}

enum OpenFile {
    Binary(File),
    Text(Box<dyn BufRead>),
}

fn open(path: &Path) -> Result<(OpenFile, Format), DataError> {
    let name = path.display().to_string();
    let io_error = |error| DataError::io(&name, error);
    let mut file = files::open(path).map_err(io_error)?;
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic).map_err(io_error)?;
    file.rewind().map_err(io_error)?;
    if magic == b"PAR1" {
        return Ok((OpenFile::Binary(file), Format::Parquet));
    }
    let mut text: Box<dyn BufRead> = if magic.starts_with(&[0x1f, 0x8b]) {
        let size = file.metadata().map_err(io_error)?.len();
        let packed = BufReader::with_capacity(BUFFER, file);
        Box::new(BufReader::with_capacity(BUFFER, inflated(packed, size)))
    } else {
        Box::new(BufReader::with_capacity(BUFFER, file))
    };
    let format = text_format(path, text.fill_buf().map_err(io_error)?);
    Ok((OpenFile::Text(text), format))
}

/// The format of a text: by its name, otherwise by its beginning.
fn text_format(path: &Path, beginning: &[u8]) -> Format {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let beginning = String::from_utf8_lossy(&beginning[..beginning.len().min(1 << 16)]);
    let start = files::text_without_bom(&beginning).trim_start();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "parquet" => Format::Parquet,
        "csv" => Format::Csv,
        // The output of one benchmark is a log of one object.
        "json"
            if start.starts_with('[')
                || start.contains("\"results\"")
                || !start.contains("\"perf_result\"") =>
        {
            Format::Json
        }
        "log" | "txt" | "json" => Format::Log,
        _ => {
            let header = start.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
            // Includes headers that the reader will refuse with a reason.
            let is_header = header.split([',', ';', '\t']).any(|cell| {
                let cell = cell.trim().trim_matches('"').to_lowercase();
                cell == "kernel" || cell == "kernel_name"
            });
            if is_header {
                Format::Csv
            } else if start.starts_with('[')
                || (start.starts_with('{') && start.contains("\"kernel_config\""))
            {
                Format::Json
            } else {
                Format::Log
            }
        }
    }
}

/// The files for a path: itself, or all `*.parquet` directly inside a folder, sorted by name.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, DataError> {
    let name = path.display().to_string();
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| DataError::io(&name, error))? {
        let file = entry.map_err(|error| DataError::io(&name, error))?.path();
        if file.extension().is_some_and(|extension| extension == "parquet") && file.is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(DataError::format(&name, "no file *.parquet directly in this folder"));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_name_and_content() {
        for (name, text, format) in [
            ("a.csv", "", Format::Csv),
            ("a.CSV.gz", "", Format::Csv),
            ("a", "# comment\nproblem_idx,kernel,N\n", Format::Csv),
            ("a", "noise\nShape 1: M=1 N=1 K=1 dtype=fp8 layout=rcr\n", Format::Log),
            ("a.json", "{\"metadata\": {}, \"results\": []}", Format::Json),
            ("a_partial.json", "[]", Format::Json),
            ("a.json", "{\"name\": \"x\", \"perf_result\": {}}", Format::Log),
            ("a.json", "{\"results\": [{\"name\": \"x\", \"perf_result\": {}}]}", Format::Json),
            ("a", "[{\"kernel_config\": {}}]", Format::Json),
            ("a.log", "{", Format::Log),
        ] {
            assert_eq!(text_format(Path::new(name), text.as_bytes()), format, "{name} {text}");
        }
    }
}
