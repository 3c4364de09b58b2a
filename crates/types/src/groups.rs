//! Lists of GEMMs of any extents, which one launch computes.

use std::fmt;
use std::str::FromStr;

use crate::field::{InvalidField, MAX_EXTENT};

/// Maximum number of different GEMMs in a list. Problems do not allocate, so the list is stored inline.
pub const MAX_GROUPS: usize = 8;

/// GEMMs of one launch: different extents, each with its count, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Groups {
    list: [Group; MAX_GROUPS],
    len: u8,
}

/// GEMMs of equal extents in a list.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Rows, columns, depth.
    pub extents: [u32; 3],
    /// How many there are.
    pub count: u32,
}

impl Groups {
    /// No list.
    pub const NONE: Self = Self { list: [Group { extents: [0; 3], count: 0 }; MAX_GROUPS], len: 0 };

    /// A list from GEMMs in any order; equal extents are counted together.
    pub fn new(groups: impl IntoIterator<Item = Group>) -> Result<Self, InvalidField> {
        let mut new = Self::NONE;
        for group in groups {
            let mut numbers = group.extents.iter().chain([&group.count]);
            if let Some(bad) = numbers.find(|&&number| number == 0 || i64::from(number) > MAX_EXTENT) {
                return Err(InvalidField::new("groups", bad, format!("numbers of 1 to {MAX_EXTENT}")));
            }
            let at = new.as_slice().partition_point(|known| known.extents < group.extents);
            match new
                .list
                .get_mut(at)
                .filter(|known| at < usize::from(new.len) && known.extents == group.extents)
            {
                Some(known) => known.count = known.count.saturating_add(group.count).min(MAX_EXTENT as u32),
                None if usize::from(new.len) == MAX_GROUPS => {
                    let found = format!("more than {MAX_GROUPS} different GEMMs");
                    let expected = format!("at most {MAX_GROUPS}; round extents so that some are equal");
                    return Err(InvalidField::new("groups", found, expected));
                }
                None => {
                    new.list.copy_within(at..usize::from(new.len), at + 1);
                    new.list[at] = group;
                    new.len += 1;
                }
            }
        }
        Ok(new)
    }

    /// The different GEMMs.
    pub fn as_slice(&self) -> &[Group] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether the list is empty, so that the problem is not a list.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The GEMM with the most work, the first in the list's order among equals.
    pub fn largest(&self) -> Option<Group> {
        let work = |group: &Group| group.extents.iter().map(|&extent| u128::from(extent)).product::<u128>();
        self.as_slice()
            .iter()
            .copied()
            .reduce(|best, next| if work(&next) > work(&best) { next } else { best })
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// `128x512x1024*3+64x512x1024`: extents, the count unless 1, joined by `+`.
impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Group { extents: [m, n, k], count }) in self.as_slice().iter().enumerate() {
            write!(f, "{}{m}x{n}x{k}", if at > 0 { "+" } else { "" })?;
            if *count != 1 {
                write!(f, "*{count}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Groups {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let wrong = |part: &str| {
            let expected = "GEMMs such as 128x512x1024*3+64x512x1024";
            InvalidField::new("groups", format_args!("'{part}'"), expected)
        };
        let group = |part: &str| {
            let (shape, count) = part.split_once('*').unwrap_or((part, "1"));
            let numbers = shape.split('x').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>();
            let extents = numbers.and_then(|numbers| <[u32; 3]>::try_from(numbers).ok());
            match (extents, count.parse()) {
                (Some(extents), Ok(count)) => Ok(Group { extents, count }),
                _ => Err(wrong(part)),
            }
        };
        let groups = text.split('+').map(group).collect::<Result<Vec<_>, _>>()?;
        Self::new(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_counted() {
        let groups: Groups = "128x512x1024*3+64x512x1024+128x512x1024".parse().unwrap();
        assert_eq!(groups.to_string(), "64x512x1024+128x512x1024*4");
        assert_eq!(groups.to_string().parse(), Ok(groups));
        assert_eq!(groups.largest().unwrap().extents, [128, 512, 1024]);
        assert!(Groups::NONE.is_empty() && Groups::NONE.largest().is_none());
    }

    #[test]
    fn wrong_lists_say_what_is_accepted() {
        for (text, message) in [
            ("64x64", "groups: found '64x64', expected GEMMs such as 128x512x1024*3+64x512x1024"),
            ("64x64x64*", "groups: found '64x64x64*', expected GEMMs such as 128x512x1024*3+64x512x1024"),
            ("64x0x64", "groups: found 0, expected numbers of 1 to 2147483647"),
            (
                "1x1x1+2x1x1+3x1x1+4x1x1+5x1x1+6x1x1+7x1x1+8x1x1+9x1x1",
                "groups: found more than 8 different GEMMs, expected at most 8; \
                 round extents so that some are equal",
            ),
        ] {
            assert_eq!(text.parse::<Groups>().unwrap_err().to_string(), message);
        }
    }
}
