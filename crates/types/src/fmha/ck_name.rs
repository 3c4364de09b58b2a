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

use super::body::{family, joined, types};
use super::{FmhaKernel, FmhaTile};
use crate::scan::{NameError, Scan};
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{FmhaBias, FmhaMask, FmhaPipeline, FmhaQscale};

/// Reads `_{word}` or `_n{word}`.
fn flag(scan: &mut Scan<'_>, word: &str) -> Result<bool, NameError> {
    if scan.eat_whole(&format!("_{word}")) {
        Ok(true)
    } else if scan.eat_whole(&format!("_n{word}")) {
        Ok(false)
    } else {
        Err(scan.fail(format!("found '{}', expected _{word} or _n{word}", scan.ahead())))
    }
}

/// Reads one of `_{word}`.
fn choice<T: Copy>(scan: &mut Scan<'_>, words: &[(&str, T)]) -> Result<T, NameError> {
    if let Some(&(_, value)) = words.iter().find(|(word, _)| scan.eat_whole(&format!("_{word}"))) {
        return Ok(value);
    }
    let words: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
    Err(scan.fail(format!("found '{}', expected '_' and one of: {}", scan.ahead(), words.join(", "))))
}

const BIASES: [(&str, FmhaBias); 3] =
    [("nbias", FmhaBias::No), ("bias", FmhaBias::Elementwise), ("alibi", FmhaBias::Alibi)];
/// Of several words with one value, the last is written.
const MASKS: [(&str, FmhaMask); 5] = [
    ("nmask", FmhaMask::No),
    ("mask", FmhaMask::TopLeft),
    ("mc", FmhaMask::TopLeft),
    ("mb", FmhaMask::BottomRight),
    ("mg", FmhaMask::Generic),
];
const QSCALES: [(&str, FmhaQscale); 6] = [
    ("nqscale", FmhaQscale::No),
    ("pertensor", FmhaQscale::Pertensor),
    ("blockscale", FmhaQscale::Blockscale),
    ("kv_blockscale", FmhaQscale::KvBlockscale),
    ("mx", FmhaQscale::Mx),
    ("per_token_head", FmhaQscale::PerTokenHead),
];

impl FmhaKernel {
    /// Reads a name of CK's example.
    pub fn parse_ck_name(name: &str) -> Result<Self, NameError> {
        let mut scan = Scan::whole(name)?;
        let scan = &mut scan;
        let family = family(scan)?;
        if !scan.eat("_d") {
            return Err(scan.fail(format!("found '{}', expected '_d' and the head size", scan.ahead())));
        }
        let hdim_q = scan.number("the head size", 1, MAX_EXTENT)? as u16;
        scan.separator("the dtype")?;
        let (dtype, mode) = types(scan)?;
        if !scan.eat("_b") {
            return Err(scan.fail(format!("found '{}', expected '_b' and the tile", scan.ahead())));
        }
        let tile: FmhaTile = joined::<6>(scan, "the tile", MAX_EXTENT)?.into();
        let mut kernel = Self::plain(family, [hdim_q, tile.n1], FmhaPipeline::Qr, tile);
        (kernel.dtype, kernel.mode) = (dtype, mode);
        for (place, tag) in ["_r", "_r", "_w", "_w"].into_iter().enumerate() {
            if !scan.eat(tag) {
                return Err(scan.fail(format!("found '{}', expected '{tag}' and numbers", scan.ahead())));
            }
            let most = if place < 2 { MAX_SMALL } else { MAX_EXTENT };
            let numbers = joined::<3>(scan, "waves and instructions", most)?;
            let at = place % 2 * 3;
            if place < 2 {
                kernel.wave[at..at + 3].copy_from_slice(&numbers.map(|waves| waves as u8));
            } else {
                kernel.warp_tile[at..at + 3].copy_from_slice(&numbers);
            }
        }
        kernel.block_per_cu = match scan.numbered("_o", 1, MAX_SMALL)? {
            Some(blocks) => blocks as u8,
            None => Self::PIPELINE_DECIDES,
        };
        scan.separator("the pipeline")?;
        kernel.pipeline = scan.word(FmhaPipeline::WORDS)?;
        kernel.v_rowmajor = choice(scan, &[("vr", true), ("vc", false)])?;
        kernel.pad = [false; 4];
        if !scan.eat_whole("_npad") {
            if !scan.eat("_p") {
                return Err(
                    scan.fail(format!("found '{}', expected _npad or _p and what is padded", scan.ahead()))
                );
            }
            let starts = |scan: &Scan<'_>, word: &str| scan.rest().starts_with(word);
            kernel.pad[0] = starts(scan, "s") && !starts(scan, "sk") && scan.eat("s");
            kernel.pad[1] = scan.eat("sk");
            kernel.pad[2] = starts(scan, "d") && !starts(scan, "dv") && scan.eat("d");
            kernel.pad[3] = scan.eat("dv");
            if kernel.pad == [false; 4] {
                return Err(scan.fail(format!("found '{}', expected s, sk, d or dv", scan.ahead())));
            }
        }
        kernel.logits = flag(scan, "logits")?;
        kernel.bias = choice(scan, &BIASES)?;
        kernel.mask = choice(scan, &MASKS)?;
        kernel.lse = flag(scan, "lse")?;
        kernel.dropout = flag(scan, "dropout")?;
        kernel.skip = flag(scan, "skip")?;
        kernel.qscale = choice(scan, &QSCALES)?;
        kernel.trload = flag(scan, "trload")?;
        kernel.sink = flag(scan, "sink")?;
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
        let joined = |numbers: &[u16]| numbers.iter().map(u16::to_string).collect::<Vec<_>>().join("x");
        let flag = |has: bool, word: &str| format!("{}{word}", if has { "" } else { "n" });
        let waves = self.wave.map(u16::from);
        let pads: String = ["s", "sk", "d", "dv"]
            .iter()
            .zip(self.pad)
            .filter(|(_, pad)| *pad)
            .map(|(word, _)| *word)
            .collect();
        let mut parts = vec![
            format!("fmha_{}_d{}_{}_{}", self.family, self.hdim_q, self.dtype, self.mode),
            format!("b{}", joined(&self.tile.numbers())),
            format!("r{}_r{}", joined(&waves[..3]), joined(&waves[3..6])),
            format!("w{}_w{}", joined(&self.warp_tile[..3]), joined(&self.warp_tile[3..6])),
        ];
        if self.block_per_cu != Self::PIPELINE_DECIDES {
            parts.push(format!("o{}", self.block_per_cu));
        }
        parts.push(format!("{}_v{}", self.pipeline, if self.v_rowmajor { "r" } else { "c" }));
        parts.push(if pads.is_empty() { "npad".to_owned() } else { format!("p{pads}") });
        parts.push(flag(self.logits, "logits"));
        parts.push(word_of(&BIASES, self.bias).to_owned());
        parts.push(word_of(&MASKS, self.mask).to_owned());
        parts.extend(
            [(self.lse, "lse"), (self.dropout, "dropout"), (self.skip, "skip")]
                .map(|(has, word)| flag(has, word)),
        );
        parts.push(word_of(&QSCALES, self.qscale).to_owned());
        parts.extend([(self.trload, "trload"), (self.sink, "sink")].map(|(has, word)| flag(has, word)));
        parts.extend(self.arch.map(|arch| arch.to_string()));
        parts.join("_")
    }
}

fn word_of<'w, T: Copy + PartialEq>(words: &[(&'w str, T)], value: T) -> &'w str {
    words.iter().rev().find(|(_, known)| *known == value).map_or("", |&(word, _)| word)
}
