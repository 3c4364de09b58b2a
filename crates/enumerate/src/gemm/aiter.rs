//! AITER's pools: which kernels each of its tuners builds (`aiter.json`).

use std::collections::{BTreeMap, BTreeSet};

use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::{Arch, Op};
use serde::Deserialize;

use crate::error::EnumerateError;
use crate::moe::rules::MoeFamily;

/// AITER's families of GEMM kernels.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AiterRules {
    #[serde(rename = "about")]
    _about: String,
    /// The lists of a family.
    pub families: BTreeMap<String, Vec<String>>,
    /// The lists.
    pub lists: BTreeMap<String, AiterList>,
}

/// Kernels with their numbers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AiterList {
    /// The architectures for which they are built.
    pub architectures: Vec<String>,
    /// A name with `{}` for a word.
    pub form: String,
    /// Words, several in a text.
    #[serde(default)]
    pub kernels: Vec<String>,
    /// The list that has the words.
    #[serde(rename = "as")]
    pub like: Option<String>,
    /// All numbers of workgroups of a compute unit up to this one are built.
    pub blocks: Option<u8>,
    /// Kernels without a number.
    #[serde(default)]
    pub defaults: Vec<String>,
}

impl AiterRules {
    /// The operation of AITER's families.
    pub const OP: Op = Op::Gemm;

    /// The kernels of a family, each with its number in the tuner's list: a kernel with several numbers is
    /// there once for each, and those without a number are last.
    pub fn kernels(&self, family: &str, arch: Arch) -> Result<Vec<(Kernel, Option<usize>)>, EnumerateError> {
        let Some(names) = self.families.get(family) else {
            let known = self.families.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(EnumerateError::Aiter(format!(
                "AITER has no family '{family}', expected one of: {known}; or {}, of vLLM's and SGLang's tuners",
                MoeFamily::NAME
            )));
        };
        let lists = names.iter().map(|name| self.list(name)).collect::<Result<Vec<_>, _>>()?;
        let is_built = |list: &&&AiterList| list.architectures.iter().any(|known| known == arch.as_str());
        let (mut kernels, mut defaults) = (Vec::new(), Vec::new());
        for list in lists.iter().filter(is_built) {
            let numbered = self.numbered(list)?.into_iter().enumerate();
            kernels.extend(numbered.map(|(number, kernel)| (built_for(kernel, arch), Some(number))));
            for name in &list.defaults {
                defaults.push((built_for(named(name)?, arch), None));
            }
        }
        if kernels.is_empty() {
            let known: BTreeSet<&str> =
                lists.iter().flat_map(|list| &list.architectures).map(String::as_str).collect();
            let known = known.into_iter().collect::<Vec<_>>().join(" or ");
            return Err(EnumerateError::Aiter(format!(
                "AITER's {family} is not for {arch}, expected {known}"
            )));
        }
        kernels.append(&mut defaults);
        Ok(kernels)
    }

    fn list(&self, name: &str) -> Result<&AiterList, EnumerateError> {
        let missing =
            || EnumerateError::Aiter(format!("the rules name a list '{name}', which they do not have"));
        self.lists.get(name).ok_or_else(missing)
    }

    /// The kernels of a list by their numbers.
    fn numbered(&self, list: &AiterList) -> Result<Vec<Kernel>, EnumerateError> {
        let words = match &list.like {
            Some(name) => &self.list(name)?.kernels,
            None => &list.kernels,
        };
        let words = words.iter().flat_map(|text| text.split(' '));
        let mut kernels =
            words.map(|word| named(&list.form.replace("{}", word))).collect::<Result<Vec<_>, _>>()?;
        let blocks = |kernel: &Kernel, blocks| {
            let KernelKind::Gemm(mut gemm) = kernel.kind.clone() else { return kernel.clone() };
            gemm.variant.block_per_cu = blocks;
            Kernel { name: gemm.name(), kind: KernelKind::Gemm(gemm) }
        };
        let (listed, most) = (kernels.clone(), list.blocks.unwrap_or(0));
        for kernel in &listed {
            let more: Vec<Kernel> = (1..=most).map(|count| blocks(kernel, count)).collect();
            kernels.extend(more.into_iter().filter(|one| !kernels.contains(one)).collect::<Vec<_>>());
        }
        Ok(kernels)
    }
}

fn named(name: &str) -> Result<Kernel, EnumerateError> {
    Kernel::from_name(name).map_err(|error| EnumerateError::Aiter(error.to_string()))
}

fn built_for(mut kernel: Kernel, arch: Arch) -> Kernel {
    if let KernelKind::Gemm(gemm) = &mut kernel.kind {
        gemm.set_arch(arch);
    }
    kernel
}
