//! `ckselect dev`: what developers and packagers need.

#[cfg(feature = "offline")]
pub(super) mod completions;
pub(super) mod features;
#[cfg(feature = "offline")]
pub(super) mod man;
#[cfg(feature = "offline")]
pub(super) mod pack;
pub(super) mod predict;
