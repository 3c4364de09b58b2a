//! Indices, a type for each order: an index of one order means nothing in another.

/// Declares a type of index.
#[macro_export]
macro_rules! index {
    ($(#[$meta:meta])* $vis:vis $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(u32);

        impl $name {
            /// There are fewer than 2^32 of anything that has indices.
            $vis const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// The index as a number.
            $vis const fn get(self) -> usize {
                self.0 as usize
            }
        }
    };
}
