//! Which reader a file needs: by its contents, not only by its name.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use ck_select_types::files;
use ck_select_types::sheet::{self, Opened, Sheet};
use ck_select_types::vocab::{Arch, Dtype, Op};

use super::record::{MeasuredRow, Sink, SourceFile};
use super::rows::{FileRows, Filter};
use super::table::read_csv;
use super::{DataError, json, log, parquet};
use crate::sidecar::{archs_beside, check_archs};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// A benchmark CSV.
    Csv,
    /// Results of `generate_benchmark_data` or of `fmha_benchmark`.
    Json,
    /// A streaming log.
    Log,
}

/// Reads the rows of a file, in any format; text may be compressed with gzip. The file's sidecar says on which
/// architecture rows were measured that do not record it; rows that are taken for those of another one are an
/// error.
pub(crate) fn read(path: &Path, filter: Filter<'_>, sink: &mut dyn Sink) -> Result<SourceFile, DataError> {
    let name = path.display().to_string();
    let archs = archs_beside(path)?;
    let only = archs.first().copied().filter(|_| archs.len() == 1);
    let rows = FileRows::new(&name, Filter { assumed: only.or(filter.assumed), ..filter }, sink);
    let counts = match open(path)? {
        OpenFile::Parquet(file) => parquet::read(file, rows)?,
        OpenFile::Text(opened) => read_as(opened, rows)?,
    };
    let taken = counts.arches.iter().copied().flatten().collect();
    check_archs(&name, &archs, &taken, counts.other_arches.keys().copied())?;
    Ok(counts)
}

/// Reads the rows of a text in memory; `name` is its name in errors.
pub(crate) fn read_text(
    name: &str,
    text: &[u8],
    filter: Filter<'_>,
    sink: &mut dyn Sink,
) -> Result<SourceFile, DataError> {
    read_as(Opened::new(name, Box::new(text))?, FileRows::new(name, filter, sink))
}

fn read_as(opened: Opened<'_>, rows: FileRows<'_>) -> Result<SourceFile, DataError> {
    match format(&opened)? {
        Format::Csv => read_csv(opened, rows),
        Format::Json => json::read(opened.text(), rows),
        Format::Log => log::read(&mut opened.text(), rows),
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
    let opened = match open(path)? {
        OpenFile::Parquet(file) => return parquet::columns(&name, file),
        OpenFile::Text(opened) => opened,
    };
    match format(&opened)? {
        Format::Csv => Ok(Sheet::with_header(opened)?.rows.header().to_vec()),
        _ => quoted(&mut opened.text()).map_err(|error| DataError::io(&name, error)),
    }
}

/// The columns of problems that stand in quotes, as keys of JSON do.
fn quoted(text: &mut dyn BufRead) -> std::io::Result<Vec<String>> {
    let known: HashSet<&str> = super::problems::columns().collect();
    let longest = known.iter().map(|name| name.len()).max().unwrap_or_default();
    let (mut words, mut word) = (BTreeSet::new(), Vec::new());
    loop {
        let read = text.fill_buf()?;
        if read.is_empty() {
            return Ok(words.into_iter().collect());
        }
        let end = read.iter().position(|&byte| byte == b'"');
        let part = &read[..end.unwrap_or(read.len())];
        // A longer one is none of them.
        word.extend_from_slice(&part[..part.len().min(longest + 1)]);
        if end.is_some() {
            let name = std::str::from_utf8(&word).ok().filter(|name| known.contains(name));
            words.extend(name.map(str::to_owned));
            word.clear();
        } else {
            word.truncate(longest + 1);
        }
        let consumed = end.map_or(read.len(), |end| end + 1);
        text.consume(consumed);
    }
}

enum OpenFile {
    Parquet(File),
    Text(Opened<'static>),
}

fn open(path: &Path) -> Result<OpenFile, DataError> {
    let name = path.display().to_string();
    let io_error = |error| DataError::io(&name, error);
    let mut file = files::open(path).map_err(io_error)?;
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic).map_err(io_error)?;
    file.rewind().map_err(io_error)?;
    let is_parquet = magic == b"PAR1";
    Ok(if is_parquet { OpenFile::Parquet(file) } else { OpenFile::Text(Opened::of_file(&name, file)?) })
}

/// The format of a text: by its beginning; where that says little, by its name.
fn format(opened: &Opened<'_>) -> Result<Format, DataError> {
    let name = opened.name.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let is_named = |extension: &str| name.ends_with(extension);
    if is_named(".parquet") {
        return Err(DataError::format(&opened.name, "named .parquet, but it does not begin with PAR1"));
    }
    let has = |key: &str| opened.beginning.contains(key);
    // The output of one benchmark is a log of one object.
    let is_list = opened.beginning.starts_with('[') || has("\"results\"") || has("\"kernel_config\"");
    Ok(match opened.format {
        sheet::Format::Table => Format::Csv,
        sheet::Format::Objects if is_list => Format::Json,
        _ if is_named(".csv") => Format::Csv,
        _ if is_named(".json") && !has("\"perf_result\"") => Format::Json,
        _ => Format::Log,
    })
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
        for (name, text, expected) in [
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
            ("sweep.txt", "# of today\n\nkernel,M\n", Format::Csv),
            ("a.log", "\u{feff}{\"perf_result\": {}}", Format::Log),
            ("a.json", "\u{feff}[{", Format::Json),
        ] {
            let opened = Opened::new(name, Box::new(text.as_bytes())).unwrap();
            assert_eq!(format(&opened).unwrap(), expected, "{name} {text}");
        }
    }
}
