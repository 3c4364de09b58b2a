//! Hardware profiles: the eleven constants that features know about a GPU.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::field::{self, InvalidField, Record as _, fields};
use crate::vocab::{Arch, GpuName, PRODUCTS, Product};

fields! {
    /// The constants of a GPU that features use. Sizes of caches are in KiB, of shared memory in bytes. An alias is
    /// the column of tables that record the constant.
    ///
    /// Upstream's engines assume the constants of [`Hardware::USUAL`] when a model records none, whatever its
    /// architecture: nearly gfx950's, but with 64 KiB of shared memory (see [`Hardware::for_arch`]).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    Hardware by hardware_constants {
        num_cus: i64 = 256, min: 1, names: ["num_cus" | "hw_num_cus"], "Compute units.";
        simds_per_cu: i64 = 4, min: 1, names: ["simds_per_cu" | "hw_simds_per_cu"],
            "SIMD units of one compute unit.";
        shader_engines: i64 = 32, min: 1, names: ["shader_engines" | "hw_shader_engines"], "Shader engines.";
        max_clock_mhz: i64 = 2400, min: 1, names: ["max_clock_mhz" | "hw_max_clock_mhz"],
            "Highest clock in MHz.";
        max_waves_per_cu: i64 = 32, min: 1, names: ["max_waves_per_cu" | "hw_max_waves_per_cu"],
            "Waves that one compute unit can hold.";
        wavefront_size: i64 = 64, min: 1, names: ["wavefront_size" | "hw_wavefront_size"],
            "Threads of one wave.";
        lds_capacity: i64 = 65536, min: 1, names: ["lds_capacity" | "hw_lds_capacity"],
            "Shared memory of one compute unit in bytes.";
        l1_cache_kb: i64 = 32, min: 1, names: ["l1_cache_kb" | "hw_l1_cache_kb"], "First-level cache in KiB.";
        l2_cache_kb: i64 = 4096, min: 1, names: ["l2_cache_kb" | "hw_l2_cache_kb"],
            "Second-level cache in KiB.";
        l3_cache_kb: i64 = 262_144, min: 1, names: ["l3_cache_kb" | "hw_l3_cache_kb"],
            "Last-level cache in KiB.";
        num_xcd: i64 = 8, min: 1, names: ["num_xcd" | "hw_num_xcd"], "Dies that share the work.";
    }
    nested {}
    beside {}
}

impl Default for Hardware {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The name of each field, or its first alias.
const fn names<const N: usize>(is_alias: bool) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        let field = &Hardware::FIELDS[index];
        names[index] = if is_alias { field.aliases[0] } else { field.name };
        index += 1;
    }
    names
}

impl Hardware {
    /// Names of the constants, in the order of the fields.
    pub const NAMES: [&'static str; Self::FIELDS.len()] = names(false);

    /// The columns of tables that record them.
    pub const COLUMNS: [&'static str; Self::FIELDS.len()] = names(true);

    /// Architectures with a profile of their own.
    pub const PROFILES: [&'static str; 6] = ["gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250", "sm_90"];

    /// The profile of an architecture, for measuring and training; `None` when there is none.
    ///
    /// A model always predicts with the constants that it was trained with, never with these: gfx950 has 160
    /// KiB of shared memory here, 64 KiB in every upstream model that does not record its hardware.
    pub fn for_arch(arch: &Arch) -> Option<Self> {
        let base = Self::default();
        Some(match arch.as_str() {
            "gfx950" => Self { lds_capacity: 163_840, ..base },
            "gfx942" => Self { num_cus: 228, shader_engines: 28, max_clock_mhz: 2100, ..base },
            "gfx90a" => Self {
                num_cus: 110,
                shader_engines: 8,
                max_clock_mhz: 1700,
                l1_cache_kb: 16,
                l2_cache_kb: 8192,
                l3_cache_kb: 131_072,
                num_xcd: 1,
                ..base
            },
            "gfx1250" => Self { wavefront_size: 32, lds_capacity: 327_680, ..base },
            // Only the wave and the shared memory are known; the rest stays at the defaults.
            "gfx1201" => Self { wavefront_size: 32, ..base },
            // NVIDIA's H200 (an H100 has 50 MiB of L2): a compute unit is a multiprocessor, a shader engine a
            // processing cluster. Its last cache is L2.
            "sm_90" => Self {
                num_cus: 132,
                shader_engines: 8,
                max_clock_mhz: 1980,
                max_waves_per_cu: 64,
                wavefront_size: 32,
                lds_capacity: 232_448,
                l1_cache_kb: 256,
                l2_cache_kb: 61_440,
                l3_cache_kb: 61_440,
                num_xcd: 1,
                ..base
            },
            _ => return None,
        })
    }

    /// The profile of a GPU's architecture, with a product's compute units; `None` when there is none.
    pub fn for_gpu(gpu: GpuName) -> Option<Self> {
        let profile = Self::for_arch(&gpu.arch)?;
        Some(Self { num_cus: gpu.units.unwrap_or(profile.num_cus), ..profile })
    }

    /// Compute units of AMD's GPUs of an architecture, in ascending order; none where they are not known. Of
    /// NVIDIA's there are more than [`PRODUCTS`] has.
    pub fn units_of(arch: &Arch) -> Vec<i64> {
        let is_known = |product: &&Product| product.arch == arch.as_str() && product.arch.starts_with("gfx");
        let units: BTreeSet<i64> = PRODUCTS.iter().filter(is_known).map(|product| product.units).collect();
        units.into_iter().collect()
    }

    /// Checks that an architecture has GPUs with the compute units of a field, where they are known.
    pub fn check_units(arch: Arch, field: &'static str, units: i64) -> Result<(), InvalidField> {
        let known = Self::units_of(&arch);
        if known.is_empty() || known.contains(&units) {
            return Ok(());
        }
        let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Err(InvalidField::new(field, units, format!("{known}: the compute units of GPUs of {arch}")))
    }

    /// The architecture of [`Hardware::PROFILES`] whose GPUs can have this number; `None` if it is not known.
    pub fn arch_with_units(units: i64) -> Option<Arch> {
        let mut known = Self::PROFILES.iter().filter_map(|arch| arch.parse().ok());
        known.find(|arch| Self::units_of(arch).contains(&units))
    }

    /// The value of a constant by its name.
    pub fn get(&self, name: &str) -> Option<i64> {
        Some(field::values(self)[Self::position(name)?])
    }

    fn position(name: &str) -> Option<usize> {
        Self::NAMES.iter().position(|known| *known == name)
    }

    /// Sets a constant by its name.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), InvalidField> {
        self.set_from(name, value, 1)
    }

    /// Like [`Hardware::set`], with a minimum other than 1.
    pub fn set_from(&mut self, name: &str, value: i64, least: i64) -> Result<(), InvalidField> {
        if value < least {
            return Err(InvalidField::new(name, value, format!("at least {least}")));
        }
        let unknown = || InvalidField::new("hardware", name, format!("one of {}", Self::NAMES.join(", ")));
        let index = Self::position(name).ok_or_else(unknown)?;
        let mut values = field::values(self);
        values[index] = value;
        *self = Self::read(&values, self);
        Ok(())
    }

    /// Refuses a number that no GPU has, such as one in another unit: it would make every estimated time
    /// wrong.
    ///
    /// ```
    /// use ck_select_types::hardware::Hardware;
    ///
    /// assert!(Hardware::check_plausible("lds_capacity", 163_840).is_ok());
    /// assert!(Hardware::check_plausible("lds_capacity", 160).is_err(), "KiB instead of bytes");
    /// ```
    pub fn check_plausible(name: &str, value: i64) -> Result<(), InvalidField> {
        let range = match name {
            "num_cus" => 1..=10_000,
            "simds_per_cu" => 1..=64,
            "max_clock_mhz" => 100..=20_000,
            "max_waves_per_cu" => 1..=1024,
            "lds_capacity" => 1024..=1 << 24,
            _ => 1..=i64::MAX,
        };
        if range.contains(&value) {
            return Ok(());
        }
        let expected = match *range.end() {
            i64::MAX => "at least 1".to_owned(),
            end => format!("a number from {} to {end}", range.start()),
        };
        Err(InvalidField::new(name, value, expected))
    }

    /// The constants, overridden one by one by those of a JSON object. The object may repeat `total_simds`,
    /// as upstream's specs do, which has to be the product of the others.
    pub fn overridden_by(mut self, fields: &Map<String, Value>) -> Result<Self, InvalidField> {
        let mut total = None;
        for (name, value) in fields {
            let number = value
                .as_i64()
                .or_else(|| value.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9.0e15).map(|x| x as i64))
                .ok_or_else(|| InvalidField::new(name, value, "a whole number"))?;
            if name == "total_simds" {
                total = Some(number);
            } else {
                self.set(name, number)?;
            }
        }
        match total {
            Some(total) if total != self.total_simds() => {
                let expected = format!("{}, which is num_cus * simds_per_cu", self.total_simds());
                Err(InvalidField::new("total_simds", total, expected))
            }
            _ => Ok(self),
        }
    }

    /// SIMD units of the whole GPU.
    pub const fn total_simds(&self) -> i64 {
        self.num_cus.saturating_mul(self.simds_per_cu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_field() {
        let mut hardware = Hardware::default();
        for (index, name) in Hardware::NAMES.iter().enumerate() {
            hardware.set(name, 1000 + index as i64).unwrap();
        }
        for (index, name) in Hardware::NAMES.iter().enumerate() {
            assert_eq!(hardware.get(name), Some(1000 + index as i64));
            assert_eq!(Hardware::COLUMNS[index], format!("hw_{name}"));
        }
    }

    #[test]
    fn the_two_gfx950_profiles_differ_in_shared_memory_only() {
        let profile = Hardware::for_arch(&"gfx950".parse().unwrap()).unwrap();
        assert_eq!(profile.lds_capacity, 163_840);
        assert_eq!(Hardware { lds_capacity: 65536, ..profile }, Hardware::default());
    }

    #[test]
    fn every_listed_profile_exists() {
        for name in Hardware::PROFILES {
            assert!(Hardware::for_arch(&name.parse().unwrap()).is_some(), "{name}");
        }
    }

    #[test]
    fn a_number_of_units_is_of_one_architecture() {
        for arch in Hardware::PROFILES.map(|name| name.parse().unwrap()) {
            for units in Hardware::units_of(&arch) {
                assert_eq!(Hardware::arch_with_units(units), Some(arch));
            }
        }
        assert_eq!(Hardware::arch_with_units(132), None);
    }

    #[test]
    fn a_product_has_its_own_compute_units() {
        let units = |name: &str| Hardware::for_gpu(name.parse().unwrap()).map(|hardware| hardware.num_cus);
        assert_eq!([units("mi300x"), units("MI308X"), units("gfx942")], [Some(304), Some(80), Some(228)]);
        let known = |arch: &str| Hardware::units_of(&arch.parse().unwrap());
        assert_eq!([known("gfx90a"), known("gfx942")], [vec![104, 110], vec![80, 228, 304]]);
        assert_eq!([known("gfx950"), known("sm_90")], [vec![128, 256], vec![]]);
    }

    #[test]
    fn unknown_and_senseless_constants_are_refused() {
        let overridden = |json: &str| {
            let value: Value = serde_json::from_str(json).unwrap();
            Hardware::default().overridden_by(value.as_object().unwrap())
        };
        assert_eq!(overridden(r#"{"num_cus": 304.0}"#).unwrap().num_cus, 304);
        assert!(overridden(r#"{"cus": 4}"#).unwrap_err().to_string().contains("expected one of num_cus"));
        let total = overridden(r#"{"total_simds": 1216, "num_cus": 304}"#).unwrap();
        assert_eq!((total.num_cus, total.total_simds()), (304, 1216));
        let error = overridden(r#"{"total_simds": 4}"#).unwrap_err().to_string();
        assert_eq!(error, "total_simds: found 4, expected 1024, which is num_cus * simds_per_cu");
        assert!(overridden(r#"{"num_cus": 0}"#).is_err());
        assert!(overridden(r#"{"num_cus": 1.5}"#).is_err());
        assert!(overridden(r#"{"num_cus": "many"}"#).is_err());
    }
}
