//! The registry: kernels with their callbacks, models, and the choice among sources.
//!
//! Writers take turns. A call sees one consistent state: a change completely or not at all. Until the first
//! selection, changes of kernels are collected, so that adding many takes linear time. From then on the
//! changing thread prepares the next state and publishes it atomically, while readers continue with the
//! previous one.
//!
//! ```text
//! select.rs            the problem's key in the cache: an answer from memory
//!   else               State, one look at the registry; call.rs, the problem and that state
//!   order.rs           the first answer of source/{override, store, model, search, estimate, priority}.rs
//!                      kernels.rs, prepared.rs, estimates.rs: what they read, prepared by whoever changes it
//!   cache.rs           keeps the answer; demand.rs counts it for tune.rs, which measures between selections
//! ```

mod atomic;
mod bench;
mod cache;
mod call;
mod demand;
mod entry;
mod estimates;
mod explain;
mod fmha;
mod generation;
mod index;
mod kernels;
mod measure;
mod model_name;
mod options;
mod order;
mod overrides;
mod prepared;
mod ranking;
mod select;
mod selection;
mod shared;
mod slot;
mod source;
mod state;
mod tune;

pub use entry::{AddError, Entry, Hooks, NewKernel, Priority, Registered, UserData};
pub use options::{Mode, Options, OptionsError};
pub use overrides::{OverrideError, Overrides};
pub use ranking::{RankedKernel, Ranking};
pub use selection::{SelectError, Selection, Source};
pub use shared::Registry;
pub use tune::{TuneBudget, TuneError, TuneReport};

pub use crate::directory::ModelKey;
