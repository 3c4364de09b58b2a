//! The problems that a file had before.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use super::StatedFields;
use crate::problem::Problem;

/// The problems seen so far, as hashes of 128 bits, a tenth of what the problems take. Two of a million
/// problems collide once in 10^26 files.
#[derive(Default)]
pub(super) struct SeenProblems {
    keys: [RandomState; 2],
    hashes: HashSet<[u64; 2]>,
}

impl SeenProblems {
    pub(super) fn hashes_of(&self, asked: &(Problem, StatedFields)) -> [u64; 2] {
        self.keys.each_ref().map(|key| key.hash_one(asked))
    }

    /// Whether the problem is new.
    pub(super) fn insert(&mut self, asked: &(Problem, StatedFields)) -> bool {
        self.hashes.insert(self.hashes_of(asked))
    }
}
