//! GPUs by the names under which they are sold.

use std::str::FromStr;

use super::{Arch, UnknownWord};

/// A GPU by the name under which it is sold.
#[derive(Debug, PartialEq, Eq)]
pub struct Product {
    /// The name, in upper case.
    pub name: &'static str,
    /// The GPU's target.
    pub arch: &'static str,
    /// The GPU's compute units; of a GPU with two dies that are two devices, those of one.
    pub units: i64,
}

const fn product(name: &'static str, arch: &'static str, units: i64) -> Product {
    Product { name, arch, units }
}

/// GPUs that differ from others of their architecture by their compute units, or whose architecture few know
/// by heart. Compute units: <https://rocm.docs.amd.com/en/latest/reference/gpu-arch-specs.html>.
pub const PRODUCTS: [Product; 13] = [
    product("MI210", "gfx90a", 104),
    product("MI250", "gfx90a", 104),
    product("MI250X", "gfx90a", 110),
    product("MI300A", "gfx942", 228),
    product("MI300X", "gfx942", 304),
    product("MI308X", "gfx942", 80),
    product("MI325X", "gfx942", 304),
    product("MI350P", "gfx950", 128),
    product("MI350X", "gfx950", 256),
    product("MI355X", "gfx950", 256),
    product("A100", "sm_80", 108),
    product("H100", "sm_90", 132),
    product("H200", "sm_90", 132),
];

impl Product {
    /// The product of a name, in any case.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRODUCTS.iter().find(|product| product.name.eq_ignore_ascii_case(name))
    }
}

/// A GPU as a caller names it: an architecture such as `gfx942`, or a product such as `MI300X`.
///
/// ```
/// use ck_select_types::vocab::GpuName;
///
/// let gpu: GpuName = "mi300x".parse()?;
/// assert_eq!((gpu.arch.as_str(), gpu.units), ("gfx942", Some(304)));
/// assert_eq!("gfx942".parse::<GpuName>()?.units, None);
/// # Ok::<(), ck_select_types::vocab::UnknownWord>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuName {
    /// The architecture.
    pub arch: Arch,
    /// The compute units of a product.
    pub units: Option<i64>,
}

impl FromStr for GpuName {
    type Err = UnknownWord;

    fn from_str(name: &str) -> Result<Self, UnknownWord> {
        let product = Product::find(name);
        let arch = product.map_or(name, |product| product.arch).parse()?;
        Ok(Self { arch, units: product.map(|product| product.units) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A product's name was an unknown architecture everywhere.
    #[test]
    fn products_are_targets_with_units() {
        for Product { name, arch, units } in &PRODUCTS {
            let gpu: GpuName = name.to_ascii_lowercase().parse().unwrap();
            assert_eq!((gpu.arch.as_str(), gpu.units), (*arch, Some(*units)), "{name}");
            // A problem has an architecture alone, and would lose the units.
            let error = name.parse::<Arch>().unwrap_err().to_string();
            assert_eq!(error, format!("unknown arch '{name}', expected one of: {arch}"));
        }
        assert!("MI300".parse::<GpuName>().is_err());
    }
}
