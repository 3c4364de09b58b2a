//! A made-up sweep: small convolutions on twelve kernels, with an invented cost model.

use std::fmt::Write as _;

use ck_select_measurements::{Measurements, RowScope};
use ck_select_model::directory::Target;
use ck_select_model::features::{Extractor, Rules, Schema};
use ck_select_train::{
    CardInputs, Folds, Goal, GroupBy, Mode, Objective, Params, Plan, Stop, TrainedForest, train,
};
use ck_select_types::hardware::Hardware;
use ck_select_types::vocab::{Direction, Dtype, Op};

pub(crate) const FEATURES: &[&str] = &[
    "N", "C", "K", "Hi", "Y", "gemm_m_per_block", "gemm_n_per_block", "gemm_k_per_block", "is_compv4",
    "num_tiles_m", "num_tiles_n", "num_tiles_k", "tile_eff_m", "wave_quant_efficiency",
];

/// A sweep as a benchmark CSV.
pub(crate) fn csv(problems: usize) -> String {
    let mut text = String::from(
        "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero\n",
    );
    for index in 0..problems {
        let pick = |salt: usize, of: &[i64]| {
            of[(index * (salt * 2 + 7) / (salt + 1) + index / (salt + 2)) % of.len()]
        };
        let (n, c, k) =
            (pick(0, &[1, 2, 4, 8, 16]), pick(1, &[64, 96, 128, 256]), pick(2, &[32, 64, 256, 512]));
        let (extent, filter) = (pick(3, &[7, 14, 28, 56]), pick(4, &[1, 3]));
        let (gm, gk) = ((n * extent * extent) as f64, (c * filter * filter) as f64);
        let work = 2.0 * gm * k as f64 * gk / 1e9;
        for (m, nn, kk) in
            [(16, 64, 64), (32, 64, 64), (64, 64, 64), (64, 128, 64), (128, 128, 64), (128, 64, 128)]
        {
            for pipeline in ["compv3", "compv4"] {
                let tiles = (gm / f64::from(m)).ceil() * (k as f64 / f64::from(nn)).ceil();
                let steps = (gk / f64::from(kk)).ceil();
                let waves = (tiles / 256.0).ceil();
                let taste = if pipeline == "compv4" && steps > 8.0 { 0.8 } else { 1.0 };
                let time =
                    2e-3 + waves * (3e-4 + steps * f64::from(m * nn * kk) * 3e-10 * taste + 1e-4 * steps);
                let _ = writeln!(
                    text,
                    "grouped_conv_forward_bf16_2d_{m}x{nn}x{kk}_{pipeline},{index},{n},{c},{k},1,{extent},\
                     {extent},{filter},{filter},1,1,{pad},{pad},{time:.6},{:.4},1",
                    work / time,
                    pad = filter / 2,
                );
            }
        }
    }
    text
}

/// The rows of files, by their names and texts.
pub(crate) fn read(op: Op, files: &[(&str, &str)]) -> Measurements {
    let wanted = RowScope { arch: Some("gfx950".parse().unwrap()), ..RowScope::all(op) };
    let mut measurements = Measurements::new(wanted);
    for (name, text) in files {
        measurements.add_text(name, text.as_bytes()).unwrap();
    }
    measurements
}

pub(crate) fn measurements(problems: usize) -> Measurements {
    read(Op::Conv, &[("sweep.csv", &csv(problems))])
}

/// A small training; `pairs` are parameters.
pub(crate) fn goal(target: Target, objective: Objective, pairs: &[(&str, &str)]) -> Goal {
    let mut params = Params::new(objective);
    for (name, value) in
        [("n_estimators", "20"), ("num_leaves", "7"), ("learning_rate", "0.1"), ("min_child_samples", "5")]
    {
        params.set(name, value).unwrap();
    }
    for (name, value) in pairs {
        params.set(name, value).unwrap();
    }
    Goal { target, objective, params }
}

pub(crate) fn plan(goals: Vec<Goal>) -> Plan {
    let arch = "gfx950".parse().unwrap();
    Plan {
        extractor: Extractor {
            schema: Schema::by_names(Op::Conv, FEATURES).unwrap(),
            rules: Rules::SUPERSET,
            hardware: Hardware::for_arch(&arch).unwrap(),
            arch: Some(arch),
            direction: Direction::Forward,
            is_ours: true,
        },
        categories: Vec::new(),
        goals,
        folds: Folds::Count(3),
        group_by: GroupBy::Problem,
        fold_seed: None,
        stop: Stop::Never,
        mode: Mode::Sweeps { prior: None },
        seed: 42,
        only_trains: Vec::new(),
        warm_start: None,
    }
}

pub(crate) fn inputs(measurements: &Measurements) -> CardInputs {
    CardInputs {
        name: "made_up".to_owned(),
        dtype: Some(Dtype::Bf16),
        direction: Some(Direction::Forward),
        command: "ckselect train --data sweep.csv".to_owned(),
        timestamp: "2026-01-02T03:04:05".to_owned(),
        digests: measurements.sources().iter().map(|_| "0".repeat(64)).collect(),
        curve: Vec::new(),
        places: Vec::new(),
    }
}

/// A model that ranks, with a forest of TFLOPS beside it.
pub(crate) fn made() -> (Measurements, Plan, Vec<TrainedForest>) {
    let measurements = measurements(30);
    let goals = vec![
        goal(Target::Relative, Objective::Listwise, &[]),
        goal(Target::Tflops, Objective::Log1p, &[]),
        goal(Target::Latency, Objective::Raw, &[]),
    ];
    let mut plan = plan(goals);
    plan.only_trains = vec![false];
    let trained = train(&measurements, &plan, &()).unwrap();
    (measurements, plan, trained)
}
