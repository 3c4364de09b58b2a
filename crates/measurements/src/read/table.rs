//! The rows of tables, whatever their format: columns are found by name, and cells give kernel, problem and
//! figures.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ck_select_types::hardware::Hardware;
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::sheet::{Column, Columns, KernelColumns, ProblemColumns, Row, SPEEDS, TIMES};
use ck_select_types::vocab::Dtype;

use super::DataError;
use super::problems::{columns as problem_columns, need_columns, op_of};
use super::record::{Figures, MeasuredRow, verdict};
use super::rows::{Fault, FileRows, Filter, RowOutcome};

/// The columns that give a row's kernel.
enum KernelSource {
    Name(KernelColumns),
    /// Tile m, n, k and pipeline of a kernel of CK DSL, whose sweeps have forward convolutions in 2D of one
    /// type.
    Tile([Column; 4], Dtype),
}

impl KernelSource {
    fn new(columns: &mut Columns<'_>, file: &str, dtype: Option<Dtype>) -> Result<Self, DataError> {
        let names = columns.kernel();
        let tile = || ["tile_m", "tile_n", "tile_k", "pipeline"];
        if names.first().is_there() || !tile().iter().chain(&["Hi"]).all(|name| columns.has(name)) {
            return Ok(Self::Name(names));
        }
        let dtype = dtype.ok_or_else(|| {
            let reason = "header: kernels are given by their tiles, as CK DSL's sweeps have them, \
                          and no column says their type: give --where dtype=fp16 or dtype=bf16";
            DataError::format(file, reason)
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
struct Header {
    kernel: KernelSource,
    figures: FigureColumns,
    /// Columns of constants of the GPU, with their names without `hw_`.
    hardware: Vec<(&'static str, Column)>,
    problem: ProblemColumns,
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
            status: columns
                .has("seqlen_q")
                .then(|| columns.find("status"))
                .filter(|status| status.is_there()),
        }
    }

    /// The validity that the row records.
    fn recorded(&self, row: &dyn Row) -> Result<Option<bool>, InvalidField> {
        match self.status {
            // Whatever else the row has.
            _ if self.error.cell(row).is_some() => Ok(Some(false)),
            Some(status) if !self.is_valid.is_there() => status.cell(row).map(verdict).transpose(),
            _ => self.is_valid.flag(row),
        }
    }

    fn read(
        &self,
        row: &dyn Row,
        recorded: Option<bool>,
        non_zero: Option<i64>,
        problem: &Problem,
    ) -> Result<Figures, Fault> {
        let bandwidth = self.bandwidth.figure(row)?;
        let tflops = self.speed.figure(row)?;
        let latency = self.time.time(row)? * if self.time.has_microseconds() { 1e-3 } else { 1.0 };
        Ok(Figures::judge(tflops, latency, bandwidth, recorded, non_zero, problem)?)
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
    pub(super) fn new(names: &[String], mut rows: FileRows<'a>) -> Result<Self, DataError> {
        let (file, Filter { op, dtype, .. }) = (rows.file, rows.filter);
        let mut columns = Columns::new(file, names);
        let kernel = KernelSource::new(&mut columns, file, dtype);
        let figures = FigureColumns::new(&mut columns);
        let constants = Hardware::NAMES.into_iter().zip(Hardware::COLUMNS);
        let constants = constants.map(|(name, column)| (name, columns.named_by_aiter(column)));
        let hardware = constants.filter(|(_, column)| column.is_there()).collect();
        let problem = columns.problem(problem_columns());
        rows.counts.unknown = columns.finish(op_of(names, op))?;
        let kernel = kernel?;
        if let KernelSource::Name(names) = &kernel {
            columns.need(names.first())?;
        }
        columns.need(figures.time)?;
        columns.need(figures.speed)?;
        need_columns(file, names, op)?;
        let header = Header { kernel, figures, hardware, problem };
        Ok(Self { header, used: columns.used(), rows })
    }

    /// Takes a row.
    pub(super) fn take(&mut self, row: &dyn Row, place: impl FnOnce() -> String) -> Result<(), DataError> {
        let taken = self.row(row);
        self.rows.count(taken, place)
    }

    fn row(&mut self, row: &dyn Row) -> Result<RowOutcome, Fault> {
        let Header { kernel, figures, hardware, problem: columns } = &self.header;
        let run_id = figures.run_id.text(row);
        if !self.rows.is_of_run(run_id.as_deref()) {
            return Ok(RowOutcome::OtherRun);
        }
        if kernel.is_elsewhere(row) {
            return Ok(RowOutcome::Other);
        }
        let Some(kernel) = self.rows.kernel(&kernel.name(row)?)? else { return Ok(RowOutcome::Other) };
        let problem = self.rows.problem(&kernel, &columns.cells(row)?);
        let Some(problem) = problem.map_err(|fault| columns.own_name(fault))? else {
            return Ok(RowOutcome::Other);
        };
        for &(name, column) in hardware {
            if let Some(value) = column.whole(row)? {
                self.rows.sink.hardware(self.rows.file, name, value)?;
            }
        }
        let recorded = figures.recorded(row)?;
        let non_zero = figures.non_zero.whole(row)?;
        let status = figures.status.filter(|_| recorded == Some(false) && !figures.error.is_there());
        let error = status.unwrap_or(figures.error).text(row);
        let measured = MeasuredRow {
            kernel: &kernel,
            problem: &problem,
            figures: figures.read(row, recorded, non_zero, &problem)?,
            non_zero,
            problem_idx: figures.problem_idx.whole(row)?,
            run_id: run_id.as_deref(),
            error: error.as_deref(),
        };
        self.rows.take(&measured)
    }
}
