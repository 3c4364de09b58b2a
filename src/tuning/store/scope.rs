//! Where a winner is valid: the machine, the pool and the versions that it was measured with.

use std::fmt;
use std::str::FromStr;

use crate::problem::InvalidField;
use crate::vocab::Arch;

/// A stable hash of the names in a pool, written as 32 hexadecimal digits.
///
/// The hash is FNV-1a (128 bits) over the *set* of names: sorted by bytes, each once, each preceded by its
/// length as eight bytes, little-endian. Neither order nor repetition affects which kernel is fastest, so
/// neither changes the hash. Equal sets have equal hashes in every release: the hash is part of the file
/// format.
///
/// ```
/// use ck_select::tuning::store::PoolHash;
///
/// let hash = PoolHash::from_names(["beta", "alpha", "beta"]);
/// assert_eq!(hash.to_string(), "a2614723f16bd69ba226a46b42cdb49a");
/// assert_eq!(hash, PoolHash::from_names(["alpha", "beta"]));
/// assert_eq!("a2614723f16bd69ba226a46b42cdb49a".parse(), Ok(hash));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolHash(u128);

impl PoolHash {
    /// The hash of kernel names. A registry adds the fields of kernels whose names do not tell them.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        let bytes =
            names.iter().flat_map(|name| (name.len() as u64).to_le_bytes().into_iter().chain(name.bytes()));
        Self(fnv_1a(bytes))
    }
}

/// FNV-1a with 128 bits, exactly as its authors define it.
fn fnv_1a(bytes: impl IntoIterator<Item = u8>) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.into_iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

impl fmt::Display for PoolHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

ck_select_types::text_in_json!(PoolHash);

impl FromStr for PoolHash {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        // `from_str_radix` would also accept a sign.
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u128::from_str_radix(text, 16).ok().filter(|_| digits);
        let refusal = || InvalidField::new("pool", format_args!("'{text}'"), "32 hexadecimal digits");
        value.map(Self).ok_or_else(refusal)
    }
}

/// The conditions under which a winner is valid. A winner answers only in the scope in which it was measured, so
/// there are no stale winners after a change of pool, driver or library.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The architecture.
    pub arch: Arch,
    /// The device's name, as the runtime reports it: two devices of one architecture differ in speed.
    pub device: String,
    /// The pool's hash.
    pub pool: PoolHash,
    /// The version of this library.
    pub library: String,
    /// Driver and runtime, such as `hip 60443482`; empty when not known.
    pub driver: String,
}

impl Scope {
    /// The version of this library, as in scopes.
    pub const LIBRARY: &str = env!("CARGO_PKG_VERSION");
    /// Longest text of a scope, in bytes.
    pub const MAX_TEXT: usize = 256;

    /// A scope of this library.
    pub fn new(arch: Arch, device: impl Into<String>, pool: PoolHash, driver: impl Into<String>) -> Self {
        Self { arch, device: device.into(), pool, library: Self::LIBRARY.to_owned(), driver: driver.into() }
    }

    /// Checks the texts: one line, of bounded length; device and library are not empty.
    pub fn validate(&self) -> Result<(), InvalidField> {
        plain_text("device", &self.device, 1, Self::MAX_TEXT)?;
        plain_text("library", &self.library, 1, Self::MAX_TEXT)?;
        plain_text("driver", &self.driver, 0, Self::MAX_TEXT)
    }
}

/// Refuses a text that is too short, too long, or not one line.
pub(super) fn plain_text(field: &str, text: &str, least: usize, most: usize) -> Result<(), InvalidField> {
    if !(least..=most).contains(&text.len()) {
        let (found, expected) = (format!("{} bytes", text.len()), format!("{least} to {most} bytes"));
        return Err(InvalidField::new(field, found, expected));
    }
    text.chars().find(|character| character.is_control()).map_or(Ok(()), |character| {
        Err(InvalidField::new(field, format_args!("the character {character:?}"), "one line of text"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_pool_is_frozen() {
        // Changing one of these makes all existing stores useless.
        for (names, hash) in [
            (&[][..], "6c62272e07bb014262b821756295c58d"),
            (&["alphabeta"], "ab5874bfa7917bda1fd62e79ac39348a"),
            (&["gemm_b", "conv_\u{e9}", "gemm_a"], "2dc6ffe0ac9e0565ade77196a763a1e0"),
        ] {
            assert_eq!(PoolHash::from_names(names.iter().copied()).to_string(), hash);
        }
    }

    #[test]
    fn names_do_not_run_together() {
        let hash = |names: &[&str]| PoolHash::from_names(names.iter().copied());
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a"]), hash(&["a", ""]));
    }

    #[test]
    fn hashes_read_back_and_nothing_else_does() {
        let hash = PoolHash::from_names(["x"]);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for bad in ["", "12", "+2614723f16bd69ba226a46b42cdb49a", "a2614723f16bd69ba226a46b42cdb49ag"] {
            assert!(bad.parse::<PoolHash>().is_err(), "{bad}");
        }
    }

    #[test]
    fn texts_are_one_line() {
        let good =
            Scope::new("gfx950".parse().unwrap(), "AMD Instinct MI355X", PoolHash::from_names(["x"]), "");
        good.validate().unwrap();
        let error = Scope { device: String::new(), ..good.clone() }.validate().unwrap_err();
        assert_eq!(error.to_string(), "device: found 0 bytes, expected 1 to 256 bytes");
        let error = Scope { driver: "a\nb".into(), ..good }.validate().unwrap_err();
        assert_eq!(error.to_string(), "driver: found the character '\\n', expected one line of text");
    }
}
