//! What features know about attention and its kernels, from values and from cells: words become the numbers
//! of the model's encoding.

use super::{FEATURES, FmhaKernelTerms, FmhaTerms};
use crate::cells::Fields;
use crate::features::operation::OperationTerms;
use crate::features::reader::Reader;
use crate::features::rules::{coded_or, coded_word};
use crate::features::sides::{KernelFeatures, NameCell};
use crate::features::{Extractor, Feature, FieldError, FmhaEncoding};
use crate::given::Given;
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
    fn fmha_dtype(&self, word: &str) -> Result<f64, InvalidField> {
        let code = || coded_word("dtype", word, DTYPES, self.rules.uncoded);
        self.schema.needs.dtype.then(code).unwrap_or(Ok(0.0))
    }

    fn fmha_terms(&self, problem: &FmhaProblem, dtype: &str) -> Result<FmhaTerms, InvalidField> {
        let encoding = self.rules.fmha_encoding;
        let of_type = [self.fmha_dtype(dtype)?, encoding.element_bytes(dtype)];
        Ok(FmhaTerms::new(problem, of_type, encoding))
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
    const SERVED_BY: Option<&'static str> =
        Some("kernels that support its type, mask, bias, lengths and the like");

    fn is_served_by(
        &self,
        kernel: Option<&FmhaKernel>,
        cells: &dyn Fields,
        is_signed: bool,
    ) -> Result<bool, InvalidField> {
        Ok(match kernel {
            Some(kernel) => kernel.supports(&if is_signed { *self } else { kernel.sign(self) }),
            None => !is_signed || Given::signature(cells)?.differs_from_signature(self).is_none(),
        })
    }

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
        extractor.fmha_terms(self, self.dtype.as_str())
    }

    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<FmhaTerms, FieldError> {
        let reader = Reader::new(extractor, row);
        let dtype = reader.word(reader.either(["dtype", "data_type"]), "")?;
        let size = |name| reader.int(name, 0);
        let problem = Self {
            batch: size("batch")?,
            seqlen_q: size("seqlen_q")?,
            seqlen_k: size("seqlen_k")?,
            nhead_q: size("nhead_q")?,
            nhead_k: size("nhead_k")?,
            hdim_q: size("hdim_q")?,
            hdim_v: size("hdim_v")?,
            ..Self::USUAL
        };
        extractor.fmha_terms(&problem, dtype)
    }
}

impl KernelFeatures for FmhaKernel {
    type Terms = FmhaKernelTerms;
    const BESIDE: &'static [&'static str] = &["dtype"];
    const OF_PROBLEMS: [&'static [&'static str]; 2] = [&["dtype"], &[]];

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

    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<FmhaKernelTerms, FieldError> {
        let reader = Reader::new(extractor, row);
        let tile = |name: &str| reader.int(&format!("tile_{name}"), 0);
        let flag = |names: [&str; 2]| reader.flag(reader.either(names));
        let python = extractor.rules.fmha_encoding == FmhaEncoding::Python;
        let mask = reader.fmha_code(extractor, ["mask", "mask_type"], MASKS)?;
        let bias = reader.fmha_code(extractor, ["bias", "bias_type"], BIASES)?;
        let qscale = reader.found_word(reader.either(["qscale", "qscale_type"]));
        let scaled = !matches!(qscale.as_deref(), None | Some("no" | "0" | "False" | "false"));
        Ok(FmhaKernelTerms {
            pipeline_code: extractor.fmha_pipeline(reader.word("pipeline", "")?)?,
            tile: [tile("m0")?, tile("n0")?, tile("k0")?, tile("n1")?, tile("k1")?, tile("k0max")?],
            pad: [
                reader.flag("pad_s")?,
                reader.flag("pad_sk")?,
                reader.flag("pad_d")?,
                reader.flag("pad_dv")?,
            ],
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

    fn agree(&self, extractor: &Extractor, row: &dyn Fields, name: NameCell<'_>) -> Result<(), FieldError> {
        if !Reader::new(extractor, row).is_lenient()
            && let Some(field) =
                Given::signature(row)?.differs_from_signature(&self.sign(&FmhaProblem::USUAL))
        {
            let expected = format!("the {field} of the row's cells");
            return Err(InvalidField::new(name.0, format_args!("'{}'", name.1), expected));
        }
        Ok(())
    }
}

/// A row's cells, under the names of the tables or of upstream's header.
impl Reader<'_> {
    fn either<'n>(&self, names: [&'n str; 2]) -> &'n str {
        if self.has(names[0]) || !self.has(names[1]) { names[0] } else { names[1] }
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
        coded_word(name, word, words, extractor.rules.uncoded)
    }
}
