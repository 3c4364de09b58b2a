//! A configuration of Triton's grouped kernel, as an entry of a table.

use serde_json::Value;

use crate::invalid::InvalidField;
use crate::nearest::OneOf;
use crate::vocabulary;

vocabulary! {
    /// A key of an entry, in the order in which the engines write them.
    ConfigKey, "key" {
        BlockM = "BLOCK_SIZE_M", BlockN = "BLOCK_SIZE_N", BlockK = "BLOCK_SIZE_K", Group = "GROUP_SIZE_M",
        SplitK = "SPLIT_K", Warps = "num_warps", Ctas = "num_ctas", Stages = "num_stages",
        WavesPerEu = "waves_per_eu", NonKDim = "matrix_instr_nonkdim", Kpack = "kpack", Tma = "USE_TMA",
    }
}

impl ConfigKey {
    /// Keys that only AMD's compiler has.
    pub const AMD: [Self; 3] = [Self::WavesPerEu, Self::NonKDim, Self::Kpack];

    /// Keys without which the kernel cannot run; Triton has defaults for the others.
    const NEEDED: [Self; 4] = [Self::BlockM, Self::BlockN, Self::BlockK, Self::Group];

    /// Whether the compiler takes a value, and the values that it takes.
    fn accepts(self, value: u32) -> (bool, &'static str) {
        match self {
            Self::BlockM | Self::BlockN | Self::BlockK => {
                ((8..=1024).contains(&value) && value.is_power_of_two(), "a power of two from 8 to 1024")
            }
            Self::Group => ((1..=4096).contains(&value), "a number from 1 to 4096"),
            Self::SplitK => ((1..=64).contains(&value), "a number from 1 to 64"),
            Self::Warps => (value <= 32 && value.is_power_of_two(), "1, 2, 4, 8, 16 or 32"),
            Self::Ctas => (value <= 16 && value.is_power_of_two(), "1, 2, 4, 8 or 16"),
            Self::Stages => ((1..=16).contains(&value), "a number from 1 to 16"),
            Self::WavesPerEu => (value <= 10, "a number from 0 to 10"),
            Self::NonKDim => ([0, 4, 16, 32].contains(&value), "0, 4, 16 or 32"),
            Self::Kpack => ([1, 2].contains(&value), "1 or 2"),
            Self::Tma => (value <= 1, "true or false"),
        }
    }
}

/// A configuration: what an entry says for each key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TritonConfig {
    values: [Option<u32>; ConfigKey::ALL.len()],
}

impl TritonConfig {
    /// The value of a key.
    pub const fn get(&self, key: ConfigKey) -> Option<u32> {
        self.values[key as usize]
    }

    /// The configuration with another value; `None` leaves the key out.
    #[must_use]
    pub fn with(mut self, key: ConfigKey, value: impl Into<Option<u32>>) -> Self {
        self.values[key as usize] = value.into();
        self
    }

    /// Rows of a tile.
    pub fn block_m(&self) -> u32 {
        self.get(ConfigKey::BlockM).unwrap_or_default()
    }

    /// Depth of a step.
    pub fn block_k(&self) -> u32 {
        self.get(ConfigKey::BlockK).unwrap_or(1)
    }

    /// Reads an entry.
    pub fn from_json(entry: &Value) -> Result<Self, InvalidField> {
        let Value::Object(entry) = entry else {
            return Err(InvalidField::new("entry", entry, "an object with BLOCK_SIZE_M and others"));
        };
        let mut config = Self::default();
        for (name, value) in entry {
            let key: ConfigKey = name.parse().map_err(|_| {
                InvalidField::new(
                    "key",
                    format_args!("'{name}'"),
                    format!("a known one{}", OneOf::new(name, ConfigKey::WORDS)),
                )
            })?;
            config.values[key as usize] = Some(number(key, value)?);
        }
        match ConfigKey::NEEDED.into_iter().find(|&key| config.get(key).is_none()) {
            Some(key) => Err(InvalidField::new(key.as_str(), "nothing", "a number")),
            None => Ok(config),
        }
    }

    /// The keys that are there, each with its value.
    pub fn entries(&self) -> impl Iterator<Item = (ConfigKey, Value)> + '_ {
        ConfigKey::ALL.iter().filter_map(|&key| {
            let value = self.get(key)?;
            Some((key, if key == ConfigKey::Tma { (value == 1).into() } else { value.into() }))
        })
    }
}

/// The number of a key, 0 or 1 for a truth.
fn number(key: ConfigKey, value: &Value) -> Result<u32, InvalidField> {
    let number = match value {
        Value::Bool(truth) if key == ConfigKey::Tma => Some(u32::from(*truth)),
        Value::Number(number) if key != ConfigKey::Tma => {
            number.as_u64().and_then(|number| number.try_into().ok())
        }
        _ => None,
    };
    let (is_accepted, expected) = key.accepts(number.unwrap_or(u32::MAX));
    number.filter(|_| is_accepted).ok_or_else(|| InvalidField::new(key.as_str(), value, expected))
}
