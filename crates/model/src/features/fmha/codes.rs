//! What features know about attention and its kernels: words become the numbers of the model's encoding.

use super::{FEATURES, FmhaKernelTerms, FmhaTerms};
use crate::features::operation::OperationTerms;
use crate::features::rules::{coded_or, coded_word};
use crate::features::terms::KernelFeatures;
use crate::features::{Extractor, Feature, FmhaEncoding};
use crate::kernel::FmhaKernel;
use crate::problem::{FmhaProblem, InvalidField};

const DTYPES: &[&str] = &["fp16", "bf16", "fp8bf16", "fp8fp32"];
const PIPELINES: &[&str] = &[
    "qr", "qr_async", "qr_async_trload", "qr_async_trload_v3", "qr_pagedkv",
    // The last two have a number in training only.
    "qr_nwarp_sshuffle", "appendkv",
];

impl FmhaEncoding {
    const fn pipelines(self) -> &'static [&'static str] {
        match self {
            Self::Python => PIPELINES,
            Self::Header => PIPELINES.split_at(5).0,
        }
    }

    /// Bytes of an element. The Python twin does not know the mixed types and assumes 16 bits.
    fn element_bytes(self, dtype: &str) -> f64 {
        match dtype {
            "fp32" => 4.0,
            "fp8" | "bf8" => 1.0,
            "fp8bf16" | "fp8fp32" if self == Self::Header => 1.0,
            "int8" if self == Self::Python => 1.0,
            _ => 2.0,
        }
    }
}

impl Extractor {
    fn fmha_dtype(&self, word: &str) -> Result<f64, InvalidField> {
        let code = || coded_word("dtype", word, DTYPES, self.rules.uncoded);
        self.schema.needs.dtype.then(code).unwrap_or(Ok(0.0))
    }

    fn fmha_pipeline(&self, word: &str) -> Result<f64, InvalidField> {
        let words = self.rules.fmha_encoding.pipelines();
        let code = || coded_or(1.0, "pipeline", word, words, self.rules.uncoded);
        self.schema.needs.pipeline.then(code).unwrap_or(Ok(0.0))
    }
}

impl OperationTerms for FmhaProblem {
    type Terms = FmhaTerms;
    type KernelTerms = FmhaKernelTerms;

    /// Features only describe forward kernels.
    fn undescribed(&self) -> Option<&'static str> {
        (!self.family.is_forward()).then(|| self.family.as_str())
    }

    fn undescribed_kernel(kernel: &FmhaKernel) -> Option<&'static str> {
        (!kernel.family.is_forward()).then(|| kernel.family.as_str())
    }

    fn features() -> impl Iterator<Item = &'static Feature<FmhaTerms, FmhaKernelTerms>> {
        FEATURES.iter()
    }

    fn terms(&self, extractor: &Extractor) -> Result<FmhaTerms, InvalidField> {
        let (dtype, encoding) = (self.dtype.as_str(), extractor.rules.fmha_encoding);
        let of_type = [extractor.fmha_dtype(dtype)?, encoding.element_bytes(dtype)];
        Ok(FmhaTerms::new(self, of_type, encoding))
    }
}

impl KernelFeatures for FmhaKernel {
    type Terms = FmhaKernelTerms;

    fn terms(&self, extractor: &Extractor) -> Result<FmhaKernelTerms, InvalidField> {
        let python = extractor.rules.fmha_encoding == FmhaEncoding::Python;
        let (mask, bias, qscale) = (self.mask as u8, self.bias as u8, self.qscale as u8);
        Ok(FmhaKernelTerms {
            pipeline_code: extractor.fmha_pipeline(self.pipeline.as_str())?,
            tile: self.tile.numbers().map(i64::from),
            pad: self.pad,
            mask_code: mask.into(),
            // The tables that the Python twin was trained on say `bias`; it expects `elementwise`, and so
            // learned it as none.
            bias_code: if python && bias == 1 { 0.0 } else { bias.into() },
            qscale_code: if python { f64::from(qscale.min(1)) } else { 0.0 },
            lse: self.lse,
            dropout: self.dropout,
            logits: self.logits,
            sink: self.sink,
            skip: self.skip,
            paged_kv: self.paged_kv,
        })
    }
}
