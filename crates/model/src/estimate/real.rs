//! The formula's numbers: a kernel's, or those of four kernels side by side, with the same bits.

use std::ops::{Add, Div, Mul, Rem, Sub};

/// A number for each of some kernels.
pub trait Real:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    fn ceil(self) -> Self;
    fn floor(self) -> Self;
    fn sqrt(self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;

    /// `yes` where this number is above the other, else `no`.
    fn above(self, other: Self, yes: Self, no: Self) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn ceil(self) -> f64 {
        self.ceil()
    }

    #[inline(always)]
    fn floor(self) -> f64 {
        self.floor()
    }

    #[inline(always)]
    fn sqrt(self) -> f64 {
        self.sqrt()
    }

    #[inline(always)]
    fn min(self, other: f64) -> f64 {
        self.min(other)
    }

    #[inline(always)]
    fn max(self, other: f64) -> f64 {
        self.max(other)
    }

    #[inline(always)]
    fn above(self, other: f64, yes: f64, no: f64) -> f64 {
        if self > other { yes } else { no }
    }
}

/// How many kernels are side by side.
pub(super) const FOUR: usize = 4;

/// A number of each of four kernels.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Four(pub(super) [f64; FOUR]);

impl Four {
    /// The compiler makes vectors of it where the caller's instructions have them.
    #[inline(always)]
    fn each(number: impl Fn(usize) -> f64) -> Four {
        Four([number(0), number(1), number(2), number(3)])
    }
}

impl From<f64> for Four {
    #[inline(always)]
    fn from(number: f64) -> Four {
        Four([number; FOUR])
    }
}

macro_rules! operators {
    ($($trait:ident $name:ident $operator:tt)+) => {$(
        impl $trait for Four {
            type Output = Four;

            #[inline(always)]
            fn $name(self, other: Four) -> Four {
                Four::each(|at| self.0[at] $operator other.0[at])
            }
        }

        impl $trait<f64> for Four {
            type Output = Four;

            #[inline(always)]
            fn $name(self, other: f64) -> Four {
                Four::each(|at| self.0[at] $operator other)
            }
        }
    )+};
}

operators! { Add add + Sub sub - Mul mul * Div div / Rem rem % }

impl Real for Four {
    #[inline(always)]
    fn ceil(self) -> Four {
        Four::each(|at| self.0[at].ceil())
    }

    #[inline(always)]
    fn floor(self) -> Four {
        Four::each(|at| self.0[at].floor())
    }

    #[inline(always)]
    fn sqrt(self) -> Four {
        Four::each(|at| self.0[at].sqrt())
    }

    #[inline(always)]
    fn min(self, other: Four) -> Four {
        Four::each(|at| self.0[at].min(other.0[at]))
    }

    #[inline(always)]
    fn max(self, other: Four) -> Four {
        Four::each(|at| self.0[at].max(other.0[at]))
    }

    #[inline(always)]
    fn above(self, other: Four, yes: Four, no: Four) -> Four {
        Four::each(|at| if self.0[at] > other.0[at] { yes.0[at] } else { no.0[at] })
    }
}
