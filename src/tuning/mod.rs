//! Measuring on the GPU: the device behind a trait, HIP loaded at run time, the search that times kernels,
//! and the store that keeps the winners.
//!
//! - [`device`]: the GPU functions that measuring needs, as a trait, so that everything built on it is tested
//!   without a GPU
//! - [`hip`]: that trait on AMD's runtime, versions 5 to 7, loaded on first use
//! - [`search`]: times candidates within a budget; the fastest wins
//! - [`store`]: measured winners on disk, shared by many processes
//! - [`host`]: that trait on the host's clock, for kernels that run on it
//! - [`mock`]: a device and a clock without a GPU, for tests of callers

pub mod clock;
pub mod device;
pub mod hip;
pub mod host;
pub mod mock;
pub mod search;
pub mod store;
