//! `ckselect evaluate --winners`: how often the order of a pool begins with the winners of tuned tables.

use std::collections::BTreeSet;
use std::path::PathBuf;
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
    let is_estimate = args.allow.asks_estimate(Some(&args.model))?;
    let model = if is_estimate { None } else { Some(args.allow.apply(load_model(&args.model)?)) };
    if let Some(model) = &model {
        let files = || args.winners.iter().map(PathBuf::as_path);
        say_trained_on(files(), &were_trained_on(model.spec(), files())?);
    }
    let asked = args.arch.named_arch()?.or(model.as_ref().and_then(|model| model.key().arch));
    let pool_on = |arch| pools::read(pool, || Ok(arch));
    let family = pools::family(pool).filter(|_| asked.is_none());
    let op = family
        .map_or_else(|| Ok(pool_on(asked)?.op()), |family| Ok::<_, CliError>(Rules::op_of_family(family)))?;
    let wanted = winners::scope(&args.data.rows.filter, op, asked)?;
    let tables = winners::read(&args.winners, &wanted, &args.arch)?;
    let unmarked = tables.shapes.iter().filter(|shape| shape.winner.is_none()).count();
    if unmarked > 0 {
        let all = tables.shapes.len();
        say!("ckselect: left out: {unmarked} of {all} shapes: none of their rows is marked as the winner");
    }
    let chooses = args.data.choose.chooses_split(op)?;
    let splits = chooses.then(|| tables.splits()).transpose();
    let splits = splits.map_err(|error| CliError::usage(format!("--choose: {error}")))?;
    let archs: BTreeSet<Option<Arch>> = tables.gpus().iter().map(|(_, gpu)| gpu.arch).collect();
    let mut all = Vec::new();
    for arch in archs {
        if let Some(other) =
            arch.filter(|arch| tables.has_tables_of_engines() && Device::for_arch(*arch).is_err())
        {
            say!("ckselect: left out: the tables of {other}, whose constants are not known");
            continue;
        }
        // Families, and AITER's tables, have other kernels on each architecture.
        let arch_of_pool = asked.or(arch);
        let is_measured = |kernel: &Kernel| tables.kernels().iter().any(|other| other.kind == kernel.kind);
        let keeps = args.allow.has(Allowance::Unbuildable);
        let pool = pools::buildable(pool, pool_on(arch_of_pool)?, arch_of_pool, keeps, is_measured)?;
        let pool = Arc::new(pool);
        let tables = winners::among(tables.clone().on(arch), std::slice::from_ref(&pool))?;
        judge(args, (model.as_ref(), splits.as_ref()), &tables, &pool, &mut all)?;
    }
    if all.is_empty() {
        fail!("the tables have no winner of what was asked for");
    }
    let document = json!({"gpus": all.iter().map(GpuFigures::to_json).collect::<Vec<Value>>()});
    for path in &args.output {
        match output::suffix(path) {
            "html" => output::write_file(path, &page(args, op, model.as_ref(), &all)?)?,
            _ => output::write_json(path, &document)?,
        }
    }
    winners::table(&all).print_beside(args.format, || document)
}

fn page(args: &Args, op: Op, model: Option<&Model>, all: &[GpuFigures]) -> Result<String, CliError> {
    // The page has no measurements.
    let none = Measurements::new(RowScope::all(op));
    let made = super::super::provenance(model.map(|_| &*args.model), &none)?;
    let digested = |file: &PathBuf| Ok((output::file_name(file), digest::of_file(file)?));
    let tables = args.winners.iter().map(digested).collect::<Result<Vec<_>, CliError>>()?;
    Ok(page::winners(&output::file_name(&args.model), all, &tables, &made))
}

/// Adds the figures of each table on each GPU.
fn judge(
    args: &Args,
    (model, splits): (Option<&Model>, Option<&Splits>),
    tables: &Winners,
    pool: &Arc<Pool>,
    all: &mut Vec<GpuFigures>,
) -> Result<(), CliError> {
    let described = args.arch.described()?.map(|described| described.device);
    for (file, gpu) in tables.gpus() {
        let Some(arch) = gpu.arch else {
            let file = file.display();
            refuse!("{file}: the table does not record its GPU: give --arch");
        };
        let device = gpu.device_from(described.map_or_else(|| Device::for_arch(arch), Ok)?);
        let model = match model {
            None => Model::from_estimate(pool.op(), device)?.for_arch(arch),
            Some(model) if model.spec().prior.is_some() => model.clone().on_device(device, Some(arch)),
            Some(model) => model.clone().with_hardware(device.hardware),
        };
        let placed = winner_places(model, tables, (file, gpu), pool, splits)?;
        let file = if args.winners.len() > 1 { winners::stem(file) + " " } else { String::new() };
        all.extend(GpuFigures::new(format!("{file}{gpu}"), pool.len(), &placed));
    }
    Ok(())
}
