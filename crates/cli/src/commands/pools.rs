//! The pool of `--pool`: a file, a folder of shared libraries, or a family of AITER's kernels.

use std::collections::HashSet;
use std::path::Path;

use ck_select::kernel::Kernel;
use ck_select::pool::{Folder, Pool};
use ck_select::vocab::Arch;

#[cfg(feature = "offline")]
use super::reasons::Reasons;
use crate::error::CliError;

/// Reads it. A family, or a table of AITER's, has other kernels on each architecture.
pub(super) fn read(
    path: &Path,
    arch: impl FnOnce() -> Result<Option<Arch>, CliError>,
) -> Result<Pool, CliError> {
    if let Some(family) = family(path) {
        let mut names = HashSet::new();
        let mut kernels = of_family(family, arch()?.ok_or_else(|| without_arch(family))?)?;
        kernels.retain(|(kernel, _)| names.insert(kernel.name.clone()));
        return Ok(Pool::new(kernels.into_iter().map(|(kernel, _)| kernel).collect())?);
    }
    if !path.is_dir() {
        // An invalid architecture is reported where it is needed.
        return Ok(Pool::read_on(path, arch().unwrap_or_default())?);
    }
    let folder = Folder::read(path)?;
    for left_out in &folder.left_out {
        say!("ckselect: {}: left out: {left_out}", path.display());
    }
    Ok(folder.pool)
}

/// The kernels of a list of names that can be built for their architecture, else the given one, by the rules of
/// `enumerate --valid-only`; all of them if that is `allowed`. Kernels with measurements exist: those with
/// a time in a table, those that are `measured`. So do those of a folder of libraries and of a family.
#[cfg(feature = "offline")]
pub(super) fn buildable(
    path: &Path,
    pool: Pool,
    arch: Option<Arch>,
    allowed: bool,
    measured: impl Fn(&Kernel) -> bool,
) -> Result<Pool, CliError> {
    let Some(arch) = arch.or_else(|| pool.iter().find_map(|kernel| kernel.kind.arch())) else {
        return Ok(pool);
    };
    if allowed || path.is_dir() || family(path).is_some() {
        return Ok(pool);
    }
    let rules = ck_select_enumerate::rules::Rules::built_in()?;
    let why = |kernel: &Kernel| {
        rules
            .unbuildable(kernel, kernel.kind.arch().unwrap_or(arch))
            .filter(|_| !pool.is_measured(kernel) && !measured(kernel))
    };
    let left_out: Reasons = pool.iter().filter_map(why).collect();
    let Some((count, reasons)) = left_out.list() else { return Ok(pool) };
    let (all, keeps) = (pool.len(), "--allow unbuildable keeps them");
    if count == all {
        fail!("{}: no kernel can be built for {arch}: {reasons}; {keeps}", path.display());
    }
    say!(
        "ckselect: {count} of {all} kernels cannot be built for {arch}, and are left out: {reasons}; {keeps}"
    );
    Ok(pool.keeping(|kernel| why(kernel).is_none())?)
}

/// The whole pool: this build has no rules of what can be built.
#[cfg(not(feature = "offline"))]
#[allow(clippy::unnecessary_wraps, reason = "as with the rules")]
pub(super) fn buildable(
    _: &Path,
    pool: Pool,
    _: Option<Arch>,
    _: bool,
    _: impl Fn(&Kernel) -> bool,
) -> Result<Pool, CliError> {
    Ok(pool)
}

/// The family that a word names; `None` if it is a file, existing or not.
pub(super) fn family(word: &Path) -> Option<&str> {
    word.to_str().filter(|name| *name != "-" && !name.contains(['/', '.']) && !word.exists())
}

/// A family's kernels, each with its numbers in AITER's tuner.
#[cfg(feature = "offline")]
pub(super) fn of_family(family: &str, arch: Arch) -> Result<Vec<(Kernel, Option<usize>)>, CliError> {
    let kernels = ck_select_enumerate::rules::Rules::built_in()?.family(family, arch);
    kernels.map_err(|error| CliError::usage(format!("{family}: no such file, and {error}")))
}

#[cfg(not(feature = "offline"))]
fn of_family(family: &str, _: Arch) -> Result<Vec<(Kernel, Option<usize>)>, CliError> {
    refuse!("{family}: no such file, and this ckselect was built without AITER's families of kernels")
}

pub(super) fn without_arch(family: &str) -> CliError {
    CliError::usage(format!("{family}: no such file; if it is a family of AITER's kernels, give --arch"))
}
