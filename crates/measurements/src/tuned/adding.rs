//! What every reader of tuned tables adds to the shapes: files, shapes, kernels and configurations.

use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::Kernel;
use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::vocab::{Arch, Op};

use super::shapes::{TunedConfig, TunedShape, Winners};

/// The key of a shape: its problem and compute units.
pub(super) type Key = (Problem, Option<i64>);

impl Winners {
    /// Begins a table, whose shapes follow.
    pub(super) fn begin_table(&mut self, file: &str, ignored: Vec<String>) {
        self.ignored.push(ignored);
        self.files.push(file.into());
    }

    /// Adds a shape of the last file without configurations; returns its index.
    pub(super) fn add_shape(&mut self, (problem, units): Key) -> usize {
        let file = self.files.len() - 1;
        let (configs, winner, stands_for) = (Vec::new(), None, 1.0);
        self.shapes.push(TunedShape { problem, units, configs, winner, stands_for, file });
        self.shapes.len() - 1
    }

    pub(super) fn kernel(&mut self, name: &str, op: Op) -> Result<u32, String> {
        if let Some(index) = self.kernels.find(name) {
            return Ok(index);
        }
        let kernel = Kernel::from_name(name).map_err(|error| error.to_string())?;
        if kernel.op() != op {
            return Err(format!("'{name}' is a kernel of {}, expected one of {op}", kernel.op()));
        }
        Ok(self.kernel_of(&kernel))
    }

    /// The index of a kernel, which is added if no row before had it.
    pub(super) fn kernel_of(&mut self, kernel: &Kernel) -> u32 {
        self.kernels.index_of(kernel.name.as_str(), || kernel.clone())
    }
}

impl TunedShape {
    /// Adds a row's configuration, which no row before may have.
    pub(super) fn add(&mut self, config: TunedConfig) -> Result<(), String> {
        let is_same = |other: &&TunedConfig| (other.kernel, other.parts) == (config.kernel, config.parts);
        if let Some(other) = self.configs.iter().find(is_same) {
            return Err(format!("the configuration of line {} again, expected one row of it", other.line));
        }
        self.configs.push(config);
        Ok(())
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
pub(super) fn text(error: InvalidField) -> String {
    error.to_string()
}

/// The architecture of a row that records none: AITER's older tables tell their GPUs apart by the compute
/// units alone. GPUs of an architecture whose numbers are not known may have any.
pub(super) fn arch_with(units: Option<i64>, assumed: Option<Arch>) -> Option<Arch> {
    let is_known = |arch: Arch| !Hardware::units_of(&arch).is_empty();
    let told = units.filter(|_| assumed.is_none_or(is_known));
    told.and_then(Hardware::arch_with_units).or(assumed)
}
