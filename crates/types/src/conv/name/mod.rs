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

use std::fmt::Write as _;

use super::{ConvKernel, ConvTile, StreamK};
use crate::scan::{NameError, Scan};
use crate::shape::Mnk;
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{
    ConvLayout, Direction, Dtype, Epilogue, Pipeline, Scheduler, Specialization, StreamKReduction,
};

const SHORT_SUFFIXES: &str =
    "the end or, in this order, _intrawave or _interwave, _gm{N} (2 or more), _dsb, _si, _2stage";
const LONG_SUFFIXES: &str = "the end or, in this order and only when not the default, _vec{A}_{B}_{C}, \
                             _bpc{N}, _wg{N}, _gm{N}, _dsb, _2stage, a specialization, _explicit_gemm, \
                             _streamk_{reduction}, _persistent, _large_tensor";
/// The specializations that names spell out.
const SPECIALIZATIONS: &[&str] = {
    // `default` comes first and is never written.
    match Specialization::WORDS {
        [_, rest @ ..] => rest,
        [] => &[],
    }
};

/// What a name states, without the defaults: `None` and `false` are parts that it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvName {
    /// The direction.
    pub direction: Direction,
    /// The type of the input.
    pub dtype: Dtype,
    /// Spatial dimensions.
    pub ndim: u8,
    /// The tile of a workgroup.
    pub tile: Mnk,
    /// The pipeline.
    pub pipeline: Pipeline,
    /// The layout.
    pub layout: Option<ConvLayout>,
    /// Waves along each axis.
    pub wave: Option<Mnk>,
    /// The tile of a matrix instruction.
    pub warp_tile: Option<Mnk>,
    /// The scheduler.
    pub scheduler: Option<Scheduler>,
    /// The epilogue.
    pub epilogue: Option<Epilogue>,
    /// Elements per access to input, weight and output.
    pub vector: Option<[u32; 3]>,
    /// Workgroups that share a compute unit.
    pub block_per_cu: Option<u32>,
    /// Groups that the waves form.
    pub num_wave_groups: Option<u32>,
    /// Groups of the convolution that one workgroup computes.
    pub num_groups_to_merge: Option<u32>,
    /// The specialization.
    pub specialization: Option<Specialization>,
    /// Whether shared memory is double buffered.
    pub double_smem_buffer: bool,
    /// Whether large images are split.
    pub split_image: bool,
    /// Whether the GEMM is explicit.
    pub explicit_gemm: bool,
    /// Whether a second stage converts the result.
    pub two_stage: bool,
    /// Stream-K, and how its parts are added.
    pub stream_k: Option<StreamK>,
}

impl ConvName {
    /// Reads a name of any of the grammars.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let mut scan = Scan::whole(name)?;
        if !scan.eat("grouped_conv_") {
            return Err(scan.fail("expected 'grouped_conv_'"));
        }
        let direction = scan.word(Direction::WORDS)?;
        scan.separator("the dtype")?;
        let dtype = scan.element()?;
        scan.separator("the number of dimensions")?;
        let layout: Option<ConvLayout> = if scan.token().starts_with('n') || scan.token().starts_with('g') {
            let layout = scan.word(ConvLayout::WORDS)?;
            scan.separator("the number of dimensions")?;
            Some(layout)
        } else {
            None
        };
        let ndim = scan.number("the number of dimensions", 1, 3)? as u8;
        if !scan.eat_whole("d") {
            return Err(scan.fail(format!("expected 'd' and '_', as in '{ndim}d_'")));
        }
        let mut name = Self {
            direction,
            dtype,
            ndim,
            tile: Mnk::new(0, 0, 0),
            pipeline: Pipeline::Mem,
            layout,
            wave: None,
            warp_tile: None,
            scheduler: None,
            epilogue: None,
            vector: None,
            block_per_cu: None,
            num_wave_groups: None,
            num_groups_to_merge: None,
            specialization: None,
            double_smem_buffer: false,
            split_image: false,
            explicit_gemm: false,
            two_stage: false,
            stream_k: None,
        };
        if layout.is_some() {
            name.read_long(&mut scan)?;
        } else {
            scan.separator("the tile")?;
            name.tile = scan.triple("the tile", MAX_EXTENT)?;
            scan.separator("the pipeline, or waves and warp tile")?;
            if scan.token().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                name.read_key(&mut scan)?;
            } else {
                name.read_short(&mut scan)?;
            }
        }
        Ok(name)
    }

    fn read_short(&mut self, scan: &mut Scan<'_>) -> Result<(), NameError> {
        self.pipeline = scan.word(Pipeline::WORDS)?;
        self.scheduler = scan.optional_word(Scheduler::WORDS);
        self.num_groups_to_merge = scan.numbered("_gm", 2, MAX_EXTENT)?;
        self.double_smem_buffer = scan.eat_whole("_dsb");
        self.split_image = scan.eat_whole("_si");
        self.two_stage = scan.eat_whole("_2stage");
        scan.end(SHORT_SUFFIXES)
    }

    fn read_key(&mut self, scan: &mut Scan<'_>) -> Result<(), NameError> {
        self.wave = Some(scan.triple("the wave shape", MAX_SMALL)?);
        scan.separator("the warp tile")?;
        self.warp_tile = Some(scan.triple("the warp tile", MAX_SMALL)?);
        scan.separator("the pipeline")?;
        self.pipeline = scan.word(Pipeline::WORDS)?;
        self.specialization = scan.optional_word(SPECIALIZATIONS);
        scan.end(&format!("the end or one of: _{}", SPECIALIZATIONS.join(", _")))
    }

    fn read_long(&mut self, scan: &mut Scan<'_>) -> Result<(), NameError> {
        scan.separator("the pipeline")?;
        self.pipeline = scan.word(Pipeline::WORDS)?;
        if let Some(scheduler) = scan.optional_word(Scheduler::WORDS) {
            return self.read_dsl(scan, scheduler);
        }
        scan.separator("the epilogue")?;
        self.epilogue = Some(scan.word(Epilogue::WORDS)?);
        scan.separator("the scheduler")?;
        self.scheduler = Some(scan.word(Scheduler::WORDS)?);
        scan.separator("the tile")?;
        self.tile = scan.triple("the tile", MAX_EXTENT)?;
        scan.separator("the wave shape")?;
        self.wave = Some(scan.triple("the wave shape", MAX_SMALL)?);
        scan.separator("the warp tile")?;
        self.warp_tile = Some(scan.triple("the warp tile", MAX_SMALL)?);
        if scan.eat("_vec") {
            let a = scan.number("vector width", 1, MAX_EXTENT)?;
            scan.separator("the second vector width")?;
            let b = scan.number("vector width", 1, MAX_EXTENT)?;
            scan.separator("the third vector width")?;
            self.vector = Some([a, b, scan.number("vector width", 1, MAX_EXTENT)?]);
        }
        self.block_per_cu = scan.numbered("_bpc", 2, MAX_EXTENT)?;
        self.num_wave_groups = scan.numbered("_wg", 2, MAX_EXTENT)?;
        self.num_groups_to_merge = scan.numbered("_gm", 2, MAX_EXTENT)?;
        self.double_smem_buffer = scan.eat_whole("_dsb");
        self.two_stage = scan.eat_whole("_2stage");
        self.specialization = scan.optional_word(SPECIALIZATIONS);
        self.explicit_gemm = scan.eat_whole("_explicit_gemm");
        if scan.eat("_streamk_") {
            let reduction = scan.word(StreamKReduction::WORDS)?;
            self.stream_k = Some(StreamK { reduction, persistent: scan.eat_whole("_persistent") });
        }
        self.split_image = scan.eat_whole("_large_tensor");
        if scan.rest().starts_with("_pad") {
            return Err(scan.fail("kernels that do not pad m, n and k are not supported"));
        }
        scan.end(LONG_SUFFIXES)
    }

    fn read_dsl(&mut self, scan: &mut Scan<'_>, scheduler: Scheduler) -> Result<(), NameError> {
        self.scheduler = Some(scheduler);
        scan.separator("the tile")?;
        self.tile = scan.triple("the tile", MAX_EXTENT)?;
        // Its engine has one arrangement of waves.
        self.wave = Some(Mnk::new(2, 2, 1));
        scan.end("the end after the tile")
    }

    /// The kernel, with the defaults that [`ConvKernel::parse_name`] documents.
    pub(crate) fn kernel(&self) -> ConvKernel {
        let table = ConvTile::of(self.tile);
        ConvKernel {
            direction: self.direction,
            dtype_in: self.dtype,
            dtype_wei: self.dtype,
            dtype_out: self.dtype,
            layout: self.layout.unwrap_or(match self.ndim {
                1 => ConvLayout::Nwgc,
                2 => ConvLayout::Nhwgc,
                _ => ConvLayout::Ndhwgc,
            }),
            ndim: self.ndim,
            tile: self.tile,
            wave: self.wave.unwrap_or(table.wave),
            warp_tile: self.warp_tile.unwrap_or(table.warp_tile),
            pipeline: self.pipeline,
            scheduler: self.scheduler.unwrap_or(Scheduler::Intrawave),
            epilogue: self.epilogue.unwrap_or(Epilogue::CShuffle),
            vector: self.vector.unwrap_or(table.vector),
            block_per_cu: self.block_per_cu.unwrap_or(1),
            num_wave_groups: self.num_wave_groups.unwrap_or(1),
            num_groups_to_merge: self.num_groups_to_merge.unwrap_or(1),
            specialization: self.specialization.unwrap_or(Specialization::Default),
            double_smem_buffer: self.double_smem_buffer,
            split_image: self.split_image,
            explicit_gemm: self.explicit_gemm,
            two_stage: self.two_stage,
            stream_k: self.stream_k,
            ..ConvKernel::USUAL
        }
    }
}

impl ConvKernel {
    /// Reads a name of any of the grammars:
    ///
    /// | | example | printed by |
    /// |---|---|---|
    /// | short | `grouped_conv_forward_bf16_2d_64x128x64_compv3_intrawave_gm2_dsb_si` | [`ConvKernel::name`] |
    /// | key | `grouped_conv_fwd_bf16_2d_64x128x64_2x2x1_32x32x16_compv3` | the C++ key, which leaves out layout, scheduler and flags |
    /// | long | `grouped_conv_fwd_bf16_nhwgc_2d_mem_cshuffle_interwave_64x64x32_2x2x1_16x16x16` | [`ConvKernel::decl_name`], [`ConvKernel::long_name`] |
    /// | dsl | `grouped_conv_fwd_fp16_nhwgc_2d_compv3_intrawave_64x64x64` | CK DSL's tools; waves 2x2x1 |
    ///
    /// What a name leaves out: all three operands have its dtype; layout `nwgc`, `nhwgc` or `ndhwgc` by the
    /// number of dimensions; waves, instruction tile and vector widths as [`ConvTile::of`] says for the tile;
    /// scheduler `intrawave`; epilogue `cshuffle`; all counts 1; all flags off; arch not known.
    pub fn parse_name(name: &str) -> Result<Self, NameError> {
        ConvName::parse(name).map(|name| name.kernel())
    }

    /// The short name in its newest form, which includes the wave mode.
    ///
    /// It is unique among kernels of the ten tiles that share an architecture and everything that a sweep
    /// does not vary.
    pub fn name(&self) -> String {
        let Self { direction, dtype_in, ndim, tile, pipeline, scheduler, .. } = self;
        let mut name = format!("grouped_conv_{direction}_{dtype_in}_{ndim}d_{tile}_{pipeline}_{scheduler}");
        push_number(&mut name, "_gm", self.num_groups_to_merge);
        push_flags(
            &mut name,
            &[("_dsb", self.double_smem_buffer), ("_si", self.split_image), ("_2stage", self.two_stage)],
        );
        name
    }

    /// What the C++ declaration prints: the long name without suffixes.
    pub fn decl_name(&self) -> String {
        let Self { dtype_in, layout, ndim, pipeline, epilogue, scheduler, tile, wave, warp_tile, .. } = self;
        let direction = self.direction.short();
        format!(
            "grouped_conv_{direction}_{dtype_in}_{layout}_{ndim}d_{pipeline}_{epilogue}_{scheduler}_{tile}\
             _{wave}_{warp_tile}"
        )
    }

    /// The long name with its suffixes, which the code generator gives to compiled kernels. It holds every
    /// field but the types of weight and output and the architecture.
    pub fn long_name(&self) -> String {
        let mut name = self.decl_name();
        let [a, b, c] = self.vector;
        if self.vector != ConvTile::of(self.tile).vector {
            let _ = write!(name, "_vec{a}_{b}_{c}");
        }
        push_number(&mut name, "_bpc", self.block_per_cu);
        push_number(&mut name, "_wg", self.num_wave_groups);
        push_number(&mut name, "_gm", self.num_groups_to_merge);
        push_flags(&mut name, &[("_dsb", self.double_smem_buffer), ("_2stage", self.two_stage)]);
        self.push_specialization(&mut name);
        push_flags(&mut name, &[("_explicit_gemm", self.explicit_gemm)]);
        if let Some(StreamK { reduction, persistent }) = self.stream_k {
            let _ = write!(name, "_streamk_{reduction}");
            push_flags(&mut name, &[("_persistent", persistent)]);
        }
        push_flags(&mut name, &[("_large_tensor", self.split_image)]);
        name
    }

    fn push_specialization(&self, name: &mut String) {
        if self.specialization != Specialization::Default {
            let _ = write!(name, "_{}", self.specialization);
        }
    }
}

// Writing to a `String` cannot fail, hence the ignored results.
fn push_number(name: &mut String, prefix: &str, value: u32) {
    if value != 1 {
        let _ = write!(name, "{prefix}{value}");
    }
}

fn push_flags(name: &mut String, flags: &[(&str, bool)]) {
    for (suffix, _) in flags.iter().filter(|(_, on)| *on) {
        name.push_str(suffix);
    }
}

#[cfg(test)]
mod tests;
