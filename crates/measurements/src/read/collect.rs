//! Collects the rows of a file, and the constants of the GPU that it records.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use ck_select_model::estimate::Device;
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::Kernel;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Arch;

use super::record::{Figures, MeasuredRow, Sink, SourceFile};
use super::{DataError, Measurements, RecordedConstant, Row, Sweep, failures};

/// Adds the rows of one file to measurements.
pub(crate) struct FileBuilder<'a> {
    into: &'a mut Measurements,
    /// The index of the file's first row.
    first: usize,
}

impl<'a> FileBuilder<'a> {
    pub(crate) fn new(into: &'a mut Measurements) -> Self {
        let first = into.rows.len();
        Self { into, first }
    }

    /// The index of a problem, which is added if it is new.
    pub(crate) fn problem(&mut self, problem: &Problem) -> u32 {
        self.into.problems.index_of(problem, || *problem)
    }

    /// The index of a kernel, which is added if its name is new.
    pub(crate) fn kernel(&mut self, kernel: &Kernel) -> u32 {
        self.into.kernels.index_of(kernel.name.as_str(), || kernel.clone())
    }

    /// Adds a sweep of a problem, which may have a number; returns its index.
    pub(crate) fn sweep(&mut self, problem: u32, number: Option<i64>) -> u32 {
        self.into.sweeps.push(Sweep { problem, number });
        self.into.sweeps.len() as u32 - 1
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.into.rows.push(row);
    }

    /// Adds a constant of the GPU of the file's rows, by its name without `hw_`.
    pub(crate) fn constant(&mut self, arch: Option<Arch>, name: &'static str, value: i64) {
        let file = self.into.sources.len();
        self.into.hardware.push(RecordedConstant { file, arch, name, value });
    }

    /// Ends the file, which `source` describes but for the number of its rows.
    pub(crate) fn finish(self, source: SourceFile) {
        let rows = self.into.rows.len() - self.first;
        self.into.sources.push(SourceFile { rows, ..source });
    }
}

/// Receives the rows of a reader of one file.
pub(super) struct RowCollector<'a> {
    file: FileBuilder<'a>,
    /// The sweeps of this file, by problem and the number that the file gives it.
    sweeps: HashMap<(u32, Option<i64>), u32>,
    /// Hardware constants recorded in the file.
    hardware: Vec<(&'static str, i64)>,
}

impl<'a> RowCollector<'a> {
    pub(super) fn new(into: &'a mut Measurements) -> Self {
        Self { file: FileBuilder::new(into), sweeps: HashMap::new(), hardware: Vec::new() }
    }

    /// Ends the file, and assigns its hardware constants to the architectures of its rows; they must not
    /// contradict those of earlier files.
    pub(super) fn end(mut self, path: &Path, counts: SourceFile) -> Result<(), DataError> {
        self.check_constants(&path.display().to_string(), &counts.arches)?;
        self.file.finish(SourceFile { path: path.to_owned(), ..counts });
        Ok(())
    }

    fn check_constants(&mut self, file: &str, arches: &BTreeSet<Option<Arch>>) -> Result<(), DataError> {
        let into = &*self.file.into;
        let (file_place, of_several_gpus) = (into.sources.len(), into.options.of_several_gpus);
        // Without rows, the architecture is the requested one.
        let wanted = Some(into.scope.arch).filter(|_| arches.is_empty());
        for arch in arches.iter().copied().chain(wanted) {
            for &(name, value) in &self.hardware {
                if let Some(needed) = arch.and_then(|arch| contradiction(arch, name, value)) {
                    return Err(DataError::format(file, format!("hw_{name}: found {value}, {needed}")));
                }
                let is_known = |known: &&RecordedConstant| {
                    (known.arch, known.name) == (arch, name) && (!of_several_gpus || known.file == file_place)
                };
                match self.file.into.hardware.iter().find(is_known).map(|known| known.value) {
                    Some(known) if known == value => {}
                    Some(expected) => return Err(DataError::hardware(file, name, value, expected)),
                    None => self.file.constant(arch, name, value),
                }
            }
        }
        Ok(())
    }
}

impl Sink for RowCollector<'_> {
    fn row(&mut self, row: &MeasuredRow<'_>) -> Result<(), DataError> {
        let leaving = || row.problem.leaving_split();
        let problem = if self.file.into.options.chooses_split { leaving() } else { *row.problem };
        let (kernel, problem) = (self.file.kernel(row.kernel), self.file.problem(&problem));
        if let Some(model) = row.model {
            self.file.into.models.entry(problem).or_insert_with(|| model.to_owned());
        }
        let file = &mut self.file;
        let key = (problem, row.problem_idx);
        let sweep = *self.sweeps.entry(key).or_insert_with(|| file.sweep(problem, row.problem_idx));
        let Figures { tflops, latency_ms, bandwidth_gb_s, is_valid } = row.figures;
        let failure = match row.error {
            Some(message) if !is_valid => failures::class(&mut self.file.into.failures, message),
            _ => 0,
        };
        let (split_k, share) = (row.problem.split_k(), None);
        self.file.push(Row {
            problem,
            kernel,
            split_k,
            sweep,
            tflops,
            latency_ms,
            bandwidth_gb_s,
            is_valid,
            failure,
            share,
        });
        Ok(())
    }

    fn hardware(&mut self, file: &str, name: &'static str, value: i64) -> Result<(), DataError> {
        Hardware::check_plausible(name, value)
            .map_err(|fault| DataError::format(file, format!("hw_{fault}")))?;
        note(&mut self.hardware, file, name, value).map(drop)
    }
}

/// Adds a constant that a file records to those known, which it must not contradict; true if it is new.
pub(crate) fn note(
    known: &mut Vec<(&'static str, i64)>,
    file: &str,
    name: &'static str,
    number: i64,
) -> Result<bool, DataError> {
    match known.iter().find(|(known, _)| *known == name) {
        None => known.push((name, number)),
        Some(&(_, value)) if value == number => return Ok(false),
        Some(&(_, expected)) => return Err(DataError::hardware(file, name, number, expected)),
    }
    Ok(true)
}

/// The value that a constant must have on an architecture, if it cannot have this one. Compute units, clocks and
/// caches differ between products and partitions, and upstream records less shared memory than there is.
fn contradiction(arch: Arch, name: &str, found: i64) -> Option<String> {
    let wave_size = arch.wave_size();
    if name == "wavefront_size" && found != wave_size {
        return Some(format!("rows of {arch} need {wave_size}"));
    }
    let profile = Device::for_arch(arch).ok()?.hardware;
    match name {
        "lds_capacity" if found > profile.lds_capacity => {
            Some(format!("a compute unit of {arch} has {}", profile.lds_capacity))
        }
        "simds_per_cu" if found != profile.simds_per_cu => {
            Some(format!("a compute unit of {arch} has {}", profile.simds_per_cu))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ck_select_types::vocab::Op;

    use super::*;
    use crate::read::RowScope;

    #[test]
    fn a_files_gpu_must_agree_with_its_rows() {
        let arch = |word: &str| Some(word.parse::<Arch>().unwrap());
        let mut measurements = Measurements::new(RowScope::all(Op::Conv));
        let mut end = |name: &'static str, value: i64, arches: &[Option<Arch>]| {
            let mut collector = RowCollector::new(&mut measurements);
            collector.hardware("a.parquet", name, value)?;
            let arches = arches.iter().copied().collect();
            collector.end(Path::new("a.parquet"), SourceFile { arches, ..SourceFile::default() })
        };
        end("num_cus", 304, &[arch("gfx942")]).unwrap();
        end("num_cus", 132, &[arch("sm_90")]).unwrap();
        let error = end("num_cus", 228, &[arch("gfx942")]).unwrap_err().to_string();
        assert!(error.contains("hw_num_cus is 228, 304 before"), "{error}");
        let error = end("wavefront_size", 32, &[arch("gfx950")]).unwrap_err().to_string();
        assert!(error.contains("hw_wavefront_size: found 32, rows of gfx950 need 64"), "{error}");
        for (name, found, expected) in [
            ("lds_capacity", 232_448, "a compute unit of gfx950 has 163840"),
            ("simds_per_cu", 2, "a compute unit of gfx950 has 4"),
        ] {
            let error = end(name, found, &[arch("gfx950")]).unwrap_err().to_string();
            assert!(error.contains(&format!("hw_{name}: found {found}, {expected}")), "{error}");
        }
        end("lds_capacity", 65_536, &[arch("gfx950")]).unwrap();
        end("wavefront_size", 32, &[arch("sm_90")]).unwrap();
        let device = measurements.device(arch("gfx942").unwrap()).unwrap();
        assert_eq!(device.hardware.num_cus, 304);
    }
}
