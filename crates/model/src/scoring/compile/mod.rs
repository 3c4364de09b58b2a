//! What is prepared once for a forest and a pool: [`lanes`] of its kernels, [`ladder`]s of the forest's
//! questions, [`cells`] of its trees.

pub(super) mod cells;
pub(super) mod ladder;
pub(super) mod lanes;
