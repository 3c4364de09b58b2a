//! What a sweep will do, and what it did.

use std::path::Path;

use ck_select_measure::plan::{Cost, Plan};
use ck_select_measure::runner::OutcomeSource;
use ck_select_measure::shard::Shard;
use ck_select_measure::sidecar::PlanFacts;
use ck_select_measure::stop::StopReason;
use ck_select_measure::sweep::Summary;

use crate::error::CliError;
use crate::table::{Cell, Format, ResultTable};

/// Writes what a sweep would measure.
pub(super) fn plan(plan: &Plan, shard: Shard, cost: Cost, format: Format) -> Result<(), CliError> {
    let seconds: f64 = plan.pairs().map(|pair| cost.seconds(&plan.problem(pair))).sum();
    let PlanFacts { fingerprint, kernels, problems, pairs, shard } = PlanFacts::new(plan, shard);
    let rows = vec![
        ("shard", shard.into()),
        ("kernels", kernels.into()),
        ("problems", problems.into()),
        ("pairs", pairs.into()),
        ("pairs_left_out", plan.left_out().into()),
        ("estimated_s", seconds.into()),
        ("fingerprint", fingerprint.into()),
    ];
    write(rows, format)
}

/// Writes what was measured, by this run and in the whole log.
pub(super) fn sweep(summary: &Summary, plan: &Plan, format: Format) -> Result<(), CliError> {
    let tally = &summary.tally;
    let mut rows: Vec<(&str, Cell)> = vec![
        ("rows_written", summary.written.into()),
        ("rows_earlier", summary.earlier.into()),
        ("rows_remaining", summary.remaining.into()),
        ("measured", tally.measured.into()),
        ("unstable", tally.unstable.into()),
        ("cut_off", tally.cut_off.into()),
        ("failed", tally.failures().into()),
    ];
    for (class, &count) in &tally.failed {
        rows.push((class.as_str(), count.into()));
    }
    if let Some((tflops, pair)) = tally.best {
        rows.push(("best_tflops", tflops.into()));
        rows.push(("best_kernel", plan.kernel(pair).name.as_str().into()));
        rows.push(("best_problem", plan.requested(pair).idx.to_string().into()));
    }
    rows.push(("elapsed_s", summary.elapsed.as_secs_f64().into()));
    write(rows, format)
}

fn write(rows: Vec<(&str, Cell)>, format: Format) -> Result<(), CliError> {
    let mut table = ResultTable::new(["what", "value"]);
    for (what, value) in rows {
        table.push(vec![what.into(), value]);
    }
    table.print(format)
}

/// Says what remains and what failed, which decides about the exit code.
pub(super) fn say_how_it_ended(ran: &Summary, output: &Path) -> Result<(), CliError> {
    let (output, remaining, tally) = (output.display(), ran.remaining, &ran.tally);
    let remain = format!("{remaining} rows remain: continue with --resume");
    match ran.stopped {
        Some(StopReason::Signal(signal)) => {
            say!("ckselect: {output}: ended by signal {signal}, {remain}");
            return Err(CliError::Reported(u8::try_from(128 + signal).unwrap_or(1)));
        }
        Some(StopReason::Budget) => say!("ckselect: {output}: the budget is spent, {remain}"),
        None => {}
    }
    if tally.rows() == 0 || tally.measured > 0 {
        return Ok(());
    }
    let classes: Vec<String> = tally.failed.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let classes = classes.join(", ");
    fail!("{output}: nothing could be measured ({classes}): --resume=failed tries again")
}

/// Says what an order that leaves kernels out costs, which only a simulation knows.
pub(super) fn say_kept(whole: &Plan, all: &Plan, answers: &dyn OutcomeSource) {
    if whole.left_out_by_order() > 0
        && let Some((speed, problems)) = whole.kept_speed(all, answers)
    {
        let pairs = 100.0 * whole.len() as f64 / all.len() as f64;
        let speed = 100.0 * speed;
        say!(
            "ckselect: {pairs:.1} % of the pairs have {speed:.2} % of the best speed, the mean of {problems} \
             problems"
        );
    }
}
