//! Lists of convolution kernels that upstream builds for production, one instance after another.
//!
//! Most instances are implicit GEMMs, which the library represents as [`ConvKernel`]s. The same files contain
//! direct and depthwise convolutions; these have no tile along m, n and k, so only their names can be given
//! here.

use ck_select_types::kernel::{ConvKernel, Mnk, StreamK};
use ck_select_types::vocab::{ConvLayout, Direction, Dtype, Specialization, StreamKReduction};
use serde_json::Value;

use crate::kernels::{Family, OtherKernel};
use crate::reader::{Fault, Object, count, flag, kind, word};

/// The kernels of a list, in list order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instances {
    /// The direction of all kernels (`variant`).
    pub direction: Direction,
    /// Implicit GEMMs, without an architecture.
    pub kernels: Vec<ConvKernel>,
    /// Kernels that the library cannot describe.
    pub others: Vec<OtherKernel>,
}

/// Properties that all instances of a file share.
struct Shared {
    direction: Direction,
    ndim: u8,
    layout: ConvLayout,
    dtype: Dtype,
}

/// The variant of files that contain only depthwise kernels; older files say `forward`.
const DEPTHWISE: &str = "forward_depthwise";
/// The largest tile size, and the largest count.
const MAX_EXTENT: u32 = 65_535;
/// The highest number of waves, and the largest size of an instruction.
const MAX_SMALL: u32 = 255;

pub(crate) fn read(root: &mut Object<'_>) -> Result<Instances, Fault> {
    let depthwise = root.get("variant").is_some_and(|variant| variant == DEPTHWISE);
    let directions = "forward, forward_depthwise, bwd_data or bwd_weight";
    let direction = if depthwise { Direction::Forward } else { root.needed("variant", directions, word)? };
    let shared = Shared {
        direction,
        ndim: root.needed("ndim_spatial", "1, 2 or 3", count(1, 3))? as u8,
        layout: root.needed("layout", "a layout such as nhwgc", word)?,
        dtype: root.needed("datatype", "a type such as bf16", word)?,
    };
    let list = root.needed("instances", "a list", |value| match value.as_array() {
        Some(list) if list.is_empty() => {
            Err("found an empty list, expected at least one instance".to_owned())
        }
        Some(list) => Ok(list.clone()),
        None => Err(format!("found {}, expected a list", kind(value))),
    })?;
    let mut instances = Instances { direction, kernels: Vec::new(), others: Vec::new() };
    for (index, value) in list.iter().enumerate() {
        let mut object = Object::at(format!("instances[{index}]"), value)?;
        let kinds = [("direct_conv", Family::Direct)];
        match object.choice("kind", &kinds)? {
            Some(family) => {
                let name = direct(&mut object, &shared)?;
                instances.others.push(OtherKernel { name, family });
            }
            None if depthwise || value.get("tile_h").is_some() => {
                let name = depthwise_name(&mut object, &shared)?;
                instances.others.push(OtherKernel { name, family: Family::Depthwise });
            }
            None => instances.kernels.push(implicit_gemm(&mut object, &shared)?),
        }
        object.finish()?;
    }
    Ok(instances)
}

/// One implicit GEMM. Keys that upstream's loader does not require have that loader's defaults.
fn implicit_gemm(object: &mut Object<'_>, shared: &Shared) -> Result<ConvKernel, Fault> {
    let &Shared { direction, ndim, layout, dtype } = shared;
    if dimensions(layout) != ndim {
        let reason = format!("found {ndim}, expected {}, which {layout} has", dimensions(layout));
        return Err(("ndim_spatial".to_owned(), reason));
    }
    // An identifier for upstream's tools, which is ignored here.
    object.optional("id", count(0, u32::MAX))?;
    Ok(ConvKernel {
        direction,
        dtype_in: dtype,
        dtype_wei: dtype,
        dtype_out: dtype,
        layout,
        ndim,
        tile: triple(object, ["tile_m", "tile_n", "tile_k"], MAX_EXTENT)?,
        wave: triple(object, ["warp_m", "warp_n", "warp_k"], MAX_SMALL)?,
        warp_tile: triple(object, ["warp_tile_m", "warp_tile_n", "warp_tile_k"], MAX_SMALL)?,
        vector: numbers(object, ["vector_size_a", "vector_size_b", "vector_size_c"], MAX_EXTENT)?,
        pipeline: object.needed("pipeline", "a pipeline", word)?,
        scheduler: object.needed("scheduler", "a scheduler", word)?,
        epilogue: object.needed("epilogue", "an epilogue", word)?,
        // Newer generators derive it from the pipeline and leave it out of names; a name without it means 1.
        block_per_cu: counted(object, "block_per_cu")?,
        num_wave_groups: counted(object, "num_wave_groups")?,
        num_groups_to_merge: counted(object, "num_groups_to_merge")?,
        specialization: object.optional("specialization", word)?.unwrap_or(Specialization::Default),
        double_smem_buffer: switch(object, "double_smem_buffer")?,
        split_image: switch(object, "split_image")?,
        explicit_gemm: switch(object, "explicit_gemm")?,
        two_stage: switch(object, "two_stage")?,
        stream_k: stream_k(object)?,
        ..ConvKernel::USUAL
    })
}

fn stream_k(object: &mut Object<'_>) -> Result<Option<StreamK>, Fault> {
    let enabled = switch(object, "streamk_enabled")?;
    let persistent = switch(object, "streamk_persistent")?;
    let key = object.place_of("streamk_reduction_strategy");
    let reduction = match object.get("streamk_reduction_strategy") {
        None => Some(StreamKReduction::Tree),
        Some(Value::Null) => None,
        Some(Value::String(word)) if word == "TREE" => Some(StreamKReduction::Tree),
        Some(Value::String(word)) if word == "LINEAR" => Some(StreamKReduction::Linear),
        Some(other) => return Err((key, format!("found {}, expected TREE, LINEAR or null", kind(other)))),
    };
    match (enabled, reduction) {
        (false, _) => Ok(None),
        (true, Some(reduction)) => Ok(Some(StreamK { reduction, persistent })),
        (true, None) => Err((key, "found null, expected TREE or LINEAR for stream-K".to_owned())),
    }
}

/// The name of a direct convolution. Its `config` goes into the C++ template but not into the name; its
/// number does.
fn direct(object: &mut Object<'_>, shared: &Shared) -> Result<String, Fault> {
    let Shared { direction, ndim, layout, dtype } = shared;
    let family = object.needed("channel_family", "4, 8, 16 or 32", count(1, MAX_EXTENT))?;
    let implementations = [("tile_grouped", "tile-grouped"), ("tile_dense", "tile-dense")];
    let key = object.place_of("impl");
    let implementation = object
        .choice("impl", &implementations)?
        .ok_or_else(|| (key, "found nothing, expected one of: tile_grouped, tile_dense".to_owned()))?;
    let text = |value: &Value| {
        let word = value.as_str().filter(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        word.map(str::to_owned).ok_or_else(|| format!("found {}, expected a word", kind(value)))
    };
    let version = object.optional("version", text)?.unwrap_or_else(|| "v0".to_owned());
    let id = object.needed("id", "the number of the instance", count(0, u32::MAX))?;
    object.object("config")?;
    let direction = direction.short();
    Ok(format!(
        "direct_conv_{direction}_{dtype}_{layout}_{ndim}d_{implementation}_{family}c_{version}_id{id}"
    ))
}

/// The name of a depthwise convolution. Upstream's own files state three dimensions with a two-dimensional
/// layout, and the name repeats that.
fn depthwise_name(object: &mut Object<'_>, shared: &Shared) -> Result<String, Fault> {
    let Shared { ndim, layout, dtype, .. } = shared;
    let [tile_h, tile_w, filter] = numbers(object, ["tile_h", "tile_w", "filt"], MAX_EXTENT)?;
    let [stride_h, stride_w, batch] = numbers(object, ["str_h", "str_w", "nbatch"], MAX_EXTENT)?;
    let [sub_h, sub_w, input] = numbers(object, ["sub_h", "sub_w", "in_vec"], MAX_EXTENT)?;
    let output = object.needed("out_vec", "a whole number", count(1, MAX_EXTENT))?;
    let mut pad = |key| object.needed(key, "a whole number", count(0, MAX_EXTENT));
    let (pad_h, pad_w) = (pad("pad_h")?, pad("pad_w")?);
    object.optional("id", count(0, u32::MAX))?;
    Ok(format!(
        "grouped_conv_fwd_depthwise_{dtype}_{layout}_{ndim}d_{tile_h}x{tile_w}_f{filter}\
         _s{stride_h}x{stride_w}_p{pad_h}x{pad_w}_nb{batch}_sub{sub_h}x{sub_w}_vec{input}_{output}"
    ))
}

fn numbers(object: &mut Object<'_>, keys: [&'static str; 3], most: u32) -> Result<[u32; 3], Fault> {
    let [a, b, c] = keys.map(|key| object.needed(key, "a whole number", count(1, most)));
    Ok([a?, b?, c?])
}

fn triple(object: &mut Object<'_>, keys: [&'static str; 3], most: u32) -> Result<Mnk, Fault> {
    numbers(object, keys, most).map(|[m, n, k]| Mnk::new(m, n, k))
}

fn counted(object: &mut Object<'_>, key: &'static str) -> Result<u32, Fault> {
    Ok(object.optional(key, count(1, MAX_EXTENT))?.unwrap_or(1))
}

fn switch(object: &mut Object<'_>, key: &'static str) -> Result<bool, Fault> {
    Ok(object.optional(key, flag)?.unwrap_or(false))
}

/// The number of spatial dimensions of a layout: its word has a letter for each of depth, height and width.
fn dimensions(layout: ConvLayout) -> u8 {
    let word = layout.as_str();
    1 + u8::from(word.contains('h')) + u8::from(word.contains('d'))
}
