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
use super::body::{ORDER, PIPELINE, blank_kernel, part, types};
use crate::grammar::PartForm::{Choice, Joined, Number};
use crate::grammar::{NameReader, NameWriter, Part};
use crate::scan::{NameError, Scan};
use crate::vocab::FmhaFamily;

const HEAD_SIZE: Part = part("_d", "hdim_q", Number).called("the head size");
const SHAPES: [Part; 5] = [
    part("_b", "tile_m0", Joined(6)).called("the tile"),
    part("_r", "wave_m0", Joined(3)).called("waves"),
    part("_r", "wave_m1", Joined(3)).called("waves"),
    part("_w", "warp_m0", Joined(3)).called("the instruction"),
    part("_w", "warp_m1", Joined(3)).called("the instruction"),
];
const BLOCKS: Part = part("_o", "block_per_cu", Number);

const CHOICES: [Part; 9] = [
    part("_", "logits", Choice(&["nlogits", "logits"])),
    part("_", "bias", Choice(&["nbias", "bias", "alibi"])),
    part("_", "mask", Choice(&["nmask", "mc|mask", "mb", "mg"])),
    part("_", "lse", Choice(&["nlse", "lse"])),
    part("_", "dropout", Choice(&["ndropout", "dropout"])),
    part("_", "skip", Choice(&["nskip", "skip"])),
    part(
        "_",
        "qscale",
        Choice(&["nqscale", "pertensor", "blockscale", "kv_blockscale", "mx", "per_token_head"]),
    ),
    part("_", "trload", Choice(&["ntrload", "trload"])),
    part("_", "sink", Choice(&["nsink", "sink"])),
];

/// Reads a name of CK's example behind the family.
pub(super) fn parse(scan: &mut Scan<'_>, family: FmhaFamily) -> Result<FmhaKernel, NameError> {
    let mut size = NameReader::new(scan, &FmhaKernel::USUAL);
    size.all(&[HEAD_SIZE])?;
    let hdim_q = size.get(&HEAD_SIZE);
    let (dtype, mode) = types(scan)?;
    let block_per_cu = FmhaKernel::PIPELINE_DECIDES;
    let head = FmhaKernel { hdim_q, block_per_cu, ..blank_kernel(family, dtype, mode) };
    let mut reader = NameReader::new(scan, &head);
    reader.all(&SHAPES)?;
    reader.any(&[BLOCKS])?;
    reader.all(&[PIPELINE, ORDER])?;
    let pad = pads(reader.scan)?;
    reader.all(&CHOICES)?;
    let mut kernel = FmhaKernel { pad, ..reader.kernel(&head) };
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

impl FmhaKernel {
    /// The name in CK's example, for forward kernels.
    pub fn ck_name(&self) -> String {
        let Self { family, hdim_q, dtype, mode, pad, .. } = self;
        let name = NameWriter::new(self, format!("fmha_{family}_d{hdim_q}_{dtype}_{mode}"))
            .all(&SHAPES)
            .other(&[BLOCKS], &Self { block_per_cu: Self::PIPELINE_DECIDES, ..Self::USUAL })
            .all(&[PIPELINE, ORDER])
            .with(padded(*pad))
            .all(&CHOICES);
        match self.arch {
            Some(arch) => name.with(format_args!("_{arch}")).text,
            None => name.text,
        }
    }
}

/// The word for what is padded.
fn padded(pad: [bool; 4]) -> String {
    let words = ["s", "sk", "d", "dv"].into_iter().zip(pad).filter(|(_, pad)| *pad).map(|(word, _)| word);
    if pad == [false; 4] { "_npad".to_owned() } else { format!("_p{}", words.collect::<String>()) }
}

/// Reads what is padded.
fn pads(scan: &mut Scan<'_>) -> Result<[bool; 4], NameError> {
    let all = (0..16).map(|bits: u8| [0, 1, 2, 3].map(|axis| bits >> axis & 1 == 1));
    let pads = all.into_iter().find(|pad| scan.eat_whole(&padded(*pad)));
    pads.ok_or_else(|| {
        let expected = "_npad, or _p and what is padded: s, sk, d, dv, in this order";
        scan.fail(format!("found '{}', expected {expected}", scan.ahead()))
    })
}
