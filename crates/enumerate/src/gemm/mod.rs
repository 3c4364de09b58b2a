//! GEMMs, those of AITER too.

pub(crate) mod aiter;
pub(crate) mod config;
pub(crate) mod expand;
pub(crate) mod families;
mod names;
pub(crate) mod rules;
mod shapes;
mod traits;
pub(crate) mod valid;
pub(crate) mod variant;

use ck_select_types::problem::GemmProblem;

use crate::filter::OperationFilter;

impl OperationFilter for GemmProblem {}
