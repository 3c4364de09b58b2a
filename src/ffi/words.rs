//! Enums as numbers.
//!
//! Inputs are plain integers, so that an unknown number is an error instead of undefined behaviour. The enums
//! exist for the header; a test keeps them equal to the vocabularies.

use super::CkStatus;
use super::error::Failure;

/// Direction of a convolution.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkDirection {
    /// Computes the output from input and weight.
    Forward = 0,
    /// Computes the gradient of the input.
    BwdData = 1,
    /// Computes the gradient of the weight.
    BwdWeight = 2,
}

/// Element type. FP8 is E4M3, BF8 is E5M2; the 4-bit types are packed. The last five are only for attention:
/// input type, then output type; `MX…` is scaled in blocks of 32.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the type of that name")]
pub enum CkDtype {
    Fp16 = 0,
    Bf16 = 1,
    Fp32 = 2,
    Fp64 = 3,
    Fp8 = 4,
    Bf8 = 5,
    Int8 = 6,
    Int4 = 7,
    Int32 = 8,
    PkFp4 = 9,
    PkInt4 = 10,
    Fp8Fp16 = 11,
    Fp8Bf16 = 12,
    Fp8Fp32 = 13,
    Mxfp8 = 14,
    Mxfp4 = 15,
}

/// Memory layout of one GEMM operand.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkMajor {
    /// Row-major.
    Row = 0,
    /// Column-major.
    Col = 1,
    /// Packed in the order in which a kernel reads it.
    Packed = 2,
}

/// Memory layout of the convolution tensors: N images, G groups, C channels, D depth, H height, W width.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the order of that name")]
pub enum CkConvLayout {
    Nwgc = 0,
    Nhwgc = 1,
    Ndhwgc = 2,
    Nwc = 3,
    Nhwc = 4,
    Ndhwc = 5,
    Gnwc = 6,
    Gnhwc = 7,
    Gndhwc = 8,
    Ngcw = 9,
    Ngchw = 10,
    Ngcdhw = 11,
    Ncw = 12,
    Nchw = 13,
    Ncdhw = 14,
}

/// Looks a number up in a vocabulary.
pub(super) fn word<T: Copy>(what: &str, number: i32, all: &[T], words: &[&str]) -> Result<T, Failure> {
    usize::try_from(number).ok().and_then(|number| all.get(number)).copied().ok_or_else(|| {
        let message = format!("{what} is {number}, expected 0 to {} ({})", all.len() - 1, words.join(", "));
        Failure::new(CkStatus::InvalidArgument, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::{ConvLayout, Direction, Dtype};

    /// The name of an enum's variant as a vocabulary spells it.
    fn spelled(variant: impl std::fmt::Debug) -> String {
        let mut word = String::new();
        for c in format!("{variant:?}").chars() {
            if c.is_ascii_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.push(c.to_ascii_lowercase());
        }
        word
    }

    #[test]
    fn numbers_are_the_vocabularies() {
        for (number, word) in Direction::WORDS.iter().enumerate() {
            let all = [CkDirection::Forward, CkDirection::BwdData, CkDirection::BwdWeight];
            assert_eq!((all[number] as usize, spelled(all[number]).as_str()), (number, *word));
        }
        let dtypes = [
            CkDtype::Fp16,
            CkDtype::Bf16,
            CkDtype::Fp32,
            CkDtype::Fp64,
            CkDtype::Fp8,
            CkDtype::Bf8,
            CkDtype::Int8,
            CkDtype::Int4,
            CkDtype::Int32,
            CkDtype::PkFp4,
            CkDtype::PkInt4,
            CkDtype::Fp8Fp16,
            CkDtype::Fp8Bf16,
            CkDtype::Fp8Fp32,
            CkDtype::Mxfp8,
            CkDtype::Mxfp4,
        ];
        // The mixed types of attention are one word.
        let dtype = |word: CkDtype| match spelled(word) {
            word if word.starts_with("fp8_") => word.replace('_', ""),
            word => word,
        };
        assert_eq!(dtypes.map(dtype).to_vec(), Dtype::WORDS);
        let layouts = [
            CkConvLayout::Nwgc,
            CkConvLayout::Nhwgc,
            CkConvLayout::Ndhwgc,
            CkConvLayout::Nwc,
            CkConvLayout::Nhwc,
            CkConvLayout::Ndhwc,
            CkConvLayout::Gnwc,
            CkConvLayout::Gnhwc,
            CkConvLayout::Gndhwc,
            CkConvLayout::Ngcw,
            CkConvLayout::Ngchw,
            CkConvLayout::Ngcdhw,
            CkConvLayout::Ncw,
            CkConvLayout::Nchw,
            CkConvLayout::Ncdhw,
        ];
        assert_eq!(layouts.map(spelled).to_vec(), ConvLayout::WORDS);
        for (index, layout) in layouts.into_iter().enumerate() {
            assert_eq!((layout as usize, ConvLayout::ALL[index] as usize), (index, index));
        }
        for (index, dtype) in dtypes.into_iter().enumerate() {
            assert_eq!((dtype as usize, Dtype::ALL[index] as usize), (index, index));
        }
        assert_eq!([CkMajor::Row as usize, CkMajor::Col as usize, CkMajor::Packed as usize], [0, 1, 2]);
    }
}
