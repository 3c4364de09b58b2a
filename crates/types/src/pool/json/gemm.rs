//! GEMM kernels: the C++ registry's export.

use super::part::{Fields, contradiction, part, typed, unknown};
use crate::field::Record as _;
use crate::kernel::{GemmKernel, GemmVariant, Kernel, KernelKind};
use crate::pool::PoolError;
use crate::pool::error::quoted;
use crate::pool::keys::{KernelJson, KernelKeys, KeyForm, RawKernel};
use crate::vocab::{Arch, Elementwise, Major};

/// The name of a GEMM kernel in JSON, and the kernel that it states.
struct Identity {
    name: String,
    kernel: GemmKernel,
    /// An identifier is complete; a name may leave suffixes out.
    complete: bool,
}

impl Identity {
    fn new(identifier: Option<String>, name: Option<String>) -> Result<Self, PoolError> {
        let fault = PoolError::new;
        let Some(identifier) = identifier else {
            let name = name.unwrap_or_default();
            return match Kernel::from_name(&name).map_err(|error| fault(error).within("name"))?.kind {
                KernelKind::Gemm(kernel) => {
                    Ok(Self { complete: GemmKernel::parse_identifier(&name).is_ok(), name, kernel })
                }
                _ => Err(PoolError::value(quoted(&name), "the name of a GEMM kernel").within("name")),
            };
        };
        let parsed_name = name.as_deref().and_then(|name| GemmKernel::parse_name(name).ok());
        match (GemmKernel::parse_identifier(&identifier), parsed_name, name) {
            (Ok(mut kernel), Some(parsed), Some(name)) => {
                // The name adds the vector widths, if it describes the same kernel.
                kernel.vector = parsed.kernel.vector;
                if suffixless(&kernel) != suffixless(&parsed.kernel) {
                    let in_name = parsed.kernel.identifier();
                    return Err(contradiction(&name, in_name, identifier).within("identifier"));
                }
                Ok(Self { name: identifier, kernel, complete: true })
            }
            (Ok(kernel), _, _) => Ok(Self { name: identifier, kernel, complete: true }),
            // Identifiers of older dispatchers contain too little, but then the name may be enough.
            (Err(_), Some(parsed), Some(name)) if identifier.starts_with(|c: char| c.is_ascii_digit()) => {
                Ok(Self { name, kernel: parsed.kernel, complete: false })
            }
            (Err(error), _, _) => Err(fault(error).within("identifier")),
        }
    }
}

/// The kernel without its suffixes.
fn suffixless(kernel: &GemmKernel) -> GemmKernel {
    GemmKernel {
        split_k: 1,
        elementwise: Elementwise::PassThrough,
        num_d_tensors: 0,
        structured_sparsity: false,
        preshuffle: false,
        grouped: false,
        variant: GemmVariant { stream_k: None, d_layout: Major::Row, ..kernel.variant },
        ..kernel.clone()
    }
}

const EXPORT: &[(&str, &str)] = &[
    (
        "signature",
        "dtype_a dtype_b dtype_c dtype_acc layout_a layout_b layout_c transpose_a transpose_b grouped \
         split_k elementwise_op num_d_tensors structured_sparsity",
    ),
    (
        "algorithm",
        "tile_shape wave_shape warp_tile_shape pipeline scheduler epilogue block_size double_buffer \
         persistent preshuffle transpose_c num_wave_groups vector_sizes",
    ),
    ("", "gfx_arch"),
];

impl KernelJson for GemmKernel {
    const KEYS: KernelKeys = KernelKeys {
        forms: &[
            ("tile_shape", KeyForm::Shape("tile_m")),
            ("wave_shape", KeyForm::Shape("wave_m")),
            ("warp_tile_shape", KeyForm::Shape("warp_tile_m")),
            ("vector_sizes", KeyForm::Array("vector_a", 3)),
        ],
        export: EXPORT,
        config: EXPORT,
        statistics: &[
            ("by_datatype", "dtype_a dtype_b dtype_c"),
            ("by_pipeline", "pipeline"),
            ("by_scheduler", "scheduler"),
            ("by_layout", "layout_a layout_b layout_c"),
            ("by_gfx_arch", "gfx_arch"),
        ],
        export_version: Some("1.0.0"),
        has_counted_flags: false,
        may_be_unknown: |key| key.starts_with("dtype_") || ["pipeline", "epilogue"].contains(&key),
    };

    fn complete_name(&self, _name: &str) -> Option<String> {
        Some(self.identifier())
    }

    fn word(&self, key: &str) -> Option<&'static str> {
        let major = match key {
            "layout_a" => self.layout.a,
            "layout_b" => self.layout.b,
            "layout_c" => self.layout.c,
            _ => return None,
        };
        Some(match major {
            Major::Row => "row_major",
            Major::Col => "col_major",
            Major::Packed => "packed_external",
        })
    }

    fn describes(raw: &RawKernel) -> bool {
        raw.name.is_some() || raw.identifier.is_some()
    }

    fn read_json(raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError> {
        let Identity { name, kernel, complete } = Identity::new(raw.identifier, raw.name)?;
        let layouts =
            [("layout_a", kernel.layout.a), ("layout_b", kernel.layout.b), ("layout_c", kernel.layout.c)];
        let kind = KernelKind::Gemm(kernel);
        let states = |field: &str, value: i64| match field {
            "split_k" => complete || value != 1,
            "elementwise" | "num_d_tensors" | "structured_sparsity" | "preshuffle" => complete || value != 0,
            "vector_a" | "vector_b" | "vector_c" => value != 0,
            "dtype_b" | "dtype_c" | "dtype_acc" | "transpose_a" | "transpose_b" | "transpose_c"
            | "grouped" | "double_buffer" | "block_size" | "num_wave_groups" => false,
            _ => true,
        };
        let mut fields = Fields::new(&kind, &name, &states);
        let (mut signature, algorithm) =
            (part("signature", raw.signature)?, part("algorithm", raw.algorithm)?);
        for (key, told) in layouts {
            let Some(value) = signature.remove(key).filter(|value| !value.is_null()) else { continue };
            let major = typed::<String>(&value)
                .and_then(|text| text.parse::<Major>().map_err(|error| unknown(&error)))
                .and_then(|major| {
                    let differs = || contradiction(&name, told.to_string(), major.to_string());
                    if major == told { Ok(()) } else { Err(differs()) }
                });
            major.map_err(|error| error.within(key).within("signature"))?;
        }
        // A registry may write 0 for no split, as in a key that was never filled in.
        if let Some(split_k) = signature.get_mut("split_k").filter(|split_k| **split_k == 0) {
            *split_k = 1.into();
        }
        fields.set("signature", &signature)?;
        fields.set("algorithm", &algorithm)?;
        let mut kernel = GemmKernel::read(&fields.values, &GemmKernel::USUAL);
        if let Some(arch) = arch {
            kernel.set_arch(arch);
        }
        Ok(Kernel { name, kind: KernelKind::Gemm(kernel) })
    }
}
