//! Which channels and splits a convolution kernel takes, as CK's host functions have it.

use super::{ConvKernel, ConvProblem, ConvTile};
use crate::limits::{Judged, LimitedKernel, ProductLimits, Refusal};
use crate::vocab::{Direction, Dtype, Pipeline, Specialization};

/// So many parts at most are added in a type of fewer bits than fp32.
const MOST_ROUNDED: i64 = 128;

impl LimitedKernel for ConvKernel {
    type Problem = ConvProblem;

    /// Most convolutions are not judged.
    fn judged(&self) -> Judged {
        let is_weight = self.direction == Direction::BwdWeight;
        let is_judged = is_weight || self.explicit_gemm || self.vector != ConvTile::WIDTHS;
        if is_judged { Judged::ByFields } else { Judged::Never }
    }

    /// Why the kernel is not launched for a problem that it is made for, on one of AMD's GPUs. Forward
    /// kernels ignore splits, or refuse them, by the version of CK: they are not judged.
    #[inline]
    fn refusal(&self, _: Option<&ProductLimits>, problem: &ConvProblem) -> Option<Refusal> {
        let needs_1x1 = self.explicit_gemm && self.direction != Direction::BwdData;
        if needs_1x1 && self.specialization != Specialization::Filter1x1Stride1Pad0 {
            return Some(Refusal::ExplicitGemm);
        }
        self.refusal_of_channels(problem).or_else(|| self.refusal_of_split(problem))
    }

    /// [`Refusal::Parts`], which holds on every GPU.
    fn refusal_of_parts(&self, problem: &ConvProblem) -> Option<Refusal> {
        let is_short = self.direction == Direction::BwdWeight
            && problem.split_k > 1
            && i64::from(problem.split_k) > self.steps(problem);
        is_short.then_some(Refusal::Parts)
    }

    #[inline]
    fn needs_scaled_instructions(&self) -> bool {
        self.warp_tile.k >= 128 && self.dtype_in.bits() <= 8
    }
}

impl ConvKernel {
    /// The widths that names leave out are not judged: kernels of such names were measured with any number of
    /// channels.
    fn refusal_of_channels(&self, problem: &ConvProblem) -> Option<Refusal> {
        if self.vector == ConvTile::WIDTHS {
            return None;
        }
        let [a, b, c] = self.vector.map(|width| i64::from(width.max(1)));
        let (inputs, outputs) = (problem.c / problem.g.max(1), problem.k / problem.g.max(1));
        let merges = self.num_groups_to_merge > 1;
        // Merged groups are read and written along the groups.
        let (loads, stores) = match self.direction {
            Direction::Forward if merges => (inputs % b == 0, outputs % c == 0 || problem.g % c == 0),
            Direction::Forward => (inputs % a == 0 && inputs % b == 0, outputs % c == 0),
            Direction::BwdData | Direction::BwdWeight => {
                (outputs % a == 0 && inputs % b == 0, inputs % c == 0)
            }
        };
        match (loads, stores) {
            (false, _) => Some(Refusal::LoadsOfChannels),
            (true, false) => Some(Refusal::StoresOfChannels),
            (true, true) => None,
        }
    }

    fn refusal_of_split(&self, problem: &ConvProblem) -> Option<Refusal> {
        let parts = i64::from(problem.split_k.max(1));
        let is_weight = self.direction == Direction::BwdWeight;
        let result = if is_weight { self.dtype_wei } else { self.dtype_in };
        let is_half = matches!(result, Dtype::Fp16 | Dtype::Bf16);
        // A second launch converts sums of fp32.
        if parts > 1
            && self.direction != Direction::Forward
            && is_half
            && !self.two_stage
            && self.vector[2] % 2 == 1
        {
            return Some(Refusal::SingleStores);
        }
        if !is_weight {
            return None;
        }
        let steps = self.steps(problem);
        if parts > 1 && self.stream_k.is_some() {
            return Some(Refusal::NoSplit);
        }
        if parts > steps {
            return Some(Refusal::Parts);
        }
        if parts > MOST_ROUNDED && !self.two_stage && result.bits() < 32 {
            return Some(Refusal::Rounding);
        }
        let of_a_part = (steps + parts - 1) / parts;
        (self.pipeline == Pipeline::CompV6 && of_a_part < 4).then_some(Refusal::FourSteps)
    }

    /// The steps along the reduction of backward weight.
    fn steps(&self, problem: &ConvProblem) -> i64 {
        let depth = problem.output().into_iter().fold(problem.n, i64::saturating_mul).max(1);
        let step = i64::from(self.tile.k.max(1));
        depth / step + i64::from(depth % step != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, KernelKind};
    use crate::problem::{Problem, ProblemDefaults};
    use crate::vocab::Op;

    fn refusal(name: &str, text: &str, of_kernel: impl Fn(ConvKernel) -> ConvKernel) -> Option<Refusal> {
        let kernel = of_kernel(ConvKernel::parse_name(name).unwrap());
        let defaults = ProblemDefaults { direction: kernel.direction, ..ProblemDefaults::new(Op::Conv) };
        let problem = Problem::parse(Op::Conv, &format!("Hi=8,Wi=8,Y=1,X=1,{text}"), &defaults).unwrap();
        let kernel = Kernel { name: name.to_owned(), kind: KernelKind::Conv(kernel) };
        let refusal = kernel.kind.refusal(&problem, None);
        assert_eq!(kernel.matches_within(&kernel.kind.limits(), &problem, None), refusal.is_none(), "{text}");
        assert_eq!(kernel.misfit(&problem), refusal.map(|refusal| refusal.to_string()), "{text}");
        refusal
    }

    fn long(direction: &str, end: &str) -> String {
        format!(
            "grouped_conv_{direction}_bf16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x64_2x2x1_32x32x16{end}"
        )
    }

    /// The widths in a name were not judged at all.
    #[test]
    fn channels_are_judged_by_the_widths_of_names() {
        use Refusal::{LoadsOfChannels as Loads, StoresOfChannels as Stores};
        for (direction, end, problem, expected) in [
            ("fwd", "_vec2_8_4", "C=8,K=4", None),
            ("fwd", "_vec2_8_4", "C=16,K=8,G=2", None),
            ("fwd", "_vec2_8_4", "C=8,K=8,G=2", Some(Loads)),
            ("fwd", "_vec8_2_4", "C=4,K=4", Some(Loads)),
            ("fwd", "_vec2_8_4", "C=8,K=6", Some(Stores)),
            // Merged groups are read and stored along the groups.
            ("fwd", "_vec8_1_4_gm4", "C=8,K=8,G=8", None),
            ("fwd", "_vec8_1_8_gm4", "C=4,K=4,G=4", Some(Stores)),
            ("bwd_data", "_vec2_8_4", "K=2,C=8", None),
            ("bwd_data", "_vec2_8_4", "K=1,C=8", Some(Loads)),
            ("bwd_data", "_vec2_2_4", "K=2,C=2", Some(Stores)),
            ("bwd_weight", "_vec2_8_4", "K=2,C=8", None),
            ("bwd_weight", "_vec2_8_4", "K=2,C=12", Some(Loads)),
            // MI355X: kernels of such names ran with 3 and 213 channels.
            ("fwd", "", "C=3,K=67", None),
        ] {
            let text = format!("{problem},pad_h=0");
            assert_eq!(
                refusal(&long(direction, end), &text, |kernel| kernel),
                expected,
                "{direction} {end} {problem}"
            );
        }
    }

    /// Any number of parts was a candidate.
    #[test]
    fn splits_of_backward_weight_are_judged() {
        use Refusal::{FourSteps, NoSplit, Parts, Rounding, SingleStores};
        // N of 2 and 8 x 8 are two steps of 64.
        for (end, problem, expected) in [
            ("", "N=2,split_k=2", None),
            ("", "N=2,split_k=3", Some(Parts)),
            ("", "N=2,split_k=auto", None),
            ("", "N=200,split_k=128", None),
            ("", "N=200,split_k=129", Some(Rounding)),
            ("_2stage", "N=200,split_k=129", None),
            ("_vec8_8_1", "N=2,split_k=2", Some(SingleStores)),
            ("_vec8_8_1", "N=2", None),
            ("_streamk_tree", "N=2,split_k=2", Some(NoSplit)),
        ] {
            let text = format!("C=8,K=8,{problem}");
            assert_eq!(
                refusal(&long("bwd_weight", end), &text, |kernel| kernel),
                expected,
                "{end} {problem}"
            );
        }
        let compv6 = |kernel| ConvKernel { pipeline: Pipeline::CompV6, ..kernel };
        for (problem, expected) in [
            ("N=4", None),
            ("N=3", Some(FourSteps)),
            ("N=8,split_k=2", None),
            ("N=8,split_k=4", Some(FourSteps)),
        ] {
            let text = format!("C=8,K=8,{problem}");
            assert_eq!(refusal(&long("bwd_weight", ""), &text, compv6), expected, "{problem}");
        }
        // Forward kernels ignore splits or refuse them, by the version.
        assert_eq!(refusal(&long("fwd", ""), "C=8,K=8,split_k=999", |kernel| kernel), None);
        let explicit = |kernel| ConvKernel { explicit_gemm: true, ..kernel };
        assert_eq!(refusal(&long("fwd", ""), "C=8,K=8", explicit), Some(Refusal::ExplicitGemm));
        let of_1x1 = long("fwd", "_filter1x1_stride1_pad0");
        assert_eq!(refusal(&of_1x1, "C=8,K=8", explicit), None);
    }
}
