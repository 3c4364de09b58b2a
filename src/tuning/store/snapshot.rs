//! The winners of one scope in memory: read by the hot path.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use ck_select_model::hash::FastHasher;

use super::Winner;
use crate::problem::Problem;
use crate::vocab::Arch;

pub(super) type WinnerMap = HashMap<Problem, Winner, BuildHasherDefault<FastHasher>>;

/// The winners of one scope at one moment, immutable.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) arch: Arch,
    pub(super) winners: WinnerMap,
    pub(super) unreadable: usize,
}

impl Snapshot {
    pub(super) fn empty(arch: Arch) -> Self {
        Self { arch, winners: WinnerMap::default(), unreadable: 0 }
    }

    /// The measured winner for a problem. A problem for another architecture than the scope's has none.
    pub fn get(&self, problem: &Problem) -> Option<&Winner> {
        match problem.arch() {
            None => self.winners.get(problem),
            Some(arch) if arch == self.arch => self.winners.get(&problem.on(None)),
            Some(_) => None,
        }
    }

    /// How many problems have a winner.
    pub fn len(&self) -> usize {
        self.winners.len()
    }

    /// Whether no problem has a winner.
    pub fn is_empty(&self) -> bool {
        self.winners.is_empty()
    }

    /// The number of lines of the file that this version of the library cannot read and skips.
    pub const fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// All problems with their winners, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&Problem, &Winner)> {
        self.winners.iter()
    }
}
