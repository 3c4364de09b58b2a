//! `ckselect evaluate --winners`: how often the order of a pool begins with the winners of tuned tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::directory::Model;
use ck_select::estimate::Device;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::Splits;
use ck_select::vocab::{Arch, Op};
use ck_select_enumerate::rules::Rules;
use ck_select_evaluate::page;
use ck_select_evaluate::winners::winner_places;
use ck_select_measurements::digest;
use ck_select_measurements::places::GpuFigures;
use ck_select_measurements::trained::were_trained_on;
use ck_select_measurements::{Measurements, RowScope, Winners};
use serde_json::{Value, json};

use super::super::data::say_trained_on;
use super::super::{Allowance, load_model, pools, winners};
use super::Args;
use crate::error::CliError;
use crate::output;

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    super::check_suffixes(args, "--winners", &["html", "json"])?;
    let Some(pool) = &args.pool else {
        refuse!("--winners needs --pool: the kernels among which they won");
    };
    let model = read_model(args)?;
    let arch = args.arch.named_arch()?.or(model.as_ref().and_then(|model| model.key().arch));
    let op = op_of_pool(pool, arch)?;
    let tables = read_tables(args, op, arch)?;
    let splits = read_splits(args, op, &tables)?;
    let judge = Judge { args, pool, model, arch, splits };
    let archs: BTreeSet<Option<Arch>> = tables.gpus().iter().map(|(_, gpu)| gpu.arch).collect();
    let mut figures = Vec::new();
    for arch in archs {
        figures.extend(judge.on_arch(&tables, arch)?);
    }
    if figures.is_empty() {
        fail!("the tables have no winner of what was asked for");
    }
    write(args, op, judge.model.as_ref(), &figures)
}

/// The model of `--model`; `None` for the estimate.
fn read_model(args: &Args) -> Result<Option<Model>, CliError> {
    if args.allow.asks_estimate(Some(&args.model))? {
        return Ok(None);
    }
    let model = args.allow.apply(load_model(&args.model)?);
    let files = || args.winners.iter().map(PathBuf::as_path);
    say_trained_on(files(), &were_trained_on(model.spec(), files())?);
    Ok(Some(model))
}

/// The operation of `--pool`, which is not read where the name of a family says the operation and no
/// architecture says its kernels.
fn op_of_pool(pool: &Path, arch: Option<Arch>) -> Result<Op, CliError> {
    match pools::family(pool) {
        Some(family) if arch.is_none() => Ok(Rules::op_of_family(family)),
        _ => Ok(pools::read(pool, || Ok(arch))?.op()),
    }
}

/// The shapes of `--winners` that `--where` and an architecture leave.
fn read_tables(args: &Args, op: Op, arch: Option<Arch>) -> Result<Winners, CliError> {
    let scope = winners::scope(&args.data.rows.filter, op, arch)?;
    let tables = winners::read(&args.winners, &scope, &args.arch)?;
    let unmarked = tables.shapes.iter().filter(|shape| shape.winner.is_none()).count();
    if unmarked > 0 {
        let shapes = tables.shapes.len();
        say!("ckselect: left out: {unmarked} of {shapes} shapes: none of their rows is marked as the winner");
    }
    Ok(tables)
}

/// The tables' numbers of parts, where `--choose` says that one is chosen.
fn read_splits(args: &Args, op: Op, tables: &Winners) -> Result<Option<Splits>, CliError> {
    let splits = args.data.choose.chooses_split(op)?.then(|| tables.splits()).transpose();
    splits.map_err(|error| CliError::usage(format!("--choose: {error}")))
}

fn write(args: &Args, op: Op, model: Option<&Model>, figures: &[GpuFigures]) -> Result<(), CliError> {
    let document = json!({"gpus": figures.iter().map(GpuFigures::to_json).collect::<Vec<Value>>()});
    for path in &args.output {
        match output::suffix(path) {
            "html" => output::write_file(path, &page(args, op, model, figures)?)?,
            _ => output::write_json(path, &document)?,
        }
    }
    winners::table(figures).print_beside(args.format, || document)
}

fn page(args: &Args, op: Op, model: Option<&Model>, figures: &[GpuFigures]) -> Result<String, CliError> {
    // The page has no measurements.
    let none = Measurements::new(RowScope::all(op));
    let made = super::super::provenance(model.map(|_| &*args.model), &none)?;
    let digested = |file: &PathBuf| Ok((output::file_name(file), digest::of_file(file)?));
    let tables = args.winners.iter().map(digested).collect::<Result<Vec<_>, CliError>>()?;
    Ok(page::winners(&output::file_name(&args.model), figures, &tables, &made))
}

/// The order of a pool by a model, by which winners are judged.
struct Judge<'a> {
    args: &'a Args,
    /// The file or the family of `--pool`.
    pool: &'a Path,
    /// `None` for the estimate.
    model: Option<Model>,
    /// The architecture that `--arch` names or the model is for.
    arch: Option<Arch>,
    /// The numbers of parts, where one is chosen.
    splits: Option<Splits>,
}

impl Judge<'_> {
    /// The figures of the tables of one architecture.
    fn on_arch(&self, tables: &Winners, arch: Option<Arch>) -> Result<Vec<GpuFigures>, CliError> {
        if let Some(arch) = arch
            && tables.has_tables_of_engines()
            && Device::for_arch(arch).is_err()
        {
            say!("ckselect: left out: the tables of {arch}, whose constants are not known");
            return Ok(Vec::new());
        }
        // Families, and AITER's tables, have other kernels on each architecture.
        let pool = Arc::new(self.read_pool(tables, self.arch.or(arch))?);
        let tables = winners::among(tables.clone().on(arch), std::slice::from_ref(&pool))?;
        self.among(&tables, &pool)
    }

    /// The kernels of `--pool` that can be built or were measured.
    fn read_pool(&self, tables: &Winners, arch: Option<Arch>) -> Result<Pool, CliError> {
        let pool = pools::read(self.pool, || Ok(arch))?;
        let keeps = self.args.allow.has(Allowance::Unbuildable);
        let is_measured = |kernel: &Kernel| tables.kernels().iter().any(|other| other.kind == kernel.kind);
        pools::buildable(self.pool, pool, arch, keeps, is_measured)
    }

    /// The figures of each table on each GPU.
    fn among(&self, tables: &Winners, pool: &Arc<Pool>) -> Result<Vec<GpuFigures>, CliError> {
        let described = self.args.arch.described()?.map(|described| described.device);
        let mut figures = Vec::new();
        for (file, gpu) in tables.gpus() {
            let Some(arch) = gpu.arch else {
                let file = file.display();
                refuse!("{file}: the table does not record its GPU: give --arch");
            };
            let device = gpu.device_from(described.map_or_else(|| Device::for_arch(arch), Ok)?);
            let model = self.model_on(device, arch, pool.op())?;
            let places = winner_places(model, tables, (file, gpu), pool, self.splits.as_ref())?;
            let file = if self.args.winners.len() > 1 { winners::stem(file) + " " } else { String::new() };
            figures.extend(GpuFigures::new(format!("{file}{gpu}"), pool.len(), &places));
        }
        Ok(figures)
    }

    /// The model, or the estimate, with the constants of a GPU.
    fn model_on(&self, device: Device, arch: Arch, op: Op) -> Result<Model, CliError> {
        Ok(match &self.model {
            None => Model::from_estimate(op, device)?.for_arch(arch),
            Some(model) if model.spec().prior.is_some() => model.clone().on_device(device, Some(arch)),
            Some(model) => model.clone().with_hardware(device.hardware),
        })
    }
}
