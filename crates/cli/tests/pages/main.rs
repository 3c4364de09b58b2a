//! Pages, opened in a browser and used as a person would.

mod browser;
mod evaluate;
mod sweep;
