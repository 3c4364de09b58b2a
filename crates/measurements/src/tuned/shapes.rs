//! The shapes of tuned tables: problems on GPUs, each with the configurations that were timed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ck_select_model::estimate::Device;
use ck_select_types::kernel::Kernel;
use ck_select_types::problem::{InvalidField, Problem, Splits};
use ck_select_types::vocab::Arch;

use crate::distinct::Distinct;
use crate::read::{DataError, RowScope};

/// Files that were left out of folders: their number for each kind, and the fault of the first.
pub type LeftOutFiles = BTreeMap<&'static str, (usize, String)>;

/// Shapes of tuned tables.
#[derive(Debug, Clone, Default)]
pub struct Winners {
    /// The distinct kernels, by name.
    pub(super) kernels: Distinct<String, Kernel>,
    /// The shapes, in the order of their first rows.
    pub shapes: Vec<TunedShape>,
    /// Rows of kernels of other libraries, left out.
    pub others: usize,
    /// The files that were left out of engines' folders.
    pub left_out: LeftOutFiles,
    /// The files that are tables of engines, or folders of them.
    pub(super) of_engines: BTreeSet<usize>,
    pub(super) files: Vec<PathBuf>,
    /// The unknown columns of each file.
    pub(super) ignored: Vec<Vec<String>>,
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
    pub(super) file: usize,
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
    pub(super) marked: bool,
}

impl TunedConfig {
    /// The configuration of a shape without rows, which no table has.
    const NONE: Self = Self { kernel: 0, parts: 1, us: f64::NAN, line: 0, marked: false };
}

/// A GPU of tuned tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TunedGpu {
    /// The architecture, if the tables say it.
    pub arch: Option<Arch>,
    /// The GPU's compute units, if the tables say them.
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
        self.winner.map(|config| &self.configs[config]).or(least).copied().unwrap_or(TunedConfig::NONE)
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

impl Winners {
    /// The distinct kernels of the rows.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
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

    /// Whether some are tables of engines.
    pub fn has_tables_of_engines(&self) -> bool {
        !self.of_engines.is_empty()
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

    /// Keeps the shapes of an architecture, if one is given, and those that record none.
    #[must_use]
    pub fn on(mut self, arch: Option<Arch>) -> Self {
        let is_other =
            |shape: &TunedShape| arch.is_some() && shape.problem.arch().is_some_and(|own| Some(own) != arch);
        self.shapes.retain(|shape| !is_other(shape));
        self
    }

    /// Keeps the shapes of a direction and an element type, if they are given.
    #[must_use]
    pub fn matching(mut self, wanted: &RowScope) -> Self {
        let is_wanted = |problem: &Problem| {
            wanted.dtype.is_none_or(|dtype| problem.dtype() == dtype)
                && wanted.direction.is_none_or(|direction| problem.direction() == Some(direction))
        };
        self.shapes.retain(|shape| is_wanted(&shape.problem));
        self
    }

    /// The winners with at most so many shapes of each pair of a file on a GPU, evenly spread over their order by
    /// size: neighbours have the same winner, and some pairs have thousands of rows, others a handful.
    #[must_use]
    pub fn thinned(mut self, most: usize) -> Self {
        let mut pairs: BTreeMap<(usize, TunedGpu, String), Vec<usize>> = BTreeMap::new();
        for (index, shape) in self.shapes.iter().enumerate() {
            pairs.entry((shape.file, shape.gpu(), shape.pair())).or_default().push(index);
        }
        let mut kept: BTreeMap<usize, f64> = BTreeMap::new();
        for mut same in pairs.into_values() {
            same.sort_by(|one, other| {
                let size = |index: &usize| self.shapes[*index].problem.flops();
                size(one).total_cmp(&size(other))
            });
            let count = same.len().min(most.max(1));
            let each = same.len() as f64 / count as f64;
            kept.extend((0..count).map(|at| (same[((at as f64 + 0.5) * each) as usize], each)));
        }
        let shapes = std::mem::take(&mut self.shapes);
        let thin = |(index, shape)| Some(TunedShape { stands_for: *kept.get(&index)?, ..shape });
        self.shapes = shapes.into_iter().enumerate().filter_map(thin).collect();
        self
    }

    /// An error about a row of a shape.
    pub fn error(&self, shape: &TunedShape, line: u64, message: String) -> DataError {
        let file = self.files[shape.file].display().to_string();
        // Entries of an engine's table have their token count.
        if self.of_engines.contains(&shape.file) {
            return DataError::format(&file, format_args!("{line} tokens: {message}"));
        }
        row_error(&file, line, message)
    }
}

pub(super) fn row_error(file: &str, line: u64, message: impl std::fmt::Display) -> DataError {
    DataError::format(file, format_args!("line {line}: {message}"))
}
