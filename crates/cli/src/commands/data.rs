//! Options for measurements, shared by the commands that read them.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use ck_select::directory::Model;
#[cfg(feature = "train")]
use ck_select::estimate::ops_like;
use ck_select::operation::Operation;
use ck_select::problem::Problem;
use ck_select::vocab::{Arch, Direction, Dtype, Op};
use ck_select_evaluate::candidates::repeated;
use ck_select_measurements::gpus::{FileGpu, measured_on};
use ck_select_measurements::{Measurements, ReadOptions, RowScope, files_of, first_row};

use super::gpu::Gpu;
use super::{list_of_pairs, say_ignored, unknown_name, word};
use crate::error::CliError;

/// Measured rows.
#[derive(clap::Args)]
pub(crate) struct Data {
    /// Measurements: benchmark CSVs as they are, or the output of `ckselect convert`
    #[arg(long = "data", value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) rows: WhereOption,
    #[command(flatten)]
    pub(crate) choose: ChooseOption,
}

/// What is chosen besides the kernel.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ChooseOption {
    /// Choose the number of parts into which a reduction is split, too: rows that differ only in it are of
    /// one problem
    #[arg(long, value_name = "FIELD", value_parser = ["split_k"])]
    choose: Option<String>,
}

impl ChooseOption {
    /// Whether the option is given.
    #[cfg(feature = "train")]
    pub(crate) const fn is_given(&self) -> bool {
        self.choose.is_some()
    }

    /// Whether the number of parts is chosen; an error for an operation that has none.
    pub(crate) fn chooses_split(&self, op: Op) -> Result<bool, CliError> {
        if self.choose.is_some() && !Problem::has_split(op) {
            refuse!("--choose: found split_k, which {op} problems do not have");
        }
        Ok(self.choose.is_some())
    }
}

/// Which measured rows count.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct WhereOption {
    /// Only rows with these values. Fields are op (gemm_universal, grouped_conv, fmha, moe), direction (forward,
    /// bwd_data, bwd_weight), dtype and run_id [default: those of the model, if there is one; else all of the
    /// first rows' op]
    #[arg(
        long = "where",
        value_name = "FIELD=VALUE,…",
        value_parser = RowFilter::from_text,
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) filter: RowFilter,
}

/// Values that measured rows have to have.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowFilter {
    pub(crate) op: Option<Op>,
    pub(crate) dtype: Option<Dtype>,
    pub(crate) direction: Option<Direction>,
    pub(crate) run_id: Option<String>,
}

impl RowFilter {
    fn from_text(text: &str) -> Result<Self, String> {
        let mut rows = Self::default();
        for (name, value) in list_of_pairs(text)? {
            match name {
                "op" => rows.op = Some(word(value)?),
                "dtype" => rows.dtype = Some(word(value)?),
                "direction" => rows.direction = Some(word(value)?),
                "run_id" => rows.run_id = Some(value.to_owned()),
                _ => return Err(unknown_name(name, &["op", "direction", "dtype", "run_id"])),
            }
        }
        Ok(rows)
    }

    /// The first row of each file that counts, for what the command line leaves to the data.
    pub(crate) fn first_rows(&self, files: &[PathBuf]) -> Result<FirstRows, CliError> {
        let mut rows = Vec::new();
        for file in files.iter().map(|path| files_of(path)).collect::<Result<Vec<_>, _>>()?.concat() {
            if let Some((op, arch)) = first_row(&file, self.op, self.dtype, self.run_id.as_deref())? {
                rows.push((file, op, arch));
            }
        }
        Ok(FirstRows(rows))
    }

    /// The operation, by default that of the files' rows.
    pub(crate) fn op_of(&self, files: &[PathBuf]) -> Result<Op, CliError> {
        let with_directions = self.direction.and_then(|_| Operation::with_field("direction"));
        self.op.or(with_directions).map_or_else(|| self.first_rows(files)?.op(), Ok)
    }

    /// Which rows are wanted of an operation and an architecture.
    pub(crate) fn scope(&self, op: Op, arch: Option<Arch>) -> Result<RowScope, CliError> {
        if let Some(direction) = self.direction.filter(|_| !Operation::has_field(op, "direction")) {
            refuse!("--where: found direction={direction}, but rows are of {op}");
        }
        Ok(RowScope { op, direction: self.direction, dtype: self.dtype, arch })
    }

    /// How rows are read: those of the run that counts.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions { run: self.run_id.clone(), ..ReadOptions::default() }
    }
}

/// The first row of each file, for what the command line leaves to the data.
pub(crate) struct FirstRows(Vec<(PathBuf, Op, Option<Arch>)>);

impl FirstRows {
    /// The operation of all of them; without any, that of tables which do not show theirs.
    pub(crate) fn op(&self) -> Result<Op, CliError> {
        Ok(self.common("--where op=", |(_, op, _)| Some(*op))?.unwrap_or(Operation::UNSTATED))
    }

    /// The operation of a universal model: that of the first file, if the estimate sees those of all files alike.
    #[cfg(feature = "train")]
    pub(crate) fn op_of_universal(&self) -> Result<Op, CliError> {
        let first = self.0.first().map(|row| row.1);
        let is_alike = |first| self.0.iter().all(|row| ops_like(first).any(|op| op == row.1));
        first.filter(|&first| is_alike(first)).map_or_else(|| self.op(), Ok)
    }

    /// The architecture that all of them record.
    pub(crate) fn arch(&self) -> Result<Option<Arch>, CliError> {
        self.common("--arch", |(_, _, arch)| *arch)
    }

    /// The architecture that was measured, which a training has to know: what all rows record, else the named one; a
    /// file of constants may name it as well.
    #[cfg(feature = "train")]
    pub(crate) fn measured_arch(&self, gpu: &Gpu) -> Result<Arch, CliError> {
        let unknown = || CliError::usage("--arch is missing, and the rows do not record what was measured");
        self.arch()?.map_or_else(|| gpu.named_arch(), |arch| Ok(Some(arch)))?.ok_or_else(unknown)
    }

    fn common<T: PartialEq + Display>(
        &self,
        option: &str,
        of: impl Fn(&(PathBuf, Op, Option<Arch>)) -> Option<T>,
    ) -> Result<Option<T>, CliError> {
        let mut named = self.0.iter().filter_map(|row| Some((row.0.display(), of(row)?)));
        let Some((first, value)) = named.next() else { return Ok(None) };
        match named.find(|(_, other)| *other != value) {
            Some((file, other)) => {
                refuse!("{option} is missing: {first} has rows of {value}, {file} of {other}")
            }
            None => Ok(Some(value)),
        }
    }
}

/// Refuses rows that leave a choice which the command line did not make: `op` and `arch` are its options.
pub(crate) fn check_choice(
    measurements: &Measurements,
    op: Option<Op>,
    arch: Option<Arch>,
) -> Result<(), CliError> {
    let RowScope { op: taken, arch: taken_arch, direction, dtype } = *measurements.scope();
    for source in measurements.sources() {
        let file = source.path.display();
        let other_arches: usize = source.other_arches.values().sum();
        if let (None, Some(taken), Some((other, _))) = (arch, taken_arch, source.other_arches.iter().next()) {
            refuse!("--arch is missing: {file} has rows of {taken} and of {other}");
        }
        if op.is_none() && direction.is_none() && dtype.is_none() && source.other > other_arches {
            refuse!("--where op= is missing: {file} has rows of {taken} and of another operation");
        }
    }
    Ok(())
}

/// A model for the requested operation: its own, or for a universal model one that the estimate sees alike,
/// which is by default that of the data.
pub(crate) fn serving(model: Model, data: &Data) -> Result<Model, CliError> {
    let own = model.spec().op();
    let op = match data.rows.filter.op {
        None if model.spec().prior.is_some() => Some(data.op()?),
        op => op,
    };
    let Some(op) = op.filter(|&op| op != own) else { return Ok(model) };
    let Some(model) = model.for_op(op) else { refuse!("--where: found op={op}, but the model is for {own}") };
    Ok(model)
}

/// Refuses files without a single row for a model to adapt.
#[cfg(feature = "train")]
pub(crate) fn check_any(measurements: &Measurements) -> Result<(), CliError> {
    let sources = measurements.sources();
    let (true, Some(source)) =
        (measurements.rows().is_empty(), sources.iter().find(|source| source.other > 0))
    else {
        return Ok(());
    };
    let (file, RowScope { op, arch, .. }) = (source.path.display(), measurements.scope());
    if let (Some((other, _)), Some(arch)) = (source.other_arches.iter().next(), arch) {
        fail!("{file}: found rows of {other}, expected rows of {arch}");
    }
    let others = Op::ALL.iter().filter(|other| *other != op);
    let others = others.map(|op| format!("--where op={op} for {}", Operation::get(*op).noun));
    let others = others.collect::<Vec<_>>().join(", ");
    fail!("{file}: found no row that is wanted, expected rows of {op}, or {others}")
}

impl Data {
    /// Reads the rows that a model is for. For a forced or a universal model, these are rows of any
    /// architecture unless one is requested.
    pub(crate) fn read_for(&self, model: &Model, arch: Option<Arch>) -> Result<Measurements, CliError> {
        let (spec, filter) = (model.spec(), &self.rows.filter);
        let scope = filter.scope(spec.op(), model.key().arch.or(arch))?;
        let (direction, dtype) = (scope.direction.or(spec.direction), scope.dtype.or(spec.dtype));
        self.read(RowScope { direction, dtype, ..scope })
    }

    /// Reads rows of one operation, by default that of the first row.
    pub(crate) fn read_all(&self, op: Option<Op>, arch: Option<Arch>) -> Result<Measurements, CliError> {
        let taken = op.map_or_else(|| self.op(), Ok)?;
        let measurements = self.read(self.rows.filter.scope(taken, arch)?)?;
        check_choice(&measurements, op, arch)?;
        Ok(measurements)
    }

    /// The operation of the rows.
    pub(crate) fn op(&self) -> Result<Op, CliError> {
        self.rows.filter.op_of(&self.files)
    }

    /// The GPU of the options, else of the architecture that the rows record.
    pub(crate) fn gpu(&self, given: &Gpu) -> Result<Gpu, CliError> {
        if given.is_given() {
            return Ok(given.clone());
        }
        Ok(Gpu::with_profile(self.rows.filter.first_rows(&self.files)?.arch()?))
    }

    fn read(&self, scope: RowScope) -> Result<Measurements, CliError> {
        let chooses_split = self.choose.chooses_split(scope.op)?;
        let options = ReadOptions { chooses_split, ..self.rows.filter.options() };
        let mut measurements = Measurements::with(scope, options);
        measurements.add_all(&self.files)?;
        look_over(&measurements)?;
        Ok(measurements)
    }
}

/// A universal model, or the estimate, for the GPU on which rows were measured: constants that the rows
/// record (`hw_*`) replace those of its profile, unless a file gives others.
pub(crate) fn as_measured(model: Model, gpu: &Gpu, measurements: &Measurements) -> Result<Model, CliError> {
    if model.spec().prior.is_none() || gpu.is_described() {
        return Ok(model);
    }
    gpu.check_known(&model, measurements.problems().iter(), measurements.kernels().iter())?;
    if measurements.hardware().is_none() {
        return Ok(model);
    }
    match gpu.arch.or(measurements.common_arch()?) {
        Some(arch) => Ok(model.on_device(measurements.device(arch)?, Some(arch))),
        None => Ok(model),
    }
}

/// Prints which columns and rows of the files are left out or count as one, and refuses files that were
/// measured on another architecture than their rows are taken for. Returns the GPUs of the files.
pub(crate) fn look_over(measurements: &Measurements) -> Result<Vec<FileGpu>, CliError> {
    say_left_out(measurements);
    for (source, unusable) in measurements.unusable().filter(|(_, unusable)| *unusable > 0) {
        say!(
            "ckselect: {}: {unusable} of {} rows do not count: the kernel failed, or there is no usable time",
            source.path.display(),
            source.rows
        );
    }
    let pairs = repeated(measurements);
    if pairs > 0 {
        say!(
            "ckselect: {pairs} pairs of a kernel and a problem were measured more than once: the median of \
             their speeds counts"
        );
    }
    Ok(measured_on(measurements)?)
}

/// Prints which files a model was trained on.
pub(crate) fn say_trained_on<'p>(files: impl Iterator<Item = &'p Path>, trained: &[bool]) {
    for (file, _) in files.zip(trained).filter(|(_, known)| **known) {
        say!(
            "ckselect: {}: the model was trained on this file: the figures say little about other problems",
            file.display()
        );
    }
}

/// Prints which columns and rows of the files are left out.
pub(crate) fn say_left_out(measurements: &Measurements) {
    for source in measurements.sources() {
        say_ignored(source.path.display(), &source.unknown);
        if let Some(left_out) = source.left_out(measurements.scope()) {
            say!("ckselect: {left_out}");
        }
    }
}
