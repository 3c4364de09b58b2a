//! What features know about attention and its kernels, from values and from cells: words become the numbers
//! of the model's encoding.

use super::{FmhaInputs, FmhaKernelTerms, FmhaTerms};
use crate::features::reader::Reader;
use crate::features::rules::no_number;
use crate::features::{Extractor, FieldError, FmhaEncoding, Uncoded};
use crate::kernel::FmhaKernel;
use crate::problem::{FmhaProblem, InvalidField};

const DTYPES: &[&str] = &["fp16", "bf16", "fp8bf16", "fp8fp32"];
const PIPELINES: &[&str] = &[
    "qr", "qr_async", "qr_async_trload", "qr_async_trload_v3", "qr_pagedkv",
    // The last two have a number in training only.
    "qr_nwarp_sshuffle", "appendkv",
];
const MASKS: &[&str] = &["no", "top_left", "bottom_right", "generic"];
const BIASES: &[&str] = &["no", "elementwise", "alibi"];

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
    fn coded(
        &self,
        field: &str,
        word: &str,
        words: &'static [&'static str],
        other: f64,
    ) -> Result<f64, InvalidField> {
        match words.iter().position(|&known| known == word) {
            Some(code) => Ok(code as f64),
            None if self.rules.uncoded == Uncoded::Upstream => Ok(other),
            None => Err(no_number(field, word, words)),
        }
    }

    fn fmha_dtype(&self, word: &str) -> Result<f64, InvalidField> {
        if self.schema.needs_dtype() { self.coded("dtype", word, DTYPES, 0.0) } else { Ok(0.0) }
    }

    fn fmha_pipeline(&self, word: &str) -> Result<f64, InvalidField> {
        if !self.schema.needs_pipeline() {
            return Ok(0.0);
        }
        self.coded("pipeline", word, self.rules.fmha_encoding.pipelines(), 1.0)
    }

    pub(in crate::features) fn fmha_problem(&self, p: &FmhaProblem) -> Result<FmhaTerms, InvalidField> {
        let encoding = self.rules.fmha_encoding;
        let inputs = FmhaInputs {
            batch: p.batch,
            seqlens: [p.seqlen_q, p.seqlen_k],
            heads: [p.nhead_q, p.nhead_k],
            hdims: [p.hdim_q, p.hdim_v],
            dtype_code: self.fmha_dtype(p.dtype.as_str())?,
            element_bytes: encoding.element_bytes(p.dtype.as_str()),
            encoding,
        };
        Ok(inputs.side())
    }

    pub(in crate::features) fn fmha_kernel(&self, k: &FmhaKernel) -> Result<FmhaKernelTerms, InvalidField> {
        let python = self.rules.fmha_encoding == FmhaEncoding::Python;
        let (mask, bias, qscale) = (k.mask as u8, k.bias as u8, k.qscale as u8);
        Ok(FmhaKernelTerms {
            pipeline_code: self.fmha_pipeline(k.pipeline.as_str())?,
            tile: k.tile.numbers().map(i64::from),
            pad: k.pad,
            mask_code: mask.into(),
            // The tables that the Python twin was trained on say `bias`; it expects `elementwise`, and so
            // learned it as none.
            bias_code: if python && bias == 1 { 0.0 } else { bias.into() },
            qscale_code: if python { f64::from(qscale.min(1)) } else { 0.0 },
            lse: k.lse,
            dropout: k.dropout,
            logits: k.logits,
            sink: k.sink,
            skip: k.skip,
            paged_kv: k.paged_kv,
        })
    }
}

/// A row's cells, under the names of the tables or of upstream's header.
impl Reader<'_> {
    fn either<'n>(&self, names: [&'n str; 2]) -> &'n str {
        if self.has(names[0]) || !self.has(names[1]) { names[0] } else { names[1] }
    }

    pub(in crate::features) fn fmha_problem(&self, extractor: &Extractor) -> Result<FmhaTerms, FieldError> {
        let encoding = extractor.rules.fmha_encoding;
        let dtype = self.word(self.either(["dtype", "data_type"]), "")?;
        let inputs = FmhaInputs {
            batch: self.int("batch", 0)?,
            seqlens: [self.int("seqlen_q", 0)?, self.int("seqlen_k", 0)?],
            heads: [self.int("nhead_q", 0)?, self.int("nhead_k", 0)?],
            hdims: [self.int("hdim_q", 0)?, self.int("hdim_v", 0)?],
            dtype_code: extractor.fmha_dtype(dtype)?,
            element_bytes: encoding.element_bytes(dtype),
            encoding,
        };
        Ok(inputs.side())
    }

    pub(in crate::features) fn fmha_kernel(
        &self,
        extractor: &Extractor,
    ) -> Result<FmhaKernelTerms, FieldError> {
        let tile = |name: &str| self.int(&format!("tile_{name}"), 0);
        let flag = |names: [&str; 2]| self.flag(self.either(names));
        let python = extractor.rules.fmha_encoding == FmhaEncoding::Python;
        let mask = self.fmha_code(extractor, ["mask", "mask_type"], MASKS)?;
        let bias = self.fmha_code(extractor, ["bias", "bias_type"], BIASES)?;
        let qscale = self.found_word(self.either(["qscale", "qscale_type"]));
        let scaled = !matches!(qscale.as_deref(), None | Some("no" | "0" | "False" | "false"));
        Ok(FmhaKernelTerms {
            pipeline_code: extractor.fmha_pipeline(self.word("pipeline", "")?)?,
            tile: [tile("m0")?, tile("n0")?, tile("k0")?, tile("n1")?, tile("k1")?, tile("k0max")?],
            pad: [self.flag("pad_s")?, self.flag("pad_sk")?, self.flag("pad_d")?, self.flag("pad_dv")?],
            mask_code: mask,
            bias_code: bias,
            qscale_code: if python && scaled { 1.0 } else { 0.0 },
            lse: flag(["lse", "has_lse"])?,
            dropout: flag(["dropout", "has_dropout"])?,
            logits: flag(["logits", "has_logits_soft_cap"])?,
            sink: flag(["sink", "has_sink"])?,
            skip: flag(["skip", "skip_min_seqlen_q"])?,
            paged_kv: flag(["paged_kv", "use_paged_kv"])?,
        })
    }

    /// A word's number; for the header's encoding the cell may hold the number itself.
    fn fmha_code(
        &self,
        extractor: &Extractor,
        names: [&str; 2],
        words: &'static [&'static str],
    ) -> Result<f64, FieldError> {
        let name = self.either(names);
        if extractor.rules.fmha_encoding == FmhaEncoding::Header
            && let Ok(Some(number)) = self.opt_int(name)
        {
            return match words.get(usize::try_from(number).unwrap_or(usize::MAX)) {
                None if !self.is_lenient() => Err(InvalidField::new(
                    name,
                    number,
                    format!("0 to {} ({})", words.len() - 1, words.join(", ")),
                )),
                _ => Ok(number as f64),
            };
        }
        let word = self.word(name, "no")?;
        // As in training: see `Extractor::fmha_kernel`.
        let word = if word == "bias" && extractor.rules.fmha_encoding == FmhaEncoding::Header {
            "elementwise"
        } else {
            word
        };
        if word == "bias" {
            return Ok(0.0);
        }
        extractor.coded(name, word, words, 0.0)
    }
}
