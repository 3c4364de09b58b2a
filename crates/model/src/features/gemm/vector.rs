//! Widths of memory accesses: what a problem allows, what a GEMM kernel uses.

use crate::vocab::{Dtype, Epilogue, GemmLayout, Major};

/// One operand of a GEMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// M x K.
    A,
    /// K x N.
    B,
    /// M x N.
    C,
}

/// Largest access in bytes.
const ACCESS_BYTES: i64 = 16;

/// Bytes of one element for accesses; `None` for types whose elements are not individually addressable.
pub(super) const fn access_bytes(dtype: Dtype) -> Option<i64> {
    match dtype {
        Dtype::Fp64 => Some(8),
        Dtype::Fp32 | Dtype::Int32 => Some(4),
        Dtype::Fp16 | Dtype::Bf16 => Some(2),
        Dtype::Fp8 | Dtype::Bf8 | Dtype::Int8 => Some(1),
        _ => None,
    }
}

/// The types that [`access_bytes`] knows.
pub(crate) const ACCESS_DTYPES: &[&str] = &["fp16", "bf16", "fp32", "fp64", "fp8", "bf8", "int8", "int32"];

/// The problem's part of the widths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorProblem {
    extents: [i64; 3],
    layout: GemmLayout,
    bytes: i64,
    bytes_c: i64,
    wave_size: i64,
}

impl VectorProblem {
    /// Widths of a problem with extents m, n, k (all at least 1) whose elements are individually addressable.
    pub fn new(extents: [i64; 3], layout: GemmLayout, dtype: Dtype, wave_size: i64) -> Option<Self> {
        let bytes = access_bytes(dtype)?;
        let bytes_c = access_bytes(dtype.result())?;
        extents.iter().all(|&extent| extent >= 1).then_some(Self {
            extents,
            layout,
            bytes,
            bytes_c,
            wave_size,
        })
    }

    /// Elements of the widest access.
    const fn cap(&self, operand: Operand) -> i64 {
        match operand {
            Operand::A | Operand::B => ACCESS_BYTES / self.bytes,
            Operand::C => ACCESS_BYTES / self.bytes_c,
        }
    }

    /// The index in (m, n, k) of the extent that is contiguous in memory.
    const fn contiguous(&self, operand: Operand) -> usize {
        match operand {
            Operand::A if matches!(self.layout.a, Major::Row) => 2,
            Operand::B if !matches!(self.layout.b, Major::Row) => 2,
            Operand::C if !matches!(self.layout.c, Major::Row) => 0,
            Operand::A => 0,
            Operand::B | Operand::C => 1,
        }
    }

    /// The widest access that the problem's extents allow.
    pub fn legal(&self, operand: Operand) -> i64 {
        gcd(self.extents[self.contiguous(operand)], self.cap(operand))
    }
}

/// The kernel's part of the widths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorWidths {
    /// Fixed widths of A, B, C; 0 is the native one.
    pub widths: [i64; 3],
    /// How results leave the registers, which determines C's native width.
    pub epilogue: Epilogue,
}

impl VectorWidths {
    /// The fixed width, 0 for none.
    pub const fn fixed(&self, operand: Operand) -> i64 {
        self.widths[operand as usize]
    }

    /// The width in use of a kernel with this tile, waves and instruction: the fixed one, else the native
    /// one.
    pub fn effective(&self, problem: &VectorProblem, kernel: [[i64; 3]; 3], operand: Operand) -> i64 {
        match self.fixed(operand) {
            0 => self.native(problem, kernel, operand),
            fixed => fixed,
        }
    }

    fn native(&self, problem: &VectorProblem, kernel: [[i64; 3]; 3], operand: Operand) -> i64 {
        let [tile, wave, warp_tile] = kernel;
        let [tile_m, tile_n, tile_k] = tile;
        let other = match operand {
            Operand::A => tile_m,
            Operand::B => tile_n,
            Operand::C => {
                let row = warp_tile[1].saturating_mul(wave[1]);
                return if self.epilogue == Epilogue::CShuffle {
                    row.min(problem.cap(Operand::C))
                } else {
                    1
                };
            }
        };
        let threads = wave.iter().fold(problem.wave_size, |product, &count| product.saturating_mul(count));
        let per_thread = if threads > 0 { other.saturating_mul(tile_k).div_euclid(threads) } else { 0 };
        let extent = tile[problem.contiguous(operand)];
        let divides = |width: i64| extent % width == 0 && per_thread % width == 0;
        [16, 8, 4, 2]
            .into_iter()
            .filter(|&bytes| bytes >= 8 || problem.bytes >= bytes)
            .map(|bytes| bytes / problem.bytes)
            .find(|&width| width >= 1 && divides(width))
            .unwrap_or(1)
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(dtype: Dtype) -> VectorProblem {
        VectorProblem::new([12, 20, 28], GemmLayout::RCR, dtype, 64).unwrap()
    }

    #[test]
    fn legal_widths_divide_the_contiguous_extent() {
        let fp16 = problem(Dtype::Fp16);
        // A and B run along k = 28, C along n = 20.
        assert_eq!([Operand::A, Operand::B, Operand::C].map(|o| fp16.legal(o)), [4, 4, 4]);
        let fp8 = problem(Dtype::Fp8);
        assert_eq!((fp8.cap(Operand::A), fp8.cap(Operand::C)), (16, 8), "fp8 gives fp16");
    }

    #[test]
    fn packed_types_have_no_widths() {
        assert!(VectorProblem::new([1, 1, 1], GemmLayout::RCR, Dtype::Int4, 64).is_none());
        assert!(VectorProblem::new([0, 1, 1], GemmLayout::RCR, Dtype::Fp16, 64).is_none());
        for word in ACCESS_DTYPES {
            assert!(access_bytes(word.parse().unwrap()).is_some(), "{word}");
        }
    }
}
