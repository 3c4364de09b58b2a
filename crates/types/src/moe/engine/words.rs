//! Engines, and the types that names of their tables say.

use crate::vocabulary;

vocabulary! {
    /// An engine that loads tables of Triton's configurations.
    Engine, "engine" { Vllm = "vllm", Sglang = "sglang" }
}

vocabulary! {
    /// Types of weights and activations in a table's name; a name leaves 16-bit floats out.
    QuantTypes, "dtype" {
        Float32 = "float32", Fp8W8a8 = "fp8_w8a8", Fp8W8a16 = "fp8_w8a16", Int8W8a8 = "int8_w8a8",
        Int8W8a16 = "int8_w8a16", Int4W4a16 = "int4_w4a16",
    }
}

impl Engine {
    /// The types by which the engine looks tables up. vLLM looks `int8_w8a8` up as it does 16-bit floats, and
    /// SGLang `fp8_w8a16`.
    pub const fn types(self) -> &'static [QuantTypes] {
        use QuantTypes::{Float32, Fp8W8a8, Fp8W8a16, Int4W4a16, Int8W8a8, Int8W8a16};
        match self {
            Self::Vllm => &[Float32, Fp8W8a8, Fp8W8a16, Int8W8a16, Int4W4a16],
            Self::Sglang => &[Float32, Fp8W8a8, Int8W8a8, Int8W8a16, Int4W4a16],
        }
    }

    /// The width by which the engine looks a table up: of 4-bit weights SGLang counts bytes, two weights each.
    pub fn named_width(self, width: u32, types: Option<QuantTypes>) -> u32 {
        if self.counts_bytes(types) { width / 2 } else { width }
    }

    /// The width of a rank's experts that a table's name says.
    pub fn width_of_name(self, width: u32, types: Option<QuantTypes>) -> u32 {
        if self.counts_bytes(types) { width.saturating_mul(2) } else { width }
    }

    fn counts_bytes(self, types: Option<QuantTypes>) -> bool {
        self == Self::Sglang && types == Some(QuantTypes::Int4W4a16)
    }
}
