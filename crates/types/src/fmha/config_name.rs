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

use super::FmhaKernel;
use super::body::{PIPELINE, part};
use crate::grammar::PartForm::{Digits, Joined, Mark, Number, Word};
use crate::grammar::{NameReader, NameWriter, Part};
use crate::scan::{NameError, Scan};
use crate::vocab::FmhaApi;

const HEAD_SIZE: Part = part("_h", "hdim_q", Number).called("the head size");
const VALUE_SIZE: Part = part("x", "hdim_v", Number).called("the head size of values");
const TILE: Part = part("_t", "tile_m0", Joined(6)).called("the tile");
const INSTRUCTION: Part = part("_w", "warp_m0", Joined(3)).called("the instruction");
/// Backward kernels pad to 8 elements.
const MARKED: [Part; 3] = [
    part("_pad", "pad_s", Digits(4, &['0', '1', '8'])),
    part("_mask=", "mask", Word),
    part("_bias=", "bias", Word),
];
/// The parts that are written only when not the default.
const OPTIONS: [Part; 13] = [
    part("_lse=1", "lse", Mark),
    part("_drop=1", "dropout", Mark),
    part("_logits=1", "logits", Mark),
    part("_sink=1", "sink", Mark),
    part("_skip=1", "skip", Mark),
    part("_qs=", "qscale", Word),
    part("_pkv=1", "paged_kv", Mark),
    part("_rope=", "rope", Word),
    part("_ps=", "page_size", Number).called("the page size"),
    part("_kvl=", "kv_layout", Word),
    part("_kvt=", "kv_lookup", Word),
    part("_det=1", "deterministic", Mark),
    part("_dbias=1", "dbias", Mark),
];
/// The dropout of backward kernels, and whether the random numbers are stored.
const DROPOUTS: [(&str, bool); 2] = [("dropout_wg16", false), ("dropout_wg16_storerandval", true)];
const BLOCKS: Part = part("_bpc=", "block_per_cu", Number);

/// Reads the name of a configuration behind the mode.
pub(super) fn parse(scan: &mut Scan<'_>, mut kernel: FmhaKernel) -> Result<FmhaKernel, NameError> {
    let mut reader = NameReader::new(scan, &kernel);
    reader.all(&[HEAD_SIZE])?;
    reader.any(&[VALUE_SIZE])?;
    let has_own_values = reader.has(&VALUE_SIZE);
    reader.all(&[PIPELINE, TILE])?;
    if reader.scan.eat(".") {
        let tag = reader.scan.token();
        if tag.is_empty() {
            return Err(reader.scan.fail("found nothing after '.', expected the tile's tag"));
        }
        reader.scan.eat(tag);
        tag.clone_into(&mut kernel.constraint_tag);
    }
    reader.all(&[INSTRUCTION])?;
    reader.all(&MARKED)?;
    reader.any(&OPTIONS)?;
    let dropout = dropout(reader.scan)?;
    let decides = reader.scan.eat_whole("_bpc=-1");
    if !decides {
        reader.all(&[BLOCKS])?;
    }
    reader.scan.end("the end of the name")?;
    let mut kernel: FmhaKernel = reader.kernel(&kernel);
    if !has_own_values {
        kernel.hdim_v = kernel.hdim_q;
    }
    if let Some(stored) = dropout {
        (kernel.dropout, kernel.store_randval) = (true, stored);
    }
    if decides {
        kernel.block_per_cu = FmhaKernel::PIPELINE_DECIDES;
    }
    (kernel.hdim_q_alignment, kernel.hdim_v_alignment) = (kernel.hdim_q, kernel.hdim_v);
    let [m, n, k, ..] = kernel.warp_tile;
    kernel.set_warp_tile([m, n, k]);
    Ok(kernel)
}

impl FmhaKernel {
    /// The name of the kernel's configuration.
    pub fn config_name(&self) -> String {
        let Self { family, dtype, mode, .. } = self;
        let tag = if self.constraint_tag.is_empty() { "" } else { "." };
        let name = NameWriter::new(self, format!("fmha_{family}_{dtype}_{mode}"))
            .all(&[HEAD_SIZE])
            .other(&[VALUE_SIZE], &Self { hdim_v: self.hdim_q, ..Self::USUAL })
            .all(&[PIPELINE, TILE])
            .with(format_args!("{tag}{}", self.constraint_tag))
            .all(&[INSTRUCTION])
            .with(format_args!("_{}", words(self).join("_")));
        match self.block_per_cu {
            Self::PIPELINE_DECIDES => name.with("_bpc=-1").text,
            _ => name.all(&[BLOCKS]).text,
        }
    }
}

/// Reads the dropout of a backward kernel, if it is there: whether the random numbers are stored.
fn dropout(scan: &mut Scan<'_>) -> Result<Option<bool>, NameError> {
    if !scan.eat("_drv=") {
        return Ok(None);
    }
    let is_next = |word: &str| scan.rest().strip_prefix(word).is_some_and(|rest| rest.starts_with("_bpc="));
    let Some((word, stored)) = DROPOUTS.into_iter().find(|(word, _)| is_next(word)) else {
        let words = DROPOUTS.map(|(word, _)| word).join(", ");
        return Err(scan.fail(format!("found '{}', expected one of: {words}", scan.ahead())));
    };
    scan.eat(word);
    Ok(Some(stored))
}

/// The words of a name besides types, shapes and pipeline.
pub(super) fn words(kernel: &FmhaKernel) -> Vec<String> {
    let backward = kernel.family.api() == FmhaApi::Bwd;
    // Backward kernels have another word for it.
    let usual = FmhaKernel { dropout: backward, ..FmhaKernel::USUAL };
    let marked = MARKED.iter().map(|part| NameWriter::new(kernel, "").all(&[*part]).text[1..].to_owned());
    let mut words: Vec<String> = marked.collect();
    words.extend(NameWriter::words(kernel, OPTIONS, &usual));
    if kernel.dropout && backward {
        let dropout = DROPOUTS.iter().find(|(_, stored)| *stored == kernel.store_randval);
        words.extend(dropout.map(|(word, _)| format!("drv={word}")));
    }
    words
}
