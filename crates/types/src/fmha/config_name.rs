//! The name of an attention kernel's configuration: that of its library, and the column `kernel` of tables.
//!
//! ```text
//! fmha_{family}_{dtype}_{mode}_h{q}[x{v}]_{pipeline}_t{6}[.{tag}]_w{3}_pad{4}_mask={word}_bias={word}
//! [_lse=1][_drop=1][_logits=1][_sink=1][_skip=1][_qs={word}][_pkv=1][_rope={word}][_ps={n}][_kvl={word}]
//! [_kvt={word}][_det=1][_dbias=1][_drv={word}]_bpc={n}
//! ```
//!
//! `w` is the instruction of the scores; that of the products with values is assumed to be the same. Waves
//! follow from it ([`FmhaKernel::set_warp_tile`]); values are row-major; the architecture is not included.

use std::fmt::Write as _;

use super::body::{Head, joined, pads};
use super::{FmhaKernel, FmhaTile};
use crate::scan::{NameError, Scan};
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{FmhaBias, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaPipeline, FmhaQscale, FmhaRope};

/// The dropout of backward kernels, and whether the random numbers are stored.
const DROPOUTS: [(&str, bool); 2] = [("dropout_wg16", false), ("dropout_wg16_storerandval", true)];

impl FmhaKernel {
    /// Reads the name of a configuration.
    pub fn parse_config_name(name: &str) -> Result<Self, NameError> {
        let mut scan = Scan::whole(name)?;
        let scan = &mut scan;
        let Head { family, dtype, mode } = Head::read(scan)?;
        if !scan.eat("h") {
            return Err(scan.fail(format!("found '{}', expected 'h' and the head size", scan.token())));
        }
        let hdim_q = scan.number("the head size", 1, MAX_EXTENT)? as u16;
        let hdim_v = if scan.eat("x") {
            scan.number("the head size of values", 1, MAX_EXTENT)? as u16
        } else {
            hdim_q
        };
        scan.separator("the pipeline")?;
        let pipeline: FmhaPipeline = scan.word(FmhaPipeline::WORDS)?;
        if !scan.eat("_t") {
            return Err(scan.fail(format!("found '{}', expected '_t' and the tile", scan.ahead())));
        }
        let tile: FmhaTile = joined::<6>(scan, "the tile", MAX_EXTENT)?.into();
        let mut kernel = Self::plain(family, [hdim_q, hdim_v], pipeline, tile);
        (kernel.dtype, kernel.mode) = (dtype, mode);
        if scan.eat(".") {
            let tag = scan.token();
            if tag.is_empty() {
                return Err(scan.fail("found nothing after '.', expected the tile's tag"));
            }
            scan.eat(tag);
            tag.clone_into(&mut kernel.constraint_tag);
        }
        if !scan.eat("_w") {
            return Err(scan.fail(format!("found '{}', expected '_w' and the instruction", scan.ahead())));
        }
        kernel.set_warp_tile(joined::<3>(scan, "the instruction", MAX_EXTENT)?);
        if !scan.eat("_pad") {
            return Err(scan.fail(format!("found '{}', expected '_pad' and four digits", scan.ahead())));
        }
        for pad in &mut kernel.pad {
            // Backward kernels pad to 8 elements.
            *pad = scan.one_of(&['0', '1', '8'])? != '0';
        }
        kernel.mask = required(scan, "_mask=", FmhaMask::WORDS)?;
        kernel.bias = required(scan, "_bias=", FmhaBias::WORDS)?;
        kernel.lse = scan.eat_whole("_lse=1");
        kernel.dropout = scan.eat_whole("_drop=1");
        kernel.logits = scan.eat_whole("_logits=1");
        kernel.sink = scan.eat_whole("_sink=1");
        kernel.skip = scan.eat_whole("_skip=1");
        optional(scan, "_qs=", FmhaQscale::WORDS, &mut kernel.qscale)?;
        kernel.paged_kv = scan.eat_whole("_pkv=1");
        optional(scan, "_rope=", FmhaRope::WORDS, &mut kernel.rope)?;
        if scan.eat("_ps=") {
            kernel.page_size = scan.number("the page size", 1, i32::MAX as u32)?;
        }
        optional(scan, "_kvl=", FmhaKvLayout::WORDS, &mut kernel.kv_layout)?;
        optional(scan, "_kvt=", FmhaKvLookup::WORDS, &mut kernel.kv_lookup)?;
        kernel.deterministic = scan.eat_whole("_det=1");
        kernel.dbias = scan.eat_whole("_dbias=1");
        if scan.eat("_drv=") {
            let Some((_, stored)) = DROPOUTS
                .into_iter()
                .find(|(word, _)| scan.rest().starts_with(&format!("{word}_bpc=")) && scan.eat(word))
            else {
                let words = DROPOUTS.map(|(word, _)| word).join(", ");
                return Err(scan.fail(format!("found '{}', expected one of: {words}", scan.ahead())));
            };
            (kernel.dropout, kernel.store_randval) = (true, stored);
        }
        if !scan.eat("_bpc=") {
            return Err(scan.fail(format!("found '{}', expected '_bpc=' and a number", scan.ahead())));
        }
        kernel.block_per_cu = if scan.eat_whole("-1") {
            Self::PIPELINE_DECIDES
        } else {
            scan.number("bpc", 1, MAX_SMALL)? as u8
        };
        scan.end("the end of the name")?;
        Ok(kernel)
    }

    /// The name of the kernel's configuration.
    pub fn config_name(&self) -> String {
        let joined = |numbers: &[u16]| numbers.iter().map(u16::to_string).collect::<Vec<_>>().join("x");
        let mut name = format!("fmha_{}_{}_{}_h{}", self.family, self.dtype, self.mode, self.hdim_q);
        // Writing to a `String` cannot fail, hence the ignored results.
        if self.hdim_v != self.hdim_q {
            let _ = write!(name, "x{}", self.hdim_v);
        }
        let _ = write!(name, "_{}_t{}", self.pipeline, joined(&self.tile.numbers()));
        if !self.constraint_tag.is_empty() {
            let _ = write!(name, ".{}", self.constraint_tag);
        }
        let _ = write!(name, "_w{}_pad{}", joined(&self.warp_tile[..3]), pads(self.pad));
        let _ = write!(name, "_mask={}_bias={}", self.mask, self.bias);
        for option in options(self) {
            let _ = write!(name, "_{option}");
        }
        match self.block_per_cu {
            Self::PIPELINE_DECIDES => name + "_bpc=-1",
            blocks => format!("{name}_bpc={blocks}"),
        }
    }
}

/// The parts that are written only when not the default.
pub(super) fn options(kernel: &FmhaKernel) -> impl Iterator<Item = String> {
    let backward = kernel.family.api() == crate::vocab::FmhaApi::Bwd;
    let dropout =
        DROPOUTS.iter().find(|(_, stored)| *stored == kernel.store_randval).map_or("", |(word, _)| word);
    let flag = |has: bool, word: &str| has.then(|| format!("{word}=1"));
    let page = kernel.page_size != 1;
    [
        flag(kernel.lse, "lse"),
        flag(kernel.dropout && !backward, "drop"),
        flag(kernel.logits, "logits"),
        flag(kernel.sink, "sink"),
        flag(kernel.skip, "skip"),
        (kernel.qscale != FmhaQscale::No).then(|| format!("qs={}", kernel.qscale)),
        flag(kernel.paged_kv, "pkv"),
        (kernel.rope != FmhaRope::None).then(|| format!("rope={}", kernel.rope)),
        page.then(|| format!("ps={}", kernel.page_size)),
        (kernel.kv_layout != FmhaKvLayout::Vectorized).then(|| format!("kvl={}", kernel.kv_layout)),
        (kernel.kv_lookup != FmhaKvLookup::Sglang).then(|| format!("kvt={}", kernel.kv_lookup)),
        flag(kernel.deterministic, "det"),
        flag(kernel.dbias, "dbias"),
        (kernel.dropout && backward).then(|| format!("drv={dropout}")),
    ]
    .into_iter()
    .flatten()
}

fn required<T>(scan: &mut Scan<'_>, tag: &str, words: &[&str]) -> Result<T, NameError>
where
    T: std::str::FromStr<Err = crate::vocab::UnknownWord>,
{
    if !scan.eat(tag) {
        return Err(scan.fail(format!("found '{}', expected '{tag}' and a word", scan.ahead())));
    }
    scan.word(words)
}

fn optional<T>(scan: &mut Scan<'_>, tag: &str, words: &[&str], value: &mut T) -> Result<(), NameError>
where
    T: std::str::FromStr<Err = crate::vocab::UnknownWord>,
{
    if scan.eat(tag) {
        *value = scan.word(words)?;
    }
    Ok(())
}
