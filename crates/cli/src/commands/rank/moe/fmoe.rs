//! `ckselect rank --format aiter` of mixtures of experts: rows of AITER's `tuned_fmoe.csv`, each with a kernel
//! of both stages. The two have the same rows of a tile (`block_m`), to which AITER pads an expert's rows.

use std::collections::{BTreeMap, HashSet};

use ck_select::kernel::KernelKind;
use ck_select::moe::MoeProblem;
use ck_select::problem::{FieldSet, ProblemDefaults};
use ck_select::ranking::{RankScratch, Ranker};
use ck_select::sheet::aiter::FMOE_COLUMNS;
use ck_select::vocab::{Arch, Dtype, GemmLibrary, MoeActivation, MoeQuant, Op};

use super::super::super::gpu::{expect_units, reason};
use super::super::super::tuned_table::torch_type;
use super::super::rows::hardware;
use super::super::{Args, Query};
use super::stages::{SHARES, StageRanker, both_stages};
use crate::error::CliError;
use crate::output::Output;
use crate::table::{Cell, Format, StreamedTable};

/// Writes the table, if the pool has kernels of mixtures of experts; returns whether it has.
pub(in super::super) fn run(args: &Args) -> Result<bool, CliError> {
    match super::super::ranker(args) {
        Ok((ranker, defaults)) if ranker.pool().op() == Op::Moe => {
            write(args, &ranker, defaults).map(|()| true)
        }
        _ => Ok(false),
    }
}

fn write(args: &Args, ranker: &Ranker, defaults: ProblemDefaults) -> Result<(), CliError> {
    let Some(arch) = args.ranker.arch_of_pool(Some(ranker.model()))? else {
        refuse!("--format aiter: give --arch, of whose GPUs the table is");
    };
    expect_units("--format aiter", arch, args.ranker.arch.units()?)?;
    let hardware = hardware(ranker);
    let query = Query::new(args, ranker.pool(), defaults)?;
    let stages = StageRanker { ranker, arch: Some(arch) };
    let mut seen = HashSet::new();
    let create = || {
        let output = Output::create(args.output.as_deref())?;
        Ok(StreamedTable::new(Format::Csv, output, FMOE_COLUMNS.to_vec()))
    };
    let table = query.each(hardware, create, |table, label, problem| {
        let Some(problem) = both_stages(problem).filter(|problem| seen.insert(*problem)) else {
            return Ok(());
        };
        match best_pair(&stages, &problem)? {
            Ok(pair) => {
                query.notes.count(FieldSet::NONE);
                table.push(cells(&problem, hardware.num_cus, arch, &pair))
            }
            Err(reason) => query.notes.skip(label, reason).map(drop),
        }
    })?;
    table.finish()
}

/// A kernel of each stage, with the rows of their tiles.
struct Pair {
    block_m: u32,
    names: [String; 2],
}

/// The kernels of both stages that take the least time together, or why there are none.
fn best_pair(stages: &StageRanker<'_>, problem: &MoeProblem) -> Result<Result<Pair, String>, CliError> {
    let mut scratch = RankScratch::default();
    let mut best: BTreeMap<u32, [Option<(f64, usize)>; 2]> = BTreeMap::new();
    for (position, stage) in problem.stages().enumerate() {
        let times = match stages.times(&stage, &mut scratch)? {
            Ok(times) => times,
            Err(error) => return Ok(Err(reason(&error))),
        };
        for (index, kernel) in stages.ranker.pool().iter().enumerate() {
            let KernelKind::Moe(kernel) = &kernel.kind else { continue };
            let time = times[index] * SHARES[position];
            if kernel.library != GemmLibrary::Aiter || !time.is_finite() {
                continue;
            }
            let own = &mut best.entry(kernel.tile.m).or_default()[position];
            if own.is_none_or(|(least, _)| time < least) {
                *own = Some((time, index));
            }
        }
    }
    let pairs = best.into_iter().filter_map(|(block_m, [first, second])| Some((block_m, first?, second?)));
    let least = pairs.min_by(|one, other| (one.1.0 + one.2.0).total_cmp(&(other.1.0 + other.2.0)));
    let Some((block_m, (_, first), (_, second))) = least else {
        return Ok(Err("no two of CK's kernels with the same rows of a tile".to_owned()));
    };
    Ok(Ok(Pair { block_m, names: [first, second].map(|index| stages.ranker.name(index).to_owned()) }))
}

fn cells(problem: &MoeProblem, units: i64, arch: Arch, pair: &Pair) -> Vec<Cell> {
    let MoeProblem {
        tokens, experts, topk, n, k, dtype_a, dtype_b, quant, activation, weighted_first, ..
    } = *problem;
    let whole = |number: i64| Cell::Count(number.unsigned_abs());
    let [first, second] = &pair.names;
    FMOE_COLUMNS
        .map(|column| match column {
            "cu_num" => whole(units),
            "token" => whole(tokens),
            "model_dim" => whole(k),
            "inter_dim" => whole(n / 2),
            "expert" => whole(experts),
            "topk" => whole(topk),
            "act_type" => activation_word(activation).into(),
            // Activations between the stages are in 16 bits.
            "dtype" => {
                torch_type(if dtype_a == Dtype::Fp16 { Dtype::Fp16 } else { Dtype::Bf16 }, arch).into()
            }
            "q_dtype_a" => torch_type(dtype_a, arch).into(),
            "q_dtype_w" => torch_type(dtype_b, arch).into(),
            "q_type" => quant_word(quant).into(),
            "use_g1u1" => whole(1),
            "doweight_stage1" => whole(weighted_first.into()),
            "block_m" => whole(pair.block_m.into()),
            "kernelName1" => first.as_str().into(),
            "kernelName2" => second.as_str().into(),
            "err1" | "err2" => "0.0%".into(),
            // Any measured row replaces it.
            "us" | "us1" | "us2" => f64::INFINITY.into(),
            _ => whole(0),
        })
        .into()
}

const fn quant_word(quant: MoeQuant) -> &'static str {
    match quant {
        MoeQuant::None => "QuantType.No",
        MoeQuant::Tensor => "QuantType.per_Tensor",
        MoeQuant::Token => "QuantType.per_Token",
        MoeQuant::Mx => "QuantType.per_1x32",
        MoeQuant::Block => "QuantType.per_1x128",
    }
}

const fn activation_word(activation: MoeActivation) -> &'static str {
    match activation {
        MoeActivation::Silu => "ActivationType.Silu",
        MoeActivation::Gelu => "ActivationType.Gelu",
        MoeActivation::Swiglu => "ActivationType.Swiglu",
        MoeActivation::Situv2 => "ActivationType.Situv2",
    }
}
