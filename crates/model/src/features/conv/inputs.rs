//! What features know about a convolution and its kernels.

use super::super::operation::OperationTerms;
use super::super::rules::coded_element_bytes;
use super::super::terms::KernelFeatures;
use super::super::{ElementBytes, Extractor, Feature, KTile, KernelMapping, Rules, Uncoded};
use super::{ConvKernelTerms, ConvTerms, PipelineFlags};
use crate::kernel::ConvKernel;
use crate::problem::{ConvProblem, InvalidField};
use crate::vocab::Scheduler;

impl OperationTerms for ConvProblem {
    type Terms = ConvTerms;
    type KernelTerms = ConvKernelTerms;

    fn features() -> impl Iterator<Item = &'static Feature<ConvTerms, ConvKernelTerms>> {
        super::all()
    }

    fn terms(&self, extractor: &Extractor) -> Result<ConvTerms, InvalidField> {
        // Upstream's tools divide by whatever can be divided by.
        let (is_valid, expected): (fn(i64) -> bool, _) = match extractor.rules.uncoded {
            Uncoded::Error => (|stride| stride >= 1, "at least 1"),
            Uncoded::Upstream => (|stride| stride != 0, "a number other than 0"),
        };
        if let Some(axis) = self.stride.iter().position(|&stride| !is_valid(stride)) {
            let field = ["stride_d", "stride_h", "stride_w"][axis];
            return Err(InvalidField::new(field, self.stride[axis], expected));
        }
        let element_bytes = element_bytes(self.dtype_in.as_str(), extractor.rules)?;
        Ok(ConvTerms::new(self, element_bytes))
    }
}

impl KernelFeatures for ConvKernel {
    type Terms = ConvKernelTerms;

    fn terms(&self, extractor: &Extractor) -> Result<ConvKernelTerms, InvalidField> {
        let pipeline = self.pipeline.as_str();
        let terms = ConvKernelTerms {
            block_size: 0,
            gemm_m_per_block: 0,
            gemm_n_per_block: 0,
            gemm_k_per_block: 0,
            k_tile: 0,
            pipeline_code: extractor.pipeline_code(pipeline)?,
            pipeline: PipelineFlags::new(pipeline),
            intrawave: self.scheduler == Scheduler::Intrawave,
            has_dsb: self.double_smem_buffer.into(),
            has_si: self.split_image.into(),
            two_stage: self.two_stage,
        };
        Ok(terms.with_blocks(extractor.rules.k_tile, extractor.blocks(self, extractor.rules.kernel_mapping)))
    }
}

impl ConvKernelTerms {
    /// The terms with the numbers of [`Extractor::blocks`].
    pub(crate) fn with_blocks(self, k_tile: KTile, blocks: [i64; 4]) -> Self {
        let [block_size, gemm_m_per_block, gemm_n_per_block, gemm_k_per_block] = blocks;
        let k_tile = if k_tile == KTile::BlockSize { block_size } else { gemm_k_per_block };
        Self { block_size, gemm_m_per_block, gemm_n_per_block, gemm_k_per_block, k_tile, ..self }
    }
}

fn element_bytes(word: &str, rules: Rules) -> Result<f64, InvalidField> {
    match (word, rules.element_bytes) {
        ("int4", ElementBytes::Header) => Ok(2.0),
        _ => coded_element_bytes(2.0, word, rules.uncoded),
    }
}

impl Extractor {
    /// `block_size`, `gemm_m_per_block`, `gemm_n_per_block` and `gemm_k_per_block` of a kernel.
    pub(crate) fn blocks(&self, kernel: &ConvKernel, mapping: KernelMapping) -> [i64; 4] {
        let [m, n, k] = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(i64::from);
        match mapping {
            // The name's first number is both the block size and, if a model uses it, the depth of a step.
            KernelMapping::NameOrder => [m, n, k, m],
            KernelMapping::Tile => [self.threads(kernel.wave, kernel.arch), m, n, k],
        }
    }
}
