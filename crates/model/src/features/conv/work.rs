//! Features of our own for grouped convolutions: how much work a kernel does for a problem, and how it is
//! distributed.
//!
//! Upstream's features say how large a problem and a tile are. These describe the consequences: how much of
//! the tiles is padding, how often the device is filled, what the busiest compute unit computes, loads and
//! stores, and how often operands are read again. `docs/features.md` has the formulas. They take groups into
//! account: a group has `C / G` and `K / G` channels, and workgroups of its own.

use super::terms::{ConvKernelTerms, ConvTerms, Work};
use crate::features::block::blocks;
use crate::features::exact::{flag, ratio, rest};
use crate::features::hardware::compute_units;
use crate::features::{Feature, features};
use crate::hardware::Hardware;
use crate::problem::ConvProblem;
use crate::vocab::Direction;

fn is_pointwise(p: &ConvTerms) -> f64 {
    let ConvProblem { filter, stride, pad_left, .. } = p.problem;
    flag(filter == [1; 3] && stride == [1; 3] && pad_left == [0; 3])
}

/// The tile, each extent at least 1.
fn tile(k: &ConvKernelTerms) -> [f64; 3] {
    [k.gemm_m_per_block, k.gemm_n_per_block, k.k_tile].map(|extent| extent.max(1) as f64)
}

fn tile_intensity(k: &ConvKernelTerms) -> f64 {
    let [m, n, _] = tile(k);
    m * n / (m + n)
}

/// `useful / provided`; 1 if nothing is provided.
#[inline(always)]
fn share(useful: f64, provided: f64) -> f64 {
    if provided > 0.0 { useful / provided } else { 1.0 }
}

/// Waves of one workgroup.
fn waves(k: &ConvKernelTerms, h: &Hardware) -> f64 {
    ratio(k.block_size.into(), h.wavefront_size.into()).max(1.0)
}

blocks! {
    /// The kernel's part of a [`WorkPair`].
    pub(super) struct WorkShape in WorkShapes {
        tile: [f64; 3],
        /// Tiles in shared memory. compv4 takes twice its tile. A `dsb` in a name is ignored: its effect was
        /// never measured.
        buffers: f64,
        /// Waves of a workgroup.
        waves: f64,
        /// Workgroups whose waves a compute unit can hold.
        by_waves: f64,
    }
}

impl WorkShape {
    pub(super) fn new(kernel: &ConvKernelTerms, hardware: &Hardware) -> Self {
        let waves = waves(kernel, hardware);
        Self {
            tile: tile(kernel),
            buffers: if kernel.pipeline.half_lds { 2.0 } else { 1.0 },
            waves,
            by_waves: hardware.max_waves_per_cu as f64 / waves,
        }
    }
}

/// The problem's part of a [`WorkPair`].
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkLoad {
    work: Work,
    groups: f64,
    element_bytes: f64,
    cus: f64,
    lds_capacity: f64,
}

impl WorkLoad {
    pub(super) fn new(terms: &ConvTerms, hardware: &Hardware) -> Self {
        Self {
            work: terms.work,
            groups: terms.problem.g as f64,
            element_bytes: terms.element_bytes,
            cus: compute_units(hardware),
            lds_capacity: hardware.lds_capacity as f64,
        }
    }
}

blocks! {
    /// A kernel on the direction's GEMM.
    pub(super) struct WorkPair in WorkPairs {
        /// Each extent at least 1.
        tile: [f64; 3],
        /// Workgroups, without splitting the depth.
        blocks: f64,
        /// Shares of tiles and steps that are not padding.
        used: [f64; 3],
        /// Workgroups of the busiest compute unit.
        rounds: f64,
        blocks_per_cu: f64,
        resident_rounds: f64,
        resident_fill: f64,
        /// Steps along the depth.
        steps: f64,
        /// Steps of the busiest compute unit.
        cu_steps: f64,
        /// Elements that a step loads.
        step_elements: f64,
        cu_macs: f64,
        staged_bytes: f64,
        reread_bytes: f64,
        /// Waves of a workgroup.
        waves: f64,
    }
}

impl WorkPair {
    #[inline(always)]
    pub(super) fn new(load: &WorkLoad, shape: &WorkShape, lds_usage: f64) -> Self {
        let &WorkLoad {
            work: Work { extents, loaded, stored, .. },
            groups,
            element_bytes,
            cus,
            lds_capacity,
        } = load;
        let &WorkShape { tile, buffers, waves, by_waves } = shape;
        // Tiles of one group.
        let tiles: [f64; 3] = std::array::from_fn(|axis| (extents[axis] / tile[axis]).ceil());
        let blocks = tiles[0] * tiles[1] * groups;
        let rounds = (blocks / cus).ceil();
        // Limited by shared memory and by waves. Registers are not known.
        let by_memory = lds_capacity / (lds_usage * buffers).max(1.0);
        let blocks_per_cu = by_memory.min(by_waves).floor().max(1.0);
        let resident_rounds = (blocks / (cus * blocks_per_cu)).ceil();
        let cu_steps = rounds * tiles[2];
        let step_elements = (tile[0] + tile[1]) * tile[2];
        let [of_rows, of_columns] = loaded;
        Self {
            tile,
            blocks,
            used: std::array::from_fn(|axis| share(extents[axis], tiles[axis] * tile[axis])),
            rounds,
            blocks_per_cu,
            resident_rounds,
            resident_fill: share(blocks, resident_rounds * cus * blocks_per_cu),
            steps: tiles[2],
            cu_steps,
            step_elements,
            cu_macs: cu_steps * tile[0] * tile[1] * tile[2],
            staged_bytes: blocks * tiles[2] * step_elements * element_bytes,
            reread_bytes: tiles[1] * of_rows + tiles[0] * of_columns + stored,
            waves,
        }
    }

    /// Elements that the busiest compute unit stores. Multiplied from left to right, as everywhere: another
    /// order would round differently.
    fn cu_results(&self) -> f64 {
        let [m, n, _] = self.tile;
        self.rounds * m * n
    }
}

fn cu_bytes(p: &ConvTerms, w: &WorkPair) -> f64 {
    let elements = w.cu_steps * w.step_elements + w.cu_results();
    elements * p.element_bytes
}

fn taps_per_step(p: &ConvTerms, w: &WorkPair) -> f64 {
    let [_, n, depth] = w.tile;
    match p.problem.direction {
        Direction::Forward => share(depth, p.channels),
        Direction::BwdData => share(depth, p.out_channels),
        Direction::BwdWeight => share(n, p.channels),
    }
}

/// Workgroups of the last round for each compute unit.
fn last_round_share(w: &WorkPair, cus: f64) -> f64 {
    let rest = rest(w.blocks, cus);
    if rest > 0.0 { rest / cus } else { 1.0 }
}

/// Features that distinguish directions and stages. A schema for forward kernels of one stage leaves them
/// out, because they would only repeat others.
pub(in crate::features) const OF_DIRECTIONS: &[&str] =
    &["work_m", "work_n", "work_k", "is_two_stage", "blocks"];

/// The features, none of which upstream has.
pub static FEATURES: &[Feature<ConvTerms, ConvKernelTerms>] = features! { <ConvTerms, ConvKernelTerms>
    Problem work_m = |p| p.work.extents[0], "rows of the GEMM that the direction makes of one group";
    Problem work_n = |p| p.work.extents[1], "its columns";
    Problem work_k = |p| p.work.extents[2], "its depth";
    Kernel is_two_stage = |k| flag(k.two_stage), "a second kernel adds up what parts of the depth gave";
    Kernel is_compv1 = |k| flag(k.pipeline.compv1), "the pipeline is compv1";
    Pair blocks = |_, _, _, m| m.work.blocks, "workgroups, without those of parts of the depth";
    Problem channel_alignment = |p| p.alignments[0], "largest power of two up to 64 that divides C / G";
    Problem out_channel_alignment = |p| p.alignments[1], "largest power of two up to 64 that divides K / G";
    Problem is_pointwise = is_pointwise, "one tap, stride 1, no padding: a plain GEMM";
    Problem flops = |p| p.flops, "operations, two for each multiply-add";
    Problem bytes_moved = |p| p.bytes, "bytes of input, filter and output, each once";
    Problem input_bytes = |p| p.input_bytes, "bytes of the input";
    Problem filter_bytes = |p| p.filter_bytes, "bytes of the filter";
    Problem output_bytes = |p| p.output_bytes, "bytes of the output";
    Kernel tile_intensity = tile_intensity, "multiply-adds for each element that a step loads";
    Pair used_m = |_, _, _, m| m.work.used[0], "share of the tiles' rows that is not padding";
    Pair used_n = |_, _, _, m| m.work.used[1], "share of the tiles' columns that is not padding";
    Pair used_k = |_, _, _, m| m.work.used[2], "share of the steps' depth that is not padding";
    Pair used_work = |_, _, _, m| {
        let [rows, columns, depth] = m.work.used;
        rows * columns * depth
    }, "product of the three";
    Pair rounds = |_, _, _, m| m.work.rounds, "workgroups of the busiest compute unit";
    Pair blocks_per_cu = |_, _, _, m| m.work.blocks_per_cu,
        "workgroups that a compute unit holds, by shared memory and waves";
    Pair resident_rounds = |_, _, _, m| m.work.resident_rounds,
        "times that the device is filled with all workgroups it holds";
    Pair resident_fill = |_, _, _, m| m.work.resident_fill, "share of those places that get a workgroup";
    Pair cu_steps = |_, _, _, m| m.work.cu_steps, "steps of the busiest compute unit";
    Pair serial_steps = |_, _, _, m| m.work.resident_rounds * m.work.steps, "steps that follow each other";
    Pair cu_macs = |_, _, _, m| m.work.cu_macs, "multiply-adds of the busiest compute unit, with padding";
    Pair cu_bytes = |p, _, _, m| cu_bytes(p, &m.work), "bytes that the busiest compute unit loads and stores";
    Pair staged_bytes = |_, _, _, m| m.work.staged_bytes, "bytes that all workgroups load";
    Pair cu_loads = |p, _, _, m| {
        let work = &m.work;
        work.cu_steps * work.step_elements / p.work.accesses[0]
    }, "elements that the busiest compute unit loads / elements of one access";
    Pair cu_stores = |p, _, _, m| m.work.cu_results() / p.work.accesses[1],
        "elements that the busiest compute unit stores / elements of one access";
    Pair taps_per_step = |p, _, _, m| taps_per_step(p, &m.work),
        "filter taps that one step covers, for bwd_weight one tile";
    Pair reread_bytes = |_, _, _, m| m.work.reread_bytes,
        "bytes if every tile row and column reads its operand anew";
    Pair reread_ratio = |p, _, _, m| share(m.work.reread_bytes, p.bytes), "reread_bytes / bytes_moved";
    Pair active_waves = |_, _, _, m| {
        let work = &m.work;
        work.rounds.min(work.blocks_per_cu) * work.waves
    }, "waves at once on a busy compute unit";
    Pair macs_per_byte = |p, _, _, m| share(m.work.cu_macs, p.bytes), "cu_macs / bytes_moved";
    Pair staged_ratio = |p, _, _, m| share(m.work.staged_bytes, p.bytes), "staged_bytes / bytes_moved";
    Pair last_round_share = |_, _, h, m| last_round_share(&m.work, compute_units(h)),
        "share of the compute units that the last round uses";
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Engine, Extractor};
    use crate::kernel::Kernel;
    use crate::vocab::{Arch, Op};

    fn extractor(names: &[&str]) -> Extractor {
        let gfx950: Arch = "gfx950".parse().unwrap();
        Extractor {
            schema: crate::features::Schema::by_names(Op::Conv, names).unwrap(),
            hardware: Hardware::for_arch(&gfx950).unwrap(),
            ..Extractor::for_engine(Engine::ConvSelect)
        }
    }

    fn row(names: &[&str], problem: &ConvProblem, tile_and_pipeline: &str) -> Vec<f64> {
        let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{tile_and_pipeline}")).unwrap();
        extractor(names).row(&(*problem).into(), &kernel.kind).unwrap()
    }

    fn check(problem: &ConvProblem, kernel: &str, expected: &[(&str, f64)]) {
        let names: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
        for (feature, (name, value)) in row(&names, problem, kernel).into_iter().zip(expected) {
            assert_eq!(feature.to_bits(), value.to_bits(), "{name}: {feature}, not {value}");
        }
    }

    #[test]
    fn one_round_by_hand() {
        let problem =
            ConvProblem { n: 2, c: 48, k: 72, ..ConvProblem::new_2d([14, 14], [3, 3]) }.padded([1, 1]);
        // An implicit GEMM of 392 x 72 x 432: 7 x 1 tiles of 7 steps.
        check(
            &problem,
            "64x128x64_compv4",
            &[
                ("channel_alignment", 16.0),
                ("out_channel_alignment", 8.0),
                ("is_pointwise", 0.0),
                ("flops", 24_385_536.0),
                ("bytes_moved", 156_288.0),
                ("input_bytes", 37_632.0),
                ("filter_bytes", 62_208.0),
                ("output_bytes", 56_448.0),
                ("tile_intensity", 8192.0 / 192.0),
                ("used_m", 392.0 / 448.0),
                ("used_n", 72.0 / 128.0),
                ("used_k", 432.0 / 448.0),
                ("used_work", 0.875 * 0.5625 * (432.0 / 448.0)),
                ("rounds", 1.0),
                ("blocks_per_cu", 3.0),
                ("resident_rounds", 1.0),
                ("resident_fill", 7.0 / 768.0),
                ("cu_steps", 7.0),
                ("serial_steps", 7.0),
                ("cu_macs", 3_670_016.0),
                ("cu_bytes", 188_416.0),
                ("staged_bytes", 1_204_224.0),
                ("cu_loads", 10_752.0),
                ("cu_stores", 1024.0),
                ("taps_per_step", 64.0 / 48.0),
                ("reread_bytes", 529_536.0),
                ("reread_ratio", 529_536.0 / 156_288.0),
                ("active_waves", 4.0),
                ("macs_per_byte", 3_670_016.0 / 156_288.0),
                ("staged_ratio", 1_204_224.0 / 156_288.0),
                ("last_round_share", 7.0 / 256.0),
            ],
        );
        check(&problem, "64x128x64_compv3", &[("blocks_per_cu", 6.0)]);
        check(&problem, "128x128x64_compv3", &[("blocks_per_cu", 2.0), ("active_waves", 16.0)]);
    }

    #[test]
    fn many_rounds_by_hand() {
        let problem = ConvProblem { n: 64, c: 65, k: 256, ..ConvProblem::new_2d([56, 56], [1, 1]) };
        // 200,704 rows in 12,544 x 4 tiles of 2 steps; 8 workgroups of four waves fill a compute unit's 32
        // places.
        check(
            &problem,
            "16x64x64_compv3",
            &[
                ("is_pointwise", 1.0),
                ("channel_alignment", 1.0),
                ("out_channel_alignment", 64.0),
                ("rounds", 196.0),
                ("last_round_share", 1.0),
                ("blocks_per_cu", 8.0),
                ("resident_rounds", 25.0),
                ("resident_fill", 50_176.0 / 51_200.0),
                ("serial_steps", 50.0),
                ("cu_loads", 392.0 * 80.0 * 64.0),
                ("cu_stores", 196.0 * 1024.0 / 8.0),
                ("active_waves", 32.0),
            ],
        );
    }

    #[test]
    fn groups_have_workgroups_of_their_own() {
        let problem = ConvProblem { c: 64, k: 96, g: 4, ..ConvProblem::new_2d([32, 32], [1, 1]) };
        // 1,024 rows in 16 tiles, 24 columns a group in one.
        check(
            &problem,
            "64x64x64_compv3",
            &[
                ("channel_alignment", 16.0),
                ("out_channel_alignment", 8.0),
                ("used_n", 24.0 / 64.0),
                ("last_round_share", 64.0 / 256.0),
            ],
        );
        let uneven = ConvProblem { c: 66, ..problem };
        check(&uneven, "64x64x64_compv3", &[("channel_alignment", 1.0)]);
    }

    #[test]
    fn directions_make_gemms_of_their_own() {
        // 2 images of 14 x 12 with 48 channels in 2 groups become 7 x 6 with 72.
        let forward = ConvProblem {
            n: 2,
            c: 48,
            k: 72,
            g: 2,
            stride: [1, 2, 2],
            ..ConvProblem::new_2d([14, 12], [3, 3])
        }
        .padded([1, 1]);
        let bytes = [2 * 14 * 12 * 48 * 2, 72 * 24 * 9 * 2, 2 * 7 * 6 * 72 * 2].map(f64::from);
        let [input, filter, output] = bytes;
        // 24 channels are 3 accesses of 8, 36 are 9 of 4: values of a step, and loads of both operands.
        let [wide, narrow] = [128.0 * 64.0 / 8.0, 128.0 * 64.0 / 4.0];
        for (direction, gemm, [blocks, channels, reread, loads, stores]) in [
            // 2 x 1 tiles of 64 x 64, in 4 steps.
            (
                Direction::Forward,
                [84.0, 36.0, 216.0],
                [4.0, 24.0, input + 2.0 * filter + output, 4.0 * wide, 1024.0],
            ),
            (
                Direction::BwdData,
                [336.0, 24.0, 324.0],
                [12.0, 36.0, output + 6.0 * filter + input, 6.0 * narrow, 512.0],
            ),
            (
                Direction::BwdWeight,
                [36.0, 216.0, 84.0],
                [8.0, 24.0, 4.0 * output + input + filter, 2.0 * narrow, 512.0],
            ),
        ] {
            let expected = [
                ("work_m", gemm[0]),
                ("work_n", gemm[1]),
                ("work_k", gemm[2]),
                ("blocks", blocks),
                ("taps_per_step", 64.0 / channels),
                ("reread_bytes", reread),
                ("cu_loads", loads),
                ("cu_stores", stores),
            ];
            check(&ConvProblem { direction, ..forward }, "64x64x64_compv3", &expected);
        }
    }

    #[test]
    fn only_our_widest_schema_distinguishes_two_stages_from_one() {
        let problem = ConvProblem { c: 64, k: 64, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let rows = |engine: Engine| {
            let names = engine.feature_names();
            ["compv3_intrawave", "compv3_intrawave_2stage", "mem_intrawave"]
                .map(|word| row(&names, &problem, &format!("64x64x64_{word}")))
        };
        let [one, two, mem] = rows(Engine::ConvSelect);
        assert!(one == two && one == mem);
        let [one, two, mem] = rows(Engine::ConvWork);
        assert!(one != two && one != mem && two != mem);
    }

    #[test]
    fn an_empty_result_gives_numbers() {
        let names: Vec<_> = FEATURES.iter().map(|feature| feature.name).collect();
        let problem = ConvProblem { c: 0, ..ConvProblem::new_2d([3, 3], [7, 7]) };
        let values = row(&names, &problem, "64x64x64_compv4");
        assert!(values.iter().all(|value| value.is_finite()), "{values:?}");
    }

    #[test]
    fn unmeasured_values_count_as_their_measured_neighbours() {
        let problem = ConvProblem { c: 100, k: 200, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let names = Engine::ConvSelect.feature_names();
        for (unknown, known) in [
            ("compv3_intrawave_dsb_si", "compv3"),
            ("compv4_intrawave_dsb", "compv4"),
            ("compv5_intrawave_si", "compv5"),
            ("compv6_intrawave", "compv3"),
            ("mem_interwave_dsb", "compv3"),
            ("basic_v1_intrawave", "compv3"),
            ("wavelet_intrawave", "compv3"),
        ] {
            let row = |word: &str| row(&names, &problem, &format!("64x128x64_{word}"));
            assert_eq!(row(unknown), row(known), "{unknown}");
        }
        let row = |word: &str| row(&names, &problem, &format!("64x128x64_{word}"));
        assert_ne!(row("compv4"), row("compv3"));
        assert_ne!(row("compv5"), row("compv3"));
        assert_ne!(row("compv1"), row("compv3"));
        assert_ne!(row("compv1"), row("compv4"));
    }
}
