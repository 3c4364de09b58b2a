//! Benchmark CSVs: one row a measured (problem, kernel), as upstream's harness writes them.
//!
//! A line is cut at its commas where it stands. Rows of a sweep repeat a few hundred names and problems, so a name and
//! the text of a problem's cells are read once and found again by their bytes. Lines with quotes, which no harness
//! writes, go through the `csv` crate.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::ops::Range;

use ck_select::features::Fields;

use super::names::{Named, Names};
use super::problems::{Problems, columns as problem_columns, problem_of};
use super::record::{Counts, Figures, Measured, Sink};
use super::{DataError, numbers};

/// Longest line, and longest quoted cell that goes over several lines.
const MAX_LINE: usize = 1 << 20;

/// Reads all rows.
pub(super) fn read(
    file: &str,
    reader: &mut dyn BufRead,
    names: &mut Names,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let mut lines = Lines { reader, line: Vec::new(), number: 0 };
    let header = Header::new(file, &names_of(file, &mut lines)?)?;
    let mut rows = Rows { header, problems: Problems::default(), cells: Vec::new(), key: Vec::new() };
    let mut counts = Counts::default();
    while let Some(line) = lines.next().map_err(|error| DataError::io(file, error))? {
        let taken = match line {
            Line::TooLong => Err(Fault::Row("longer than 1 MiB".to_owned())),
            Line::Cells => rows.take(&lines.line, names, sink),
        };
        match taken {
            Ok(true) => counts.rows += 1,
            Ok(false) => counts.other += 1,
            Err(Fault::Sink(error)) => return Err(error),
            Err(Fault::Row(reason)) => {
                counts.rejected += 1;
                sink.reject(file, format!("line {}", lines.number), reason)?;
            }
        }
    }
    Ok(counts)
}

/// The names of all columns.
pub(super) fn columns(file: &str, reader: &mut dyn BufRead) -> Result<Vec<String>, DataError> {
    names_of(file, &mut Lines { reader, line: Vec::new(), number: 0 })
}

/// Reads the header.
fn names_of(file: &str, lines: &mut Lines<'_>) -> Result<Vec<String>, DataError> {
    match lines.next().map_err(|error| DataError::io(file, error))? {
        None => return Err(DataError::format(file, "no header: the file is empty")),
        Some(Line::TooLong) => return Err(DataError::format(file, "line 1: longer than 1 MiB, no CSV")),
        Some(Line::Cells) => {}
    }
    let text = std::str::from_utf8(&lines.line)
        .map_err(|_| DataError::format(file, "line 1: not UTF-8, expected the header of a CSV"))?;
    let text = text.trim_start_matches('\u{feff}').as_bytes();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text);
    let mut record = csv::StringRecord::new();
    reader
        .read_record(&mut record)
        .map_err(|error| DataError::format(file, format_args!("line 1: {error}")))?;
    Ok(record.iter().map(str::to_owned).collect())
}

enum Fault {
    Row(String),
    Sink(DataError),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Row(reason)
    }
}

/// Where the columns are.
struct Header {
    width: usize,
    kernel: usize,
    tflops: usize,
    latency: usize,
    bandwidth: Option<usize>,
    non_zero: Option<usize>,
    problem_idx: Option<usize>,
    is_valid: Option<usize>,
    run_id: Option<usize>,
    /// Columns of the problem, with their names.
    problem: Vec<(&'static str, usize)>,
    /// The first and the last of them, when they stand side by side: then their text is one stretch of the line.
    stretch: Option<(usize, usize)>,
}

impl Header {
    fn new(file: &str, columns: &[String]) -> Result<Self, DataError> {
        let mut index = HashMap::new();
        for (place, name) in columns.iter().enumerate() {
            if index.insert(name.as_str(), place).is_some() && !name.is_empty() {
                return Err(DataError::format(file, format_args!("line 1: column '{name}' stands twice")));
            }
        }
        let need = |names: &[&'static str]| {
            names.iter().find_map(|name| index.get(name).copied()).ok_or_else(|| DataError::NoColumn {
                file: file.to_owned(),
                column: names[0],
                found: columns.to_vec(),
            })
        };
        let problem: Vec<_> = problem_columns().filter_map(|name| Some((name, *index.get(name)?))).collect();
        let mut places: Vec<usize> = problem.iter().map(|&(_, place)| place).collect();
        places.sort_unstable();
        Ok(Self {
            width: columns.len(),
            kernel: need(&["kernel", "kernel_name"])?,
            tflops: need(&["tflops", "measured_tflops"])?,
            latency: need(&["latency_ms"])?,
            bandwidth: index.get("bandwidth_gb_s").copied(),
            non_zero: index.get("non_zero").copied(),
            problem_idx: index.get("problem_idx").copied(),
            is_valid: index.get("is_valid").copied(),
            run_id: index.get("run_id").copied(),
            stretch: stretch(&places),
            problem,
        })
    }
}

/// The ends of sorted columns that stand side by side.
fn stretch(places: &[usize]) -> Option<(usize, usize)> {
    let adjacent = places.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    Some((*places.first()?, *places.last()?)).filter(|_| adjacent)
}

struct Rows {
    header: Header,
    problems: Problems,
    cells: Vec<Range<usize>>,
    key: Vec<u8>,
}

impl Rows {
    /// Takes the row of a line; false when it is of a kernel that was not asked for.
    fn take(&mut self, line: &[u8], names: &mut Names, sink: &mut dyn Sink) -> Result<bool, Fault> {
        if memchr::memchr(b'"', line).is_some() {
            let plain = unquoted(line)?;
            cut_at(&plain.text, &plain.ends, &mut self.cells);
            return self.take_cells(&plain.text, None, names, sink);
        }
        cut(line, &mut self.cells);
        self.take_cells(line, self.header.stretch, names, sink)
    }

    fn take_cells(
        &mut self,
        line: &[u8],
        stretch: Option<(usize, usize)>,
        names: &mut Names,
        sink: &mut dyn Sink,
    ) -> Result<bool, Fault> {
        let Self { header, problems, cells, key } = self;
        if cells.len() != header.width {
            let message = format!("found {} cells, expected {} as in the header", cells.len(), header.width);
            return Err(Fault::Row(message));
        }
        let cell = |column: usize| &line[cells[column].clone()];
        let (id, class) = match names.get(cell(header.kernel))? {
            Named::Other => return Ok(false),
            Named::Taken { id, class } => (id, class),
        };
        key.clear();
        key.extend_from_slice(&class.to_le_bytes());
        if let Some((first, last)) = stretch {
            key.extend_from_slice(&line[cells[first].start..cells[last].end]);
        } else {
            for &(_, column) in &header.problem {
                key.extend_from_slice(cell(column));
                key.push(b',');
            }
        }
        let filter = *names.filter();
        let read = || {
            let cells = Cells { header, line, places: cells };
            problem_of(names.kernel(id), &cells, filter.arch)
        };
        let &(ref problem, serial) = problems.get(key, read)?;
        if filter.arch.is_some() && problem.arch() != filter.arch {
            return Ok(false);
        }
        let whole = |name: &str, column: Option<usize>| match column {
            Some(column) => numbers::whole(name, cell(column)),
            None => Ok(None),
        };
        let non_zero = whole("non_zero", header.non_zero)?;
        let recorded = match header.is_valid {
            Some(column) => numbers::flag("is_valid", cell(column))?,
            None => None,
        };
        let bandwidth = match header.bandwidth {
            Some(column) => numbers::figure("bandwidth_gb_s", cell(column))?,
            None => f64::NAN,
        };
        let tflops = numbers::figure("tflops", cell(header.tflops))?;
        let latency = numbers::figure("latency_ms", cell(header.latency))?;
        let run_id = header.run_id.and_then(|column| std::str::from_utf8(cell(column)).ok());
        let row = Measured {
            kernel: id,
            kernels: names.kernels(),
            problem,
            serial,
            figures: Figures::judge(tflops, latency, bandwidth, recorded, non_zero),
            non_zero,
            problem_idx: whole("problem_idx", header.problem_idx)?,
            run_id: run_id.filter(|text| !text.is_empty()),
        };
        sink.row(&row).map_err(Fault::Sink)?;
        Ok(true)
    }
}

struct Cells<'a> {
    header: &'a Header,
    line: &'a [u8],
    places: &'a [Range<usize>],
}

impl Fields for Cells<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let &(_, column) = self.header.problem.iter().find(|(known, _)| *known == name)?;
        let cell = std::str::from_utf8(&self.line[self.places[column].clone()]).ok()?;
        (!cell.is_empty()).then_some(cell)
    }
}

/// Cuts a line without quotes at its commas; blanks around a cell do not belong to it.
fn cut(line: &[u8], cells: &mut Vec<Range<usize>>) {
    cells.clear();
    let mut start = 0;
    for comma in memchr::memchr_iter(b',', line) {
        cells.push(trimmed(line, start, comma));
        start = comma + 1;
    }
    cells.push(trimmed(line, start, line.len()));
}

fn cut_at(text: &[u8], ends: &[usize], cells: &mut Vec<Range<usize>>) {
    cells.clear();
    let mut start = 0;
    for &end in ends {
        cells.push(trimmed(text, start, end));
        start = end;
    }
}

fn trimmed(line: &[u8], mut start: usize, mut end: usize) -> Range<usize> {
    while start < end && line[start].is_ascii_whitespace() {
        start += 1;
    }
    while end > start && line[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    start..end
}

/// The cells of a line, one after the other, and where each ends.
struct Plain {
    text: Vec<u8>,
    ends: Vec<usize>,
}

fn unquoted(line: &[u8]) -> Result<Plain, String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    let mut record = csv::ByteRecord::new();
    reader.read_byte_record(&mut record).map_err(|error| error.to_string())?;
    let mut plain = Plain { text: Vec::new(), ends: Vec::new() };
    for cell in &record {
        plain.text.extend_from_slice(cell);
        plain.ends.push(plain.text.len());
    }
    Ok(plain)
}

enum Line {
    Cells,
    TooLong,
}

/// Lines that are neither blank nor comments.
struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    line: Vec<u8>,
    /// Of the current line, from 1.
    number: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            self.line.clear();
            if !self.append()? {
                return Ok(None);
            }
            // A cell in quotes may hold line ends.
            let mut more = 0;
            while memchr::memchr(b'"', &self.line).is_some()
                && memchr::memchr_iter(b'"', &self.line).count() % 2 == 1
                && self.line.len() < MAX_LINE
                && self.append()?
            {
                more += 1;
            }
            if self.line.len() >= MAX_LINE {
                return Ok(Some(Line::TooLong));
            }
            while self.line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                self.line.pop();
            }
            let blank = self.line.iter().all(u8::is_ascii_whitespace);
            if !blank && (more > 0 || self.line.first() != Some(&b'#')) {
                return Ok(Some(Line::Cells));
            }
        }
    }

    /// Reads one more line behind what is there; false at the end of the file. Of a line without an end only so much
    /// is kept as shows that it is too long.
    fn append(&mut self) -> io::Result<bool> {
        let mut any = false;
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                self.number += u64::from(any);
                return Ok(any);
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer);
            let used = end.map_or(buffer.len(), |end| end + 1);
            let room = MAX_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&buffer[..used.min(room)]);
            self.reader.consume(used);
            if end.is_some() {
                self.number += 1;
                return Ok(true);
            }
        }
    }
}
