//! Which kernels of a list of names can be built, by the rules of an enumeration.

use ck_select_types::each_operation;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::Arch;

use crate::rules::Rules;

/// Kernels of an operation, of which rules may tell whether one can be built.
pub(crate) trait Buildable {
    /// Why a kernel of which only the name is given cannot be built; `None` if it can, or if the rules do not
    /// tell.
    fn refusal_of_name(&self, rules: &Rules, arch: Arch) -> Option<&'static str> {
        let _ = (rules, arch);
        None
    }
}

impl Rules {
    /// Why a kernel of which the name is given cannot be built for an architecture; `None` if it can, or if
    /// the rules do not tell. They tell of convolutions, and of CK's plain GEMMs: other families have rules
    /// that depend on what names leave out.
    pub fn unbuildable(&self, kernel: &Kernel, arch: Arch) -> Option<&'static str> {
        self.arch.architectures.get(arch.as_str())?;
        each_operation!(&kernel.kind, KernelKind(kernel) => kernel.refusal_of_name(self, arch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists of names were ranked whatever they named, waves that only gfx950 has among them.
    #[test]
    fn names_are_judged_by_the_rules_of_enumerations() {
        let rules = Rules::built_in().unwrap();
        let gemm = |body: &str| format!("gemm_universal_fp8_rcr_compv3_default_{body}");
        let flags = "intrawave_False_False_False_False";
        for (name, [gfx942, gfx950]) in [
            (
                "grouped_conv_forward_bf16_2d_128x64x128_compv3",
                [Some("waves not of this architecture"), None],
            ),
            ("grouped_conv_forward_bf16_2d_32x64x64_compv3", [None; 2]),
            // Measured on an MI355X.
            (
                "grouped_conv_forward_bf16_2d_128x128x64_compv4",
                [Some("waves not of this architecture"), None],
            ),
            (
                "grouped_conv_forward_bf16_2d_32x64x64_compv3_interwave",
                [Some("scheduler not for this pipeline"); 2],
            ),
            ("grouped_conv_bwd_weight_bf16_2d_32x64x64_mem_interwave_2stage", [None; 2]),
            (&gemm(&format!("{flags}_64x64x256_2x2x1_32x32x32")), [None; 2]),
            (
                &gemm(&format!("{flags}_64x64x256_2x2x1_32x32x64")),
                [Some("instruction not of this architecture and types"), None],
            ),
            (&gemm(&format!("{flags}_64x64x256_8x2x1_8x32x32")), [Some("waves not of this architecture"); 2]),
            (
                &gemm("interwave_False_False_False_False_64x64x256_2x2x1_32x32x32"),
                [Some("scheduler not for this pipeline"); 2],
            ),
            (
                &gemm(&format!("{flags}_512x512x256_2x2x1_32x32x32")),
                [Some("more shared memory than available"); 2],
            ),
            // Not judged: other libraries and families.
            (
                &gemm(&format!("{flags}_512x512x256_2x2x1_32x32x32"))
                    .replace("gemm_universal", "triton_gemm"),
                [None; 2],
            ),
            (
                &gemm(&format!("{flags}_512x512x256_2x2x1_32x32x32"))
                    .replace("gemm_universal", "gemm_preshuffle"),
                [None; 2],
            ),
        ] {
            let kernel = Kernel::from_name(name).unwrap();
            let on = |arch: &str| rules.unbuildable(&kernel, arch.parse().unwrap());
            assert_eq!([on("gfx942"), on("gfx950")], [gfx942, gfx950], "{name}");
            assert_eq!(on("sm_90"), None);
        }
    }
}
