//! What is made from the list of operations: names, enums and dispatches.

use crate::defaults::ProblemDefaults;
use crate::field::position;
use crate::gemm::GemmRequest;
use crate::operation::{Operation, OperationProblem};
use crate::vocab::{ConvLayout, Direction, GemmLayout, Op};

/// All items that make problems.
pub(crate) mod problems {
    crate::list_operations! { all_of problems }
}

/// All items that make kernels.
pub(crate) mod kernels {
    crate::list_operations! { all_of kernels }
}

/// The items of each operation's module of this name.
#[doc(hidden)]
#[macro_export]
macro_rules! all_of {
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+; $name:ident) => {
        $(pub use $crate::$module::$name::*;)+
    };
}

/// A struct with a field for each operation, `$of` of the type of the operation's problems, by which the field is
/// looked up.
#[macro_export]
macro_rules! operation_struct {
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     [$(#[$meta:meta])*] $vis:vis $name:ident $of:ident) => {
        $(#[$meta])*
        $vis struct $name {
            $(#[doc = $doc] $module: $of<$crate::$module::$problem>),+
        }

        $(impl AsMut<$of<$crate::$module::$problem>> for $name {
            fn as_mut(&mut self) -> &mut $of<$crate::$module::$problem> {
                &mut self.$module
            }
        })+
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident($of:ident);) => {
        $crate::list_operations! { operation_struct [$(#[$meta])*] $vis $name $of }
    };
}

/// An enum with a variant for each operation, which holds `$of` of the type of the operation's problems, and
/// is made from it; with `not by type` where operations may hold the same.
#[macro_export]
macro_rules! operation_enum {
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     [$(#[$meta:meta])*] $vis:vis $name:ident $of:ident) => {
        $(#[$meta])*
        $vis enum $name {
            $(#[doc = $doc] $op($of<$crate::$module::$problem>)),+
        }

        #[allow(dead_code, reason = "not every such enum is asked")]
        impl $name {
            /// The operation.
            $vis const fn op(&self) -> $crate::vocab::Op {
                match self {
                    $(Self::$op(_) => $crate::vocab::Op::$op),+
                }
            }
        }
    };
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+; by type $name:ident $of:ident) => {$(
        impl From<$of<$crate::$module::$problem>> for $name {
            fn from(value: $of<$crate::$module::$problem>) -> Self {
                Self::$op(value)
            }
        }

        impl $crate::operation::OperationValue<$name> for $of<$crate::$module::$problem> {
            fn held_by(any: &$name) -> Option<&Self> {
                if let $name::$op(value) = any { Some(value) } else { None }
            }
        }
    )+};
    ($(#[$meta:meta])* $vis:vis enum $name:ident($of:ident), not by type;) => {
        $crate::list_operations! { operation_enum [$(#[$meta])*] $vis $name $of }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident($of:ident);) => {
        $crate::list_operations! { operation_enum [$(#[$meta])*] $vis $name $of }
        $crate::list_operations! { operation_enum by type $name $of }
    };
}

/// A `match` over operations whose arms are one expression: over an enum of [`operation_enum!`]; over two or
/// three of them, which should be of one operation; over an [`Op`], where the expression gets the type of the
/// operation's problems; over an enum with that type.
#[macro_export]
macro_rules! each_operation {
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $enum:ident($of:pat), $value:expr) => {
        match $any { $($enum::$op($of) => $value),+ }
    };
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $a:ident($of_a:pat) $b:ident($of_b:pat), $value:expr, $else:expr) => {
        match $any {
            $(($a::$op($of_a), $b::$op($of_b)) => $value,)+
            _ => $else,
        }
    };
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $a:ident($of_a:pat) $b:ident($of_b:pat) $c:ident($of_c:pat), $value:expr, $else:expr) => {
        match $any {
            $(($a::$op($of_a), $b::$op($of_b), $c::$op($of_c)) => $value,)+
            _ => $else,
        }
    };
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $own:ident, $value:expr) => {
        match $any {
            $($crate::vocab::Op::$op => {
                type $own = $crate::$module::$problem;
                $value
            })+
        }
    };
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $enum:ident($of:pat) as $own:ident, $value:expr) => {
        match $any {
            $($enum::$op($of) => {
                type $own = $crate::$module::$problem;
                $value
            })+
        }
    };
    ($any:expr, $enum:ident($of:pat) $(as $own:ident)? => $value:expr) => {
        $crate::list_operations! { each_operation $any, $enum($of) $(as $own)?, $value }
    };
    ($any:expr, ($($enum:ident($of:pat)),+) => $value:expr, $else:expr) => {
        $crate::list_operations! { each_operation $any, $($enum($of))+, $value, $else }
    };
    ($op:expr, $own:ident => $value:expr) => {
        $crate::list_operations! { each_operation $op, $own, $value }
    };
}

/// Maps an operation's value as [`each_operation!`] does, into the operation's variant of another enum.
#[macro_export]
macro_rules! map_operation {
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $enum:ident($of:pat), $to:ident, $value:expr) => {
        match $any { $($enum::$op($of) => $to::$op($value)),+ }
    };
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $enum:ident($of:pat) as $own:ident, $to:ident, $value:expr) => {
        match $any {
            $($enum::$op($of) => {
                type $own = $crate::$module::$problem;
                $to::$op($value)
            })+
        }
    };
    (@listed $($op:ident $words:tt $module:ident $problem:ident $doc:literal),+;
     $any:expr, $own:ident, $to:ident, $value:expr) => {
        match $any {
            $($crate::vocab::Op::$op => {
                type $own = $crate::$module::$problem;
                $to::$op($value)
            })+
        }
    };
    ($any:expr, $enum:ident($of:pat) $(as $own:ident)? => $to:ident($value:expr)) => {
        $crate::list_operations! { map_operation $any, $enum($of) $(as $own)?, $to, $value }
    };
    ($op:expr, $own:ident => $to:ident($value:expr)) => {
        $crate::list_operations! { map_operation $op, $own, $to, $value }
    };
}

impl Operation {
    /// The record of an operation.
    pub const fn get(op: Op) -> &'static Self {
        crate::each_operation!(op, Problem => &<Problem as OperationProblem>::OPERATION)
    }

    /// The operation of text and tables which do not show theirs.
    pub const UNSTATED: Op = Op::Conv;

    /// Whether the operation's problems have a field, by any of its names.
    pub fn has_field(op: Op, name: &str) -> bool {
        position(Self::get(op).problem, name).is_some()
    }

    /// The first operation whose problems have a field.
    pub fn with_field(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|&op| Self::has_field(op, name))
    }

    /// Whether a table has one of the columns that problems of an operation need, in whichever form.
    pub fn has_column(op: Op, required: &str, has: &dyn Fn(&str) -> bool) -> bool {
        crate::each_operation!(op, Own => Own::has_column(required, has))
    }

    /// The first of the columns that problems of an operation need and a table does not have.
    pub fn missing_column(op: Op, has: &dyn Fn(&str) -> bool) -> Option<&'static str> {
        Self::get(op).required.iter().find(|name| !Self::has_column(op, name, has)).copied()
    }
}

impl ProblemDefaults {
    /// Upstream's defaults: forward, `bf16` for convolutions, `fp8` for GEMMs, `fp16` for attention, no
    /// architecture, `nhwgc`, `rcr`.
    pub const fn new(op: Op) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables and objects without an operation are told apart by them: of an operation whose fields are all another's, too,
    /// each table of that one would have problems, and the names of its columns would not be checked.
    #[test]
    fn no_operation_needs_a_part_of_the_fields_of_another() {
        for (one, other) in Op::ALL.iter().flat_map(|one| Op::ALL.iter().map(move |other| (*one, *other))) {
            let has = |name: &str| Operation::get(other).required.contains(&name);
            let is_told_apart = Operation::missing_column(one, &has).is_some();
            assert_eq!(is_told_apart, one != other, "{one} in a table of {other}");
        }
    }
}
