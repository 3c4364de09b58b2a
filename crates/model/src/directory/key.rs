//! Which problems a model serves, and why it does not serve a problem or a kernel.

use std::fmt::Display;

use super::FeatureSpec;
use crate::features::OperationTerms as _;
use crate::kernel::{Kernel, KernelKind};
use crate::problem::Problem;
use crate::vocab::{Arch, Direction, Dtype, GemmLibrary, Op};
use ck_select_types::each_operation;

/// The problems that a model serves. Fields without a value match anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelKey {
    /// The operation.
    pub op: Op,
    /// The direction of a convolution.
    pub direction: Option<Direction>,
    /// The type of the inputs.
    pub dtype: Option<Dtype>,
    /// The architecture.
    pub arch: Option<Arch>,
    /// Whose GEMM kernels it ranks. No problem says whose it is for.
    pub library: Option<GemmLibrary>,
    /// Whether the model chooses the parts into which a reduction is split: its scores of different numbers compare.
    pub chooses_split: bool,
}

/// A field in which a problem or a kernel differs from what a model serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// `operation`, `family`, `direction`, `dtype`, `arch`, `library` or `split_k`.
    pub field: &'static str,
    /// The value of the problem or the kernel.
    pub found: String,
    /// The value that the model serves.
    pub expected: String,
}

impl Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {}, the model is for {}", self.field, self.found, self.expected)
    }
}

/// Misfits in one sentence.
pub fn listed(misfits: &[Misfit]) -> String {
    misfits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The requirements that are compared with a key: the key that a problem or a kernel would have, and the family if no
/// features describe it.
type Requirements = (ModelKey, Option<&'static str>);

fn requirements_of_problem(problem: &Problem, arch: Option<Arch>) -> Requirements {
    let key = ModelKey {
        op: problem.op(),
        direction: problem.direction(),
        dtype: Some(problem.dtype()),
        arch: problem.arch().or(arch),
        library: None,
        chooses_split: problem.chooses_split(),
    };
    (key, each_operation!(problem, Problem(problem) => problem.undescribed()))
}

fn requirements_of_kernel(Kernel { kind, .. }: &Kernel) -> Requirements {
    let key = ModelKey {
        op: kind.op(),
        direction: kind.direction(),
        dtype: kind.only_dtype(),
        arch: kind.arch(),
        library: kind.library(),
        chooses_split: false,
    };
    (key, each_operation!(kind, KernelKind(kernel) as Own => Own::undescribed_kernel(kernel)))
}

impl ModelKey {
    /// The problems that a model serves according to its spec.
    pub const fn new(spec: &FeatureSpec) -> Self {
        Self {
            op: spec.op(),
            direction: spec.direction,
            dtype: spec.dtype,
            arch: spec.arch,
            library: spec.library,
            chooses_split: spec.compares_splits(),
        }
    }

    /// All problems of one operation: a model with this key is used for all of them, whatever its spec says.
    pub const fn any(op: Op) -> Self {
        Self { op, direction: None, dtype: None, arch: None, library: None, chooses_split: true }
    }

    /// How well the key matches: `None` if it does not, otherwise the number of its fields with a value. An
    /// unknown architecture matches any.
    pub fn fit(&self, problem: &Problem, arch: Option<Arch>) -> Option<u32> {
        self.fit_of(requirements_of_problem(problem, arch))
    }

    /// Whether the model serves the kernel. A kernel without an architecture matches any.
    pub fn fits_kernel(&self, kernel: &Kernel) -> bool {
        self.fit_of(requirements_of_kernel(kernel)).is_some()
    }

    /// Why the model does not serve a problem, field by field; empty if it does.
    pub fn misfits(&self, problem: &Problem, arch: Option<Arch>) -> Vec<Misfit> {
        self.misfits_of(requirements_of_problem(problem, arch))
    }

    /// Why the model does not serve a kernel, field by field; empty if it does.
    pub fn kernel_misfits(&self, kernel: &Kernel) -> Vec<Misfit> {
        self.misfits_of(requirements_of_kernel(kernel))
    }

    fn fit_of(&self, required: Requirements) -> Option<u32> {
        let mut fits = true;
        self.compare(required, |_, _, _| fits = false);
        let stated =
            [self.direction.is_some(), self.dtype.is_some(), self.arch.is_some(), self.library.is_some()];
        fits.then(|| stated.map(u32::from).iter().sum())
    }

    fn misfits_of(&self, required: Requirements) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        self.compare(required, |field, found, expected| {
            misfits.push(Misfit { field, found: found.to_string(), expected: expected.to_string() });
        });
        misfits
    }

    /// Calls `differs` with each field in which requirements differ from the key: the field's name, the required
    /// value, and that of the key. An unknown value fits anything.
    #[inline]
    fn compare(
        &self,
        (required, family): Requirements,
        mut differs: impl FnMut(&'static str, &dyn Display, &dyn Display),
    ) {
        fn check<T: PartialEq + Display>(
            field: &'static str,
            found: Option<T>,
            expected: Option<T>,
            differs: &mut impl FnMut(&'static str, &dyn Display, &dyn Display),
        ) {
            if let (Some(found), Some(expected)) = (found, expected)
                && found != expected
            {
                differs(field, &found, &expected);
            }
        }
        check("operation", Some(required.op), Some(self.op), &mut differs);
        if let Some(family) = family {
            differs("family", &family, &"forward");
        }
        check("direction", required.direction, self.direction, &mut differs);
        check("dtype", required.dtype, self.dtype, &mut differs);
        check("arch", required.arch, self.arch, &mut differs);
        check("library", required.library, self.library, &mut differs);
        if required.chooses_split && !self.chooses_split {
            differs("split_k", &"auto", &"a given number: it was not trained with --choose split_k");
        }
    }
}

impl Display for ModelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [
            self.direction.map(Direction::as_str),
            self.dtype.map(Dtype::as_str),
            self.library.map(GemmLibrary::as_str),
            self.arch.as_ref().map(Arch::as_str),
        ];
        write!(f, "{}", self.op)?;
        words.into_iter().flatten().try_for_each(|word| write!(f, " {word}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ConvProblem;

    #[test]
    fn the_more_a_model_says_the_better_it_fits() {
        let any = ModelKey { chooses_split: false, ..ModelKey::any(Op::Conv) };
        let forward = ModelKey { direction: Some(Direction::Forward), ..any };
        let gfx942 = ModelKey { arch: "gfx942".parse().ok(), ..forward };
        let problem = Problem::from(ConvProblem::new_2d([8, 8], [1, 1]));
        assert_eq!([any, forward, gfx942].map(|key| key.fit(&problem, None)), [Some(0), Some(1), Some(2)]);
        assert_eq!(gfx942.fit(&problem, "gfx950".parse().ok()), None);
        let backward = ModelKey { direction: Some(Direction::BwdData), ..any };
        assert_eq!(backward.fit(&problem, None), None);
        assert_eq!(ModelKey { op: Op::Gemm, ..any }.fit(&problem, None), None);
        assert_eq!(gfx942.to_string(), "grouped_conv forward gfx942");
    }

    /// A problem does not say whose kernels it is for, so that a library's model fits it, and better than one
    /// of all kernels (723ad420).
    #[test]
    fn a_librarys_model_ranks_its_kernels_alone() {
        let any = ModelKey::any(Op::Gemm);
        let own = ModelKey { library: Some(GemmLibrary::Aiter), ..any };
        let kernel = |name: &str| Kernel::from_name(name).unwrap();
        let rows = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
        let plain = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x64_2x2x1_16x16x32";
        assert!(own.fits_kernel(&kernel(rows)) && any.fits_kernel(&kernel(rows)));
        assert!(!own.fits_kernel(&kernel(plain)));
        let said = listed(&own.kernel_misfits(&kernel(plain)));
        assert_eq!(said, "library is ck, the model is for aiter");
        let problem = crate::problem::GemmProblem::new(1, 1, 1).into();
        assert_eq!([own, any].map(|key| key.fit(&problem, None)), [Some(1), Some(0)]);
        assert_eq!(own.to_string(), "gemm_universal aiter");
    }

    #[test]
    fn mismatches_are_named_field_by_field() {
        let key = ModelKey {
            direction: Some(Direction::Forward),
            dtype: Some(Dtype::Bf16),
            arch: "gfx950".parse().ok(),
            ..ModelKey::any(Op::Conv)
        };
        let problem = ConvProblem { dtype_in: Dtype::Fp16, ..ConvProblem::new_2d([8, 8], [1, 1]) };
        let told = |arch: &str| listed(&key.misfits(&problem.into(), arch.parse().ok()));
        assert_eq!(told("gfx950"), "dtype is fp16, the model is for bf16");
        assert_eq!(
            told("gfx942"),
            "dtype is fp16, the model is for bf16; arch is gfx942, the model is for gfx950"
        );
        let kernel = |name: &str| Kernel::from_name(name).unwrap();
        assert!(key.fits_kernel(&kernel("grouped_conv_forward_bf16_2d_64x64x64_compv3")));
        let fp32 = kernel("grouped_conv_bwd_data_fp32_2d_64x64x64_compv3");
        assert!(!key.fits_kernel(&fp32) && ModelKey::any(Op::Conv).fits_kernel(&fp32));
        assert_eq!(
            listed(&key.kernel_misfits(&fp32)),
            "direction is bwd_data, the model is for forward; dtype is fp32, the model is for bf16"
        );
        assert_eq!(
            key.misfits(&crate::problem::GemmProblem::new(1, 1, 1).into(), None)[0].field,
            "operation"
        );
    }
}
