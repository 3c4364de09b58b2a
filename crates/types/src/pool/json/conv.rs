//! Convolution kernels: the C++ registry's export and Python configurations.

use super::part::{Fields, part};
use crate::field::Record as _;
use crate::kernel::{ConvKernel, ConvName, Kernel, KernelKind};
use crate::operation::OperationValue as _;
use crate::pool::PoolError;
use crate::pool::keys::{KernelJson, KernelKeys, KeyForm, RawKernel};
use crate::vocab::Arch;

/// Configurations leave four flags to the name.
impl KernelJson for ConvKernel {
    const KEYS: KernelKeys = KernelKeys {
        forms: &[
            ("op", KeyForm::Own("direction")),
            ("wave", KeyForm::Joined("wave_m")),
            ("warp", KeyForm::Joined("warp_tile_m")),
            ("vector_sizes", KeyForm::Array("vector_a", 3)),
        ],
        export: &[
            ("signature", "dtype_in dtype_wei dtype_out layout ndim_spatial op"),
            (
                "algorithm",
                "tile_m tile_n tile_k wave warp pipeline scheduler epilogue vector_sizes block_per_cu \
                 num_wave_groups num_groups_to_merge",
            ),
            ("", "arch"),
        ],
        config: &[
            ("signature", "variant dtype ndim_spatial layout"),
            (
                "algorithm",
                "tile_m tile_n tile_k wave warp pipeline epilogue scheduler vector_sizes block_per_cu \
                 num_wave_groups num_groups_to_merge",
            ),
            ("", "arch"),
        ],
        statistics: &[
            ("by_datatype", "dtype_in dtype_wei dtype_out"),
            ("by_pipeline", "pipeline"),
            ("by_arch", "arch"),
        ],
        export_version: None,
        has_counted_flags: false,
        may_be_unknown: |_| false,
    };

    /// CK's names tell all.
    fn complete_name(&self, name: &str) -> Option<String> {
        let told = Kernel::from_name(name).is_ok_and(|told| Self::held_by(&told.kind) == Some(self));
        (!told).then(|| self.long_name())
    }

    fn word(&self, key: &str) -> Option<&'static str> {
        (key == "op").then(|| self.direction.short())
    }

    fn describes(raw: &RawKernel) -> bool {
        let is_conv = |name: &Option<String>| {
            name.as_ref().is_some_and(|name| name.starts_with(ConvKernel::NAME_PREFIX))
        };
        raw.name.is_some() && (is_conv(&raw.name) || is_conv(&raw.identifier))
    }

    fn read_json(mut raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError> {
        let name = raw.name.take().unwrap_or_default();
        // A name of the caller's own tells nothing; then the identifier does.
        let identifier = raw.identifier.as_deref();
        let (field, text) = identifier.map_or(("name", name.as_str()), |text| ("identifier", text));
        let told = ConvName::parse(text).map_err(|error| PoolError::new(error).within(field))?;
        let states = |field: &str, _| told.states(field);
        let kind = KernelKind::Conv(told.kernel.clone());
        let mut fields = Fields::new(&kind, &name, &states);
        let (signature, algorithm) = (part("signature", raw.signature)?, part("algorithm", raw.algorithm)?);
        fields.set("signature", &signature)?;
        fields.set("algorithm", &algorithm)?;
        let kernel = ConvKernel { arch, ..ConvKernel::read(&fields.values, &ConvKernel::USUAL) };
        Ok(Kernel { name, kind: KernelKind::Conv(kernel) })
    }
}
