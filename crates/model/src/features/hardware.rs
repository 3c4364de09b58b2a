//! What features read of the hardware, and which features do.

use crate::hardware::Hardware;

/// Whether features assume half of the shared memory for a pipeline, a word that is known or not.
pub(crate) fn halves_lds(pipeline: &str) -> bool {
    pipeline.starts_with("compv4")
}

/// Shared memory for the ratio: 32 KiB for compv4 on every architecture, otherwise the hardware's.
pub(super) fn lds_capacity(half: bool, hardware: &Hardware) -> i64 {
    if half { 32768 } else { hardware.lds_capacity }
}

/// Compute units, at least one.
pub(super) fn compute_units(hardware: &Hardware) -> f64 {
    hardware.num_cus.max(1) as f64
}

/// The features of pairs that read it, of all operations; a test computes every feature with two GPUs.
const PAIRS: &[&str] = &[
    "active_waves", "blocks_per_cu", "cu_bytes", "cu_loads", "cu_macs", "cu_steps", "cu_stores",
    "cu_utilization", "gemm_m_lt_num_cus", "is_subwave", "last_round_share", "lds_ratio", "lds_usage_ratio",
    "log_cu_fill", "log_gemm_m_over_num_cus", "log_k_per_active_cu", "macs_per_byte", "resident_fill",
    "resident_rounds", "rounds", "serial_steps", "wave_quant_efficiency", "waves_per_max_occ",
];

/// Whether a feature with this name and scope depends on the hardware.
pub(super) fn is_read_by(name: &str, scope: &str) -> bool {
    scope == "hardware" || PAIRS.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ck_select_types::each_operation;

    use super::*;
    use crate::features::{Engine, Extractor, OperationTerms as _, Schema};
    use crate::kernel::Kernel;
    use crate::problem::{Problem, ProblemDefaults};
    use crate::vocab::Op;

    /// The features that differ on a GPU with other constants.
    fn differing(op: Op, names: &[&str], problems: &[&str], kernel: &str) -> BTreeSet<String> {
        let kernel = Kernel::from_name(kernel).unwrap();
        let mut differing = BTreeSet::new();
        for text in problems {
            let problem = Problem::parse(op, text, &ProblemDefaults::new(op)).unwrap();
            let row = |factor: i64| {
                let mut hardware = Hardware::default();
                for name in Hardware::NAMES {
                    let value = hardware.get(name).unwrap();
                    hardware.set(name, value * factor).unwrap();
                }
                let engine = Engine::default_for(op);
                let schema = Schema::by_names(op, names).unwrap();
                let arch = Some("gfx950".parse().unwrap());
                let extractor = Extractor { schema, hardware, arch, ..Extractor::for_engine(engine) };
                let terms = extractor.problem_terms(&problem).unwrap();
                let mut row = vec![0.0; names.len()];
                extractor.fill(&terms, &extractor.kernel_terms(&kernel.kind).unwrap(), &mut row);
                row
            };
            let (one, other) = (row(1), row(7));
            differing
                .extend((0..names.len()).filter(|&at| one[at] != other[at]).map(|at| names[at].to_owned()));
        }
        differing
    }

    #[test]
    fn every_pair_that_depends_on_the_hardware_is_listed() {
        let mut pairs = BTreeSet::new();
        for (op, problems, kernel) in [
            (
                Op::Conv,
                [
                    "N=3,C=96,K=160,Hi=57,Wi=57,Y=3,X=3,dtype=bf16",
                    "N=1,C=8,K=8,Hi=20,Wi=20,Y=1,X=1,dtype=bf16",
                    "N=64,C=512,K=2048,Hi=56,Wi=56,Y=3,X=3,dtype=bf16",
                ],
                "grouped_conv_forward_bf16_2d_64x64x64_compv3",
            ),
            (
                Op::Gemm,
                [
                    "M=1000,N=520,K=4096,dtype=fp16,arch=gfx950",
                    "M=16,N=64,K=4096,dtype=fp16,arch=gfx950",
                    "M=8192,N=8192,K=512,dtype=fp16,arch=gfx950",
                ],
                "gemm_fp16_rcr_compv3_cshuffle_intrawave_True_True_True_False_128x128x32_2x2x1_32x32x16",
            ),
            (
                Op::Fmha,
                [
                    "batch=2,seqlen_q=1000,seqlen_k=1000,nhead_q=8,hdim_q=128",
                    "batch=1,seqlen_q=64,seqlen_k=64,nhead_q=1,hdim_q=128",
                    "batch=64,seqlen_q=8192,seqlen_k=8192,nhead_q=32,hdim_q=128",
                ],
                "fmha_fwd_fp16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=no_bias=no_bpc=-1",
            ),
        ] {
            let features: Vec<_> =
                each_operation!(op, Own => Own::features().map(|f| (f.name, f.value.scope())).collect());
            let names: Vec<&str> = features.iter().map(|(name, _)| *name).collect();
            for name in differing(op, &names, &problems, kernel) {
                let scope = features.iter().find(|(known, _)| *known == name).unwrap().1;
                if scope != "hardware" {
                    pairs.insert(name);
                }
            }
        }
        let listed: BTreeSet<String> = PAIRS.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(pairs, listed);
    }
}
