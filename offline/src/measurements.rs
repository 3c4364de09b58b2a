//! What was measured: distinct problems, distinct kernels, and a row for each measured pair.

mod csv;
mod error;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use ck_select::vocab::{Arch, Direction, Dtype, Op};

pub use error::DataError;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// Index into [`Measurements::kernels`].
    pub kernel: u32,
    /// Measured TFLOPS; 0 when the kernel failed.
    pub tflops: f64,
    /// Measured time in milliseconds; NaN when the kernel failed.
    pub latency_ms: f64,
    /// Measured memory traffic in GB/s; NaN when it was not recorded.
    pub bandwidth_gb_s: f64,
    /// The kernel ran and its result counts.
    pub is_valid: bool,
}

/// What to take from the files; `None` takes whatever is there, but never two different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The operation.
    pub op: Op,
    /// Direction of the convolutions.
    pub direction: Option<Direction>,
    /// Element type of the inputs.
    pub dtype: Option<Dtype>,
    /// The architecture, which benchmark CSVs do not record.
    pub arch: Option<Arch>,
}

impl Wanted {
    /// Everything of one operation.
    pub const fn all(op: Op) -> Self {
        Self { op, direction: None, dtype: None, arch: None }
    }
}

/// What one file gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Rows taken from it.
    pub rows: usize,
    /// Rows of another operation, direction or dtype, left out as asked.
    pub other: usize,
}

/// Measured rows over distinct problems and kernels, in the order in which the files name them.
#[derive(Debug, Clone)]
pub struct Measurements {
    wanted: Wanted,
    problems: Vec<Problem>,
    kernels: Vec<Kernel>,
    rows: Vec<Row>,
    sources: Vec<Source>,
    problem_index: HashMap<Problem, u32>,
    kernel_index: HashMap<String, u32>,
}

impl Measurements {
    /// No rows yet.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            problems: Vec::new(),
            kernels: Vec::new(),
            rows: Vec::new(),
            sources: Vec::new(),
            problem_index: HashMap::new(),
            kernel_index: HashMap::new(),
        }
    }

    /// Reads files, in the order given.
    pub fn read<P: AsRef<Path>>(paths: &[P], wanted: Wanted) -> Result<Self, DataError> {
        let mut measurements = Self::new(wanted);
        for path in paths {
            measurements.add_file(path.as_ref())?;
        }
        Ok(measurements)
    }

    /// Adds the rows of one file: a benchmark CSV.
    pub fn add_file(&mut self, path: &Path) -> Result<(), DataError> {
        csv::add(self, path)
    }

    /// What was asked for.
    pub const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// The distinct problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The distinct kernels, by name.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// All rows, valid or not.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Where the rows are from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The indices of each problem's rows.
    pub fn rows_by_problem(&self) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.problems.len()];
        for (index, row) in (0u32..).zip(&self.rows) {
            lists[row.problem as usize].push(index);
        }
        lists
    }

    fn problem(&mut self, problem: Problem) -> u32 {
        let next = self.problems.len() as u32;
        *self.problem_index.entry(problem).or_insert_with(|| {
            self.problems.push(problem);
            next
        })
    }

    fn kernel(&mut self, name: &str) -> Result<u32, ck_select::kernel::NameError> {
        if let Some(&index) = self.kernel_index.get(name) {
            return Ok(index);
        }
        let kernel = Kernel::from_name(name)?;
        let index = self.kernels.len() as u32;
        self.kernels.push(kernel);
        self.kernel_index.insert(name.to_owned(), index);
        Ok(index)
    }
}
