//! Attention kernels as CK's registry exports them.

use serde::Serialize;

use super::{Counts, counts};
use crate::kernel::{FmhaKernel, Kernel, KernelKind};

#[derive(Serialize)]
pub(super) struct Fmha<'a> {
    name: &'a str,
    identifier: String,
    family: &'a str,
    dtype: &'a str,
    pipeline: &'a str,
    gfx_arch: &'a str,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names)] // CK's keys
pub(super) struct FmhaStatistics {
    by_family: Counts,
    by_dtype: Counts,
    by_pipeline: Counts,
}

pub(super) fn exported<'a>(name: &'a str, kernel: &'a FmhaKernel) -> Fmha<'a> {
    Fmha {
        name,
        identifier: kernel.identifier(),
        family: kernel.family.as_str(),
        dtype: kernel.dtype.as_str(),
        pipeline: kernel.pipeline.as_str(),
        gfx_arch: kernel.arch.as_ref().map_or("", |arch| arch.as_str()),
    }
}

pub(super) fn of(kernel: &Kernel) -> Option<Fmha<'_>> {
    match &kernel.kind {
        KernelKind::Fmha(fmha) => Some(exported(&kernel.name, fmha)),
        _ => None,
    }
}

pub(super) fn statistics(kernels: &[Fmha<'_>]) -> FmhaStatistics {
    FmhaStatistics {
        by_family: counts(kernels, |kernel| kernel.family.to_owned()),
        by_dtype: counts(kernels, |kernel| kernel.dtype.to_owned()),
        by_pipeline: counts(kernels, |kernel| kernel.pipeline.to_owned()),
    }
}
