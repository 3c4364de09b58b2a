//! What a kernel has besides types, tile and pipeline, as its names write it.

use super::{ConvKernel, ConvTile, GemmKernel, GemmVariant, KernelKind, StreamK};
use crate::vocab::{Arch, Elementwise, Epilogue, Scheduler, Specialization};

impl KernelKind {
    /// The word of its pipeline: how loads overlap with arithmetic.
    pub const fn pipeline(&self) -> &'static str {
        match self {
            Self::Conv(kernel) => kernel.pipeline.as_str(),
            Self::Gemm(kernel) => kernel.pipeline.as_str(),
            Self::Fmha(kernel) => kernel.pipeline.as_str(),
        }
    }

    /// The architecture that it was built for, when known.
    pub const fn arch(&self) -> Option<Arch> {
        match self {
            Self::Conv(kernel) => kernel.arch,
            Self::Gemm(kernel) => kernel.arch,
            Self::Fmha(kernel) => kernel.arch,
        }
    }

    /// What it has besides types, shapes and pipeline: the suffixes of its longest name, such as `dsb` or
    /// `gm2`, and the words for wave mode and epilogue if not the defaults.
    pub fn suffixes(&self) -> Vec<String> {
        match self {
            Self::Conv(kernel) => conv(kernel),
            Self::Gemm(kernel) => gemm(kernel),
            Self::Fmha(kernel) => kernel.suffixes(),
        }
    }
}

fn conv(kernel: &ConvKernel) -> Vec<String> {
    let mut found = Suffixes::default();
    found.word(kernel.scheduler != Scheduler::Intrawave, kernel.scheduler);
    found.word(kernel.epilogue != Epilogue::CShuffle, kernel.epilogue);
    let [a, b, c] = kernel.vector;
    found.word(kernel.vector != ConvTile::of(kernel.tile).vector, format_args!("vec{a}_{b}_{c}"));
    for (prefix, count) in
        [("bpc", kernel.block_per_cu), ("wg", kernel.num_wave_groups), ("gm", kernel.num_groups_to_merge)]
    {
        found.word(count != 1, format_args!("{prefix}{count}"));
    }
    found.word(kernel.double_smem_buffer, "dsb");
    found.word(kernel.split_image, "si");
    found.word(kernel.two_stage, "2stage");
    found.word(kernel.specialization != Specialization::Default, kernel.specialization);
    found.word(kernel.explicit_gemm, "explicit_gemm");
    if let Some(StreamK { reduction, persistent }) = kernel.stream_k {
        found.word(true, format_args!("streamk_{reduction}"));
        found.word(persistent, "persistent");
    }
    found.0
}

fn gemm(kernel: &GemmKernel) -> Vec<String> {
    let mut found = Suffixes::default();
    found.word(kernel.scheduler != Scheduler::Intrawave, kernel.scheduler);
    found.word(kernel.epilogue != Epilogue::CShuffle, kernel.epilogue);
    for (axis, pad) in ["m", "n", "k"].iter().zip(kernel.pad) {
        found.word(pad, format_args!("pad_{axis}"));
    }
    found.word(kernel.persistent, "persistent");
    let [a, b, c] = kernel.vector;
    found.word(kernel.vector != [0; 3], format_args!("vec{a}_{b}_{c}"));
    found.word(kernel.split_k > 1, format_args!("splitk{}", kernel.split_k));
    found.word(kernel.elementwise != Elementwise::PassThrough, kernel.elementwise);
    found.word(kernel.num_d_tensors > 0, format_args!("d{}", kernel.num_d_tensors));
    found.word(kernel.structured_sparsity, "sparse");
    found.word(kernel.preshuffle, "preshuffle");
    let GemmVariant { batched, stream_k, quant, shuffled_scales: [scales_a, scales_b], .. } = kernel.variant;
    if let Some(reduction) = stream_k {
        found.word(true, format_args!("streamk_{reduction}"));
    }
    found.word(batched, "batched");
    found.word(kernel.grouped, "grouped");
    if let Some(quant) = quant {
        found.word(true, quant.mode);
        for (side, group) in [("qa", quant.group_a), ("qb", quant.group_b)] {
            if let Some(group) = group {
                found.word(true, format_args!("{side}{group}"));
            }
        }
    }
    found.word(scales_a, "preshuffleaq");
    found.word(scales_b, "preshufflebq");
    found.0
}

#[derive(Default)]
struct Suffixes(Vec<String>);

impl Suffixes {
    fn word(&mut self, has: bool, word: impl std::fmt::Display) {
        if has {
            self.0.push(word.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::Kernel;

    #[test]
    fn suffixes_are_those_of_the_names() {
        for (name, suffixes) in [
            ("grouped_conv_forward_bf16_2d_64x128x64_compv3", vec![]),
            (
                "grouped_conv_forward_bf16_2d_64x128x64_compv3_interwave_gm2_dsb_si",
                vec!["interwave", "gm2", "dsb", "si"],
            ),
            (
                "grouped_conv_fwd_bf16_nhwgc_2d_mem_cshuffle_interwave_64x64x32_2x2x1_16x16x16",
                vec!["interwave"],
            ),
            (
                "gemm_fp8_rcr_mem_default_auto_True_False_True_True_64x64x64_1x4x1_16x16x32_splitk2",
                vec!["auto", "default", "pad_m", "pad_k", "persistent", "splitk2"],
            ),
        ] {
            assert_eq!(Kernel::from_name(name).unwrap().kind.suffixes(), suffixes, "{name}");
        }
    }
}
