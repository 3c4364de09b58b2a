//! Benchmark CSVs: one row per measured (problem, kernel), as written by upstream's harness.
//!
//! Lines are split at commas in place. Rows of a sweep repeat a few hundred names and problems, so a name and
//! the text of a problem's cells are parsed once and then looked up by their bytes. Lines with quotes, which
//! no harness writes, are parsed by the `csv` crate.

mod cells;
mod lines;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::BufRead;

use ck_select_types::cells::Fields;
use ck_select_types::hardware::Hardware;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Dtype;

use super::names::{Named, Names};
use super::problems::{Problems, check_columns, columns as problem_columns, need_columns, problem_of};
use super::record::{Counts, Figures, Measured, SharedHardware, Sink};
use super::{DataError, numbers};
use cells::{Cells, Cutter};
use lines::{Line, Lines};

/// Reads all rows.
pub(super) fn read(
    file: &str,
    reader: &mut dyn BufRead,
    names: &mut Names,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let mut lines = Lines::new(reader);
    let header = header_of(file, &mut lines)?.to_vec();
    let columns = names_of(file, &header)?;
    let unknown = check_columns(file, &columns, names.filter().op, true)?;
    let mut rows = Rows::new(file, Header::new(file, &columns, names.filter().dtype)?);
    need_columns(file, &columns, names.filter().op)?;
    let mut counts = Counts { unknown, ..Counts::default() };
    while let Some(line) = lines.next().map_err(|error| DataError::io(file, error))? {
        // A file that is joined from others has the header once more for each. It is no row, so that only
        // what cannot be taken needs the comparison.
        let again = |line: &[u8], fault| if line == header { Fault::Header } else { fault };
        let taken = match line {
            Line::TooLong => Err(Fault::Row("longer than 1 MiB".to_owned())),
            Line::Plain(line) => rows.take_plain(line, names, sink).map_err(|fault| again(line, fault)),
            Line::Quoted(line) => rows.take_quoted(line, names, sink).map_err(|fault| again(line, fault)),
        };
        match taken {
            Ok(true) => counts.rows += 1,
            Ok(false) => counts.other += 1,
            Err(Fault::Header) => {}
            Err(Fault::Sink(error)) => return Err(error),
            Err(Fault::Row(reason)) => {
                counts.rejected += 1;
                sink.reject(file, format!("line {}", lines.number()), reason)?;
            }
        }
    }
    if counts.rows + counts.other + counts.rejected == 0 {
        return Err(DataError::format(file, "found no row below the header, expected at least one"));
    }
    Ok(counts)
}

/// The names of all columns.
pub(super) fn columns(file: &str, reader: &mut dyn BufRead) -> Result<Vec<String>, DataError> {
    names_of(file, header_of(file, &mut Lines::new(reader))?)
}

/// Reads the header's line.
fn header_of<'a>(file: &str, lines: &'a mut Lines<'_>) -> Result<&'a [u8], DataError> {
    let line = match lines.next().map_err(|error| DataError::io(file, error))? {
        None => return Err(DataError::format(file, "no header: the file is empty")),
        Some(Line::TooLong) => return Err(DataError::format(file, "line 1: longer than 1 MiB, no CSV")),
        Some(Line::Plain(line) | Line::Quoted(line)) => line,
    };
    Ok(line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line))
}

/// The names in a header.
fn names_of(file: &str, line: &[u8]) -> Result<Vec<String>, DataError> {
    let text = std::str::from_utf8(line)
        .map_err(|_| DataError::format(file, "line 1: not UTF-8, expected the header of a CSV"))?;
    let text = text.as_bytes();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text);
    let mut record = csv::StringRecord::new();
    reader
        .read_record(&mut record)
        .map_err(|error| DataError::format(file, format_args!("line 1: {error}")))?;
    Ok(record.iter().map(str::to_owned).collect())
}

enum Fault {
    /// The header once more.
    Header,
    Row(String),
    Sink(DataError),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Row(reason)
    }
}

/// The places of the columns.
struct Header {
    width: usize,
    kernel: KernelCells,
    tflops: usize,
    latency: usize,
    /// Milliseconds of one unit of `latency`.
    latency_unit: f64,
    bandwidth: Option<usize>,
    non_zero: Option<usize>,
    problem_idx: Option<usize>,
    is_valid: Option<usize>,
    run_id: Option<usize>,
    error: Option<usize>,
    /// The verdict of an attention benchmark on the result.
    status: Option<usize>,
    /// Columns of constants of the GPU, with their names without `hw_`.
    hardware: Vec<(&'static str, usize)>,
    /// Columns of the problem, with their names.
    problem: Vec<(&'static str, usize)>,
    /// The first and the last of them, if they are adjacent: then their text is one stretch of the line.
    stretch: Option<(usize, usize)>,
    /// The last column of the problem, if the first column is not one of them; otherwise 0.
    last_problem: usize,
}

/// The columns that give a row's kernel.
enum KernelCells {
    /// Its name, and perhaps once more in another column.
    Name(usize, Option<usize>),
    /// Tile m, n, k and pipeline of a kernel of CK DSL, whose sweeps have forward convolutions in 2D of one
    /// type.
    Tile([usize; 4], Dtype),
}

impl KernelCells {
    fn name<'a>(&self, cells: Cells<'a>) -> Result<Cow<'a, [u8]>, Fault> {
        match self {
            Self::Name(column, again) => {
                let name = cells.get(*column);
                let other = again.map(|column| cells.get(column)).filter(|other| !other.is_empty());
                match other {
                    Some(other) if other != name => {
                        let [other, name] = [other, name].map(String::from_utf8_lossy);
                        Err(Fault::Row(format!(
                            "kernel_name: found '{other}', expected '{name}' as in kernel"
                        )))
                    }
                    _ => Ok(Cow::Borrowed(name)),
                }
            }
            Self::Tile(columns, dtype) => {
                let text =
                    |column| std::str::from_utf8(cells.get(column)).map_err(|_| "not UTF-8".to_owned());
                let [m, n, k, pipeline] = columns.map(text);
                let (m, n, k, pipeline) = (m?, n?, k?, pipeline?);
                let name = format!("grouped_conv_fwd_{dtype}_nhwgc_2d_{pipeline}_intrawave_{m}x{n}x{k}");
                Ok(Cow::Owned(name.into_bytes()))
            }
        }
    }
}

impl Header {
    fn new(file: &str, columns: &[String], dtype: Option<Dtype>) -> Result<Self, DataError> {
        let mut index = HashMap::new();
        for (place, name) in columns.iter().enumerate() {
            if index.insert(name.as_str(), place).is_some() && !name.is_empty() {
                return Err(DataError::format(file, format_args!("line 1: column '{name}' appears twice")));
            }
        }
        let need = |names: &[&'static str]| {
            names.iter().find_map(|name| index.get(name).copied()).ok_or_else(|| DataError::NoColumn {
                file: file.to_owned(),
                column: names[0],
                found: columns.to_vec(),
            })
        };
        let tile = ["tile_m", "tile_n", "tile_k", "pipeline"].map(|name| index.get(name).copied());
        let kernel = match (need(&["kernel", "kernel_name"]), tile) {
            (Err(_), [Some(m), Some(n), Some(k), Some(pipeline)]) if index.contains_key("Hi") => {
                let dtype = dtype.ok_or_else(|| {
                    let reason = "header: kernels are given by their tiles, as CK DSL's sweeps have them, \
                                  and no column says their type: say --dtype fp16 or bf16";
                    DataError::format(file, reason)
                })?;
                KernelCells::Tile([m, n, k, pipeline], dtype)
            }
            (column, _) => {
                let again = index.get("kernel_name").copied().filter(|_| index.contains_key("kernel"));
                KernelCells::Name(column?, again)
            }
        };
        for (one, other) in [("latency_ms", "latency_us"), ("tflops", "measured_tflops")] {
            if index.contains_key(one) && index.contains_key(other) {
                let reason = format!(
                    "header: columns '{one}' and '{other}' are the same figure, expected one of them"
                );
                return Err(DataError::format(file, reason));
            }
        }
        let (latency, latency_unit) = match index.get("latency_us") {
            Some(&column) => (column, 1e-3),
            None => (need(&["latency_ms"])?, 1.0),
        };
        let problem: Vec<_> = problem_columns().filter_map(|name| Some((name, *index.get(name)?))).collect();
        let mut places: Vec<usize> = problem.iter().map(|&(_, place)| place).collect();
        places.sort_unstable();
        Ok(Self {
            width: columns.len(),
            kernel,
            tflops: need(&["tflops", "measured_tflops"])?,
            latency,
            latency_unit,
            bandwidth: index.get("bandwidth_gb_s").copied(),
            non_zero: index.get("non_zero").copied(),
            problem_idx: index.get("problem_idx").copied(),
            is_valid: index.get("is_valid").copied(),
            run_id: index.get("run_id").copied(),
            error: index.get("error_msg").copied(),
            status: index.get("status").copied().filter(|_| index.contains_key("seqlen_q")),
            hardware: Hardware::NAMES
                .into_iter()
                .zip(Hardware::COLUMNS)
                .filter_map(|(name, column)| Some((name, *index.get(column)?)))
                .collect(),
            stretch: stretch(&places),
            last_problem: if places.first() == Some(&0) { 0 } else { places.last().copied().unwrap_or(0) },
            problem,
        })
    }
}

/// The ends of sorted columns, if they are adjacent.
fn stretch(places: &[usize]) -> Option<(usize, usize)> {
    let adjacent = places.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    Some((*places.first()?, *places.last()?)).filter(|_| adjacent)
}

struct Rows<'f> {
    file: &'f str,
    header: Header,
    hardware: SharedHardware,
    cutter: Cutter,
    problems: Problems,
    key: Vec<u8>,
    /// The serial of the model line and the class of the kernel of the last problem.
    last: Option<(u64, u32)>,
}

impl<'f> Rows<'f> {
    fn new(file: &'f str, header: Header) -> Self {
        let cutter = Cutter::new(header.last_problem);
        let (problems, hardware) = (Problems::default(), SharedHardware::default());
        Self { file, header, hardware, cutter, problems, key: Vec::new(), last: None }
    }

    /// Takes the row of a line without quotes; false if it is for a kernel that was not requested.
    fn take_plain(&mut self, line: &[u8], names: &mut Names, sink: &mut dyn Sink) -> Result<bool, Fault> {
        let Self { file, header, hardware, cutter, problems, key, last } = self;
        let (cells, model) = cutter.cut(line);
        if header.is_of_another_run(cells, sink) {
            return Ok(true);
        }
        let row = header.named(cells, names)?;
        let Some(row) = row else { return Ok(false) };
        let same = model.map(|model| (model, row.class));
        let found = match problems.last() {
            Some(found) if same.is_some() && same == *last => found,
            _ => {
                key.clear();
                key.extend_from_slice(&row.class.to_le_bytes());
                match header.stretch {
                    Some((first, last)) => key.extend_from_slice(cells.stretch(first, last)),
                    None => row.push_cells(key),
                }
                let found = problems.get(key, || row.problem(names))?;
                *last = same;
                found
            }
        };
        row.give(found, names, (file, hardware), sink)
    }

    /// The same for a line with quotes.
    fn take_quoted(&mut self, line: &[u8], names: &mut Names, sink: &mut dyn Sink) -> Result<bool, Fault> {
        let Self { file, header, hardware, cutter, problems, key, last } = self;
        let cells = cutter.cut_quoted(line)?;
        if header.is_of_another_run(cells, sink) {
            return Ok(true);
        }
        let row = header.named(cells, names)?;
        let Some(row) = row else { return Ok(false) };
        key.clear();
        key.extend_from_slice(&row.class.to_le_bytes());
        row.push_cells(key);
        let found = problems.get(key, || row.problem(names))?;
        *last = None;
        row.give(found, names, (file, hardware), sink)
    }
}

impl Header {
    fn run<'a>(&self, cells: Cells<'a>) -> Option<&'a str> {
        std::str::from_utf8(cells.get(self.run_id?)).ok().filter(|text| !text.is_empty())
    }

    /// Whether a line is one of a run that the sink does not take.
    fn is_of_another_run(&self, cells: Cells<'_>, sink: &mut dyn Sink) -> bool {
        cells.len() == self.width && !sink.takes_run(self.run(cells))
    }

    /// A line's cells with their kernel; `None` if it was not requested.
    fn named<'a>(&'a self, cells: Cells<'a>, names: &mut Names) -> Result<Option<Row<'a>>, Fault> {
        if cells.len() != self.width {
            let message = format!("found {} cells, expected {} as in the header", cells.len(), self.width);
            return Err(Fault::Row(message));
        }
        Ok(match names.get(&self.kernel.name(cells)?)? {
            Named::Other => None,
            Named::Taken { id, class } => Some(Row { header: self, cells, id, class }),
        })
    }
}

/// The cells of a line whose kernel is known.
struct Row<'a> {
    header: &'a Header,
    cells: Cells<'a>,
    /// The kernel and its class.
    id: u32,
    class: u32,
}

impl Row<'_> {
    /// Appends a key that distinguishes this line's problem from others.
    fn push_cells(&self, key: &mut Vec<u8>) {
        for &(_, column) in &self.header.problem {
            key.extend_from_slice(self.cells.get(column));
            key.push(b',');
        }
    }

    fn problem(&self, names: &Names) -> Result<Problem, String> {
        problem_of(names.kernel(self.id), self, names.filter().unrecorded())
    }

    fn whole(&self, name: &str, column: Option<usize>) -> Result<Option<i64>, String> {
        column.map_or(Ok(None), |column| numbers::whole(name, self.cells.get(column)))
    }

    /// Passes the row to `sink`; false if it is for another architecture.
    fn give(
        &self,
        &(ref problem, serial): &(Problem, u64),
        names: &Names,
        (file, hardware): (&str, &mut SharedHardware),
        sink: &mut dyn Sink,
    ) -> Result<bool, Fault> {
        let Self { header, cells, id, .. } = self;
        let wanted = names.filter().arch;
        if wanted.is_some() && problem.arch() != wanted {
            sink.other_arch(problem.arch());
            return Ok(false);
        }
        for &(name, column) in &header.hardware {
            if let Some(value) =
                numbers::whole(name, cells.get(column)).map_err(|reason| format!("hw_{reason}"))?
            {
                hardware.take(file, name, value, sink).map_err(Fault::Sink)?;
            }
        }
        let non_zero = self.whole("non_zero", header.non_zero)?;
        let failed = header.error.is_some_and(|column| !cells.get(column).is_empty());
        let recorded = match (header.is_valid, header.status) {
            // Whatever else the row has.
            _ if failed => Some(false),
            (Some(column), _) => numbers::flag("is_valid", cells.get(column))?,
            (None, Some(column)) => numbers::status(cells.get(column))?,
            (None, None) => None,
        };
        let bandwidth = match header.bandwidth {
            Some(column) => numbers::figure("bandwidth_gb_s", cells.get(column))?,
            None => f64::NAN,
        };
        let tflops = numbers::figure("tflops", cells.get(header.tflops))?;
        let unit = if header.latency_unit < 1.0 { "latency_us" } else { "latency_ms" };
        let latency = numbers::figure(unit, cells.get(header.latency))? * header.latency_unit;
        let text =
            |column: usize| std::str::from_utf8(cells.get(column)).ok().filter(|text| !text.is_empty());
        let measured = Measured {
            kernel: *id,
            kernels: names.kernels(),
            problem,
            serial,
            figures: Figures::judge(tflops, latency, bandwidth, recorded, non_zero, problem)?,
            non_zero,
            problem_idx: self.whole("problem_idx", header.problem_idx)?,
            run_id: header.run(*cells),
            error: header.error.or(header.status.filter(|_| recorded == Some(false))).and_then(text),
        };
        sink.row(&measured).map_err(Fault::Sink)?;
        Ok(true)
    }
}

impl Fields for Row<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let &(_, column) = self.header.problem.iter().find(|(known, _)| *known == name)?;
        let cell = std::str::from_utf8(self.cells.get(column)).ok()?;
        (!cell.is_empty()).then_some(cell)
    }
}
