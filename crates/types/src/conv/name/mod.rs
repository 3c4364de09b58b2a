//! Grouped-convolution kernel names: four grammars that the second half of a name tells apart.
//!
//! ```text
//! name      := "grouped_conv_" direction "_" dtype "_" (short | key | long | dsl)
//! short     := int "d_" tile "_" pipeline ["_intrawave" | "_interwave"] ["_gm" int] ["_dsb"] ["_si"]
//!              ["_2stage"]
//! key       := int "d_" tile "_" waves "_" warp-tile "_" pipeline ["_" specialization]
//! long      := layout "_" int "d_" pipeline "_" epilogue "_" scheduler "_" tile "_" waves "_" warp-tile
//!              ["_vec" int "_" int "_" int] ["_bpc" int] ["_wg" int] ["_gm" int] ["_dsb"] ["_2stage"]
//!              ["_" specialization] ["_explicit_gemm"] ["_streamk_" reduction ["_persistent"]]
//!              ["_large_tensor"]
//! dsl       := layout "_" int "d_" pipeline "_" scheduler "_" tile
//! ```
//!
//! * `short` is what Python configurations, benchmark files and training data use. Older files leave the wave
//!   mode out, which means intrawave.
//! * `key` is what the C++ key prints. It is not unique.
//! * `long` without suffixes is what a C++ declaration prints; with them it is the name that the code
//!   generator gives a kernel. The generator's `_pad` suffix, for kernels that do not pad everything, is
//!   refused: selection does not support such kernels.
//!
//! * `dsl` is what CK DSL's tools call kernels that their sweeps list by tile and pipeline.
//!
//! Optional parts are written only when they are not the default, and only such values are read. `forward`
//! and `fwd` are the same direction in every grammar. Upstream rewrites the pipeline of some backward kernels
//! when a configuration is built; names come after that step, so nothing is rewritten here. Upstream's reader
//! of `short` drops names with `_gm`, `_2stage` or a pipeline outside its list (`wavelet`) that are read
//! here.

use super::{ConvKernel, ConvTile};
use crate::field::{Record as _, position, positions};
use crate::grammar::PartForm::{self, Joined, Mark, Number, Other, Widths, Word};
use crate::grammar::{NameReader, NameWriter, Part};
use crate::scan::{NameError, Scan};
use crate::vocab::ConvLayout;

const fn part(tag: &'static str, field: &'static str, form: PartForm) -> Part {
    Part::new(ConvKernel::FIELDS, tag, field, form)
}

const DIRECTION: Part = part(ConvKernel::NAME_PREFIX, "direction", Word).called("the direction");
const DTYPES: [usize; 3] = positions(ConvKernel::FIELDS, &["dtype_in", "dtype_wei", "dtype_out"]);
const LAYOUT: Part = part("_", "layout", Word).called("the layout");
const NDIM: Part = part("_", "ndim", Number).called("the number of dimensions");
const TILE: Part = part("_", "tile_m", Joined(3)).called("the tile");
const WAVE: Part = part("_", "wave_m", Joined(3)).called("the wave shape");
const WARP_TILE: Part = part("_", "warp_tile_m", Joined(3)).called("the warp tile");
const PIPELINE: Part = part("_", "pipeline", Word).called("the pipeline");
const EPILOGUE: Part = part("_", "epilogue", Word).called("the epilogue");
const SCHEDULER: Part = part("_", "scheduler", Word).called("the scheduler");

const VECTOR: Part = part("_vec", "vector_a", Widths);
const MERGED: Part = part("_gm", "num_groups_to_merge", Number).from(2);
const DSB: Part = part("_dsb", "double_smem_buffer", Mark);
const SPLIT_IMAGE: Part = part("_si", "split_image", Mark);
const TWO_STAGE: Part = part("_2stage", "two_stage", Mark);
const SPECIALIZATION: Part = part("_", "specialization", Other);
const STREAM_K: Part = part("_streamk_", "stream_k", Word);

const SHORT_SUFFIXES: [Part; 4] = [MERGED, DSB, SPLIT_IMAGE, TWO_STAGE];
const LONG_SUFFIXES: [Part; 9] = [
    VECTOR,
    part("_bpc", "block_per_cu", Number).from(2),
    part("_wg", "num_wave_groups", Number).from(2),
    MERGED,
    DSB,
    TWO_STAGE,
    SPECIALIZATION,
    part("_explicit_gemm", "explicit_gemm", Mark),
    STREAM_K,
];
const PERSISTENT: Part = part("_persistent", "stream_k_persistent", Mark);
const LARGE_TENSOR: Part = part("_large_tensor", "split_image", Mark);

const AFTER_SHORT: &str =
    "the end or, in this order, _intrawave or _interwave, _gm{N} (2 or more), _dsb, _si, _2stage";
const AFTER_LONG: &str = "the end or, in this order and only when not the default, _vec{A}_{B}_{C}, _bpc{N}, \
                          _wg{N}, _gm{N}, _dsb, _2stage, a specialization, _explicit_gemm, \
                          _streamk_{reduction}, _persistent, _large_tensor";

/// A kernel by its name, with the fields that the name states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvName {
    /// The kernel, with the defaults that [`ConvKernel::parse_name`] documents.
    pub kernel: ConvKernel,
    stated: u64,
}

impl ConvName {
    /// Whether the name spells a field out; a flag, that it is set.
    pub fn states(&self, field: &str) -> bool {
        position(ConvKernel::FIELDS, field).is_some_and(|bit| self.stated >> bit & 1 == 1)
    }

    /// Reads a name of any of the grammars.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let scan = &mut Scan::whole(name)?;
        let mut reader = NameReader::new(scan, &ConvKernel::USUAL);
        reader.all(&[DIRECTION])?;
        reader.scan.separator("the dtype")?;
        let dtype = reader.scan.element()?;
        for position in DTYPES {
            reader.values[position] = dtype as i64;
        }
        reader.stated |= 1 << DTYPES[0];
        if reader.scan.goes_on_with(|c| matches!(c, 'n' | 'g')) {
            reader.all(&[LAYOUT])?;
        }
        reader.all(&[NDIM])?;
        let ndim: u8 = reader.get(&NDIM);
        if !reader.scan.eat_whole("d") {
            return Err(reader.scan.fail(format!("expected 'd' and '_', as in '{ndim}d_'")));
        }
        if reader.has(&LAYOUT) {
            read_long(&mut reader)?;
        } else {
            reader.all(&[TILE])?;
            if reader.scan.goes_on_with(|c| c.is_ascii_digit() || c == '-') {
                reader.all(&[WAVE, WARP_TILE, PIPELINE])?;
                reader.any(&[SPECIALIZATION])?;
                reader.scan.end(&format!("the end or one of: _{}", SPECIALIZATION.words().join(", _")))?;
            } else {
                reader.all(&[PIPELINE.called("the pipeline, or waves and warp tile")])?;
                reader.any(&[SCHEDULER])?;
                reader.any(&SHORT_SUFFIXES)?;
                reader.scan.end(AFTER_SHORT)?;
            }
        }
        let mut kernel: ConvKernel = reader.kernel(&ConvKernel::USUAL);
        let table = ConvTile::new(kernel.tile);
        if !reader.has(&LAYOUT) {
            kernel.layout = match ndim {
                1 => ConvLayout::Nwgc,
                2 => ConvLayout::Nhwgc,
                _ => ConvLayout::Ndhwgc,
            };
        }
        if !reader.has(&WAVE) {
            kernel.wave = table.wave;
        }
        if !reader.has(&WARP_TILE) {
            kernel.warp_tile = table.warp_tile;
        }
        if !reader.has(&VECTOR) {
            kernel.vector = table.vector;
        }
        Ok(Self { kernel, stated: reader.stated })
    }
}

/// Reads a long name from its pipeline on, or one of the DSL.
fn read_long(reader: &mut NameReader<'_, '_>) -> Result<(), NameError> {
    reader.all(&[PIPELINE])?;
    reader.any(&[SCHEDULER])?;
    if reader.has(&SCHEDULER) {
        // The DSL's engine has one arrangement of waves, the usual one.
        reader.state(&WAVE);
        reader.all(&[TILE])?;
        return reader.scan.end("the end after the tile");
    }
    reader.all(&[EPILOGUE, SCHEDULER, TILE, WAVE, WARP_TILE])?;
    reader.any(&LONG_SUFFIXES)?;
    if reader.has(&STREAM_K) {
        reader.any(&[PERSISTENT])?;
    }
    reader.any(&[LARGE_TENSOR])?;
    if reader.scan.rest().starts_with("_pad") {
        return Err(reader.scan.fail("kernels that do not pad m, n and k are not supported"));
    }
    reader.scan.end(AFTER_LONG)
}

impl ConvKernel {
    /// The beginning of every name.
    pub(crate) const NAME_PREFIX: &str = "grouped_conv_";

    /// Reads a name of any of the grammars:
    ///
    /// | | example | printed by |
    /// |---|---|---|
    /// | short | `grouped_conv_forward_bf16_2d_64x128x64_compv3_intrawave_gm2_dsb_si` | [`ConvKernel::name`] |
    /// | key | `grouped_conv_fwd_bf16_2d_64x128x64_2x2x1_32x32x16_compv3` | the C++ key, which leaves out layout, scheduler and flags |
    /// | long | `grouped_conv_fwd_bf16_nhwgc_2d_mem_cshuffle_interwave_64x64x32_2x2x1_16x16x16` | [`ConvKernel::decl_name`], [`ConvKernel::long_name`] |
    /// | dsl | `grouped_conv_fwd_fp16_nhwgc_2d_compv3_intrawave_64x64x64` | CK DSL's tools; waves 2x2x1 |
    ///
    /// Defaults of what a name leaves out: all three operands have its dtype; layout `nwgc`, `nhwgc` or `ndhwgc` by
    /// the number of dimensions; waves, instruction tile and vector widths as [`ConvTile::new`] says for the tile;
    /// scheduler `intrawave`; epilogue `cshuffle`; all counts 1; all flags off; arch not known.
    pub fn parse_name(name: &str) -> Result<Self, NameError> {
        ConvName::parse(name).map(|name| name.kernel)
    }

    /// The short name in its newest form, which includes the wave mode.
    ///
    /// The name is unique among kernels of the ten tiles that share an architecture and everything that a
    /// sweep does not vary.
    pub fn name(&self) -> String {
        let Self { direction, dtype_in, ndim, .. } = self;
        NameWriter::new(self, format!("grouped_conv_{direction}_{dtype_in}_{ndim}d"))
            .all(&[TILE, PIPELINE, SCHEDULER])
            .other(&SHORT_SUFFIXES, &Self::USUAL)
            .text
    }

    /// The name that the C++ declaration prints: the long name without suffixes.
    pub fn decl_name(&self) -> String {
        self.declared().text
    }

    fn declared(&self) -> NameWriter {
        let (Self { dtype_in, layout, ndim, .. }, direction) = (self, self.direction.short());
        NameWriter::new(self, format!("grouped_conv_{direction}_{dtype_in}_{layout}_{ndim}d"))
            .all(&[PIPELINE, EPILOGUE, SCHEDULER, TILE, WAVE, WARP_TILE])
    }

    /// The long name with its suffixes, which the code generator gives to compiled kernels. It holds every
    /// field but the types of weight and output and the architecture.
    pub fn long_name(&self) -> String {
        let usual = self.without_suffixes();
        self.declared().other(&LONG_SUFFIXES, &usual).other(&[PERSISTENT, LARGE_TENSOR], &usual).text
    }

    /// The words of the kernel's long name besides types, shapes and pipeline.
    pub(crate) fn suffixes(&self) -> Vec<String> {
        let parts = [SCHEDULER, EPILOGUE].into_iter().chain(LONG_SUFFIXES).chain([PERSISTENT, SPLIT_IMAGE]);
        NameWriter::words(self, parts, &self.without_suffixes())
    }

    fn without_suffixes(&self) -> Self {
        Self { vector: ConvTile::new(self.tile).vector, ..Self::USUAL }
    }
}

#[cfg(test)]
mod tests;
