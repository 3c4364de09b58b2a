//! Limits of kernels on a product of M, N and K: extents that tiles, loads and stores divide, and splits of the
//! reduction.

/// The reasons for which CK's host functions (`IsSupportedArgument`) refuse a problem, as far as a kernel's name or
/// descriptor shows them: extents that its tiles, loads and stores do not divide, and splits of the reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[allow(missing_docs, reason = "the texts are the documentation")]
pub enum Refusal {
    #[error("its tiles do not divide M, which it does not pad")]
    TilesOfM,
    #[error("its tiles do not divide N, which it does not pad")]
    TilesOfN,
    #[error("its steps do not divide K, or a part of it, which it does not pad")]
    StepsOfK,
    #[error("its loads do not divide the rows of A")]
    LoadsOfA,
    #[error("its loads do not divide the rows of B")]
    LoadsOfB,
    #[error("its stores do not divide the rows of C")]
    StoresOfC,
    #[error("its D tensors have another order than C")]
    OrderOfD,
    #[error("the reduction is shorter than one of its instructions")]
    Instruction,
    #[error("split_k is more than its steps along the reduction")]
    Parts,
    #[error("its kind does not split the reduction (split_k)")]
    NoSplit,
    #[error("it stores single results of 16 bits, which parts of the reduction (split_k) cannot add")]
    SingleStores,
    #[error("parts of the reduction (split_k) end within elements that share a scale")]
    SharedScale,
    #[error("its pipeline needs four steps along each part of the reduction")]
    FourSteps,
    #[error("its loads do not divide the channels of a group")]
    LoadsOfChannels,
    #[error("its stores do not divide the channels of a group")]
    StoresOfChannels,
    #[error("it adds at most 128 parts (split_k) in its type")]
    Rounding,
    #[error("an explicit GEMM needs filter1x1_stride1_pad0")]
    ExplicitGemm,
}

/// How a kernel judges problems, as known before any problem.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Judged {
    /// No problem that it matches otherwise is refused.
    Never,
    /// Each problem is judged by the kernel's fields.
    ByFields,
    /// Each problem is judged by limits that took some time to compute.
    By(ProductLimits),
}

/// What a kernel needs of an architecture, and of extents and splits in a problem that the kernel is made for: nothing,
/// where an operation does not say otherwise.
pub(crate) trait LimitedKernel {
    /// Problems of the kernel's operation.
    type Problem;

    /// How the kernel is judged.
    fn judged(&self) -> Judged {
        Judged::Never
    }

    /// Why the kernel is not launched for a problem, on one of AMD's GPUs; `limits` are the kernel's own, if they were
    /// computed.
    #[inline]
    fn refusal(&self, _limits: Option<&ProductLimits>, _problem: &Self::Problem) -> Option<Refusal> {
        None
    }

    /// Of these refusals, the one that holds on every GPU.
    fn refusal_of_parts(&self, _problem: &Self::Problem) -> Option<Refusal> {
        None
    }

    /// Whether the kernel needs gfx950's and gfx1250's scaling instructions, or 128 elements of at most 8 bits at
    /// once.
    #[inline]
    fn needs_scaled_instructions(&self) -> bool {
        false
    }
}

/// A kernel's limits on M, N and K and on the parts of K.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProductLimits {
    /// Numbers of which M, N and K must be multiples: tiles, the load of A, the load of B, the store of C. 1 for
    /// none.
    pub(crate) tile: [u32; 3],
    pub(crate) access: [Access; 3],
    /// The depth of a step; of an instruction, if CK wants one for each part; of a part at least.
    pub(crate) step: u32,
    pub(crate) instruction: u32,
    pub(crate) part: u32,
    pub(crate) split: Split,
    pub(crate) has_order_of_d: bool,
    /// The common multiples of what tiles and accesses need of M, N and K.
    pub(crate) multiples: [u32; 3],
}

/// A load or a store: its elements, along an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) axis: usize,
    pub(crate) width: u32,
}

/// Into which parts K may be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    Any,
    Never,
    /// The parts' sums would be stored one by one, in 16 bits.
    SingleStores,
    /// Parts end between the elements along K that share a scale; the depth of an instruction.
    Scales {
        group: u32,
        instruction: u32,
    },
    /// Parts consist of whole instructions.
    Instructions(u32),
}

pub(crate) const M: usize = 0;
pub(crate) const N: usize = 1;
pub(crate) const K: usize = 2;

impl ProductLimits {
    /// The limits with their common multiples.
    pub(crate) fn with_multiples(self) -> Self {
        let widths = |axis| self.access.into_iter().filter(move |one| one.axis == axis).map(|one| one.width);
        let multiple = |axis: usize| widths(axis).fold(self.tile[axis], common_multiple);
        Self { multiples: [M, N, K].map(multiple), ..self }
    }

    /// Whether a product that is not split meets all limits at once, as nearly all do.
    #[inline]
    fn takes_whole(&self, extents: [i64; 3]) -> bool {
        let is_met = |axis: usize| is_multiple(extents[axis], self.multiples[axis]);
        is_met(M) && is_met(N) && is_met(K) && extents[K] >= self.instruction.into() && self.has_order_of_d
    }

    /// Why a kernel with these limits is not launched for a product of these extents in so many parts.
    #[inline]
    pub(crate) fn refusal(&self, extents: [i64; 3], parts: i64) -> Option<Refusal> {
        if parts <= 1 && self.takes_whole(extents) {
            return None;
        }
        let tiles = [Refusal::TilesOfM, Refusal::TilesOfN, Refusal::StepsOfK];
        let accesses = [Refusal::LoadsOfA, Refusal::LoadsOfB, Refusal::StoresOfC];
        for axis in [M, N, K] {
            if !is_multiple(extents[axis], self.tile[axis]) {
                return Some(tiles[axis]);
            }
        }
        for (Access { axis, width }, refusal) in self.access.into_iter().zip(accesses) {
            if !is_multiple(extents[axis], width) {
                return Some(refusal);
            }
        }
        if extents[K] < i64::from(self.instruction) {
            return Some(Refusal::Instruction);
        }
        if !self.has_order_of_d {
            return Some(Refusal::OrderOfD);
        }
        if parts > 1 { self.refusal_of_split(extents[K], parts) } else { None }
    }

    /// Whether K has fewer steps, or what counts instead, than parts.
    pub(crate) const fn has_fewer_parts(&self, depth: i64, parts: i64) -> bool {
        parts > div_ceil(depth, self.part as i64)
    }

    fn refusal_of_split(&self, depth: i64, parts: i64) -> Option<Refusal> {
        let whole = |of: u32| depth % (i64::from(of.max(1)) * parts) == 0;
        match self.split {
            Split::Never => return Some(Refusal::NoSplit),
            Split::SingleStores => return Some(Refusal::SingleStores),
            Split::Scales { group, instruction } => {
                let instruction = i64::from(instruction.max(1));
                let part = div_ceil(depth, parts * instruction) * instruction;
                if part % i64::from(group.max(1)) != 0 {
                    return Some(Refusal::SharedScale);
                }
            }
            Split::Instructions(instruction) if !whole(instruction) => return Some(Refusal::SharedScale),
            Split::Any | Split::Instructions(_) => {}
        }
        if self.has_fewer_parts(depth, parts) || depth < i64::from(self.instruction) * parts {
            return Some(Refusal::Parts);
        }
        (self.tile[K] > 1 && !whole(self.step)).then_some(Refusal::StepsOfK)
    }
}

/// The least common multiple; a multiple that no extent has if that is too large, so that each limit is checked.
fn common_multiple(one: u32, other: u32) -> u32 {
    let (mut divisor, mut rest) = (one.max(1), other.max(1));
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one.max(1) / divisor).saturating_mul(other.max(1))
}

/// Nearly all tiles and widths are powers of two, of which no division is needed.
#[inline]
pub(crate) fn is_multiple(extent: i64, of: u32) -> bool {
    if of.is_power_of_two() { extent & i64::from(of - 1) == 0 } else { extent % i64::from(of.max(1)) == 0 }
}

const fn div_ceil(extent: i64, by: i64) -> i64 {
    (extent + by - 1) / by
}
