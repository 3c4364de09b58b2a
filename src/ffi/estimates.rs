//! The estimate by itself, for programs that have neither a registry nor a model.

use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;

use super::CkStatus;
use super::error::{Failure, boundary};
use super::input::read_array;
use super::memory::give_text;
use crate::estimate::{Device, Estimator, GpuOverride, PoolEstimate};
use crate::kernel::Kernel;
use crate::pool::Pool;
use crate::problem::{InvalidField, Problem, ProblemDefaults};
use crate::ranking::EstimateTableError;
use crate::vocab::{Arch, GpuName};

/// A request for a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    problem: String,
    #[serde(default)]
    kernels: Vec<String>,
    pool: Option<PathBuf>,
    arch: Option<String>,
    hardware: Option<PathBuf>,
    top: Option<usize>,
}

/// Ranks kernels by their estimated times, fastest first. `request` is a JSON object: `problem`, such as
/// `"M=128,N=4096,K=4096"`; `kernels`, a list of names, or `pool`, a file of them; and optionally `arch`, an
/// architecture or a product such as `MI300X`, `hardware`, a file that describes the GPU, and `top`, the
/// number of rows. Without `arch` and `hardware`, the problem or all kernels name the architecture.
///
/// Writes a JSON object: `rows`, each with the columns of `ckselect rank --model estimate`, and `left_out`,
/// the number of kernels without a row by reason.
///
/// # Safety
/// `request` points to `len` bytes; `text` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_estimate_table(
    request: *const u8,
    len: usize,
    text: *mut *mut c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives NULL or `len` bytes.
        let bytes = unsafe { read_array(request, len, "request") }?;
        let request: Request = serde_json::from_slice(bytes)
            .map_err(|error| Failure::new(CkStatus::InvalidArgument, format_args!("request: {error}")))?;
        let table = request.table()?;
        // SAFETY: the caller gives NULL or room for one address.
        unsafe { give_text(text, "text", &table) }
    })
}

impl Request {
    fn table(&self) -> Result<String, Failure> {
        let given = self.gpu()?;
        let pool = self.kernels(given.map(|gpu| gpu.arch))?;
        let mut defaults = ProblemDefaults::new(pool.op());
        pool.set_defaults(&mut defaults, true, true);
        let problem = Problem::parse(pool.op(), &self.problem, &defaults)
            .map_err(|error| Failure::new(CkStatus::InvalidProblem, format_args!("problem: {error}")))?;
        let gpu = gpu_for(given, &problem, &pool)?;
        let estimate = PoolEstimate::new(Estimator::new(gpu.device), Arc::new(pool));
        let top = self.top.unwrap_or(usize::MAX);
        let table = estimate.table(&problem.on(Some(gpu.arch)), top).map_err(|error| {
            let status = match error {
                EstimateTableError::Problem(_) => CkStatus::InvalidProblem,
                EstimateTableError::Estimate(_) => CkStatus::NoKernel,
            };
            Failure::new(status, error)
        })?;
        serde_json::to_string(&table).map_err(Failure::of(CkStatus::InvalidArgument))
    }

    /// The GPU that `arch` or `hardware` names.
    fn gpu(&self) -> Result<Option<GpuOverride>, Failure> {
        let invalid = |error: &dyn std::fmt::Display| Failure::new(CkStatus::InvalidArgument, error);
        let name = self.arch.as_deref().map(str::parse::<GpuName>).transpose();
        let name = name.map_err(|error| invalid(&format_args!("arch: {error}")))?;
        match (&self.hardware, name) {
            (Some(file), name) => {
                let read = GpuOverride::read(file, name.map(|name| name.arch));
                let status = |is_io| if is_io { CkStatus::Io } else { CkStatus::InvalidArgument };
                read.map(Some)
                    .map_err(|error| Failure::new(status(error.is_io()), format_args!("hardware: {error}")))
            }
            (None, Some(name)) => {
                GpuOverride::named(name).map(Some).map_err(|error| invalid(&format_args!("arch: {error}")))
            }
            (None, None) => Ok(None),
        }
    }

    /// The kernels; of a file, those for the architecture.
    fn kernels(&self, arch: Option<Arch>) -> Result<Pool, Failure> {
        let pool = match &self.pool {
            Some(path) if self.kernels.is_empty() => Pool::read_on(path, arch),
            Some(_) => {
                return Err(Failure::new(CkStatus::InvalidArgument, "found kernels and pool, expected one"));
            }
            None => {
                let kernel = |(row, name): (usize, &String)| {
                    let at = |error| format!("kernels: row {row}: kernel name '{name}': {error}");
                    let kernel = Kernel::from_name(name);
                    kernel.map_err(|error| Failure::new(CkStatus::InvalidKernel, at(error)))
                };
                Pool::new(self.kernels.iter().enumerate().map(kernel).collect::<Result<_, _>>()?)
            }
        };
        pool.map_err(Failure::of(CkStatus::InvalidKernel))
    }
}

/// The GPU, which must be the problem's. Without one, that of the problem's architecture, else of the one
/// that all kernels name.
fn gpu_for(given: Option<GpuOverride>, problem: &Problem, pool: &Pool) -> Result<GpuOverride, Failure> {
    if let Some(gpu) = given {
        let other = problem.arch().filter(|&named| named != gpu.arch);
        let mismatch = |named: Arch| InvalidField::new("problem: arch", named, gpu.arch.to_string());
        return other.map_or(Ok(gpu), |named| Err(Failure::new(CkStatus::InvalidProblem, mismatch(named))));
    }
    let arch = problem.arch().or_else(|| pool.arch()).ok_or_else(|| {
        let known = Device::PROFILES.join(", ");
        let message =
            format!("the estimate needs a GPU: give arch (one of {known}, or a product), or hardware");
        Failure::new(CkStatus::InvalidArgument, message)
    })?;
    GpuOverride::named(GpuName { arch, units: None }).map_err(Failure::of(CkStatus::InvalidArgument))
}
