//! Reads the rows of tuned tables.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use ck_select_types::each_operation;
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::problem::Problem;
use ck_select_types::sheet::{
    Column, Columns, KernelColumns, Opened, ProblemColumns, Row, SPEEDS, Sheet, TIMES,
};
use ck_select_types::vocab::Op;

use super::adding::{Key, arch_with, text};
use super::moe;
use super::shapes::{TunedConfig, TunedGpu, Winners, row_error};
use crate::operation::OperationData as _;
use crate::read::{DataError, need_columns, problem_columns, problem_of};

/// The columns of a table.
struct TunedColumns {
    kernel: KernelColumns,
    problem: ProblemColumns,
    units: Column,
    split: Column,
    time: Column,
    speed: Column,
    mark: Column,
    dtype: Column,
    is_valid: Column,
}

impl TunedColumns {
    /// The columns, and the unknown ones that may be ignored.
    fn new(file: &str, names: &[String], op: Op) -> Result<(Self, Vec<String>), DataError> {
        let mut columns = Columns::new(file, names);
        let own = Self {
            kernel: columns.kernel(),
            problem: columns.problem(problem_columns().filter(|name| *name != "split_k")),
            units: columns.named_by_aiter("hw_num_cus"),
            split: columns.named_by_aiter("split_k"),
            time: columns.same(&TIMES),
            speed: columns.same(&SPEEDS),
            mark: columns.find("is_latest_winner"),
            dtype: columns.one_of(&["q_dtype_w", "dtype"]),
            is_valid: columns.find("is_valid"),
        };
        let ignored = columns.finish(Some(op))?;
        need_columns(file, names, Some(op))?;
        columns.need(own.kernel.first())?;
        Ok((own, ignored))
    }
}

/// A row of a table.
struct TunedRow<'a> {
    columns: &'a TunedColumns,
    row: &'a dyn Row,
}

impl TunedRow<'_> {
    fn kernel(&self) -> Result<Cow<'_, str>, String> {
        let name = self.columns.kernel.name(self.row).map_err(text)?;
        name.ok_or_else(|| "kernel name: found nothing".to_owned())
    }

    /// The problem of the row, whose kernel is this one, and the compute units of its GPU. A row that records
    /// no GPU is of `assumed`.
    fn shape(&self, kernel: &Kernel, assumed: TunedGpu) -> Result<Key, String> {
        let TunedColumns { problem: columns, units: column, dtype, .. } = self.columns;
        let units = column.whole(self.row).map_err(text)?;
        let problem =
            problem_of(kernel, &columns.cells(self.row).map_err(text)?, arch_with(units, assumed.arch));
        let mut problem = problem.map_err(|fault| columns.own_name(fault))?;
        if let Some(word) = dtype.text(self.row) {
            problem = with_type(problem, dtype.name, &word, kernel)?;
        }
        if let (Some(arch), Some(units)) = (problem.arch(), units) {
            Hardware::check_units(arch, column.name, units).map_err(text)?;
        }
        Ok((problem, units.or(assumed.units.filter(|_| problem.arch() == assumed.arch))))
    }

    /// The parts into which the reduction was split.
    fn parts(&self) -> Result<i32, String> {
        Ok(self.columns.split.parts(self.row).map_err(text)?.unwrap_or(1))
    }

    /// Microseconds, from the speed if the table has no times; NaN if it has neither, or the row failed.
    fn us(&self, problem: &Problem) -> Result<f64, String> {
        let TunedColumns { time, speed, is_valid, .. } = self.columns;
        let figures = [time.time(self.row).map_err(text)?, speed.figure(self.row).map_err(text)?];
        let (column, value) = if time.is_there() { (time, figures[0]) } else { (speed, figures[1]) };
        if is_valid.flag(self.row).map_err(text)? == Some(false) || value.is_nan() {
            return Ok(f64::NAN);
        }
        if !(value > 0.0 && value.is_finite()) {
            return Err(format!("{}: found {value}, expected a number above 0", column.name));
        }
        Ok(match time.is_there() {
            true if time.has_microseconds() => value,
            true => value * 1e3,
            false => problem.flops() / value / 1e6,
        })
    }

    fn is_marked(&self) -> Result<bool, String> {
        Ok(self.columns.mark.flag(self.row).map_err(text)? == Some(true))
    }
}

impl Winners {
    /// Reads tables: CSV or gzipped CSV, tables of vLLM and SGLang, or folders of them. Rows that record no
    /// architecture are of `assumed`; those of its architecture that record no compute units have its number.
    pub fn read<P: AsRef<Path>>(paths: &[P], op: Op, assumed: TunedGpu) -> Result<Self, DataError> {
        let mut winners = Self::default();
        for path in paths {
            let path = path.as_ref();
            if !winners.add_engine(path, op)? {
                winners.add(Opened::file(path)?, op, assumed)?;
            }
        }
        Ok(winners)
    }

    /// Adds the rows of a table.
    pub fn add(&mut self, opened: Opened<'_>, op: Op, assumed: TunedGpu) -> Result<(), DataError> {
        let mut sheet = Sheet::with_header(opened)?;
        let (file, first) = (&sheet.file().to_owned(), self.shapes.len());
        let mut marks = false;
        if moe::has_pairs(op, sheet.rows.header()) {
            self.add_pairs(&mut sheet, assumed)?;
        } else {
            marks = self.add_rows(&mut sheet, op, assumed)?;
        }
        if self.shapes.len() == first && self.others == 0 {
            return Err(DataError::format(file, "found no row below the header, expected at least one"));
        }
        for shape in &mut self.shapes[first..] {
            shape.winner =
                winner(&shape.configs, marks).map_err(|(line, message)| row_error(file, line, message))?;
        }
        Ok(())
    }

    /// Adds the rows of a table with a kernel each; returns whether it marks winners.
    fn add_rows(&mut self, sheet: &mut Sheet<'_>, op: Op, assumed: TunedGpu) -> Result<bool, DataError> {
        let file = &sheet.file().to_owned();
        let (columns, ignored) = TunedColumns::new(file, sheet.rows.header(), op)?;
        self.begin_table(file, ignored);
        let mut known: HashMap<Key, usize> = HashMap::new();
        while sheet.next()? {
            let rows = &sheet.rows;
            if columns.kernel.is_elsewhere(rows) {
                self.others += 1;
                continue;
            }
            let row = TunedRow { columns: &columns, row: rows };
            let added = self.config(&row, rows.line(), op, assumed).and_then(|(key, config)| {
                let shape = *known.entry(key).or_insert_with(|| self.add_shape(key));
                self.shapes[shape].add(config)
            });
            added.map_err(|message| row_error(file, rows.line(), message))?;
        }
        Ok(columns.mark.is_there())
    }

    /// The shape and the configuration of a row.
    fn config(
        &mut self,
        row: &TunedRow<'_>,
        line: u64,
        op: Op,
        assumed: TunedGpu,
    ) -> Result<(Key, TunedConfig), String> {
        let kernel = self.kernel(&row.kernel()?, op)?;
        let key @ (problem, _) = row.shape(&self.kernels[kernel as usize], assumed)?;
        let (parts, us, marked) = (row.parts()?, row.us(&problem)?, row.is_marked()?);
        Ok((key, TunedConfig { kernel, parts, us, line, marked }))
    }
}

/// A problem in the type of a row.
fn with_type(problem: Problem, column: &str, word: &str, kernel: &Kernel) -> Result<Problem, String> {
    let dtype = word.parse().map_err(|error| format!("{column}: {error}"))?;
    let of_kernel = each_operation!((problem, &kernel.kind), (Problem(of), KernelKind(own)) => {
        of.with_type(own, dtype).map(Into::into)
    }, Some(problem));
    let (name, own) = (&kernel.name, kernel.kind.dtype());
    of_kernel.ok_or_else(|| format!("{column}: found {word}, but '{name}' is a kernel of {own}"))
}

/// The winner's index: the row that is marked, else the fastest, in the lowest split, else the only one.
fn winner(configs: &[TunedConfig], marks: bool) -> Result<Option<usize>, (u64, String)> {
    let two = |one: &TunedConfig, other: &TunedConfig, why: &str| {
        (
            other.line,
            format!("a second winner beside that of line {}{why}, expected one for a shape", one.line),
        )
    };
    if marks {
        let mut marked = (0..configs.len()).filter(|&config| configs[config].marked);
        let first = marked.next();
        return match (first, marked.next()) {
            (Some(first), Some(second)) => Err(two(&configs[first], &configs[second], "")),
            _ => Ok(first),
        };
    }
    // What failed has no time; of rows without times, there must be one.
    let mut timed = (0..configs.len()).filter(|&config| !configs[config].us.is_nan());
    let Some(mut best) = timed.next() else {
        return match configs {
            [one, other, ..] => Err(two(one, other, ", and not both have a time")),
            _ => Ok(Some(0)),
        };
    };
    for config in timed {
        let (one, other) = (&configs[best], &configs[config]);
        let is_lower = other.us == one.us && other.kernel == one.kernel && other.parts < one.parts;
        if other.us < one.us || is_lower {
            best = config;
        }
    }
    let first = &configs[best];
    match configs.iter().find(|other| other.kernel != first.kernel && other.us == first.us) {
        Some(other) => Err(two(first, other, " in the same time")),
        None => Ok(Some(best)),
    }
}
