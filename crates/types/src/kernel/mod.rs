//! A kernel of any operation: what can answer a problem.

mod limits;
mod matching;
mod name;

pub use crate::limits::Refusal;
pub use crate::operations::kernels::*;
pub use crate::scan::NameError;
pub use crate::shape::Mnk;
pub use limits::Limits;
pub use matching::closest;

use crate::defaults::ProblemDefaults;
use crate::each_operation;
use crate::field::{self, Field, InvalidField, MOST_FIELDS, position};
use crate::operation::{KernelOf, Operation, OperationKernel as _};
use crate::vocab::{Arch, Direction, Dtype, GemmLibrary, Op};

crate::operation_enum! {
    /// The fields of a kernel, without its name.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    #[allow(clippy::large_enum_variant)] // pools are homogeneous, so nothing is gained by a box
    pub enum KernelKind(KernelOf);
}

/// A kernel with the name under which it is registered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The name, as its registry or file spells it.
    pub name: String,
    /// The kernel's operation and fields.
    pub kind: KernelKind,
}

impl KernelKind {
    /// The element type of its first input.
    pub const fn dtype(&self) -> Dtype {
        each_operation!(self, Self(kernel) => kernel.dtype())
    }

    /// The element type of its first input, unless its name stands for kernels of several types.
    pub fn only_dtype(&self) -> Option<Dtype> {
        let is_one = each_operation!(self, Self(kernel) => !kernel.is_of_several_types());
        is_one.then(|| self.dtype())
    }

    /// The word of the kernel's pipeline, how loads overlap with arithmetic; `None` for an operation without
    /// pipelines.
    pub fn pipeline(&self) -> Option<&'static str> {
        let fields = Self::fields(self.op());
        let index = position(fields, "pipeline")?;
        fields[index].words()?.get(self.values()[index] as usize).copied()
    }

    /// The fields of an operation's kernels.
    pub const fn fields(op: Op) -> &'static [Field] {
        Operation::get(op).kernel
    }

    /// The tile that a workgroup handles in one step: rows, columns and depth, of attention's first product.
    pub fn tile(&self) -> Mnk {
        each_operation!(self, Self(kernel) => kernel.tile())
    }

    /// The direction of a convolution.
    pub fn direction(&self) -> Option<Direction> {
        each_operation!(self, Self(kernel) => kernel.direction())
    }

    /// The library that a GEMM's name belongs to.
    pub fn library(&self) -> Option<GemmLibrary> {
        each_operation!(self, Self(kernel) => kernel.library())
    }

    /// The defaults of problems for it: what it says about them.
    pub fn defaults(&self) -> ProblemDefaults {
        let mut defaults = ProblemDefaults::new(self.op());
        each_operation!(self, Self(kernel) => kernel.fill_defaults(&mut defaults));
        defaults
    }

    /// The numbers of the kernel's fields.
    pub fn values(&self) -> [i64; MOST_FIELDS] {
        each_operation!(self, Self(kernel) => field::values(kernel))
    }

    /// The architecture that the kernel was built for, when known.
    pub const fn arch(&self) -> Option<Arch> {
        each_operation!(self, Self(kernel) => kernel.arch)
    }

    /// The kernel's traits besides types, shapes and pipeline: the suffixes of its longest name, such as `dsb` or
    /// `gm2`, and the words for wave mode and epilogue if not the defaults.
    pub fn suffixes(&self) -> Vec<String> {
        each_operation!(self, Self(kernel) => kernel.suffixes())
    }
}

impl Kernel {
    /// Checks the fields that a caller who fills a descriptor can get wrong; names and exports are checked
    /// when they are read.
    pub fn validate(&self) -> Result<(), InvalidField> {
        if self.name.is_empty() {
            return Err(InvalidField::new("name", "nothing", "at least one character"));
        }
        if let Some(control) = self.name.chars().find(|character| character.is_control()) {
            return Err(InvalidField::new(
                "name",
                format_args!("the character {control:?}"),
                "one line of text",
            ));
        }
        each_operation!(&self.kind, KernelKind(kernel) => kernel.validate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_from_names_are_valid_and_each_number_is_checked() {
        let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv3").unwrap();
        kernel.validate().unwrap();
        let KernelKind::Conv(conv) = &kernel.kind else { unreachable!() };
        let fault = |conv: ConvKernel| conv.validate().unwrap_err().to_string();
        assert_eq!(fault(ConvKernel { ndim: 4, ..conv.clone() }), "ndim: found 4, expected 1 to 3");
        assert_eq!(
            fault(ConvKernel { tile: Mnk::new(64, 0, 64), ..conv.clone() }),
            "tile_n: found 0, expected 1 to 65535"
        );
        assert_eq!(
            fault(ConvKernel { wave: Mnk::new(2, 2, 256), ..conv.clone() }),
            "wave_k: found 256, expected 1 to 255"
        );
        assert_eq!(
            fault(ConvKernel { vector: [4, 8, 0], ..conv.clone() }),
            "vector_c: found 0, expected 1 to 65535"
        );
        let unnamed = Kernel { name: String::new(), kind: kernel.kind.clone() };
        assert_eq!(
            unnamed.validate().unwrap_err().to_string(),
            "name: found nothing, expected at least one character"
        );
        let lines = Kernel { name: "a\nb".to_owned(), kind: kernel.kind.clone() };
        assert!(lines.validate().unwrap_err().to_string().contains("expected one line of text"));

        let name = "fp8_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32";
        let kernel = Kernel::from_name(name).unwrap();
        kernel.validate().unwrap();
        let KernelKind::Gemm(gemm) = &kernel.kind else { unreachable!() };
        let fault = |gemm: GemmKernel| gemm.validate().unwrap_err().to_string();
        assert_eq!(fault(GemmKernel { split_k: 0, ..gemm.clone() }), "split_k: found 0, expected 1 to 255");
        assert_eq!(
            fault(GemmKernel { warp_tile: Mnk::new(0, 16, 32), ..gemm.clone() }),
            "warp_tile_m: found 0, expected 1 to 255"
        );
    }

    #[test]
    fn suffixes_are_those_of_the_names() {
        for (name, suffixes) in [
            ("grouped_conv_forward_bf16_2d_64x128x64_compv3", vec![]),
            (
                "grouped_conv_forward_bf16_2d_64x128x64_compv3_interwave_gm2_dsb_si",
                vec!["interwave", "gm2", "dsb", "si"],
            ),
            (
                "grouped_conv_fwd_bf16_nhwgc_2d_mem_cshuffle_interwave_64x64x32_2x2x1_16x16x16",
                vec!["interwave"],
            ),
            (
                "gemm_fp8_rcr_mem_default_auto_True_False_True_True_64x64x64_1x4x1_16x16x32_splitk2",
                vec!["auto", "default", "pad_m", "pad_k", "persistent", "splitk2"],
            ),
        ] {
            assert_eq!(Kernel::from_name(name).unwrap().kind.suffixes(), suffixes, "{name}");
        }
    }
}
