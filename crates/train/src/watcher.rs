//! The progress of a training.

use ck_select_model::directory::Target;

/// Receives the progress of a training.
pub trait Watcher: Sync {
    /// A target begins, for which [`Watcher::trained`] will be called this many times.
    fn begins(&self, target: Target, trainings: usize);
    /// One training is done.
    fn trained(&self);
}

/// Ignores the progress.
impl Watcher for () {
    fn begins(&self, _: Target, _: usize) {}
    fn trained(&self) {}
}
