//! GEMM kernel names: those of the tile engine, and the dispatcher's identifiers.
//!
//! ```text
//! name       := "gemm" ["_universal"] "_" body ["_vec" int "_" int "_" int] suffixes tail
//! identifier := body suffixes
//! body       := dtype "_" [rcp]{3} "_" pipeline "_" epilogue "_" scheduler
//!               4("_" ("True" | "False")) 3("_" int "x" int "x" int)
//! suffixes   := ["_splitk" int] ["_" elementwise] ["_d" int] ["_sparse"] ["_preshuffle"]
//! ```
//!
//! The flags are pad m, n, k and persistent; the triples are tile, waves and instruction tile.
//!
//! Read differently from upstream, on purpose:
//! 1. Upstream splits at every `_`, so a word that holds one (`basic_v1`, `comp_async`, `bias_activation`, `pk_fp4`)
//!    shifts all fields behind it and the tile falls back to defaults. Here the longest known word is taken.
//! 2. Upstream reads only the layouts rcr, rrr, crr and ccr; here any three of r, c and p are a layout, and it is
//!    the features that know fewer.
//! 3. Upstream takes any flag but `True` for false and stops quietly at a bad number; here both are errors.

use std::fmt::Write as _;

use super::scan::{MAX_EXTENT, MAX_SMALL, Scan};
use super::{GemmBody, GemmKernel, NameError};
use crate::vocab::{Arch, Elementwise, Epilogue, Pipeline, Scheduler};

/// What [`GemmKernel::parse_name`] understood, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedGemmName {
    /// The kernel.
    pub kernel: GemmKernel,
    /// What follows the known suffixes: empty, or text that begins with `_`. Upstream appends words of its own
    /// (`_multid`), which say nothing that the kernel's fields could hold.
    pub tail: String,
}

/// Three vector widths, and where in a name they stand.
struct VecPart {
    at: usize,
    len: usize,
    widths: [u32; 3],
}

impl GemmKernel {
    /// Reads a tile-engine name, such as
    /// `gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_1x4x1_16x16x128`.
    ///
    /// The vector widths may stand anywhere in the name; a `_vec` and a digit that do not go on as three numbers are
    /// an error. Without them the widths are 0, the kernel's own.
    ///
    /// What no name carries: B has A's type, C the type that A gives ([`Dtype::result`](crate::vocab::Dtype::result)), sums are kept in
    /// [`Dtype::accumulator`](crate::vocab::Dtype::accumulator); `block_size` is 0 (not known) until [`GemmKernel::set_arch`]; `double_buffer` follows
    /// from the pipeline; one wave group; no transposes, not grouped.
    pub fn parse_name(name: &str) -> Result<ParsedGemmName, NameError> {
        let whole = Scan::whole(name)?;
        let vec = find_vec(name)?;
        let shorter = vec.as_ref().map(|vec| [&name[..vec.at], &name[vec.at + vec.len..]].concat());
        let mut scan = match (&vec, &shorter) {
            (Some(vec), Some(text)) => Scan::without(name, text, vec.at, vec.len),
            _ => whole,
        };
        if !scan.eat("gemm_") {
            return Err(scan.fail("expected 'gemm_' or 'gemm_universal_'"));
        }
        // No dtype begins like this, so the word cannot be anything else.
        scan.eat("universal_");
        let mut kernel = GemmKernel::from(body(&mut scan)?);
        if let Some(vec) = vec {
            kernel.vector = vec.widths;
        }
        // Suffixes in a spelling that no identifier has (`_d0`) are as foreign as any other tail.
        let mut after = scan.clone();
        let mut with_suffixes = kernel.clone();
        if suffixes(&mut after, &mut with_suffixes).is_ok() {
            (scan, kernel) = (after, with_suffixes);
        }
        let tail = scan.rest();
        if !tail.is_empty() && !tail.starts_with('_') {
            return Err(scan.fail(format!("found '{tail}', expected '_' or the end of the name")));
        }
        Ok(ParsedGemmName { tail: tail.to_owned(), kernel })
    }

    /// Reads a dispatcher identifier: a name without `gemm_universal_`, vector widths and tail.
    ///
    /// Identifiers are keys, compared byte by byte; so only what the dispatcher writes is accepted, and
    /// [`GemmKernel::identifier`] gives back the same bytes. Identifiers of older dispatchers, which begin with the
    /// tile and hold neither dtype nor layout nor pipeline, are refused as such.
    pub fn parse_identifier(identifier: &str) -> Result<Self, NameError> {
        let mut scan = Scan::whole(identifier)?;
        if scan.token().contains('x') && identifier.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(scan.fail(
                "an identifier of an older dispatcher: it begins with the tile and lacks dtype, layout, pipeline and \
                 pads; export the registry with a dispatcher whose identifiers begin with the dtype",
            ));
        }
        let mut kernel = GemmKernel::from(body(&mut scan)?);
        suffixes(&mut scan, &mut kernel)?;
        scan.end(
            "the end or, in this order and only when not the default, \
             _splitk{N}, an elementwise operation, _d{N}, _sparse, _preshuffle",
        )?;
        Ok(kernel)
    }

    /// The tile-engine name, in the form `gemm_universal_…`.
    pub fn name(&self) -> String {
        let mut name = String::from("gemm_universal_");
        self.write_body(&mut name);
        if let [a, b, c] = self.vector
            && self.vector != [0; 3]
        {
            let _ = write!(name, "_vec{a}_{b}_{c}");
        }
        self.write_suffixes(&mut name);
        name
    }

    /// The dispatcher's identifier, the key under which a registry holds it.
    pub fn identifier(&self) -> String {
        let mut identifier = String::new();
        self.write_body(&mut identifier);
        self.write_suffixes(&mut identifier);
        identifier
    }

    /// Says for which architecture it was built. That gives the wave size, and with it `block_size` if it was not known.
    pub fn set_arch(&mut self, arch: Arch) {
        self.arch = Some(arch);
        if self.block_size == 0 {
            let waves = self.wave.m.saturating_mul(self.wave.n).saturating_mul(self.wave.k);
            self.block_size = waves.saturating_mul(arch.wave_size() as u32);
        }
    }

    // Writing to a `String` cannot fail, hence the ignored results.
    fn write_body(&self, out: &mut String) {
        let Self { dtype_a, layout, pipeline, epilogue, scheduler, tile, wave, warp_tile, .. } = self;
        let _ = write!(out, "{dtype_a}_{layout}_{pipeline}_{epilogue}_{scheduler}");
        for flag in self.pad.into_iter().chain([self.persistent]) {
            out.push_str(if flag { "_True" } else { "_False" });
        }
        let _ = write!(out, "_{tile}_{wave}_{warp_tile}");
    }

    fn write_suffixes(&self, out: &mut String) {
        if self.split_k > 1 {
            let _ = write!(out, "_splitk{}", self.split_k);
        }
        if self.elementwise != Elementwise::PassThrough {
            let _ = write!(out, "_{}", self.elementwise);
        }
        if self.num_d_tensors > 0 {
            let _ = write!(out, "_d{}", self.num_d_tensors);
        }
        if self.structured_sparsity {
            out.push_str("_sparse");
        }
        if self.preshuffle {
            out.push_str("_preshuffle");
        }
    }
}

/// Reads the part that names and identifiers share.
fn body(scan: &mut Scan<'_>) -> Result<GemmBody, NameError> {
    let dtype = scan.element()?;
    scan.separator("the layout")?;
    let layout = scan.word(&[])?;
    scan.separator("the pipeline")?;
    let pipeline = scan.word(Pipeline::WORDS)?;
    scan.separator("the epilogue")?;
    let epilogue = scan.word(Epilogue::WORDS)?;
    scan.separator("the scheduler")?;
    let scheduler = scan.word(Scheduler::WORDS)?;
    let mut flag = |what: &str| {
        scan.separator(what)?;
        scan.flag(what)
    };
    let pad = [flag("pad_m")?, flag("pad_n")?, flag("pad_k")?];
    let persistent = flag("persistent")?;
    let mut triple = |what: &str, max| {
        scan.separator(what)?;
        scan.triple(what, max)
    };
    let tile = triple("the tile", MAX_EXTENT)?;
    let wave = triple("the wave shape", MAX_SMALL)?;
    let warp_tile = triple("the warp tile", MAX_SMALL)?;
    Ok(GemmBody { dtype, layout, pipeline, epilogue, scheduler, pad, persistent, tile, wave, warp_tile })
}

/// Reads the optional suffixes, which are written only for values other than the default.
fn suffixes(scan: &mut Scan<'_>, kernel: &mut GemmKernel) -> Result<(), NameError> {
    if let Some(parts) = scan.numbered("_splitk", 2, MAX_SMALL)? {
        kernel.split_k = parts as u8;
    }
    let passing = |word: &&&str| **word != Elementwise::PassThrough.as_str();
    let operations: Vec<&str> = Elementwise::WORDS.iter().filter(passing).copied().collect();
    if let Some(elementwise) = scan.optional_word(&operations) {
        kernel.elementwise = elementwise;
    }
    if let Some(tensors) = scan.numbered("_d", 1, MAX_SMALL)? {
        kernel.num_d_tensors = tensors as u8;
    }
    kernel.structured_sparsity = scan.eat_whole("_sparse");
    kernel.preshuffle = scan.eat_whole("_preshuffle");
    Ok(())
}

/// Finds the first `_vec{a}_{b}_{c}` that a `_` or the end follows.
fn find_vec(name: &str) -> Result<Option<VecPart>, NameError> {
    let mut first_bad = None;
    for (at, found) in name.match_indices("_vec") {
        let numbers = &name[at + found.len()..];
        if !numbers.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let mut scan = Scan::whole(numbers)?;
        match three_numbers(&mut scan) {
            Ok(widths) => {
                let len = found.len() + numbers.len() - scan.rest().len();
                return Ok(Some(VecPart { at, len, widths }));
            }
            Err(error) => {
                first_bad.get_or_insert(NameError {
                    name: name.to_owned(),
                    at: at + found.len() + error.at,
                    reason: error.reason,
                });
            }
        }
    }
    first_bad.map_or(Ok(None), Err)
}

fn three_numbers(scan: &mut Scan<'_>) -> Result<[u32; 3], NameError> {
    let mut widths = [0; 3];
    for (i, width) in widths.iter_mut().enumerate() {
        if i > 0 {
            scan.separator("three vector widths")?;
        }
        *width = scan.number("vector width", 0, MAX_EXTENT)?;
    }
    if scan.rest().is_empty() || scan.rest().starts_with('_') {
        Ok(widths)
    } else {
        Err(scan.fail(format!("found '{}' after the vector widths", scan.token())))
    }
}

impl Pipeline {
    /// Whether it keeps two tiles in shared memory at a time.
    pub const fn double_buffered(self) -> bool {
        matches!(
            self,
            Self::CompV4
                | Self::PreshuffleV2
                | Self::CompAsync
                | Self::CompAsyncEightWaves
                | Self::CompTdm
                | Self::CompTdmV2
                | Self::WeightPreshuffle
        )
    }
}

#[cfg(test)]
mod tests;
