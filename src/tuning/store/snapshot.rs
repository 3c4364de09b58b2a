//! The winners of one scope in memory: read by the hot path.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Deref;
use std::sync::Arc;

use super::Winner;
use super::hash::FastHasher;
use crate::problem::Problem;
use crate::vocab::Arch;

pub(super) type WinnerMap = HashMap<Problem, Winner, BuildHasherDefault<FastHasher>>;

/// The winners of one scope at one moment, immutable.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) arch: Arch,
    /// The file's winners when it was last read.
    pub(super) base: Arc<WinnerMap>,
    /// Winners that this process has put since then. They are few, so that a put does not copy thousands of
    /// winners.
    pub(super) recent: WinnerMap,
    pub(super) unreadable: usize,
}

impl Snapshot {
    pub(super) fn empty(arch: Arch) -> Self {
        Self { arch, base: Arc::default(), recent: WinnerMap::default(), unreadable: 0 }
    }

    /// The measured winner for a problem. A problem for another architecture than the scope's has none.
    pub fn get(&self, problem: &Problem) -> Option<&Winner> {
        match problem.arch() {
            None => self.find(problem),
            Some(arch) if arch == self.arch => self.find(&problem.on(None)),
            Some(_) => None,
        }
    }

    fn find(&self, key: &Problem) -> Option<&Winner> {
        let recent = if self.recent.is_empty() { None } else { self.recent.get(key) };
        recent.or_else(|| self.base.get(key))
    }

    /// How many problems have a winner.
    pub fn len(&self) -> usize {
        self.base.len() + self.recent.keys().filter(|key| !self.base.contains_key(key)).count()
    }

    /// Whether no problem has a winner.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty() && self.recent.is_empty()
    }

    /// The number of rows of the file that this version of the library cannot read and skips.
    pub const fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// All problems with their winners, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&Problem, &Winner)> {
        let older = self.base.iter().filter(|(key, _)| !self.recent.contains_key(key));
        self.recent.iter().chain(older)
    }
}

/// A snapshot that is being read. Do not keep it longer than one selection, because it keeps an old snapshot
/// in memory.
pub struct SnapshotRef(pub(super) arc_swap::Guard<Arc<Snapshot>>);

impl Deref for SnapshotRef {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.0
    }
}
