//! `--order` of `ckselect bench`: in which order a problem's kernels are measured, and which are left out.

use std::path::Path;

use ck_select::directory::Model;
use ck_select::estimate::{Estimator, GpuOverride};
use ck_select::kernel::Kernel;
use ck_select::nearest::Hint;
use ck_select::pool::Pool;
use ck_select_measure::plan::Plan;
use ck_select_measure::problems::ProblemSet;

use super::super::gpu::check_arch;
use super::super::{UNIVERSAL, load_model};
use super::Args;
use crate::error::CliError;

/// An order of a problem's kernels, and what it keeps of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    Pool,
    Estimate(Keep),
    Model(Keep),
}

/// Which kernels of a problem are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Keep {
    All,
    First(usize),
    /// The kernels whose estimated time is at most this many times the fastest kernel's.
    Within(f64),
    /// As many of the first kernels as have to be measured to be sure of a nearly fastest one.
    UntilSure,
}

/// How many kernels of a problem are measured by default where the GPU is known: of 546, they keep 100.00 %
/// of the best speed (docs/results.md).
const PROMISING: usize = 30;

/// Reads `pool`, or `estimate` and `model` with what they keep.
pub(super) fn read(text: &str) -> Result<Order, String> {
    let (by, keep) = match text.split_once(':') {
        None => (text, Keep::All),
        Some((by, "auto")) => (by, Keep::UntilSure),
        Some((by, keep)) if keep.ends_with('x') => (by, Keep::Within(factor(keep)?)),
        Some((by, keep)) => {
            let count = keep.parse().ok().filter(|count| *count > 0);
            let count =
                count.ok_or("expected a number of kernels such as 10, a factor such as 1.35x, or auto")?;
            (by, Keep::First(count))
        }
    };
    match (by, keep) {
        ("pool", Keep::All) => Ok(Order::Pool),
        ("pool", _) => Err("the pool's order says nothing of what to leave out".to_owned()),
        ("estimate", keep) => Ok(Order::Estimate(keep)),
        ("model", Keep::Within(_)) => Err("a factor is for the estimate, whose scores are times".to_owned()),
        ("model", keep) => Ok(Order::Model(keep)),
        (by, _) => {
            Err(format!("expected pool, estimate or model{}", Hint::new(by, ["pool", "estimate", "model"])))
        }
    }
}

/// Reads `5x` or `5`.
pub(super) fn factor(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|factor| *factor >= 1.0 && factor.is_finite())
        .ok_or_else(|| "expected a factor of 1 or more, such as 5x".to_owned())
}

/// Prints how many kernels the estimate cannot order, and refuses a pool of nothing else.
fn say_without_estimate(estimator: &Estimator, pool: &Pool) -> Result<(), CliError> {
    let faults: Vec<_> = pool.iter().filter_map(|kernel| estimator.shape(&kernel.kind).err()).collect();
    let Some(first) = faults.first() else { return Ok(()) };
    let (count, all) = (faults.len(), pool.len());
    if count == all {
        fail!("--order estimate: none of the {all} kernels has one: {first}");
    }
    say!("ckselect: kernels without an estimate come last, {count} of {all}: {first}");
    Ok(())
}

/// The plan in the requested order, without the kernels that this order leaves out.
pub(super) fn ordered(args: &Args, plan: Plan, pool: &Pool, problems: &ProblemSet) -> Result<Plan, CliError> {
    let names_gpu = args.arch.is_given();
    let usual = if names_gpu { Order::Model(Keep::First(PROMISING)) } else { Order::Pool };
    let order = args.order.unwrap_or(usual);
    if args.model.is_some() && !matches!(order, Order::Model(_)) {
        refuse!("--model needs --order model");
    }
    let (plan, keep) = match order {
        Order::Pool if names_gpu => {
            refuse!("--arch needs --order estimate or --order model");
        }
        Order::Pool => (plan, Keep::All),
        Order::Estimate(keep) => (by_estimate(args, &plan, keep, pool, problems)?, keep),
        Order::Model(keep) => {
            let model = model_of(args, pool, problems)?;
            (if keep == Keep::UntilSure { plan.until_sure(model)? } else { plan.by_model(model)? }, keep)
        }
    };
    let plan = if let Keep::First(count) = keep { plan.first(count) } else { plan };
    if plan.left_out_by_order() > 0 {
        let (count, kept) = (plan.left_out_by_order(), plan.len());
        say!("ckselect: {count} pairs are left out as less promising, {kept} are kept");
    }
    Ok(plan)
}

fn by_estimate(
    args: &Args,
    plan: &Plan,
    keep: Keep,
    pool: &Pool,
    problems: &ProblemSet,
) -> Result<Plan, CliError> {
    let GpuOverride { arch, device } = args.arch.device()?;
    for one in &problems.problems {
        check_arch(arch, &one.problem)
            .map_err(|reason| CliError::failed(format!("{}: {reason}", one.problem)))?;
    }
    let elsewhere = |kernel: &&Kernel| kernel.kind.arch().is_some_and(|named| named != arch);
    if let Some(kernel) = pool.iter().find(elsewhere) {
        fail!("{} does not run on {arch}, for which --order wants estimates", kernel.name);
    }
    let estimator = Estimator::new(device);
    say_without_estimate(&estimator, pool)?;
    Ok(match keep {
        Keep::Within(factor) => plan.within(&estimator, factor),
        Keep::UntilSure => plan.until_sure(args.arch.estimate(pool.op())?)?,
        _ => plan.by_estimate(&estimator),
    })
}

/// The model of `--order model` on the GPU that is swept.
fn model_of(args: &Args, pool: &Pool, problems: &ProblemSet) -> Result<Model, CliError> {
    let model = load_model(args.model.as_deref().unwrap_or(Path::new(UNIVERSAL)))?;
    let model = args.arch.model_on(model)?;
    let problems = problems.problems.iter().map(|requested| &requested.problem);
    args.arch.check_known(&model, problems, pool.iter())?;
    Ok(model)
}
