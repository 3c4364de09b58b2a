//! Measurements: distinct problems, distinct kernels, and a row for each measured pair.

mod collect;
mod failures;
mod json;
mod log;
mod objects;
mod parquet;
mod problems;
mod record;
mod rows;
mod source;
mod sweeps;
mod table;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use ck_select_model::estimate::{Device, DeviceError, GpuOverride};
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::Kernel;
use ck_select_types::operation::Operation;
use ck_select_types::problem::{InvalidField, Problem, Splits};
use ck_select_types::vocab::{Arch, Direction, Dtype, Op};

use crate::distinct::Distinct;
pub use crate::error::DataError;
use collect::RowCollector;
pub(crate) use collect::{FileBuilder, note};
pub use failures::Failure;
pub use problems::problem_of;
pub(crate) use problems::{columns as problem_columns, need_columns};
pub use record::SourceFile;
pub(crate) use record::{Figures, MeasuredRow, Sink};
pub(crate) use rows::Filter;
use source::read_text;
pub(crate) use source::{columns_of, read as read_file};
pub use source::{files_of, first_row};
pub use sweeps::{Configuration, Run, Sweep};

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// Index into [`Measurements::kernels`].
    pub kernel: u32,
    /// The parts into which the reduction was split; the problem leaves them open if they are to be chosen.
    pub split_k: i32,
    /// Index into [`Measurements::sweeps`].
    pub sweep: u32,
    /// Measured TFLOPS; 0 if the kernel failed.
    pub tflops: f64,
    /// Measured time in milliseconds; NaN if there is none.
    pub latency_ms: f64,
    /// Measured memory traffic in GB/s; NaN if it was not recorded.
    pub bandwidth_gb_s: f64,
    /// Whether the kernel ran and its result is usable.
    pub is_valid: bool,
    /// The reason for failure in the file: an index into [`Measurements::failures`], from 1; 0 if there is
    /// none.
    pub failure: u16,
    /// The row's share of the win in a tuned table; `None` for measurements, where TFLOPS decide.
    pub share: Option<f32>,
}

/// The rows to take from files; `None` accepts any value, but not two different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowScope {
    /// The operation.
    pub op: Op,
    /// Direction of the convolutions.
    pub direction: Option<Direction>,
    /// Element type of the inputs.
    pub dtype: Option<Dtype>,
    /// The architecture, also for rows that do not record one, such as those of benchmark CSVs.
    pub arch: Option<Arch>,
}

impl RowScope {
    /// Everything of one operation.
    pub const fn all(op: Op) -> Self {
        Self { op, direction: None, dtype: None, arch: None }
    }
}

/// How rows are read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The architecture of rows that record none, if any is accepted; others keep theirs.
    pub assumed: Option<Arch>,
    /// The GPU of one architecture's rows, in the place of the profile.
    pub gpu: Option<GpuOverride>,
    /// The only run (`run_id`) whose rows are taken.
    pub run: Option<String>,
    /// Whether files may be of several GPUs of one architecture, each with its own constants; otherwise,
    /// constants that differ are an error.
    pub of_several_gpus: bool,
    /// Whether rows of all operations are taken, as far as the rest of what is wanted applies to them.
    pub of_several_ops: bool,
    /// Whether the number of parts into which a reduction is split is to be chosen: rows that differ in
    /// nothing else are of one problem.
    pub chooses_split: bool,
}

impl SourceFile {
    /// A note for people on the rows that were left out; `None` if none was.
    pub fn left_out(&self, wanted: &RowScope) -> Option<String> {
        let arches: usize = self.other_arches.values().sum();
        let mut parts: Vec<String> =
            self.other_arches.iter().map(|(arch, rows)| format!("{rows} rows are of {arch}")).collect();
        if let (Some(last), Some(wanted)) = (parts.last_mut(), wanted.arch) {
            *last += ", not of ";
            *last += wanted.as_str();
        }
        if self.other > arches {
            let RowScope { op, direction, dtype, .. } = wanted;
            let direction = direction.map_or_else(String::new, |direction| format!(" {direction}"));
            let dtype = dtype.map_or_else(String::new, |dtype| format!(" {dtype}"));
            let other = self.other - arches;
            parts.push(format!(
                "{other} rows are of another operation, direction or element type than {op}{direction}{dtype}"
            ));
        }
        if self.other_runs > 0 {
            parts.push(format!("{} rows are of other runs", self.other_runs));
        }
        (!parts.is_empty()).then(|| format!("{}: left out: {}", self.path.display(), parts.join("; ")))
    }
}

/// A hardware constant that a file records.
#[derive(Debug, Clone)]
struct RecordedConstant {
    /// The file's index among the sources.
    file: usize,
    /// The architecture of the constant's rows.
    arch: Option<Arch>,
    name: &'static str,
    value: i64,
}

impl RecordedConstant {
    fn is_of(&self, file: usize, arch: Arch) -> bool {
        self.file == file && self.arch == Some(arch)
    }
}

/// Measured rows over distinct problems and kernels, in the order of the files.
#[derive(Debug, Clone)]
pub struct Measurements {
    scope: RowScope,
    options: ReadOptions,
    problems: Distinct<Problem, Problem>,
    kernels: Distinct<String, Kernel>,
    rows: Vec<Row>,
    sweeps: Vec<Sweep>,
    sources: Vec<SourceFile>,
    failures: Vec<Failure>,
    /// The networks that problems are of, as far as files say it.
    models: HashMap<u32, String>,
    /// Hardware constants recorded in files.
    hardware: Vec<RecordedConstant>,
}

impl Measurements {
    /// No rows yet.
    pub fn new(scope: RowScope) -> Self {
        Self::with(scope, ReadOptions::default())
    }

    /// No rows yet; `options` say how they will be read.
    pub fn with(scope: RowScope, options: ReadOptions) -> Self {
        Self {
            scope,
            options,
            problems: Distinct::default(),
            kernels: Distinct::default(),
            rows: Vec::new(),
            sweeps: Vec::new(),
            sources: Vec::new(),
            failures: Vec::new(),
            models: HashMap::new(),
            hardware: Vec::new(),
        }
    }

    /// Adds files and folders, like [`Measurements::read`].
    pub fn add_all<P: AsRef<Path>>(&mut self, paths: &[P]) -> Result<(), DataError> {
        for path in paths {
            for file in files_of(path.as_ref())? {
                self.add_file(&file)?;
            }
        }
        Ok(())
    }

    /// Reads files and folders, in the given order; a folder stands for the files `*.parquet` directly in it,
    /// sorted by name.
    pub fn read<P: AsRef<Path>>(paths: &[P], scope: RowScope) -> Result<Self, DataError> {
        let mut measurements = Self::new(scope);
        measurements.add_all(paths)?;
        Ok(measurements)
    }

    /// Adds the rows of one file: a benchmark CSV, a parquet table, the JSON of a benchmark run, or a
    /// streaming log, where the three text formats may be compressed with gzip.
    ///
    /// A position that should be a row, but is not, is an error here, because nobody should train on a damaged file
    /// unknowingly. `ckselect convert` takes the good rows and counts the rest.
    pub fn add_file(&mut self, path: &Path) -> Result<(), DataError> {
        self.add(path, |filter, sink| read_file(path, filter, sink))
    }

    /// Adds the rows of a text in memory: a benchmark CSV, JSON or a log. `name` is used in errors and
    /// [`Measurements::sources`], and its ending gives the format like that of a file.
    pub fn add_text(&mut self, name: &str, text: &[u8]) -> Result<(), DataError> {
        self.add(Path::new(name), |filter, sink| read_text(name, text, filter, sink))
    }

    fn add(
        &mut self,
        path: &Path,
        read: impl FnOnce(Filter<'_>, &mut dyn Sink) -> Result<SourceFile, DataError>,
    ) -> Result<(), DataError> {
        let RowScope { op, direction, dtype, arch } = self.scope;
        let ReadOptions { assumed, run, of_several_ops, .. } = self.options.clone();
        let op = Some(op).filter(|_| !of_several_ops);
        let filter = Filter { op, direction, dtype, arch, assumed, run: run.as_deref() };
        let mut collector = RowCollector::new(self);
        let counts = read(filter, &mut collector)?;
        collector.end(path, counts)
    }

    /// Only the rows of some problems.
    #[must_use]
    pub fn only(&self, problems: &[u32]) -> Self {
        self.keeping(|_, row| problems.contains(&row.problem))
    }

    /// Only some rows, by their index and content.
    #[must_use]
    pub fn keeping(&self, keep: impl Fn(usize, &Row) -> bool) -> Self {
        let mut part = Self { problems: Distinct::default(), sweeps: Vec::new(), ..self.clone() };
        part.rows.clear();
        part.models.clear();
        let mut sweeps: HashMap<u32, u32> = HashMap::new();
        for (source, rows) in part.sources.iter_mut().zip(self.rows_of_files()) {
            source.rows = 0;
            for (index, row) in rows.clone().zip(&self.rows[rows]) {
                if !keep(index, row) {
                    continue;
                }
                let same = self.problems[row.problem as usize];
                let problem = part.problems.index_of(&same, || same);
                if let Some(model) = self.model_of(row.problem) {
                    part.models.entry(problem).or_insert_with(|| model.to_owned());
                }
                let sweep = *sweeps.entry(row.sweep).or_insert_with(|| {
                    part.sweeps.push(Sweep { problem, ..self.sweeps[row.sweep as usize] });
                    part.sweeps.len() as u32 - 1
                });
                part.rows.push(Row { problem, sweep, ..*row });
                source.rows += 1;
            }
        }
        part
    }

    /// The requested properties.
    pub const fn scope(&self) -> &RowScope {
        &self.scope
    }

    /// The network that a problem is of, by the problem's index, if a file says it.
    pub fn model_of(&self, problem: u32) -> Option<&str> {
        self.models.get(&problem).map(String::as_str)
    }

    /// The distinct problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The problem of a row, with its number of parts.
    pub fn problem_of(&self, row: &Row) -> Problem {
        self.problems[row.problem as usize].with_split(row.split_k)
    }

    /// The name of a kernel, with its number of parts where these are chosen.
    pub fn named(&self, kernel: u32, split_k: i32) -> String {
        let name = &self.kernels[kernel as usize].name;
        self.problems.first().map_or_else(|| name.clone(), |problem| problem.named(name, split_k))
    }

    /// Whether numbers of parts are to be chosen.
    pub const fn chooses_split(&self) -> bool {
        self.options.chooses_split
    }

    /// The numbers of parts of all rows.
    pub fn splits(&self) -> Result<Splits, InvalidField> {
        let splits: BTreeSet<i32> = self.rows.iter().map(|row| row.split_k).collect();
        if splits.is_empty() {
            Ok(Splits::USUAL)
        } else {
            Splits::new(&splits.into_iter().collect::<Vec<_>>())
        }
    }

    /// The distinct kernels, by name.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// All rows, valid or not.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The valid rows.
    pub fn valid_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_valid)
    }

    /// The sweeps, in the order of their first rows.
    pub fn sweeps(&self) -> &[Sweep] {
        &self.sweeps
    }

    /// The files of the rows.
    pub fn sources(&self) -> &[SourceFile] {
        &self.sources
    }

    /// The paths of the files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().map(|source| source.path.as_path())
    }

    /// The rows of each file, in order.
    pub fn rows_of_files(&self) -> impl Iterator<Item = Range<usize>> {
        self.sources.iter().scan(0, |end, source| {
            let begin = *end;
            *end += source.rows;
            Some(begin..*end)
        })
    }

    /// The file of a row, counted from 0.
    pub fn file_of(&self, row: u32) -> usize {
        self.rows_of_files().take_while(|rows| rows.end <= row as usize).count()
    }

    /// How many rows of each source do not count, because the kernel failed or its time is unusable.
    pub fn unusable(&self) -> impl Iterator<Item = (&SourceFile, usize)> {
        let count = |rows: Range<usize>| self.rows[rows].iter().filter(|row| !row.is_valid).count();
        self.sources.iter().zip(self.rows_of_files().map(count))
    }

    /// Why rows have no time.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The hardware constants that the data records, overriding those of its architecture (or upstream's
    /// defaults if that is unknown); `None` if it records none.
    pub fn hardware(&self) -> Option<Hardware> {
        if self.hardware.is_empty() {
            return None;
        }
        let arch = self.problems.iter().find_map(Problem::arch);
        let mut hardware = arch.and_then(|arch| Hardware::for_arch(&arch)).unwrap_or_default();
        for recorded in self.hardware.iter().filter(|recorded| recorded.arch == arch) {
            // Both were checked when they were read.
            let _ = hardware.set(recorded.name, recorded.value);
        }
        Some(hardware)
    }

    /// The GPU that replaces the profile of its architecture.
    pub const fn described(&self) -> Option<&GpuOverride> {
        self.options.gpu.as_ref()
    }

    /// The estimate's device for an architecture: the described one or its profile, with the constants that
    /// the data records.
    pub fn device(&self, arch: Arch) -> Result<Device, DeviceError> {
        self.device_with(arch, |recorded| recorded.arch == Some(arch))
    }

    /// The estimate's device for the rows of one file, by its index. Where files may be of several GPUs, the device
    /// has only the constants that this file records.
    pub fn device_of_file(&self, file: usize, arch: Arch) -> Result<Device, DeviceError> {
        if self.options.of_several_gpus {
            return self.device_with(arch, |recorded| recorded.is_of(file, arch));
        }
        self.device(arch)
    }

    fn device_with(
        &self,
        arch: Arch,
        has: impl Fn(&RecordedConstant) -> bool,
    ) -> Result<Device, DeviceError> {
        let own = self.options.gpu.filter(|described| described.arch == arch);
        let mut device = own.map_or_else(|| Device::for_arch(arch), |own| Ok(own.device))?;
        for recorded in self.hardware.iter().filter(|recorded| has(recorded)) {
            let _ = device.hardware.set(recorded.name, recorded.value);
        }
        Ok(device)
    }

    /// A word for the GPU of a file's rows: its architecture, with the constants by which it differs from
    /// other files' GPUs of this architecture.
    pub fn gpu_of_file(&self, file: usize, arch: Arch) -> String {
        let differs = |recorded: &&RecordedConstant| {
            let same = |other: &RecordedConstant| (other.arch, other.name) == (recorded.arch, recorded.name);
            self.hardware.iter().any(|other| same(other) && other.value != recorded.value)
        };
        let own = self.hardware.iter().filter(|recorded| recorded.is_of(file, arch)).filter(differs);
        let constants = own.map(|recorded| format!("{}={}", recorded.name, recorded.value));
        std::iter::once(arch.to_string()).chain(constants).collect::<Vec<_>>().join(" ")
    }

    /// The direction of all convolutions; `None` for GEMMs. Two directions are an error.
    pub fn common_direction(&self) -> Result<Option<Direction>, DataError> {
        let directions = self.problems.iter().filter_map(Problem::direction);
        common("directions", directions, "choose one with --where direction=")
    }

    /// The element type of all inputs; `None` without rows. Two types are an error, or `None` where features
    /// distinguish them.
    pub fn common_dtype(&self) -> Result<Option<Dtype>, DataError> {
        let dtypes = self.problems.iter().map(Problem::dtype);
        match common("element types", dtypes, "choose one with --where dtype=") {
            Err(_) if Operation::get(self.scope.op).has_dtype_features => Ok(None),
            dtype => dtype,
        }
    }

    /// The architecture of all rows; `None` if none records one. Two architectures are an error.
    pub fn common_arch(&self) -> Result<Option<Arch>, DataError> {
        let arches: Vec<Option<Arch>> = self.problems.iter().map(Problem::arch).collect();
        if arches.iter().any(Option::is_none)
            && let Some(Some(known)) = arches.iter().find(|arch| arch.is_some())
        {
            return Err(DataError::Mixed {
                what: "architectures",
                found: vec![known.to_string(), "rows that record none".to_owned()],
                advice: "give with --arch what the others were measured on".to_owned(),
            });
        }
        common("architectures", arches.into_iter().flatten(), "choose one with --arch")
    }
}

/// The only value among `values`; two are an error.
fn common<T: Copy + Ord + ToString>(
    what: &'static str,
    values: impl Iterator<Item = T>,
    advice: &str,
) -> Result<Option<T>, DataError> {
    let distinct: BTreeSet<T> = values.collect();
    if distinct.len() > 1 {
        let texts = distinct.iter().map(ToString::to_string).collect();
        return Err(DataError::Mixed { what, found: texts, advice: advice.to_owned() });
    }
    Ok(distinct.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_rows_of_its_problems() {
        let mut measurements = Measurements::new(RowScope::all(Op::Conv));
        let row = |c: i64, kernel: &str| {
            format!("grouped_conv_forward_bf16_2d_{kernel},{c},64,8,8,3,3,0.5,10,net{c}\n")
        };
        let text = |c: i64| row(c, "16x64x64_compv3") + &row(c, "64x64x64_compv3");
        let header = "kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops,model\n";
        for (name, problems) in [("a.csv", [16, 32]), ("b.csv", [48, 16])] {
            let rows: String = problems.iter().map(|&c| text(c)).collect();
            measurements.add_text(name, format!("{header}{rows}").as_bytes()).unwrap();
        }
        let part = measurements.only(&[0]);
        assert_eq!((part.problems().len(), part.rows().len(), part.runs().len()), (1, 4, 2));
        assert_eq!(part.sources().iter().map(|source| source.rows).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(part.problems()[0], measurements.problems()[0]);
        let last = measurements.only(&[2]);
        assert_eq!((last.model_of(0), measurements.model_of(0)), (Some("net48"), Some("net16")));
    }
}
