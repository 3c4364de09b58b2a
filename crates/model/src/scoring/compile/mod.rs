//! What is prepared once for a forest and a pool: [`lanes`] of its kernels, [`ladder`]s of the forest's
//! questions, [`answers`] to those about kernels alone, [`stair`]s to search many values, [`cells`] of its
//! trees.

pub(super) mod answers;
pub(super) mod cells;
pub(super) mod ladder;
pub(super) mod lanes;
pub(super) mod stair;
