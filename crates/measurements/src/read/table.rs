//! The rows of tables, whatever their format: columns are found by name, and cells give kernel, problem and
//! figures.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ck_select_types::hardware::Hardware;
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::sheet::csv::UNCLOSED;
use ck_select_types::sheet::{
    Column, Columns, CsvFault, KernelColumns, Opened, ProblemColumns, Row, SPEEDS, Sheet, SheetError, TIMES,
};
use ck_select_types::vocab::Dtype;

use super::DataError;
use super::problems::{columns as problem_columns, need_columns, op_of};
use super::record::{Figures, MeasuredRow, SourceFile, verdict};
use super::rows::{Fault, FileRows, Filter, RowOutcome};

/// The columns that give a row's kernel.
enum KernelSource {
    Name(KernelColumns),
    /// Tile m, n, k and pipeline of a kernel of CK DSL, whose sweeps have forward convolutions in 2D of one
    /// type.
    Tile([Column; 4], Dtype),
}

impl KernelSource {
    fn new(columns: &mut Columns<'_>, file: &str, dtype: Option<Dtype>) -> Result<Self, SheetError> {
        let names = columns.kernel();
        let tile = || ["tile_m", "tile_n", "tile_k", "pipeline"];
        if names.first().is_there() || !tile().iter().chain(&["Hi"]).all(|name| columns.has(name)) {
            return Ok(Self::Name(names));
        }
        let dtype = dtype.ok_or_else(|| {
            let reason = "header: kernels are given by their tiles, as CK DSL's sweeps have them, \
                          and no column says their type: give --where dtype=fp16 or dtype=bf16";
            SheetError::format(file, reason)
        })?;
        Ok(Self::Tile(tile().map(|name| columns.find(name)), dtype))
    }

    fn name<'r>(&self, row: &'r dyn Row) -> Result<Cow<'r, str>, InvalidField> {
        match self {
            Self::Name(names) => names.name(row).map(Option::unwrap_or_default),
            Self::Tile(columns, dtype) => {
                let [m, n, k, pipeline] = columns.map(|column| column.text(row).unwrap_or_default());
                Ok(format!("grouped_conv_fwd_{dtype}_nhwgc_2d_{pipeline}_intrawave_{m}x{n}x{k}").into())
            }
        }
    }

    fn is_elsewhere(&self, row: &dyn Row) -> bool {
        matches!(self, Self::Name(names) if names.is_elsewhere(row))
    }
}

/// The columns that are read.
pub(super) struct Header {
    kernel: KernelSource,
    figures: FigureColumns,
    /// Columns of constants of the GPU, with their names without `hw_`.
    hardware: Vec<(&'static str, Column)>,
    problem: ProblemColumns,
    absence: Absence,
}

/// The value of a figure that a row lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// Not a number, as in tables, whose header has all figures.
    Unknown,
    /// Zero, as upstream reads null in JSON, whose rows lack the key only if they failed.
    Zero,
}

struct FigureColumns {
    speed: Column,
    time: Column,
    bandwidth: Column,
    non_zero: Column,
    problem_idx: Column,
    is_valid: Column,
    run_id: Column,
    error: Column,
    /// The network that a problem is of.
    model: Column,
    /// The verdict of an attention benchmark on the result.
    status: Option<Column>,
}

impl FigureColumns {
    fn new(columns: &mut Columns<'_>) -> Self {
        Self {
            speed: columns.same(&SPEEDS),
            time: columns.same(&TIMES),
            bandwidth: columns.find("bandwidth_gb_s"),
            non_zero: columns.find("non_zero"),
            problem_idx: columns.find("problem_idx"),
            is_valid: columns.find("is_valid"),
            run_id: columns.find("run_id"),
            error: columns.find("error_msg"),
            model: columns.find("model"),
            status: columns.has("seqlen_q").then(|| columns.find("status")),
        }
    }

    /// The validity that the row records: what says that it failed counts.
    fn recorded(&self, row: &dyn Row) -> Result<Option<bool>, InvalidField> {
        let status = self.status.and_then(|status| status.cell(row)).map(verdict).transpose()?;
        let verdicts = [self.error.cell(row).map(|_| false), status, self.is_valid.flag(row)?];
        Ok(verdicts.into_iter().flatten().reduce(|one, other| one && other))
    }

    /// Why the row has no time, if it says so.
    fn error<'r>(&self, row: &'r dyn Row, recorded: Option<bool>) -> Option<Cow<'r, str>> {
        let status = self.status.filter(|_| recorded == Some(false));
        self.error.text(row).or_else(|| status?.text(row))
    }

    fn read(
        &self,
        row: &dyn Row,
        recorded: Option<bool>,
        non_zero: Option<i64>,
        problem: &Problem,
        absence: Absence,
    ) -> Result<Figures, Fault> {
        let latency = self.time.time(row)? * if self.time.has_microseconds() { 1e-3 } else { 1.0 };
        // A table without speeds has times, and the problem says the work.
        let is_read = self.speed.is_there() || absence == Absence::Zero;
        let speed = if is_read { self.speed.figure(row)? } else { problem.flops() / latency / 1e9 };
        let figures = [speed, latency, self.bandwidth.figure(row)?];
        let figures = match absence {
            Absence::Unknown => figures,
            Absence::Zero => self.with_zeros(figures, recorded == Some(false), problem)?,
        };
        let [tflops, latency, bandwidth] = figures;
        Ok(Figures::judge(tflops, latency, bandwidth, recorded, non_zero, problem)?)
    }

    /// TFLOPS, milliseconds and GB/s as upstream's converter of JSON has them: the bandwidth is computed where it
    /// can be, and a GEMM that failed has none of them.
    fn with_zeros(
        &self,
        [tflops, latency, bandwidth]: [f64; 3],
        failed: bool,
        problem: &Problem,
    ) -> Result<[f64; 3], InvalidField> {
        let zero = |figure: f64| if figure.is_nan() { 0.0 } else { figure };
        let bytes = problem.bytes();
        if failed && bytes.is_some() {
            return Ok([0.0; 3]);
        }
        if let Some(missing) = [self.speed, self.time].iter().find(|column| !failed && !column.is_there()) {
            return Err(InvalidField::new(missing.name, "nothing", "a number"));
        }
        let of_bytes = |bytes: f64| if latency > 0.0 { bytes / 1e9 / (latency / 1000.0) } else { 0.0 };
        let computed = bytes.map_or(f64::NAN, of_bytes);
        Ok([zero(tflops), zero(latency), if bandwidth.is_nan() { computed } else { bandwidth }])
    }
}

/// Columns of sweeps about a measurement and a compiled kernel, which no reader needs.
const OF_COMPILERS: [&str; 3] = ["rough", "registers", "spills"];

impl Header {
    /// Checks the names of columns. Also returns those that are not known.
    pub(super) fn new(
        mut columns: Columns<'_>,
        names: &[String],
        rows: &FileRows<'_>,
        absence: Absence,
    ) -> Result<(Self, ColumnUse), SheetError> {
        let Filter { op, dtype, .. } = rows.filter;
        let kernel = KernelSource::new(&mut columns, rows.file, dtype);
        let figures = FigureColumns::new(&mut columns);
        let constants = Hardware::NAMES.into_iter().zip(Hardware::COLUMNS);
        let constants = constants.map(|(name, column)| (name, columns.named_by_aiter(column)));
        let hardware = constants.filter(|(_, column)| column.is_there()).collect();
        let problem = columns.problem(problem_columns());
        for name in OF_COMPILERS {
            columns.find(name);
        }
        let unknown = columns.finish(Some(op_of(names, op)))?;
        let header = Self { kernel: kernel?, figures, hardware, problem, absence };
        if absence == Absence::Unknown {
            header.need(&columns)?;
            need_columns(rows.file, names, op)?;
        }
        Ok((header, ColumnUse { unknown, used: columns.used() }))
    }

    /// Refuses a table without a column that every row needs.
    fn need(&self, columns: &Columns<'_>) -> Result<(), SheetError> {
        if let KernelSource::Name(names) = &self.kernel {
            columns.need(names.first())?;
        }
        columns.need(self.figures.time).map(drop)
    }

    /// Takes a row.
    pub(super) fn row(&self, rows: &mut FileRows<'_>, row: &dyn Row) -> Result<RowOutcome, Fault> {
        let Self { kernel, figures, hardware, problem: columns, absence } = self;
        let run_id = figures.run_id.text(row);
        if !rows.is_of_run(run_id.as_deref()) {
            return Ok(RowOutcome::OtherRun);
        }
        if kernel.is_elsewhere(row) {
            return Ok(RowOutcome::Other);
        }
        let Some(kernel) = rows.kernel(&kernel.name(row)?)? else { return Ok(RowOutcome::Other) };
        let problem = rows.problem(&kernel, &columns.cells(row)?);
        let Some(problem) = problem.map_err(|fault| columns.own_name(fault))? else {
            return Ok(RowOutcome::Other);
        };
        for &(name, column) in hardware {
            if let Some(value) = column.whole(row)? {
                rows.sink.hardware(rows.file, name, value)?;
            }
        }
        let recorded = figures.recorded(row)?;
        let non_zero = figures.non_zero.whole(row)?;
        let error = figures.error(row, recorded);
        let model = figures.model.text(row);
        let measured = MeasuredRow {
            kernel: &kernel,
            problem: &problem,
            figures: figures.read(row, recorded, non_zero, &problem, *absence)?,
            non_zero,
            problem_idx: figures.problem_idx.whole(row)?,
            run_id: run_id.as_deref(),
            error: error.as_deref(),
            model: model.as_deref(),
        };
        rows.take(&measured)
    }
}

/// Which columns of a table are read, and which nobody knows.
pub(super) struct ColumnUse {
    unknown: Vec<String>,
    /// The indices of the columns that are read.
    used: BTreeSet<usize>,
}

/// Takes the rows of a table.
pub(super) struct TableRows<'a> {
    header: Header,
    /// The columns that are read.
    pub(super) used: BTreeSet<usize>,
    pub(super) rows: FileRows<'a>,
}

impl<'a> TableRows<'a> {
    /// Checks the names of a table's columns.
    pub(super) fn new(names: &[String], mut rows: FileRows<'a>) -> Result<Self, DataError> {
        let columns = Columns::new(rows.file, names);
        let (header, ColumnUse { unknown, used }) = Header::new(columns, names, &rows, Absence::Unknown)?;
        rows.counts.unknown = unknown;
        Ok(Self { header, used, rows })
    }

    /// Takes a row.
    pub(super) fn take(&mut self, row: &dyn Row, position: impl FnOnce() -> String) -> Result<(), DataError> {
        let taken = self.header.row(&mut self.rows, row);
        self.rows.count(taken, position)
    }
}

/// Reads all rows of a benchmark CSV.
pub(super) fn read_csv(opened: Opened<'_>, rows: FileRows<'_>) -> Result<SourceFile, DataError> {
    let mut csv = Sheet::with_header(opened)?.rows;
    let mut table = TableRows::new(csv.header(), rows)?;
    loop {
        match csv.next() {
            Ok(true) => table.take(&csv, || format!("line {}", csv.line()))?,
            Ok(false) => break,
            Err(CsvFault::Row { line, reason }) => table.rows.reject(format!("line {line}"), reason)?,
            Err(CsvFault::Unclosed(line)) => {
                table.rows.reject(format!("line {line}"), UNCLOSED.to_owned())?;
            }
            Err(fault) => return Err(SheetError::csv(table.rows.file, fault).into()),
        }
    }
    let FileRows { file, counts, .. } = table.rows;
    if counts.rows + counts.other + counts.other_runs + counts.rejected == 0 {
        return Err(DataError::format(file, "found no row below the header, expected at least one"));
    }
    Ok(counts)
}
