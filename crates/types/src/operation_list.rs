//! conv, gemm, fmha and moe, a line each.

/// The list of operations by their numbers, each with its word and others that are read, its folder and its
/// problems: passes it to a macro.
#[macro_export]
macro_rules! list_operations {
    ($to:ident $($rest:tt)*) => {
        $crate::$to! { @listed
            Gemm ["gemm_universal"] gemm GemmProblem "Of GEMMs.",
            Conv ["grouped_conv"] conv ConvProblem "Of grouped convolutions.",
            Fmha ["fmha" | "fmha_fwd"] fmha FmhaProblem "Of attention.",
            Moe ["moe" | "fused_moe" | "fmoe"] moe MoeProblem "Of mixtures of experts.";
            $($rest)*
        }
    };
}

/// The vocabulary of operations.
#[doc(hidden)]
#[macro_export]
macro_rules! operation_words {
    (@listed $($op:ident [$word:literal $(| $alias:literal)*] $module:ident $problem:ident $doc:literal),+;
     $(#[$meta:meta])* $name:ident, $what:literal) => {
        $crate::vocabulary! { $(#[$meta])* $name, $what { $($op = $word $(| $alias)*),+ } }
    };
}
