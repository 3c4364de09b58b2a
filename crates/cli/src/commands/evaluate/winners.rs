//! `ckselect evaluate --winners`: how often the order of a pool begins with the winners of tuned tables.

use std::sync::Arc;

use ck_select::model::Model;
use ck_select_data::places::GpuFigures;
use ck_select_study::winners::placed;
use serde_json::{Value, json};

use super::super::{load_model, pools, winners};
use super::Args;
use crate::error::CliError;
use crate::output;

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let Some(pool) = &args.pool else {
        return Err(CliError::usage("--winners needs --pool: the kernels among which they won"));
    };
    let is_estimate = args.allow.asks_estimate(Some(&args.model))?;
    let model = if is_estimate { None } else { Some(args.allow.apply(load_model(&args.model)?)) };
    let asked = args.arch.named_arch()?.or(model.as_ref().and_then(|model| model.key().arch));
    let pools = [Arc::new(pools::read(pool, || Ok(asked))?)];
    let pool = &pools[0];
    let tables = winners::read(&args.winners, &pools, asked)?;
    let mut all = Vec::new();
    for (file, gpu) in tables.gpus() {
        let Some(arch) = gpu.arch else {
            return Err(CliError::usage(
                "--arch is missing, and the tables do not say what they were measured on",
            ));
        };
        let mut device = gpu.device(arch)?;
        if args.arch.file().is_some() {
            device.hardware = args.arch.over(device.hardware)?;
        }
        let model = match &model {
            None => Model::of_estimate(pool.op(), device)?.of_arch(arch),
            Some(model) if model.spec().prior.is_some() => model.clone().on_device(device, Some(arch)),
            Some(model) => model.clone().with_hardware(device.hardware),
        };
        let placed = placed(model, &tables, (file, gpu), pool)?;
        let file = if args.winners.len() > 1 { winners::stem(file) + " " } else { String::new() };
        all.extend(GpuFigures::of(format!("{file}{gpu}"), pool.len(), &placed));
    }
    if all.is_empty() {
        return Err(CliError::failed("the tables have no winner on the GPU that was asked for"));
    }
    let document = json!({"gpus": all.iter().map(GpuFigures::to_json).collect::<Vec<Value>>()});
    for path in &args.output {
        if output::suffix(path) != "json" {
            return Err(CliError::usage(format!("--output {}: --winners writes .json", path.display())));
        }
        output::write_json(path, &document)?;
    }
    winners::table(&all).print_beside(args.format, || document)
}
