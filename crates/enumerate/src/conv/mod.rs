//! Grouped convolutions.

pub(crate) mod config;
pub(crate) mod expand;
pub(crate) mod instances;
pub(crate) mod rules;
mod shapes;
pub(crate) mod valid;

use ck_select_types::problem::ConvProblem;

use crate::filter::{MoreField, OperationFilter};

impl OperationFilter for ConvProblem {
    const MORE_FIELDS: &'static [(&'static str, &'static str, MoreField)] = &[
        ("pad_m", "Always True.", MoreField::Always),
        ("pad_n", "Always True.", MoreField::Always),
        ("pad_k", "Always True.", MoreField::Always),
        ("tile_str", "The tile as MxNxK.", MoreField::Triple("tile_m")),
        ("wave_str", "The waves as MxNxK.", MoreField::Triple("wave_m")),
        ("warp_str", "The instruction's tile as MxNxK.", MoreField::Triple("warp_tile_m")),
        ("vec_str", "The vector sizes as AxBxC.", MoreField::Triple("vector_a")),
    ];
}
