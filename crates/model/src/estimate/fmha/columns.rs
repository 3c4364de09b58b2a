//! The columns of a universal model of attention: how the estimate sees a kernel.

use super::FmhaLoad;
use crate::estimate::formula::{EstimatedKernel, ROUNDS, balance, columns, compute_units, ratio};

columns! { FmhaLoad:
    Pair est_over_least = |s| (s.time / s.least).min(64.0),
        "estimated time over the least: its products alone, or all bytes at the device's rate";
    Pair est_rounds = |s| s.cycles.flowing.clamp(1.0 / ROUNDS, ROUNDS),
        "rounds of workgroups, as if they could be divided";
    Pair est_whole_rounds = |s| s.cycles.flowing.floor().min(8.0), "whole rounds, 8 at most";
    Pair est_last_round = |s| s.cycles.last / s.cycles.resident,
        "share of the device that the last round fills";
    Pair est_resident = |s| s.cycles.resident.min(8.0), "workgroups that a compute unit holds, 8 at most";
    Pair est_occupied = |s| s.cycles.occupied, "share of a compute unit's SIMDs that a workgroup occupies";
    Pair est_steps = |s| s.cycles.steps.mean.min(256.0), "tiles of keys of a workgroup, 256 at most";
    Pair est_longest = |s| ratio(s.cycles.steps.most, s.cycles.steps.mean),
        "those of the longest workgroup over the mean";
    Pair est_cut = |s| s.cycles.steps.cut.min(1.0), "share of the steps that the mask cuts";
    Pair est_parts = |s| s.cycles.parts.min(64.0), "parts that the keys are split into, 64 at most";
    Pair est_filled_q = |s| s.filled(0), "share of the tiles' queries that there are";
    Pair est_filled_k = |s| s.filled(1), "share of the tiles' keys";
    Kernel est_tile_q = |s| s.shape.tile[0].min(256.0), "queries of a tile, 256 at most";
    Kernel est_tile_k = |s| s.shape.tile[1].min(256.0), "keys of a tile";
    Kernel est_tile_v = |s| s.shape.tile[2].min(256.0), "elements of values of a tile";
    Kernel est_depth_step = |s| s.shape.depth_step.min(256.0), "elements of queries and keys of a step";
    Kernel est_waves = |s| s.shape.waves.min(16.0), "waves of a workgroup, 16 at most";
    Kernel est_ahead = |s| f64::from(u8::from(s.shape.ahead)), "whether loads run ahead";
    Kernel est_pads = |s| f64::from(s.shape.pads), "extents that the kernel pads, of four";
    Pair est_shared = |s| s.load.shared().min(64.0), "heads of queries for each head of keys, 64 at most";
    Pair est_waits_to_work = |s| ratio(s.cycles.waits, s.cycles.work()),
        "cycles that a step waits over those that it works";
    Pair est_softmax_to_products = |s| ratio(s.cycles.softmax, s.cycles.products),
        "cycles of the softmax over those of the products";
    Pair est_fragments_to_products = |s| ratio(s.cycles.fragments, s.cycles.products),
        "cycles of fragments over those of the products";
    Pair est_loads_to_products = |s| ratio(s.cycles.loads, s.cycles.products),
        "cycles of accesses over those of the products";
    Pair est_cache_share = |s| (s.cycles.cache / s.time).min(1.0), "what the caches need of the time";
    Pair est_memory_share = |s| (s.cycles.memory / s.time).min(1.0), "what the memory needs of the time";
    Pair est_second_stage_share = |s| (s.cycles.second_stage / s.time).min(1.0),
        "what parts need of the time";
    Kernel est_compute_units = |s| compute_units(s.device), "compute units, 16 to 512";
    Kernel est_wave_size = |s| s.device.hardware.wavefront_size as f64, "threads of a wave";
    Kernel est_balance = |s| balance(s.device),
        "multiply-adds of 16 bits that the device does while a byte comes from memory, 16 to 512";
}

impl EstimatedKernel<'_, FmhaLoad> {
    fn filled(&self, axis: usize) -> f64 {
        self.load.filled(self.shape.tile)[axis]
    }
}
