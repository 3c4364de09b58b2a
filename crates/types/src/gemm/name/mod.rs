//! GEMM kernel names: those of the tile engine and of the code generator, and the dispatcher's identifiers.
//!
//! ```text
//! name       := family "_" types "_" layout "_" pipeline "_" epilogue "_" scheduler ["_" reduction] flags
//!               shapes [vec] (suffixes | groups) tail
//! identifier := body suffixes
//! body       := dtype "_" [rcp]{3} "_" pipeline "_" epilogue "_" scheduler flags shapes
//! flags      := 4("_" ("True" | "False"))
//! shapes     := 3("_" int "x" int "x" int)
//! vec        := "_vec" int "_" int "_" int
//! suffixes   := ["_splitk" int] ["_multid_" elementwise "_d" int | ["_" elementwise] ["_d" int]] ["_sparse"]
//!               ["_preshuffle"] ["_streamk" ["_linear" | "_tree"]] ["_batched"] ["_grouped"]
//! ```
//!
//! The flags are pad m, n, k and persistent; the shapes are tile, waves and instruction tile. The tile engine
//! puts the kind of kernel first (`batched_gemm_…`, `gemm_streamk_…`; `gemm_family.rs` lists them all);
//! the code generator and the dispatcher put it last (`gemm_…_batched`, `gemm_…_streamk`). The tile
//! engine's batched kernels have three flags, its Stream-K kernels have the reduction before the flags, and
//! its kernels with D tensors have a fourth layout letter. Quantised kernels have the code generator's names
//! (`gemm_quant_name.rs`).
//!
//! Deliberate differences from upstream:
//! 1. Upstream splits at every `_`, so a word that holds one (`basic_v1`, `comp_async`, `bias_activation`,
//!    `pk_fp4`) shifts all later fields and the tile falls back to defaults. Here the longest known word is
//!    taken.
//! 2. Upstream reads only the layouts rcr, rrr, crr and ccr; here any three of r, c and p are a layout; only
//!    the features know fewer.
//! 3. Upstream treats any flag but `True` as false and stops silently at a bad number; here both are errors.

use std::fmt::Write as _;

use super::family::{Family, PLAIN};
use super::{GemmBody, GemmKernel, Quant, aiter_name, profile_name, quant_name};
use crate::scan::{NameError, Scan};
use crate::shape::Mnk;
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{
    Arch, Elementwise, Epilogue, GemmLayout, GemmLibrary, Major, Pipeline, QuantMode, Scheduler,
    StreamKReduction,
};

/// What [`GemmKernel::parse_name`] understood, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedGemmName {
    /// The kernel.
    pub kernel: GemmKernel,
    /// What follows the known suffixes: empty, or text that begins with `_`. Upstream appends words of its
    /// own (`_multid`), for which the kernel has no field.
    pub tail: String,
}

/// Three vector widths of a name.
struct VecPart {
    /// The name without it.
    others: String,
    widths: [u32; 3],
}

impl GemmKernel {
    /// Whether a text begins with the tile engine's word for a family (`gemm_universal_`, `batched_gemm_`),
    /// so that it can hardly be anything but a kernel's name.
    pub fn begins_a_name(text: &str) -> bool {
        aiter_name::begins(text) || Family::of_name(text).is_some_and(|family| *family != PLAIN)
    }

    /// Whose kernel a name is.
    pub fn library_of(name: &str) -> GemmLibrary {
        if aiter_name::begins(name) {
            return GemmLibrary::Aiter;
        }
        Family::of_name(name).map_or(GemmLibrary::Ck, |family| family.library)
    }

    /// Reads a name of the tile engine or the code generator, such as
    /// `gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_1x4x1_16x16x128`,
    /// `batched_gemm_fp16_rcr_…` or `gemm_fp16_rcr_…_streamk_tree`.
    ///
    /// Vector widths may appear anywhere in the name; `_vec` and a digit that do not continue as three
    /// numbers are an error. Without them the widths are 0, the kernel's own.
    ///
    /// What no name contains: B has A's type, C the type that follows from A
    /// ([`Dtype::result`](crate::vocab::Dtype::result)), sums are kept in
    /// [`Dtype::accumulator`](crate::vocab::Dtype::accumulator); `block_size` is 0 (not known) until
    /// [`GemmKernel::set_arch`]; `double_buffer` follows from the pipeline; one wave group; no transposes. A
    /// name `gemm_multi_d_…` without the operation has two D tensors and adds them, as in upstream's own
    /// reader. Quantised kernels whose names have no flags pad the depth, but those with scales of both
    /// operands do so only when the scales of B alone are shuffled; if both operands have scales, C is
    /// transposed when B alone is shuffled; two workgroups of pipeline `preshuffleb` share a compute unit.
    pub fn parse_name(name: &str) -> Result<ParsedGemmName, NameError> {
        let mut scan = Scan::whole(name)?;
        if aiter_name::begins(name) {
            return Ok(ParsedGemmName { tail: String::new(), kernel: aiter_name::parse(&scan)? });
        }
        let vec = find_vec(&scan)?;
        if let Some(vec) = &vec {
            scan = scan.over(&vec.others);
        }
        if scan.eat(profile_name::PREFIX) {
            let kernel = profile_name::parse(&mut scan)?;
            return Ok(ParsedGemmName { tail: String::new(), kernel });
        }
        let Some(family) = Family::of_name(scan.rest()) else {
            return Err(scan.fail("expected 'gemm_', 'gemm_universal_' or another family of GEMM kernels"));
        };
        scan.eat(family.prefix);
        scan.eat("_");
        let (mut kernel, had_flags) = body(&mut scan, family)?;
        if let Some(vec) = &vec {
            kernel.vector = vec.widths;
        }
        if let Some(mode) = family.quant {
            quant_name::parts(&mut scan, &mut kernel, mode, had_flags)?;
        }
        // Suffixes in a spelling that no identifier has (`_d0`) count as tail.
        let mut after = scan.clone();
        let mut with_suffixes = kernel.clone();
        if suffixes(&mut after, &mut with_suffixes).is_ok() {
            (scan, kernel) = (after, with_suffixes);
        }
        if kernel.variant.batched && kernel.persistent {
            return Err(scan.fail("batched kernels are not persistent"));
        }
        if family.multi_d && kernel.num_d_tensors == 0 {
            (kernel.num_d_tensors, kernel.elementwise) = (2, Elementwise::MultiDAdd);
        }
        if kernel.variant.d_layout != Major::Row && kernel.num_d_tensors == 0 {
            return Err(scan.fail("the layout has a letter for D tensors, but the kernel has none"));
        }
        let tail = scan.rest();
        if !tail.is_empty() && !tail.starts_with('_') {
            return Err(scan.fail(format!("found '{tail}', expected '_' or the end of the name")));
        }
        Ok(ParsedGemmName { tail: tail.to_owned(), kernel })
    }

    /// Reads a dispatcher identifier: a name without `gemm_universal_`, vector widths and tail.
    ///
    /// Identifiers are keys, compared byte by byte, so only what the dispatcher writes is accepted, and
    /// [`GemmKernel::identifier`] gives back the same bytes. Identifiers of older dispatchers, which begin
    /// with the tile and contain neither dtype nor layout nor pipeline, are refused with that reason. Batched
    /// and quantised kernels have no key in the dispatcher: their names identify them.
    pub fn parse_identifier(identifier: &str) -> Result<Self, NameError> {
        let mut scan = Scan::whole(identifier)?;
        if scan.token().contains('x') && identifier.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(scan.fail(
                "an identifier of an older dispatcher: it begins with the tile and lacks dtype, layout, \
                 pipeline and pads; export the registry with a dispatcher whose identifiers begin with the \
                 dtype",
            ));
        }
        if aiter_name::begins(identifier)
            || Family::of_name(identifier).is_some_and(|family| family.batched || family.quant.is_some())
        {
            let ParsedGemmName { kernel, tail } = Self::parse_name(identifier)?;
            if kernel.identifier() == identifier && tail.is_empty() {
                return Ok(kernel);
            }
            return Err(scan.fail(format!("expected '{}' for this kernel", kernel.identifier())));
        }
        let (mut kernel, _) = body(&mut scan, &PLAIN)?;
        suffixes(&mut scan, &mut kernel)?;
        scan.end(
            "the end or, in this order and only when not the default, \
             _splitk{N}, an elementwise operation, _d{N}, _sparse, _preshuffle, _streamk",
        )?;
        let key = kernel.identifier();
        if key == identifier {
            Ok(kernel)
        } else {
            Err(scan.fail(format!("expected '{key}' for this kernel")))
        }
    }

    /// The tile-engine name: the family, such as `gemm_universal` or `batched_gemm`, then the kernel. For
    /// quantised kernels it is the code generator's name, which contains the groups, and for AITER's kernels
    /// theirs.
    pub fn name(&self) -> String {
        if self.variant.library == GemmLibrary::Aiter {
            return aiter_name::write(self);
        }
        let family = Family::of(self);
        let mut name = format!("{}_", family.prefix);
        self.write_body(family, &mut name);
        self.write_vector(&mut name);
        if let Some(quant) = &self.variant.quant {
            quant_name::write_parts(self, family, quant, &mut name);
        }
        self.write_suffixes(family, &mut name);
        name
    }

    /// The dispatcher's identifier, the key under which a registry holds it.
    pub fn identifier(&self) -> String {
        if self.variant.batched || self.variant.quant.is_some() || self.variant.library != GemmLibrary::Ck {
            return self.name();
        }
        let mut identifier = String::new();
        self.write_body(&PLAIN, &mut identifier);
        // Keys have a field for groups, and no suffix.
        self.write_suffixes(&Family { grouped: true, ..PLAIN }, &mut identifier);
        identifier
    }

    /// Sets the architecture that it was built for. This gives the wave size, and with it `block_size` if
    /// that was unknown.
    pub fn set_arch(&mut self, arch: Arch) {
        self.arch = Some(arch);
        if self.block_size == 0 {
            let waves = self.wave.m.saturating_mul(self.wave.n).saturating_mul(self.wave.k);
            self.block_size = waves.saturating_mul(arch.wave_size() as u32);
        }
    }

    // Writing to a `String` cannot fail, hence the ignored results.
    fn write_body(&self, family: &Family, out: &mut String) {
        let Self { dtype_a, layout, pipeline, epilogue, scheduler, tile, wave, warp_tile, .. } = self;
        if family.quant.is_some() {
            quant_name::write_types(self, out);
        } else {
            let _ = write!(out, "{dtype_a}");
        }
        let _ = write!(out, "_{layout}");
        if family.multi_d {
            let _ = write!(out, "{}", self.variant.d_layout);
        }
        let _ = write!(out, "_{pipeline}_{epilogue}_{scheduler}");
        if let (true, Some(reduction)) = (family.stream_k, self.variant.stream_k) {
            let _ = write!(out, "_{reduction}");
        }
        if quant_name::has_flags(self, family) {
            let scales = family.flagged_scales().iter().map(|&operand| self.variant.shuffled_scales[operand]);
            let persistent = !family.batched && family.flagged_scales().is_empty();
            let flags = self.pad.into_iter().chain(scales).chain(persistent.then_some(self.persistent));
            for flag in flags {
                out.push_str(if flag { "_True" } else { "_False" });
            }
            if let Some(Quant { mode: QuantMode::AB, group_b: Some(group), .. }) = self.variant.quant {
                let _ = write!(out, "_gsn{}", group.n);
            }
        }
        let _ = write!(out, "_{tile}_{wave}_{warp_tile}");
    }

    fn write_vector(&self, out: &mut String) {
        if let [a, b, c] = self.vector
            && self.vector != [0; 3]
        {
            let _ = write!(out, "_vec{a}_{b}_{c}");
        }
    }

    /// Writes what the family does not imply.
    fn write_suffixes(&self, family: &Family, out: &mut String) {
        if self.split_k > 1 {
            let _ = write!(out, "_splitk{}", self.split_k);
        }
        if family.prefix == PLAIN.prefix && family.multi_d {
            let _ = write!(out, "_multid_{}_d{}", self.elementwise, self.num_d_tensors);
        } else {
            if self.elementwise != Elementwise::PassThrough {
                let _ = write!(out, "_{}", self.elementwise);
            }
            if self.num_d_tensors > 0 {
                let _ = write!(out, "_d{}", self.num_d_tensors);
            }
        }
        if self.structured_sparsity {
            out.push_str("_sparse");
        }
        if self.preshuffle && !family.preshuffle && family.quant.is_none() {
            out.push_str("_preshuffle");
        }
        if let (false, Some(reduction)) = (family.stream_k, self.variant.stream_k) {
            out.push_str("_streamk");
            if matches!(reduction, StreamKReduction::Linear | StreamKReduction::Tree) {
                let _ = write!(out, "_{reduction}");
            }
        }
        if self.variant.batched && !family.batched {
            out.push_str("_batched");
        }
        if self.grouped && !family.grouped {
            out.push_str("_grouped");
        }
    }
}

/// Reads a name up to its shapes. The flag tells whether the name has flags for padding.
fn body(scan: &mut Scan<'_>, family: &Family) -> Result<(GemmKernel, bool), NameError> {
    let (microscale, dtype_a, dtype_b) = if family.quant.is_some() {
        quant_name::types(scan)?
    } else {
        let dtype = scan.element()?;
        (false, dtype, dtype)
    };
    scan.separator("the layout")?;
    let (layout, d_layout) = read_layout(scan, family)?;
    scan.separator("the pipeline")?;
    let pipeline: Pipeline = scan.word(Pipeline::WORDS)?;
    if family.library == GemmLibrary::Triton && pipeline.stages().is_none() {
        let message = format!("'{pipeline}' has no number of stages, expected compv3 (2) to compv6 (5)");
        return Err(scan.fail(message));
    }
    if family.quant.is_some() && microscale != (pipeline == Pipeline::Microscale) {
        return Err(scan.fail("'mx_' before the types and pipeline microscale go together"));
    }
    scan.separator("the epilogue")?;
    let epilogue = scan.word(Epilogue::WORDS)?;
    scan.separator("the scheduler")?;
    let scheduler = scan.word(Scheduler::WORDS)?;
    let stream_k = if family.stream_k {
        scan.separator("the reduction")?;
        Some(scan.word(&StreamKReduction::WORDS[1..])?)
    } else {
        None
    };
    let had_flags =
        family.has_flags() || ["_True", "_False"].iter().any(|flag| scan.rest().starts_with(flag));
    let (mut pad, mut persistent, mut shuffled_scales) = ([false; 3], false, [false; 2]);
    if had_flags {
        let mut flag = |what: &str| {
            scan.separator(what)?;
            scan.flag(what)
        };
        pad = [flag("pad_m")?, flag("pad_n")?, flag("pad_k")?];
        // The tile engine's kernels with scales of groups are never persistent, and have other flags there.
        for operand in family.flagged_scales() {
            shuffled_scales[*operand] = flag(["a_preshuffle_quant", "b_preshuffle_quant"][*operand])?;
        }
        if !family.batched && family.flagged_scales().is_empty() {
            persistent = flag("persistent")?;
        }
    }
    let group_n = scan.numbered("_gsn", 1, MAX_EXTENT)?;
    let mut triple = |what: &str, max| {
        scan.separator(what)?;
        scan.triple(what, max)
    };
    let tile = triple("the tile", MAX_EXTENT)?;
    let wave = triple("the wave shape", MAX_SMALL)?;
    let warp_tile = triple("the warp tile", MAX_SMALL)?;
    let dtype = dtype_a;
    let body =
        GemmBody { dtype, layout, pipeline, epilogue, scheduler, pad, persistent, tile, wave, warp_tile };
    let mut kernel =
        GemmKernel { dtype_b, grouped: family.grouped, preshuffle: family.preshuffle, ..body.into() };
    kernel.variant.batched = family.batched;
    kernel.variant.library = family.library;
    kernel.variant.stream_k = stream_k;
    if family.quant.is_some() {
        kernel.dtype_c = dtype_a.scaled_result();
    }
    kernel.variant.d_layout = d_layout;
    kernel.variant.shuffled_scales = shuffled_scales;
    match (group_n, family.quant) {
        (None, _) => {}
        // Taken over where the groups are read.
        (Some(n), Some(mode @ QuantMode::AB)) => {
            let usual = Quant::usual(mode);
            let group_b = usual.group_b.map(|group| Mnk { n, ..group });
            kernel.variant.quant = Some(Quant { group_b, ..usual });
        }
        (Some(_), _) => return Err(scan.fail("found '_gsn' in a name of kernels without groups along n")),
    }
    Ok((kernel, had_flags))
}

/// Reads three letters, and a fourth for D tensors if the family may have them.
fn read_layout(scan: &mut Scan<'_>, family: &Family) -> Result<(GemmLayout, Major), NameError> {
    let token = scan.token();
    if let (4, Some((three, fourth))) = (token.len(), token.split_at_checked(3))
        && (family.multi_d || *family == PLAIN)
        && let (Ok(layout), Ok(order)) = (three.parse(), fourth.parse())
    {
        scan.eat(token);
        return Ok((layout, order));
    }
    Ok((scan.word(&[])?, Major::Row))
}

/// Reads the optional suffixes, which are written only for values other than the default.
fn suffixes(scan: &mut Scan<'_>, kernel: &mut GemmKernel) -> Result<(), NameError> {
    if let Some(parts) = scan.numbered("_splitk", 2, MAX_SMALL)? {
        kernel.split_k = parts as u8;
    }
    let mut generated = scan.clone();
    if generated.eat("_multid")
        && let Some(elementwise) = generated.optional_word(Elementwise::WORDS)
        && let Some(tensors) = generated.numbered("_d", 1, MAX_SMALL)?
    {
        (kernel.elementwise, kernel.num_d_tensors) = (elementwise, tensors as u8);
        *scan = generated;
    } else {
        let passing = |word: &&&str| **word != Elementwise::PassThrough.as_str();
        let operations: Vec<&str> = Elementwise::WORDS.iter().filter(passing).copied().collect();
        if let Some(elementwise) = scan.optional_word(&operations) {
            kernel.elementwise = elementwise;
        }
        if let Some(tensors) = scan.numbered("_d", 1, MAX_SMALL)? {
            kernel.num_d_tensors = tensors as u8;
        }
    }
    kernel.structured_sparsity = scan.eat_whole("_sparse");
    kernel.preshuffle |= scan.eat_whole("_preshuffle");
    if scan.eat_whole("_streamk") {
        let reduction = scan.optional_word(&["linear", "tree"]).unwrap_or(StreamKReduction::Atomic);
        kernel.variant.stream_k = Some(reduction);
    }
    kernel.variant.batched |= scan.eat_whole("_batched");
    kernel.grouped |= scan.eat_whole("_grouped");
    Ok(())
}

/// Finds the first `_vec{a}_{b}_{c}` that a `_` or the end follows.
fn find_vec(whole: &Scan<'_>) -> Result<Option<VecPart>, NameError> {
    let (name, mut first_bad) = (whole.rest(), None);
    for (at, found) in name.match_indices("_vec") {
        let numbers = &name[at + found.len()..];
        if !numbers.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let mut scan = whole.clone().over(numbers);
        match three_numbers(&mut scan) {
            Ok(widths) => return Ok(Some(VecPart { others: [&name[..at], scan.rest()].concat(), widths })),
            Err(error) => _ = first_bad.get_or_insert(error),
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
                | Self::CompTdmV1
                | Self::WeightPreshuffle
                | Self::PreshuffleTdm
                | Self::PreshuffleB
                | Self::EightWaves
        )
    }
}

#[cfg(test)]
mod tests;
