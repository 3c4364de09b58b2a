//! Upstream's defaults for attention.

use super::{Columns, Upstream};
use crate::cells::{Cell, Fields};
use crate::features::fmha::FmhaKernelTerms;
use crate::features::{Extractor, FmhaEncoding, KernelFeatures as _};
use crate::given::Given;
use crate::kernel::{FmhaKernel, FmhaTile};
use crate::problem::{FmhaProblem, InvalidField};
use crate::vocab::{Dtype, FmhaPipeline};

/// The masks and biases with a number, in its order.
const MASKS: &[&str] = &["no", "top_left", "bottom_right", "generic"];
const BIASES: &[&str] = &["no", "elementwise", "alibi"];

impl Upstream for FmhaProblem {
    const PROBLEM: Columns = &[
        &["batch"],
        &["seqlen_q"],
        &["seqlen_k"],
        &["nhead_q"],
        &["nhead_k"],
        &["hdim_q"],
        &["hdim_v"],
        &["dtype", "data_type"],
    ];

    // A type without a number, of two bytes, as both twins say of no type.
    const UNKNOWN: Self = Self { dtype: Dtype::Int4, ..Self::USUAL };

    const KERNEL: Columns = &[
        &["pipeline"],
        &["tile_m0"],
        &["tile_n0"],
        &["tile_k0"],
        &["tile_n1"],
        &["tile_k1"],
        &["tile_k0max"],
        &["pad_s"],
        &["pad_sk"],
        &["pad_d"],
        &["pad_dv"],
        &["lse", "has_lse"],
        &["dropout", "has_dropout"],
        &["logits", "has_logits_soft_cap"],
        &["sink", "has_sink"],
        &["skip", "skip_min_seqlen_q"],
        &["paged_kv", "use_paged_kv"],
    ];

    const KERNEL_WORDS: Columns =
        &[&["mask", "mask_type"], &["bias", "bias_type"], &["qscale", "qscale_type"]];

    /// A pipeline without a number.
    fn unknown_kernel() -> FmhaKernel {
        let (tile, pad) = (FmhaTile::default(), [false; 4]);
        FmhaKernel { pipeline: FmhaPipeline::Qs, tile, pad, ..FmhaKernel::USUAL }
    }

    fn problem(_: &Extractor, given: &Given<Self>) -> Self {
        given.complete(&Self { batch: 0, nhead_q: 0, nhead_k: 0, ..Self::UNKNOWN })
    }

    /// Mask, bias and scales are numbered by the words of the twin in question, or as its numbers.
    fn kernel(
        extractor: &Extractor,
        given: &Given<FmhaKernel>,
        cells: &dyn Fields,
    ) -> Result<FmhaKernelTerms, InvalidField> {
        let terms = given.complete(&Self::unknown_kernel()).terms(extractor)?;
        let encoding = extractor.rules.fmha_encoding;
        let code = |names, words| encoding.code(first(cells, names), words);
        let qscale = first(cells, ["qscale", "qscale_type"]).map(|(_, cell)| match cell {
            Cell::Word(word) => word.to_owned(),
            number => number.to_string(),
        });
        let is_scaled = !matches!(qscale.as_deref(), None | Some("no" | "0" | "False" | "false"));
        Ok(FmhaKernelTerms {
            mask_code: code(["mask", "mask_type"], MASKS)?,
            bias_code: code(["bias", "bias_type"], BIASES)?,
            qscale_code: f64::from(u8::from(encoding == FmhaEncoding::Python && is_scaled)),
            ..terms
        })
    }
}

/// The first of two cells that is there.
fn first<'c>(cells: &'c dyn Fields, names: [&'static str; 2]) -> Option<(&'static str, Cell<'c>)> {
    names.into_iter().find_map(|name| Some((name, cells.cell(name)?)))
}

impl FmhaEncoding {
    /// A word's number; for the header's encoding the cell may hold the number itself, any one. The Python
    /// twin expects `elementwise` where its tables say `bias`, which it so learned as none.
    fn code(self, cell: Option<(&'static str, Cell<'_>)>, words: &[&str]) -> Result<f64, InvalidField> {
        let Some((name, cell)) = cell else { return Ok(0.0) };
        let is_header = self == Self::Header;
        if is_header && let Ok(number) = cell.truncated(name) {
            return Ok(number as f64);
        }
        let word = cell.text(name)?;
        let word = if is_header && word == "bias" { "elementwise" } else { word };
        Ok(words.iter().position(|known| *known == word).map_or(0.0, |code| code as f64))
    }
}
