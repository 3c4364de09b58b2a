//! `ckselect dev`: what developers and packagers need.

pub(super) mod completions;
pub(super) mod features;
pub(super) mod man;
pub(super) mod pack;
