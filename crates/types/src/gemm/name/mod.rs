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
//! puts the kind of kernel first (`batched_gemm_…`, `gemm_streamk_…`; `family.rs` lists them all);
//! the code generator and the dispatcher put it last (`gemm_…_batched`, `gemm_…_streamk`). The tile
//! engine's batched kernels have three flags, its Stream-K kernels have the reduction before the flags, and
//! its kernels with D tensors have a fourth layout letter. Quantised kernels have the code generator's names
//! (`quant_name.rs`); Triton's have suffixes of their own (`triton_name.rs`).
//!
//! Deliberate differences from upstream:
//! 1. Upstream splits at every `_`, so a word that holds one (`basic_v1`, `comp_async`, `bias_activation`,
//!    `pk_fp4`) shifts all later fields and the tile falls back to defaults. Here the longest known word is
//!    taken.
//! 2. Upstream reads only the layouts rcr, rrr, crr and ccr; here any three of r, c and p are a layout; only
//!    the features know fewer.
//! 3. Upstream treats any flag but `True` as false and stops silently at a bad number; here both are errors.

use super::family::{Family, PLAIN};
use super::parts::{EPILOGUE, LAYOUT, PADS, PERSISTENT, SCHEDULER, SHAPES, part};
use super::{GemmKernel, GemmVariant, Quant, aiter_name, profile_name, quant_name, triton_name};
use crate::grammar::PartForm::{Mark, Number, Other, Truth, Widths, Word};
use crate::grammar::{NameReader, NameWriter, Part};
use crate::scan::{NameError, Scan};
use crate::shape::Mnk;
use crate::valid::MAX_KERNEL_EXTENT;
use crate::vocab::{
    Arch, Elementwise, GemmLayout, GemmLibrary, Major, Pipeline, QuantMode, StreamKReduction,
};

const PIPELINE: Part = part("_", "pipeline", Word).called("the pipeline");
const REDUCTION: Part = part("_", "stream_k", Word).called("the reduction");
const SCALES: [Part; 2] = [
    part("_", "shuffled_scales_a", Truth).called("a_preshuffle_quant"),
    part("_", "shuffled_scales_b", Truth).called("b_preshuffle_quant"),
];
const VECTOR: Part = part("_vec", "vector_a", Widths);
const SPLIT_K: Part = part("_splitk", "split_k", Number).from(2);
const OPERATION: Part = part("_", "elementwise", Word);
const ELEMENTWISE: Part = part("_", "elementwise", Other);
const TENSORS: Part = part("_d", "num_d_tensors", Number).from(1);
const SPARSE: Part = part("_sparse", "structured_sparsity", Mark);
const PRESHUFFLE: Part = part("_preshuffle", "preshuffle", Mark);
const BATCHED: Part = part("_batched", "batched", Mark);
const GROUPED: Part = part("_grouped", "grouped", Mark);
/// The suffixes that tell the kernels of a pool apart besides types, shapes and pipeline.
const SUFFIXES: [Part; 18] = [
    SCHEDULER,
    EPILOGUE,
    part("_pad_m", "pad_m", Mark),
    part("_pad_n", "pad_n", Mark),
    part("_pad_k", "pad_k", Mark),
    part("_persistent", "persistent", Mark),
    VECTOR,
    SPLIT_K,
    ELEMENTWISE,
    TENSORS,
    SPARSE,
    PRESHUFFLE,
    part("_streamk_", "stream_k", Word),
    BATCHED,
    GROUPED,
    part("_", "quant", Word),
    part("_preshuffleaq", "shuffled_scales_a", Mark),
    part("_preshufflebq", "shuffled_scales_b", Mark),
];

/// The kernel that [`GemmKernel::parse_name`] read, and the rest of the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedGemmName {
    /// The kernel.
    pub kernel: GemmKernel,
    /// The text behind the known suffixes: empty, or with `_` at its beginning. Upstream appends words of its own
    /// (`_multid`), for which the kernel has no field.
    pub tail: String,
}

impl GemmKernel {
    /// Whether a text begins with the tile engine's word for a family (`gemm_universal_`, `batched_gemm_`),
    /// so that it can hardly be anything but a kernel's name.
    pub fn begins_a_name(text: &str) -> bool {
        aiter_name::begins(text) || Family::from_name(text).is_some_and(|family| *family != PLAIN)
    }

    /// The library whose kernel has this name.
    pub fn library_of(name: &str) -> GemmLibrary {
        if aiter_name::begins(name) {
            return GemmLibrary::Aiter;
        }
        Family::from_name(name).map_or(GemmLibrary::Ck, |family| family.library)
    }

    /// Reads a name of the tile engine or the code generator, such as
    /// `gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_1x4x1_16x16x128`,
    /// `batched_gemm_fp16_rcr_…` or `gemm_fp16_rcr_…_streamk_tree`.
    ///
    /// Vector widths may appear anywhere in the name; `_vec` and a digit that do not continue as three
    /// numbers are an error. Without them the widths are 0, the kernel's own.
    ///
    /// Fields that no name contains: B has A's type, C the type that follows from A
    /// ([`Dtype::result`](crate::vocab::Dtype::result)), sums are kept in
    /// [`Dtype::accumulator`](crate::vocab::Dtype::accumulator); `block_size` is 0 (not known) until
    /// [`GemmKernel::set_arch`]; `double_buffer` follows from the pipeline; one wave group; no transposes. A name
    /// `gemm_multi_d_…` without the operation has two D tensors and adds them, as in upstream's own reader. Quantised
    /// kernels whose names have no flags pad the depth, but those with scales of both operands do so only when the
    /// scales of B alone are shuffled; if both operands have scales, C is transposed when B alone is shuffled; two
    /// workgroups of pipeline `preshuffleb` share a compute unit.
    pub fn parse_name(name: &str) -> Result<ParsedGemmName, NameError> {
        let mut scan = Scan::whole(name)?;
        if aiter_name::begins(name) {
            return Ok(ParsedGemmName { tail: String::new(), kernel: aiter_name::parse(&scan)? });
        }
        let vec = find_vec(&scan)?;
        if let Some((others, _)) = &vec {
            scan = scan.over(others);
        }
        if scan.eat(profile_name::PREFIX) {
            let kernel = profile_name::parse(&mut scan)?;
            return Ok(ParsedGemmName { tail: String::new(), kernel });
        }
        let Some(family) = Family::from_name(scan.rest()) else {
            return Err(scan.fail("expected 'gemm_', 'gemm_universal_' or another family of GEMM kernels"));
        };
        scan.eat(family.prefix);
        scan.eat("_");
        let (mut kernel, had_flags) = body(&mut scan, family)?;
        if let Some((_, widths)) = vec {
            kernel.vector = widths;
        }
        if let Some(mode) = family.quant {
            quant_name::parts(&mut scan, &mut kernel, mode, had_flags)?;
        }
        if family.library == GemmLibrary::Triton {
            let kernel = suffixes(&mut scan, &kernel)?;
            triton_name::check_end(&scan, &kernel)?;
            return Ok(ParsedGemmName { kernel, tail: String::new() });
        }
        // Suffixes in a spelling that no identifier has (`_d0`) count as tail.
        let mut after = scan.clone();
        if let Ok(with_suffixes) = suffixes(&mut after, &kernel) {
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
            || Family::from_name(identifier).is_some_and(|family| family.batched || family.quant.is_some())
        {
            let ParsedGemmName { kernel, tail } = Self::parse_name(identifier)?;
            if kernel.identifier() == identifier && tail.is_empty() {
                return Ok(kernel);
            }
            return Err(scan.fail(format!("expected '{}' for this kernel", kernel.identifier())));
        }
        let (kernel, _) = body(&mut scan, &PLAIN)?;
        let kernel = suffixes(&mut scan, &kernel)?;
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
        let family = Family::from_kernel(self);
        let mut written = self.body(family, format!("{}_", family.prefix)).other(&[VECTOR], &Self::USUAL);
        if let Some(quant) = &self.variant.quant {
            quant_name::write_parts(self, family, quant, &mut written.text);
        }
        self.with_suffixes(written, family)
    }

    /// The dispatcher's identifier, the key under which a registry holds it.
    pub fn identifier(&self) -> String {
        if self.variant.batched || self.variant.quant.is_some() || self.variant.library != GemmLibrary::Ck {
            return self.name();
        }
        // Keys have a field for groups, and no suffix.
        self.with_suffixes(self.body(&PLAIN, String::new()), &Family { grouped: true, ..PLAIN })
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

    /// The kernel's traits besides types, shapes and pipeline, as the words of its longest name.
    pub(crate) fn suffixes(&self) -> Vec<String> {
        let GemmVariant { library, quant, .. } = self.variant;
        let library = Some(library).filter(|library| *library != GemmLibrary::Ck);
        let mut words = library.map_or(Vec::new(), |library| vec![library.to_string()]);
        words.extend(NameWriter::words(self, SUFFIXES, &Self { pad: [false; 3], ..Self::USUAL }));
        let groups = quant.map_or([None; 2], |quant| [quant.group_a, quant.group_b]);
        let group = |(side, group): (_, Option<Mnk>)| Some(format!("{side}{}", group?));
        words.extend(["qa", "qb"].into_iter().zip(groups).filter_map(group));
        words.extend(triton_name::words(self));
        words
    }

    /// A name up to its shapes.
    fn body(&self, family: &Family, mut begin: String) -> NameWriter {
        if family.quant.is_some() {
            quant_name::write_types(self, &mut begin);
        } else {
            begin.push_str(self.dtype_a.as_str());
        }
        let mut written = NameWriter::new(self, begin).all(&[LAYOUT]);
        if family.multi_d {
            written = written.with(self.variant.d_layout);
        }
        written = written.all(&[PIPELINE, EPILOGUE, SCHEDULER]);
        if family.stream_k {
            written = written.all(&[REDUCTION]);
        }
        if quant_name::has_flags(self, family) {
            written = written.all(&flags(family));
            if let Some(Quant { mode: QuantMode::AB, group_b: Some(group), .. }) = self.variant.quant {
                written = written.with(format_args!("_gsn{}", group.n));
            }
        }
        written.all(&SHAPES)
    }

    /// Adds what the family does not imply.
    fn with_suffixes(&self, written: NameWriter, family: &Family) -> String {
        let variant = GemmVariant { batched: family.batched, ..GemmVariant::USUAL };
        let preshuffle = family.preshuffle || family.quant.is_some();
        let usual = Self { grouped: family.grouped, preshuffle, variant, ..Self::USUAL };
        let mut written = written.other(&[SPLIT_K, ELEMENTWISE, TENSORS, SPARSE, PRESHUFFLE], &usual);
        match self.variant.stream_k.filter(|_| !family.stream_k) {
            Some(reduction @ (StreamKReduction::Linear | StreamKReduction::Tree)) => {
                written = written.with(format_args!("_streamk_{reduction}"));
            }
            Some(_) => written = written.with("_streamk"),
            None => {}
        }
        written.other(&[BATCHED, GROUPED], &usual).other(&triton_name::SUFFIXES, &usual).text
    }
}

/// The flags of names that have some: for padding, then which scales are stored in the order in which they
/// are read. Kernels with scales of groups are never persistent, nor are batched ones.
fn flags(family: &Family) -> Vec<Part> {
    let has = family.quant.map_or([false; 2], QuantMode::flagged_scales);
    let scales = SCALES.into_iter().zip(has).filter(|(_, has)| *has).map(|(part, _)| part);
    let persistent = (!family.batched && has == [false; 2]).then_some(PERSISTENT);
    PADS.into_iter().chain(scales).chain(persistent).collect()
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
    let Family { batched, library, grouped, preshuffle, .. } = *family;
    let variant = GemmVariant { batched, d_layout, library, ..GemmVariant::USUAL };
    let head =
        GemmKernel { dtype_a, layout, grouped, preshuffle, pad: [false; 3], variant, ..GemmKernel::USUAL };
    let mut reader = NameReader::new(scan, &head);
    reader.all(&[PIPELINE])?;
    let pipeline: Pipeline = reader.get(&PIPELINE);
    if library == GemmLibrary::Triton && pipeline.stages().is_none() {
        let message = format!("'{pipeline}' has no number of stages, expected compv3 (2) to compv6 (5)");
        return Err(reader.scan.fail(message));
    }
    if family.quant.is_some() && microscale != (pipeline == Pipeline::Microscale) {
        return Err(reader.scan.fail("'mx_' before the types and pipeline microscale go together"));
    }
    reader.all(&[EPILOGUE, SCHEDULER])?;
    if family.stream_k {
        reader.all(&[REDUCTION])?;
    }
    let has_flags = family.has_flags() || reader.scan.goes_on_with(|c| matches!(c, 'T' | 'F'));
    if has_flags {
        reader.all(&flags(family))?;
    }
    let group_n = if reader.scan.eat_before_number("_gsn") {
        Some(reader.scan.number("_gsn", 1, MAX_KERNEL_EXTENT.into())?)
    } else {
        None
    };
    reader.all(&SHAPES)?;
    let mut kernel = GemmKernel { dtype_b, ..reader.kernel(&head).completed() };
    if family.quant.is_some() {
        kernel.dtype_c = dtype_a.scaled_result();
    }
    match (group_n, family.quant) {
        (None, _) => {}
        // Taken over where the groups are read.
        (Some(n), Some(mode @ QuantMode::AB)) => {
            let usual = Quant::usual(mode);
            let group_b = usual.group_b.map(|group| Mnk { n: n as u32, ..group });
            kernel.variant.quant = Some(Quant { group_b, ..usual });
        }
        (Some(_), _) => return Err(scan.fail("found '_gsn' in a name of kernels without groups along n")),
    }
    Ok((kernel, has_flags))
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
fn suffixes(scan: &mut Scan<'_>, kernel: &GemmKernel) -> Result<GemmKernel, NameError> {
    let mut reader = NameReader::new(scan, kernel);
    reader.any(&[SPLIT_K])?;
    let (scan_before, values_before) = (reader.scan.clone(), reader.values);
    if reader.scan.eat("_multid") {
        reader.any(&[OPERATION, TENSORS])?;
    }
    if !reader.has(&OPERATION) || !reader.has(&TENSORS) {
        (*reader.scan, reader.values) = (scan_before, values_before);
        reader.any(&[ELEMENTWISE, TENSORS])?;
    }
    reader.any(&[SPARSE, PRESHUFFLE])?;
    let reduction = reader.scan.eat_whole("_streamk").then(|| {
        let words = [("_linear", StreamKReduction::Linear), ("_tree", StreamKReduction::Tree)];
        let known = words.into_iter().find(|(word, _)| reader.scan.eat_whole(word));
        known.map_or(StreamKReduction::Atomic, |(_, reduction)| reduction)
    });
    reader.any(&[BATCHED, GROUPED])?;
    if kernel.variant.library == GemmLibrary::Triton {
        reader.any(&triton_name::SUFFIXES)?;
    }
    let mut kernel = reader.kernel(kernel);
    kernel.variant.stream_k = reduction.or(kernel.variant.stream_k);
    Ok(kernel)
}

/// Finds the first `_vec{a}_{b}_{c}` that a `_` or the end follows: the name without it, and the widths.
fn find_vec(whole: &Scan<'_>) -> Result<Option<(String, [u32; 3])>, NameError> {
    let (name, mut first_bad) = (whole.rest(), None);
    for (at, found) in name.match_indices("_vec") {
        let numbers = &name[at + found.len()..];
        if !numbers.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let mut scan = whole.clone().over(numbers);
        match scan.widths(0) {
            Ok(widths) => {
                let others = [&name[..at], scan.rest()].concat();
                return Ok(Some((others, widths.map(|width| width as u32))));
            }
            Err(error) => _ = first_bad.get_or_insert(error),
        }
    }
    first_bad.map_or(Ok(None), Err)
}

impl Pipeline {
    /// Whether the pipeline keeps two tiles in shared memory at a time.
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
