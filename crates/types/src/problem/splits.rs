//! The parts into which a reduction may be split where a problem leaves the choice.

use std::fmt;
use std::str::FromStr;

use super::Problem;
use crate::each_operation;
use crate::field::{AUTO, InvalidField, MAX_EXTENT};
use crate::operation::OperationProblem as _;
use crate::vocab::{Direction, Op};

/// The numbers of parts that may be chosen for a problem with `split_k=auto`, ascending.
///
/// ```
/// use ck_select_types::problem::Splits;
///
/// let splits: Splits = "8,1,4".parse()?;
/// assert_eq!(splits.as_slice(), [1, 4, 8]);
/// assert_eq!(Splits::USUAL.to_string(), "1,2,4,8,16");
/// # Ok::<(), ck_select_types::problem::InvalidField>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splits {
    parts: [i32; Splits::MOST],
    count: usize,
    /// Whether somebody gave the list.
    pub(super) is_given: bool,
}

impl Splits {
    /// The most numbers that a list may have.
    pub const MOST: usize = 16;
    /// Powers of two, as kernels are measured, where nobody gives a list.
    pub const USUAL: Self = {
        let mut parts = [0; Self::MOST];
        (parts[0], parts[1], parts[2], parts[3], parts[4]) = (1, 2, 4, 8, 16);
        Self { parts, count: 5, is_given: false }
    };

    /// A list in any order, without repeats.
    pub fn new(list: &[i32]) -> Result<Self, InvalidField> {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        let fault =
            |found: &dyn fmt::Display, expected: String| Err(InvalidField::new("splits", found, expected));
        if sorted.is_empty() || sorted.len() > Self::MOST {
            return fault(&format_args!("{} numbers", list.len()), format!("1 to {}", Self::MOST));
        }
        if sorted[0] < 1 {
            return fault(&sorted[0], format!("numbers from 1 to {MAX_EXTENT}"));
        }
        if let Some([twice, ..]) = sorted.windows(2).find(|pair| matches!(pair, [one, next] if one == next)) {
            return fault(&format_args!("{twice} twice"), "each number once".to_owned());
        }
        let mut splits = Self { parts: [0; Self::MOST], count: sorted.len(), is_given: true };
        splits.parts[..sorted.len()].copy_from_slice(&sorted);
        Ok(splits)
    }

    /// The numbers, ascending.
    pub fn as_slice(&self) -> &[i32] {
        self.parts.get(..self.count).unwrap_or_default()
    }
}

impl Default for Splits {
    fn default() -> Self {
        Self::USUAL
    }
}

impl FromStr for Splits {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let number = |word: &str| {
            let expected = "whole numbers separated by commas, such as 1,2,4";
            word.trim().parse().map_err(|_| InvalidField::new("splits", format_args!("'{word}'"), expected))
        };
        Self::new(&text.split(',').map(number).collect::<Result<Vec<i32>, _>>()?)
    }
}

impl fmt::Display for Splits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for parts in self.as_slice() {
            write!(f, "{comma}{parts}")?;
            comma = ",";
        }
        Ok(())
    }
}

impl Problem {
    /// Whether an operation's problems have a number of parts.
    pub fn has_split(op: Op) -> bool {
        Self::fields(op).iter().any(|field| field.name == "split_k")
    }

    /// Parts into which the reduction is split; [`AUTO`] if the problem leaves the choice. Attention has one.
    #[inline]
    pub fn split_k(&self) -> i32 {
        each_operation!(self, Self(problem) => problem.split_k())
    }

    /// The problem in so many parts; attention stays as it is.
    #[must_use]
    pub fn with_split(self, parts: i32) -> Self {
        each_operation!(self, Self(problem) => problem.in_parts(parts).into())
    }

    /// Whether the number of parts is to be chosen with the kernel.
    #[inline]
    pub fn chooses_split(&self) -> bool {
        self.split_k() == AUTO
    }

    /// The problem with its split left open, if it has one.
    #[must_use]
    pub fn leaving_split(self) -> Self {
        match self.direction() {
            Some(Direction::Forward | Direction::BwdData) => self,
            Some(Direction::BwdWeight) | None => self.with_split(AUTO),
        }
    }

    /// A kernel's name, with the number of parts if the problem leaves the choice.
    pub fn named(&self, name: &str, split_k: i32) -> String {
        match split_k {
            _ if !self.chooses_split() => name.to_owned(),
            1 => format!("{name} in 1 part"),
            parts => format!("{name} in {parts} parts"),
        }
    }

    /// Refuses a problem that leaves the choice, where a kernel is run, measured or described.
    pub fn check_split(&self) -> Result<(), InvalidField> {
        if self.chooses_split() {
            return Err(InvalidField::new("split_k", "auto", "the number of parts"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, FmhaProblem, GemmProblem, ProblemDefaults};

    #[test]
    fn lists_are_checked() {
        assert_eq!("16, 1".parse::<Splits>().unwrap().to_string(), "1,16");
        for (text, error) in [
            ("", "splits: found '', expected whole numbers separated by commas, such as 1,2,4"),
            ("1,x", "splits: found 'x', expected whole numbers separated by commas, such as 1,2,4"),
            ("4,0", "splits: found 0, expected numbers from 1 to 2147483647"),
            ("2,4,2", "splits: found 2 twice, expected each number once"),
        ] {
            assert_eq!(text.parse::<Splits>().unwrap_err().to_string(), error);
        }
        let many: Vec<i32> = (1..=17).collect();
        assert_eq!(Splits::new(&many).unwrap_err().to_string(), "splits: found 17 numbers, expected 1 to 16");
    }

    /// The text of a problem that leaves the choice open has a word for it, and reads back.
    #[test]
    fn auto_is_a_number_of_parts_where_there_are_any() {
        let parse =
            |op, text: &str| Problem::parse(op, text, &ProblemDefaults::new(op)).map_err(|e| e.to_string());
        let gemm = parse(Op::Gemm, "M=1,N=2,K=3,split_k=auto").unwrap();
        assert_eq!(gemm, GemmProblem { split_k: AUTO, ..GemmProblem::new(1, 2, 3) }.into());
        assert!(gemm.to_string().contains(",split_k=auto,"), "{gemm}");
        assert_eq!(parse(Op::Gemm, &gemm.to_string()), Ok(gemm));
        assert_eq!(gemm.with_split(4), GemmProblem { split_k: 4, ..GemmProblem::new(1, 2, 3) }.into());
        assert!(gemm.chooses_split() && gemm.with_split(1).check_split().is_ok());
        assert_eq!(
            gemm.check_split().unwrap_err().to_string(),
            "split_k: found auto, expected the number of parts"
        );
        let conv = "C=8,K=8,Hi=8,Wi=8,Y=1,X=1,split_k=auto,direction=";
        let weight = parse(Op::Conv, &format!("{conv}bwd_weight")).unwrap();
        let direction = Direction::BwdWeight;
        let same =
            ConvProblem { c: 8, k: 8, direction, split_k: AUTO, ..ConvProblem::new_2d([8; 2], [1; 2]) };
        assert_eq!(weight, same.into());
        assert_eq!(
            parse(Op::Conv, &format!("{conv}forward")).unwrap_err(),
            "split_k: found auto, expected a number: only backward weight leaves the choice"
        );
        let other = parse(Op::Gemm, "M=1,N=2,K=3,split_k=many").unwrap_err();
        assert_eq!(other, "split_k: found 'many', expected a whole number, or auto");
        let below = parse(Op::Gemm, "M=1,N=2,K=3,split_k=-1").unwrap_err();
        assert_eq!(below, "split_k: found -1, expected auto, or 1 to 2147483647");
        assert!(parse(Op::Fmha, "seqlen_q=8,nhead_q=1,hdim_q=64,split_k=auto").is_err());
        let attention = Problem::from(FmhaProblem::new([8, 8], 1, 64));
        assert_eq!((attention.split_k(), attention.with_split(4)), (1, attention));
    }
}
