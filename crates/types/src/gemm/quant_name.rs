//! The parts of names that only quantised GEMM kernels have: pairs of types, groups, and what follows from
//! them.
//!
//! ```text
//! types  := ["mx_"] word [word]                     word := "fp8" | "bf8" | "fp4" | "i4" | …
//! groups := ["_qg" mnk | "_aqg" mnk] ["_bqg" mnk]   by what has scales
//! flags  := ["_preshuffleb"] ["_preshuffleaq" | "_preshufflequant"] ["_preshufflebq"] ["_eightwaves"]
//!           ["_transposec"]
//! ```

use std::fmt::Write as _;

use super::{Family, GemmKernel, Quant};
use crate::scan::{NameError, Scan};
use crate::vocab::{Dtype, Pipeline, QuantMode};

/// The words of types in pairs, the longest first.
const WORDS: [(&str, Dtype); 8] = [
    ("bf16", Dtype::Bf16),
    ("fp16", Dtype::Fp16),
    ("int8", Dtype::Int8),
    ("fp32", Dtype::Fp32),
    ("bf8", Dtype::Bf8),
    ("fp8", Dtype::Fp8),
    ("fp4", Dtype::PkFp4),
    ("i4", Dtype::PkInt4),
];

/// Reads the types of A and B, and whether `mx_` stands before them.
pub(super) fn types(scan: &mut Scan<'_>) -> Result<(bool, Dtype, Dtype), NameError> {
    let microscale = scan.eat("mx_");
    let token = scan.token();
    let first = |text: &str| WORDS.iter().find(|(word, _)| text.starts_with(word)).copied();
    let read = first(token).and_then(|(word, a)| match &token[word.len()..] {
        "" if !microscale => Some((a, a)),
        rest => WORDS.iter().find(|(word, _)| *word == rest).map(|&(_, b)| (a, b)),
    });
    let Some((a, b)) = read else {
        let words: Vec<&str> = WORDS.iter().map(|&(word, _)| word).collect();
        let expected = if microscale { "two of" } else { "one or two of" };
        return Err(
            scan.fail(format!("found '{token}' for the types, expected {expected}: {}", words.join(", ")))
        );
    };
    scan.eat(token);
    Ok((microscale, a, b))
}

fn word(dtype: Dtype) -> &'static str {
    WORDS.iter().find(|(_, known)| *known == dtype).map_or(dtype.as_str(), |(word, _)| word)
}

/// Writes the types as [`types`] reads them.
pub(super) fn write_types(kernel: &GemmKernel, out: &mut String) {
    let (a, b) = (word(kernel.dtype_a), word(kernel.dtype_b));
    let _ = match kernel.pipeline {
        Pipeline::Microscale => write!(out, "mx_{a}{b}"),
        _ if a == b => write!(out, "{a}"),
        _ => write!(out, "{a}{b}"),
    };
}

/// Reads groups and flags. Names with flags for padding (`had_flags`) are the tile engine's, which leave
/// groups out.
pub(super) fn parts(
    scan: &mut Scan<'_>,
    kernel: &mut GemmKernel,
    mode: QuantMode,
    had_flags: bool,
) -> Result<(), NameError> {
    let mut quant = kernel.variant.quant.unwrap_or(Quant::usual(mode));
    let mut group = |prefixes: &[&str], place: &mut Option<crate::shape::Mnk>| {
        if place.is_none() || mode == QuantMode::Mx {
            return Ok(());
        }
        if prefixes.iter().any(|prefix| scan.eat(prefix)) {
            *place = Some(scan.shape("the quantisation group")?);
        } else if !had_flags {
            return Err(scan.fail(format!(
                "found '{}', expected {} and a shape",
                scan.rest(),
                prefixes.join(" or ")
            )));
        }
        Ok(())
    };
    group(&["_aqg", "_qg"], &mut quant.group_a)?;
    group(if mode == QuantMode::AB { &["_bqg"] } else { &["_qg", "_bqg"] }, &mut quant.group_b)?;
    kernel.variant.quant = Some(quant);
    kernel.preshuffle |= scan.eat_whole("_preshuffleb");
    let [scales_a, scales_b] = &mut kernel.variant.shuffled_scales;
    *scales_a |= scan.eat_whole("_preshuffleaq") || scan.eat_whole("_preshufflequant");
    *scales_b |= scan.eat_whole("_preshufflebq");
    if scan.rest().starts_with("_eightwaves") && kernel.pipeline != Pipeline::EightWaves {
        return Err(scan.fail(format!("found '_eightwaves' in a name of pipeline {}", kernel.pipeline)));
    }
    scan.eat_whole("_eightwaves");
    let transposed = scan.eat_whole("_transposec");
    if !had_flags {
        unsaid(kernel, mode);
    }
    kernel.transpose_c |= transposed;
    Ok(())
}

/// Fills in what names without flags leave out, as upstream's factories do.
fn unsaid(kernel: &mut GemmKernel, mode: QuantMode) {
    let [_, scales_b] = kernel.variant.shuffled_scales;
    let one_ab = mode == QuantMode::AB && !kernel.grouped;
    let pads = if mode == QuantMode::AB { one_ab && scales_b && !kernel.preshuffle } else { true };
    kernel.pad = [false, false, pads];
    kernel.transpose_c = one_ab && kernel.preshuffle && !scales_b;
    kernel.double_buffer = match kernel.pipeline {
        Pipeline::EightWaves => !kernel.grouped,
        pipeline => pipeline.double_buffered(),
    };
    if kernel.pipeline == Pipeline::PreshuffleB {
        kernel.variant.block_per_cu = 2;
    }
}

/// Whether a name contains flags for padding: always in some families, in others only if the kernel is not
/// what a name without them describes.
pub(super) fn has_flags(kernel: &GemmKernel, family: &Family) -> bool {
    let Some(mode) = family.quant.filter(|_| !family.has_flags()) else { return family.has_flags() };
    let mut plain = GemmKernel { persistent: false, transpose_c: false, ..kernel.clone() };
    unsaid(&mut plain, mode);
    plain.transpose_c |= family.grouped && kernel.transpose_c;
    plain != *kernel
}

/// Writes groups and flags as [`parts`] reads them.
pub(super) fn write_parts(kernel: &GemmKernel, family: &Family, quant: &Quant, out: &mut String) {
    let both = quant.mode == QuantMode::AB;
    let a = if both || kernel.grouped { "_aqg" } else { "_qg" };
    let b = if both { "_bqg" } else { "_qg" };
    // Microscaling has one group, which names omit.
    if quant.mode != QuantMode::Mx {
        for (prefix, group) in [(a, quant.group_a), (b, quant.group_b)] {
            if let Some(group) = group {
                let _ = write!(out, "{prefix}{group}");
            }
        }
    }
    let [scales_a, scales_b] = kernel.variant.shuffled_scales;
    let of_a =
        if quant.mode == QuantMode::A && !kernel.grouped { "_preshufflequant" } else { "_preshuffleaq" };
    let eight_waves = both && !kernel.grouped && kernel.pipeline == Pipeline::EightWaves;
    let transposed = (family.grouped || has_flags(kernel, family)) && kernel.transpose_c;
    for (flag, suffix) in [
        (kernel.preshuffle, "_preshuffleb"),
        (scales_a, of_a),
        (scales_b, "_preshufflebq"),
        (eight_waves, "_eightwaves"),
        (transposed, "_transposec"),
    ] {
        if flag {
            out.push_str(suffix);
        }
    }
}
