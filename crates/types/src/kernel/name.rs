//! Reads any kernel name.

#[cfg(doc)]
use super::{ConvKernel, FmhaKernel, GemmKernel, MoeKernel};
use super::{Kernel, KernelKind, NameError};
use crate::each_operation;
use crate::operation::{KernelOf, Operation, OperationKernel};
use crate::scan::Scan;
use crate::vocab::{Dtype, Op};

impl Kernel {
    /// Reads a kernel's name. The name itself is kept as it is written.
    ///
    /// | the name begins with | grammar |
    /// |---|---|
    /// | `grouped_conv_` | [`ConvKernel::parse_name`] |
    /// | `gemm_`, `batched_gemm_`, `grouped_gemm_`, `mx_gemm_`, `triton_gemm_` | [`GemmKernel::parse_name`]; a part that it does not understand is kept in the name only |
    /// | `a8w8_`, `a4w4_`, `bf16_batched_` | AITER's: [`GemmKernel::parse_name`] |
    /// | `fmha_` | [`FmhaKernel::parse_name`] |
    /// | `triton_moe_`, `moe_ck2stages_` | [`MoeKernel::parse_name`] |
    /// | a dtype | [`GemmKernel::parse_identifier`] |
    ///
    /// Nothing is guessed: a word outside its vocabulary, a number out of range or a missing part is an
    /// error. What a grammar leaves out has one documented value.
    ///
    /// ```
    /// use ck_select_types::kernel::{Kernel, KernelKind, Mnk};
    ///
    /// let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv3_intrawave_dsb")?;
    /// let KernelKind::Conv(conv) = &kernel.kind else { unreachable!("the prefix says convolution") };
    /// assert_eq!(conv.tile, Mnk::new(64, 128, 64));
    /// assert_eq!(conv.wave, Mnk::new(2, 2, 1)); // from the table of tiles
    /// assert!(conv.double_smem_buffer);
    ///
    /// let error = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv9").unwrap_err();
    /// assert!(error.reason.starts_with("unknown pipeline 'compv9', expected one of: compv1, compv2, "));
    /// # Ok::<(), ck_select_types::kernel::NameError>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self, NameError> {
        let Some(op) = Op::ALL.iter().find(|op| begins(**op, name)) else {
            let mut beginnings: Vec<&str> =
                Op::ALL.iter().map(|op| Operation::get(*op).name_beginnings).collect();
            // GEMMs, which are the first operation, have no common beginning: they come last.
            beginnings.rotate_left(1);
            let (beginnings, types) = (beginnings.join(" nor with "), Dtype::ELEMENT_WORDS.join(", "));
            return Err(Scan::whole(name)?.fail(format!("begins neither with {beginnings}: {types}")));
        };
        let kind = each_operation!(op, Own => KernelOf::<Own>::read_name(name).map(KernelKind::from))?;
        Ok(Self { name: name.to_owned(), kind })
    }

    /// Whether a text begins like a name of some grammar.
    pub fn begins_a_name(text: &str) -> bool {
        Op::ALL.iter().any(|op| begins(*op, text))
    }

    /// The operation that the kernel computes.
    pub const fn op(&self) -> Op {
        self.kind.op()
    }
}

fn begins(op: Op, text: &str) -> bool {
    each_operation!(op, Own => <KernelOf<Own> as OperationKernel>::begins_a_name(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_no_grammar_lists_the_beginnings() {
        for name in ["", "conv", "GEMM_x", "grouped_conv", "\u{feff}gemm_"] {
            let error = Kernel::from_name(name).unwrap_err();
            assert!(error.reason.starts_with("begins neither with 'grouped_conv_' nor"), "{error}");
        }
    }
}
