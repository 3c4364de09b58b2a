//! What keeps a GEMM kernel from computing what a problem asks for, types and layout aside.

use super::{GemmKernel, GemmProblem, GemmRequest};
use crate::shape::Mnk;
use crate::vocab::{GemmLibrary, QuantMode, StreamKReduction};

/// The first thing in which a kernel differs from a problem, with the kernel's own value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GemmMismatch {
    /// The kernel computes a batch, or does not.
    #[error("it is for {} (batch)", if *.0 { "a batch" } else { "no batch" })]
    Batch(bool),
    /// The kernel computes a list of GEMMs, or does not.
    #[error("it is for {} of GEMMs (groups)", if *.0 { "a list" } else { "no list" })]
    Groups(bool),
    /// The kernel adds the results of Stream-K in this way.
    #[error("it is a Stream-K kernel (stream_k={0})")]
    StreamK(StreamKReduction),
    /// The kernel's workgroups take whole tiles.
    #[error("it is not a Stream-K kernel (stream_k)")]
    NoStreamK,
    /// The kernel's operands have these scales.
    #[error("its operands have other scales (quant={0})")]
    Quant(QuantMode),
    /// The kernel's operands have no scales.
    #[error("its operands have no scales (quant)")]
    NoQuant,
    /// The kernel reads this number of D tensors.
    #[error("it reads {0} D tensors (num_d)")]
    NumD(u8),
    /// B is read in the usual order.
    #[error("it reads B as it is (preshuffle)")]
    Preshuffle,
    /// A tile that does not divide N and K.
    #[error("its tile of {0} does not divide N and K")]
    Tile(Mnk),
    /// Loads of A and B and stores that do not divide K and N.
    #[error("it loads {} and {} elements of K and stores {} of N at a time", .0[0], .0[1], .0[2])]
    Vector([u32; 3]),
}

impl GemmKernel {
    /// Whether the kernel is of the variant that a problem asks for: [`GemmKernel::mismatch`] has nothing to say.
    #[inline]
    pub fn matches_request(&self, problem: &GemmProblem) -> bool {
        self.mismatch(problem).is_none()
    }

    /// The first difference between the kernel and the variant that a problem asks for. Batches, lists, Stream-K and
    /// scales must match the problem, because they are launch arguments; D tensors and a shuffled B must match only if
    /// the problem asks for them.
    #[inline]
    pub fn mismatch(&self, problem: &GemmProblem) -> Option<GemmMismatch> {
        let GemmRequest { batch, groups, stream_k, num_d, preshuffle, quant: _, group_a: _, group_b: _ } =
            &problem.request;
        let variant = &self.variant;
        if variant.batched != (*batch > 0) {
            return Some(GemmMismatch::Batch(variant.batched));
        }
        if self.grouped == groups.is_empty() {
            return Some(GemmMismatch::Groups(self.grouped));
        }
        if variant.stream_k != *stream_k {
            return Some(variant.stream_k.map_or(GemmMismatch::NoStreamK, GemmMismatch::StreamK));
        }
        if variant.quant != problem.request.scales() {
            return Some(variant.quant.map_or(GemmMismatch::NoQuant, |own| GemmMismatch::Quant(own.mode)));
        }
        if *num_d > 0 && self.num_d_tensors != *num_d {
            return Some(GemmMismatch::NumD(self.num_d_tensors));
        }
        if *preshuffle && !self.preshuffle {
            return Some(GemmMismatch::Preshuffle);
        }
        if variant.library == GemmLibrary::Aiter { self.cuts(problem) } else { None }
    }

    /// The tile, or the loads and stores, that one of AITER's kernels would not complete.
    fn cuts(&self, problem: &GemmProblem) -> Option<GemmMismatch> {
        let whole = self.has_whole_tiles(problem);
        (!whole)
            .then_some(GemmMismatch::Tile(self.tile))
            .or_else(|| (!self.has_whole_vectors(problem)).then_some(GemmMismatch::Vector(self.vector)))
    }

    /// Whether N and K are whole tiles, as far as one of AITER's kernels needs them to be. Rows beyond M are
    /// only read, whether it pads them or not.
    fn has_whole_tiles(&self, problem: &GemmProblem) -> bool {
        let [_, pad_n, pad_k] = self.pad;
        (pad_n || is_whole(problem.n, self.tile.n)) && (pad_k || is_whole(problem.k, self.tile.k))
    }

    /// Whether the rows of one of AITER's kernels of CK's are whole loads and stores, which no padding
    /// completes.
    fn has_whole_vectors(&self, problem: &GemmProblem) -> bool {
        let [load_a, load_b, store] = self.vector;
        is_whole(problem.k, load_a) && is_whole(problem.k, load_b) && is_whole(problem.n, store)
    }
}

fn is_whole(extent: i64, part: u32) -> bool {
    extent % i64::from(part.max(1)) == 0
}
