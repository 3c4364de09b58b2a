//! Grouped convolutions.

pub(crate) mod config;
pub(crate) mod expand;
pub(crate) mod instances;
pub(crate) mod rules;
mod shapes;
pub(crate) mod valid;
