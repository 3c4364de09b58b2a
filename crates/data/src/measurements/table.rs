//! The rows of tables, whatever their format: columns are found by name, and cells give kernel, problem and
//! figures.
//!
//! Rows of a sweep repeat a few hundred names and problems, so a name and the cells of a problem are parsed
//! once and then looked up.

use std::borrow::Cow;
use std::collections::HashMap;

use ck_select_types::hardware::Hardware;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Dtype;

use super::names::{Named, Names};
use super::problems::{OwnedCells, check_columns, columns as problem_columns, need_columns, problem_of};
use super::record::{Counts, Figures, Measured, SharedHardware, Sink};
use super::rows::{Fault, Rows};
use super::{DataError, numbers};

/// A cell of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    Absent,
    Whole(i64),
    Real(f64),
    Text(&'a [u8]),
}

impl<'a> Cell<'a> {
    /// An empty text is no cell.
    pub(super) const fn of_text(text: &'a [u8]) -> Self {
        if text.is_empty() { Self::Absent } else { Self::Text(text) }
    }

    /// A figure; NaN if it is absent.
    pub(super) fn figure(self, name: &str) -> Result<f64, String> {
        match self {
            Self::Absent => Ok(f64::NAN),
            Self::Whole(value) => Ok(value as f64),
            Self::Real(value) => Ok(value),
            Self::Text(text) => numbers::figure(name, text),
        }
    }

    fn whole(self, name: &str) -> Result<Option<i64>, String> {
        match self {
            Self::Absent => Ok(None),
            Self::Whole(value) => Ok(Some(value)),
            Self::Real(value) if value.fract() == 0.0 && value.abs() < 9.0e15 => Ok(Some(value as i64)),
            Self::Real(value) => Err(format!("{name}: found {value}, expected a whole number")),
            Self::Text(text) => numbers::whole(name, text),
        }
    }

    fn flag(self, name: &str) -> Result<Option<bool>, String> {
        match self.text() {
            None => Ok(None),
            Some(text) => numbers::flag(name, text.as_bytes()),
        }
    }

    /// `None` for what is not UTF-8, too.
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Absent => None,
            Self::Whole(value) => Some(value.to_string().into()),
            Self::Real(value) => Some(value.to_string().into()),
            Self::Text(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
        }
    }

    /// Appends what distinguishes this cell from others of its column.
    fn push_key(self, key: &mut Vec<u8>) {
        match self {
            Self::Absent => key.push(0),
            Self::Whole(value) => key.extend(std::iter::once(1).chain(value.to_le_bytes())),
            Self::Real(value) => key.extend(std::iter::once(2).chain(value.to_le_bytes())),
            Self::Text(text) => {
                key.extend(std::iter::once(3).chain((text.len() as u32).to_le_bytes()));
                key.extend_from_slice(text);
            }
        }
    }
}

/// The cells of a row by their columns.
type Cells<'a, 'c> = &'a dyn Fn(usize) -> Cell<'c>;

/// The columns that give a row's kernel.
enum KernelColumns {
    /// Its name, and perhaps once more in another column.
    Name(usize, Option<usize>),
    /// Tile m, n, k and pipeline of a kernel of CK DSL, whose sweeps have forward convolutions in 2D of one
    /// type.
    Tile([usize; 4], Dtype),
}

impl KernelColumns {
    fn name<'c>(&self, cells: Cells<'_, 'c>) -> Result<Cow<'c, [u8]>, Fault> {
        let text = |column: usize| match cells(column) {
            Cell::Text(text) => text,
            _ => &[],
        };
        match self {
            Self::Name(column, again) => {
                let name = text(*column);
                let other = again.map(text).filter(|other| !other.is_empty());
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
                let [m, n, k, pipeline] = columns.map(|column| cells(column).text().unwrap_or_default());
                let name = format!("grouped_conv_fwd_{dtype}_nhwgc_2d_{pipeline}_intrawave_{m}x{n}x{k}");
                Ok(Cow::Owned(name.into_bytes()))
            }
        }
    }
}

/// The places of the columns.
struct Header {
    kernel: KernelColumns,
    figures: FigureColumns,
    /// Columns of constants of the GPU, with their names without `hw_`.
    hardware: Vec<(&'static str, usize)>,
    /// Columns of the problem, with their names.
    problem: Vec<(&'static str, usize)>,
}

struct FigureColumns {
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
}

/// Names of columns with their places.
struct Index<'a> {
    file: &'a str,
    columns: &'a [String],
    places: HashMap<&'a str, usize>,
}

impl<'a> Index<'a> {
    fn new(file: &'a str, columns: &'a [String]) -> Result<Self, DataError> {
        let mut places = HashMap::new();
        for (place, name) in columns.iter().enumerate() {
            if places.insert(name.as_str(), place).is_some() && !name.is_empty() {
                return Err(DataError::format(file, format_args!("header: column '{name}' appears twice")));
            }
        }
        Ok(Self { file, columns, places })
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    fn need(&self, names: &[&'static str]) -> Result<usize, DataError> {
        names.iter().find_map(|name| self.find(name)).ok_or_else(|| DataError::NoColumn {
            file: self.file.to_owned(),
            column: names[0],
            found: self.columns.to_vec(),
        })
    }

    fn kernel(&self, dtype: Option<Dtype>) -> Result<KernelColumns, DataError> {
        let tile = ["tile_m", "tile_n", "tile_k", "pipeline"].map(|name| self.find(name));
        match (self.need(&["kernel", "kernel_name"]), tile) {
            (Err(_), [Some(m), Some(n), Some(k), Some(pipeline)]) if self.find("Hi").is_some() => {
                let dtype = dtype.ok_or_else(|| {
                    let reason = "header: kernels are given by their tiles, as CK DSL's sweeps have them, \
                                  and no column says their type: give --where dtype=fp16 or dtype=bf16";
                    DataError::format(self.file, reason)
                })?;
                Ok(KernelColumns::Tile([m, n, k, pipeline], dtype))
            }
            (column, _) => {
                let again = self.find("kernel_name").filter(|_| self.find("kernel").is_some());
                Ok(KernelColumns::Name(column?, again))
            }
        }
    }

    fn figures(&self) -> Result<FigureColumns, DataError> {
        for (one, other) in [("latency_ms", "latency_us"), ("tflops", "measured_tflops")] {
            if self.find(one).and(self.find(other)).is_some() {
                let reason = format!(
                    "header: columns '{one}' and '{other}' are the same figure, expected one of them"
                );
                return Err(DataError::format(self.file, reason));
            }
        }
        let (latency, latency_unit) = match self.find("latency_us") {
            Some(column) => (column, 1e-3),
            None => (self.need(&["latency_ms"])?, 1.0),
        };
        Ok(FigureColumns {
            tflops: self.need(&["tflops", "measured_tflops"])?,
            latency,
            latency_unit,
            bandwidth: self.find("bandwidth_gb_s"),
            non_zero: self.find("non_zero"),
            problem_idx: self.find("problem_idx"),
            is_valid: self.find("is_valid"),
            run_id: self.find("run_id"),
            error: self.find("error_msg"),
            status: self.find("status").filter(|_| self.find("seqlen_q").is_some()),
        })
    }
}

/// Takes the rows of a table.
pub(super) struct Table<'a> {
    header: Header,
    rows: Rows<'a>,
    hardware: SharedHardware,
    key: Vec<u8>,
    /// The last row's problem and hardware.
    last: Option<u64>,
}

impl<'a> Table<'a> {
    /// Checks the names of a table's columns.
    pub(super) fn new(
        file: &'a str,
        columns: &[String],
        names: &'a mut Names,
        sink: &'a mut dyn Sink,
    ) -> Result<Self, DataError> {
        let op = names.filter().op;
        let unknown = check_columns(file, columns, op)?;
        let index = Index::new(file, columns)?;
        let header = Header {
            kernel: index.kernel(names.filter().dtype)?,
            figures: index.figures()?,
            hardware: Hardware::NAMES
                .into_iter()
                .zip(Hardware::COLUMNS)
                .filter_map(|(name, column)| Some((name, index.find(column)?)))
                .collect(),
            problem: problem_columns().filter_map(|name| Some((name, index.find(name)?))).collect(),
        };
        need_columns(file, columns, op)?;
        let mut rows = Rows::new(file, names, sink);
        rows.counts.unknown = unknown;
        Ok(Self { header, rows, hardware: SharedHardware::default(), key: Vec::new(), last: None })
    }

    /// Whether a column is read.
    pub(super) fn uses(&self, column: usize) -> bool {
        let Header { kernel, figures, hardware, problem } = &self.header;
        let is_of_kernel = match kernel {
            KernelColumns::Name(name, again) => *name == column || *again == Some(column),
            KernelColumns::Tile(columns, _) => columns.contains(&column),
        };
        let of = figures;
        let some = [of.bandwidth, of.non_zero, of.problem_idx, of.is_valid, of.run_id, of.error, of.status];
        let is_figure = [of.tflops, of.latency].contains(&column) || some.contains(&Some(column));
        is_of_kernel || is_figure || hardware.iter().chain(problem).any(|(_, place)| *place == column)
    }

    /// What was read.
    pub(super) fn end(self) -> Counts {
        self.rows.counts
    }

    /// Reports a place that is no row.
    pub(super) fn reject(&mut self, place: String, reason: String) -> Result<(), DataError> {
        self.rows.reject(place, reason)
    }

    /// Takes a row.
    pub(super) fn take(
        &mut self,
        cells: Cells<'_, '_>,
        place: impl FnOnce() -> String,
    ) -> Result<(), DataError> {
        let taken = self.row(cells);
        self.rows.count(taken, place)
    }

    /// False if the row is for a kernel or an architecture that was not requested.
    fn row(&mut self, cells: Cells<'_, '_>) -> Result<bool, Fault> {
        let figures = &self.header.figures;
        let some = |column: Option<usize>| column.map_or(Cell::Absent, cells);
        let run_id = some(figures.run_id).text();
        if !self.rows.sink.takes_run(run_id.as_deref()) {
            return Ok(true);
        }
        let Named::Taken { id, class } = self.rows.names.get(&self.header.kernel.name(cells)?)? else {
            return Ok(false);
        };
        let (problem, serial) = self.problem(cells, id, class)?;
        if self.rows.is_elsewhere(&problem) {
            return Ok(false);
        }
        if self.last != Some(serial) {
            for &(name, column) in &self.header.hardware {
                if let Some(value) = cells(column).whole(name).map_err(|reason| format!("hw_{reason}"))? {
                    self.hardware.take(self.rows.file, name, value, self.rows.sink).map_err(Fault::Sink)?;
                }
            }
            self.last = Some(serial);
        }
        let figures = &self.header.figures;
        let recorded = figures.recorded(cells)?;
        let non_zero = some(figures.non_zero).whole("non_zero")?;
        let error = some(figures.error.or(figures.status.filter(|_| recorded == Some(false)))).text();
        let measured = Measured {
            kernel: id,
            kernels: self.rows.names.kernels(),
            problem: &problem,
            serial,
            figures: figures.read(cells, recorded, non_zero, &problem)?,
            non_zero,
            problem_idx: some(figures.problem_idx).whole("problem_idx")?,
            run_id: run_id.as_deref(),
            error: error.as_deref(),
        };
        self.rows.sink.row(&measured).map_err(Fault::Sink)?;
        Ok(true)
    }

    /// A row's problem, with a number that it shares only with rows of equal problems and hardware.
    fn problem(&mut self, cells: Cells<'_, '_>, id: u32, class: u32) -> Result<(Problem, u64), String> {
        self.key.clear();
        self.key.extend_from_slice(&class.to_le_bytes());
        for (_, column) in self.header.problem.iter().chain(&self.header.hardware) {
            cells(*column).push_key(&mut self.key);
        }
        let names = &*self.rows.names;
        let columns = &self.header.problem;
        let read = || {
            let text = |column: usize| cells(column).text().unwrap_or_default().into_owned();
            let owned = OwnedCells(columns.iter().map(|(name, column)| (*name, text(*column))).collect());
            problem_of(names.kernel(id), &owned, names.filter().unrecorded())
        };
        self.rows.problems.get(&self.key, read).copied()
    }
}

impl FigureColumns {
    /// The validity that the row records.
    fn recorded(&self, cells: Cells<'_, '_>) -> Result<Option<bool>, String> {
        match (self.is_valid, self.status) {
            // Whatever else the row has.
            _ if self.error.is_some_and(|column| cells(column) != Cell::Absent) => Ok(Some(false)),
            (Some(column), _) => cells(column).flag("is_valid"),
            (None, Some(column)) => numbers::status(cells(column).text().unwrap_or_default().as_bytes()),
            (None, None) => Ok(None),
        }
    }

    fn read(
        &self,
        cells: Cells<'_, '_>,
        recorded: Option<bool>,
        non_zero: Option<i64>,
        problem: &Problem,
    ) -> Result<Figures, String> {
        let unit = if self.latency_unit < 1.0 { "latency_us" } else { "latency_ms" };
        let bandwidth = self.bandwidth.map_or(Cell::Absent, cells).figure("bandwidth_gb_s")?;
        let tflops = cells(self.tflops).figure("tflops")?;
        let latency = cells(self.latency).figure(unit)? * self.latency_unit;
        Figures::judge(tflops, latency, bandwidth, recorded, non_zero, problem)
    }
}
