//! Tuned tables and the pools among whose kernels their winners won, for `evaluate` and `train`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::pool::Pool;
use ck_select::vocab::{Arch, Op};
use ck_select_measurements::places::GpuFigures;
use ck_select_measurements::{RowScope, TunedGpu, Winners};

use super::data::RowFilter;
use super::gpu::{Gpu, expect_units};
#[cfg(feature = "train")]
use super::pools;
use super::say_ignored;
use crate::error::CliError;
use crate::output::file_name;
use crate::table::ResultTable;

/// The rows that `--where` selects from tables whose winners are kernels of an operation.
pub(super) fn scope(filter: &RowFilter, op: Op, arch: Option<Arch>) -> Result<RowScope, CliError> {
    if filter.run_id.is_some() {
        refuse!("--where: found run_id, which --winners does not have");
    }
    if let Some(other) = filter.op.filter(|other| *other != op) {
        refuse!("--where: found op={other}, but the kernels of --pool are of {op}");
    }
    filter.scope(op, arch)
}

/// Reads the shapes of tuned tables that are wanted. Rows that record no architecture are of the wanted one,
/// and those without compute units have the number of the GPU's file.
pub(super) fn read(files: &[PathBuf], wanted: &RowScope, gpu: &Gpu) -> Result<Winners, CliError> {
    let winners = Winners::read(files, wanted.op, TunedGpu { arch: wanted.arch, units: gpu.units()? })?;
    winners.ignored().for_each(|(file, columns)| say_ignored(file.display(), columns));
    if winners.others > 0 {
        say!("ckselect: left out: {} rows of kernels of other libraries", winners.others);
    }
    for (what, (count, first)) in &winners.left_out {
        say!("ckselect: left out: {count} {what}: {first}");
    }
    let all = winners.shapes.len();
    let winners = winners.on(wanted.arch);
    let here = winners.shapes.len();
    if let (Some(arch), other @ 1..) = (wanted.arch, all - here) {
        say!("ckselect: left out: {other} of {all} shapes, which are not of {arch}");
    }
    let winners = winners.matching(wanted);
    if let other @ 1.. = here - winners.shapes.len() {
        say!("ckselect: left out: {other} of {here} shapes, which are not those of --where");
    }
    for (file, gpu) in winners.gpus() {
        gpu.arch.map_or(Ok(()), |arch| expect_units(file.display(), arch, gpu.units))?;
    }
    Ok(winners)
}

/// The shapes whose winners are in their pools: one pool for all tables, or one for each.
pub(super) fn among(winners: Winners, pools: &[Arc<Pool>]) -> Result<Winners, CliError> {
    let of: Vec<&Pool> = pools.iter().map(AsRef::as_ref).collect();
    let (winners, lacking) = winners.in_pools(&of)?;
    if let Some((count, first)) = lacking {
        let fate = if winners.has_tables_of_engines() { "none of the pool's" } else { "retired" };
        say!("ckselect: left out: {count} shapes whose winner is {fate}: {first}");
    }
    Ok(winners)
}

/// Reads the pools of --pool: one for all tables, or one for each.
#[cfg(feature = "train")]
pub(super) fn pools(
    words: &[PathBuf],
    tables: usize,
    arch: Option<Arch>,
) -> Result<Vec<Arc<Pool>>, CliError> {
    if words.len() != 1 && words.len() != tables {
        refuse!("--pool: found {} pools for {tables} tables, expected one, or one for each", words.len());
    }
    let pools = words.iter().map(|word| Ok(Arc::new(pools::read(word, || Ok(arch))?)));
    let pools = pools.collect::<Result<Vec<_>, CliError>>()?;
    if pools.iter().any(|pool| pool.op() != pools[0].op()) {
        refuse!("--pool: the pools are of different operations");
    }
    Ok(pools)
}

/// A table's file name up to the first dot, as its short name.
pub(super) fn stem(file: &Path) -> String {
    file_name(file).split('.').next().unwrap_or_default().to_owned()
}

/// A figure in each row, a table on a GPU in each column.
pub(super) fn table(all: &[GpuFigures]) -> ResultTable {
    let mut table =
        ResultTable::new(std::iter::once("figure").chain(all.iter().map(|one| one.name.as_str())));
    let Some(first) = all.first() else { return table };
    for (index, (name, _)) in first.counts.iter().enumerate() {
        let counts = all.iter().map(|one| one.counts[index].1.into());
        table.push(std::iter::once((*name).into()).chain(counts).collect());
    }
    for (index, (name, _)) in first.figures.iter().enumerate() {
        let values = all.iter().map(|one| one.figures[index].1.into());
        table.push(std::iter::once((*name).into()).chain(values).collect());
    }
    table
}
