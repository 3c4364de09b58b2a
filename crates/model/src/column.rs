//! Which values of a forest's columns change with the problem, and which with the kernel.

/// The inputs on which a forest's column depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The problem or the hardware: one value per call.
    Uniform,
    /// The kernel alone: one value per kernel, known when the pool is compiled.
    Kernel,
    /// Problem and kernel: one value per class of kernels and call.
    Pair,
}

impl Column {
    /// The index of each column among those with the same dependency.
    pub(crate) fn places(columns: &[Column]) -> Vec<usize> {
        let mut counts = [0; 3];
        let offset = |column: &Column| {
            let count = &mut counts[*column as usize];
            *count += 1;
            *count - 1
        };
        columns.iter().map(offset).collect()
    }
}
