//! Options of a registry, from its owner and from the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::overrides::{OverrideError, Overrides};
use crate::capture::Capture;
use crate::directory::ModelError;
use crate::estimate::{GpuOverride, GpuOverrideError};
use crate::log::{self, Level};
use crate::nearest::Hint;
use crate::problem::Splits;
use crate::tuning::device::Stream;
use crate::tuning::search::SearchOptions;
use crate::tuning::store::Location;
use crate::vocab::{Arch, GpuName};

/// Which sources are tried, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Override, store, model, search if allowed, estimate, priority.
    #[default]
    Model,
    /// Override, store, search, model, estimate, priority: problems that are not in the store are measured.
    Search,
    /// Override, store, search among this many of the model's best kernels, model, estimate, priority.
    Refine(usize),
    /// Refinement by as many kernels as the model's answer asks for, to be within 2 % of the best with a chance of
    /// 90 %: none where the answer is sure, and 3 where nothing was learned about such choices.
    RefineAuto,
    /// Override, priority: nothing is predicted or measured.
    Priority,
}

impl FromStr for Mode {
    type Err = OptionsError;

    fn from_str(word: &str) -> Result<Self, OptionsError> {
        let unknown = || OptionsError::Mode { found: word.to_owned() };
        match word {
            "model" => Ok(Self::Model),
            "search" => Ok(Self::Search),
            "priority" => Ok(Self::Priority),
            "refine=auto" => Ok(Self::RefineAuto),
            _ => {
                let count =
                    word.strip_prefix("refine=").ok_or_else(unknown)?.parse().map_err(|_| unknown())?;
                if count == 0 { Err(unknown()) } else { Ok(Self::Refine(count)) }
            }
        }
    }
}

/// Options of a registry.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which sources are tried.
    pub mode: Mode,
    /// A file of rules `problem -> kernel name`, which take precedence over all other sources.
    pub override_file: Option<PathBuf>,
    /// The architecture of problems that name none.
    pub arch: Option<Arch>,
    /// The compute units of `arch`'s GPU, where they are not its profile's: 304 of an MI300X. A file of
    /// `hardware` counts before them.
    pub units: Option<i64>,
    /// A file that describes the GPU, such as `{"based_on": "gfx942", "num_cus": 80}`. The estimate and
    /// universal models take it instead of the profile of `arch`, or else of the architecture that the file
    /// is `based_on`; models of one architecture keep the constants that they were trained with.
    pub hardware: Option<PathBuf>,
    /// The file that keeps measured winners; `off` for memory only. `None`: `CK_SELECT_STORE`, or a file in
    /// the user's cache folder, which is opened only by a registry that measures.
    pub store: Option<PathBuf>,
    /// The device whose winners the store keeps; `None` to ask the HIP runtime.
    pub device_name: Option<String>,
    /// Whether [`Mode::Model`] may measure all kernels if no model serves the problem.
    pub search: bool,
    /// How many of the model's best kernels to measure if a problem is outside its training range; 0 for
    /// none.
    pub refine_out_of_range: usize,
    /// Measures with the host's clock, without a GPU, for kernels that do all their work on the host before
    /// they return. Requires `arch`.
    pub host_timing: bool,
    /// Whether built-in models answer problems that no loaded model serves. A universal model, loaded or
    /// built in, answers only those for which no other model was trained.
    pub embedded_models: bool,
    /// Whether the estimate answers if nothing else does, before the priority. `,no-estimate` after the word
    /// of `CK_SELECT_MODE` also turns it off.
    pub estimate: bool,
    /// How long and how carefully to measure.
    pub measuring: SearchOptions,
    /// The stream to measure on.
    pub stream: Stream,
    /// The numbers of parts that may be chosen for problems with `split_k` 0; the usual ones for AITER's
    /// kernels only 1. Of these, a kernel takes those that its [`supports`](super::Hooks::supports) accepts.
    pub splits: Splits,
    /// A file to which every distinct problem is appended, for [`ProblemList`](crate::listing::ProblemList)
    /// to read.
    pub capture: Option<PathBuf>,
}

impl Default for Options {
    /// Model, then estimate, then priority; nothing is measured.
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            override_file: None,
            arch: None,
            units: None,
            hardware: None,
            store: None,
            device_name: None,
            search: false,
            refine_out_of_range: 0,
            host_timing: false,
            embedded_models: false,
            estimate: true,
            measuring: SearchOptions::default(),
            stream: Stream::DEFAULT,
            splits: Splits::USUAL,
            capture: None,
        }
    }
}

/// Why options are invalid.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// An unknown mode.
    #[error(
        "mode: found '{found}', expected one of model, search, refine=COUNT, refine=auto, priority; in CK_SELECT_MODE, \
         ,no-estimate may follow any but the last{}",
        Hint::new(found, ["model", "search", "refine=auto", "priority"])
    )]
    Mode {
        /// The word.
        found: String,
    },
    /// An override file that cannot be read.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// A file that cannot collect problems.
    #[error("capture: {}: {error}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// A file that describes the GPU and cannot be used.
    #[error("hardware: {0}")]
    Hardware(#[from] GpuOverrideError),
    /// Measuring on the host, which has no GPU architecture, without naming one.
    #[error("host_timing: arch is not set, expected the architecture that the host's kernels stand for")]
    HostArch,
    /// A built-in model that cannot be loaded.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl Options {
    /// The options, overridden by the environment: `CK_SELECT_MODE`, `CK_SELECT_OVERRIDE`,
    /// `CK_SELECT_HARDWARE`, `CK_SELECT_STORE`, `CK_SELECT_CAPTURE`.
    ///
    /// `variable` looks up a variable, usually [`std::env::var_os`].
    pub fn with_environment(
        mut self,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, OptionsError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(word) = set("CK_SELECT_MODE") {
            let word = word.to_string_lossy();
            let mode = word.strip_suffix(",no-estimate");
            self.estimate &= mode.is_none();
            self.mode = mode.unwrap_or(&word).parse()?;
        }
        for (name, slot) in [
            ("CK_SELECT_OVERRIDE", &mut self.override_file),
            ("CK_SELECT_HARDWARE", &mut self.hardware),
            (Location::VARIABLE, &mut self.store),
            ("CK_SELECT_CAPTURE", &mut self.capture),
        ] {
            if let Some(path) = set(name) {
                *slot = Some(path.into());
            }
        }
        Ok(self)
    }

    /// Whether a selection may measure.
    pub fn measures(&self) -> bool {
        match self.mode {
            Mode::Search | Mode::Refine(_) | Mode::RefineAuto => true,
            Mode::Model => self.search || self.refine_out_of_range > 0,
            Mode::Priority => false,
        }
    }

    /// The GPU of [`Options::hardware`], else the one with [`Options::units`].
    pub(super) fn read_gpu(&self) -> Result<Option<GpuOverride>, OptionsError> {
        if let Some(path) = &self.hardware {
            return Ok(Some(GpuOverride::read(path, self.arch)?));
        }
        let Some((arch, units)) = self.arch.zip(self.units) else { return Ok(None) };
        // Without a profile there is no estimate, which says so.
        Ok(GpuOverride::named(GpuName { arch, units: Some(units) }).ok())
    }

    pub(super) fn open_capture(&self) -> Result<Option<Arc<Capture>>, OptionsError> {
        let open = |path: &PathBuf| {
            Capture::open(path).map_err(|error| OptionsError::Capture { path: path.clone(), error })
        };
        self.capture.as_ref().map(open).transpose()
    }

    /// Checks options that depend on each other, and reads the override file.
    pub(super) fn read_overrides(&self) -> Result<Overrides, OptionsError> {
        if self.host_timing && self.arch.is_none() {
            return Err(OptionsError::HostArch);
        }
        let Some(path) = &self.override_file else { return Ok(Overrides::default()) };
        let report = |error: &OverrideError| log::line(Level::Error, "override", format_args!("{error}"));
        Ok(Overrides::read(path).inspect_err(report)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins() {
        let read = |mode: &str| {
            Options::default().with_environment(|name| (name == "CK_SELECT_MODE").then(|| mode.into()))
        };
        assert_eq!(read("priority").unwrap().mode, Mode::Priority);
        assert_eq!(read("").unwrap(), Options::default());
        let error = read("magic").unwrap_err().to_string();
        assert_eq!(
            error,
            "mode: found 'magic', expected one of model, search, refine=COUNT, refine=auto, priority; in \
             CK_SELECT_MODE, ,no-estimate may follow any but the last"
        );
        assert_eq!(read("refine=auto").unwrap().mode, Mode::RefineAuto);
        assert_eq!(read("refine=3").unwrap().mode, Mode::Refine(3));
        let off = read("refine=3,no-estimate").unwrap();
        assert_eq!((off.mode, off.estimate), (Mode::Refine(3), false));
        assert!(read("refine=3").unwrap().estimate && read(",no-estimate").is_err());
        assert!(read("refine=0").is_err() && read("refine").is_err());
    }
}
