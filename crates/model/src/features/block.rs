//! Values of several pairs side by side: a loop over pairs then loads and stores whole vectors.

/// Pairs per block. A block takes a few KiB, and most pools fit in one or two.
pub(crate) const BLOCK: usize = 32;

/// The values of one pair (or of one kernel), and their layout for [`BLOCK`] of them, in which each value has
/// an array.
pub trait InBlocks: Copy + Default {
    /// The values of [`BLOCK`] pairs: an array for each.
    type Block: Clone;

    /// Zeros in every lane.
    const ZERO: Self::Block;

    /// The values of a lane.
    fn get(block: &Self::Block, lane: usize) -> Self;

    /// Stores the values in a lane.
    fn set(self, block: &mut Self::Block, lane: usize);
}

/// The only numeric type: the compiler does not vectorise a loop that stores numbers of different sizes to
/// one block.
impl InBlocks for f64 {
    type Block = [f64; BLOCK];

    const ZERO: Self::Block = [0.0; BLOCK];

    #[inline(always)]
    fn get(block: &Self::Block, lane: usize) -> Self {
        block[lane]
    }

    #[inline(always)]
    fn set(self, block: &mut Self::Block, lane: usize) {
        block[lane] = self;
    }
}

impl<T: InBlocks> InBlocks for [T; 3] {
    type Block = [T::Block; 3];

    const ZERO: Self::Block = [T::ZERO; 3];

    #[inline(always)]
    fn get([a, b, c]: &Self::Block, lane: usize) -> Self {
        [T::get(a, lane), T::get(b, lane), T::get(c, lane)]
    }

    #[inline(always)]
    fn set(self, block: &mut Self::Block, lane: usize) {
        let ([a, b, c], [block_a, block_b, block_c]) = (self, block);
        a.set(block_a, lane);
        b.set(block_b, lane);
        c.set(block_c, lane);
    }
}

/// Declares a struct and, under the name after `in`, its form for a block.
macro_rules! blocks {
    ($(#[$about:meta])* $vis:vis struct $Name:ident in $Block:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $number:ty,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default)]
        $vis struct $Name {
            $($(#[$doc])* $field_vis $field: $number,)+
        }

        #[doc = concat!("[`", stringify!($Name), "`] of a block, an array for each number.")]
        #[derive(Debug, Clone)]
        $vis struct $Block {
            $($field: <$number as $crate::features::block::InBlocks>::Block,)+
        }

        impl $crate::features::block::InBlocks for $Name {
            type Block = $Block;

            const ZERO: $Block = $Block { $($field: <$number as $crate::features::block::InBlocks>::ZERO,)+ };

            #[inline(always)]
            fn get(block: &$Block, lane: usize) -> Self {
                Self { $($field: <$number>::get(&block.$field, lane),)+ }
            }

            #[inline(always)]
            fn set(self, block: &mut $Block, lane: usize) {
                $(self.$field.set(&mut block.$field, lane);)+
            }
        }
    };
}
pub(crate) use blocks;
