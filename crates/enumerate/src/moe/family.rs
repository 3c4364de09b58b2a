//! The family `moe`: what the tuners of vLLM and SGLang try, for each pair of types that their tables have.

use ck_select_types::kernel::Kernel;
use ck_select_types::problem::MoeProblem;
use ck_select_types::vocab::{Arch, Op};

use super::rules::{MoeFamily, MoeSpace};
use super::{MoeConfig, MoeSweep, NUMBERS};
use crate::error::EnumerateError;
use crate::kernels::Expansion;
use crate::request::Request;
use crate::rules::Rules;

impl MoeFamily {
    /// The word of `--pool`.
    pub const NAME: &'static str = "moe";
    /// The family's operation.
    pub const OP: Op = Op::Moe;

    /// The family's kernels for an architecture, without those that the architecture cannot hold.
    pub fn kernels(rules: &Rules, arch: Arch) -> Result<Vec<Kernel>, EnumerateError> {
        let request = Request::new(arch.as_str());
        Ok(MoeProblem::expand(rules, &MoeConfig::Family, arch, &request)?.enumeration.kernels)
    }

    /// The family's sweeps on an architecture.
    pub(super) fn sweeps(&self, arch: Arch) -> Result<Vec<MoeSweep>, EnumerateError> {
        let own = self.spaces.iter().filter(|space| arch.as_str().starts_with(&space.architectures));
        own.map(|space| Ok(MoeSweep { types: self.types.clone(), numbers: space.lists()? })).collect()
    }
}

impl MoeSpace {
    /// The values of all numbers; those that a space leaves out have their least.
    fn lists(&self) -> Result<[Vec<u32>; NUMBERS.len()], EnumerateError> {
        if let Some(name) = self.values.keys().find(|name| NUMBERS.iter().all(|(known, _)| known != name)) {
            let known = NUMBERS.map(|(name, _)| name).join(", ");
            return Err(EnumerateError::Refused(format!(
                "moe.json: found '{name}', expected one of {known}"
            )));
        }
        Ok(NUMBERS.map(|(name, [least, _])| self.values.get(name).cloned().unwrap_or_else(|| vec![least])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_is_what_tuners_try_on_a_gpu() {
        let rules = Rules::built_in().unwrap();
        let names = |arch: &str, types: &str| -> Vec<String> {
            let kernels = MoeFamily::kernels(&rules, arch.parse().unwrap()).unwrap();
            kernels.into_iter().map(|kernel| kernel.name).filter(|name| name.starts_with(types)).collect()
        };
        let nvidia = names("sm_90", "triton_moe_bf16_");
        assert!(nvidia.contains(&"triton_moe_bf16_16x64x128_group1_4warps_4stages".to_owned()));
        assert!(nvidia.contains(&"triton_moe_bf16_wint4_16x64x128_group1_4warps_4stages".to_owned()));
        let amd = names("gfx942", "triton_moe_fp8_");
        assert!(amd.contains(&"triton_moe_fp8_64x64x128_group8_8warps_2stages_nonkdim16_kpack2".to_owned()));
        assert!(amd.contains(&"triton_moe_fp8_64x64x128_group8_8warps_2stages".to_owned()));
        let all = names("gfx942", "");
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
        assert!(MoeFamily::kernels(&rules, "gfx906".parse().unwrap()).is_err());
    }
}
