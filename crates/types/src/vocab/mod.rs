//! The closed vocabularies: data types, layouts, pipelines, schedulers, epilogues, directions, architectures.
//!
//! Every word that upstream writes as a free string is an enum here. A word that is not in its vocabulary is
//! an error that lists the accepted ones; nothing falls back to a default silently.

mod gpu;

use std::fmt;
use std::slice;
use std::str::FromStr;

pub use gpu::{GpuName, PRODUCTS, Product};

pub use crate::invalid::UnknownWord;

/// Declares an enum whose variants are words: one table feeds printing, parsing, the list of accepted words
/// and the tests. Words after `|` are accepted on reading and never printed.
#[macro_export]
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident, $what:literal {
        $($(#[$vmeta:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* #[doc = concat!("`", $word, "`")] $variant),+ }

        impl $name {
            /// All values, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The word of each value, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word that names and files use.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The word for C, with a NUL.
            pub const fn as_c_str(self) -> &'static std::ffi::CStr {
                let bytes = match self { $(Self::$variant => concat!($word, "\0").as_bytes()),+ };
                match std::ffi::CStr::from_bytes_with_nul(bytes) {
                    Ok(text) => text,
                    Err(_) => c"",
                }
            }
        }

        impl $crate::field::Value for $name {
            const KINDS: &'static [$crate::field::Kind] =
                &[$crate::field::Kind::Word(&$crate::field::Vocabulary {
                    words: Self::WORDS,
                    code: |word| word.parse::<Self>().map(|value| value as i64),
                })];
            const BITS: usize = 6;

            #[inline(always)]
            #[allow(clippy::inline_always, reason = "part of a key for the decision cache")]
            fn write(self, parts: &mut [i64]) {
                parts[0] = self as i64;
            }

            #[inline]
            fn read(parts: &[i64]) -> Self {
                let last = Self::ALL.len() - 1;
                Self::ALL[usize::try_from(parts[0]).unwrap_or(0).min(last)]
            }
        }

        impl $crate::field::Single for $name {}

        $crate::text_in_json!($name);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::vocab::UnknownWord;

            fn from_str(word: &str) -> Result<Self, $crate::vocab::UnknownWord> {
                match word {
                    $($word $(| $alias)* => Ok(Self::$variant),)+
                    _ => {
                        let (found, accepted) = (word.to_owned(), Self::WORDS);
                        Err($crate::vocab::UnknownWord { what: $what, found, accepted })
                    }
                }
            }
        }
    };
}

mod fmha;
mod moe;

pub use fmha::*;
pub use moe::*;

vocabulary! {
    /// Element type of an operand. `fp8` is E4M3, `bf8` is E5M2, the 4-bit types are packed. The last five
    /// are only for attention: the type of the inputs, then that of the result; `mx…` is scaled in blocks
    /// of 32.
    Dtype, "dtype" {
        Fp16 = "fp16" | "torch.float16", Bf16 = "bf16" | "torch.bfloat16", Fp32 = "fp32", Fp64 = "fp64",
        Fp8 = "fp8" | "torch.float8_e4m3fn" | "torch.float8_e4m3fnuz", Bf8 = "bf8", Int8 = "int8" | "torch.int8",
        Int4 = "int4", Int32 = "int32", PkFp4 = "pk_fp4" | "fp4" | "torch.float4_e2m1fn_x2", PkInt4 = "pk_int4", Fp8Fp16 = "fp8fp16",
        Fp8Bf16 = "fp8bf16", Fp8Fp32 = "fp8fp32", Mxfp8 = "mxfp8", Mxfp4 = "mxfp4",
    }
}

vocabulary! {
    /// The kind of measurement from which a winner comes.
    WinnerSource, "source" {
        /// All supported kernels were measured:
        Search = "search",
        /// The model's best were measured:
        Refine = "refine",
        /// The record was read from a file without a source:
        Import = "import",
    }
}

vocabulary! {
    /// Memory order of one GEMM operand.
    Major, "operand layout" {
        Row = "r" | "row" | "RowMajor" | "row_major",
        Col = "c" | "col" | "ColMajor" | "ColumnMajor" | "col_major",
        Packed = "p" | "packed" | "packed_external",
    }
}

vocabulary! {
    /// Memory order of the convolution tensors.
    ConvLayout, "convolution layout" {
        Nwgc = "nwgc", Nhwgc = "nhwgc", Ndhwgc = "ndhwgc", Nwc = "nwc", Nhwc = "nhwc", Ndhwc = "ndhwc",
        Gnwc = "gnwc", Gnhwc = "gnhwc", Gndhwc = "gndhwc", Ngcw = "ngcw", Ngchw = "ngchw", Ngcdhw = "ngcdhw",
        Ncw = "ncw", Nchw = "nchw", Ncdhw = "ncdhw",
    }
}

vocabulary! {
    /// How a kernel overlaps loads with arithmetic.
    Pipeline, "pipeline" {
        CompV1 = "compv1", CompV2 = "compv2", CompV3 = "compv3", CompV4 = "compv4", CompV5 = "compv5",
        CompV6 = "compv6", Mem = "mem", BasicV1 = "basic_v1", BasicV2 = "basic_v2",
        BasicAsyncV1 = "basic_async_v1", CompAsync = "comp_async",
        CompAsyncEightWaves = "comp_async_eight_waves", CompTdm = "comp_tdm", CompTdmV2 = "comp_tdm_v2",
        PreshuffleV1 = "preshufflev1", PreshuffleV2 = "preshufflev2", WeightPreshuffle = "weight_preshuffle",
        Wavelet = "wavelet", EightWaves = "eightwaves", PreshuffleB = "preshuffleb",
        Microscale = "microscale", CompTdmV1 = "comp_tdm_v1", PreshuffleTdm = "preshuffle_tdm",
    }
}

vocabulary! {
    /// How the waves of a workgroup are interleaved.
    Scheduler, "scheduler" { Auto = "auto" | "default", Intrawave = "intrawave", Interwave = "interwave" }
}

vocabulary! {
    /// How results leave the registers.
    Epilogue, "epilogue" {
        None = "none", Default = "default", CShuffle = "cshuffle", Bias = "bias", Activation = "activation",
        BiasActivation = "bias_activation", Tdm = "tdm", PermuteN = "permute_n",
    }
}

vocabulary! {
    /// Which of the three convolutions is computed.
    Direction, "direction" {
        Forward = "forward" | "fwd" | "2d_fwd" | "3d_fwd",
        BwdData = "bwd_data" | "bwdd" | "2d_bwdd" | "3d_bwdd",
        BwdWeight = "bwd_weight" | "bwdw" | "2d_bwdw" | "3d_bwdw",
    }
}

vocabulary! {
    /// The assumption of a convolution kernel about its problem.
    Specialization, "specialization" {
        Default = "default", Filter1x1Pad0 = "filter1x1_pad0",
        Filter1x1Stride1Pad0 = "filter1x1_stride1_pad0", Filter3x3 = "filter3x3",
    }
}

vocabulary! {
    /// How a stream-K kernel adds its partial results.
    StreamKReduction, "stream-K reduction" {
        None = "none", Tree = "tree", Linear = "linear", Atomic = "atomic",
    }
}

vocabulary! {
    /// Which operands of a GEMM come with scales, and for how many elements each.
    QuantMode, "quantisation" {
        A = "aquant", B = "bquant", AB = "abquant", RowCol = "rowcolquant" | "rowcol",
        Tensor = "tensor_quant" | "tensorquant" | "tensor", Mx = "mx",
    }
}

vocabulary! {
    /// Who builds a GEMM kernel, where its name says it.
    GemmLibrary, "library of GEMM kernels" {
        /// AMD's `composable_kernel`: the tile engine, the code generator, the dispatcher.
        Ck = "ck",
        /// Triton: `compv3` to `compv6` are two to five stages.
        Triton = "triton",
        /// AITER, which builds CK's kernels under names of its own.
        Aiter = "aiter",
    }
}

vocabulary! {
    /// The operation of a GEMM kernel on each element of its result.
    Elementwise, "elementwise operation" {
        PassThrough = "PassThrough" | "", Add = "Add", Multiply = "Multiply", MultiDAdd = "MultiDAdd",
        MultiDMultiply = "MultiDMultiply", Relu = "Relu", Gelu = "Gelu", Clamp = "Clamp", Sigmoid = "Sigmoid",
        Tanh = "Tanh", Swish = "Swish", HardSwish = "HardSwish",
    }
}

crate::list_operations! { operation_words
    /// The operation that kernels of a pool compute.
    Op, "operation"
}

impl Pipeline {
    /// The stages of one of Triton's kernels, which its pipeline stands for.
    pub const fn stages(self) -> Option<u8> {
        match self {
            Self::CompV3 => Some(2),
            Self::CompV4 => Some(3),
            Self::CompV5 => Some(4),
            Self::CompV6 => Some(5),
            _ => None,
        }
    }
}

impl QuantMode {
    /// Whether the tile engine's names have a flag for scales of A, and of B: whether they are stored in the
    /// order in which they are read.
    pub const fn flagged_scales(self) -> [bool; 2] {
        [matches!(self, Self::A | Self::AB), matches!(self, Self::B | Self::AB)]
    }
}

impl Direction {
    /// The short word of the C++ dispatcher's keys: `fwd`, `bwd_data`, `bwd_weight`.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Forward => "fwd",
            Self::BwdData => "bwd_data",
            Self::BwdWeight => "bwd_weight",
        }
    }
}

impl ConvLayout {
    /// The order of images, groups, channels and space, whatever the number of spatial dimensions: the layout
    /// that the two-dimensional word names.
    pub const fn order(self) -> Self {
        match self {
            Self::Nwgc | Self::Nhwgc | Self::Ndhwgc => Self::Nhwgc,
            Self::Nwc | Self::Nhwc | Self::Ndhwc => Self::Nhwc,
            Self::Gnwc | Self::Gnhwc | Self::Gndhwc => Self::Gnhwc,
            Self::Ngcw | Self::Ngchw | Self::Ngcdhw => Self::Ngchw,
            Self::Ncw | Self::Nchw | Self::Ncdhw => Self::Nchw,
        }
    }
}

impl Dtype {
    /// Bits of one element.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Fp64 => 64,
            Self::Fp32 | Self::Int32 => 32,
            Self::Fp16 | Self::Bf16 => 16,
            Self::Fp8
            | Self::Bf8
            | Self::Int8
            | Self::Fp8Fp16
            | Self::Fp8Bf16
            | Self::Fp8Fp32
            | Self::Mxfp8 => 8,
            Self::Int4 | Self::PkFp4 | Self::PkInt4 | Self::Mxfp4 => 4,
        }
    }

    /// The element type that accumulates products of this one.
    pub const fn accumulator(self) -> Self {
        match self {
            Self::Int8 | Self::Int4 | Self::Int32 => Self::Int32,
            Self::Fp64 => Self::Fp64,
            _ => Self::Fp32,
        }
    }

    /// The types of elements; the others, only attention's, name those of several tensors.
    pub const ELEMENTS: &'static [Self] = Self::ALL.split_at(Self::Fp8Fp16 as usize).0;

    /// The words of element types.
    pub const ELEMENT_WORDS: &'static [&'static str] = Self::WORDS.split_at(Self::ELEMENTS.len()).0;

    /// Whether the type is that of an element.
    pub const fn is_element(self) -> bool {
        (self as usize) < Self::ELEMENTS.len()
    }

    /// The type of C when A and B have this one: `fp8` and `bf8` give `fp16`, `int8` gives `int32`.
    pub const fn result(self) -> Self {
        match self {
            Self::Fp8 | Self::Bf8 => Self::Fp16,
            Self::Int8 => Self::Int32,
            other => other,
        }
    }

    /// The type of C of kernels with scales: as [`Dtype::result`], but floats of 4 bits give `fp16`, too.
    pub(crate) const fn scaled_result(self) -> Self {
        match self {
            Self::PkFp4 => Self::Fp16,
            other => other.result(),
        }
    }
}

/// Memory orders of A, B and C, written as three letters such as `rcr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GemmLayout {
    /// Order of A (M x K).
    pub a: Major,
    /// Order of B (K x N).
    pub b: Major,
    /// Order of C (M x N).
    pub c: Major,
}

impl GemmLayout {
    /// The four layouts that upstream's features can tell apart.
    pub const TRAINED: &'static [&'static str] = &["rcr", "rrr", "crr", "ccr"];

    /// Layout `rcr`, the usual one.
    pub const RCR: Self = Self { a: Major::Row, b: Major::Col, c: Major::Row };

    /// The three letters, for code that must not allocate.
    pub fn letters(self) -> [u8; 3] {
        [self.a, self.b, self.c].map(|order| order.as_str().as_bytes().first().copied().unwrap_or(b'?'))
    }
}

/// All layouts, as the three letters in the order of their numbers.
const GEMM_LAYOUTS: [&str; 27] = [
    "rrr", "rrc", "rrp", "rcr", "rcc", "rcp", "rpr", "rpc", "rpp", "crr", "crc", "crp", "ccr", "ccc", "ccp",
    "cpr", "cpc", "cpp", "prr", "prc", "prp", "pcr", "pcc", "pcp", "ppr", "ppc", "ppp",
];

impl crate::field::Value for GemmLayout {
    const KINDS: &'static [crate::field::Kind] = &[crate::field::Kind::Word(&crate::field::Vocabulary {
        words: &GEMM_LAYOUTS,
        code: |word| word.parse().map(|Self { a, b, c }| a as i64 * 9 + b as i64 * 3 + c as i64),
    })];
    const BITS: usize = 6;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of a key for the decision cache")]
    fn write(self, parts: &mut [i64]) {
        parts[0] = self.a as i64 * 9 + self.b as i64 * 3 + self.c as i64;
    }

    #[inline]
    fn read(parts: &[i64]) -> Self {
        let major = |number: i64| Major::read(&[number % 3]);
        Self { a: major(parts[0] / 9), b: major(parts[0] / 3), c: major(parts[0]) }
    }
}

impl fmt::Display for GemmLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.a, self.b, self.c)
    }
}

crate::text_in_json!(GemmLayout);

impl FromStr for GemmLayout {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord {
            what: "GEMM layout",
            found: word.to_owned(),
            accepted: &["rcr", "rrr", "crr", "ccr", "three letters of r (row), c (column), p (packed)"],
        };
        let &[a, b, c] = word.as_bytes() else { return Err(unknown()) };
        let major = |letter: u8| match letter {
            b'r' => Ok(Major::Row),
            b'c' => Ok(Major::Col),
            b'p' => Ok(Major::Packed),
            _ => Err(unknown()),
        };
        Ok(Self { a: major(a)?, b: major(b)?, c: major(c)? })
    }
}

/// A GPU architecture such as `gfx950`: the target without its feature flags (`:xnack-` and the like).
///
/// Held inline, so that problems and kernels stay plain values without allocation, and in one word, as a selection
/// compares architectures dozens of times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// The name, and zeros after it.
    text: [u8; Self::LEN],
}

impl Arch {
    /// Longer than any name.
    const LEN: usize = 8;

    /// The name, without target features.
    pub fn as_str(&self) -> &str {
        // The bytes come from a `str` of ASCII characters (see `from_str`), so the fallback is never taken.
        let name = self.text.split(|&byte| byte == 0).next();
        std::str::from_utf8(name.unwrap_or_default()).unwrap_or("")
    }

    /// Threads of one wave as upstream derives them: 64 for gfx9, 32 for everything else.
    pub fn wave_size(&self) -> i64 {
        if self.as_str().starts_with("gfx9") { 64 } else { 32 }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arch({self})")
    }
}

impl Arch {
    /// Whether the architecture is one of AMD's.
    pub fn is_amd(&self) -> bool {
        self.as_str().starts_with("gfx")
    }

    /// Whether the architecture's matrix instructions scale operands, and multiply 128 elements of at most 8 bits at
    /// once. Of other vendors' GPUs nothing is known.
    pub(crate) fn multiplies_scaled(self) -> bool {
        let arch = self.as_str();
        arch == "gfx950" || arch.starts_with("gfx125") || !self.is_amd()
    }
}

crate::text_in_json!(Arch);

impl FromStr for Arch {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let base = word.split(':').next().unwrap_or(word);
        let known = match base.as_bytes() {
            [b'g', b'f', b'x', b'9', minor, stepping] => {
                minor.is_ascii_digit() && (stepping.is_ascii_digit() || stepping.is_ascii_lowercase())
            }
            [b'g', b'f', b'x', b'1', b'0'..=b'2', minor, stepping] => {
                minor.is_ascii_digit() && stepping.is_ascii_digit()
            }
            [b's', b'm', b'_', digits @ ..] => {
                (2..=3).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
            }
            _ => false,
        };
        if !known {
            let of_product = Product::find(word).map(|product| slice::from_ref(&product.arch));
            let accepted = of_product.unwrap_or(&["gfx9xx", "gfx10xx", "gfx11xx", "gfx12xx", "sm_NN"]);
            return Err(UnknownWord { what: "arch", found: word.to_owned(), accepted });
        }
        let mut text = [0; Self::LEN];
        text[..base.len()].copy_from_slice(base.as_bytes());
        Ok(Self { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for &dtype in Dtype::ALL {
            assert_eq!(dtype.as_str().parse(), Ok(dtype));
        }
        for &pipeline in Pipeline::ALL {
            assert_eq!(pipeline.as_str().parse(), Ok(pipeline));
        }
        assert_eq!("fwd".parse(), Ok(Direction::Forward));
    }

    #[test]
    fn unknown_words_list_the_accepted_ones() {
        let error = "compv9".parse::<Pipeline>().unwrap_err().to_string();
        assert!(error.starts_with("unknown pipeline 'compv9', expected one of: compv1, compv2"), "{error}");
        assert!("CompV4".parse::<Pipeline>().is_err(), "matching is case-sensitive");
    }

    #[test]
    fn layouts_are_three_letters() {
        assert_eq!("rcr".parse(), Ok(GemmLayout::RCR));
        let ccp: GemmLayout = "ccp".parse().unwrap();
        assert_eq!((ccp.to_string().as_str(), ccp.letters()), ("ccp", *b"ccp"));
        assert!("rc".parse::<GemmLayout>().is_err() && "row".parse::<GemmLayout>().is_err());
    }

    #[test]
    fn arch_drops_target_features() {
        let arch: Arch = "gfx942:sramecc+:xnack-".parse().unwrap();
        assert_eq!((arch.as_str(), arch.wave_size()), ("gfx942", 64));
        assert_eq!("gfx1250".parse::<Arch>().unwrap().wave_size(), 32);
        for bad in ["", "gfx", "gfx9", "gfx9500", "gfx95A", "gfx13", "gfx1300", "mi355x", "sm_", ":gfx950"] {
            assert!(bad.parse::<Arch>().is_err(), "{bad}");
        }
    }
}
