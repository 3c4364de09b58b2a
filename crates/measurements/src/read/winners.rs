//! Tuned tables: which kernel won on a shape, and what else was timed there.
//!
//! A table has a row for each configuration that was kept: AITER's (`gfx`, `cu_num`, `M`, `N`, `K`,
//! `kernelName`, `splitK`, `us`), or the columns of a problem with `kernel` and perhaps `split_k` and a time.
//! A kernel without a row was slower in that tuning, or did not exist yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use ck_select_model::estimate::{Device, GpuOverride};
use ck_select_types::cells::Cell;
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::listing::check_names;
use ck_select_types::pool::Pool;
use ck_select_types::problem::{InvalidField, Problem, Splits};
use ck_select_types::vocab::{Arch, Op};
use ck_select_types::{each_operation, map_operation};

use super::csv;
use super::problems::{columns as problem_columns, need_columns, problem_of};
use super::source::text_of;
use super::table::{Cells, Index, ProblemCells, figure, whole};
use super::{DataError, Measurements, ReadOptions, RecordedConstant, Row, RowScope, Source, Sweep};
use crate::operation::OperationData as _;

/// Shapes of tuned tables.
#[derive(Debug, Clone, Default)]
pub struct Winners {
    /// The distinct kernels, by name.
    pub kernels: Vec<Kernel>,
    /// The shapes, in the order of their first rows.
    pub shapes: Vec<TunedShape>,
    /// Rows of kernels of other libraries, left out.
    pub others: usize,
    files: Vec<PathBuf>,
    /// The unknown columns of each file.
    ignored: Vec<Vec<String>>,
    kernel_index: HashMap<String, u32>,
}

/// A problem on a GPU, with the configurations of its rows.
#[derive(Debug, Clone)]
pub struct TunedShape {
    /// The problem, whose architecture is the table's.
    pub problem: Problem,
    /// Compute units of the GPU, if the table says them.
    pub units: Option<i64>,
    /// The rows' configurations, each once.
    pub configs: Vec<TunedConfig>,
    /// Index of the winner into `configs`; `None` if the table marks winners, but none of these.
    pub winner: Option<usize>,
    /// How many shapes of its pair it stands for, see [`Winners::thinned`].
    pub stands_for: f64,
    file: usize,
}

/// A configuration in a row of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TunedConfig {
    /// Index into [`Winners::kernels`].
    pub kernel: u32,
    /// The parts into which the reduction was split.
    pub parts: i32,
    /// Microseconds; NaN if the table has no times.
    pub us: f64,
    /// The row's line, from 1.
    pub line: u64,
    /// Whether the table marks it as the winner.
    marked: bool,
}

impl TunedConfig {
    /// Of a shape without rows, which no table has.
    const NONE: Self = Self { kernel: 0, parts: 1, us: f64::NAN, line: 0, marked: false };
}

/// A GPU of tuned tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TunedGpu {
    /// The architecture, if the tables say it.
    pub arch: Option<Arch>,
    /// Its compute units, if they say them.
    pub units: Option<i64>,
}

impl std::fmt::Display for TunedGpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let arch = self.arch.map_or_else(|| "any".to_owned(), |arch| arch.to_string());
        match self.units {
            Some(units) => write!(f, "{arch}/{units}"),
            None => f.write_str(&arch),
        }
    }
}

impl TunedGpu {
    /// A device of its architecture, with these compute units.
    #[must_use]
    pub fn device_from(&self, mut device: Device) -> Device {
        device.hardware.num_cus = self.units.unwrap_or(device.hardware.num_cus);
        device
    }
}

impl TunedShape {
    /// The GPU.
    pub fn gpu(&self) -> TunedGpu {
        TunedGpu { arch: self.problem.arch(), units: self.units }
    }

    /// The pair that the shape belongs to, over which a weight is spread: `N_K` of a GEMM.
    pub fn pair(&self) -> String {
        self.problem.weight().unwrap_or_else(|| self.problem.on(None).to_string())
    }

    /// The winner; where another library won, the fastest of the rows.
    pub fn fastest(&self) -> TunedConfig {
        let least = self.configs.iter().min_by(|one, other| one.us.total_cmp(&other.us));
        self.winner.map(|place| &self.configs[place]).or(least).copied().unwrap_or(TunedConfig::NONE)
    }

    /// The least time of a kernel in any split; `None` without a time.
    pub fn us_of(&self, kernel: u32) -> Option<f64> {
        let of = self.configs.iter().filter(|timed| timed.kernel == kernel && timed.us > 0.0);
        of.map(|timed| timed.us).min_by(f64::total_cmp)
    }

    /// The least time of all.
    pub fn least_us(&self) -> Option<f64> {
        self.configs.iter().map(|timed| timed.us).filter(|us| *us > 0.0).min_by(f64::total_cmp)
    }
}

/// The places of a table's columns.
struct Columns {
    kernel: usize,
    problem: Vec<(&'static str, usize)>,
    units: Option<usize>,
    split: Option<SplitColumn>,
    time: Option<(usize, f64)>,
    tflops: Option<usize>,
    mark: Option<usize>,
    dtype: Option<(&'static str, usize)>,
    library: Option<usize>,
}

/// AITER's names of a problem's columns.
const ALIASES: [(&str, &str); 2] = [("arch", "gfx"), ("batch", "B")];

/// A column of splits: its name, place and values.
type SplitColumn = (&'static str, usize, RangeInclusive<i64>);

/// AITER's column of splits, whose numbers are exponents of two.
const EXPONENTS: &str = "splitK";

/// Splits of a reduction: ours are the number of parts.
const SPLITS: [(&str, RangeInclusive<i64>); 2] = [(EXPONENTS, 0..=30), ("split_k", 1..=i32::MAX as i64)];

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
        let time = [("us", 1.0), ("latency_us", 1.0), ("latency_ms", 1e3)];
        Ok(Self {
            kernel: index.find("kernelName").map_or_else(|| index.need(&["kernel", "kernel_name"]), Ok)?,
            problem: own.filter_map(|name| Some((name, place(name)?))).collect(),
            units: index.find("cu_num").or(index.find("hw_num_cus")),
            split: SPLITS.into_iter().find_map(|(name, range)| Some((name, index.find(name)?, range))),
            time: time.into_iter().find_map(|(name, unit)| Some((index.find(name)?, unit))),
            tflops: index.find("tflops"),
            mark: index.find("is_latest_winner"),
            dtype: ["q_dtype_w", "dtype"].into_iter().find_map(|name| Some((name, index.find(name)?))),
            library: index.find("libtype"),
        })
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
            let name = path.as_ref().display().to_string();
            let mut text = text_of(path.as_ref())?;
            winners.add(&name, &mut *text, op, assumed)?;
        }
        Ok(winners)
    }

    /// Adds the rows of a table; `file` is its name in errors.
    pub fn add(
        &mut self,
        file: &str,
        text: &mut dyn std::io::BufRead,
        op: Op,
        assumed: TunedGpu,
    ) -> Result<(), DataError> {
        let mut rows = csv::open(file, text)?;
        let ignored = check_header(file, rows.header(), op)?;
        let columns = Columns::new(file, rows.header())?;
        self.ignored.push(ignored);
        self.files.push(file.into());
        let (place, first) = (self.files.len() - 1, self.shapes.len());
        let mut known: HashMap<Key, usize> = HashMap::new();
        while rows.next().map_err(|fault| DataError::csv(file, fault))? {
            let line = rows.line();
            let fault = |message| row_error(file, line, message);
            // Kernels of AITER's assembly, of Triton and so on have no descriptors.
            if columns.library.is_some_and(|library| !["ck", "cktile"].contains(&rows.text(library))) {
                self.others += 1;
                continue;
            }
            let (key, timed) =
                self.row(&columns, &|column| rows.at(column), line, op, assumed).map_err(fault)?;
            let shape = *known.entry(key).or_insert_with(|| {
                let (problem, units) = key;
                self.shapes.push(TunedShape {
                    problem,
                    units,
                    configs: Vec::new(),
                    winner: None,
                    stands_for: 1.0,
                    file: place,
                });
                self.shapes.len() - 1
            });
            let rows = &mut self.shapes[shape].configs;
            let is_same = |other: &&TunedConfig| (other.kernel, other.parts) == (timed.kernel, timed.parts);
            if let Some(other) = rows.iter().find(is_same) {
                let message =
                    format!("the configuration of line {} again, expected one row of it", other.line);
                return Err(fault(message));
            }
            rows.push(timed);
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

    fn row(
        &mut self,
        columns: &Columns,
        cells: Cells<'_, '_>,
        line: u64,
        op: Op,
        assumed: TunedGpu,
    ) -> Result<(Key, TunedConfig), String> {
        let some = |column: Option<usize>| column.and_then(cells);
        let whole = |name: &str, column| whole(name, some(column)).map_err(|error| error.to_string());
        let Some(Cell::Word(name)) = cells(columns.kernel) else {
            return Err("kernel name: found nothing".to_owned());
        };
        let kernel = self.kernel(name, op)?;
        let units = whole("cu_num", columns.units)?;
        let of_problem = ProblemCells { columns: &columns.problem, cells };
        let arch = arch_with(units, assumed.arch);
        let mut problem = problem_of(&self.kernels[kernel as usize], &of_problem, arch)?;
        if let Some((column, place)) = columns.dtype
            && let Some(Cell::Word(word)) = cells(place)
        {
            problem = of_type(problem, column, word, &self.kernels[kernel as usize])?;
        }
        if let (Some(arch), Some(units)) = (problem.arch(), units) {
            Hardware::check_units(arch, "cu_num", units).map_err(|error| error.to_string())?;
        }
        let units = units.or(assumed.units.filter(|_| problem.arch() == assumed.arch));
        let parts = columns.split.as_ref().map_or(Ok(1), |column| parts_in(column, cells))?;
        let time = |name: &str, column: usize| {
            let value = figure(name, cells(column)).map_err(|error| error.to_string())?;
            if value.is_nan() || value > 0.0 && value.is_finite() {
                return Ok(value);
            }
            Err(format!("{name}: found {value}, expected a number above 0"))
        };
        let us = match (columns.time, columns.tflops) {
            (Some((column, unit)), _) => time("us", column)? * unit,
            (None, Some(column)) => problem.flops() / time("tflops", column)? / 1e6,
            (None, None) => f64::NAN,
        };
        let mark = some(columns.mark).map(|cell| cell.flag("is_latest_winner")).transpose();
        let marked = mark.map_err(|error| error.to_string())?.unwrap_or(false);
        Ok(((problem, units), TunedConfig { kernel, parts, us, line, marked }))
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

    /// The files, each with its GPUs, in order.
    pub fn gpus(&self) -> Vec<(&Path, TunedGpu)> {
        let all: BTreeSet<_> = self.shapes.iter().map(|shape| (shape.file, shape.gpu())).collect();
        all.into_iter().map(|(file, gpu)| (self.files[file].as_path(), gpu)).collect()
    }

    /// The files, each with its columns that are unknown and do not resemble a known one.
    pub fn ignored(&self) -> impl Iterator<Item = (&Path, &[String])> {
        self.files.iter().map(PathBuf::as_path).zip(self.ignored.iter().map(Vec::as_slice))
    }

    /// The numbers of parts of all rows, and 1.
    pub fn splits(&self) -> Result<Splits, InvalidField> {
        let parts = self.shapes.iter().flat_map(|shape| &shape.configs).map(|config| config.parts);
        let distinct: BTreeSet<i32> = parts.chain([1]).collect();
        Splits::new(&distinct.into_iter().collect::<Vec<_>>())
    }

    /// The name of a kernel.
    pub fn name(&self, kernel: u32) -> &str {
        &self.kernels[kernel as usize].name
    }

    /// The file of a shape.
    pub fn file(&self, shape: &TunedShape) -> &Path {
        &self.files[shape.file]
    }

    /// The index in a pool of each kernel: of its name, else of its descriptor, because names of different
    /// age can describe one kernel, without the architecture, which names do not say.
    pub fn places_in(&self, pool: &Pool) -> Vec<Option<usize>> {
        let (mut named, mut described) = (HashMap::new(), HashMap::new());
        for (index, kernel) in pool.iter().enumerate() {
            named.entry(kernel.name.as_str()).or_insert(index);
            described.entry(anywhere(&kernel.kind)).or_insert(index);
        }
        let place = |kernel: &Kernel| {
            let named = named.get(kernel.name.as_str());
            named.or_else(|| described.get(&anywhere(&kernel.kind))).copied()
        };
        self.kernels.iter().map(place).collect()
    }

    /// The place of a shape's pool among so many: those of the files, or the only one.
    pub const fn pool_among(shape: &TunedShape, pools: usize) -> usize {
        if pools == 1 { 0 } else { shape.file }
    }

    /// The pool of a shape among those of the files, or the only one, and the place there of its winner, or
    /// of its fastest kernel if none is marked; `places` are those of [`Winners::places_in`] for each.
    pub fn pool_of(
        &self,
        shape: &TunedShape,
        places: &[Vec<Option<usize>>],
        pools: &[&Pool],
    ) -> Result<(usize, usize), DataError> {
        let pool = Self::pool_among(shape, pools.len());
        let first = shape.fastest();
        places[pool][first.kernel as usize].map(|place| (pool, place)).ok_or_else(|| {
            let (name, kernels) = (self.name(first.kernel), pools[pool].len());
            let one = pools[pool].get(0).map_or("", |kernel| &kernel.name);
            let message =
                format!("'{name}' won, but it is none of the pool's {kernels} kernels, such as '{one}'");
            self.error(shape, first.line, message)
        })
    }

    /// Those of an architecture, if one is given, and of none in particular.
    #[must_use]
    pub fn on(mut self, arch: Option<Arch>) -> Self {
        let is_other =
            |shape: &TunedShape| arch.is_some() && shape.problem.arch().is_some_and(|own| Some(own) != arch);
        self.shapes.retain(|shape| !is_other(shape));
        self
    }

    /// Those of a direction and an element type, if they are given.
    #[must_use]
    pub fn matching(mut self, wanted: &RowScope) -> Self {
        let is_wanted = |problem: &Problem| {
            wanted.dtype.is_none_or(|dtype| problem.dtype() == dtype)
                && wanted.direction.is_none_or(|direction| problem.direction() == Some(direction))
        };
        self.shapes.retain(|shape| is_wanted(&shape.problem));
        self
    }

    /// The shapes whose winner is in their pool; of the others, whose winners may have been retired since,
    /// how many there are and what is wrong with the first. If they are too many of a file, its pool is the
    /// wrong one.
    pub fn in_pools(mut self, pools: &[&Pool]) -> Result<(Self, Option<(usize, DataError)>), DataError> {
        let places: Vec<_> = pools.iter().map(|pool| self.places_in(pool)).collect();
        let mut all = vec![0_usize; self.files.len()];
        let mut faults: Vec<Vec<DataError>> = all.iter().map(|_| Vec::new()).collect();
        let mut fits = Vec::with_capacity(self.shapes.len());
        for shape in &self.shapes {
            let fault = self.pool_of(shape, &places, pools).err();
            fits.push(fault.is_none());
            all[shape.file] += 1;
            faults[shape.file].extend(fault);
        }
        let is_wrong = |(of, all): (&Vec<_>, &usize)| of.len() as f64 > MAX_RETIRED_SHARE * *all as f64;
        if let Some(file) = faults.iter().zip(&all).position(is_wrong) {
            return Err(faults.swap_remove(file).swap_remove(0));
        }
        let lacking = faults.iter().map(Vec::len).sum();
        let first = faults.into_iter().flatten().next().map(|first| (lacking, first));
        let mut fits = fits.into_iter();
        self.shapes.retain(|_| fits.next() == Some(true));
        Ok((self, first))
    }

    /// At most so many shapes of each pair of a file on a GPU, evenly spread over their order by size:
    /// neighbours have the same winner, and some pairs have thousands of rows, others a handful.
    #[must_use]
    pub fn thinned(mut self, most: usize) -> Self {
        let mut pairs: BTreeMap<(usize, TunedGpu, String), Vec<usize>> = BTreeMap::new();
        for (place, shape) in self.shapes.iter().enumerate() {
            pairs.entry((shape.file, shape.gpu(), shape.pair())).or_default().push(place);
        }
        let mut kept: BTreeMap<usize, f64> = BTreeMap::new();
        for mut same in pairs.into_values() {
            same.sort_by(|one, other| {
                let size = |place: &usize| self.shapes[*place].problem.flops();
                size(one).total_cmp(&size(other))
            });
            let count = same.len().min(most.max(1));
            let each = same.len() as f64 / count as f64;
            kept.extend((0..count).map(|at| (same[((at as f64 + 0.5) * each) as usize], each)));
        }
        let shapes = std::mem::take(&mut self.shapes);
        let thin = |(place, shape)| Some(TunedShape { stands_for: *kept.get(&place)?, ..shape });
        self.shapes = shapes.into_iter().enumerate().filter_map(thin).collect();
        self
    }

    /// Measurements to train on: a row for each kernel of a shape's pool that computes it, with a time where
    /// there is one. There is a pool for each file, or one for all. Each file's rows on a GPU are those of a
    /// file. `gpu` has the constants of its architecture's GPUs that rows do not record.
    pub fn completed(
        &self,
        wanted: RowScope,
        gpu: Option<GpuOverride>,
        pools: &[&Pool],
    ) -> Result<WinnerRows, DataError> {
        let places: Vec<_> = pools.iter().map(|pool| self.places_in(pool)).collect();
        let options = ReadOptions { gpu, of_several_gpus: true, ..ReadOptions::default() };
        let mut all = Measurements::with(wanted, options);
        let mut shapes = Vec::new();
        let mut sources: BTreeMap<(usize, TunedGpu), Vec<usize>> = BTreeMap::new();
        for (place, shape) in self.shapes.iter().enumerate() {
            sources.entry((shape.file, shape.gpu())).or_default().push(place);
        }
        for ((file, gpu), own) in sources {
            let before = all.rows.len();
            let arch = gpu.arch.or(wanted.arch);
            if let Some(value) = gpu.units {
                all.hardware.push(RecordedConstant { file: all.sources.len(), arch, name: "num_cus", value });
            }
            for place in own {
                let shape = &self.shapes[place];
                let (pool, winner) = self.pool_of(shape, &places, pools)?;
                shapes.push(place);
                all.add_shape(shape, pools[pool], &places[pool], winner);
            }
            all.sources.push(Source {
                path: self.files[file].clone(),
                rows: all.rows.len() - before,
                other: 0,
                other_runs: 0,
                other_arches: Vec::new(),
                arches: arch.into_iter().collect(),
                unknown: Vec::new(),
            });
        }
        Ok(WinnerRows { measurements: all, shapes })
    }

    /// An error about a row of a shape.
    pub fn error(&self, shape: &TunedShape, line: u64, message: String) -> DataError {
        row_error(&self.files[shape.file].display().to_string(), line, message)
    }
}

/// The share of a table's shapes whose winner a pool may lack.
const MAX_RETIRED_SHARE: f64 = 0.05;

/// Winners as measurements.
#[derive(Debug)]
pub struct WinnerRows {
    /// A row for each kernel of a shape's pool that computes it.
    pub measurements: Measurements,
    /// The shape of each sweep.
    shapes: Vec<usize>,
}

impl WinnerRows {
    /// The shape of a row, by its index.
    pub fn shape_of(&self, row: u32) -> Option<usize> {
        self.shapes.get(self.measurements.rows().get(row as usize)?.sweep as usize).copied()
    }
}

/// The exponent that makes a timed kernel's speed relative to the winner's its share of the win: two kernels
/// within two percent are about equal, since the same configuration, timed again, moves by as much; with 5 %
/// less speed it is a third.
const SHARPNESS: i32 = 20;

/// The largest share of the win for a kernel that did not win: only one did.
const ALMOST: f64 = 0.99;

/// The speed of a kernel without a time as a share of the winner's, where a number is needed: slower than any
/// other.
const UNTIMED: f64 = 1e-3;

impl Measurements {
    fn add_shape(&mut self, shape: &TunedShape, pool: &Pool, places: &[Option<usize>], winner: usize) {
        let mut times = vec![f64::NAN; pool.len()];
        for timed in &shape.configs {
            if let Some(place) = places[timed.kernel as usize] {
                times[place] = times[place].min(timed.us);
            }
        }
        let flops = shape.problem.flops();
        // Without a time, what counts is who won.
        let of_winner = shape.us_of(shape.fastest().kernel).unwrap_or(1.0);
        let problem = self.problem(&read_by_all(&shape.problem, pool));
        let sweep = self.sweeps.len() as u32;
        self.sweeps.push(Sweep { problem, number: None });
        for (place, (kernel, us)) in pool.iter().zip(times).enumerate() {
            // It did not lose: nobody can choose it there.
            if place != winner && us.is_nan() && !kernel.matches(&shape.problem) {
                continue;
            }
            let share = match place {
                _ if place == winner => 1.0,
                _ if us.is_nan() => 0.0,
                _ => (of_winner / us).powi(SHARPNESS).min(ALMOST),
            };
            let assumed = if place == winner { of_winner } else { of_winner / UNTIMED };
            let kernel = self.kernel(kernel);
            self.rows.push(Row {
                problem,
                kernel,
                split_k: 1,
                sweep,
                tflops: flops / if us.is_nan() { assumed } else { us } / 1e6,
                latency_ms: us / 1e3,
                bandwidth_gb_s: f64::NAN,
                is_valid: true,
                failure: 0,
                share: Some(share as f32),
            });
        }
    }
}

/// A problem as the kernels of its pool read their operands.
fn read_by_all(problem: &Problem, pool: &Pool) -> Problem {
    if pool.is_shuffled() {
        map_operation!(*problem, Problem(of) => Problem(of.shuffled()))
    } else {
        *problem
    }
}

/// The parts of a row.
fn parts_in((name, column, range): &SplitColumn, cells: Cells<'_, '_>) -> Result<i32, String> {
    let (least, most) = (range.start(), range.end());
    let split = whole(name, cells(*column)).map_err(|error| error.to_string())?.unwrap_or(*least);
    if !range.contains(&split) {
        return Err(format!("{name}: found {split}, expected a number from {least} to {most}"));
    }
    Ok(if *name == EXPONENTS { 1 << split } else { split as i32 })
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

/// A kernel as built for no architecture in particular, which names and measurements do not say.
pub fn anywhere(kind: &KernelKind) -> KernelKind {
    let mut kind = map_operation!(kind, KernelKind(kernel) as Own => KernelKind(Own::anywhere(kernel)));
    each_operation!(&mut kind, KernelKind(kernel) => kernel.arch = None);
    kind
}

fn row_error(file: &str, line: u64, message: impl std::fmt::Display) -> DataError {
    DataError::format(file, format_args!("line {line}: {message}"))
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

#[cfg(test)]
mod tests {
    use ck_select_types::vocab::Dtype;

    use super::*;

    /// Rows say their GPU, or none is known.
    const ANY: TunedGpu = TunedGpu { arch: None, units: None };

    const KERNEL: &str = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_";

    const ROWS: &str = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";

    fn read(text: &str) -> Result<Winners, String> {
        let mut winners = Winners::default();
        let named = |text: String, tile: &str| {
            text.replace(&format!(",{tile}@"), &format!(",{KERNEL}{tile}_2x2x1_16x16x32"))
        };
        let text = ["128x128x64", "64x128x64"].into_iter().fold(text.to_owned(), named);
        winners.add("t.csv", &mut text.as_bytes(), Op::Gemm, ANY).map_err(|error| error.to_string())?;
        Ok(winners)
    }

    #[test]
    fn a_table_of_aiters_columns_marks_its_winners() {
        let text = "gfx,cu_num,M,N,K,q_dtype_w,libtype,kernelName,splitK,us,is_latest_winner\n\
            gfx942,80,32,512,1024,fp8,ck,128x128x64@,0,12.5,0\n\
            gfx942,80,32,512,1024,fp8,ck,64x128x64@,1,12.0,0\n\
            gfx942,80,32,512,1024,fp8,ck,64x128x64@,0,13.0,1\n\
            gfx942,304,32,512,1024,fp8,ck,64x128x64@,0,9.0,0\n\
            gfx942,304,64,512,1024,fp8,asm,_ZN5aiter,0,9.0,0\n\
            gfx942,80,32,512,1024,fp8,ck,rows@,0,12.5,0\n\
            gfx942,80,32,512,1024,torch.int8,ck,rows@,0,12.5,1\n";
        let winners = read(&text.replace("rows@", ROWS)).unwrap();
        let of = |shape: &TunedShape| (shape.gpu().to_string(), shape.configs.len(), shape.winner);
        let found: Vec<_> = winners.shapes.iter().map(of).collect();
        // Rows of int8 are problems of their own, and a shape without a mark was won by another library.
        let expected = [
            ("gfx942/80", 3, Some(2)),
            ("gfx942/304", 1, None),
            ("gfx942/80", 1, None),
            ("gfx942/80", 1, Some(0)),
        ];
        let types = winners.shapes.iter().map(|shape| match shape.problem {
            Problem::Gemm(gemm) => gemm.dtype_a,
            _ => Dtype::Fp32,
        });
        assert_eq!(types.collect::<Vec<_>>(), [Dtype::Fp8, Dtype::Fp8, Dtype::Fp8, Dtype::Int8]);
        assert_eq!(found, expected.map(|(gpu, rows, winner)| (gpu.to_owned(), rows, winner)));
        assert_eq!(winners.others, 1);
        let first = &winners.shapes[0];
        assert_eq!(
            (first.us_of(1), first.least_us(), first.pair().as_str()),
            (Some(12.0), Some(12.0), "512_1024")
        );
        let device = Device::for_arch("gfx942".parse().unwrap()).unwrap();
        assert_eq!(winners.gpus()[0].1.device_from(device).hardware.num_cus, 80);
    }

    /// A row of another architecture's GPU was an error (07238670).
    #[test]
    fn compute_units_tell_the_architecture_of_rows_that_record_none() {
        let text = format!(
            "cu_num,M,N,K,kernel\n304,1,64,64,{KERNEL}128x128x64_2x2x1_16x16x32\n\
             256,1,64,64,{KERNEL}128x128x64_2x2x1_16x16x32\n"
        );
        let gpus = |assumed: Option<&str>| {
            let mut winners = Winners::default();
            let assumed = TunedGpu { arch: assumed.map(|arch| arch.parse().unwrap()), units: None };
            winners.add("t.csv", &mut text.as_bytes(), Op::Gemm, assumed).unwrap();
            winners.shapes.iter().map(|shape| shape.gpu().to_string()).collect::<Vec<_>>()
        };
        for assumed in [None, Some("gfx942"), Some("gfx950")] {
            assert_eq!(gpus(assumed), ["gfx942/304", "gfx950/256"]);
        }
        // A GPU of NVIDIA may have as many.
        assert_eq!(gpus(Some("sm_90")), ["sm_90/304", "sm_90/256"]);
    }

    /// A column `dtype` was known and ignored (b103192d).
    #[test]
    fn a_type_may_stand_in_either_column() {
        for column in ["dtype", "q_dtype_w"] {
            let mut winners = Winners::default();
            let text = format!("M,N,K,{column},kernel\n1,64,64,int8,{ROWS}\n1,64,64,fp8,{ROWS}\n");
            winners.add("t.csv", &mut text.as_bytes(), Op::Gemm, ANY).unwrap();
            let types = winners.shapes.iter().map(|shape| shape.problem.dtype()).collect::<Vec<_>>();
            assert_eq!(types, [Dtype::Int8, Dtype::Fp8]);
            let text = text.replace("int8", "fp64");
            let error = winners.add("t.csv", &mut text.as_bytes(), Op::Gemm, ANY).unwrap_err().to_string();
            assert!(error.starts_with(&format!("t.csv: line 2: {column}: ")), "{error}");
        }
    }

    /// The error had our word for the type, which is nowhere in the table (ffe9ea3a).
    #[test]
    fn a_refused_type_is_said_as_the_table_has_it() {
        let text =
            format!("M,N,K,q_dtype_w,kernel\n1,64,64,torch.int8,{KERNEL}128x128x128_1x4x1_16x16x128\n");
        let error = Winners::default().add("t.csv", &mut text.as_bytes(), Op::Gemm, ANY).unwrap_err();
        assert!(
            error.to_string().contains("q_dtype_w: found torch.int8, but 'gemm_universal_fp8_"),
            "{error}"
        );
    }

    /// A pool that records the architecture had none of a convolution's winners (ffe9ea3a).
    #[test]
    fn a_winner_is_found_in_a_pool_of_any_architecture() {
        let name = "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave";
        let text = format!("arch,N,C,K,Hi,Wi,Y,X,kernelName,us\ngfx950,1,64,64,28,28,3,3,{name},10\n");
        let mut winners = Winners::default();
        winners.add("t.csv", &mut text.as_bytes(), Op::Conv, ANY).unwrap();
        let mut kernel = Kernel::from_name(name).unwrap();
        each_operation!(&mut kernel.kind, KernelKind(of) => of.arch = "gfx950".parse().ok());
        for called in [name, "another_name"] {
            let kernel = Kernel { name: called.to_owned(), ..kernel.clone() };
            assert_eq!(winners.places_in(&Pool::new(vec![kernel]).unwrap()), [Some(0)]);
        }
    }

    /// Sweeps of one problem were joined where they had no kernel in common, as files are that are cut by
    /// kernel: two families' winners of a shape became one list, in which neither had won (f25cdd8e).
    #[test]
    fn families_that_compute_the_same_shape_are_ranked_apart() {
        let table = |tile: &str| format!("M,N,K,cu_num,kernel,us\n32,512,1024,80,{tile}@,12\n");
        let (mut winners, mut pools) = (Winners::default(), Vec::new());
        for tiles in [["128x128x64", "64x128x64"], ["32x128x64", "16x128x64"]] {
            let names = tiles.map(|tile| format!("{KERNEL}{tile}_2x2x1_16x16x32"));
            let text = table(tiles[0]).replace(&format!("{}@", tiles[0]), &names[0]);
            winners.add(tiles[0], &mut text.as_bytes(), Op::Gemm, ANY).unwrap();
            pools.push(Pool::new(names.map(|name| Kernel::from_name(&name).unwrap()).into()).unwrap());
        }
        let pools: Vec<&Pool> = pools.iter().collect();
        let measurements = winners.completed(RowScope::all(Op::Gemm), None, &pools).unwrap().measurements;
        assert_eq!(measurements.problems().len(), 1);
        let rows: Vec<_> = measurements.runs().into_iter().map(|run| run.rows).collect();
        assert_eq!(rows, [[0, 1], [2, 3]]);
    }

    /// Kernels that cannot compute a shape were trained on as if they had lost there: a third of a pool,
    /// which a forest then avoided where they could be chosen (675c8bae).
    #[test]
    fn kernels_that_do_not_compute_a_shape_have_no_row_of_it() {
        let names = ["256x32x256x64", "256x128x128x64"].map(|tile| {
            format!("a8w8_bpreshuffle_{tile}_16x16_16x16_4x64x1_4x64x1_1x32x1x8_8x8x1_2x1_intrawave_v1")
        });
        let mut winners = Winners::default();
        let text = format!("M,N,K,kernel\n32,512,1024,{0}\n32,384,1024,{0}\n", names[1]);
        winners.add("t.csv", &mut text.as_bytes(), Op::Gemm, ANY).unwrap();
        let pool = Pool::new(names.map(|name| Kernel::from_name(&name).unwrap()).into()).unwrap();
        let measurements = winners.completed(RowScope::all(Op::Gemm), None, &[&pool]).unwrap().measurements;
        assert_eq!(measurements.runs().into_iter().map(|run| run.rows.len()).collect::<Vec<_>>(), [2, 1]);
    }

    /// All tables were counted together, so that a small one of another family was left out as if its
    /// winners were retired (07238670).
    #[test]
    fn a_table_of_another_pool_is_not_hidden_by_a_large_one() {
        let table = |rows: std::ops::Range<u32>, tile: &str| {
            let row = |m| format!("{m},64,64,{KERNEL}{tile}_2x2x1_16x16x32\n");
            "M,N,K,kernel\n".to_owned() + &rows.map(row).collect::<String>()
        };
        let pool = [Kernel::from_name(&format!("{KERNEL}128x128x64_2x2x1_16x16x32")).unwrap()];
        let pool = Pool::new(pool.into()).unwrap();
        let of = |files: &[(&str, String)]| {
            let mut winners = Winners::default();
            for (name, text) in files {
                winners.add(name, &mut text.as_bytes(), Op::Gemm, ANY).unwrap();
            }
            winners.in_pools(&[&pool]).map_err(|error| error.to_string())
        };
        let (large, small) = (table(1..101, "128x128x64"), table(1..3, "64x128x64"));
        let error = of(&[("large.csv", large.clone()), ("small.csv", small)]).unwrap_err();
        assert!(
            error.starts_with("small.csv: line 2: '") && error.contains("' won, but it is none"),
            "{error}"
        );
        // As many retired winners of the large one are left out.
        let retired = large + &table(101..103, "64x128x64").replace("M,N,K,kernel\n", "");
        let (kept, lacking) = of(&[("large.csv", retired)]).unwrap();
        assert_eq!((kept.shapes.len(), lacking.unwrap().0), (100, 2));
    }

    /// It was said to need no batch, which the shape did not ask for.
    #[test]
    fn a_winner_that_does_not_compute_its_shape_says_why() {
        let name = "a8w8_bpreshuffle_256x32x256x64_16x16_16x16_4x64x1_4x64x1_1x32x1x8_8x8x1_2x1_intrawave_v1";
        let error = read(&format!("M,N,K,kernel\n32,384,1024,{name}\n")).unwrap_err();
        let reason = "does not compute it: its tile of 32x256x64 does not divide N and K";
        assert_eq!(error, format!("t.csv: line 2: kernel '{name}' {reason}"));
    }

    /// The architecture that a pool's file names gives its kernels a number of threads, which names do not
    /// say, so that no winner was found among them (bcaa6223).
    #[test]
    fn a_pool_built_for_an_architecture_has_the_winners() {
        let winners = read("M,N,K,kernel\n1,2,3,128x128x64@\n").unwrap();
        let mut kernel = winners.kernels[0].clone();
        let KernelKind::Gemm(gemm) = &mut kernel.kind else { panic!("{}", kernel.name) };
        gemm.set_arch("gfx950".parse().unwrap());
        assert_eq!(gemm.block_size, 256);
        assert_eq!(winners.places_in(&Pool::new(vec![kernel]).unwrap()), [Some(0)]);
    }

    /// Two rows of one kernel were two winners (07238670).
    #[test]
    fn of_two_splits_in_the_same_time_the_lower_one_wins() {
        let row = |tile: &str, split: u32, us: u32| format!("1,64,64,{tile}@,{split},{us}\n");
        let rows = [row("64x128x64", 1, 9), row("128x128x64", 3, 5), row("128x128x64", 2, 5)].concat();
        let winners = read(&format!("M,N,K,kernel,splitK,us\n{rows}")).unwrap();
        assert_eq!(winners.shapes[0].winner, Some(2));
    }

    #[test]
    fn in_a_plain_table_the_fastest_wins_or_the_only_one() {
        let winners = read("M,N,K,kernel\n1,2,3,128x128x64@\n2,2,3,64x128x64@\n").unwrap();
        assert_eq!(winners.shapes.iter().map(|shape| shape.winner).collect::<Vec<_>>(), [Some(0); 2]);
        assert_eq!(winners.shapes[0].least_us(), None);
        let winners =
            read("m,n,k,kernel,tflops\n512,512,512,128x128x64@,1\n512,512,512,64x128x64@,2\n").unwrap();
        assert_eq!(winners.shapes[0].winner, Some(1));
        assert!((winners.shapes[0].least_us().unwrap() - 134.217_728).abs() < 1e-9);
    }

    #[test]
    fn other_columns_are_named_but_those_of_aiters_tuner() {
        let text = "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio,n_obs,file\n\
            gfx942,80,32,512,1024,fp8,1,0,12.5,128x128x64@,1,2,0,3,a.csv\n";
        let winners = read(text).unwrap();
        let ignored: Vec<_> = winners.ignored().collect();
        assert_eq!(ignored, [(Path::new("t.csv"), &["n_obs".to_owned(), "file".to_owned()][..])]);
    }

    #[test]
    fn errors_name_the_line() {
        let header = "arch,cu_num,M,N,K,kernel,us,is_latest_winner\n";
        let row = |units: u32, kernel: &str, us: &str, mark: u32| {
            format!("gfx942,{units},1,64,64,{kernel},{us},{mark}\n")
        };
        let of = |rows: &[String]| header.to_owned() + &rows.concat();
        let (one, other) = ("128x128x64@", "64x128x64@");
        let conv = "grouped_conv_forward_bf16_2d_16x64x64_compv3";
        for (text, message) in [
            (
                of(&[row(80, one, "2", 1), row(80, other, "3", 1)]),
                "line 3: a second winner beside that of line 2, exp",
            ),
            (
                format!("M,N,K,kernel,us\n1,64,64,{one},2\n1,64,64,{other},2\n"),
                "line 3: a second winner beside that of line 2 in the same time",
            ),
            (
                format!("M,N,K,kernel\n1,64,64,{one}\n1,64,64,{other}\n"),
                "line 3: a second winner beside that of line 2, and not both have a time",
            ),
            (of(&[row(80, one, "2", 1), row(80, one, "3", 0)]), "line 3: the configuration of line 2 again"),
            (
                of(&[row(256, one, "2", 1)]),
                "line 2: cu_num: found 256, expected 80, 228, 304: the compute units of GPUs of gfx942",
            ),
            (of(&[row(80, one, "-2", 1)]), "line 2: us: found -2, expected a number above 0"),
            (
                format!("M,N,K,q_dtype_w,kernel\n1,64,64,fp8,{one}\n2,64,64,int8,{one}\n"),
                "line 3: q_dtype_w: found int8, but 'gemm_universal_fp8_",
            ),
            (of(&["gfx942,80,1\n".to_owned()]), "line 2: found 3 cells, expected 8 as in the header"),
            (of(&[row(80, conv, "2", 1)]), "line 2: 'grouped_conv"),
            // Any number was a split (07238670).
            (
                format!("M,N,K,kernel,splitK\n1,64,64,{one},99\n"),
                "line 2: splitK: found 99, expected a number from 0 to 30",
            ),
            (
                format!("M,N,K,kernel,split_k\n1,64,64,{one},\n1,64,128,{one},0\n"),
                "line 3: split_k: found 0, expected a number from 1 to 2147483647",
            ),
            ("M,N,K,name\n".to_owned(), "no column 'kernel'"),
            // Each row was said to have nothing there, and names that nobody knows were passed over (07238670).
            (format!("M,N,kernel\n1,64,{one}\n"), "no column 'K'; the columns are M, N, kernel"),
            ("cu_nums,M,N,K,kernel\n".to_owned(), "header: unknown column 'cu_nums', expected cu_num"),
            (
                "M,N,K,q_dtype,kernel\n".to_owned(),
                "header: unknown column 'q_dtype', expected dtype, q_dtype_w",
            ),
            (of(&[]), "found no row below the header"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(&format!("t.csv: {message}")), "{error}");
        }
    }
}
