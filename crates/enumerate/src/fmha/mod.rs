//! Forward attention.

pub(crate) mod config;
pub(crate) mod expand;
pub(crate) mod rules;
mod shapes;
mod tiles;
