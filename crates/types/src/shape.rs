//! Three extents: of a tile, of waves, of a group that shares a scale.

use std::fmt;
use std::str::FromStr;

/// Three extents along m, n, k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mnk {
    /// Along m.
    pub m: u32,
    /// Along n.
    pub n: u32,
    /// Along k.
    pub k: u32,
}

/// Bits of one extent in [`Mnk::bits`].
const EXTENT_BITS: u32 = 21;

impl Mnk {
    /// The largest extent of a shape.
    pub const MOST: u32 = u16::MAX as u32;

    /// Extents along m, n, k.
    pub const fn new(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k }
    }

    /// The extents in one number; those above [`Mnk::MOST`] are no shape's.
    pub const fn bits(self) -> i64 {
        bounded(self.m) << (2 * EXTENT_BITS) | bounded(self.n) << EXTENT_BITS | bounded(self.k)
    }

    /// The shape of such a number.
    pub const fn from_bits(bits: i64) -> Option<Self> {
        if bits < 0 {
            return None;
        }
        Some(Self::new(extent(bits >> (2 * EXTENT_BITS)), extent(bits >> EXTENT_BITS), extent(bits)))
    }
}

const fn bounded(extent: u32) -> i64 {
    if extent >> EXTENT_BITS == 0 { extent as i64 } else { (1 << EXTENT_BITS) - 1 }
}

const fn extent(bits: i64) -> u32 {
    (bits & ((1 << EXTENT_BITS) - 1)) as u32
}

/// `128x64x32`.
impl fmt::Display for Mnk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

/// A text that is no shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found '{0}', expected three numbers joined by 'x', such as 128x64x32")]
pub struct NotAShape(String);

crate::text_in_json!(Mnk);

impl FromStr for Mnk {
    type Err = NotAShape;

    fn from_str(text: &str) -> Result<Self, NotAShape> {
        let extent = |part: &str| {
            let digits = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|extent| digits && *extent <= Self::MOST)
        };
        let extents: Option<Vec<u32>> = text.split('x').map(extent).collect();
        match extents.as_deref() {
            Some(&[m, n, k]) => Ok(Self::new(m, n, k)),
            _ => Err(NotAShape(text.to_owned())),
        }
    }
}
