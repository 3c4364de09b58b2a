//! Forward attention.

pub(crate) mod config;
pub(crate) mod expand;
pub(crate) mod rules;
mod shapes;
mod tiles;

use ck_select_types::kernel::FmhaKernel;
use ck_select_types::problem::FmhaProblem;

use crate::buildable::Buildable;
use crate::filter::OperationFilter;

impl Buildable for FmhaKernel {}

impl OperationFilter for FmhaProblem {}
