//! Tables of Triton's configurations that vLLM and SGLang load.
//!
//! An engine looks a mixture's kernels up in a JSON file whose name says the problem (experts and width of a
//! rank, device, types) and whose keys are token counts; the nearest key's configuration runs. So a file is
//! right only as a whole: its name has to be the one that the engine forms, and each entry has to mean to the
//! engine what it means here. [`TableKey::check`] refuses everything else before a file is written.
//!
//! ```text
//! config.json ── checkpoint ── problems ── estimates or scores ── ladder ──┐
//! device (names of GPUs) ── key (the file's name) ─────────────────────────┴── table (its entries: config)
//! ```

mod checkpoint;
mod config;
mod convert;
mod device;
mod key;
mod ladder;
mod models;
mod table;
mod words;

pub use checkpoint::{Checkpoint, ExpertLayer, Parallelism};
pub use config::{ConfigKey, TritonConfig};
pub use device::{DEVICES, EngineDevice};
pub use key::TableKey;
pub use ladder::{Candidate, LADDER, LadderGroup, LadderKey, TOKENS, choose_configs, choose_keys};
pub use models::{KnownModel, MODELS};
pub use table::{ConfigTable, TableError};
pub use words::{Engine, QuantTypes};
