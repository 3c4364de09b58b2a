//! Pages, opened in a browser and used as a person would.

mod browser;
mod evaluate;
mod explain;
mod running;
mod sweep;
#[cfg(feature = "train")]
mod training;
