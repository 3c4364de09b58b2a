//! The values of a call.

/// The values of a call, checked.
pub(super) struct Values<'a> {
    pub(super) uniform: &'a [f64],
    pub(super) pair: &'a [f64],
    pub(super) classes: usize,
}

impl<'a> Values<'a> {
    /// The values of a pair column, one per class.
    pub(super) fn pair(&self, column: usize) -> &'a [f64] {
        &self.pair[column * self.classes..(column + 1) * self.classes]
    }
}
