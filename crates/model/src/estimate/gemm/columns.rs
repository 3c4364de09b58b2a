//! The columns of a universal model of GEMMs and convolutions: how the estimate sees a kernel.

use crate::estimate::formula::{EstimatedKernel, ROUNDS, balance, columns, compute_units, ratio};
use crate::estimate::load::Load;
use crate::estimate::shape::Kernels as _;

columns! { Load:
    Pair est_over_least = |s| (s.time / s.least).min(64.0),
        "estimated time over the least: all multiply-adds, or all bytes, at the device's rate";
    Pair est_rounds = |s| s.cycles.flowing.clamp(1.0 / ROUNDS, ROUNDS),
        "rounds of workgroups, as if they could be divided";
    Pair est_whole_rounds = |s| s.cycles.rounds.min(8.0), "whole rounds, 8 at most";
    Pair est_last_round = |s| s.cycles.last / s.cycles.resident,
        "share of the device that the last round fills";
    Pair est_uneven = |s| ratio(s.cycles.rounds + s.cycles.last / s.cycles.resident, s.cycles.flowing),
        "rounds over those as if they could be divided";
    Kernel est_resident = |s| s.cycles.resident.min(8.0), "workgroups that a compute unit holds, 8 at most";
    Kernel est_occupied = |s| s.cycles.occupied, "share of a compute unit's SIMDs that a workgroup occupies";
    Pair est_steps = |s| s.cycles.steps.min(256.0), "steps of a workgroup, 256 at most";
    Pair est_parts = |s| s.cycles.split.min(64.0), "parts that the depth is cut into, 64 at most";
    Pair est_filled_m = |s| s.cycles.filled[0], "share of the tiles' rows that the problem fills";
    Pair est_filled_n = |s| s.cycles.filled[1], "share of the tiles' columns";
    Pair est_filled_k = |s| s.cycles.filled[2], "share of the steps' depth";
    Pair est_filled = |s| s.cycles.filled.iter().product(), "the three together";
    Pair est_tiles_m = |s| s.cycles.tiles_m.min(64.0),
        "tiles along m, 64 at most";
    Kernel est_staged = |s| (s.shape.staged / 1024.0).min(512.0), "KiB that a step stages, 512 at most";
    Kernel est_tile_m = |s| s.shape.tile[0].min(256.0), "rows of a tile, 256 at most";
    Kernel est_tile_n = |s| s.shape.tile[1].min(256.0), "columns of a tile";
    Kernel est_tile_k = |s| s.shape.tile[2].min(256.0), "depth of a step";
    Kernel est_waves = |s| s.shape.waves.min(16.0), "waves of a workgroup, 16 at most";
    Kernel est_ahead = |s| s.shape.ahead, "how far loads run ahead: not, a step, a step with a second buffer";
    Kernel est_compv5 = |s| f64::from(u8::from(s.shape.compv5)),
        "whether the pipeline is compv5, which the estimate takes for compv3";
    Kernel est_two_stage = |s| f64::from(u8::from(s.shape.two_stage)),
        "whether a second kernel adds up parts";
    Pair est_width_a = |s| s.width(0), "elements of an access to A, 16 at most";
    Pair est_width_b = |s| s.width(1), "elements of an access to B";
    Pair est_width_c = |s| s.width(2), "elements of an access to the result";
    Kernel est_rate = |s| s.shape.tile.iter().product::<f64>() / (s.shape.arithmetic * s.shape.macs),
        "share of the device's rate that its instructions reach";
    Pair est_waits_share = |s| (s.cycles.waits * s.cycles.steps / (s.cycles.clock_mhz * s.time)).min(4.0),
        "waits of a workgroup's steps over the time";
    Pair est_start_share = |s| ratio(s.cycles.workgroup, s.cycles.steps * (s.cycles.work() + s.cycles.waits)),
        "cycles to start a workgroup over those of its steps";
    Pair est_waits_to_work = |s| ratio(s.cycles.waits, s.cycles.work()),
        "cycles that a step waits over those that it works";
    Pair est_loads_to_arithmetic = |s| ratio(s.cycles.loads, s.cycles.arithmetic),
        "cycles of accesses over those of arithmetic";
    Kernel est_fragments_to_arithmetic = |s| ratio(s.cycles.fragments, s.cycles.arithmetic),
        "cycles of fragments over those of arithmetic";
    Pair est_cache_share = |s| (s.cycles.cache / s.time).min(1.0), "what the caches need of the time";
    Pair est_memory_share = |s| (s.cycles.memory / s.time).min(1.0), "what the memory needs of the time";
    Pair est_second_stage_share = |s| (s.cycles.second_stage / s.time).min(1.0),
        "what the second stage needs of the time";
    Kernel est_compute_units = |s| compute_units(s.device), "compute units, 16 to 512";
    Kernel est_wave_size = |s| s.device.hardware.wavefront_size as f64, "threads of a wave";
    Kernel est_balance = |s| balance(s.device),
        "multiply-adds of 16 bits that the device does while a byte comes from memory, 16 to 512";
}

impl EstimatedKernel<'_, Load> {
    fn width(&self, axis: usize) -> f64 {
        self.shape.widths(self.load)[axis].min(16.0)
    }
}
