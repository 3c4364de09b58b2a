//! The name that CK's own example gives a forward kernel; libraries made by it use it, too.
//!
//! ```text
//! fmha_fwd_d{q}_{dtype}_{mode}_b{6}_r{3}_r{3}_w{3}_w{3}[_o{n}]_{pipeline}_v{r|c}_{p[s][sk][d][dv]|npad}
//! _{logits|nlogits}_{bias|alibi|nbias}_{mask|mc|mg|nmask}_{lse|nlse}_{dropout|ndropout}_{skip|nskip}
//! _{pertensor|blockscale|…|nqscale}_{trload|ntrload}_{sink|nsink}[_gfx…][.cpp]
//! ```
//!
//! The head size of values is taken from the tile. `mask` and `mc` are causal masks, which compile to one
//! type whichever corner they start from: they are read as `top_left`.

use super::FmhaKernel;
use super::body::{PIPELINE, family, part, started, types};
use crate::field::{Record as _, places, values};
use crate::grammar::Form::{Joined, Number};
use crate::grammar::{NameReader, NameWriter, Part};
use crate::scan::{NameError, Scan};

const HEAD_SIZE: Part = part("_d", "hdim_q", Number).called("the head size");
const SHAPES: [Part; 5] = [
    part("_b", "tile_m0", Joined(6)).called("the tile"),
    part("_r", "wave_m0", Joined(3)).called("waves"),
    part("_r", "wave_m1", Joined(3)).called("waves"),
    part("_w", "warp_m0", Joined(3)).called("the instruction"),
    part("_w", "warp_m1", Joined(3)).called("the instruction"),
];
const BLOCKS: Part = part("_o", "block_per_cu", Number);

/// A field that is one of some words, which stand here by its numbers. Of several with a bar between them, the
/// first is written.
struct Choice {
    place: usize,
    words: &'static [&'static str],
}

const fn choice(field: &'static str, words: &'static [&'static str]) -> Choice {
    Choice { place: places(FmhaKernel::FIELDS, &[field])[0], words }
}

const ORDER: Choice = choice("v_rowmajor", &["vc", "vr"]);
const CHOICES: [Choice; 9] = [
    choice("logits", &["nlogits", "logits"]),
    choice("bias", &["nbias", "bias", "alibi"]),
    choice("mask", &["nmask", "mc|mask", "mb", "mg"]),
    choice("lse", &["nlse", "lse"]),
    choice("dropout", &["ndropout", "dropout"]),
    choice("skip", &["nskip", "skip"]),
    choice("qscale", &["nqscale", "pertensor", "blockscale", "kv_blockscale", "mx", "per_token_head"]),
    choice("trload", &["ntrload", "trload"]),
    choice("sink", &["nsink", "sink"]),
];

impl Choice {
    /// Reads `_{word}`.
    fn read(&self, reader: &mut NameReader<'_, '_>) -> Result<(), NameError> {
        let scan = &mut *reader.scan;
        let mut is_next = |words: &str| words.split('|').any(|word| scan.eat_whole(&format!("_{word}")));
        let Some(found) = self.words.iter().position(|words| is_next(words)) else {
            let (found, words) = (scan.ahead(), self.words.join(", ").replace('|', ", "));
            return Err(scan.fail(format!("found '{found}', expected '_' and one of: {words}")));
        };
        reader.values[self.place] = found as i64;
        Ok(())
    }

    fn word(&self, values: &[i64]) -> &'static str {
        let words = self.words.get(values[self.place] as usize);
        words.and_then(|words| words.split('|').next()).unwrap_or_default()
    }
}

impl FmhaKernel {
    /// Reads a name of CK's example.
    pub fn parse_ck_name(name: &str) -> Result<Self, NameError> {
        let scan = &mut Scan::whole(name)?;
        let family = family(scan)?;
        let mut size = NameReader::new(scan, &Self::USUAL);
        size.all(&[HEAD_SIZE])?;
        let hdim_q = size.get(&HEAD_SIZE);
        scan.separator("the dtype")?;
        let (dtype, mode) = types(scan)?;
        let block_per_cu = Self::PIPELINE_DECIDES;
        let head = Self { hdim_q, block_per_cu, ..started(family, dtype, mode) };
        let mut reader = NameReader::new(scan, &head);
        reader.all(&SHAPES)?;
        reader.any(&[BLOCKS])?;
        reader.all(&[PIPELINE])?;
        ORDER.read(&mut reader)?;
        let pad = pads(reader.scan)?;
        CHOICES.iter().try_for_each(|choice| choice.read(&mut reader))?;
        let mut kernel = Self { pad, ..reader.kernel(&head) };
        kernel.hdim_v = kernel.tile.n1;
        (kernel.hdim_q_alignment, kernel.hdim_v_alignment) = (kernel.hdim_q, kernel.hdim_v);
        if scan.rest().starts_with("_gfx") {
            scan.eat("_");
            // A generation (gfx9, gfx11) is no architecture.
            let word = scan.token().trim_end_matches(".cpp");
            scan.eat(word);
            kernel.arch = word.parse().ok();
        }
        scan.eat(".cpp");
        scan.end("the end of the name")?;
        Ok(kernel)
    }

    /// The name in CK's example, for forward kernels.
    pub fn ck_name(&self) -> String {
        let (Self { family, hdim_q, dtype, mode, pad, .. }, values) = (self, values(self));
        let pads: String = PADS.iter().zip(pad).filter(|(_, pad)| **pad).map(|(word, _)| *word).collect();
        let pads = if pads.is_empty() { "npad".to_owned() } else { format!("p{pads}") };
        let choices: Vec<&str> = CHOICES.iter().map(|choice| choice.word(&values)).collect();
        let name = NameWriter::new(self, format!("fmha_{family}_d{hdim_q}_{dtype}_{mode}"))
            .all(&SHAPES)
            .other(&[BLOCKS], &Self { block_per_cu: Self::PIPELINE_DECIDES, ..Self::USUAL })
            .all(&[PIPELINE])
            .with(format_args!("_{}_{pads}_{}", ORDER.word(&values), choices.join("_")));
        match self.arch {
            Some(arch) => name.with(format_args!("_{arch}")).text,
            None => name.text,
        }
    }
}

const PADS: [&str; 4] = ["s", "sk", "d", "dv"];

/// Reads what is padded.
fn pads(scan: &mut Scan<'_>) -> Result<[bool; 4], NameError> {
    if scan.eat_whole("_npad") {
        return Ok([false; 4]);
    }
    if !scan.eat("_p") {
        return Err(scan.fail(format!("found '{}', expected _npad or _p and what is padded", scan.ahead())));
    }
    let goes_on = |scan: &Scan<'_>, word: &str| scan.rest().starts_with(word);
    // The longer words begin as the shorter ones do.
    let s = !goes_on(scan, PADS[1]) && scan.eat(PADS[0]);
    let sk = scan.eat(PADS[1]);
    let d = !goes_on(scan, PADS[3]) && scan.eat(PADS[2]);
    let pad = [s, sk, d, scan.eat(PADS[3])];
    if pad == [false; 4] {
        return Err(scan.fail(format!("found '{}', expected s, sk, d or dv", scan.ahead())));
    }
    Ok(pad)
}
