//! Where conv, gemm and fmha are listed: every other dispatch is made from these macros.

use crate::defaults::ProblemDefaults;
use crate::gemm::GemmRequest;
use crate::operation::{Operation, OperationProblem};
use crate::vocab::{ConvLayout, Direction, GemmLayout};
use crate::vocabulary;

vocabulary! {
    /// The operation that kernels of a pool compute.
    Op, "operation" { Gemm = "gemm_universal", Conv = "grouped_conv", Fmha = "fmha" | "fmha_fwd" }
}

/// The words of one operation alone.
pub(crate) mod words {
    pub use super::Op;
    pub use crate::fmha::words::*;
}

/// What makes problems.
pub(crate) mod problems {
    pub use crate::conv::{CONV_COLUMNS, ConvProblem, floor_div};
    pub use crate::fmha::{FMHA_COLUMNS, FMHA_MORE_COLUMNS, FmhaProblem, fmha_signature_differs};
    pub use crate::gemm::{GemmProblem, GemmRequest, Group, Groups, MAX_GROUPS};
}

/// What makes kernels.
pub(crate) mod kernels {
    pub use crate::conv::{ConvKernel, ConvName, ConvTile, StreamK};
    pub use crate::fmha::{FmhaKernel, FmhaTile, Unsupported};
    pub use crate::gemm::{GemmBody, GemmKernel, GemmVariant, ParsedGemmName, Quant};
}

/// What an enum of [`operation_enum!`] holds for one operation.
pub trait VariantOf<E>: Into<E> {
    /// What it holds, if it is of this operation.
    fn of(any: &E) -> Option<&Self>;
}

/// A struct with a field for each operation, which is `$of` of the type of the operation's problems, and is
/// found by its type.
#[macro_export]
macro_rules! operation_struct {
    ($(#[$meta:meta])* $vis:vis struct $name:ident($of:ident);) => {
        $(#[$meta])*
        $vis struct $name {
            conv: $of<$crate::conv::ConvProblem>,
            gemm: $of<$crate::gemm::GemmProblem>,
            fmha: $of<$crate::fmha::FmhaProblem>,
        }

        $crate::operation_struct! { @as $name, $of, conv ConvProblem, gemm GemmProblem, fmha FmhaProblem }
    };
    (@as $name:ident, $of:ident, $($module:ident $problem:ident),+) => {$(
        impl AsMut<$of<$crate::$module::$problem>> for $name {
            fn as_mut(&mut self) -> &mut $of<$crate::$module::$problem> {
                &mut self.$module
            }
        }
    )+};
}

/// An enum with a variant for each operation, which holds `$of` of the type of the operation's problems, and
/// is made from it; with `not by type` where operations may hold the same.
#[macro_export]
macro_rules! operation_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident($of:ident);) => {
        $crate::operation_enum! { $(#[$meta])* $vis enum $name($of), not by type; }
        $crate::operation_enum! {
            @by_type $name, $of, Conv conv::ConvProblem, Gemm gemm::GemmProblem, Fmha fmha::FmhaProblem
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident($of:ident), not by type;) => {
        $(#[$meta])*
        $vis enum $name {
            /// Of grouped convolutions.
            Conv($of<$crate::conv::ConvProblem>),
            /// Of GEMMs.
            Gemm($of<$crate::gemm::GemmProblem>),
            /// Of attention.
            Fmha($of<$crate::fmha::FmhaProblem>),
        }

        #[allow(dead_code, reason = "not every such enum is asked")]
        impl $name {
            /// The operation.
            $vis const fn op(&self) -> $crate::vocab::Op {
                match self {
                    Self::Conv(_) => $crate::vocab::Op::Conv,
                    Self::Gemm(_) => $crate::vocab::Op::Gemm,
                    Self::Fmha(_) => $crate::vocab::Op::Fmha,
                }
            }
        }
    };
    (@by_type $name:ident, $of:ident, $($op:ident $module:ident::$problem:ident),+) => {$(
        impl From<$of<$crate::$module::$problem>> for $name {
            fn from(value: $of<$crate::$module::$problem>) -> Self {
                Self::$op(value)
            }
        }

        impl $crate::operation::VariantOf<$name> for $of<$crate::$module::$problem> {
            fn of(any: &$name) -> Option<&Self> {
                if let $name::$op(value) = any { Some(value) } else { None }
            }
        }
    )+};
}

/// A `match` over operations whose arms are one expression: over an enum of [`operation_enum!`]; over several
/// of them, which should be of one operation; over an [`Op`], where the expression gets the type of the
/// operation's problems; over an enum with that type.
#[macro_export]
macro_rules! each_operation {
    ($any:expr, $enum:ident($of:pat) => $value:expr) => {
        match $any {
            $enum::Conv($of) => $value,
            $enum::Gemm($of) => $value,
            $enum::Fmha($of) => $value,
        }
    };
    ($any:expr, $enum:ident($of:pat) as $problem:ident => $value:expr) => {
        match $any {
            $enum::Conv($of) => {
                type $problem = $crate::conv::ConvProblem;
                $value
            }
            $enum::Gemm($of) => {
                type $problem = $crate::gemm::GemmProblem;
                $value
            }
            $enum::Fmha($of) => {
                type $problem = $crate::fmha::FmhaProblem;
                $value
            }
        }
    };
    ($any:expr, ($($enum:ident($of:pat)),+) => $value:expr, $else:expr) => {
        match $any {
            ($($enum::Conv($of)),+) => $value,
            ($($enum::Gemm($of)),+) => $value,
            ($($enum::Fmha($of)),+) => $value,
            _ => $else,
        }
    };
    ($op:expr, $problem:ident => $value:expr) => {
        match $op {
            $crate::vocab::Op::Conv => {
                type $problem = $crate::conv::ConvProblem;
                $value
            }
            $crate::vocab::Op::Gemm => {
                type $problem = $crate::gemm::GemmProblem;
                $value
            }
            $crate::vocab::Op::Fmha => {
                type $problem = $crate::fmha::FmhaProblem;
                $value
            }
        }
    };
}

/// The same, where the expression becomes what another enum of [`operation_enum!`] holds for the operation.
#[macro_export]
macro_rules! map_operation {
    ($any:expr, $enum:ident($of:pat) => $to:ident($value:expr)) => {
        match $any {
            $enum::Conv($of) => $to::Conv($value),
            $enum::Gemm($of) => $to::Gemm($value),
            $enum::Fmha($of) => $to::Fmha($value),
        }
    };
    ($op:expr, $problem:ident => $to:ident($value:expr)) => {
        match $op {
            $crate::vocab::Op::Conv => {
                type $problem = $crate::conv::ConvProblem;
                $to::Conv($value)
            }
            $crate::vocab::Op::Gemm => {
                type $problem = $crate::gemm::GemmProblem;
                $to::Gemm($value)
            }
            $crate::vocab::Op::Fmha => {
                type $problem = $crate::fmha::FmhaProblem;
                $to::Fmha($value)
            }
        }
    };
}

impl Operation {
    /// The record of an operation.
    pub const fn get(op: Op) -> &'static Self {
        crate::each_operation!(op, Problem => &<Problem as OperationProblem>::OPERATION)
    }
}

impl ProblemDefaults {
    /// Upstream's defaults: forward, `bf16` for convolutions, `fp8` for GEMMs, `fp16` for attention, no
    /// architecture, `nhwgc`, `rcr`.
    pub const fn of(op: Op) -> Self {
        Self {
            direction: Direction::Forward,
            dtype: Operation::get(op).dtype,
            arch: None,
            conv_layout: ConvLayout::Nhwgc,
            gemm_layout: GemmLayout::RCR,
            gemm_request: GemmRequest::NONE,
            dtype_c: None,
        }
    }
}
