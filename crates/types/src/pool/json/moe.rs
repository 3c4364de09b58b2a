//! Kernels of mixtures of experts, of which no registry exports more than the name.

use crate::kernel::{Kernel, KernelKind, MoeKernel};
use crate::pool::PoolError;
use crate::pool::keys::{KernelJson, KernelKeys, KeyForm, RawKernel};
use crate::vocab::Arch;

const EXPORT: &[(&str, &str)] = &[("", "dtype gfx_arch")];

impl KernelJson for MoeKernel {
    const KEYS: KernelKeys = KernelKeys {
        forms: &[("dtype", KeyForm::Own("dtype_a"))],
        export: EXPORT,
        config: EXPORT,
        statistics: &[("by_dtype", "dtype")],
        export_version: None,
        has_counted_flags: false,
        may_be_unknown: |_| false,
    };

    fn complete_name(&self, _name: &str) -> Option<String> {
        Some(self.name())
    }

    fn describes(raw: &RawKernel) -> bool {
        raw.name.as_deref().is_some_and(Self::begins_a_name)
    }

    fn read_json(raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError> {
        let name = raw.name.unwrap_or_default();
        let kernel = Self::parse_name(&name).map_err(|error| PoolError::new(error).within("name"))?;
        Ok(Kernel { name, kind: KernelKind::Moe(Self { arch, ..kernel }) })
    }
}
