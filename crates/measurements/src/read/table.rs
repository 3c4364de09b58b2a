//! The rows of tables, whatever their format: columns are found by name, and cells give kernel, problem and
//! figures.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use ck_select_types::cells::{Cell, Fields};
use ck_select_types::hardware::Hardware;
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::sheet::SheetError;
use ck_select_types::vocab::Dtype;

use super::DataError;
use super::problems::{check_columns, columns as problem_columns, need_columns};
use super::record::{Figures, MeasuredRow, verdict};
use super::rows::{Fault, FileRows, Filter, RowOutcome};

/// The cells of a row by their columns.
pub(crate) type Cells<'a, 'c> = &'a dyn Fn(usize) -> Option<Cell<'c>>;

/// Those of a problem, by their names.
pub(crate) struct ProblemCells<'a, 'c> {
    pub(crate) columns: &'a [(&'static str, usize)],
    pub(crate) cells: Cells<'a, 'c>,
}

impl Fields for ProblemCells<'_, '_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        let (_, column) = self.columns.iter().find(|(known, _)| *known == name)?;
        (self.cells)(*column)
    }
}

/// A cell as text, whatever its type.
fn text(cell: Option<Cell<'_>>) -> Option<Cow<'_, str>> {
    Some(match cell? {
        Cell::Whole(value) => value.to_string().into(),
        Cell::Number(value) => value.to_string().into(),
        Cell::Word(text) => text.into(),
    })
}

/// A measured figure; NaN if it is absent.
pub(crate) fn figure(name: &str, cell: Option<Cell<'_>>) -> Result<f64, InvalidField> {
    let number = cell.map_or(Ok(f64::NAN), |cell| cell.number(name));
    number.map_err(|error| InvalidField { expected: format!("{} or N/A", error.expected), ..error })
}

/// A whole number; `None` if it is absent.
pub(crate) fn whole(name: &str, cell: Option<Cell<'_>>) -> Result<Option<i64>, InvalidField> {
    cell.map(|cell| cell.whole(name)).transpose()
}

/// The columns that give a row's kernel.
enum KernelColumns {
    /// Its name, and perhaps once more in another column.
    Name(usize, Option<usize>),
    /// Tile m, n, k and pipeline of a kernel of CK DSL, whose sweeps have forward convolutions in 2D of one
    /// type.
    Tile([usize; 4], Dtype),
}

impl KernelColumns {
    fn name<'c>(&self, cells: Cells<'_, 'c>) -> Result<Cow<'c, str>, String> {
        match self {
            Self::Name(column, again) => {
                let name = text(cells(*column)).unwrap_or_default();
                match again.and_then(|again| text(cells(again))) {
                    Some(other) if other != name => {
                        Err(format!("kernel_name: found '{other}', expected '{name}' as in kernel"))
                    }
                    _ => Ok(name),
                }
            }
            Self::Tile(columns, dtype) => {
                let [m, n, k, pipeline] = columns.map(|column| text(cells(column)).unwrap_or_default());
                Ok(format!("grouped_conv_fwd_{dtype}_nhwgc_2d_{pipeline}_intrawave_{m}x{n}x{k}").into())
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
pub(crate) struct Index<'a> {
    file: &'a str,
    columns: &'a [String],
    places: HashMap<&'a str, usize>,
    /// Those that were found.
    used: RefCell<BTreeSet<usize>>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(file: &'a str, columns: &'a [String]) -> Result<Self, DataError> {
        let mut places = HashMap::new();
        for (place, name) in columns.iter().enumerate() {
            if places.insert(name.as_str(), place).is_some() && !name.is_empty() {
                return Err(DataError::format(file, format_args!("header: column '{name}' appears twice")));
            }
        }
        Ok(Self { file, columns, places, used: RefCell::default() })
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let place = self.places.get(name).copied();
        self.used.borrow_mut().extend(place);
        place
    }

    pub(crate) fn need(&self, names: &[&'static str]) -> Result<usize, DataError> {
        let found = names.iter().find_map(|name| self.find(name));
        found.ok_or_else(|| SheetError::no_column(self.file, names[0], self.columns).into())
    }

    fn kernel(&self, dtype: Option<Dtype>) -> Result<KernelColumns, DataError> {
        let missing = match self.need(&["kernel", "kernel_name"]) {
            Ok(column) => {
                let again = self.find("kernel_name").filter(|again| *again != column);
                return Ok(KernelColumns::Name(column, again));
            }
            Err(missing) => missing,
        };
        let tile = ["tile_m", "tile_n", "tile_k", "pipeline"].map(|name| self.find(name));
        let ([Some(m), Some(n), Some(k), Some(pipeline)], Some(_)) = (tile, self.find("Hi")) else {
            return Err(missing);
        };
        let dtype = dtype.ok_or_else(|| {
            let reason = "header: kernels are given by their tiles, as CK DSL's sweeps have them, \
                          and no column says their type: give --where dtype=fp16 or dtype=bf16";
            DataError::format(self.file, reason)
        })?;
        Ok(KernelColumns::Tile([m, n, k, pipeline], dtype))
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
    /// The columns that are read.
    pub(super) used: BTreeSet<usize>,
    pub(super) rows: FileRows<'a>,
}

impl<'a> Table<'a> {
    /// Checks the names of a table's columns.
    pub(super) fn new(columns: &[String], mut rows: FileRows<'a>) -> Result<Self, DataError> {
        let (file, Filter { op, dtype, .. }) = (rows.file, rows.filter);
        let unknown = check_columns(file, columns, op)?;
        let index = Index::new(file, columns)?;
        let header = Header {
            kernel: index.kernel(dtype)?,
            figures: index.figures()?,
            hardware: Hardware::NAMES
                .into_iter()
                .zip(Hardware::COLUMNS)
                .filter_map(|(name, column)| Some((name, index.find(column)?)))
                .collect(),
            problem: problem_columns().filter_map(|name| Some((name, index.find(name)?))).collect(),
        };
        need_columns(file, columns, op)?;
        rows.counts.unknown = unknown;
        Ok(Self { header, used: index.used.into_inner(), rows })
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

    fn row(&mut self, cells: Cells<'_, '_>) -> Result<RowOutcome, Fault> {
        let figures = &self.header.figures;
        let some = |column: Option<usize>| column.and_then(cells);
        let run_id = text(some(figures.run_id));
        if !self.rows.is_of_run(run_id.as_deref()) {
            return Ok(RowOutcome::OtherRun);
        }
        let Some(kernel) = self.rows.kernel(&self.header.kernel.name(cells)?)? else {
            return Ok(RowOutcome::Other);
        };
        let of_problem = ProblemCells { columns: &self.header.problem, cells };
        let Some(problem) = self.rows.problem(&kernel, &of_problem)? else { return Ok(RowOutcome::Other) };
        for &(name, column) in &self.header.hardware {
            if let Some(value) = whole(name, cells(column)).map_err(|error| format!("hw_{error}"))? {
                self.rows.sink.hardware(self.rows.file, name, value)?;
            }
        }
        let recorded = figures.recorded(cells)?;
        let non_zero = whole("non_zero", some(figures.non_zero))?;
        let error = text(some(figures.error.or(figures.status.filter(|_| recorded == Some(false)))));
        let measured = MeasuredRow {
            kernel: &kernel,
            problem: &problem,
            figures: figures.read(cells, recorded, non_zero, &problem)?,
            non_zero,
            problem_idx: whole("problem_idx", some(figures.problem_idx))?,
            run_id: run_id.as_deref(),
            error: error.as_deref(),
        };
        self.rows.take(&measured)
    }
}

impl FigureColumns {
    /// The validity that the row records.
    fn recorded(&self, cells: Cells<'_, '_>) -> Result<Option<bool>, InvalidField> {
        match (self.is_valid, self.status) {
            // Whatever else the row has.
            _ if self.error.and_then(cells).is_some() => Ok(Some(false)),
            (Some(column), _) => cells(column).map(|cell| cell.flag("is_valid")).transpose(),
            (None, Some(column)) => cells(column).map(verdict).transpose(),
            (None, None) => Ok(None),
        }
    }

    fn read(
        &self,
        cells: Cells<'_, '_>,
        recorded: Option<bool>,
        non_zero: Option<i64>,
        problem: &Problem,
    ) -> Result<Figures, Fault> {
        let unit = if self.latency_unit < 1.0 { "latency_us" } else { "latency_ms" };
        let bandwidth = figure("bandwidth_gb_s", self.bandwidth.and_then(cells))?;
        let tflops = figure("tflops", cells(self.tflops))?;
        let latency = figure(unit, cells(self.latency))? * self.latency_unit;
        Ok(Figures::judge(tflops, latency, bandwidth, recorded, non_zero, problem)?)
    }
}
