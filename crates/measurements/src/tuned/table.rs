//! Reads the rows of tuned tables.

use std::collections::HashMap;
use std::path::Path;

use ck_select_types::cells::Cell;
use ck_select_types::each_operation;
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::listing::check_names;
use ck_select_types::problem::Problem;
use ck_select_types::sheet::{Opened, Sheet};
use ck_select_types::vocab::{Arch, Op};

use super::shapes::{TunedConfig, TunedGpu, TunedShape, Winners, row_error};
use crate::operation::OperationData as _;
use crate::read::table::{Cells, Index, ProblemCells, figure, whole};
use crate::read::{DataError, need_columns, problem_columns, problem_of};

/// A column: the name that the table has for it, for errors, and its index.
type Column = (&'static str, usize);

/// The columns of a table.
struct Columns {
    kernel: usize,
    problem: Vec<Column>,
    units: Option<Column>,
    split: Option<Column>,
    time: Option<(Column, f64)>,
    tflops: Option<Column>,
    mark: Option<Column>,
    dtype: Option<Column>,
    library: Option<usize>,
}

/// AITER's names of a problem's columns.
const ALIASES: [(&str, &str); 2] = [("arch", "gfx"), ("batch", "B")];

/// AITER's column of splits, whose numbers are exponents of two.
const EXPONENTS: &str = "splitK";

/// Columns of times, and the microseconds of their units.
const TIMES: [(&str, f64); 3] = [("us", 1.0), ("latency_us", 1.0), ("latency_ms", 1e3)];

/// Columns besides those of problems: what is read, then what else AITER's tuner writes.
const COLUMNS: [&str; 20] = [
    "kernel", "kernel_name", "kernelName", "gfx", "B", "cu_num", "hw_num_cus", "splitK", "split_k", "us",
    "latency_us", "latency_ms", "tflops", "is_latest_winner", "q_dtype_w", "libtype", "kernelId", "bw",
    "errRatio", "err_ratio",
];

/// Refuses a header with misspelt columns or without one that every problem needs. Returns the unknown ones
/// that may be ignored.
fn check_header(file: &str, names: &[String], op: Op) -> Result<Vec<String>, DataError> {
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let ignored = check_names(op, &columns, &COLUMNS);
    let ignored = ignored.map_err(|error| DataError::format(file, format_args!("header: {error}")))?;
    need_columns(file, names, Some(op))?;
    Ok(ignored)
}

impl Columns {
    fn new(file: &str, names: &[String]) -> Result<Self, DataError> {
        let index = Index::new(file, names)?;
        let alias = |name| ALIASES.iter().find(|(own, _)| *own == name).map(|(_, alias)| *alias);
        let place = |name| index.find(name).or_else(|| index.find(alias(name)?));
        let own = problem_columns().filter(|name| *name != "split_k");
        let first = |names: &[&'static str]| names.iter().find_map(|&name| Some((name, index.find(name)?)));
        Ok(Self {
            kernel: index.find("kernelName").map_or_else(|| index.need(&["kernel", "kernel_name"]), Ok)?,
            problem: own.filter_map(|name| Some((name, place(name)?))).collect(),
            units: first(&["cu_num", "hw_num_cus"]),
            split: first(&[EXPONENTS, "split_k"]),
            time: TIMES.into_iter().find_map(|(name, unit)| Some((first(&[name])?, unit))),
            tflops: first(&["tflops"]),
            mark: first(&["is_latest_winner"]),
            dtype: first(&["q_dtype_w", "dtype"]),
            library: index.find("libtype"),
        })
    }
}

/// A row of a table.
struct TunedRow<'a> {
    columns: &'a Columns,
    cells: Cells<'a, 'a>,
}

impl TunedRow<'_> {
    fn kernel(&self) -> Result<&str, String> {
        match (self.cells)(self.columns.kernel) {
            Some(Cell::Word(name)) => Ok(name),
            _ => Err("kernel name: found nothing".to_owned()),
        }
    }

    fn whole(&self, (name, at): Column) -> Result<Option<i64>, String> {
        whole(name, (self.cells)(at)).map_err(|error| error.to_string())
    }

    /// The problem of the row, whose kernel is this one, and the compute units of its GPU. A row that records
    /// no GPU is of `assumed`.
    fn shape(&self, kernel: &Kernel, assumed: TunedGpu) -> Result<Key, String> {
        let units = self.columns.units.map(|column| Ok((column.0, self.whole(column)?)));
        let (units_name, units) = units.unwrap_or(Ok::<_, String>(("", None)))?;
        let cells = ProblemCells { columns: &self.columns.problem, cells: self.cells };
        let mut problem = problem_of(kernel, &cells, arch_with(units, assumed.arch))?;
        if let Some((column, at)) = self.columns.dtype
            && let Some(Cell::Word(word)) = (self.cells)(at)
        {
            problem = of_type(problem, column, word, kernel)?;
        }
        if let (Some(arch), Some(units)) = (problem.arch(), units) {
            Hardware::check_units(arch, units_name, units).map_err(|error| error.to_string())?;
        }
        Ok((problem, units.or(assumed.units.filter(|_| problem.arch() == assumed.arch))))
    }

    /// The parts into which the reduction was split.
    fn parts(&self) -> Result<i32, String> {
        let Some(column @ (name, _)) = self.columns.split else { return Ok(1) };
        let range = if name == EXPONENTS { 0..=30 } else { 1..=i32::MAX.into() };
        let (least, most) = (range.start(), range.end());
        let split = self.whole(column)?.unwrap_or(*least);
        if !range.contains(&split) {
            return Err(format!("{name}: found {split}, expected a number from {least} to {most}"));
        }
        Ok(if name == EXPONENTS { 1 << split } else { split as i32 })
    }

    /// A time or a speed; NaN without one.
    fn positive(&self, (name, at): Column) -> Result<f64, String> {
        let value = figure(name, (self.cells)(at)).map_err(|error| error.to_string())?;
        if value.is_nan() || value > 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(format!("{name}: found {value}, expected a number above 0"))
    }

    /// Microseconds, from the speed if the table has no times; NaN if it has neither.
    fn us(&self, problem: &Problem) -> Result<f64, String> {
        match (self.columns.time, self.columns.tflops) {
            (Some((column, unit)), _) => Ok(self.positive(column)? * unit),
            (None, Some(column)) => Ok(problem.flops() / self.positive(column)? / 1e6),
            (None, None) => Ok(f64::NAN),
        }
    }

    fn is_marked(&self) -> Result<bool, String> {
        let Some((name, at)) = self.columns.mark else { return Ok(false) };
        let mark = (self.cells)(at).map(|cell| cell.flag(name)).transpose();
        mark.map(|mark| mark == Some(true)).map_err(|error| error.to_string())
    }
}

/// The key of a shape: its problem and compute units.
type Key = (Problem, Option<i64>);

impl Winners {
    /// Reads tables, CSV or gzipped CSV. Rows that record no architecture are of `assumed`; those of its
    /// architecture that record no compute units have its number.
    pub fn read<P: AsRef<Path>>(paths: &[P], op: Op, assumed: TunedGpu) -> Result<Self, DataError> {
        let mut winners = Self::default();
        for path in paths {
            winners.add(Opened::file(path.as_ref())?, op, assumed)?;
        }
        Ok(winners)
    }

    /// Adds the rows of a table.
    pub fn add(&mut self, opened: Opened<'_>, op: Op, assumed: TunedGpu) -> Result<(), DataError> {
        let mut sheet = Sheet::with_header(opened)?;
        let file = &sheet.file().to_owned();
        let ignored = check_header(file, sheet.rows.header(), op)?;
        let columns = Columns::new(file, sheet.rows.header())?;
        self.ignored.push(ignored);
        self.files.push(file.into());
        let first = self.shapes.len();
        let mut known: HashMap<Key, usize> = HashMap::new();
        while sheet.next()? {
            let rows = &sheet.rows;
            // Kernels of AITER's assembly, of Triton and so on have no descriptors.
            if columns.library.is_some_and(|library| !["ck", "cktile"].contains(&rows.text(library))) {
                self.others += 1;
                continue;
            }
            let row = TunedRow { columns: &columns, cells: &|column| rows.at(column) };
            let added = self.config(&row, rows.line(), op, assumed).and_then(|(key, config)| {
                let shape = *known.entry(key).or_insert_with(|| self.add_shape(key));
                self.shapes[shape].add(config)
            });
            added.map_err(|message| row_error(file, rows.line(), message))?;
        }
        if self.shapes.len() == first && self.others == 0 {
            return Err(DataError::format(file, "found no row below the header, expected at least one"));
        }
        for shape in &mut self.shapes[first..] {
            shape.winner = winner(&shape.configs, columns.mark.is_some())
                .map_err(|(line, message)| row_error(file, line, message))?;
        }
        Ok(())
    }

    /// The shape and the configuration of a row.
    fn config(
        &mut self,
        row: &TunedRow<'_>,
        line: u64,
        op: Op,
        assumed: TunedGpu,
    ) -> Result<(Key, TunedConfig), String> {
        let kernel = self.kernel(row.kernel()?, op)?;
        let key @ (problem, _) = row.shape(&self.kernels[kernel as usize], assumed)?;
        let (parts, us, marked) = (row.parts()?, row.us(&problem)?, row.is_marked()?);
        Ok((key, TunedConfig { kernel, parts, us, line, marked }))
    }

    /// Adds a shape of the last file without configurations; returns its index.
    fn add_shape(&mut self, (problem, units): Key) -> usize {
        let file = self.files.len() - 1;
        let (configs, winner, stands_for) = (Vec::new(), None, 1.0);
        self.shapes.push(TunedShape { problem, units, configs, winner, stands_for, file });
        self.shapes.len() - 1
    }

    fn kernel(&mut self, name: &str, op: Op) -> Result<u32, String> {
        if let Some(&index) = self.kernel_index.get(name) {
            return Ok(index);
        }
        let kernel = Kernel::from_name(name).map_err(|error| error.to_string())?;
        if kernel.op() != op {
            return Err(format!("'{name}' is a kernel of {}, expected one of {op}", kernel.op()));
        }
        let index = self.kernels.len() as u32;
        self.kernels.push(kernel);
        self.kernel_index.insert(name.to_owned(), index);
        Ok(index)
    }
}

impl TunedShape {
    /// Adds a row's configuration, which no row before may have.
    fn add(&mut self, config: TunedConfig) -> Result<(), String> {
        let is_same = |other: &&TunedConfig| (other.kernel, other.parts) == (config.kernel, config.parts);
        if let Some(other) = self.configs.iter().find(is_same) {
            return Err(format!("the configuration of line {} again, expected one row of it", other.line));
        }
        self.configs.push(config);
        Ok(())
    }
}

/// A problem in the type of a row.
fn of_type(problem: Problem, column: &str, word: &str, kernel: &Kernel) -> Result<Problem, String> {
    let dtype = word.parse().map_err(|error| format!("{column}: {error}"))?;
    let of_kernel = each_operation!((problem, &kernel.kind), (Problem(of), KernelKind(own)) => {
        of.of_type(own, dtype).map(Into::into)
    }, Some(problem));
    let (name, own) = (&kernel.name, kernel.kind.dtype());
    of_kernel.ok_or_else(|| format!("{column}: found {word}, but '{name}' is a kernel of {own}"))
}

/// The winner's place: the row that is marked, else the fastest, in the lowest split, else the only one.
fn winner(configs: &[TunedConfig], marks: bool) -> Result<Option<usize>, (u64, String)> {
    let two = |one: &TunedConfig, other: &TunedConfig, why: &str| {
        (
            other.line,
            format!("a second winner beside that of line {}{why}, expected one for a shape", one.line),
        )
    };
    if marks {
        let mut marked = (0..configs.len()).filter(|&place| configs[place].marked);
        let first = marked.next();
        return match (first, marked.next()) {
            (Some(first), Some(second)) => Err(two(&configs[first], &configs[second], "")),
            _ => Ok(first),
        };
    }
    let mut best = 0;
    for place in 1..configs.len() {
        let (one, other) = (&configs[best], &configs[place]);
        if other.us.is_nan() || one.us.is_nan() {
            return Err(two(one, other, ", and not both have a time"));
        }
        let is_lower = other.us == one.us && other.kernel == one.kernel && other.parts < one.parts;
        if other.us < one.us || is_lower {
            best = place;
        }
    }
    let first = &configs[best];
    match configs.iter().find(|other| other.kernel != first.kernel && other.us == first.us) {
        Some(other) => Err(two(first, other, " in the same time")),
        None => Ok(Some(best)),
    }
}

/// The architecture of a row that records none: AITER's older tables tell their GPUs apart by the compute
/// units alone. GPUs of an architecture whose numbers are not known may have any.
fn arch_with(units: Option<i64>, assumed: Option<Arch>) -> Option<Arch> {
    let is_known = |arch: Arch| !Hardware::units_of(&arch).is_empty();
    let told = units.filter(|_| assumed.is_none_or(is_known));
    told.and_then(Hardware::arch_with_units).or(assumed)
}
